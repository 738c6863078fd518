"""Columns of shown tables: their headings, and numbers as people read them."""

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
    """A number with three significant digits, without exponent."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def span(low: float, high: float) -> str:
    """Two numbers as a range, or as a single number where they look the same."""
    ends = digits(low), digits(high)
    if ends[0] == ends[1]:
        return ends[0]
    if any("." in end and digits_shown(end) == 3 for end in ends):
        # Where one end shows three digits, the other keeps its zeros: 1.40 to 1.43.
        ends = with_zeros(low), with_zeros(high)
    return f"{ends[0]} to {ends[1]}"


def digits_shown(text: str) -> int:
    """The significant digits of a number, as it is written: 3 of 0.0142."""
    return len(re.sub(r"^-?[0.]*|\.", "", text.partition("e")[0]))


def with_zeros(value: float) -> str:
    """A number as `digits`, with all three digits where some are after the point."""
    return f"{value:#.3g}".removesuffix(".") if 1e-3 <= abs(value) < 1000 else digits(value)


COMMON_START, BARRIER = "harmonize", "mpi_barrier"  # as options and files name these synchronizers
SYNCHRONIZER_NAMES = {COMMON_START: "common start", BARRIER: "MPI_Barrier"}


def synchronizer_name(value: object) -> str:
    """A synchronizer by the name that people know, with its algorithm and timing scheme; any other value as `word`."""
    name, remainder = re.fullmatch(r"(\w*)(.*)", word(value), re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{SYNCHRONIZER_NAMES.get(name, name)}{remainder}"


def start_text(synchronizer: str) -> str:
    """What operations are measured from."""
    return (
        f"from a {SYNCHRONIZER_NAMES[COMMON_START]}"
        if synchronizer == COMMON_START
        else f"after {synchronizer_name(synchronizer)}"
    )


def word(value: object) -> str:
    """A factor's value as it is printed."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def percent(share: float) -> str:
    """A share in percent, without the sign, which is in the heading; `-` for none."""
    if not math.isfinite(share):
        return "-"
    return f"{PERCENT * share:.1f}" if PERCENT * share < 99.95 else f"{PERCENT * share:.0f}"


def percent_text(share: float) -> str:
    """A share in percent, without digits that say nothing."""
    return f"{PERCENT * share:.0f} %" if share >= 0.095 or share == 0 else f"{PERCENT * share:.1f} %"


def short_time(seconds: float) -> str:
    """A time with three digits, in the unit that makes it shortest."""
    units = (("s", 1.0), ("ms", 1e3), ("us", 1e6))
    unit, factor = next((each for each in units if seconds * each[1] >= 1), ("ns", 1e9))
    return f"{seconds * factor:.3g} {unit}" if seconds * factor < 999.5 else f"{seconds * factor:.0f} {unit}"


def decimals(value: float) -> str:
    """A ratio with three decimals; `-` for none."""
    return "-" if math.isnan(value) else f"{value:.3f}"


def ends(interval: tuple[float, float]) -> str:
    """An interval; `-` for none."""
    return "-" if math.isnan(interval[0]) else f"{interval[0]:.3f}-{interval[1]:.3f}"


def rounded(value: object) -> str:
    """A number with four significant digits, anything else as it is; `-` for none."""
    if value is None or value is pd.NA or value != value:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        # Plain digits where they are few; 0.00001234 and 1.234e+09 are left to the exponent.
        return f"{value:.4g}" if value == 0 or not 1e3 <= abs(value) < 1e9 else f"{value:.0f}"
    return str(value)


def ppm(rate: float) -> str:
    """A rate in ppm, to a tenth of a part in 10^9; `-` for none."""
    return "-" if math.isnan(rate) else f"{1e6 * rate + 0.0:.4f}"


def exact_seconds(seconds: float) -> str:
    """A time in s, to the nanosecond; `-` for none."""
    return "-" if math.isnan(seconds) else f"{round(seconds, 9) + 0.0:.9f}"


