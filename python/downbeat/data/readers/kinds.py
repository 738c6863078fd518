"""Defines the kinds of numbers in results of other tools: quantity, summary over ranks, and unit.

A kind that has the name of a metric of downbeat-bench is the same quantity, so its numbers are comparable. The summary
over calls is the statistic of a number (`Numbers.statistic`). Numbers of different kinds are never compared.
"""
# ruff: noqa: E501

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from downbeat.data.metrics import METRICS, Metric

Over = Literal["mean", "max", "min", "rank 0", "pair", "job"]  # summary over ranks


@dataclass(frozen=True)
class Kind:
    """A kind of number.

    Attributes:
        name: name in options and columns; the name of a metric of downbeat-bench if it is the same quantity.
        unit: "s", "B/s", "1/s", or "1" for shares.
        over: summary over ranks; "pair": one pair of ranks; "job": all ranks together.
        is_time: True if a smaller number is faster.
        meaning: a description.
        label: label of an axis.
    """

    name: str
    unit: str
    over: Over
    is_time: bool
    meaning: str
    label: str

    @property
    def is_rate(self) -> bool:
        """True if a larger number is faster."""
        return not self.is_time and self.unit != "s"


def of_metric(name: str, over: Over) -> Kind:
    """Makes a kind from a metric of downbeat-bench."""
    metric = METRICS[name]
    return Kind(name, "s", over, metric.is_time, metric.meaning, metric.label)


KINDS = {
    kind.name: kind
    for kind in (
        of_metric("latency_avg", "mean"),
        of_metric("latency_max", "max"),
        of_metric("latency_min", "min"),
        of_metric("latency_observed", "rank 0"),
        of_metric("global_time", "job"),
        Kind("rank_mean_max", "s", "max", True, "mean over calls of each rank, largest over ranks (OSU's Max Latency, IMB's t_max)", "latency, mean of the slowest rank"),
        Kind("rank_mean_min", "s", "min", True, "mean over calls of each rank, smallest over ranks (OSU's Min Latency, IMB's t_min)", "latency, mean of the fastest rank"),
        Kind("middle_mean", "s", "max", True, "mean of the middle half of the calls, of the largest time over ranks (SKaMPI)", "latency, mean of the middle calls"),
        Kind("with_barrier_avg", "s", "mean", True, "call and barrier after it, mean over calls and ranks (mpiBench)", "call and barrier, mean over ranks"),
        Kind("with_barrier_max", "s", "max", True, "call and barrier after it, mean over calls of each rank, largest over ranks (mpiBench)", "call and barrier of the slowest rank"),
        Kind("with_barrier_min", "s", "min", True, "call and barrier after it, mean over calls of each rank, smallest over ranks (mpiBench)", "call and barrier of the fastest rank"),
        Kind("one_way", "s", "pair", True, "half of the round trip of a message between two ranks", "latency of a message"),
        Kind("call_time", "s", "max", True, "mean over calls of the time of a call, on the rank that starts it or the slowest one", "time of a call"),
        Kind("bandwidth", "B/s", "pair", False, "bytes per second, as the tool counts them for the operation", "bandwidth"),
        Kind("cpu_time", "s", "mean", True, "time until calls on GPUs return to the processor, mean over calls and ranks (nccl-tests -C)", "time until the call returns"),
        Kind("algorithm_bandwidth", "B/s", "job", False, "size over time (nccl-tests' algbw)", "algorithm bandwidth"),
        Kind("bus_bandwidth", "B/s", "job", False, "size over time, scaled by ranks and operation to that of a link (nccl-tests' busbw)", "bus bandwidth"),
        Kind("message_rate", "1/s", "job", False, "messages per second", "messages per second"),
        Kind("overall", "s", "mean", True, "nonblocking call, computation, tests and wait together, mean over ranks (OSU)", "overall time"),
        Kind("computed", "s", "mean", True, "computation beside a nonblocking call, mean over ranks (OSU)", "time of computation"),
        Kind("start_call", "s", "mean", True, "the nonblocking call itself, mean over ranks (OSU's Coll. Init)", "time of the nonblocking call"),
        Kind("tests", "s", "mean", True, "calls of MPI_Test, mean over ranks (OSU)", "time in MPI_Test"),
        Kind("wait", "s", "mean", True, "MPI_Wait, mean over ranks (OSU)", "time in MPI_Wait"),
        Kind("overlap_osu", "1", "mean", False, "overlap with computation, as OSU defines it", "overlap"),
        Kind("overall_slowest", "s", "max", True, "nonblocking call, computation and wait together on the slowest rank (IMB's t_ovrl)", "overall time"),
        Kind("pure_slowest", "s", "max", True, "nonblocking call and wait without computation on the slowest rank (IMB's t_pure)", "time without computation"),
        Kind("computed_slowest", "s", "max", True, "computation beside a nonblocking call on the slowest rank (IMB's t_CPU)", "time of computation"),
        Kind("overlap_imb", "1", "max", False, "overlap with computation, as IMB defines it", "overlap"),
    )
}  # fmt: skip


def is_rate(metric: str) -> bool:
    """Returns true if a larger value of a metric is faster."""
    return metric in KINDS and KINDS[metric].is_rate


# Name -> metric of downbeat-bench, or kind of another tool.
MEASURES: Mapping[str, Kind | Metric] = ChainMap[str, Kind | Metric](METRICS, KINDS)  # type: ignore[arg-type]


# Unit -> printed unit, and kind of a field (`output/fields.py`).
UNITS_SHOWN = {"s": ("us", "time"), "B/s": ("MB/s", "rate"), "1/s": ("1/s", "significant"), "1": ("%", "share")}
# Units of other tools -> factor to SI.
UNITS = {
    "ns": 1e-9, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0,
    "B/s": 1.0, "KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "Mbytes/sec": 1e6,
    "Messages/s": 1.0, "Msg/sec": 1.0, "%": 1e-2,
}  # fmt: skip
