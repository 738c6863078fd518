"""Recordings of `downbeat trace` in formats of other tools: all ranks on the global clock, with its errors as counters.

The axis begins where the realtime clock of the first rank was as it began to record, to within milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pandas as pd

from downbeat.align.formats.common import ROOTED, normalize
from downbeat.align.formats.write import Axis, Source, microseconds, write_sources, zipped
from downbeat.base.files import replacing
from downbeat.errors import DownbeatError, UsageError
from downbeat.traces.arrivals import mpi_name
from downbeat.traces.expected import expected_errors
from downbeat.traces.file import Section
from downbeat.traces.sites import site_names
from downbeat.traces.trace import Trace, to_global

if TYPE_CHECKING:
    from otf2.definitions import Location
    from otf2.event_writer import EventWriter
    from otf2.writer import Writer

STAMPS = ("entry", "returned", "waited", "exit")
NANOSECONDS = 1e9
POINTS = 101  # of a counter, beside those at synchronizations
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
WAIT = "MPI_Wait"  # one name: those that one call completes have the same stamps, and no order
MOST_LISTED = 30  # ranks of a group; PyTorch shortens longer lists


class Recording:
    """A recording, as it is written.

    Attributes:
        trace: the recording.
        epoch: what its times count from, ns since 1970.
        unplaced: calls that are left out: their process ended before its clock was known.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.epoch = int(trace.sections[0].header["began_ns"])
        records = trace.records
        known = records["entry"].notna()
        self.unplaced = int((~known).sum())
        self.records = records[known]
        if self.records.empty:
            raise UsageError(f"'{trace.sections[0].path}' has no collectives; there is nothing to export")

    @property
    def unsampled(self) -> int:
        """Calls that the recording only added up."""
        return (
            int(self.trace.profile["calls"].sum() - self.trace.records["complete"].sum()) if self.trace.sampled else 0
        )

    @property
    def between(self) -> int:
        """Calls on intercommunicators."""
        return int((self.records["group"] >= 0).sum())

    @cached_property
    def sites(self) -> dict[tuple[str, int], str]:
        """How people call the places of calls."""
        rows = self.records.drop_duplicates(["module", "offset"])[["module", "offset", "symbol"]]
        return site_names((str(a), int(b), str(c)) for a, b, c in rows.itertuples(index=False))

    @cached_property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """The ranks of each communicator in the job; none where some left no call."""
        names = ["communicator", "comm_rank", "rank", "size", "group"]
        rows = self.records[names].drop_duplicates().sort_values("comm_rank")
        whole = rows.groupby("communicator", observed=True)["size"].transform(lambda size: size == len(size))
        rows = rows.assign(whole=whole & (rows["group"] < 0))  # of two groups, a rank is another one's number
        return {
            str(name): tuple(map(int, some["rank"])) if some["whole"].all() else ()
            for name, some in rows.groupby("communicator", observed=True)
        }

    def of(self, rank: int) -> pd.DataFrame:
        """Returns the calls of a rank by entry, stamps in ns since 1970 (-1: none), with MPI's name."""
        rows = self.records[self.records["rank"] == rank].copy()
        for name in STAMPS:
            rows[name] = (rows[name] * NANOSECONDS).round().fillna(-1 - self.epoch).astype("int64") + self.epoch
        words = rows[["operation", "kind"]].astype(str)
        rows["name"] = [mpi_name(a, b) for a, b in words.itertuples(index=False)]
        rows["operation"] = words["operation"]
        return rows

    def clock(self, section: Section) -> Iterator[tuple[int, float, float]]:
        """Yields times (ns since 1970) with the bound and the expected error of the rank's clock (ns)."""
        maps = section.tables["maps"]
        if not len(maps):
            return
        at = maps["ticks"]
        ticks = np.unique([*at, *np.linspace(at.min(), at.max(), POINTS).astype(np.int64)])
        times, bounds = to_global(ticks, maps, float(section.header["max_wander"]))
        errors = expected_errors(ticks, maps, bounds)
        for time, bound, error in zip(times, bounds, errors, strict=True):
            yield round(time * NANOSECONDS) + self.epoch, float(bound * NANOSECONDS), float(error * NANOSECONDS)


