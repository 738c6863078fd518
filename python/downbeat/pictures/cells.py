"""Which rows of an experiment's frame a picture is of."""

from __future__ import annotations

import pandas as pd

from downbeat.experiment.experiment import Experiment

NO_PATTERN = "none"


def measured_cells(experiment: Experiment) -> pd.DataFrame:
    """Returns the rows that have valid samples and right results."""
    cells = experiment.cells
    return cells[(cells["valid_count"] > 0) & (cells["status"] != "wrong")]


def plain_cells(experiment: Experiment) -> pd.DataFrame:
    """Returns those of them that are of the operation alone, without planned delays or computation."""
    cells = measured_cells(experiment)
    return cells[(cells["pattern"] == NO_PATTERN) & (cells["computation"] == 0)]
