"""Correct results of downbeat-bench for a synthetic operation: intervals from its parameters, and nothing measured.

A rank that starts `delay` after the common start, up to a skew later, and stays `duration` in the operation, leaves no
room for the metrics but that skew, and what it costs to read the clocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Stamps and CLOCK_MONOTONIC_RAW are cut to whole ns, at either end of a time.
ROUNDING = 3e-9  # s
# The rate of the library's counter, which is calibrated against CLOCK_MONOTONIC_RAW over 10 ms at least, where either
# end may be off by 250 ns.
CALIBRATION = 50e-6
# The validation clock's skew and wander come on top.
RATE = 21e-6 + CALIBRATION


@dataclass(frozen=True)
class Span:
    """Bounds of a number, per sample."""

    low: Floats
    high: Floats

    def median(self) -> tuple[float, float]:
        """Returns the bounds of the median: if each value is within its own, the median is within theirs."""
        return float(np.median(self.low)), float(np.median(self.high))

    def minimum(self) -> tuple[float, float]:
        """Returns the bounds of the smallest value."""
        return float(np.min(self.low)), float(np.min(self.high))


@dataclass(frozen=True)
class Known:
    """Known times of a cell's samples: all in s; arrays by sample, or by sample and rank."""

    delay: Floats  # planned, [sample, rank]
    duration: Floats  # in the operation, [rank], of all calls of a sample together
    calls: int  # per sample
    skew: Floats  # by which ranks may have started apart from their plan, [sample]
    from_deadline: bool  # whether skew counts from a deadline
    deadline_error: float  # by which the deadline may be off on the clock of the stamps
    reading: Floats  # what clocks may have cost to read within a sample, [sample]; infinite where it was disturbed
    held: Floats  # by which ranks stayed longer in a disturbed sample, [sample, rank]; 0 in the others
    costs: float  # of reading clocks, in a sample that was not disturbed
    observed: int = 0  # rank

    def times(self, low: Floats, high: Floats) -> Span:
        """Returns bounds of a time in the operation, given those for clocks that are read at no cost, by sample."""
        samples = len(self.delay)
        low, high = np.broadcast_to(low, samples), np.broadcast_to(high, samples)
        return Span(
            (low - RATE * np.abs(low) - ROUNDING) / self.calls,
            (high + RATE * np.abs(high) + ROUNDING + self.reading) / self.calls,
        )

    def around(self, value: Floats) -> Span:
        """Returns bounds of a time that depends on when ranks start."""
        return self.times(value - self.skew, value + self.skew)

    def entries(self, value: Floats) -> Span:
        """Returns bounds of a time between entries, which is not per call."""
        return Span(value - self.skew - ROUNDING - RATE * value, value + self.skew + ROUNDING + RATE * value)

    @property
    def last_exit(self) -> Floats:
        """Returns when the last rank leaves."""
        return np.asarray((self.delay + self.duration).max(axis=1))


def exactly(known: Known, value: float) -> Span:
    """Returns bounds of a time that does not depend on when ranks start."""
    return known.times(np.asarray(value), np.asarray(value))


def makespan(known: Known) -> Span:
    """Counts from the deadline where there is one: ranks start at it or later; else from the first entry."""
    if known.from_deadline:
        error = known.deadline_error
        return known.times(known.last_exit - error, known.last_exit + known.skew + error)
    return known.around(known.last_exit - known.delay.min(axis=1))


def exit_skew(known: Known) -> Span:
    """Is the skew itself."""
    low = np.zeros_like(known.skew) if known.from_deadline else known.skew
    return Span(low - ROUNDING, known.skew + ROUNDING)


def end_skew(known: Known) -> Span:
    """Is how far the exits are apart; either end may be off by a start, and by what clocks cost to read.

    A rank that was held up leaves later by the time that it was held up. If every sample was disturbed, that is not an
    accident, and has no bound.
    """
    exits = known.delay + known.duration + known.held
    spread = np.ptp(exits, axis=1)
    error = known.skew + known.costs + ROUNDING + RATE * exits.max(axis=1)
    if np.isinf(known.reading).all():
        error = known.reading
    return Span(np.maximum(spread - error, 0.0), spread + error)


def imbalance_mean(known: Known) -> Span:
    """Is half the distance of two, of more the mean over ranks."""
    mean = known.delay.mean(axis=1, keepdims=True)
    return known.entries(np.abs(known.delay - mean).mean(axis=1))


METRICS: dict[str, Callable[[Known], Span]] = {
    "latency_avg": lambda known: exactly(known, known.duration.mean()),
    "latency_max": lambda known: exactly(known, known.duration.max()),
    "latency_min": lambda known: exactly(known, known.duration.min()),
    "latency_observed": lambda known: exactly(known, known.duration[known.observed]),
    "global_time": lambda known: known.around(known.last_exit - known.delay.min(axis=1)),
    "makespan": makespan,
    "after_last_entry": lambda known: known.around(known.last_exit - known.delay.max(axis=1)),
    "exit_skew": exit_skew,
    "end_skew": end_skew,
    "imbalance_worst": lambda known: known.entries(known.delay.max(axis=1) - known.delay.min(axis=1)),
    "imbalance_mean": imbalance_mean,
}


def overlap(
    undelayed: tuple[float, float], delayed: tuple[float, float], after: tuple[float, float], delay: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Returns bounds of the delay overlap benefit (Niethammer 2016, Eq. 5) and of the share.

    Args:
        undelayed: bounds of t0.
        delayed: bounds of t.
        after: bounds of t - delta, taken sample by sample: from the last entry to the last exit.
        delay: bounds of delta.
    """
    hidden = [undelayed[i] - after[1 - i] for i in (0, 1)]
    shorter = [min(undelayed[i], delay[i]) for i in (0, 1)]
    # Below 0, where the delay cost more than itself, a ratio is lowest where what it is divided by is smallest.
    share = [
        hidden[0] / shorter[0 if hidden[0] < 0 else 1],
        hidden[1] / shorter[1 if hidden[1] < 0 else 0],
    ]
    benefit = [
        hidden[0] / delayed[0 if hidden[0] < 0 else 1],
        hidden[1] / delayed[1 if hidden[1] < 0 else 0],
    ]
    return (benefit[0], benefit[1]), (share[0], share[1])
