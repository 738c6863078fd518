"""Spans of all ranks in formats of trace viewers: Perfetto (Chrome's JSON), PyTorch's Kineto."""

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


def us(time: int) -> msgspec.Raw:
    """Returns a time in ns as JSON's us, exactly."""
    return msgspec.Raw(exact_microseconds(time))


def slice_of(name: str, begin: int, end: int, where: dict[str, Any], arguments: object) -> dict[str, Any]:
    """Returns an event from begin to end, ns."""
    return {"ph": "X", "name": name, **where, "ts": us(begin), "dur": us(end - begin), "args": arguments}


def counters(rank_spans: RankSpans, pid: int) -> Iterator[dict[str, Any]]:
    """Yields the errors of a rank's clock."""
    for time, bound, error in rank_spans.clock_errors():
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
    members = complete_communicators(spans.members)
    groups = [
        {"pg_name": name, "pg_desc": name, "backend_config": "mpi", "pg_size": len(ranks), "ranks": list(ranks)}
        for name, ranks in members.items()
    ]
    between = 0

    def events(rank_spans: RankSpans) -> Iterator[dict[str, Any]]:
        nonlocal between
        yield {
            "ph": "M",
            "name": "process_name",
            "pid": rank_spans.pid,
            "tid": 0,
            "args": {"name": f"rank {rank_spans.rank}"},
        }
        for number, span in enumerate(rank_spans.spans()):
            between += span.record.group >= 0
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
    return [f"{between} calls between two groups of ranks are not in Kineto's format"] if between else []


def complete_communicators(members: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The ranks of communicators all of whose ranks are known."""
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
    """Returns ranks as PyTorch writes them."""
    if len(ranks) <= MOST_LISTED:
        return str(list(ranks))
    return f"[{', '.join(map(str, ranks[: MOST_LISTED - 1]))}, ..., {ranks[-1]}]"


WRITERS: dict[str, Callable[[Spans, Path], list[str]]] = {
    "perfetto": write_perfetto,
    "kineto": write_kineto,
}
