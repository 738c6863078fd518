"""Spans of all ranks in formats of trace viewers: Perfetto (Chrome's JSON), PyTorch's Kineto, OTF2."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd

from downbeat.data.collectives import ROOTED
from downbeat.errors import DownbeatError, UsageError
from downbeat.files import replacing, zipped
from downbeat.text import exact_microseconds
from downbeat.trace.calls import LATER
from downbeat.trace.spans import RankSpans, Span, Spans

if TYPE_CHECKING:
    from otf2.writer import Writer

# As PyTorch calls them; others keep MPI's names, which no tool takes for one of these.
TORCH = {
    "allreduce": "allreduce",
    "allgather": "allgather",
    "alltoall": "all_to_all",
    "barrier": "barrier",
    "bcast": "broadcast",
    "gather": "gather",
    "reduce": "reduce",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_block": "reduce_scatter",
    "scatter": "scatter",
}
MOST_LISTED = 30  # ranks of a group; PyTorch shortens longer lists
WAIT = "MPI_Wait"  # one name: those that one call completes have the same stamps, and no order
NO_ROOT = 2**32 - 1


def us(time: int) -> msgspec.Raw:
    """Returns a time in ns as JSON's us, exactly."""
    return msgspec.Raw(exact_microseconds(time))


def slice_of(name: str, begin: int, end: int, place: dict[str, Any], arguments: object) -> dict[str, Any]:
    """Returns an event from begin to end, ns."""
    return {"ph": "X", "name": name, **place, "ts": us(begin), "dur": us(end - begin), "args": arguments}


def counters(one: RankSpans, pid: int) -> Iterator[dict[str, Any]]:
    """Yields the errors of a rank's clock."""
    for time, bound, error in one.clock_errors():
        values = {"bound": round(bound / 1e3, 6), "expected": round(error / 1e3, 6)}
        yield {"ph": "C", "name": "clock error [us]", "pid": pid, "tid": 0, "ts": us(time), "args": values}


def write_events(path: Path, head: dict[str, Any], events: Iterator[dict[str, Any]]) -> None:
    """Writes a file of Chrome's format; gzip if its name ends in .gz."""
    encode = msgspec.json.Encoder().encode
    with replacing(path, binary=True) as file, zipped(file, path) as out:
        out.write(
            json.dumps(head)[:-1].encode() + b', "traceEvents": ['
        )  # HTA finds the rank by its text, with a space
        separator = b"\n"
        for event in events:
            out.write(separator + encode(event))
            separator = b",\n"
        out.write(b"\n]}\n")


def write_perfetto(spans: Spans, path: Path) -> list[str]:
    """Writes one Chrome trace of all ranks, which ui.perfetto.dev opens.

    A nonblocking call is two slices, itself and the wait for it, with an arrow between them. A call that did not end
    has no end.
    """
    head = {"schemaVersion": 1, "displayTimeUnit": "ns", "baseTimeNanoseconds": spans.epoch, "otherData": spans.about}
    write_events(path, head, (event for pid, one in enumerate(spans.ranks, 1) for event in perfetto_events(one, pid)))
    return []


def perfetto_events(one: RankSpans, pid: int) -> Iterator[dict[str, Any]]:
    """Yields the events of a rank."""
    for what, value in (("name", one.name), ("sort_index", one.rank)):
        yield {"ph": "M", "name": f"process_{what}", "pid": pid, "tid": 0, "args": {what: value}}
    for number, span in enumerate(one.spans()):
        place = {"cat": span.kind, "pid": pid, "tid": span.thread}
        if span.kind == "deadline":
            yield {"ph": "i", "s": "p", "name": span.name, **place, "ts": us(span.entry), "args": span.about}
        elif not span.complete:
            yield {"ph": "B", "name": span.name, **place, "ts": us(span.entry), "args": span.about}
        elif span.kind in LATER:
            yield slice_of(span.name, span.entry, span.returned, place, span.about)
            yield slice_of(f"wait for {span.name}", span.waited, span.exit, place, span.about)
            arrow = {"name": span.name, **place, "cat": "flow", "id": f"{one.rank}:{number}"}
            yield {"ph": "s", **arrow, "ts": us(span.entry)}
            yield {"ph": "f", "bp": "e", **arrow, "ts": us(span.waited)}
        else:
            yield slice_of(span.name, span.entry, span.exit, place, span.about)
    yield from counters(one, pid)


def make_empty(directory: Path) -> None:
    """Makes a directory; refuses one that has files: an earlier export's would mix with the new ones."""
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise UsageError(f"'{directory}' is not empty; give another directory with --output")