def notes(recording: Recording, kineto: bool = False) -> list[str]:
    """Returns a line for each kind of what is not in the export."""
    processes = recording.trace.processes
    lost = int(processes["records_dropped"].sum())
    said = {
        "of all calls are not in the sample that is exported": recording.unsampled,
        "records of the sample had no room": lost,
        "calls are left out: their process ended before its clock was known": recording.unplaced,
        "calls between two groups of ranks are not in Kineto's format": kineto * recording.between,
        "ranks left no file": int(processes["world_size"].max()) - len(processes),
    }
    return [f"{number} {what}" for what, number in said.items() if number > 0]


def each(rows: pd.DataFrame) -> Iterator[Any]:
    """Yields rows, with columns as attributes."""
    return rows.itertuples(index=False)


def known(row: Any, bound: bool = False) -> dict[str, object]:  # noqa: ANN401
    """Returns what is known of a call: arguments of its event."""
    found: dict[str, object] = {"communicator": str(row.communicator), "sequence": int(row.sequence)}
    found |= {name: int(value) for name, value in (("bytes", row.bytes), ("root", row.root)) if not pd.isna(value)}
    return found | ({"bound_us": round(row.bound * 1e6, 4)} if bound else {})


def slice_of(name: str, begin: int, end: int, place: dict[str, Any], arguments: object) -> dict[str, Any]:
    """Returns an event from begin to end, ns."""
    times = {"ts": microseconds(begin), "dur": microseconds(end - begin)}
    return {"ph": "X", "name": name, **place, **times, "args": arguments}


def counter(time: int, pid: object, bound: float, error: float) -> dict[str, Any]:
    """Returns the event of a clock's errors, ns."""
    values = {"bound": round(bound / 1e3, 6), "expected": round(error / 1e3, 6)}
    return {"ph": "C", "name": "clock error [us]", "pid": pid, "tid": 0, "ts": microseconds(time), "args": values}


def write_perfetto(recording: Recording, path: Path) -> None:
    """Writes one Chrome trace of all ranks, which ui.perfetto.dev opens; gzip if its name ends in .gz.

    A nonblocking call is two slices, itself and the wait for it, with an arrow between them. A call that did not end
    has no end.
    """
    sources = []
    for section in recording.trace.sections:
        rows = recording.of(section.rank)
        first = min([*(rows["entry"].iloc[:1]), *(time for time, _, _ in recording.clock(section))], default=None)
        if first is not None:
            sources.append(Source(section.rank, first, 0, events_of(recording, section, rows)))
    write_sources(sources, lambda _, stamps: stamps, path)


def events_of(recording: Recording, section: Section, rows: pd.DataFrame) -> Callable[[Axis], Iterator[list[bytes]]]:
    """Returns what gives the events of a rank on the axis."""
    encode = msgspec.json.Encoder().encode
    host = str(recording.trace.processes.set_index("rank")["host"][section.rank])

    def events(axis: Axis) -> Iterator[list[bytes]]:
        pid = axis.process(b"", host)
        block = []
        for number, row in enumerate(each(rows)):
            place = {"cat": str(row.kind), "pid": pid, "tid": int(row.thread)}
            site = recording.sites[str(row.module), int(row.offset)]
            arguments = known(row, bound=True) | {"site": site}
            begin, end, waited, done = axis.times([row.entry, row.returned, row.waited, row.exit]).tolist()
            if not row.complete:
                block.append({"ph": "B", "name": row.name, **place, "ts": microseconds(begin), "args": arguments})
                continue
            later = row.kind != "blocking"
            block.append(slice_of(row.name, begin, end if later else done, place, arguments))
            if later:
                block.append(slice_of(f"wait for {row.name}", waited, done, place, arguments))
                arrow = {"name": row.name, **place, "cat": "flow", "id": f"{section.rank}:{number}"}
                block += [
                    {"ph": "s", **arrow, "ts": microseconds(begin)},
                    {"ph": "f", "bp": "e", **arrow, "ts": microseconds(waited)},
                ]
        yield list(map(encode, block))
        yield [encode(counter(int(axis.times([time])[0]), pid, *errors)) for time, *errors in recording.clock(section)]
        yield axis.names()

    return events


