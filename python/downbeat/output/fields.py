"""Formats numbers for printed texts and tables, and defines the columns of tables (`Field`).

A field has a heading, a kind (how its values are formatted), the unit of the stored values and a meaning. NaN is
printed as `-`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from downbeat.text import PERCENT, microseconds


def digits(value: float) -> str:
    """Formats a number with three significant digits and without exponent."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def span(low: float, high: float) -> str:
    """Formats two numbers as a range, or as a single number if their texts are equal."""
    low_text, high_text = digits(low), digits(high)
    if low_text == high_text:
        return low_text
    if any("." in text and count_digits(text) == 3 for text in (low_text, high_text)):
        # If one text has three digits, the other keeps its zeros: 1.40 to 1.43.
        low_text, high_text = digits_with_zeros(low), digits_with_zeros(high)
    return f"{low_text} to {high_text}"


def count_digits(text: str) -> int:
    """Counts the significant digits of a text: 3 for 0.0142."""
    return len(re.sub(r"^-?[0.]*|\.", "", text.partition("e")[0]))


def digits_with_zeros(value: float) -> str:
    """Formats a number like `digits`, but keeps trailing zeros: 1.40."""
    return f"{value:#.3g}".removesuffix(".") if 1e-3 <= abs(value) < 1000 else digits(value)


COMMON_START, BARRIER = "harmonize", "mpi_barrier"  # names of these synchronizers in options and files
SYNCHRONIZER_NAMES = {COMMON_START: "common start", BARRIER: "MPI_Barrier"}


def synchronizer_name(value: object) -> str:
    """The printed name of a synchronizer, e.g. "common start", followed by its algorithm and timing scheme.

    Any other value of a factor is formatted by `format_factor`.
    """
    text = format_factor(value)
    name = re.match(r"\w*", text)[0]  # type: ignore[index]  # matches every text
    return f"{SYNCHRONIZER_NAMES.get(name, name)}{text[len(name) :]}"


def start_text(synchronizer: str) -> str:
    """Describes the start of operations: "from a common start" or "after MPI_Barrier"."""
    if synchronizer == COMMON_START:
        return f"from a {SYNCHRONIZER_NAMES[COMMON_START]}"
    return f"after {synchronizer_name(synchronizer)}"


