"""Traces of Nsight Systems, exported to SQLite (nsys export --type sqlite): MPI's calls, and kernels of NCCL.

NVTX ranges `ncclAllReduce` end once the work is queued, so that their times would break the bound. They say which
communicator a kernel works for; the kernel's stamps are taken.
"""

from __future__ import annotations

import contextlib
import sqlite3
import struct
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from downbeat.align.calls import UNKNOWN_RANK, Call, Gathered, NoTraceError, RankTrace, normalize, rank_in_environment
from downbeat.align.formats.kernels import (
    LEFT_OUT,
    NONE,
    OF_POINTS,
    POINT_TO_POINT,
    UNKNOWN_CALLS,
    Kernels,
    looks_like_one,
    stranger,
)
from downbeat.errors import UsageError, reading

NAME = "SQLite of Nsight Systems"
MAGIC = b"SQLite format 3\0"
COMMUNICATOR, SIZE, ROOT = "NCCL communicator ID", "Message size [bytes]", "Root"
RANK, RANKS = "Rank", "No. of ranks"
WIDTHS = {COMMUNICATOR: "<Q", SIZE: "<Q", ROOT: "<i", RANK: "<i", RANKS: "<i"}
PROCESS = 24  # bits of a globalTid or globalPid below its process


class Range(NamedTuple):
    """An NVTX range of NCCL's: its times (ns), and what its payload says."""

    start: int
    end: int
    payload: dict[str, int]


def recognizes(path: Path) -> bool:
    """Whether a file is SQLite, by its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class Export:
    """An open export: its tables differ by version and by traced libraries."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        tables = self.rows("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        self.columns = {name: [row[1] for row in self.rows(f'PRAGMA table_info("{name}")')] for (name,) in tables}

    def rows(self, query: str) -> list[Any]:
        return self.connection.execute(query).fetchall()

    def select(self, table: str, *names: str, more: str = "") -> Iterable[Any]:
        """Returns columns of a table, None for one that is not there; nothing if there is no table."""
        if table not in self.columns:
            return []
        chosen = (f'"{name}"' if name in self.columns[table] else "NULL" for name in names)
        return self.connection.execute(f'SELECT {", ".join(chosen)} FROM "{table}" {more}')

    def text_of(self) -> dict[int, str]:
        """Returns texts by their number."""
        return dict(self.select("StringIds", "id", "value"))


def read(path: Path, kernels: Kernels) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the traces of the processes in a file, and a line for each kind of event left out.

    Raises:
        UsageError: the file is damaged, is of another program, has no collectives, or does not say their rank.
    """
    with (
        reading(path),
        contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection,
    ):
        try:
            return read_export(path, Export(connection), kernels)
        except sqlite3.Error as error:
            raise ValueError(str(error)) from error


def read_export(path: Path, export: Export, kernels: Kernels) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the traces of the processes in an open file, and a line for each kind of event left out."""
    if "StringIds" not in export.columns:
        raise NoTraceError(f"'{path}' is SQLite, but no export of Nsight Systems: it has no table StringIds")
    base = next((int(row[0]) for row in export.select("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")), 0)
    env = [(str(value), name) for value, name in export.select("TARGET_INFO_SYSTEM_ENV", "value", "name")]
    host = next((value for value, name in env if name == "Hostname"), "")
    texts = export.text_of()
    gathered: defaultdict[int, Gathered] = defaultdict(Gathered)
    ranks = {int(thread) >> PROCESS: int(rank) for thread, rank in export.select("MPI_RANKS", "globalTid", "rank")}
    gather_mpi(gathered, export, texts, base)
    for process, rank in gather_nccl(gathered, export, texts, base, kernels).items():
        ranks.setdefault(process, rank)
    skipped: Counter[str] = +sum((calls.skipped for calls in gathered.values()), Counter())
    traced = {process: calls for process, calls in gathered.items() if calls.calls}
    if not traced:
        why = f" ({'; '.join(f'{count} {what}' for what, count in skipped.items())})" if skipped else ""
        raise NoTraceError(f"'{path}' has no collectives{why}; trace with nsys profile --trace mpi,nvtx,cuda")
    if len(traced) == 1:
        stated_rank = rank_in_environment("\n".join(value for value, _ in env))
        ranks.setdefault(next(iter(traced)), UNKNOWN_RANK if stated_rank is None else stated_rank)
    missing = [process for process in traced if process not in ranks]
    if missing:
        raise UsageError(
            f"'{path}' does not say the rank of {len(missing)} of its processes; give a file for each: rank-0.sqlite"
        )
    traces = sorted(
        (calls.trace(path, ranks[process], host) for process, calls in traced.items()), key=lambda trace: trace.rank
    )
    return traces, skipped


