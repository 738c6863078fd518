"""Defines the collectives in a trace of a rank, on that rank's clock, and helpers for all readers of traces.

Every reader (formats/) returns `RankTrace`s; clocks.py aligns them. A group is a communicator or process group.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from downbeat.errors import UsageError
from downbeat.text import counted

Integers = NDArray[np.int64]
MAX_RATE = 200e-6  # rate difference of two clocks that are within 100 ppm
SLEW_RATE = 500e-6  # rate at which ntpd and adjtime slew a clock; chrony's maxslewrate may be set to it
STEERED_RATE = MAX_RATE + 2 * SLEW_RATE  # rate difference of two clocks that are slewed in opposite directions


@dataclass(frozen=True)
class Calls:
    """The calls of a group of ranks on a rank, in the rank's order.

    Attributes:
        group: name of the group, equal on all members.
        ranks: ranks of the group in the job; empty: not known.
        operation: name of each call, lower case, without a library's prefix: allreduce, bcast, barrier ...
        sequence: number of each call, equal on all members; None: not known, and calls match by their order.
        root: root of each call, as a rank in the job; -1: none, or not known.
        size: bytes of each call; -1: not known.
        entry: begin of each call, ns on the rank's clock.
        exit: end of each call, ns on the rank's clock.
        description: the trace's description of the group; empty: none.
    """

    group: str
    ranks: tuple[int, ...]
    operation: NDArray[np.str_]
    sequence: Integers | None
    root: Integers
    size: Integers
    entry: Integers
    exit: Integers
    description: str = ""


@dataclass(frozen=True)
class RankTrace:
    """A trace of one rank.

    Attributes:
        path: the file.
        rank: rank in the job; -1: the file does not have it.
        host: name of the host; empty: not known.
        calls: the calls of each group.
        oscillator: true: times are from an oscillator that NTP does not steer.
    """

    path: Path
    rank: int
    host: str
    calls: tuple[Calls, ...]
    oscillator: bool = False


CALL_PREFIX = re.compile(r"^(mpi_|c10d::|(nccl|rccl|gloo|mpi|hccl|xccl|ucc):+)", re.IGNORECASE)
# The begin of a name without prefix. Words may be joined: all_reduce, all-reduce, AllReduce, _allgather_base.
# Operations with a size per rank (allgatherv, alltoallw) keep their own name: a rank with size 0 need not wait.
STEM = re.compile(
    r"[^a-z]*(?!reduce_?local)(all.?reduce|all.?gather|reduce.?scatter|all.?to.?all|barrier|broadcast|bcast|reduce|gather"
    r"|scatter)(?:(?P<uneven>[vw])c?(?![a-z]))?",
    re.IGNORECASE,
)
MPI_NAMES = {"reducescatter": "reduce_scatter", "broadcast": "bcast"}


class NoTraceError(UsageError):
    """A file is readable, but has no calls that can be aligned."""


def normalize(name: str) -> str | None:
    """Returns MPI's name of a collective, lower case; None: not a collective."""
    match = STEM.match(CALL_PREFIX.sub("", name))
    if match is None:
        return None
    stem = re.sub("[^a-z]", "", match[1].lower())
    return MPI_NAMES.get(stem, stem) + (match["uneven"] or "").lower()


@dataclass
class Call:
    """A call of a collective, with fields as in `Calls`; sequence -1: not known."""

    operation: str
    entry: int
    exit: int
    sequence: int = -1
    root: int = -1
    size: int = -1


