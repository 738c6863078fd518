"""Reads traces of Nsight Systems, exported to SQLite (nsys export --type sqlite): calls of MPI, and kernels of NCCL.

NVTX ranges `ncclAllReduce` end once the work is queued, possibly before other ranks arrive, so their times cannot
compare clocks. They have the communicator of a kernel; the times are those of the kernel.
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
    looks_like_collective,
    stranger,
)
from downbeat.errors import UsageError, reading

NAME = "SQLite of Nsight Systems"
MAGIC = b"SQLite format 3\0"
# Names of fields in the payload of NCCL's NVTX ranges, and their types for struct.
COMMUNICATOR, SIZE, ROOT = "NCCL communicator ID", "Message size [bytes]", "Root"
RANK, RANKS = "Rank", "No. of ranks"
WIDTHS = {COMMUNICATOR: "<Q", SIZE: "<Q", ROOT: "<i", RANK: "<i", RANKS: "<i"}
PROCESS_SHIFT = 24  # number of low bits of a globalTid or globalPid that are not its process


class Range(NamedTuple):
    """An NVTX range of NCCL."""

    start: int  # ns
    end: int  # ns
    payload: dict[str, int]  # field -> value


def recognizes(path: Path) -> bool:
    """Returns true if a file is SQLite, by its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class Export:
    """An open export; its tables and columns depend on the version and the traced libraries."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        tables = self.rows("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        self.columns = {name: [row[1] for row in self.rows(f'PRAGMA table_info("{name}")')] for (name,) in tables}

    def rows(self, query: str) -> list[Any]:
        """Returns all rows of a query."""
        return self.connection.execute(query).fetchall()

    def select(self, table: str, *names: str, more: str = "") -> Iterable[Any]:
        """Returns columns of a table; None for a missing column, no rows for a missing table.

        Args:
            table: name of the table.
            names: of the columns.
            more: end of the query, e.g. ORDER BY.
        """
        if table not in self.columns:
            return []
        chosen = (f'"{name}"' if name in self.columns[table] else "NULL" for name in names)
        return self.connection.execute(f'SELECT {", ".join(chosen)} FROM "{table}" {more}')

    def text_of(self) -> dict[int, str]:
        """Returns number -> text; other tables refer to texts by number."""
        return dict(self.select("StringIds", "id", "value"))


def read(path: Path, kernels: Kernels) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the traces of the processes in a file, and reason -> number of omitted events.

    Raises:
        UsageError: the file is damaged, or does not have the ranks of its processes.
        NoTraceError: the file is of another program, or has no collectives.
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
    """Like `read`, for an open file."""
    if "StringIds" not in export.columns:
        raise NoTraceError(f"'{path}' is SQLite, but no export of Nsight Systems: it has no table StringIds")
    base = next((int(row[0]) for row in export.select("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")), 0)
    env = [(str(value), name) for value, name in export.select("TARGET_INFO_SYSTEM_ENV", "value", "name")]
    host = next((value for value, name in env if name == "Hostname"), "")
    texts = export.text_of()
    gathered: defaultdict[int, Gathered] = defaultdict(Gathered)
    rank_rows = export.select("MPI_RANKS", "globalTid", "rank")
    ranks = {int(thread) >> PROCESS_SHIFT: int(rank) for thread, rank in rank_rows}
    gather_mpi(gathered, export, texts, base)
    for process, rank in gather_nccl(gathered, export, texts, base, kernels).items():
        ranks.setdefault(process, rank)
    skipped: Counter[str] = +sum((calls.skipped for calls in gathered.values()), Counter())
    traced = {process: calls for process, calls in gathered.items() if calls.calls}
    if not traced:
        reasons = f" ({'; '.join(f'{count} {reason}' for reason, count in skipped.items())})" if skipped else ""
        raise NoTraceError(f"'{path}' has no collectives{reasons}; trace with nsys profile --trace mpi,nvtx,cuda")
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
    """Gathers the calls of MPI, by process.

    The export has only the handle of a communicator, which differs between processes. So communicators are named by
    their order of use in each process.

    Args:
        gathered: process -> receives its calls.
        export: the open file.
        texts: number -> text.
        base: time that stamps count from, ns.
    """
    names: defaultdict[int, dict[object, str]] = defaultdict(dict)
    columns = ("start", "end", "globalTid", "textId", "commHandle", "size")
    for start, end, thread, text, handle, size in export.select(
        "MPI_COLLECTIVES_EVENTS", *columns, more="ORDER BY start"
    ):
        process = int(thread or 0) >> PROCESS_SHIFT
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
            note = "communicators named by the order in which processes come to them: handles differ between processes"
            gathered[process].skipped[note] += len(handles)


def gather_nccl(
    gathered: defaultdict[int, Gathered], export: Export, texts: dict[int, str], base: int, kernels: Kernels
) -> dict[int, int]:
    """Gathers kernels of collectives, by process; returns process -> rank in its largest communicator, if known.

    The arguments are those of `gather_mpi`, and the table of kernels.
    """
    ranges, ranks, sizes = ranges_of(export, texts)
    # (process, number of the kernel) -> thread and time of the launch, by which the NVTX range is found.
    launches = {
        (thread >> PROCESS_SHIFT, correlation): (thread, start)
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
        if kernel is None and not looks_like_collective(text):
            continue
        calls = gathered[process >> PROCESS_SHIFT]
        operation = kernel.operation if kernel else ""
        if not operation or operation == NONE:
            if kernel is None:
                reason = stranger(text)
            elif operation == NONE:
                reason = LEFT_OUT
            elif POINT_TO_POINT.search(text) or "SendRecv" in text:
                reason = OF_POINTS
            else:
                reason = UNKNOWN_CALLS
            calls.skipped[reason] += 1
            continue
        payload = around(ranges, *launches.get((process >> PROCESS_SHIFT, correlation), (0, 0)))
        communicator = payload.get(COMMUNICATOR)
        if communicator is None:
            calls.skipped["kernels that name no communicator: grouped by stream"] += 1
            calls.add(f"stream {stream}", Call(operation, start + base, end + base))
            continue
        # The largest communicator is taken to have all ranks of the job, with the same numbers.
        spans_job = bool(largest) and sizes.get(communicator) == largest
        root = payload.get(ROOT, -1) if spans_job else -1
        call = Call(operation, start + base, end + base, root=root, size=payload.get(SIZE, -1))
        calls.add(f"{communicator:016x}", call, tuple(range(largest)) if spans_job else ())
    return ranks


def around(ranges: dict[int, list[Range]], thread: int, time: int) -> dict[str, int]:
    """Returns the payload of the NVTX range that a thread is in at a time; empty: it is in none."""
    thread_ranges = ranges.get(thread, [])
    index = bisect_right(thread_ranges, time, key=lambda candidate: candidate.start) - 1
    return thread_ranges[index].payload if index >= 0 and thread_ranges[index].end >= time else {}


def ranges_of(export: Export, texts: dict[int, str]) -> tuple[dict[int, list[Range]], dict[int, int], dict[int, int]]:
    """Returns thread -> NCCL's ranges, process -> rank in its largest communicator, and communicator -> size."""
    offsets: defaultdict[tuple[int, int], dict[str, int]] = defaultdict(dict)  # (domain, schema) -> field -> offset
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
            process = int(thread) >> PROCESS_SHIFT
            ranks[process] = max(ranks.get(process, (0, 0)), (payload[RANKS], payload[RANK]))
        elif COMMUNICATOR in payload:
            ranges[int(thread)].append(Range(start, end, payload))
    return ranges, {process: rank for process, (_, rank) in ranks.items()}, sizes


def payload_of(data: object, offsets: dict[tuple[int, int], dict[str, int]]) -> dict[str, int]:
    """Returns the fields in the payload of a range.

    Args:
        data: four numbers (domain, schema, size, begin of the payload), then the payload.
        offsets: (domain, schema) -> field -> offset in the payload.
    """
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
