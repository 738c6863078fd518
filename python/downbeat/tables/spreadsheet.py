"""CSV that spreadsheets open: a text that they would take for a formula stays a text."""

from __future__ import annotations

from typing import Any

import pandas as pd

# With which Excel, LibreOffice and Google Sheets begin a formula (OWASP, "CSV Injection").
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(frame: pd.DataFrame, target: Any, header: bool = True) -> None:  # noqa: ANN401 - as to_csv has it
    """Writes comma-separated values, with an apostrophe before texts that begin a formula."""
    without_formulas(frame).to_csv(target, index=False, header=header)


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns a frame, and a changed copy only if it has such a text."""
    changed = {}
    for name, column in frame.items():
        if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
            continue
        values = column.unique()  # a name is in many rows
        escaped = {value: f"'{value}" for value in values if isinstance(value, str) and value.startswith(FORMULA)}
        if escaped:
            changed[name] = column.astype(object).map(lambda value, names=escaped: names.get(value, value))
    return frame.assign(**{str(name): column for name, column in changed.items()}) if changed else frame
