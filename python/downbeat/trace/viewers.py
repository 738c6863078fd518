"""Writes the spans of all ranks (see spans.py) in formats of trace viewers: Perfetto and PyTorch's Kineto.

Both are Chrome's JSON: a list of events. "ph" is the type of an event: X a slice of time, B a begin, i an instant, C a
counter, M metadata, s and f the ends of an arrow.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from downbeat.data.collectives import ROOTED
from downbeat.errors import UsageError
from downbeat.files import replacing, zipped
from downbeat.text import exact_microseconds
from downbeat.trace.calls import LATER
from downbeat.trace.spans import RankSpans, Span, Spans

# PyTorch's names of operations; other operations keep MPI's names, which tools cannot confuse with these.
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
MAX_LISTED = 30  # ranks of a group that are listed; PyTorch shortens longer lists


def us(time: int) -> msgspec.Raw:
    """Converts a time in ns to us, as JSON without rounding."""
    return msgspec.Raw(exact_microseconds(time))


def slice_of(name: str, begin: int, end: int, where: dict[str, Any], arguments: object) -> dict[str, Any]:
    """Returns the event of a slice from begin to end, ns."""
    return {"ph": "X", "name": name, **where, "ts": us(begin), "dur": us(end - begin), "args": arguments}


def counters(rank_spans: RankSpans, pid: int) -> Iterator[dict[str, Any]]:
    """Yields events with the errors of a rank's clock."""
    for time, bound, error in rank_spans.clock_errors():
        values = {"bound": round(bound / 1e3, 6), "expected": round(error / 1e3, 6)}
        yield {"ph": "C", "name": "clock error [us]", "pid": pid, "tid": 0, "ts": us(time), "args": values}


def write_events(path: Path, head: dict[str, Any], events: Iterator[dict[str, Any]]) -> None:
    """Writes a file of Chrome's format; gzip if its name ends in .gz."""
    encode = msgspec.json.Encoder().encode
    with replacing(path, binary=True) as file, zipped(file, path) as out:
        # HTA, which analyzes Kineto's traces, finds the rank by its text in the head, with a space after the colon.
        out.write(json.dumps(head)[:-1].encode() + b', "traceEvents": [')
        separator = b"\n"
        for event in events:
            out.write(separator + encode(event))
            separator = b",\n"
        out.write(b"\n]}\n")


def write_perfetto(spans: Spans, path: Path) -> list[str]:
    """Writes a Chrome trace of all ranks, which ui.perfetto.dev opens; returns no notes.

    A nonblocking call is two slices, the call and the wait for it, with an arrow between them. A call that did not end
    has no end.
    """
    head = {"schemaVersion": 1, "displayTimeUnit": "ns", "baseTimeNanoseconds": spans.epoch, "otherData": spans.about}
    write_events(
        path,
        head,
        (event for pid, rank_spans in enumerate(spans.ranks, 1) for event in perfetto_events(rank_spans, pid)),
    )
    return []


def perfetto_events(rank_spans: RankSpans, pid: int) -> Iterator[dict[str, Any]]:
    """Yields the events of a rank."""
    for what, value in (("name", rank_spans.name), ("sort_index", rank_spans.rank)):
        yield {"ph": "M", "name": f"process_{what}", "pid": pid, "tid": 0, "args": {what: value}}
    for number, span in enumerate(rank_spans.spans()):
        where = {"cat": span.kind, "pid": pid, "tid": span.thread}
        if span.kind == "deadline":
            yield {"ph": "i", "s": "p", "name": span.name, **where, "ts": us(span.entry), "args": span.about}
        elif not span.complete:
            yield {"ph": "B", "name": span.name, **where, "ts": us(span.entry), "args": span.about}
        elif span.kind in LATER:
            yield slice_of(span.name, span.entry, span.returned, where, span.about)
            yield slice_of(f"wait for {span.name}", span.waited, span.exit, where, span.about)
            arrow = {"name": span.name, **where, "cat": "flow", "id": f"{rank_spans.rank}:{number}"}
            yield {"ph": "s", **arrow, "ts": us(span.entry)}
            yield {"ph": "f", "bp": "e", **arrow, "ts": us(span.waited)}
        else:
            yield slice_of(span.name, span.entry, span.exit, where, span.about)
    yield from counters(rank_spans, pid)


