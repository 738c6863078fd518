"""Numbers in sentences."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def microseconds(value: float) -> str:
    """Returns a time in us with three digits that count."""
    return f"{value:.3g} us"


def between(values: Iterable[float], unit: str = "") -> str:
    """Returns a range, as "1.02 to 1.3 us"."""
    kept = [value for value in values if np.isfinite(value)]
    if not kept:
        return "none"
    low, high = f"{min(kept):.3g}", f"{max(kept):.3g}"
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def above(low: float, high: float, border: float) -> bool | None:
    """Whether an interval lies above a border; None where it contains it."""
    if low > border:
        return True
    return False if high < border else None


def below(low: float, high: float, border: float) -> bool | None:
    """Whether an interval lies below a border; None where it contains it."""
    answer = above(low, high, border)
    return None if answer is None else not answer
