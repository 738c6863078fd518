"""The kinds of numbers in results of other tools: each says what was summarized over ranks, and in which unit.

A kind with the name of one of our metrics is that metric, so its numbers are comparable with our own. What was summarized
over calls is the statistic of a number (`Numbers.statistic`). Numbers of different kinds are never compared.
"""
# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from downbeat.data.metrics import METRICS

Over = Literal["mean", "max", "min", "rank 0", "pair", "job"]


@dataclass(frozen=True)
class Kind:
    """What a number is.

    Attributes:
        name: for options and columns; that of a metric of ours if it is the same.
        unit: "s", "B/s", "1/s" or "%".
        over: summary over ranks; "pair": of one pair of ranks; "job": of all ranks together.
        is_time: less is faster; else more is faster, if `is_rate`.
        meaning: a description.
        label: for an axis.
    """

    name: str
    unit: str
    over: Over
    is_time: bool
    meaning: str
    label: str

    @property
    def is_rate(self) -> bool:
        """Whether more of it is faster."""
        return self.unit in ("B/s", "1/s")

    @property
    def is_ours(self) -> bool:
        """Whether our own results have it, under the same name."""
        return self.name in METRICS


def of_metric(name: str, over: Over) -> Kind:
    """The kind of a metric of ours."""
    metric = METRICS[name]
    return Kind(name, "s", over, metric.is_time, metric.meaning, metric.label)


KINDS = {
    kind.name: kind
    for kind in (
        of_metric("latency_avg", "mean"),
        of_metric("latency_max", "max"),
        of_metric("latency_min", "min"),
        Kind("rank_mean_max", "s", "max", True, "mean over calls of each rank, largest over ranks (OSU's Max Latency, IMB's t_max)", "latency, mean of the slowest rank"),
        Kind("rank_mean_min", "s", "min", True, "mean over calls of each rank, smallest over ranks (OSU's Min Latency, IMB's t_min)", "latency, mean of the fastest rank"),
        Kind("one_way", "s", "pair", True, "half of the round trip of a message between two ranks", "latency of a message"),
        Kind("bandwidth", "B/s", "pair", False, "bytes per second between ranks of a pair or of each rank, as the tool counts them", "bandwidth"),
        Kind("message_rate", "1/s", "job", False, "messages per second", "messages per second"),
    )
}  # fmt: skip


def unit_factor(unit: str) -> float:
    """The value of a unit of other tools in SI: of s, B/s or 1/s."""
    return UNITS[unit]


UNITS = {
    "ns": 1e-9, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0,
    "B/s": 1.0, "KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "Mbytes/sec": 1e6, "Mbytes/s": 1e6, "Gbytes/sec": 1e9,
    "Messages/s": 1.0, "Msg/sec": 1.0, "%": 1.0,
}  # fmt: skip
