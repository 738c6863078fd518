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
