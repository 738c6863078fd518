"""Public API for recordings of libdownbeat-preload: pandas frames, and a summary in `repr` and notebooks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.output.blocks import Block, Line, View
from downbeat.output.blocks import Table as TableBlock
from downbeat.output.facts import Fact
from downbeat.output.facts.trace import RanksNotFinalized, RanksWithoutFile, RecordedCalls
from downbeat.output.fields import declared_fields, short_time
from downbeat.output.markdown import notebook_html
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.text import counted
from downbeat.trace.arrivals import find_arrivals
from downbeat.trace.recording import Recording, open_recording


class frame_of:  # noqa: N801, used like property
    """A property of Trace that returns a table of the recording as a pandas frame."""

    def __init__(self, table: Callable[[Recording], Table], meaning: str) -> None:
        self.table = table
        self.__doc__ = meaning

    def __get__(self, trace: Trace, _owner: type) -> pd.DataFrame:
        return self.table(trace.recording).frame()


class Trace:
    """The recording of a job as pandas frames; the classes named below declare the columns.

    Attributes:
        recording: the recording as typed tables.
        sections: the content of each process' file.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.sections = recording.sections

    def __repr__(self) -> str:
        """Returns a line with the ranks, hosts, calls and the error of the clocks."""
        fact = recorded(self.recording)
        within = f", clocks within {short_time(fact.error_s)}" if fact.error_s is not None else ""
        hosts = counted(fact.hosts, "host")
        return f"<Trace: {counted(fact.ranks, 'rank')} on {hosts}, {fact.calls} calls of collectives{within}>"

    def _repr_html_(self) -> str:
        """Shows the line of `repr` and a table with a row per operation in a notebook."""
        return notebook_html(View("", (Line(repr(self)[1:-1]), totals_block(self.recording))))

    def arrivals(self) -> pd.DataFrame:
        """Returns the arrival and the waiting of each process in each call: `Arrived` of downbeat.trace.arrived.

        A row per process and call: the columns of `records`, and e.g. `call`, `late`, `wait`, `cause` (the rank that it
        waits for, -1: none), `before` (the previous collective), `gap` (the time since then) and `name` (the call
        site); times in s. `find_arrivals` of downbeat.trace.arrivals returns the analysis that `downbeat arrivals`
        reports.
        """
        reading = find_arrivals(self.recording)
        return reading.rows.frame().assign(name=reading.sites.name[reading.rows.site])

    processes = frame_of(lambda recording: recording.processes, "A row per process: `Processes`.")
    clocks = frame_of(lambda recording: recording.clocks, "A row per process and clock synchronization: `Clocks`.")
    communicators = frame_of(lambda recording: recording.communicators, "A row per process and communicator.")
    starts = frame_of(lambda recording: recording.starts, "Samples after barriers with a common start: `Starts`.")
    phases = frame_of(lambda recording: recording.phases, "A row per process and phase of MPI_Pcontrol: `Phases`.")
    profile = frame_of(lambda recording: recording.profile, "All calls of the run, added up: `Profile`.")
    sums = frame_of(lambda recording: recording.sums, "Time in all calls of MPI, a row per process and kind: `Sums`.")
    records = frame_of(lambda recording: recording.records, "A row per collective and process: `Records`.")

    @property
    def members(self) -> dict[str, tuple[int, ...]]:
        """Ranks in the job of each communicator's ranks, by the communicator's name: `members_of`."""
        return self.recording.members

    @property
    def sampled(self) -> bool:
        """True if `records` are a sample of the calls."""
        return self.recording.sampled


def open_trace(path: str | Path, job: str | None = None, most: int | None = None, own_clocks: bool = False) -> Trace:
    """Opens a recording of libdownbeat-preload, even if the program crashed.

    Args:
        path: the directory, or a file in it, or DIR/JOB.
        job: name of the job, if the directory has several; the names of a job's files begin with it.
        most: maximum number of records of all processes; of more records, a sample is read.
        own_clocks: see `Recording`.

    Returns:
        The trace: `trace.records` and `trace.processes` are pandas frames; times are seconds.
    """
    return Trace(open_recording(Path(path), job, most, own_clocks))


class CallTotals(Table):
    """Calls of all processes, by operation and kind."""

    operation: Texts = column("operation as in Records; if not blocking, with the kind")
    calls: Ints = column("calls", "1")
    bytes: Floats = column("size, mean", "B")
    median_s: Floats = column("time in a call, median of the recorded calls", "s")
    total_s: Floats = column("time in all calls of all processes", "s")


def call_totals(recording: Recording) -> CallTotals:
    """Adds up the calls of a recording by operation and kind."""
    names = ["operation", "kind"]
    profile = recording.profile[recording.profile.calls > 0]
    rows = profile.frame(*names, "calls", "bytes").assign(total_s=profile.call_time + profile.wait_time)
    totals = rows.groupby(names, sort=False).sum().reset_index()
    records = recording.records
    times = pd.Series(records.exit - records.entry).groupby([np.asarray(records.operation), np.asarray(records.kind)])
    totals = totals.assign(bytes=totals.bytes / totals.calls).join(times.median().rename("median_s"), on=names)
    pairs = zip(totals.operation, totals.kind, strict=True)
    named = [name if kind == "blocking" else f"{name} ({kind})" for name, kind in pairs]
    return CallTotals.of_frame(totals.assign(operation=np.array(named, dtype=object)))


TOTAL_FIELDS = declared_fields(
    CallTotals.columns(),
    {"operation": "text", "calls": "number", "bytes": "significant", "median_s": "time", "total_s": "significant"},
    CallTotals.types(),
)


def totals_block(recording: Recording) -> Block:
    """Returns the table of the calls of a recording, by operation and kind."""
    return TableBlock("", call_totals(recording).frame(), TOTAL_FIELDS)


def recorded(recording: Recording) -> RecordedCalls:
    """Counts ranks, hosts and calls, with the largest error of the clocks."""
    processes, calls = recording.processes, int(recording.profile.calls.sum())
    error = float(np.fmax.reduce(recording.records.bound, initial=-np.inf))
    return RecordedCalls(len(processes), len(set(processes.host)), calls, error if error >= 0 else None)


def faults_of(recording: Recording) -> list[Fact]:
    """Reports ranks of a recording that did not finalize MPI, or left no file."""
    ranks, world = len(recording.processes), int(recording.processes.world_size.max())
    ended = int((recording.processes.ending != "finalized").sum())
    return [
        *([RanksNotFinalized(ended, ranks)] if ended else []),
        *([RanksWithoutFile(world - ranks, world)] if world > ranks else []),
    ]
