"""Parts that readers of traces share: names of operations, calls gathered by group, a count of what is left out."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from downbeat.align.calls import Calls, RankTrace
from downbeat.errors import UsageError

ROOTED = ("bcast", "reduce", "gather", "scatter")
PREFIX = re.compile(r"^(mpi_|c10d::|(nccl|rccl|gloo|mpi|hccl|xccl|ucc):+)", re.IGNORECASE)
# As a name begins once its prefix is off. Words may be joined: all_reduce, all-reduce, AllReduce, _allgather_base. With
# parts of their own size (allgatherv, alltoallw) empty parts bind nobody: these keep their own name.
STEM = re.compile(
    r"[^a-z]*(?!reduce_?local)(all.?reduce|all.?gather|reduce.?scatter|all.?to.?all|barrier|broadcast|bcast|reduce|gather"
    r"|scatter)(?:(?P<uneven>[vw])c?(?![a-z]))?",
    re.IGNORECASE,
)
NAMES = {"reducescatter": "reduce_scatter", "broadcast": "bcast"}


class NoTraceError(UsageError):
    """A file is readable, but has nothing that can be aligned."""


def normalize(name: str) -> str | None:
    """Returns MPI's name of a collective, lower case; None for other names."""
    found = STEM.match(PREFIX.sub("", name))
    if found is None:
        return None
    stem = re.sub("[^a-z]", "", found[1].lower())
    return NAMES.get(stem, stem) + (found["uneven"] or "").lower()


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
        descriptions: of groups, for people.
    """

    calls: dict[str, list[Call]] = field(default_factory=dict)
    ranks: dict[str, tuple[int, ...]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    descriptions: dict[str, str] = field(default_factory=dict)

    def describe(self, group: str, text: object) -> None:
        """Keeps what a trace calls a group, for people; PyTorch has "undefined" for none."""
        if isinstance(text, str) and text not in ("", "undefined"):
            self.descriptions[group] = text

    def add(self, group: str, call: Call, ranks: tuple[int, ...] = ()) -> None:
        """Adds a call of a group."""
        self.calls.setdefault(group, []).append(call)
        if ranks or group not in self.ranks:
            self.ranks[group] = ranks

    def trace(self, path: Path, rank: int, host: str) -> RankTrace:
        """Returns the trace of the rank."""
        groups = [
            replace(sorted_calls(group, self.ranks[group], calls), description=self.descriptions.get(group, ""))
            for group, calls in self.calls.items()
        ]
        return RankTrace(path, rank, host, tuple(groups))


def sorted_calls(group: str, ranks: tuple[int, ...], calls: list[Call]) -> Calls:
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
