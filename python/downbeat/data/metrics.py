"""Declares the metrics of a sample, which downbeat-bench computes and writes into its files."""
# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """A number that is computed from a sample, in s."""

    meaning: str
    clock_bounds: int  # largest error of a value, in error bounds of the clock; 0: the metric needs no common clock
    label: str  # label of an axis
    is_time: bool  # true: smaller is faster


# fmt: off
ROWS = (
    # tools/bench-lists: metric
    ("latency_avg", "time in the operation, mean over ranks (OSU's average latency, t_avg)", 0, "latency, mean over ranks", 1),
    ("latency_max", "time in the operation, largest over ranks", 0, "latency, largest over ranks", 1),
    ("latency_min", "time in the operation, smallest over ranks", 0, "latency, smallest over ranks", 1),
    ("latency_observed", "time in the operation on the rank that --observe names (as mpptest does for rank 0)", 0, "latency of the observed rank", 1),
    ("global_time", "time from the first entry to the last exit (t_global, Niethammer 2016, Eq. 4)", 2, "first entry to last exit", 1),
    ("makespan", "time from the common start to the last exit; the start is the deadline, else the first entry", 2, "common start to last exit", 1),
    ("after_last_entry", "time from the last entry to the last exit: the cost once all ranks have arrived", 2, "last entry to last exit", 1),
    ("exit_skew", "time from the first rank's exit from the synchronizer to the last one's, delays subtracted (sigma)", 2, "exit skew", 0),
    ("end_skew", "time from the first rank's exit from the operation to the last one's", 2, "first to last exit", 0),
    ("imbalance_worst", "time from the first to the last entry (worst-case imbalance time, Faraj 2007)", 2, "first to last entry", 0),
    ("imbalance_mean", "mean distance of the ranks' entries from the mean entry (average-case imbalance time, Faraj 2007)", 2, "mean distance of entries from their mean", 0),
    # tools/bench-lists: end
)
# fmt: on
METRICS = {
    name: Metric(meaning, clock_bounds, label, bool(is_time)) for name, meaning, clock_bounds, label, is_time in ROWS
}
