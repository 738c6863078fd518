"""Reads traces in OTF2, which Score-P and other tools write: an archive has all ranks.

The OTF2 library corrects stamps by the clock offsets in the archive. `downbeat align` finds the errors that remain.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from downbeat.align.calls import Call, Gathered, RankTrace, normalize
from downbeat.errors import DownbeatError, UsageError, reading

if TYPE_CHECKING:
    from otf2.definitions import Comm, Group, Location
    from otf2.reader import Reader

NAME = "OTF2"
MAGIC = b"\x03\x42OTF2"


def recognizes(path: Path) -> bool:
    """Returns true for the anchor file of an archive (traces.otf2), by its first bytes, or the directory with it."""
    anchor = anchor_of(path)
    if anchor is None:
        return False
    with anchor.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def anchor_of(path: Path) -> Path | None:
    """Returns the anchor file of an archive: the path itself, or a file in the directory; None: it has none."""
    return next(iter(sorted(path.glob("*.otf2"))), None) if path.is_dir() else path


def read(path: Path) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the traces of an archive's processes, and reason -> number of omitted events.

    Raises:
        UsageError: the archive is damaged, or has no collectives.
        DownbeatError: the OTF2 library is not installed.
    """
    try:
        import _otf2
        from otf2.error import TraceReaderError
        from otf2.reader import Reader
    except ImportError as error:
        raise DownbeatError(f"'{path}' is OTF2, which needs its library; run pip install otf2") from error
    with reading(path):
        try:
            with closing(Reader(str(anchor_of(path)), batch_events=10_000)) as archive:
                return read_archive(path, archive)
        except (_otf2.Error, TraceReaderError) as error:
            raise ValueError(str(error).splitlines()[0]) from error


def read_archive(path: Path, archive: Reader) -> tuple[list[RankTrace], Counter[str]]:
    """Like `read`, for an open archive."""
    definitions = archive.definitions
    clock = definitions.clock_properties
    resolution, offset = int(clock.timer_resolution), int(clock.global_offset)
    began = int(clock.realtime_timestamp)
    base = began if began < 2**63 else 0  # all bits are set if the time is undefined

    def nanoseconds(ticks: int) -> int:
        """Returns the time of a stamp since 1970, ns; since the begin if the time of the begin is undefined."""
        return (ticks - offset) * 10**9 // resolution + base

    # The position of a thread in the group of all threads that call MPI is its rank in the job.
    threads = next((group.members for group in definitions.groups if is_world(group)), ())
    ranks = {location: rank for rank, location in enumerate(threads)}
    gathered: defaultdict[int, Gathered] = defaultdict(Gathered)
    begun: dict[object, int] = {}
    for location, event in archive.events:
        kind = type(event).__name__
        if kind == "MpiCollectiveBegin":
            begun[location] = event.time
        elif kind == "NonBlockingCollectiveComplete" and location in ranks:
            gathered[ranks[location]].skipped["collectives that do not block"] += 1
        elif kind == "MpiCollectiveEnd" and location in ranks:
            calls = gathered[ranks[location]]
            operation = normalize(f"MPI_{str(event.collective_op).rpartition('.')[2]}")
            start = begun.pop(location, None)
            if start is None or operation is None:
                calls.skipped["calls without a begin, or not of a collective that this reads"] += 1
                continue
            name, members = ranks_of_communicator(event.communicator, ranks)
            root = members[event.root] if 0 <= event.root < len(members) else -1
            call = Call(operation, nanoseconds(start), nanoseconds(event.time), root=root, size=int(event.size_sent))
            calls.add(name, call, members)
    for location in begun:
        if location in ranks:
            gathered[ranks[location]].skipped["collectives without an end"] += 1
    if not any(process_calls.calls for process_calls in gathered.values()):
        raise UsageError(f"'{path}' has no collectives of MPI; record with Score-P's wrapper of MPI (--mpp=mpi)")
    skipped: Counter[str] = sum((process_calls.skipped for process_calls in gathered.values()), Counter())
    traces = []
    for rank, process_calls in sorted(gathered.items()):
        node = threads[rank].group.system_tree_parent
        traces.append(process_calls.trace(path, rank, str(node.name) if node is not None else ""))
    return traces, skipped


def is_world(group: Group) -> bool:
    """Returns true for the group of all threads that call MPI."""
    kind, paradigm = str(group.group_type), str(group.paradigm)
    return kind.endswith(".COMM_LOCATIONS") and paradigm.endswith(".MPI")


def ranks_of_communicator(communicator: Comm, ranks: dict[Location, int]) -> tuple[str, tuple[int, ...]]:
    """Returns a communicator's name in the archive, and its ranks in the job."""
    members = tuple(ranks[location] for location in communicator.group.members if location in ranks)
    return f"{communicator.name} ({communicator._ref})", members