@dataclass
class Gathered:
    """Collects the calls of a rank by group while a reader reads a file.

    Attributes:
        calls: calls of each group.
        ranks: ranks of each group in the job; empty: not known.
        skipped: number of events left out, by kind.
        descriptions: description of each group.
    """

    calls: dict[str, list[Call]] = field(default_factory=dict)
    ranks: dict[str, tuple[int, ...]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    descriptions: dict[str, str] = field(default_factory=dict)

    def describe(self, group: str, text: object) -> None:
        """Stores the trace's description of a group, unless it is empty or PyTorch's "undefined"."""
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
    """Returns the calls of a group as arrays, by time of entry; without sequence unless all numbers are different."""
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


UNKNOWN_RANK = -1
GIVE = "say it: RANK=FILE, as in 0={}"
MAX_NAMED_FILES = 4  # files that a message names
# Words in names of files. The first is a rank within a node or a group of ranks, not in the job.
LOCAL_RANK = re.compile(r"(?:local|node|group|tp|pp|dp|ep|cp|mp|sp|fsdp)[-_.]?rank[-_.]?\d+", re.IGNORECASE)
JOB_RANK = re.compile(r"(?:(?:global|world)[-_.]?rank|(?<![A-Za-z])rank)[-_.]?(\d+)", re.IGNORECASE)
RANK_OF_COUNT = re.compile(r"(?<!\d)(\d+)[-_ ]?of[-_ ]?(\d+)(?!\d)", re.IGNORECASE)
PROCESS_NUMBER = re.compile(r"(?<![A-Za-z])(?:worker|process|proc|procid|task)[-_.]?(\d+)", re.IGNORECASE)
MACHINE_NUMBER = re.compile(r"(?<![A-Za-z])(?:host|node)[-_.]?(\d+)", re.IGNORECASE)
# Names of PyTorch's handler: worker.time.pt.trace.json; without a name for the worker, it is host_pid.
PYTORCH = re.compile(r"(?:\.\d+)?\.pt\.trace\.json(?:\.gz)?$")
OWN_NUMBER = re.compile(r"(?<=[-_.])\d+(?=[-_.]|$)")
# Variables that launchers set in the environment of a process, by priority.
RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")


def rank_of(path: Path) -> int | None:
    """Finds the rank in the name of a file or of its directory: rank-3.json, trace_3_of_8, rank3/a.json.

    None if there is no rank or more than one. A machine's number counts only if the name has no other number.
    """
    for name in (path.name, path.parent.name):
        worker, times = PYTORCH.subn("", name)
        words = LOCAL_RANK.sub("", worker)
        positions = {int(match[1]) for match in RANK_OF_COUNT.finditer(words) if int(match[1]) < int(match[2])}
        kinds = [{int(number) for number in JOB_RANK.findall(words)} | positions]
        # PyTorch's worker may be a host with a process id: worker-3_12345.
        known = [match for match in PROCESS_NUMBER.finditer(words) if not times or match.end() == len(words)]
        kinds.append({int(match[1]) for match in known})
        kinds.append(set() if times else {int(number) for number in MACHINE_NUMBER.findall(words)})
        ranks = next(filter(None, kinds), set())
        if ranks:
            return ranks.pop() if len(ranks) == 1 else None
    return None


def rank_in_environment(text: str) -> int | None:
    """Finds the rank in the variables of launchers in a text: RANK=3; None: no such variable."""
    ranks = {
        name: int(value) for name, value in re.findall(r"\b([A-Z][A-Z_0-9]*)=(\d+)\b", text) if name in RANK_VARIABLES
    }
    return next((ranks[name] for name in RANK_VARIABLES if name in ranks), None)


def ranks_by_numbers(paths: Sequence[Path]) -> dict[Path, int]:
    """Returns ranks of files whose names have one number each, if the numbers are 0, 1, 2 ...; else an empty dict."""
    stems = [PYTORCH.sub("", path.name).removesuffix(".gz") for path in paths]
    numbers = [OWN_NUMBER.findall(stem.rpartition(".")[0] or stem) for stem in stems]
    if len(paths) > 1 and all(len(in_name) == 1 for in_name in numbers):
        ranks = {path: int(in_name[0]) for path, in_name in zip(paths, numbers, strict=True)}
        if sorted(ranks.values()) == list(range(len(paths))):
            return ranks
    return {}


def with_ranks(files: Sequence[tuple[Path, list[RankTrace]]], user_ranks: Mapping[Path, int]) -> dict[int, RankTrace]:
    """Assigns ranks to the traces in files; returns the traces by rank, ascending.

    Args:
        files: files with their traces, whose rank is `UNKNOWN_RANK` if the file does not have it.
        user_ranks: ranks of files from the command line.

    Raises:
        UsageError: a rank is not known, or differs from the rank in the file, or two files have the same rank.
    """
    unknown = [
        path for path, traces in files if any(trace.rank == UNKNOWN_RANK for trace in traces) and path not in user_ranks
    ]
    named = {path: rank_of(path) for path in unknown}
    if not any(rank is not None for rank in named.values()):
        named |= ranks_by_numbers(unknown)
    missing = [path for path in unknown if named[path] is None]
    if missing:
        and_more = f" and {counted(len(missing) - 1, 'more file')}" if len(missing) > 1 else ""
        fault = "do not say their ranks" if and_more else "does not say its rank"
        raise UsageError(f"'{missing[0]}'{and_more} {fault}; {GIVE.format(missing[0])}")
    by_rank: defaultdict[int, list[RankTrace]] = defaultdict(list)
    for path, traces in files:
        if path in user_ranks and len(traces) != 1:
            raise UsageError(
                f"'{path}' has {len(traces)} ranks; give it without one: '{path}', not {user_ranks[path]}={path}"
            )
        for trace in traces:
            rank = user_ranks.get(path, trace.rank)
            if trace.rank not in (rank, UNKNOWN_RANK):
                raise UsageError(f"'{path}' is of rank {trace.rank}, not {rank}, as it says itself")
            rank = rank if rank != UNKNOWN_RANK else int(named[path] or 0)
            by_rank[rank].append(replace(trace, rank=rank))
    several = {rank: traces for rank, traces in by_rank.items() if len(traces) > 1}
    if several:
        rank, traces = min(several.items())
        first, second = traces[0].path, traces[1].path
        more = (
            f" ({len(several)} ranks have several files, as of several cycles of a profiler)"
            if len(several) > 1
            else ""
        )
        chosen = [str(some[0].path) for _, some in sorted(by_rank.items())]
        shown = " ".join(chosen[:MAX_NAMED_FILES]) + (" ..." if len(chosen) > MAX_NAMED_FILES else "")
        raise UsageError(
            f"'{first}' and '{second}' are both of rank {rank}{more}; give one file for each rank, as {shown}"
        )
    return {rank: by_rank[rank][0] for rank in sorted(by_rank)}
