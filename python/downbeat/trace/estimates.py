"""A sample of the calls, and all of them.

Whether a call is in the sample depends on a hash of its number alone, as if coins were thrown for each (Poisson
sampling): so errors follow from the sample itself, whatever the program does (Särndal, Swensson and Wretman 1992, 3.5
and 5.6). A call that is in the sample with probability 1/w has the weight w, and w = 1 adds no error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Z = 1.96  # 95 % intervals
FARTHEST = 1.0  # standard errors; a total that is farther off has calls unlike those of the sample

Floats = NDArray[np.float64]


def ratio_error(part: Floats, whole: Floats, weights: Floats) -> float:
    """Returns the standard error of sum(part) / sum(whole) over all calls, from those of a sample."""
    total = float((weights * whole).sum())
    if total <= 0:
        return 0.0
    rest = part - float((weights * part).sum()) / total * whole
    return float(np.sqrt((weights * (weights - 1) * rest**2).sum())) / total


def total_error(values: Floats, weights: Floats, total: float, count: float) -> float:
    """Returns how much of a known total the calls of a sample do not explain.

    It is 0 unless the total is farther from what the sample shows than chance has it: then there were a few calls of
    another kind, which the sample may lack.

    Args:
        values: of calls in the sample.
        weights: theirs.
        total: of all calls.
        count: of all calls.
    """
    stand_for = float(weights.sum())
    if not stand_for or (weights == 1).all():
        return 0.0
    mean = float((weights * values).sum()) / stand_for
    error = float(np.sqrt((weights * (weights - 1) * (values - mean) ** 2).sum())) * count / stand_for
    return max(0.0, abs(total - mean * count) - FARTHEST * error)


def weighted_quantiles(values: Floats, weights: Floats, levels: Floats) -> tuple[Floats, Floats]:
    """Returns quantiles over all calls, and how wrong they may be: to the farther end of their 95 % intervals.

    The error is infinite where the sample is too small for an end.

    Args:
        values: of calls in the sample.
        weights: theirs.
        levels: of the quantiles, 0 to 1.
    """
    if not len(values):
        return np.full(len(levels), np.nan), np.zeros(len(levels))
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    if (weights == weights[0]).all():
        places = np.linspace(0.0, 1.0, len(values)) if len(values) > 1 else np.array([0.5])
    else:
        places = (np.cumsum(weights) - weights / 2) / weights.sum()
    # The share of calls below a value, as of a ratio (Woodruff 1952).
    spread = np.sqrt(levels * (1 - levels) * (weights * (weights - 1)).sum()) / weights.sum()
    low, high = levels - Z * spread, levels + Z * spread
    found, first, last = (np.interp(level, places, values) for level in (levels, low, high))
    error = np.where((low < 0) | (high > 1), np.inf, np.maximum(last - found, found - first))
    return found, error
