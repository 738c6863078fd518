"""What ranks did, as spans of time on one axis: of a recording, or of the first samples of a launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from downbeat.data.launch_file import flags, names, open_samples, read_cells
from downbeat.data.samples import check_samples, native
from downbeat.errors import UsageError
from downbeat.text import NANOSECONDS, counted
from downbeat.trace.calls import mpi_name
from downbeat.trace.clocks import expected_errors, global_times, wander_of_run
from downbeat.trace.sites import site_names
from downbeat.trace.trace import Trace

CALL_STAMPS = ("entry", "returned", "waited", "exit")
NO_TIME = -(2**63)  # no stamp
POINTS = 101  # of a clock's errors, beside those at synchronizations
SPAN_SAMPLES = 100  # of a cell, unless the user says another number


class Span(NamedTuple):
    """A rank in an operation.

    Attributes:
        name: MPI's, or that of a cell or a synchronizer.
        kind: blocking, nonblocking or persistent; of a launch operation, synchronizer or deadline.
        thread: of the rank.
        entry, returned, waited, exit: as in `Trace.records`, ns; `NO_TIME` where there is none.
        complete: whether it has an exit.
        about: what else is known, by names for people.
        record: the row of `Trace.records`, with stamps in ns; None: of a launch.
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
        rank: in the job; -1: what all ranks have in common.
        name: of the rank, for people.
        host: its name.
        pid: of the process; 0: not known.
        threads: that have spans, the busiest first.
        spans: gives them by time.
        clock_errors: gives times with the bound and the expected error of the rank's clock, ns.
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
        epoch: what times count from, ns since 1970; 0: when the global clock began.
        ranks: by rank.
        world_size: of the job.
        members: of communicators, as `Trace.members`.
        about: where they come from, by names for people.
        notes: a line for each kind of missing span.
    """

    epoch: int
    ranks: list[RankSpans]
    world_size: int
    members: dict[str, tuple[int, ...]] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def spans_of_recording(trace: Trace) -> Spans:
    """Returns the calls of a recording. The axis begins where rank 0's realtime clock was, to within milliseconds.

    Raises:
        UsageError: it has no calls.
    """
    processes, records = trace.processes, trace.records
    placed = records[records["entry"].notna()]
    if placed.empty:
        raise UsageError(f"'{processes['file'].iloc[0]}' has no collectives; there is nothing to export")
    sites = site_names(trace.profile)
    unsampled = int(trace.profile["calls"].sum() - records["complete"].sum()) if trace.sampled else 0
    missing = {
        "of all calls are not in the sample that is exported": unsampled,
        "records of the sample had no room": int(processes["records_dropped"].sum()),
        "calls are left out: their process ended before its clock was known": len(records) - len(placed),
        "ranks left no file": int(processes["world_size"].max()) - len(processes),
    }
    return Spans(
        int(processes["began"].iloc[0].value),
        [rank_of_recording(trace, process, placed, sites) for process in processes.itertuples(index=False)],
        int(processes["world_size"].max()),
        trace.members,
        notes=[f"{number} {what}" for what, number in missing.items() if number > 0],
    )


def rank_of_recording(trace: Trace, process: Any, placed: pd.DataFrame, sites: dict[tuple[str, int], str]) -> RankSpans:  # noqa: ANN401 (a row)
    """Returns the calls of a process."""
    mine = placed[placed["rank"] == process.rank]

    def spans() -> Iterator[Span]:
        rows = mine.copy()
        for name in CALL_STAMPS:
            there = rows[name].notna()
            rows[name] = np.where(there, (rows[name] * NANOSECONDS).round().fillna(0).astype("int64"), NO_TIME)
        row: Any
        for row in rows.itertuples(index=False):
            about: dict[str, object] = {"communicator": str(row.communicator), "sequence": int(row.sequence)}
            about |= {name: int(v) for name, v in (("bytes", row.bytes), ("root", row.root)) if not pd.isna(v)}
            about |= {"bound_us": round(row.bound * 1e6, 4), "site": sites[str(row.module), int(row.offset)]}
            name = mpi_name(str(row.operation), str(row.kind))
            yield Span(
                name,
                str(row.kind),
                int(row.thread),
                *(row.entry, row.returned, row.waited, row.exit),
                bool(row.complete),
                about,
                row,
            )

    def clock_errors() -> Iterator[tuple[int, float, float]]:
        maps = trace.clocks[trace.clocks["rank"] == process.rank].to_records(index=False)
        if not len(maps):
            return
        at = maps["ticks"]
        ticks = np.unique([*at, *np.linspace(at.min(), at.max(), POINTS).astype(np.int64)])
        times, bounds = global_times(ticks, maps, wander_of_run(process.max_wander))
        errors = expected_errors(ticks, maps, bounds)
        for time, bound, error in zip(times, bounds, errors, strict=True):
            yield round(time * NANOSECONDS), float(bound * NANOSECONDS), float(error * NANOSECONDS)

    busiest = [int(thread) for thread in mine["thread"].value_counts().index] or [0]
    name = f"rank {process.rank}: {process.host}"
    return RankSpans(int(process.rank), name, str(process.host), int(process.pid), busiest, spans, clock_errors)


def spans_of_launch(path: Path, most: int = SPAN_SAMPLES) -> Spans:
    """Returns synchronizers and operations of the first samples of each cell of a launch, warm-up left out.

    Args:
        path: a .nc file with samples of operations.
        most: samples of each cell.

    Raises:
        UsageError: the file is not one, or is damaged.
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
        hosts = names(file.variables["host"]) if "host" in file.variables else [""] * ranks
        about = {name: str(file.attributes[name]) for name in ABOUT if name in file.attributes}
    labels = [(synchronizer_name(row), cell_name(row)) for row in cells.itertuples(index=False)]
    numbers = [
        {"cell": int(cell[row]), "sample": int(attempt[place]), "verdict": verdicts[int(verdict[row])]}
        for place, row in enumerate(rows.tolist())
    ]

    def spans(rank: int) -> Iterator[Span]:
        for place, row in enumerate(rows.tolist()):
            synchronizer, operation = labels[cell[row]]
            begin, entry, end, delay = (int(stamps[name][place, rank]) for name in stamps)
            known = numbers[place] | {"planned_delay_ns": delay}
            before = known | {"flag": int(flag[place, rank])}
            yield Span(synchronizer, "synchronizer", 0, begin, entry, NO_TIME, entry, True, before)
            if deadline[place] != NO_TIME:
                known["entry_after_deadline_ns"] = entry - int(deadline[place])
            yield Span(operation, "operation", 0, entry, end, NO_TIME, end, True, known)

    def deadlines() -> Iterator[Span]:
        for place, row in enumerate(rows.tolist()):
            if deadline[place] != NO_TIME:
                time = int(deadline[place])
                yield Span(labels[cell[row]][1], "deadline", 0, time, time, NO_TIME, time, True, numbers[place])

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


