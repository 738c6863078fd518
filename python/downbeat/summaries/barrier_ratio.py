"""Latencies after a synchronizer over those from a common start, launch by launch (delta, Schuchart 2023, 6.1)."""

from __future__ import annotations

import pandas as pd

from downbeat.data.cells import hidden_by_step
from downbeat.experiment.experiment import FACTORS

REFERENCE = "harmonize"
PAIRED = [name for name in (*FACTORS, "launch") if name not in ("synchronizer", "barrier_algorithm")]
METRIC = "latency_avg_median"


def launch_ratios(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns delta of every launch: rows of other synchronizers, each with `ratio` to `harmonize` in the same launch.

    `hidden` is how much the clock's step may change the difference of the two latencies, s, `ratio_hidden` the ratio.

    Args:
        cells: rows of `Experiment.cells`; rows without a partner are left out, and those of a single rank, which has
            nobody to be synchronized with.
    """
    cells = cells[cells["ranks"] > 1]
    cells = cells.assign(hidden=hidden_by_step(cells, "latency_avg"))
    reference = cells[cells["synchronizer"] == REFERENCE].drop_duplicates(PAIRED)
    others = cells[~cells["synchronizer"].str.startswith((REFERENCE, "none"))]
    pairs = others.merge(reference[[*PAIRED, METRIC, "hidden"]], on=PAIRED, suffixes=("", "_reference"))
    reference_latency, hidden = pairs[f"{METRIC}_reference"], pairs["hidden"] + pairs["hidden_reference"]
    return pairs.assign(ratio=pairs[METRIC] / reference_latency, hidden=hidden, ratio_hidden=hidden / reference_latency)
