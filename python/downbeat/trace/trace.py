"""The users' door to recordings: frames of pandas; their summary in lines."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from downbeat.tables import Table
from downbeat.text import counted, number_text
from downbeat.trace.arrivals import find_arrivals
from downbeat.trace.file import room_lines
from downbeat.trace.recording import Recording, open_recording


class frame_of:  # noqa: N801, used like property
    """A table of a recording as an attribute of Trace: a frame of pandas."""

    def __init__(self, table: Callable[[Recording], Table], meaning: str) -> None:
        self.table = table
        self.__doc__ = meaning

    def __get__(self, trace: Trace, _owner: type) -> pd.DataFrame:
        return self.table(trace.recording).frame()


class Trace:
    """The recording of a job as frames, whose columns the classes named below declare.

    Attributes:
        recording: the same as tables.
        sections: what each process recorded, as in its file.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.sections = recording.sections

    def __repr__(self) -> str:
        """Ranks, hosts, calls and the error of the clocks, in a line."""
        processes, calls = self.recording.processes, int(self.recording.profile.calls.sum())
        hosts = counted(len(set(processes.host)), "host")
        within = bound_text(self.recording, "clocks")
        return f"<Trace: {counted(len(processes), 'rank')} on {hosts}, {calls} calls of collectives{within}>"

    def _repr_html_(self) -> str:
        """Shows in a notebook that line, and a row per operation; times in s."""
        return f"<p>{html.escape(repr(self)[1:-1])}</p>" + call_totals(self.recording).to_html(index=False)

    def arrivals(self) -> pd.DataFrame:
        """When each process came to each call, and which rank it waited for: `Arrived` of downbeat.trace.arrivals.

        A row per process and call: the columns of `records`, and among others `call`, `late`, `wait`, `cause` (the rank
        that it waits for, -1: none), `before` (the collective before) and `gap` (since then), times in s; `name` of the
        call site. `find_arrivals` of downbeat.trace.arrivals has all that `downbeat arrivals` reports.
        """
        found = find_arrivals(self.recording)
        return found.rows.frame().assign(name=found.sites.name[found.rows.site])

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
        """The rank in the job of each rank of a communicator, by its name: `members_of`."""
        return self.recording.members

    @property
    def sampled(self) -> bool:
        """Whether `records` are a sample of the calls."""
        return self.recording.sampled


def open_trace(path: str | Path, job: str | None = None, most: int | None = None, own_clocks: bool = False) -> Trace:
    """Opens what libdownbeat-preload recorded, even if the program crashed.

    Args:
        path: the directory, or one file of it, or DIR/JOB.
        job: which of several jobs in the directory; their names begin the files' names.
        most: records to read, of all processes; of more, a sample is read.
        own_clocks: see `Recording`.

    Returns:
        The trace: `trace.records` and `trace.processes` are pandas frames; times are seconds.
    """
    return Trace(open_recording(Path(path), job, most, own_clocks))


def bound_text(recording: Recording, what: str) -> str:
    """The largest error of timestamps; empty if there is none."""
    bound = pd.Series(recording.records.bound).max() * 1e6  # NaN: there is none
    return f", {what} within {bound:.3g} us" if bound >= 0 else ""


def call_totals(recording: Recording) -> pd.DataFrame:
    """A row per operation and kind: calls of all processes, bytes (mean), time in them (median, total, s)."""
    names = ["operation", "kind"]
    profile = recording.profile[recording.profile.calls > 0]
    rows = profile.frame(*names, "calls", "bytes").assign(total=profile.call_time + profile.wait_time)
    totals = rows.groupby(names, sort=False).sum().reset_index()
    records = recording.records
    times = pd.Series(records.exit - records.entry).groupby([np.asarray(records.operation), np.asarray(records.kind)])
    return totals.assign(bytes=totals.bytes / totals.calls).join(times.median().rename("median"), on=names)


def trace_lines(recording: Recording, directory: Path) -> list[str]:
    """The lines that `downbeat trace` prints of a job."""
    processes = recording.processes
    ranks, missing = len(processes), int(processes.world_size.max()) - len(processes)
    lines = []
    if ended := int((processes.ending != "finalized").sum()):
        lines.append(f"{ended} of {ranks} ranks ended without MPI_Finalize; what they recorded is there")
    if missing > 0:
        lines.append(f"{missing} of {processes.world_size.max()} ranks left no file")
    totals, starts = total_lines(recording), start_lines(recording)
    if not (totals or starts):
        lines.append(f"{ranks} ranks, no call was recorded: there is nothing to show")
    return [*lines, *totals, *room_lines(recording.sections, directory), *starts]


def total_lines(recording: Recording) -> list[str]:
    """A line per operation and kind."""
    totals = call_totals(recording)
    if totals.empty:
        return []
    lines = [
        f"{len(recording.processes)} ranks, {totals.calls.sum()} collectives{bound_text(recording, 'clock')}",
        f"{'operation':24} {'calls':>9} {'bytes':>9} {'median us':>11} {'total s':>9}",
    ]
    row: Any
    for row in totals.itertuples():
        name = row.operation if row.kind == "blocking" else f"{row.operation} ({row.kind})"
        median = number_text(row.median * 1e6, ".2f") or "-"
        lines.append(f"{name:24} {row.calls:>9} {number_text(row.bytes, '.0f'):>9} {median:>11} {row.total:>9.4g}")
    if recording.sampled:
        lines.append(f"all calls are added up; {len(recording.records)} of them are kept one by one, as a sample")
    return lines


def start_lines(recording: Recording) -> list[str]:
    """A line per class of samples after harmonized barriers."""
    starts = recording.starts
    if not len(starts):
        return []
    names = ("operation", "up to B", "samples", "mean", "valid", "rejected", "spread")
    widths = (24, 8, 8, 9, 9, 9, 9)
    head = [f"{name:{'<' if name == 'operation' else '>'}{width}}" for name, width in zip(names, widths, strict=True)]
    lines = ["after harmonized barriers, mean over ranks [us]", " ".join(head)]
    for at in range(len(starts)):
        mean, valid, spread = (
            number_text(times[at] * 1e6, ".3f") for times in (starts.mean_s, starts.valid_mean_s, starts.spread_mean_s)
        )
        cells = (mean, valid, number_text(starts.rejected_share[at], ".1%"), spread)
        lines.append(
            f"{starts.operation[at]:24} {starts.size_up_to[at]:>8} {starts.samples[at]:>8} "
            + " ".join(f"{cell:>9}" for cell in cells)
        )
    return lines