def gather_mpi(gathered: defaultdict[int, Gathered], export: Export, texts: dict[int, str], base: int) -> None:
    """Gathers MPI's calls, by process.

    A communicator is known by a handle, which differs between processes: they are named by the order in which each
    process comes to them.
    """
    names: defaultdict[int, dict[object, str]] = defaultdict(dict)
    columns = ("start", "end", "globalTid", "textId", "commHandle", "size")
    for start, end, thread, text, handle, size in export.select(
        "MPI_COLLECTIVES_EVENTS", *columns, more="ORDER BY start"
    ):
        process = int(thread or 0) >> PROCESS
        operation = normalize(texts.get(text, ""))
        calls, handles = gathered[process], names[process]
        if end is None:
            calls.skipped["collectives without an end"] += 1
        elif operation is None:
            calls.skipped["calls of MPI that do not wait, or are of another kind"] += 1
        else:
            group = handles.setdefault(handle, f"communicator {len(handles)}")
            call = Call(operation, start + base, end + base, size=-1 if size is None else int(size))
            calls.add(group, call)
    for process, handles in names.items():
        if len(handles) > 1:
            what = "communicators named by the order in which processes come to them: handles differ between processes"
            gathered[process].skipped[what] += len(handles)


def gather_nccl(
    gathered: defaultdict[int, Gathered], export: Export, texts: dict[int, str], base: int, kernels: Kernels
) -> dict[int, int]:
    """Gathers kernels of collectives, by process; returns the rank of each in its largest communicator, if known."""
    ranges, ranks, sizes = ranges_of(export, texts)
    launches = {
        (thread >> PROCESS, correlation): (thread, start)
        for thread, correlation, start in export.select(
            "CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid", "correlationId", "start"
        )
    }
    largest = max(sizes.values(), default=0)
    names = ("start", "end", "globalPid", "correlationId", "streamId", "shortName")
    for start, end, process, correlation, stream, name in export.select(
        "CUPTI_ACTIVITY_KIND_KERNEL", *names, more="ORDER BY start"
    ):
        text = texts.get(name, "")
        kernel = kernels.find(text)
        if kernel is None and not looks_like_one(text):
            continue
        calls = gathered[process >> PROCESS]
        operation = kernel.operation if kernel else ""
        if not operation or operation == NONE:
            points = POINT_TO_POINT.search(text) or "SendRecv" in text
            of_family = LEFT_OUT if operation else OF_POINTS if points else UNKNOWN_CALLS
            calls.skipped[of_family if kernel else stranger(text)] += 1
            continue
        payload = around(ranges, *launches.get((process >> PROCESS, correlation), (0, 0)))
        communicator = payload.get(COMMUNICATOR)
        if communicator is None:
            calls.skipped["kernels that name no communicator: grouped by stream"] += 1
            calls.add(f"stream {stream}", Call(operation, start + base, end + base))
            continue
        # Where the largest has all ranks of the job, they are numbered as the job's.
        spans_job = bool(largest) and sizes.get(communicator) == largest
        root = payload.get(ROOT, -1) if spans_job else -1
        call = Call(operation, start + base, end + base, root=root, size=payload.get(SIZE, -1))
        calls.add(f"{communicator:016x}", call, tuple(range(largest)) if spans_job else ())
    return ranks


def around(ranges: dict[int, list[Range]], thread: int, time: int) -> dict[str, int]:
    """Returns the fields of the NVTX range that a thread is in at a time."""
    thread_ranges = ranges.get(thread, [])
    index = bisect_right(thread_ranges, time, key=lambda candidate: candidate.start) - 1
    return thread_ranges[index].payload if index >= 0 and thread_ranges[index].end >= time else {}


def ranges_of(export: Export, texts: dict[int, str]) -> tuple[dict[int, list[Range]], dict[int, int], dict[int, int]]:
    """Returns NCCL's ranges by thread, ranks by process, and sizes by communicator."""
    offsets: defaultdict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    entries = export.select("NVTX_PAYLOAD_SCHEMA_ENTRIES", "domainId", "schemaId", "name", "offset")
    for domain, schema, name, offset in entries:
        if name in WIDTHS and offset is not None:
            offsets[domain, schema][name] = int(offset)
    ranges: defaultdict[int, list[Range]] = defaultdict(list)
    ranks: dict[int, tuple[int, int]] = {}
    sizes: dict[int, int] = {}
    columns = ("start", "end", "globalTid", "textId", "text", "binaryData")
    for start, end, thread, number, text, data in export.select("NVTX_EVENTS", *columns, more="ORDER BY start"):
        name = text if text is not None else texts.get(number, "")
        if not str(name).startswith("nccl") or end is None:
            continue
        payload = payload_of(data, offsets)
        if RANKS in payload and RANK in payload:
            sizes[payload[COMMUNICATOR]] = payload[RANKS]
            process = int(thread) >> PROCESS
            ranks[process] = max(ranks.get(process, (0, 0)), (payload[RANKS], payload[RANK]))
        elif COMMUNICATOR in payload:
            ranges[int(thread)].append(Range(start, end, payload))
    return ranges, {process: rank for process, (_, rank) in ranks.items()}, sizes


def payload_of(data: object, offsets: dict[tuple[int, int], dict[str, int]]) -> dict[str, int]:
    """The fields of a range's payload: four numbers (domain, schema, size, where it begins), then its fields."""
    content = data.encode("latin-1", "replace") if isinstance(data, str) else data
    if not isinstance(content, bytes) or len(content) < 32:
        return {}
    domain, schema, _, begin = struct.unpack_from("<4Q", content)
    fields = offsets.get((domain, schema), {})
    return {
        name: struct.unpack_from(WIDTHS[name], content, begin + offset)[0]
        for name, offset in fields.items()
        if begin + offset + struct.calcsize(WIDTHS[name]) <= len(content)
    }
