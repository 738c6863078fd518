"""Estimates the typical launch, and the typical ratio of two sides, with confidence intervals.

A launch is one start of the measured program; its value is the median of its samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.dependence import error_of_mean
from downbeat.statistics.distributions import satterthwaite, t_quantile
from downbeat.statistics.hodges_lehmann import one_sample, two_samples

Scale = tuple[float, float]  # standard error, degrees of freedom
# Launches from which an interval is shown. Half the interval of two launches is 9 standard deviations: the t quantile
# with one degree of freedom is 12.7.
MIN_SHOWN = 3


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval.

    Attributes:
        estimate: in the unit of the values.
        low: lower end; NaN: no interval.
        high: upper end; NaN: no interval.
        count: number of independent values: launches, or pairs of launches.
    """

    estimate: float
    low: float
    high: float
    count: int

    @property
    def width(self) -> float:
        """The width as a share of the estimate."""
        return (self.high - self.low) / self.estimate


def typical_interval(medians: ArrayLike, confidence: float = 0.95, hidden: float = 0.0) -> Interval:
    """Returns the typical launch, the pseudo-median of launches on logarithms, with its interval (`typical_of_logs`).

    A launch counts once, however many samples it has, because its samples share its deviation (Hunold 2014). An
    interval from samples pooled over launches would cover the true value in one of four cases; docs/statistics.md.

    Args:
        medians: one number per launch, in their order, shape (launches,), in any unit; larger than 0.
        confidence: of the interval, between 0 and 1.
        hidden: largest common error of all medians, e.g. the step of a clock, in their unit; widens the interval.

    Returns:
        The interval, in the unit of the medians. With one launch, `low` and `high` are NaN.

    Raises:
        ValueError: there are no medians, a median is not positive and finite, or the confidence is not between 0 and 1.
    """
    check_confidence(confidence)
    logs = logarithms(medians)
    return interval_between(*typical_of_logs(logs, confidence), logs.size, hidden)


def typical_of_logs(
    logs: NDArray[np.float64], confidence: float, scale: Scale | None = None
) -> tuple[float, float, float]:
    """Returns the pseudo-median of launches or pairs with its limits; NaN: no limits. All are logarithms.

    The limits are those of the signed-rank test (`one_sample`). If successive launches are correlated, they are widened
    by the same factor as Student's interval. If no rank interval has the confidence, below 6 launches at 95 %, the
    limits are those of Student's interval around the mean, which assumes normal logarithms.

    Args:
        logs: logarithms of launches or of ratios of pairs, shape (launches,), in their order.
        confidence: of the interval.
        scale: `error_of_mean` of the logarithms, if known.
    """
    estimate, low, high = (float(values[0]) for values in one_sample(logs[np.newaxis, :], confidence))
    error, freedom = scale or error_of_mean(logs)
    t = t_quantile(freedom, 0.5 + confidence / 2)
    if math.isnan(low):
        mean = float(logs.mean())
        return estimate, mean - t * error, mean + t * error
    wider = t / t_quantile(logs.size - 1, 0.5 + confidence / 2) * math.sqrt(logs.size / (freedom + 1))
    return estimate, estimate - wider * (estimate - low), estimate + wider * (high - estimate)


def shift_of_logs(
    a: NDArray[np.float64], b: NDArray[np.float64], confidence: float, scale: Scale | None = None
) -> tuple[float, float, float]:
    """Returns the shift from A to B with its limits; NaN: no limits. All are logarithms.

    The limits are those of the rank-sum test (`two_samples`), which assumes equal spread on both sides. They are
    widened if Welch's interval is wider than Student's for equal variances: if the smaller side has the larger spread,
    or successive launches are correlated. If no rank interval has the confidence, below 4 launches on both sides at 95
    %, the limits are those of Welch's interval around the difference of means.

    Args:
        a: logarithms of the launches of A, shape (launches,), in their order.
        b: logarithms of the launches of B, in the same form.
        confidence: of the interval.
        scale: `welch` of both sides, if known.
    """
    estimate, low, high = (float(values[0]) for values in two_samples(a[np.newaxis, :], b[np.newaxis, :], confidence))
    error, freedom = scale or welch([error_of_mean(a), error_of_mean(b)])
    half = t_quantile(freedom, 0.5 + confidence / 2) * error
    if math.isnan(low):
        mean = float(b.mean() - a.mean())
        return estimate, mean - half, mean + half
    if min(a.size, b.size) < 2:
        return estimate, low, high
    degrees = a.size + b.size - 2
    pooled = float((a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)) / degrees
    equal = t_quantile(degrees, 0.5 + confidence / 2) * math.sqrt(pooled * (1 / a.size + 1 / b.size))
    wider = max(half / equal, 1.0) if equal > 0 else 1.0
    return estimate, estimate - wider * (estimate - low), estimate + wider * (high - estimate)


def welch(scales: Sequence[Scale]) -> Scale:
    """Returns the standard error of a sum of independent means, and its degrees of freedom (Welch 1947)."""
    if any(math.isnan(error) for error, _ in scales):
        return math.nan, math.nan
    return math.hypot(*(error for error, _ in scales)), satterthwaite([(error**2, free) for error, free in scales])


def check_confidence(confidence: float) -> None:
    """Checks a confidence.

    Raises:
        ValueError: the confidence is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence of {confidence:g}; valid are numbers between 0 and 1, e.g. 0.95")


def interval_between(estimate: float, low: float, high: float, count: int, hidden: float = 0.0) -> Interval:
    """Converts an interval of logarithms to ratios, and widens it by `hidden`, a common error of all launches."""
    with np.errstate(over="ignore"):
        below, above = float(np.exp(low)) - hidden, float(np.exp(high)) + hidden
        return Interval(float(np.exp(estimate)), max(below, 0.0) if below == below else below, above, count)


def logarithms(medians: ArrayLike) -> NDArray[np.float64]:
    """Returns the logarithms of medians of launches, shape (launches,).

    Raises:
        ValueError: there are no medians, or a median is not positive and finite.
    """
    values = np.asarray(medians, dtype=float)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"medians of shape {values.shape}; valid is one number per launch, for at least one launch")
    bad = values[~(np.isfinite(values) & (values > 0))]
    if bad.size:
        raise ValueError(f"a median of {bad[0]:g} has no logarithm; valid are finite numbers above 0")
    return np.asarray(np.log(values))
