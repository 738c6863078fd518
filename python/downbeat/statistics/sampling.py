"""Estimates totals, ratios and quantiles of all calls of a program from a sample of recorded calls.

A recorded call represents `weight` calls: it was drawn with the probability 1/weight, independently of other calls. So
its value contributes weight * (weight - 1) * value^2 to the variance of a total (Horvitz and Thompson 1952).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Z = 1.96  # standard errors of half a 95 % interval
FARTHEST = 1.0  # standard errors; a larger difference of a total shows calls that are unlike the sample

Floats = NDArray[np.float64]


def ratio_error(numerator: Floats, denominator: Floats, weights: Floats) -> float:
    """Returns the standard error of sum(numerator) / sum(denominator) over all calls."""
    total = float((weights * denominator).sum())
    if total <= 0:
        return 0.0
    residual = numerator - float((weights * numerator).sum()) / total * denominator
    return float(np.sqrt((weights * (weights - 1) * residual**2).sum())) / total


def total_error(values: Floats, weights: Floats, total: float, count: float) -> float:
    """Returns the amount of a known total that a sample of calls does not explain.

    It is 0 if the total is within the sampling error. Otherwise the program made a few calls of another kind, which the
    sample lacks.

    Args:
        values: values of the calls in the sample.
        weights: weights of the calls in the sample.
        total: sum of the values of all calls.
        count: number of all calls.
    """
    represented = float(weights.sum())
    if not represented or (weights == 1).all():  # no call in the sample, or all calls
        return 0.0
    mean = float((weights * values).sum()) / represented
    error = float(np.sqrt((weights * (weights - 1) * (values - mean) ** 2).sum())) * count / represented
    return max(0.0, abs(total - mean * count) - FARTHEST * error)


def weighted_quantiles(values: Floats, weights: Floats, levels: Floats) -> tuple[Floats, Floats]:
    """Returns quantiles over all calls, and the half-widths of their 95 % intervals: distances to the farther end.

    A half-width is infinite if the sample is too small for an end. Without values, quantiles are NaN, half-widths 0.

    Args:
        values: values of the calls in the sample.
        weights: weights of the calls in the sample.
        levels: levels of the quantiles, 0 to 1.
    """
    if not len(values):
        return np.full(len(levels), np.nan), np.zeros(len(levels))
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    # Share of calls below each value. With equal weights, quantiles are those of np.quantile; with others, a call is in
    # the middle of the calls that it represents.
    if (weights == weights[0]).all():
        shares = np.linspace(0.0, 1.0, len(values)) if len(values) > 1 else np.array([0.5])
    else:
        shares = (np.cumsum(weights) - weights / 2) / weights.sum()
    # Interval of the share of calls below a quantile, inverted (Woodruff 1952).
    spread = np.sqrt(levels * (1 - levels) * (weights * (weights - 1)).sum()) / weights.sum()
    low, high = levels - Z * spread, levels + Z * spread
    quantiles, first, last = (np.interp(level, shares, values) for level in (levels, low, high))
    error = np.where((low < 0) | (high > 1), np.inf, np.maximum(last - quantiles, quantiles - first))
    return quantiles, error
