"""Parts that readers of traces share: names of operations, calls gathered by group, a count of what is left out."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from downbeat.align.calls import Calls, RankTrace

ROOTED = ("bcast", "reduce", "gather", "scatter")
# As a name begins once its library's prefix is off; longer ones first.
STEMS = {
    "allreduce": "allreduce",
    "allgather": "allgather",
    "reducescatter": "reduce_scatter",
    "alltoall": "alltoall",
    "barrier": "barrier",
    "broadcast": "bcast",
    "bcast": "bcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
}
PREFIX = re.compile(r"^(mpi_|c10d::|(nccl|gloo|mpi|hccl):+|(nccl|rccl)(DevKernel_|Kernel_)?)", re.IGNORECASE)
# MPI's operations with parts of their own size keep their own name: empty parts bind nobody.
UNEVEN = re.compile(r"^MPI_(Allgather|Alltoall|Gather|Scatter)[vw]$", re.IGNORECASE)


def normalize(name: str) -> str | None:
    """Returns MPI's name of a collective, lower case; None for other names."""
    if UNEVEN.match(name):
        return name[4:].lower()
    letters = re.sub(r"[^a-z]", "", PREFIX.sub("", name).lower())
    if letters.startswith("reducelocal"):
        return None
    return next((operation for stem, operation in STEMS.items() if letters.startswith(stem)), None)


def rank_of(path: Path) -> int | None:
    """Returns the rank that the name of a file or of its directory says: rank-3.json, worker_3.json, rank3/a.json."""
    for name in (path.name, path.parent.name):
        found = re.findall(r"(?:rank|worker|process|proc|host|node)[-_.]?(\d+)", name, re.IGNORECASE)
        if found:
            return int(found[-1])
    return None


@dataclass
class Call:
    """A call of a collective; as in `Calls`, sequence -1 where there is none."""

    operation: str
    entry: int
    exit: int
    sequence: int = -1
    root: int = -1
    size: int = -1


@dataclass
class Gathered:
    """The calls of a rank, by group.

    Attributes:
        calls: of each group.
        ranks: of each group, in the job's numbering; empty: the trace does not say.
        skipped: how many of what was left out.
    """

    calls: dict[str, list[Call]] = field(default_factory=dict)
    ranks: dict[str, tuple[int, ...]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, group: str, call: Call, ranks: tuple[int, ...] = ()) -> None:
        """Adds a call of a group."""
        self.calls.setdefault(group, []).append(call)
        if ranks or group not in self.ranks:
            self.ranks[group] = ranks

    def trace(self, path: Path, rank: int, host: str) -> RankTrace:
        """Returns the trace of the rank."""
        groups = [calls_of(group, self.ranks[group], calls) for group, calls in self.calls.items()]
        return RankTrace(path, rank, host, tuple(groups))


def calls_of(group: str, ranks: tuple[int, ...], calls: list[Call]) -> Calls:
    """Returns the calls of a group as arrays, by time of entry; by sequence if each call has one of its own."""
    calls = sorted(calls, key=lambda call: call.entry)
    numbers = np.array([call.sequence for call in calls], dtype=np.int64)
    numbered = bool((numbers >= 0).all()) and len(np.unique(numbers)) == len(numbers)
    return Calls(
        group,
        ranks,
        np.array([call.operation for call in calls], dtype=np.str_),
        numbers if numbered else None,
        np.array([call.root for call in calls], dtype=np.int64),
        np.array([call.size for call in calls], dtype=np.int64),
        np.array([call.entry for call in calls], dtype=np.int64),
        np.array([call.exit for call in calls], dtype=np.int64),
    )
