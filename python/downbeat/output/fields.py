"""Columns of shown tables: their headings, and numbers as people read them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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


def word(value: object) -> str:
    """A factor's value as it is printed."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def percent(share: float) -> str:
    """A share in percent, without the sign, which is in the heading; `-` for none."""
    if not math.isfinite(share):
        return "-"
    return f"{PERCENT * share:.1f}" if PERCENT * share < 99.95 else f"{PERCENT * share:.0f}"


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


# How values are written. Words are aligned to the left, numbers to the right.
FIELD_KINDS: dict[str, Callable[[Any], str]] = {
    "word": word,
    "number": word,
    "time": microseconds,  # stored in s, printed in us
    "share": percent,
    "ratio": decimals,
    "interval": ends,  # a pair of ratios
    "significant": rounded,  # all values of a column with the same number of digits
    "text": rounded,
}


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
        return self.kind not in ("word", "text")

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


FACTOR_UNITS = {"size": "byte", "largest_delay": "s", "computation": "s"}


def factor_field(name: str) -> Field:
    """The field of a factor."""
    return Field(name, "number" if name in ("size", "ranks") else "word", FACTOR_UNITS.get(name, ""))


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
