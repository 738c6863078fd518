"""The metrics of a sample (docs/data.md) a second time: what the bench must find.

All take `Stamps`, float64 in seconds, and return one number per sample: shape (samples,), in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stamps:
    """Samples of one cell."""

    entry: Floats  # (samples, ranks), into the operation
    exit: Floats  # (samples, ranks)
    delay: Floats  # (samples, ranks), planned start after the common one
    deadline: Floats  # (samples,), NaN where the synchronizer has none
    timed: NDArray[np.bool_]  # (ranks,), whether the rank's time in the operation is its latency
    calls: int  # of the operation in a sample
    observed: int  # the rank whose own time is reported

    def latencies(self) -> Floats:
        """Returns the time in the operation of the ranks that are timed, per call, shape (samples, timed ranks)."""
        times = self.exit - self.entry
        return (times if self.timed.all() else times[:, self.timed]) / self.calls


def makespan(stamps: Stamps) -> Floats:
    """Returns the time from the common start, or without one the first entry, to the last exit, per call."""
    start = np.where(np.isnan(stamps.deadline), stamps.entry.min(axis=1), stamps.deadline)
    return np.asarray((stamps.exit.max(axis=1) - start) / stamps.calls)


def exit_skew(stamps: Stamps) -> Floats:
    """Returns the time from the first to the last rank's leaving the synchronizer, planned delays taken out."""
    return np.asarray(np.ptp(stamps.entry - stamps.delay, axis=1))


def imbalance_mean(stamps: Stamps) -> Floats:
    """Returns the mean over ranks of the distance of an entry from the mean entry (Faraj 2007)."""
    first = stamps.entry[:, :1]  # near zero, a mean keeps its nanoseconds
    relative = stamps.entry - first
    return np.asarray(np.abs(relative - relative.mean(axis=1, keepdims=True)).mean(axis=1))


FORMULAS: dict[str, Callable[[Stamps], Floats]] = {
    "latency_avg": lambda stamps: stamps.latencies().mean(axis=1),
    "latency_max": lambda stamps: stamps.latencies().max(axis=1),
    "latency_min": lambda stamps: stamps.latencies().min(axis=1),
    "latency_observed": lambda stamps: (
        (stamps.exit[:, stamps.observed] - stamps.entry[:, stamps.observed]) / stamps.calls
    ),
    "global_time": lambda stamps: (stamps.exit.max(axis=1) - stamps.entry.min(axis=1)) / stamps.calls,
    "makespan": makespan,
    "after_last_entry": lambda stamps: (stamps.exit.max(axis=1) - stamps.entry.max(axis=1)) / stamps.calls,
    "exit_skew": exit_skew,
    "end_skew": lambda stamps: np.ptp(stamps.exit, axis=1),
    "imbalance_worst": lambda stamps: np.ptp(stamps.entry, axis=1),
    "imbalance_mean": imbalance_mean,
}
# Ranks enter at 1.0 and 1.5, the second half a second later than planned for it, and are 2 and 4 seconds in two calls.
KNOWN = {
    "latency_avg": 1.5,
    "latency_max": 2.0,
    "latency_min": 1.0,
    "latency_observed": 2.0,
    "global_time": 2.25,
    "makespan": 2.375,
    "after_last_entry": 2.0,
    "exit_skew": 0.25,
    "end_skew": 2.5,
    "imbalance_worst": 0.5,
    "imbalance_mean": 0.25,
}
