"""Cells whose operation goes on while the processor computes, by three definitions (docs/overlap.md)."""

from __future__ import annotations

import pandas as pd

from downbeat.experiment.experiment import Experiment

DEFINITIONS = {"overlap_osu": "OSU", "overlap_imb": "IMB", "overlap_window": "from the common start"}


def all_overlaps(experiment: Experiment) -> pd.DataFrame:
    """Returns the cells that compute, with `DEFINITIONS` as shares; empty where nothing was measured so."""
    cells = experiment.cells
    if not set(DEFINITIONS) <= set(cells):
        return pd.DataFrame()
    return cells[(cells["computation"] > 0) & cells["overlap_window"].notna()].reset_index(drop=True)
