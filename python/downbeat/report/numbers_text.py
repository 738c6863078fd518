"""Numbers and lists in sentences."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable

from downbeat.units import MICROSECONDS

# A longer list is cut; what is left out is counted.
MOST_NAMED = 8


def microseconds(seconds: float) -> str:
    """Returns a time in microseconds, three significant digits."""
    return f"{digits(seconds * MICROSECONDS)} us"


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


def over_cells(ratios: Iterable[float]) -> str:
    """Returns ratios of cells as `1.2 times`, or of several with the median: the ends are what noise drew outward."""
    values = sorted(ratios)
    times = f"{span(values[0], values[-1])} times"
    if len(values) == 1:
        return times
    return f"{digits(statistics.median(values))} times (median; {times} in single cells)"


def listed(names: Iterable[object]) -> str:
    """Returns names as a list in a sentence: `a, b and c`."""
    texts = [str(name) for name in names]
    if len(texts) > MOST_NAMED:
        return f"{', '.join(texts[:MOST_NAMED])} and {len(texts) - MOST_NAMED} more"
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))
