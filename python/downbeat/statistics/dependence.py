"""Correlation of successive launches, and the effective number of independent launches."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import normal_cdf, normal_quantile
from downbeat.statistics.series import autocorrelation, effective_number

FEWEST_IN_ORDER = 5  # launches needed for verdicts; choice: at 10, 0.4 % of verdicts change (simulated)
LEAST_WORTH = 4  # smallest effective number: half an interval is then 1.6 deviations; choice: at 2 and 8, 0.8 and 3 %
CHANCE = normal_quantile(0.95)  # of a correlation, in standard errors; at half and twice 4 % of verdicts change
DECIMALS = 12  # of logarithms; further digits are rounding of medians in s


def effective_launches(series: ArrayLike) -> float:
    """The effective number of independent launches, for an AR(1) process with the launches' lag-1 correlation.

    The correlation r of n launches is an estimate with the variance 1 / n, so it is shrunk toward 0 by the factor
    max(0, 1 - z^2 / (n r^2)) (James and Stein 1961), where z is the 95 % quantile of the normal distribution. So the
    correction has no step, and intervals of independent launches get 2 to 3 % wider on average.

    Args:
        series: logarithms of medians or ratios, shape (launches,), in the order of the launches.

    Returns:
        At least 4, or the number of launches if smaller: a drift within the run explains only its own range.
    """
    values = rounded(series)
    if values.size < FEWEST_IN_ORDER:
        return float(values.size)
    r1 = min(max(autocorrelation(values), 0.0), 1.0)
    noise = (CHANCE**2 / values.size) / r1**2 if r1 > 0 else 1.0
    return max(effective_number(values.size, r1 * max(1 - noise, 0.0)), float(LEAST_WORTH))


def error_of_mean(series: NDArray[np.float64]) -> tuple[float, float]:
    """The standard error of a mean over launches and its degrees of freedom; NaN and 0 for a single launch."""
    if series.size < 2:
        return math.nan, 0.0
    effective = effective_launches(series)
    return float(series.std(ddof=1)) / math.sqrt(effective), effective - 1


def correlation(series: ArrayLike, level: float) -> float:
    """The lag-1 correlation of launches; 0 if not significant or for fewer than 5 launches.

    Args:
        series: as in `effective_launches`.
        level: share of independent series that are taken for correlated.

    Returns:
        The correlation, from 0 to 1.
    """
    values = rounded(series)
    r1 = autocorrelation(values) if values.size >= FEWEST_IN_ORDER else 0.0
    return min(r1, 1.0) if r1 * math.sqrt(max(values.size, 1)) > -normal_quantile(level) else 0.0


def resemblance_p(series: ArrayLike) -> float:
    """The one-sided p-value of no lag-1 correlation of launches; NaN for fewer than 5 launches."""
    values = rounded(series)
    if values.size < FEWEST_IN_ORDER:
        return math.nan
    return normal_cdf(-autocorrelation(values) * math.sqrt(values.size))


def rounded(series: ArrayLike) -> NDArray[np.float64]:
    """Deviations from the mean of logarithms, rounded so that equal launches do not differ in the last digits."""
    values = np.asarray(series, dtype=float)
    return np.round(values - values.mean(), DECIMALS) if values.size else values