def format_factor(value: object) -> str:
    """Formats the value of a factor, e.g. an operation, a size or a delay."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def format_percent(share: float) -> str:
    """Formats a share in percent without % sign, which is in the heading; one decimal below 100."""
    if not math.isfinite(share):
        return "-"
    return f"{PERCENT * share:.1f}" if PERCENT * share < 99.95 else f"{PERCENT * share:.0f}"


def percent_text(share: float) -> str:
    """Formats a share with a % sign: one decimal below 9.5 %, no decimals above."""
    return f"{PERCENT * share:.0f} %" if share >= 0.095 or share == 0 else f"{PERCENT * share:.1f} %"


def short_time(seconds: float) -> str:
    """Formats a time with three digits, in the largest unit in which it is at least 1."""
    units = (("s", 1.0), ("ms", 1e3), ("us", 1e6))
    unit, factor = next((pair for pair in units if seconds * pair[1] >= 1), ("ns", 1e9))
    return f"{seconds * factor:.3g} {unit}" if seconds * factor < 999.5 else f"{seconds * factor:.0f} {unit}"


def format_value(value: object) -> str:
    """Formats a float with four significant digits, any other value as text; `-` if the value is missing."""
    if value is None or value is pd.NA or value != value:  # the last for NaN
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        # Whole digits from 1000 to 1e9. Other values have the format of :.4g, e.g. 1.234e+09.
        return f"{value:.4g}" if value == 0 or not 1e3 <= abs(value) < 1e9 else f"{value:.0f}"
    return str(value)


# Kind of a field -> formatter. A kind also decides the alignment (`is_number`). Adding 0.0 makes -0.0 print as 0.
FIELD_KINDS: dict[str, Callable[[Any], str]] = {
    "word": format_factor,  # aligned to the left
    "number": format_factor,  # aligned to the right
    "synchronizer": synchronizer_name,
    "time": microseconds,  # stored in s, printed in us
    "rate": lambda rate: "-" if math.isnan(rate) else digits(rate / 1e6),  # stored in B/s, printed in MB/s
    "share": format_percent,
    "ratio": lambda ratio: "-" if math.isnan(ratio) else f"{ratio:.3f}",
    "interval": lambda ratios: "-" if math.isnan(ratios[0]) else f"{ratios[0]:.3f}-{ratios[1]:.3f}",  # two ratios
    "significant": format_value,  # all values of a column with the same number of digits
    "text": format_value,  # aligned to the left
    "title": format_value,  # title of a row; above the row's numbers if both do not fit into a line
    "ppm": lambda rate: "-" if math.isnan(rate) else f"{1e6 * rate + 0.0:.4f}",  # stored as a share
    "seconds": lambda seconds: "-" if math.isnan(seconds) else f"{round(seconds, 9) + 0.0:.9f}",
}
# Kind -> printed unit, if it is not the stored unit.
WRITTEN_UNITS = {"time": "us", "rate": "MB/s", "share": "%", "ppm": "ppm", "seconds": "s"}


@dataclass(frozen=True)
class Field:
    """A column of a table.

    Attributes:
        heading: heading, with the printed unit.
        kind: a key of `FIELD_KINDS`.
        unit: unit of the stored values, for files; empty without a unit.
        meaning: explanation below the table; empty if the heading explains itself.
    """

    heading: str
    kind: str = "word"
    unit: str = ""
    meaning: str = ""

    @property
    def is_number(self) -> bool:
        """True if values are aligned to the right."""
        return self.kind not in ("word", "synchronizer", "text", "title")

    def text(self, value: object) -> str:
        """Formats a value."""
        return FIELD_KINDS[self.kind](value)

    def texts(self, values: Iterable[object]) -> list[str]:
        """Formats all values of a column; if one has four digits, all keep their zeros: 1.420 and 1.434."""
        numbers = list(values)
        texts = [self.text(value) for value in numbers]
        if self.kind != "significant" or not any("." in text and count_digits(text) == 4 for text in texts):
            return texts
        return [
            f"{value:#.4g}" if isinstance(value, float) and 0 < abs(value) < 1e3 and "e" not in text else text
            for value, text in zip(numbers, texts, strict=True)
        ]


class DeclaredColumn(Protocol):
    """The properties of `downbeat.tables.Column` that a field needs."""

    @property
    def name(self) -> str:
        """Name of the column."""

    @property
    def meaning(self) -> str:
        """Meaning of the values."""

    @property
    def unit(self) -> str:
        """Unit of the stored values."""


def declared_fields(
    columns: Iterable[DeclaredColumn],
    kinds: Mapping[str, str],
    self_explanatory: Container[str] = (),
    headings: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Field]:
    """Makes fields of the columns of a typed table, with the declared units and meanings.

    The text after a semicolon in a meaning, e.g. on NaN or -1, is for programs and not printed.

    Args:
        columns: columns of the table.
        kinds: name of a column -> kind, for the columns to show in their order.
        self_explanatory: names of columns whose headings need no meaning.
        headings: name of a column -> heading, if the name is unclear or too long.

    Raises:
        KeyError: the table has no column of this name.
    """
    declared = {column.name: column for column in columns}
    fields = {}
    for name, kind in kinds.items():
        column = declared[name]
        stem = headings.get(name, name.removesuffix(f"_{column.unit}").replace("_", " "))
        unit = WRITTEN_UNITS.get(kind, "" if column.unit == "1" else column.unit)
        meaning = "" if name in self_explanatory else column.meaning.partition(";")[0]
        fields[name] = Field(f"{stem} [{unit}]" if unit else stem, kind, column.unit, meaning)
    return fields


# Name of a factor -> kind of its field, and unit; others are words without unit.
FACTOR_KINDS = {"size": "number", "ranks": "number", "synchronizer": "synchronizer"}
FACTOR_UNITS = {"size": "byte", "largest_delay": "s", "computation": "s"}


def factor_field(name: str) -> Field:
    """Makes the field of a factor."""
    return Field(name, FACTOR_KINDS.get(name, "word"), FACTOR_UNITS.get(name, ""))


# Units at the end of the names of columns.
UNITS = ("us", "ns", "ms", "s", "bytes", "ppm", "percent")


def fields_of(frame: pd.DataFrame) -> Mapping[str, Field]:
    """Makes a field for each column of a frame; the unit is at the end of its name ("latency_us")."""
    fields = {}
    for name, column in frame.items():
        is_number = is_numeric_dtype(column) and not is_bool_dtype(column)
        fields[str(name)] = Field(heading(str(name)), "significant" if is_number else "text")
    return fields


def heading(name: str) -> str:
    """Makes a heading from a name, with the unit in brackets: "latency_us" becomes "latency [us]"."""
    stem, _, unit = name.rpartition("_")
    if stem and unit in UNITS:
        return f"{stem.replace('_', ' ')} [{'%' if unit == 'percent' else unit}]"
    return name.replace("_", " ")