# Attributes of a file that its spans keep.
ABOUT = ("simulated", "command_line", "date", "downbeat_version")


def to_ns(seconds: np.ndarray) -> np.ndarray:
    """Returns times as whole ns, `NO_TIME` for NaN."""
    there = ~np.isnan(seconds)
    found = np.full(seconds.shape, NO_TIME, dtype=np.int64)
    found[there] = np.rint(seconds[there] * NANOSECONDS).astype(np.int64)
    return found


def with_algorithm(name: str, algorithm: str) -> str:
    """Returns a name with the algorithm that was chosen for it."""
    return name if algorithm == "default" else f"{name}[{algorithm}]"


def synchronizer_name(cell: Any) -> str:  # noqa: ANN401 (a row of `read_cells`)
    """Returns the synchronizer of a cell."""
    return with_algorithm(cell.synchronizer, cell.barrier_algorithm)


def cell_name(cell: Any) -> str:  # noqa: ANN401 (likewise)
    """Returns a cell as downbeat-bench calls it."""
    size = f" of {int(cell.size)} bytes" if cell.size else ""
    start = synchronizer_name(cell)
    timing = "" if cell.timing in ("per_call", cell.synchronizer) else f", {cell.timing}"
    pattern = "" if cell.pattern == "none" else f", {cell.pattern} by {cell.largest_delay * 1e6:g} us"
    return f"{with_algorithm(cell.operation, cell.algorithm)}{size} after {start}{timing}{pattern}"
