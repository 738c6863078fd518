"""The cells of launches that count for verdicts: one rule for `compare`, `tune` and the report."""

from __future__ import annotations

import pandas as pd

OK = "ok"
WRONG = "wrong"
FAILED = "failed"


def countable(cells: pd.DataFrame) -> pd.Series[bool]:
    """Returns which cells count: those that have all their valid samples, and right results.

    A cell that is incomplete has fewer samples than the others, from those moments at which starts succeeded. In
    pictures it is shown; a verdict does not rest on it.

    Args:
        cells: with `status`, as `summarize_cells` has it.
    """
    return cells["status"] == OK


def left_out(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Returns the cells that do not count, by status."""
    return {str(status): rows for status, rows in cells[~countable(cells)].groupby("status")}
