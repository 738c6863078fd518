"""Frames of cells that were made up."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from downbeat_papers.kinds.scaling import line_names


def cells_where(cells: pd.DataFrame, where: Mapping[str, object]) -> pd.DataFrame:
    """Returns the cells whose columns have a value, or one of some values."""
    for name, value in where.items():
        cells = cells[cells[name].isin(value if isinstance(value, list) else [value])]
    return cells


def with_lines(cells: pd.DataFrame, collective: str) -> pd.DataFrame:
    """Returns the cells of a collective with the name of their `line`."""
    cells = cells[cells["operation"] == collective]
    return cells.assign(line=line_names(cells["label"], cells["algorithm"]))
