"""The metrics of a sample (docs/bench-files.md): one number from the stamps of all ranks.

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


@dataclass(frozen=True)
class Metric:
    """A number drawn from a sample."""

    meaning: str  # in the words of downbeat-bench, which a test holds equal
    clock_bounds: int  # how many times the clock's error bound can be in a value; 0 needs no common clock
    compute: Callable[[Stamps], Floats]
    label: str  # for an axis


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


METRICS: dict[str, Metric] = {
    "latency_avg": Metric(
        "time in the operation, mean over ranks (OSU's average latency)",
        0,
        lambda stamps: stamps.latencies().mean(axis=1),
        "latency, mean over ranks",
    ),
    "latency_max": Metric(
        "time in the operation, largest over ranks",
        0,
        lambda stamps: stamps.latencies().max(axis=1),
        "latency, largest over ranks",
    ),
    "latency_min": Metric(
        "time in the operation, smallest over ranks",
        0,
        lambda stamps: stamps.latencies().min(axis=1),
        "latency, smallest over ranks",
    ),
    "latency_observed": Metric(
        "time in the operation on the rank that --observe names (as mpptest does for rank 0)",
        0,
        lambda stamps: (stamps.exit[:, stamps.observed] - stamps.entry[:, stamps.observed]) / stamps.calls,
        "latency of the observed rank",
    ),
    "global_time": Metric(
        "time from the first entry to the last exit (t_global, Niethammer 2016, Eq. 4)",
        2,
        lambda stamps: (stamps.exit.max(axis=1) - stamps.entry.min(axis=1)) / stamps.calls,
        "first entry to last exit",
    ),
    "makespan": Metric(
        "time from the common start to the last exit; the start is the deadline, else the first entry",
        2,
        makespan,
        "common start to last exit",
    ),
    "after_last_entry": Metric(
        "time from the last entry to the last exit: the cost once all ranks have arrived",
        2,
        lambda stamps: (stamps.exit.max(axis=1) - stamps.entry.max(axis=1)) / stamps.calls,
        "last entry to last exit",
    ),
    "exit_skew": Metric(
        "time from the first rank's exit from the synchronizer to the last one's, delays subtracted",
        2,
        exit_skew,
        "exit skew",
    ),
    "end_skew": Metric(
        "time from the first rank's exit from the operation to the last one's",
        2,
        lambda stamps: np.ptp(stamps.exit, axis=1),
        "first to last exit",
    ),
    "imbalance_worst": Metric(
        "time from the first to the last entry (worst-case imbalance time, Faraj 2007)",
        2,
        lambda stamps: np.ptp(stamps.entry, axis=1),
        "first to last entry",
    ),
    "imbalance_mean": Metric(
        "mean distance of the ranks' entries from the mean entry (average-case imbalance time, Faraj 2007)",
        2,
        imbalance_mean,
        "mean distance of entries from their mean",
    ),
}
