"""Launches that resemble the one before: how many independent ones they are worth."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import normal_cdf, normal_quantile
from downbeat.statistics.series import autocorrelation, effective_number

FEWEST_IN_ORDER = 5  # launches that verdicts take; choice: at 10, 0.4 % of verdicts change (simulated)
LEAST_WORTH = 4  # half an interval is then 1.6 deviations; choice: at 2 and 8, 0.8 and 3 % of verdicts change
CHANCE = normal_quantile(0.95)  # of a correlation, in standard errors; at half and twice 4 % of verdicts change
DECIMALS = 12  # of logarithms: what is beyond is rounding of medians in s


def effective_launches(series: ArrayLike) -> float:
    """Returns how many independent launches these are worth, as an AR(1) process with their correlation.

    The correlation r of n launches is an estimate with the variance 1 / n, so it is shrunk toward 0 by the factor
    1 - z^2 / (n r^2), 0 where that is negative (James and Stein 1961), with z the quantile that chance exceeds in 5 %.
    So there is no step from none to all of it, and intervals of independent launches get 2 to 3 % wider on average.

    Args:
        series: a number per launch, as logarithms of medians or of ratios, in the order of the launches.

    Returns:
        At least 4, or all where they are fewer: a drift within the run explains no more than its own range.
    """
    values = rounded(series)
    if values.size < FEWEST_IN_ORDER:
        return float(values.size)
    r1 = min(max(autocorrelation(values), 0.0), 1.0)
    noise = (CHANCE**2 / values.size) / r1**2 if r1 > 0 else 1.0
    return max(effective_number(values.size, r1 * max(1 - noise, 0.0)), float(LEAST_WORTH))


def error_of_mean(series: NDArray[np.float64]) -> tuple[float, float]:
    """The standard error of a mean over launches and its degrees of freedom; NaN and 0 of a single one."""
    if series.size < 2:
        return math.nan, 0.0
    worth = effective_launches(series)
    return float(series.std(ddof=1)) / math.sqrt(worth), worth - 1


def correlation(series: ArrayLike, level: float) -> float:
    """Returns the correlation of launches with the one before, 0 where chance explains it or they are few.

    Args:
        series: as in `effective_launches`.
        level: share of series of independent launches that are taken for correlated.
    """
    values = rounded(series)
    r1 = autocorrelation(values) if values.size >= FEWEST_IN_ORDER else 0.0
    return min(r1, 1.0) if r1 * math.sqrt(max(values.size, 1)) > -normal_quantile(level) else 0.0


def resemblance_p(series: ArrayLike) -> float:
    """The p-value that launches, in their order, do not resemble the one before; NaN of fewer than five."""
    values = rounded(series)
    if values.size < FEWEST_IN_ORDER:
        return math.nan
    return normal_cdf(-autocorrelation(values) * math.sqrt(values.size))


def rounded(series: ArrayLike) -> NDArray[np.float64]:
    """Deviations from the mean of logarithms, without the last digits, by which equal launches would differ."""
    values = np.asarray(series, dtype=float)
    return np.round(values - values.mean(), DECIMALS) if values.size else values
