"""Compares the operations of a recording with their time from a common start, the baseline.

`baseline_command` prints the `downbeat run` that measures the baseline; `baselines` reads its results.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np

from downbeat.comparison.summaries import median_of, plain_cells
from downbeat.data.collectives import REDUCTIONS
from downbeat.output.fields import COMMON_START
from downbeat.run.experiment import open_experiment
from downbeat.tables import Floats
from downbeat.trace.arrivals import Arrivals, Sites
from downbeat.trace.calls import LATER
from downbeat.trace.profile import UNPLACED

ELEMENT = 4  # bytes of the elements that downbeat-bench reduces by default; sizes of reductions are multiples
MAX_TOTAL = 2**31 - 1  # bytes of all ranks together: the largest count in MPI
BASELINE_METRIC = "after_last_entry"
MAX_FACTOR = 2.0  # between the size of a call and the size of a cell that is its baseline


def baselines(sites: Sites, path: Path) -> Floats:
    """Returns the time of each site's operation from a common start, s; NaN where no cell fits.

    A cell is an operation with a size and a number of ranks that `downbeat run` measured. It fits if operation and
    number of ranks are equal and its size is the nearest one within a factor of two. Of several launches, the median is
    taken.

    Args:
        sites: of a recording.
        path: directory or file of `downbeat run`.

    Raises:
        UsageError: there are no results at the path.
    """
    cells = plain_cells(open_experiment(path))
    cells = cells[cells.synchronizer == COMMON_START]
    times = np.full(len(sites), np.nan)
    for site in range(len(sites)):
        candidates = cells[(cells.operation == sites.operation[site]) & (cells.ranks == sites.size[site])]
        if sites.kind[site] in LATER or not len(candidates):
            continue
        size = 0 if np.isnan(sites.bytes[site]) else whole_elements(float(sites.bytes[site]))
        # Factor between the sizes, as a power of two; size 0 (no message) counts as 1.
        distance = np.abs(np.log2(np.maximum(candidates.size, 1)) - np.log2(max(1, size)))
        if distance.min() <= np.log2(MAX_FACTOR):
            times[site] = median_of(candidates[distance == distance.min()].metric(BASELINE_METRIC).median_s)
    return times


def whole_elements(size: float) -> int:
    """Rounds a size in bytes up to whole elements, so that reductions can take it."""
    return ELEMENT * -(-int(size) // ELEMENT)


def baseline_command(arrivals: Arrivals) -> str:
    """Returns the command that measures the baseline of all call sites; "": no site has a baseline.

    The command measures all operations with all sizes, so each size must be valid for all of them.
    """
    sites = arrivals.sites
    usable = ~np.isin(sites.kind.astype(str), LATER) & (sites.beyond == 0) & (sites.size > 1)
    sites = sites[usable & (sites.operation != UNPLACED)]
    if not len(sites):
        return ""
    operations = list(dict.fromkeys(sites.operation))
    ranks = sorted(set(sites.size.astype(int).tolist()))
    sizes = {max(1, int(size)) for size in sites.bytes if size > 0}
    if not set(operations).isdisjoint(REDUCTIONS):
        sizes = set(map(whole_elements, sizes))
    sizes = {size for size in sizes if size <= MAX_TOTAL // max(ranks)}
    words = ["downbeat", "run", *operations, "--sync", "harmonize"]
    words += ["--sizes", ",".join(map(str, sorted(sizes)))] if sizes else []
    words += ["-n", ",".join(map(str, ranks)), "-o", "baseline"]
    return shlex.join(words)
