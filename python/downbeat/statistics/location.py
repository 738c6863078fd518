"""The location of launches: the geometric mean of their medians, and the typical launch, with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import t_quantile

FEWEST_SHOWN = 3  # launches; half the interval of two can be hundreds of percent


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval.

    Attributes:
        estimate: in the unit of the values.
        low: lower end, NaN where there is no interval.
        high: upper end.
        count: independent values that the interval is from: launches, or pairs of launches.
    """

    estimate: float
    low: float
    high: float
    count: int

    @property
    def width(self) -> float:
        """The width of the interval, as a share of the estimate."""
        return (self.high - self.low) / self.estimate


def geometric_mean_interval(medians: ArrayLike, confidence: float = 0.95, hidden: float = 0.0) -> Interval:
    """Returns the geometric mean of launches with its t interval on logarithms (Student 1908).

    A launch counts once, however many samples it has: they all share the deviation of the launch (Hunold 2014). An
    interval from samples pooled over launches would hold the truth once in four times; docs/statistics.md.

    Args:
        medians: one number per launch, shape (launches,), in any unit; larger than 0.
        confidence: of the interval, between 0 and 1.
        hidden: how much all medians may be off together, as by the step of a clock, in their unit; widens it.

    Returns:
        The interval, in the unit of the medians. With one launch, `low` and `high` are NaN.

    Raises:
        ValueError: there are no medians, or one is not positive and finite; the confidence is not between 0 and 1.
    """
    check_confidence(confidence)
    logs = logarithms(medians)
    mean, half = log_interval(logs, confidence)
    return interval_of_logs(mean, half, logs.size, hidden)


def typical_launch_interval(medians: ArrayLike, confidence: float = 0.95, hidden: float = 0.0) -> Interval:
    """Returns the typical launch, the median over launches, with its interval of order statistics (Thompson 1936).

    The number of n launches below the median is binomial, whatever their distribution: with a long tail, as launches of
    real machines have it, the interval holds where that of the geometric mean is too short. Ends are launches, the
    innermost two between which the median lies with at least that confidence: of 6 to 8 launches the extremes.

    Args:
        medians: one number per launch, shape (launches,), in any unit.
        confidence: of the interval, at least, between 0 and 1.
        hidden: as in `geometric_mean_interval`.

    Returns:
        In the unit of the medians; without an interval (NaN) where all launches are too few: below 6 at 95 %.

    Raises:
        ValueError: there are no medians, or one is not finite; the confidence is not between 0 and 1.
    """
    check_confidence(confidence)
    ordered = np.sort(np.asarray(medians, dtype=float))
    if ordered.ndim != 1 or ordered.size == 0 or not np.isfinite(ordered).all():
        raise ValueError(f"medians of shape {ordered.shape}; wanted is one finite number per launch, one at least")
    count, median = ordered.size, float(np.median(ordered))
    cut, outside = 0, 0.0  # launches at either end that are outside, and how often the median is
    while outside + math.comb(count, cut) / 2**count <= (1 - confidence) / 2:
        outside += math.comb(count, cut) / 2**count
        cut += 1
    if cut == 0:
        return Interval(median, math.nan, math.nan, count)
    return Interval(median, float(ordered[cut - 1]) - hidden, float(ordered[-cut]) + hidden, count)


def check_confidence(confidence: float) -> None:
    """Checks that a confidence is one.

    Raises:
        ValueError: it is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence of {confidence:g}; valid are numbers between 0 and 1, e.g. 0.95")


def interval_of_logs(mean: float, half: float, count: int, hidden: float = 0.0) -> Interval:
    """Returns an interval of logarithms as one of what they are of, wider by what all values may be off together.

    Beyond the range of numbers it is infinite.
    """
    with np.errstate(over="ignore"):
        low, high = float(np.exp(mean - half)) - hidden, float(np.exp(mean + half)) + hidden
        return Interval(float(np.exp(mean)), max(low, 0.0) if low == low else low, high, count)


def logarithms(medians: ArrayLike) -> NDArray[np.float64]:
    """Returns the logarithms of medians of launches, shape (launches,).

    Raises:
        ValueError: there are none, or one is not positive and finite.
    """
    values = np.asarray(medians, dtype=float)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"medians of shape {values.shape}; wanted is one number per launch, and one launch at least")
    bad = values[~(np.isfinite(values) & (values > 0))]
    if bad.size:
        raise ValueError(f"a median of {bad[0]:g} has no logarithm; valid are finite numbers above 0")
    return np.asarray(np.log(values))


def log_interval(logs: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    """Returns the mean and half the width of its t interval, NaN where there is only one value."""
    mean = float(logs.mean())
    if logs.size < 2:
        return mean, float("nan")
    error = float(logs.std(ddof=1)) / np.sqrt(logs.size)
    return mean, t_quantile(logs.size - 1, 0.5 + confidence / 2) * error
