"""Reads a recording of a job by libdownbeat-preload as tables: processes, clocks, communicators, profile, records.

Each process writes a file with one section; a table joins the sections of all processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from downbeat.errors import reading
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.trace.clocks import NS, Clocks
from downbeat.trace.communicators import Communicators, communicators_of, members_of, processes_of
from downbeat.trace.file import ENDINGS, SUMS, Section, read_job, text
from downbeat.trace.phases import Phases, ended_names, phase_paths, phases_of
from downbeat.trace.profile import Profile, profile_of, thinned, thinned_alike
from downbeat.trace.records import Records, records_of
from downbeat.trace.starts import Starts, starts_of


class Processes(Table):
    """The processes of a job that left a file, by rank."""

    rank: Ints = column("rank in MPI_COMM_WORLD")
    world_size: Ints = column("processes of the job", "1")
    host: Texts = column("name of the host")
    file: Texts = column("path of the file, as a Path")
    pid: Ints = column("process id on the host")
    ending: Texts = column("state at the end of the file: running, finalized, aborted")
    abort_code: Ints = column("error code that the program passed to MPI_Abort")
    began: Ints = column("begin of the recording, since 1970; in frames a timestamp", "ns")
    records: Ints = column("records in the file", "1")
    processors: Ints = column("processors that the ranks of the host may use", "1")
    ready: Floats = column("time that the process was ready to run but waited for a processor; NaN: not known", "s")
    records_dropped: Ints = column("records that had no room", "1")
    communicators_dropped: Ints = column("communicators that had no room", "1")
    sites_dropped: Ints = column("call sites that had no room", "1")
    clock: Texts = column("name of the local clock")
    max_wander: Floats = column("largest relative change of a frequency, a setting of the library", "1")
    syncs: Ints = column("clock synchronizations", "1")
    bound_at_sync: Floats = column("largest bound of the clock's error at a synchronization; NaN: there is none", "s")

    def frame(self, *names: str) -> pd.DataFrame:
        """Returns the frame as `Table.frame` does, with `began` as timestamps."""
        frame = super().frame(*names)
        return frame.assign(began=pd.to_datetime(self.began, unit="ns", utc=True)) if "began" in frame else frame


class Sums(Table):
    """Time in all calls of MPI, by process and kind of calls."""

    rank: Ints = column("rank of the process in MPI_COMM_WORLD")
    kind: Texts = column("kind of the calls, of SUMS")
    calls: Ints = column("calls", "1")
    time: Floats = column("time in the calls", "s")


class Recording:
    """The recording of a job; tables are read when first used.

    Attributes:
        sections: the content of each process' file.
        most: maximum number of records; more records are thinned. None: all records are read.
        own_clocks: times of records are on each process' clock, which runs at its own rate from its first
            synchronization on; later synchronizations are not used.
    """

    def __init__(self, sections: Sequence[Section], most: int | None = None, own_clocks: bool = False) -> None:
        self.sections = sections
        self.most = most
        self.own_clocks = own_clocks

    @cached_property
    def processes(self) -> Processes:
        """All processes."""
        rows = []
        for section in self.sections:
            with reading(section.path):
                rows.append(process_row(section))
        return Processes.of_rows(rows)

    @cached_property
    def clocks(self) -> Clocks:
        """All clock synchronizations."""
        return Clocks.joined(section.clocks for section in self.sections)

    @cached_property
    def communicators(self) -> Communicators:
        """The communicators of each process."""
        return Communicators.joined(map(communicators_of, self.sections))

    @cached_property
    def members(self) -> dict[str, tuple[int, ...]]:
        """Ranks in the job of each communicator's ranks, from `members_of`."""
        return members_of(self.communicators)

    @cached_property
    def _processes_of(self) -> dict[int, tuple[int, int]]:
        return processes_of(self.sections)

    @cached_property
    def starts(self) -> Starts:
        """Samples of operations after barriers with a common start."""
        return starts_of(self.sections)

    @cached_property
    def phases(self) -> Phases:
        """Phases of MPI_Pcontrol, by process."""
        return phases_of(self.sections)

    @cached_property
    def profile(self) -> Profile:
        """All calls, added up."""
        names = ended_names(self.sections)
        processes = []
        for section in self.sections:
            with reading(section.path):
                processes.append(profile_of(section, self._processes_of, phase_paths(section, names)))
        profile = thinned_alike(Profile.joined(processes))
        return profile if self.most is None else thinned(self.sections, profile, self.most)

    @property
    def sampled(self) -> bool:
        """True if `records` are a sample of the calls."""
        return bool((self.profile.thinning > 0).any())

    @cached_property
    def sums(self) -> Sums:
        """Time in all calls of MPI."""
        rows: list[dict[str, Any]] = []
        for section in self.sections:
            with reading(section.path):
                kinds, tick = section.header.kinds, section.clocks.tick()
                rows += [
                    {"rank": section.rank, "kind": name, "calls": calls, "time": ticks * tick}
                    for name, (calls, ticks) in zip(SUMS, kinds.tolist(), strict=True)
                ]
        return Sums.of_rows(rows)

    @cached_property
    def records(self) -> Records:
        """Collectives one by one: all of them, or a sample (`sampled`)."""
        names = ended_names(self.sections)
        return records_of(self.sections, self.profile.thinning, self._processes_of, names, self.own_clocks)


def open_recording(path: Path, job: str | None = None, most: int | None = None, own_clocks: bool = False) -> Recording:
    """Opens a recording, even if the program crashed; see `open_trace`."""
    return Recording(read_job(path, job), most, own_clocks)


def process_row(section: Section) -> dict[str, Any]:
    """Returns the row of a process in `Processes`."""
    header, bounds = section.header, section.clocks.bound_ns
    counts = ("world_size", "pid", "abort_code", "processors")
    dropped = ("records_dropped", "communicators_dropped", "sites_dropped")
    return {
        "rank": section.rank,
        **{name: int(getattr(header, name)) for name in (*counts, *dropped)},
        "host": text(header.host),
        "file": section.path,
        "ending": ENDINGS.get(int(header.ending), "unknown"),
        "began": int(header.began_ns),
        "records": len(section.tables.records),
        "ready": int(header.ready_ns) * NS if header.ready_ns >= 0 else np.nan,
        "clock": text(header.clock),
        "max_wander": float(header.max_wander),
        "syncs": len(bounds),
        "bound_at_sync": float(bounds.max()) * NS if len(bounds) else np.nan,
    }
