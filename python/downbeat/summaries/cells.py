"""The rows of an experiment's frame that a picture is of."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from downbeat.data.countable import WRONG, countable
from downbeat.data.states import CHANGED
from downbeat.experiment.experiment import Experiment

NO_PATTERN = "none"
# With a picture or two for each of more, a page takes minutes to draw and megabytes to keep.
MOST_OPERATIONS = 12


def measured_cells(experiment: Experiment) -> pd.DataFrame:
    """Returns the rows that have valid samples and right results, of one state of the machine each."""
    cells = experiment.cells
    return cells[(cells["valid_count"] > 0) & ~cells["status"].isin((WRONG, CHANGED))]


def plain_cells(experiment: Experiment) -> pd.DataFrame:
    """Returns those of them that are of the operation alone, without planned delays or computation."""
    cells = measured_cells(experiment)
    return cells[(cells["pattern"] == NO_PATTERN) & (cells["computation"] == 0)]


def judged_cells(experiment: Experiment) -> pd.DataFrame:
    """Returns those of the plain ones that a verdict may rest on (`countable`); pictures show the others as well."""
    cells = plain_cells(experiment)
    return cells[countable(cells)]


def by_operation(cells: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Returns the operations that get a picture of their own, with their rows: the first `MOST_OPERATIONS`."""
    for operation in cells["operation"].unique()[:MOST_OPERATIONS]:
        yield str(operation), cells[cells["operation"] == operation]
