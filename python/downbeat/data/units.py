"""Units of what the frames hold: an attribute of a frame, and part of the names in what is exported."""

from __future__ import annotations

import pandas as pd

from downbeat.data.metrics import METRICS

SECONDS = {"largest_delay", "computation", "error_bound", "wall_time", "deadline", "slack", "begin"}
STAMPS = {"sync_entry", "entry", "exit", "delay"}
BYTES = {"size"}


def unit_of(column: str) -> str:
    """Returns `s`, `byte`, or nothing."""
    if column in BYTES:
        return "byte"
    of_metric = any(column == name or column.startswith(f"{name}_") for name in METRICS)
    return "s" if of_metric or column in SECONDS or column in STAMPS else ""


def units_of(frame: pd.DataFrame) -> dict[str, str]:
    """Returns the units of the columns that have one."""
    return {column: unit for column in frame.columns if (unit := unit_of(column))}


def named_with_units(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns a frame whose columns say their units, as downbeat-bench's CSV: `makespan_median_s`, `size_byte`."""
    return frame.rename(columns={column: f"{column}_{unit}" for column, unit in units_of(frame).items()})
