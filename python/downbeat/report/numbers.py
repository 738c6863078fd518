"""The tables of numbers on a report's page, and how they are written."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_integer_dtype, is_numeric_dtype

from downbeat.show import write_csv


def digits(value: float) -> str:
    """Returns a number with three significant digits, without exponent."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def span(low: float, high: float) -> str:
    """Returns two numbers as a range, or as one where they look the same."""
    ends = digits(low), digits(high)
    if ends[0] == ends[1]:
        return ends[0]
    if any("." in end and digits_shown(end) == 3 for end in ends):
        # Where one end shows three digits, the other keeps its zeros: 1.40 to 1.43.
        ends = with_zeros(low), with_zeros(high)
    return f"{ends[0]} to {ends[1]}"


def digits_shown(text: str) -> int:
    """Returns how many digits of a number count, as it is written: 3 of 0.0142."""
    return len(re.sub(r"^-?[0.]*|\.", "", text.partition("e")[0]))


def with_zeros(value: float) -> str:
    """Returns a number as `digits`, with all three digits where some are after the point."""
    return f"{value:#.3g}".removesuffix(".") if 1e-3 <= abs(value) < 1000 else digits(value)


# A longer table is cut in the page; its CSV is whole.
MOST_ROWS = 200
# Characters of a text that is broken into lines where there is little room.
LONG = 30
# Units by which the names of columns end.
UNITS = ("us", "ns", "ms", "s", "bytes", "ppm", "percent")


@dataclass(frozen=True)
class Column:
    """Heads a column."""

    title: str
    style: str  # "number"; "verdict"; "long": texts that take more than one line where there is little room


@dataclass(frozen=True)
class Rows:
    """A frame as text."""

    columns: tuple[Column, ...]
    cells: tuple[tuple[str, ...], ...]
    left_out: int  # rows
    constant: str = ""  # what is the same in all rows


def table_rows(frame: pd.DataFrame) -> Rows:
    """Returns a frame as text: four significant digits, a `-` where there is no value. The index is left out.

    `low` and `high` become one column. A column with one value for several rows becomes a note.
    """
    shown = frame.head(MOST_ROWS)
    constant = [name for name in frame if len(frame) > 1 and frame[name].nunique(dropna=False) == 1]
    texts = {str(name): column_texts(shown[name]) for name in shown if name not in constant}
    for high in [name for name in texts if re.match("high(_|$)", name) and name.replace("high", "low") in texts]:
        low = high.replace("high", "low")
        ends = zip(texts.pop(high), texts[low], strict=True)
        texts = {name.replace("low", "interval") if name == low else name: column for name, column in texts.items()} | {
            high.replace("high", "interval"): [f"{least} to {most}" if least != "-" else "-" for most, least in ends]
        }
    columns = tuple(Column(column_title(name), style_of(name, frame, column)) for name, column in texts.items())
    values = ", ".join(f"{column_title(str(name))} {as_text(frame[name].iloc[0], False)}" for name in constant)
    return Rows(columns, tuple(zip(*texts.values(), strict=True)), max(0, len(frame) - MOST_ROWS), values)


def style_of(name: str, frame: pd.DataFrame, texts: list[str]) -> str:
    """Returns the `Column.style` of a column."""
    if name == "verdict":
        return name
    if name not in frame or (is_numeric_dtype(frame[name]) and not is_bool_dtype(frame[name])):
        return "number"
    return "long" if max(map(len, texts), default=0) > LONG else ""


def column_texts(column: pd.Series[Any]) -> list[str]:
    """Returns the values of a column; where one needs four digits, all keep their zeros: 1.420 beside 1.434."""
    whole = is_integer_dtype(column)
    texts = [as_text(value, whole) for value in column]
    if not is_float_dtype(column) or not any("." in text and digits_shown(text) == 4 for text in texts):
        return texts
    return [
        f"{value:#.4g}" if 0 < abs(value) < 1e3 and "e" not in text else text
        for value, text in zip(column, texts, strict=True)
    ]


def column_title(name: str) -> str:
    """Returns the heading of a column, with the unit at the end of its name in brackets."""
    stem, _, unit = name.rpartition("_")
    if stem and unit in UNITS:
        return f"{stem.replace('_', ' ')} [{'%' if unit == 'percent' else unit}]"
    return name.replace("_", " ")


def as_text(value: object, whole: bool) -> str:
    """Returns a value as the text of a table."""
    if value is None or value is pd.NA or value != value:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if whole:
        return f"{value}"
    if isinstance(value, float):
        # Plain digits where they are few; 0.00001234 and 1.234e+09 are left to the exponent.
        return f"{value:.4g}" if value == 0 or not 1e3 <= abs(value) < 1e9 else f"{value:.0f}"
    return str(value)


def csv_link(frame: pd.DataFrame) -> str:
    """Returns a link that holds the frame as a CSV file, in full precision."""
    text = io.StringIO()
    write_csv(frame, text)
    content = text.getvalue().encode()
    return "data:text/csv;base64," + base64.b64encode(content).decode()
