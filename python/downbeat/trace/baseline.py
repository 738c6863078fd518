"""What the operations of a recording take from a common start: the command that measures it, and its result."""

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

ELEMENT = 4  # bytes, of what reductions of downbeat-bench reduce by default: their sizes are whole elements
LARGEST = 2**31 - 1  # bytes of all ranks together, which a count can hold
BASELINE_METRIC = "after_last_entry"
FACTOR = 2.0  # sizes that differ by more are other cells


def baselines(sites: Sites, path: Path) -> Floats:
    """The time of each site's operation from a common start, s; NaN where nothing fits.

    A cell fits if operation and number of ranks are the same, and the size is the nearest of those within a factor of
    two. Several launches give the median.

    Args:
        sites: of a recording.
        path: directory or file of `downbeat run`.

    Raises:
        UsageError: nothing of the kind is there.
    """
    cells = plain_cells(open_experiment(path))
    cells = cells[cells.synchronizer == COMMON_START]
    times = np.full(len(sites), np.nan)
    for at in range(len(sites)):
        same = cells[(cells.operation == sites.operation[at]) & (cells.ranks == sites.size[at])]
        if sites.kind[at] in LATER or not len(same):
            continue
        size = 0 if np.isnan(sites.bytes[at]) else whole_elements(float(sites.bytes[at]))
        apart = np.abs(np.log2(np.maximum(same.size, 1)) - np.log2(max(1, size)))
        if apart.min() <= np.log2(FACTOR):
            times[at] = median_of(same[apart == apart.min()].metric(BASELINE_METRIC).median_s)
    return times


def whole_elements(size: float) -> int:
    """The least size, bytes, from a size on that every operation can take."""
    return ELEMENT * -(-int(size) // ELEMENT)


def baseline_command(arrivals: Arrivals) -> str:
    """The command that measures the baseline of all call sites on as many ranks; empty if there are none.

    All operations are measured with all sizes, so these are such as each of them can take.
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
    sizes = {size for size in sizes if size <= LARGEST // max(ranks)}
    words = ["downbeat", "run", *operations, "--sync", "harmonize"]
    words += ["--sizes", ",".join(map(str, sorted(sizes)))] if sizes else []
    words += ["-n", ",".join(map(str, ranks)), "-o", "baseline"]
    return shlex.join(words)
