"""Turns a recording, or the first samples of a launch file, into spans of time on one axis, for trace viewers.

A span is an operation on a rank. A launch file has the samples of a run of downbeat-bench; its cells are the
combinations of operation, size, synchronizer and other settings. A synchronizer lets ranks start at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from downbeat.data.launch_file import flags, open_samples, read_cells, texts_in
from downbeat.data.samples import check_samples, native
from downbeat.errors import UsageError
from downbeat.text import NANOSECONDS, counted
from downbeat.trace.calls import mpi_name
from downbeat.trace.clocks import expected_errors, global_times, wander_of_run
from downbeat.trace.recording import Recording
from downbeat.trace.records import Records
from downbeat.trace.sites import site_names

CALL_STAMPS = ("entry", "returned", "waited", "exit")
NO_TIME = -(2**63)  # in place of a time that was not recorded
POINTS = 101  # evenly spaced times at which a clock's errors are computed, in addition to its synchronizations
SPAN_SAMPLES = 100  # default number of samples of a cell


class Span(NamedTuple):
    """An operation on a rank.

    Attributes:
        name: MPI's name of the operation, or the name of a cell or a synchronizer.
        kind: blocking, nonblocking or persistent; in a launch file operation, synchronizer or deadline.
        thread: number of the thread.
        entry: begin of the call, ns.
        returned: end of the call, ns; `NO_TIME`: not recorded.
        waited: begin of the call that completed it, ns; `NO_TIME`: blocking.
        exit: completion, ns; `NO_TIME`: not completed.
        complete: whether it has an exit.
        about: further values, by the names that viewers show.
        record: the row of `Records`, with times in ns; None: from a launch file.
    """

    name: str
    kind: str
    thread: int
    entry: int
    returned: int
    waited: int
    exit: int
    complete: bool
    about: dict[str, object]
    record: Any = None


@dataclass(frozen=True)
class RankSpans:
    """The spans of a rank.

    Attributes:
        rank: rank in the job; -1: the spans belong to all ranks.
        name: name of the rank that viewers show.
        host: its name.
        pid: process id; 0: not known.
        threads: threads that have spans, the thread with most spans first.
        spans: yields the spans by time.
        clock_errors: yields times with the bound and the expected error of the rank's clock, ns.
    """

    rank: int
    name: str
    host: str
    pid: int
    threads: list[int]
    spans: Callable[[], Iterator[Span]]
    clock_errors: Callable[[], Iterator[tuple[int, float, float]]] = lambda: iter(())


@dataclass(frozen=True)
class Spans:
    """The spans of all ranks.

    Attributes:
        epoch: origin of times, ns since 1970; 0: the origin of the global clock.
        ranks: by rank.
        world_size: number of ranks of the job.
        members: as `Recording.members`.
        about: attributes of the launch file, by name.
        notes: a line for each kind of missing span.
    """

    epoch: int
    ranks: list[RankSpans]
    world_size: int
    members: dict[str, tuple[int, ...]] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def spans_of_recording(recording: Recording) -> Spans:
    """Returns the calls of a recording as spans. The epoch is rank 0's realtime clock, to within milliseconds.

    Raises:
        UsageError: the recording has no calls.
    """
    processes, records, calls = recording.processes, recording.records, int(recording.profile.calls.sum())
    placed = records[~np.isnan(records.entry)]
    if not len(placed):
        raise UsageError(f"'{processes.file[0]}' has no collectives; there is nothing to export")
    sites = site_names(recording.profile)
    world_size = int(processes.world_size.max())
    missing = {
        "of all calls are not in the sample that is exported": (calls - records.complete.sum()) * recording.sampled,
        "records of the sample had no room": int(processes.records_dropped.sum()),
        "calls are left out: their process ended before its clock was known": len(records) - len(placed),
        "ranks left no file": world_size - len(processes),
    }
    return Spans(
        int(processes.began[0]),
        [rank_of_recording(recording, process, placed, sites) for process in range(len(processes))],
        world_size,
        recording.members,
        notes=[f"{number} {reason}" for reason, number in missing.items() if number > 0],
    )


def rank_of_recording(
    recording: Recording, process: int, placed: Records, sites: dict[tuple[str, int], str]
) -> RankSpans:
    """Returns the calls of a process as spans.

    Args:
        recording: of the job.
        process: row in `recording.processes`.
        placed: the records of all processes that have times.
        sites: names of call sites, by module and offset.
    """
    processes = recording.processes
    rank, host = int(processes.rank[process]), str(processes.host[process])
    records_of_rank = placed[placed.rank == rank]

    def spans() -> Iterator[Span]:
        stamps = {name: to_ns(getattr(records_of_rank, name)) for name in CALL_STAMPS}
        row: Any
        for row in records_of_rank.frame().assign(**stamps).itertuples(index=False):
            about: dict[str, object] = {"communicator": str(row.communicator), "sequence": int(row.sequence)}
            about |= {name: int(v) for name, v in (("bytes", row.bytes), ("root", row.root)) if not pd.isna(v)}
            about |= {"bound_us": round(row.bound * 1e6, 4), "site": sites[str(row.module), int(row.offset)]}
            yield Span(
                mpi_name(str(row.operation), str(row.kind)),
                str(row.kind),
                int(row.thread),
                *(row.entry, row.returned, row.waited, row.exit),
                bool(row.complete),
                about,
                row,
            )

    def clock_errors() -> Iterator[tuple[int, float, float]]:
        clocks = recording.clocks[recording.clocks.rank == rank]
        if not len(clocks):
            return
        between = np.linspace(clocks.ticks.min(), clocks.ticks.max(), POINTS).astype(np.int64)
        ticks = np.unique([*clocks.ticks, *between])
        times, bounds = global_times(ticks, clocks, wander_of_run(processes.max_wander[process]))
        errors = expected_errors(ticks, clocks, bounds)
        for time, bound, error in zip(times, bounds, errors, strict=True):
            yield round(time * NANOSECONDS), float(bound * NANOSECONDS), float(error * NANOSECONDS)

    busiest = [int(thread) for thread in pd.Series(records_of_rank.thread).value_counts().index] or [0]
    return RankSpans(rank, f"rank {rank}: {host}", host, int(processes.pid[process]), busiest, spans, clock_errors)


def spans_of_launch(path: Path, most: int = SPAN_SAMPLES) -> Spans:
    """Returns synchronizers and operations of the first samples of each cell of a launch, warm-up left out.

    Args:
        path: a launch file (.nc).
        most: maximum number of samples of each cell.

    Raises:
        UsageError: the file is not a launch file, or is damaged.
    """
    with open_samples(path) as file:
        check_samples(path, file)
        cells = read_cells(file)
        verdicts = flags(file.variables["verdict"])
        cell = native(file.variables["cell_index"][:])
        verdict = native(file.variables["verdict"][:])
        measured = np.array([verdicts[number] != "warmup" for number in verdict.tolist()], dtype=bool)
        rows = np.flatnonzero(measured)
        rows = rows[pd.Series(cell[rows]).groupby(cell[rows]).cumcount().to_numpy() < most]
        stamps = {name: to_ns(file.variables[name][rows]) for name in ("sync_entry", "entry", "exit", "delay")}
        deadline = to_ns(file.variables["deadline"][rows])
        flag = file.variables["flag"][rows]
        attempt = native(file.variables["attempt"][rows])
        ranks = flag.shape[1] if len(rows) else file.dimensions["rank"]
        hosts = texts_in(file.variables["host"]) if "host" in file.variables else [""] * ranks
        about = {name: str(file.attributes[name]) for name in ABOUT if name in file.attributes}
    labels = [(synchronizer_of(row), cell_name(row)) for row in cells.itertuples(index=False)]
    numbers = [
        {"cell": int(cell[row]), "sample": int(attempt[index]), "verdict": verdicts[int(verdict[row])]}
        for index, row in enumerate(rows.tolist())
    ]

    def spans(rank: int) -> Iterator[Span]:
        for index, row in enumerate(rows.tolist()):
            synchronizer, operation = labels[cell[row]]
            begin, entry, end, delay = (int(stamps[name][index, rank]) for name in stamps)
            known = numbers[index] | {"planned_delay_ns": delay}
            before = known | {"flag": int(flag[index, rank])}
            yield Span(synchronizer, "synchronizer", 0, begin, entry, NO_TIME, entry, True, before)
            if deadline[index] != NO_TIME:
                known["entry_after_deadline_ns"] = entry - int(deadline[index])
            yield Span(operation, "operation", 0, entry, end, NO_TIME, end, True, known)

    def deadlines() -> Iterator[Span]:
        for index, row in enumerate(rows.tolist()):
            if deadline[index] != NO_TIME:
                time = int(deadline[index])
                yield Span(labels[cell[row]][1], "deadline", 0, time, time, NO_TIME, time, True, numbers[index])

    def of_rank(rank: int, host: str) -> RankSpans:
        return RankSpans(rank, f"rank {rank}: {host}", host, 0, [0], lambda: spans(rank))

    left_out = {
        f"are left out: the first {counted(most, 'sample')} of each cell are exported; --samples N exports more": int(
            measured.sum()
        )
        - len(rows),
        "of warm-up are left out": int((~measured).sum()),
    }
    return Spans(
        0,
        [*map(of_rank, range(ranks), hosts), RankSpans(-1, "deadline", "", 0, [0], deadlines)],
        ranks,
        about=about,
        notes=[f"{counted(number, 'sample')} {what}" for what, number in left_out.items() if number],
    )


ABOUT = ("simulated", "command_line", "date", "downbeat_version")  # attributes of a launch file that spans keep


def to_ns(seconds: np.ndarray) -> np.ndarray:
    """Converts times in s to whole ns, and NaN to `NO_TIME`."""
    known = ~np.isnan(seconds)
    result = np.full(seconds.shape, NO_TIME, dtype=np.int64)
    result[known] = np.rint(seconds[known] * NANOSECONDS).astype(np.int64)
    return result


def with_algorithm(name: str, algorithm: str) -> str:
    """Adds a chosen algorithm to the name of an operation: `bcast[binary]`."""
    return name if algorithm == "default" else f"{name}[{algorithm}]"


def synchronizer_of(cell: Any) -> str:  # noqa: ANN401 (a row of `read_cells`)
    """Returns the name of the synchronizer of a cell, with its algorithm."""
    return with_algorithm(cell.synchronizer, cell.barrier_algorithm)


def cell_name(cell: Any) -> str:  # noqa: ANN401 (a row of `read_cells`)
    """Returns the description of a cell, in the same words as downbeat-bench."""
    size = f" of {int(cell.size)} bytes" if cell.size else ""
    start = synchronizer_of(cell)
    timing = "" if cell.timing in ("per_call", cell.synchronizer) else f", {cell.timing}"
    pattern = "" if cell.pattern == "none" else f", {cell.pattern} by {cell.largest_delay * 1e6:g} us"
    return f"{with_algorithm(cell.operation, cell.algorithm)}{size} after {start}{timing}{pattern}"