def make_empty(directory: Path) -> None:
    """Makes a directory; refuses one that has files: an earlier export's would mix with the new ones."""
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise UsageError(f"'{directory}' is not empty; give another directory with --output")


def write_kineto(recording: Recording, directory: Path) -> None:
    """Writes a trace for each rank, as PyTorch's profiler writes it with the backend mpi: rank-0.json.gz ...

    Each collective is a `record_param_comms`, and in it `mpi:all_reduce` or similar from the call until the work is
    done. A nonblocking one has the first only, for the call.
    """
    make_empty(directory)
    groups = [
        {"pg_name": name, "pg_desc": name, "backend_config": "mpi", "pg_size": len(ranks), "ranks": list(ranks)}
        for name, ranks in recording.groups.items()
    ]
    processes = recording.trace.processes.set_index("rank")
    for section in recording.trace.sections:
        process: Any = processes.loc[section.rank]
        head = {
            "schemaVersion": 1,
            "deviceProperties": [],
            "distributedInfo": {
                "backend": "mpi",
                "rank": section.rank,
                "world_size": int(process["world_size"]),
                "pg_count": len(groups),
                "pg_config": groups,
            },
            "displayTimeUnit": "ns",
            "baseTimeNanoseconds": recording.epoch,
            "hostname": str(process["host"]),
        }
        path = directory / f"rank-{section.rank}.json.gz"
        with replacing(path, binary=True) as file, zipped(file, path) as out:
            # HTA finds the rank by its text, with a space.
            out.write(json.dumps(head)[:-1].encode() + b', "traceEvents": ')
            out.write(msgspec.json.encode(list(kineto_events(recording, section, int(process["pid"])))) + b"}\n")


