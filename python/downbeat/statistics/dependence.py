"""Estimates the correlation of successive launches, and the effective number of independent launches."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import normal_cdf, normal_quantile
from downbeat.statistics.series import autocorrelation, effective_number

# Launches from which a correlation is estimated: the number needed for verdicts. With 10, 0.4 % of verdicts change
# (simulated).
MIN_IN_ORDER = 5
# Smallest effective number; half an interval is then 1.6 standard deviations. Chosen by hand: with 2, 0.8 % of verdicts
# change, with 8, 3 %.
MIN_EFFECTIVE = 4
CHANCE = normal_quantile(0.95)  # standard errors of a correlation; with half or twice the value 4 % of verdicts change
DECIMALS = 12  # decimals of logarithms; further digits are rounding errors of medians in s


def effective_launches(series: ArrayLike) -> float:
    """Returns the effective number of independent launches, for an AR(1) process with the launches' lag-1 correlation.

    The correlation r of n launches is an estimate with the variance 1 / n, so it is shrunk toward 0 by the factor
    max(0, 1 - z^2 / (n r^2)) (James and Stein 1961), where z is the 95 % quantile of the normal distribution. So the
    correction has no step, and intervals of independent launches get 2 to 3 % wider on average.

    Args:
        series: logarithms of medians or ratios, shape (launches,), in the order of the launches.

    Returns:
        At least 4, or the number of launches if smaller: a drift within the run explains only its own range.
    """
    values = rounded(series)
    if values.size < MIN_IN_ORDER:
        return float(values.size)
    r1 = min(max(autocorrelation(values), 0.0), 1.0)
    noise = (CHANCE**2 / values.size) / r1**2 if r1 > 0 else 1.0
    return max(effective_number(values.size, r1 * max(1 - noise, 0.0)), float(MIN_EFFECTIVE))


def error_of_mean(series: NDArray[np.float64]) -> tuple[float, float]:
    """Returns the standard error of a mean over launches and its degrees of freedom; NaN and 0: a single launch."""
    if series.size < 2:
        return math.nan, 0.0
    effective = effective_launches(series)
    return float(series.std(ddof=1)) / math.sqrt(effective), effective - 1


def correlation(series: ArrayLike, level: float) -> float:
    """Returns the lag-1 correlation of launches; 0: not significant, or fewer than 5 launches.

    Args:
        series: as in `effective_launches`.
        level: share of independent series that count as correlated.

    Returns:
        The correlation, from 0 to 1.
    """
    values = rounded(series)
    r1 = autocorrelation(values) if values.size >= MIN_IN_ORDER else 0.0
    return min(r1, 1.0) if r1 * math.sqrt(max(values.size, 1)) > -normal_quantile(level) else 0.0


def resemblance_p(series: ArrayLike) -> float:
    """Returns the one-sided p-value of no lag-1 correlation of launches; NaN: fewer than 5 launches."""
    values = rounded(series)
    if values.size < MIN_IN_ORDER:
        return math.nan
    return normal_cdf(-autocorrelation(values) * math.sqrt(values.size))


def rounded(series: ArrayLike) -> NDArray[np.float64]:
    """Returns deviations from the mean of logarithms, rounded so that equal launches have equal values."""
    values = np.asarray(series, dtype=float)
    return np.round(values - values.mean(), DECIMALS) if values.size else values