def write_kineto(spans: Spans, directory: Path) -> list[str]:
    """Writes a trace for each rank, as PyTorch's profiler writes it with the backend mpi: rank-0.json.gz ...

    Each collective is a `record_param_comms`, and in it `mpi:all_reduce` or similar from the call until the work is
    done. A nonblocking one has the first only, for the call.
    """
    make_empty(directory)
    groups = [
        {"pg_name": name, "pg_desc": name, "backend_config": "mpi", "pg_size": len(ranks), "ranks": list(ranks)}
        for name, ranks in complete_communicators(spans.members).items()
    ]
    between = 0

    def events(one: RankSpans) -> Iterator[dict[str, Any]]:
        nonlocal between
        yield {"ph": "M", "name": "process_name", "pid": one.pid, "tid": 0, "args": {"name": f"rank {one.rank}"}}
        for number, span in enumerate(one.spans()):
            between += span.record.group >= 0
            if span.complete and span.record.group < 0:
                yield from kineto_events(
                    span, one.pid, number + 1, spans.members.get(str(span.record.communicator), ())
                )
        yield from counters(one, one.pid)

    for one in spans.ranks:
        known = {"backend": "mpi", "rank": one.rank, "world_size": spans.world_size}
        head = {
            "schemaVersion": 1,
            "deviceProperties": [],
            "distributedInfo": known | {"pg_count": len(groups), "pg_config": groups},
            "displayTimeUnit": "ns",
            "baseTimeNanoseconds": spans.epoch,
            "hostname": one.host,
        }
        write_events(directory / f"rank-{one.rank}.json.gz", head, events(one))
    return [f"{between} calls between two groups of ranks are not in Kineto's format"] if between else []


