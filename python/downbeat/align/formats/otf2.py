"""Traces of Score-P and others in OTF2: an archive has all ranks.

Its library moves stamps as the archive's own clock offsets say. Errors that those leave are found here.
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
    """Whether there is an archive: its anchor file (traces.otf2), by its first bytes, or the directory of one."""
    anchor = anchor_of(path)
    if anchor is None:
        return False
    with anchor.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def anchor_of(path: Path) -> Path | None:
    """Returns the anchor file of an archive, None if a directory has none."""
    return next(iter(sorted(path.glob("*.otf2"))), None) if path.is_dir() else path


def read(path: Path) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the traces of an archive's processes, and a line for each kind of event left out.

    Raises:
        UsageError: the archive is damaged, or has no collectives.
        DownbeatError: the library for it is not there.
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
    """Returns the traces of an open archive's processes, and a line for each kind of event left out."""
    definitions = archive.definitions
    clock = definitions.clock_properties
    resolution, offset = int(clock.timer_resolution), int(clock.global_offset)
    since = int(clock.realtime_timestamp)
    base = since if since < 2**63 else 0  # undefined: all bits

    def nanoseconds(ticks: int) -> int:
        return (ticks - offset) * 10**9 // resolution + base

    # The places of threads that call MPI are their ranks in the job.
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
    """Whether a group has all threads that call MPI."""
    kind, paradigm = str(group.group_type), str(group.paradigm)
    return kind.endswith(".COMM_LOCATIONS") and paradigm.endswith(".MPI")


def ranks_of_communicator(communicator: Comm, ranks: dict[Location, int]) -> tuple[str, tuple[int, ...]]:
    """Returns a communicator's name in the archive, and its ranks in the job."""
    members = tuple(ranks[location] for location in communicator.group.members if location in ranks)
    return f"{communicator.name} ({communicator._ref})", members