def kineto_events(recording: Recording, section: Section, pid: int) -> Iterator[dict[str, Any]]:
    """Yields the events of a rank."""
    name = {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": f"rank {section.rank}"}}
    yield name
    for number, row in enumerate(each(recording.of(section.rank))):
        if not row.complete or row.group >= 0:
            continue
        group = str(row.communicator)
        ranks = recording.groups[group]
        said = TORCH.get(row.operation, f"MPI_{row.operation.capitalize()}")
        size = 0 if pd.isna(row.bytes) else int(row.bytes)
        arguments: dict[str, object] = {
            "External id": number + 1,
            "Collective name": said,
            "dtype": "Byte",
            "In msg nelems": size,
            "Out msg nelems": size,
            "In split size": "[]",
            "Out split size": "[]",
            "Group size": int(row.size),
            "Process Group Name": group,
            "Process Group Description": group,
            "Rank": int(row.root if normalize(said) in ROOTED and not pd.isna(row.root) else row.comm_rank),
            "Seq": int(row.sequence),
        }
        if ranks:
            arguments["Process Group Ranks"] = listed(ranks)
        place = {"pid": pid, "tid": int(row.thread)}
        begin = row.entry - recording.epoch
        end = (row.exit if row.kind == "blocking" else row.returned) - recording.epoch
        yield slice_of("record_param_comms", begin, end, {"cat": "cpu_op", **place}, arguments)
        if row.kind == "blocking":
            told = f"mpi:{said.replace('all', 'all_', 1) if said in ('allreduce', 'allgather') else said}"
            yield slice_of(told, begin, end, {"cat": "user_annotation", **place}, arguments)
    for time, *errors in recording.clock(section):
        yield counter(time - recording.epoch, pid, *errors)


def listed(ranks: tuple[int, ...]) -> str:
    """Returns ranks as PyTorch writes them."""
    if len(ranks) <= MOST_LISTED:
        return str(list(ranks))
    return f"[{', '.join(map(str, ranks[: MOST_LISTED - 1]))}, ..., {ranks[-1]}]"


def write_otf2(recording: Recording, directory: Path) -> None:
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
        fill_archive(recording, writer)


def fill_archive(recording: Recording, writer: Writer) -> None:
    """Writes the definitions of a recording, and its events."""
    from otf2.enums import GroupType, LocationType, Paradigm

    known_there = writer.definitions
    machine = known_there.system_tree_node("machine")
    processes = recording.trace.processes
    hosts = {host: known_there.system_tree_node(host, parent=machine) for host in dict.fromkeys(processes["host"])}
    rows = {int(rank): recording.of(int(rank)) for rank in processes["rank"]}
    threads: dict[int, dict[int, Location]] = {}
    clocks: dict[int, Location] = {}
    for rank, host in zip(rows, processes["host"], strict=True):
        process = known_there.location_group(f"MPI Rank {rank}", system_tree_parent=hosts[host])
        busiest = rows[rank]["thread"].value_counts().index.tolist() or [0]
        threads[rank] = {int(thread): known_there.location(f"thread {thread}", group=process) for thread in busiest}
        clocks[rank] = known_there.location("clock", group=process, type=LocationType.METRIC)
    masters = {rank: next(iter(of.values())) for rank, of in threads.items()}
    known_there.group("MPI", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=list(masters.values()))
    communicators = {}
    for name, ranks in recording.groups.items():
        members = [masters[rank] for rank in ranks]
        group = known_there.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=members)
        communicators[name] = known_there.comm(name, group=group)
    names = sorted({WAIT, *(name for some in rows.values() for name in some["name"])})
    regions = {name: known_there.region(name, paradigm=Paradigm.MPI) for name in names}
    errors = known_there.metric_class(
        members=[known_there.metric_member(f"clock {what}", unit="ns") for what in ("bound", "expected error")]
    )
    requests = count()
    for section in recording.trace.sections:
        for thread, location in threads[section.rank].items():
            out = writer.event_writer_from_location(location)
            mine = rows[section.rank]
            write_thread(out, mine[mine["thread"] == thread], regions, communicators, requests)
        out = writer.event_writer_from_location(clocks[section.rank])
        for time, bound, error in recording.clock(section):
            out.metric(time, errors, [bound, error])


def write_thread(
    out: EventWriter,
    rows: pd.DataFrame,
    regions: dict[str, Any],
    communicators: dict[str, Any],
    requests: Iterator[int],
) -> None:
    """Writes the calls of a thread, by time; regions and communicators are by name."""
    from otf2.enums import CollectiveOp

    events: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
    order = count()

    def add(time: int, event: Callable[..., None], *arguments: object) -> None:
        events.append((time, next(order), event, arguments))

    for row in each(rows):
        region = regions[row.name]
        kind = getattr(CollectiveOp, row.operation.upper(), None)
        size = 0 if pd.isna(row.bytes) else int(row.bytes)
        root = 2**32 - 1 if pd.isna(row.root) else int(row.root)
        call = (kind, communicators[str(row.communicator)], root, size, size)
        add(row.entry, out.enter, region)
        if not row.complete:
            continue
        if row.kind == "blocking":
            if kind is not None:
                add(row.entry, out.mpi_collective_begin)
                add(row.exit, out.mpi_collective_end, *call)
            add(row.exit, out.leave, region)
            continue
        request = next(requests)
        if kind is not None:
            add(row.returned, out.non_blocking_collective_request, request)
        add(row.returned, out.leave, region)
        add(row.waited, out.enter, regions[WAIT])
        if kind is not None:
            add(row.exit, out.non_blocking_collective_complete, *call, request)
        add(row.exit, out.leave, regions[WAIT])
    for time, _, event, arguments in sorted(events, key=lambda one: one[:2]):
        event(time, *arguments)


WRITERS = {"perfetto": write_perfetto, "kineto": write_kineto, "otf2": write_otf2}
