"""Latencies after a synchronizer over those from a common start, launch by launch (delta, Schuchart 2023, 6.1)."""

from __future__ import annotations

import pandas as pd

from downbeat.experiment.experiment import FACTORS

REFERENCE = "harmonize"
PAIRED = [name for name in (*FACTORS, "launch") if name not in ("synchronizer", "barrier_algorithm")]
METRIC = "latency_avg_median"


def launch_ratios(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns delta of every launch: rows of other synchronizers, each with `ratio` to `harmonize` in the same launch.

    Args:
        cells: rows of `Experiment.cells`; rows without a partner are left out, and those of a single rank, which has
            nobody to be synchronized with.
    """
    cells = cells[cells["ranks"] > 1]
    reference = cells[cells["synchronizer"] == REFERENCE].drop_duplicates(PAIRED)
    others = cells[~cells["synchronizer"].str.startswith((REFERENCE, "none"))]
    pairs = others.merge(reference[[*PAIRED, METRIC]], on=PAIRED, suffixes=("", "_reference"))
    return pairs.assign(ratio=pairs[METRIC] / pairs[f"{METRIC}_reference"])