def make_empty(directory: Path) -> None:
    """Makes a directory; refuses a directory with files, because files of an earlier export would mix with new ones."""
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise UsageError(f"'{directory}' is not empty; give another directory with --output")


def write_kineto(spans: Spans, directory: Path) -> list[str]:
    """Writes a trace for each rank, like PyTorch's profiler with the backend mpi: rank-0.json.gz ...

    A collective is a slice `record_param_comms` and in it a slice `mpi:all_reduce` or similar. A nonblocking collective
    has only the first slice, for the call. Returns notes on calls that the format cannot show.
    """
    make_empty(directory)
    # only communicators whose ranks all left a file
    members = {name: ranks for name, ranks in spans.members.items() if ranks and min(ranks) >= 0}
    groups = [
        {"pg_name": name, "pg_desc": name, "backend_config": "mpi", "pg_size": len(ranks), "ranks": list(ranks)}
        for name, ranks in members.items()
    ]
    between_groups = 0

    def events(rank_spans: RankSpans) -> Iterator[dict[str, Any]]:
        nonlocal between_groups
        yield {
            "ph": "M",
            "name": "process_name",
            "pid": rank_spans.pid,
            "tid": 0,
            "args": {"name": f"rank {rank_spans.rank}"},
        }
        for number, span in enumerate(rank_spans.spans()):
            between_groups += span.record.group >= 0
            if span.complete and span.record.group < 0:
                yield from kineto_events(
                    span, rank_spans.pid, number + 1, members.get(str(span.record.communicator), ())
                )
        yield from counters(rank_spans, rank_spans.pid)

    for rank_spans in spans.ranks:
        known = {"backend": "mpi", "rank": rank_spans.rank, "world_size": spans.world_size}
        head = {
            "schemaVersion": 1,
            "deviceProperties": [],
            "distributedInfo": known | {"pg_count": len(groups), "pg_config": groups},
            "displayTimeUnit": "ns",
            "baseTimeNanoseconds": spans.epoch,
            "hostname": rank_spans.host,
        }
        write_events(directory / f"rank-{rank_spans.rank}.json.gz", head, events(rank_spans))
    if between_groups:
        return [f"{between_groups} calls between two groups of ranks are not in Kineto's format"]
    return []


def kineto_events(span: Span, pid: int, number: int, members: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Yields the events of a call.

    Args:
        span: with its record.
        pid: process id.
        number: a number of the span, unique on its rank.
        members: ranks of the communicator in the job; empty: not known.
    """
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
    if members:
        arguments["Process Group Ranks"] = torch_list(members)
    later = span.kind in LATER
    end = span.returned if later else span.exit
    yield slice_of("record_param_comms", span.entry, end, {"cat": "cpu_op", "pid": pid, "tid": span.thread}, arguments)
    if not later:
        label = f"mpi:{name.replace('all', 'all_', 1) if name in ('allreduce', 'allgather') else name}"
        where = {"cat": "user_annotation", "pid": pid, "tid": span.thread}
        yield slice_of(label, span.entry, end, where, arguments)


def torch_list(ranks: tuple[int, ...]) -> str:
    """Lists ranks like PyTorch, which shortens long lists."""
    if len(ranks) <= MAX_LISTED:
        return str(list(ranks))
    return f"[{', '.join(map(str, ranks[: MAX_LISTED - 1]))}, ..., {ranks[-1]}]"


WRITERS: dict[str, Callable[[Spans, Path], list[str]]] = {
    "perfetto": write_perfetto,
    "kineto": write_kineto,
}
