"""Writes results for programs: views as JSON, frames as CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from downbeat.files import write_text
from downbeat.output.blocks import View
from downbeat.output.words import long


def view_record(view: View) -> dict[str, object]:
    """Converts a view to JSON: its record, and the facts of its sentences with their wordings."""
    return {**view.record, "facts": [{**fact.record(), "text": long(fact)} for fact in view.facts]}


def write_record(content: Mapping[str, object], path: Path) -> None:
    """Writes JSON: null for NaN, "infinite" for infinity.

    Args:
        content: numbers, texts, lists and mappings.
        path: file to write; `-` for standard output.

    Raises:
        DownbeatError: the file cannot be written.
    """
    write_text(path, json.dumps(plain(content), indent=1, allow_nan=False) + "\n")


def plain(value: object) -> object:
    """Converts a value to types of JSON: NaN to null, infinity to "infinite"."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, float) and math.isinf(value):
        return "infinite"
    return value


def table_rows(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Converts a table to JSON: an object per row; NaN and infinity become null."""
    finite = frame.replace([np.inf, -np.inf], np.nan)
    return [dict(zip(map(str, frame), row, strict=True)) for row in finite.itertuples(index=False, name=None)]


# First characters of formulas in Excel, LibreOffice and Google Sheets (OWASP, "CSV Injection").
FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r")


def write_csv(frame: pd.DataFrame, target: Any, header: bool = True) -> None:  # noqa: ANN401 (a path or a file, as for to_csv)
    """Writes comma-separated values, with an apostrophe before texts that spreadsheets take for a formula."""
    changed = {}  # columns with such texts
    for name, column in frame.items():
        if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
            continue
        values = column.unique()  # few: the texts of a column repeat in many rows
        escaped = {
            value: f"'{value}" for value in values if isinstance(value, str) and value.startswith(FORMULA_BEGINS)
        }
        if escaped:
            changed[str(name)] = column.astype(object).map(lambda value, names=escaped: names.get(value, value))
    (frame.assign(**changed) if changed else frame).to_csv(target, index=False, header=header)