def complete_communicators(members: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Returns the ranks of communicators of which all are known."""
    return {name: ranks for name, ranks in members.items() if ranks and min(ranks) >= 0}


def kineto_events(span: Span, pid: int, number: int, members: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Yields the events of a call."""
    record, group = span.record, str(span.record.communicator)
    operation = str(record.operation)
    name = TORCH.get(operation, f"MPI_{operation.capitalize()}")
    size = 0 if pd.isna(record.bytes) else int(record.bytes)
    rooted = operation in TORCH and operation in ROOTED and not pd.isna(record.root)
    arguments: dict[str, object] = {
        "External id": number,
        "Collective name": name,
        "dtype": "Byte",
        "In msg nelems": size,
        "Out msg nelems": size,
        "In split size": "[]",
        "Out split size": "[]",
        "Group size": int(record.size),
        "Process Group Name": group,
        "Process Group Description": group,
        "Rank": int(record.root if rooted else record.comm_rank),
        "Seq": int(record.sequence),
    }
    if members and min(members) >= 0:
        arguments["Process Group Ranks"] = torch_list(members)
    later = span.kind in LATER
    end = span.returned if later else span.exit
    yield slice_of("record_param_comms", span.entry, end, {"cat": "cpu_op", "pid": pid, "tid": span.thread}, arguments)
    if not later:
        label = f"mpi:{name.replace('all', 'all_', 1) if name in ('allreduce', 'allgather') else name}"
        place = {"cat": "user_annotation", "pid": pid, "tid": span.thread}
        yield slice_of(label, span.entry, end, place, arguments)


def torch_list(ranks: tuple[int, ...]) -> str:
    """Returns ranks as PyTorch writes them."""
    if len(ranks) <= MOST_LISTED:
        return str(list(ranks))
    return f"[{', '.join(map(str, ranks[: MOST_LISTED - 1]))}, ..., {ranks[-1]}]"


def write_otf2(spans: Spans, directory: Path) -> list[str]:
    """Writes an OTF2 archive, directory/traces.otf2: a location for each thread, one of each rank for its clock.

    Raises:
        DownbeatError: the library for it is not there.
    """
    try:
        from otf2.writer import Writer
    except ImportError as error:
        raise DownbeatError("OTF2 needs its library; run pip install otf2") from error
    make_empty(directory)
    with closing(Writer(str(directory), timer_resolution=10**9)) as writer:
        writer.description = json.dumps(spans.about)
        Archive(writer, spans).write()
    return []


class Archive:
    """An OTF2 archive that is being written: what its definitions are by our names."""

    def __init__(self, writer: Writer, spans: Spans) -> None:
        from otf2.enums import GroupType, LocationType, Paradigm

        known = writer.definitions
        self.writer = writer
        self.spans = spans
        self.ranks = [one for one in spans.ranks if one.rank >= 0]
        self.mpi = Paradigm.MPI
        self.regions: dict[str, Any] = {}
        self.attributes: dict[str, Any] = {}
        self.requests = count()
        machine = known.system_tree_node("machine")
        hosts = {one.host: known.system_tree_node(one.host, parent=machine) for one in self.ranks}
        self.threads: dict[int, dict[int, Any]] = {}
        self.clocks: dict[int, Any] = {}
        for one in self.ranks:
            process = known.location_group(f"MPI Rank {one.rank}", system_tree_parent=hosts[one.host])
            self.threads[one.rank] = {
                thread: known.location(f"thread {thread}", group=process) for thread in one.threads
            }
            self.clocks[one.rank] = known.location("clock", group=process, type=LocationType.METRIC)
        first = {rank: next(iter(threads.values())) for rank, threads in self.threads.items()}
        known.group("MPI", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=list(first.values()))
        self.communicators: dict[str, Any] = {}
        self.first = first
        self.members = complete_communicators(spans.members)
        members = [known.metric_member(f"clock {what}", unit="ns") for what in ("bound", "expected error")]
        self.errors = known.metric_class(members=members)

    def write(self) -> None:
        """Writes the events."""
        for one in self.ranks:
            events: dict[int, list[Any]] = {thread: [] for thread in self.threads[one.rank]}
            for span in one.spans():
                events[span.thread] += self.events_of(span)
            for thread, location in self.threads[one.rank].items():
                out = self.writer.event_writer_from_location(location)
                for time, event, arguments, about in sorted(events.pop(thread), key=lambda event: event[0]):
                    event(out, time, *arguments, **about)
            out = self.writer.event_writer_from_location(self.clocks[one.rank])
            for time, bound, error in one.clock_errors():
                out.metric(time + self.spans.epoch, self.errors, [bound, error])

    def communicator(self, name: str) -> Any:  # noqa: ANN401 (a definition)
        """Returns the communicator of a name, without members if not all are known; made if need be."""
        from otf2.enums import GroupType

        if name not in self.communicators:
            members = [self.first[rank] for rank in self.members.get(name, ())]
            known = self.writer.definitions
            group = known.group("", group_type=GroupType.COMM_GROUP, paradigm=self.mpi, members=members)
            self.communicators[name] = known.comm(name, group=group)
        return self.communicators[name]

    def region(self, name: str, kind: str) -> Any:  # noqa: ANN401 (a definition)
        """Returns the region of a name; made if need be."""
        from otf2.enums import RegionRole

        if name not in self.regions:
            roles = {"synchronizer": RegionRole.BARRIER, "operation": RegionRole.COLL_OTHER}
            role = {"region_role": roles[kind]} if kind in roles else {}
            self.regions[name] = self.writer.definitions.region(name, paradigm=self.mpi, **role)
        return self.regions[name]

    def attribute(self, name: str, value: object) -> Any:  # noqa: ANN401 (a definition)
        """Returns the attribute of a name; made if need be."""
        from otf2.enums import Type

        if name not in self.attributes:
            kind = Type.INT64 if isinstance(value, int) else Type.STRING
            self.attributes[name] = self.writer.definitions.attribute(name, type=kind)
        return self.attributes[name]

    def events_of(
        self, span: Span
    ) -> Iterator[tuple[int, Callable[..., None], tuple[Any, ...], dict[str, dict[Any, object]]]]:
        """Yields the events of a span: time, kind, arguments, attributes."""
        from otf2.enums import CollectiveOp
        from otf2.event_writer import EventWriter

        epoch, record = self.spans.epoch, span.record
        region = self.region(span.name, span.kind)
        of_launch = {} if record is not None else span.about
        about = {"attributes": {self.attribute(name, value): value for name, value in of_launch.items()}}
        yield span.entry + epoch, EventWriter.enter, (region,), about
        kind = None if record is None else getattr(CollectiveOp, str(record.operation).upper(), None)
        if kind is not None:
            size = 0 if pd.isna(record.bytes) else int(record.bytes)
            root = NO_ROOT if pd.isna(record.root) else int(record.root)
            call = (kind, self.communicator(str(record.communicator)), root, size, size)
        if not span.complete:
            return
        if span.kind not in LATER:
            if kind is not None:
                yield span.entry + epoch, EventWriter.mpi_collective_begin, (), {}
                yield span.exit + epoch, EventWriter.mpi_collective_end, call, {}
            yield span.exit + epoch, EventWriter.leave, (region,), {}
            return
        request = next(self.requests)
        wait = self.region(WAIT, span.kind)
        if kind is not None:
            yield span.returned + epoch, EventWriter.non_blocking_collective_request, (request,), {}
        yield span.returned + epoch, EventWriter.leave, (region,), {}
        yield span.waited + epoch, EventWriter.enter, (wait,), {}
        if kind is not None:
            yield span.exit + epoch, EventWriter.non_blocking_collective_complete, (*call, request), {}
        yield span.exit + epoch, EventWriter.leave, (wait,), {}


WRITERS: dict[str, Callable[[Spans, Path], list[str]]] = {
    "perfetto": write_perfetto,
    "kineto": write_kineto,
    "otf2": write_otf2,
}