# How values are written. Words are aligned to the left, numbers to the right.
FIELD_KINDS: dict[str, Callable[[Any], str]] = {
    "word": word,
    "number": word,
    "synchronizer": synchronizer_name,
    "time": microseconds,  # stored in s, printed in us
    "rate": lambda rate: "-" if math.isnan(rate) else digits(rate / 1e6),  # stored in B/s, printed in MB/s
    "share": percent,
    "ratio": decimals,
    "interval": ends,  # a pair of ratios
    "significant": rounded,  # all values of a column with the same number of digits
    "text": rounded,
    "title": rounded,  # of a row: above its numbers where both do not fit into a line
    "ppm": ppm,  # stored as a share
    "seconds": exact_seconds,
}
# The units in which kinds are written, where they are not those that values are stored in.
WRITTEN_UNITS = {"time": "us", "rate": "MB/s", "share": "%", "ppm": "ppm", "seconds": "s"}


@dataclass(frozen=True)
class Field:
    """A column: its heading, how its values are written, their unit in files, and what they mean."""

    heading: str
    kind: str = "word"
    unit: str = ""
    meaning: str = ""

    @property
    def is_number(self) -> bool:
        """Whether its values are aligned to the right."""
        return self.kind not in ("word", "synchronizer", "text", "title")

    def text(self, value: object) -> str:
        """A value as text."""
        return FIELD_KINDS[self.kind](value)

    def texts(self, values: Iterable[object]) -> list[str]:
        """The values of a column; where one needs four digits, all keep their zeros: 1.420 beside 1.434."""
        numbers = list(values)
        texts = [self.text(value) for value in numbers]
        if self.kind != "significant" or not any("." in text and digits_shown(text) == 4 for text in texts):
            return texts
        return [
            f"{value:#.4g}" if isinstance(value, float) and 0 < abs(value) < 1e3 and "e" not in text else text
            for value, text in zip(numbers, texts, strict=True)
        ]


class DeclaredColumn(Protocol):
    """A column of a record type, as `downbeat.tables.Column` declares it."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def meaning(self) -> str:
        """What its values mean."""

    @property
    def unit(self) -> str:
        """The unit in which they are stored."""


def declared_fields(
    columns: Iterable[DeclaredColumn],
    kinds: Mapping[str, str],
    unexplained: Container[str] = (),
    headings: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Field]:
    """Fields of the columns of a record type, with the units and meanings that it declares.

    What follows a semicolon in a meaning is for programs: that of NaN or -1.

    Args:
        columns: of the record type.
        kinds: of the columns to show, in their order, by name: how they are written.
        unexplained: names of columns whose headings say what they mean.
        headings: of columns, by name, where the column name is unclear or too long.

    Raises:
        KeyError: the record type has no column of a name.
    """
    declared = {column.name: column for column in columns}
    fields = {}
    for name, kind in kinds.items():
        column = declared[name]
        stem = headings.get(name, name.removesuffix(f"_{column.unit}").replace("_", " "))
        unit = WRITTEN_UNITS.get(kind, "" if column.unit == "1" else column.unit)
        meaning = "" if name in unexplained else column.meaning.partition(";")[0]
        fields[name] = Field(f"{stem} [{unit}]" if unit else stem, kind, column.unit, meaning)
    return fields


FACTOR_KINDS = {"size": "number", "ranks": "number", "synchronizer": "synchronizer"}
FACTOR_UNITS = {"size": "byte", "largest_delay": "s", "computation": "s"}


def factor_field(name: str) -> Field:
    """The field of a factor."""
    return Field(name, FACTOR_KINDS.get(name, "word"), FACTOR_UNITS.get(name, ""))


# Units by which the names of columns end.
UNITS = ("us", "ns", "ms", "s", "bytes", "ppm", "percent")


def fields_of(frame: pd.DataFrame) -> Mapping[str, Field]:
    """A field for each column of a frame; the unit is at the end of its name ("latency_us")."""
    return {str(name): Field(heading(str(name)), kind_of(column)) for name, column in frame.items()}


def kind_of(column: pd.Series[Any]) -> str:
    """How the values of a column are written, by their type."""
    return "significant" if is_numeric_dtype(column) and not is_bool_dtype(column) else "text"


def heading(name: str) -> str:
    """The heading of a column, with the unit at the end of its name in brackets."""
    stem, _, unit = name.rpartition("_")
    if stem and unit in UNITS:
        return f"{stem.replace('_', ' ')} [{'%' if unit == 'percent' else unit}]"
    return name.replace("_", " ")
