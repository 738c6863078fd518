"""Times of operations without late ranks: cells of `downbeat run`, for the call sites of a trace."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.arrivals.table import Arrivals
from downbeat.experiment.experiment import open_experiment
from downbeat.summaries.cells import plain_cells
from downbeat.tune.sweep import HARMONIZE

METRIC = "after_last_entry_median"
FACTOR = 2.0  # sizes that differ by more are other cells


def with_baseline(found: Arrivals, path: Path) -> pd.Series:
    """Returns for each call site what its operation takes from a common start, in s; NaN where nothing fits.

    A cell fits if operation and number of ranks are the same, and the size is the nearest of those within a factor of
    two. Several launches give the median.

    Args:
        found: the call sites.
        path: directory or file of `downbeat run`.

    Raises:
        UsageError: nothing of the kind is there.
    """
    cells = plain_cells(open_experiment(path))
    cells = cells[cells["synchronizer"] == HARMONIZE]
    return pd.Series([nearest(cells, site) for _, site in found.sites.iterrows()], index=found.sites.index, dtype=float)


def nearest(cells: pd.DataFrame, site: pd.Series) -> float:
    """Returns the time of the cells that are nearest to a call site."""
    same = cells[(cells["operation"] == site["operation"]) & (cells["ranks"] == site["size"])]
    if site["kind"] != "blocking" or same.empty:
        return np.nan
    size = 0.0 if pd.isna(site["bytes"]) else float(site["bytes"])
    apart = (np.log2(same["size"].clip(lower=1)) - np.log2(max(1.0, size))).abs()
    if apart.min() > np.log2(FACTOR):
        return np.nan
    return float(same[apart == apart.min()][METRIC].median())


def baseline_command(found: Arrivals) -> str:
    """Returns the command that measures the baseline of all call sites on as many ranks; empty if there are none."""
    sites = found.sites[found.sites["kind"] == "blocking"]
    if sites.empty:
        return ""
    ranks = sorted({int(size) for size in sites["size"] if size > 1})
    sizes = sorted({max(1, int(size)) for size in sites["bytes"].dropna() if size > 0})
    words = ["downbeat", "run", *dict.fromkeys(map(str, sites["operation"])), "--sync", "harmonize"]
    words += ["--sizes", ",".join(map(str, sizes))] if sizes else []
    words += ["-n", ",".join(map(str, ranks)), "-o", "baseline"]
    return shlex.join(words)
