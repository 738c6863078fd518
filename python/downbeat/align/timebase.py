"""Converts any tool's timestamps on any host's clock to one axis, with a bound of the error.

A time base is the table of clock synchronizations of a recording. The axis begins as the realtime clock of the first
host.

    from downbeat.align.timebase import to_global

    moved = to_global("node7", "realtime", 1_700_000_000_123_456_789, "timebase")
    moved.ns, moved.bound_ns, moved.expected_error_ns

docs/align.md explains the numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from downbeat.align.local_clocks import NEVER_MOVED, LocalClock, Step
from downbeat.errors import DownbeatError, UsageError
from downbeat.files import replacing
from downbeat.text import NANOSECONDS
from downbeat.trace.clocks import Clocks, expected_errors, global_times
from downbeat.trace.file import SYSTEM_CLOCKS, is_trace
from downbeat.trace.recording import Recording, open_recording

MIN_SAMPLES = 2  # samples of a host
# Growth of a rate difference per ns, 1/ns: 200 ppb per second, as in the library. The reference host records 0.
USUAL_RAMP = 2e-16
NEVER_SET = ("tsc", "monotonic_raw")  # local clocks that are never set or slewed


class Moved(NamedTuple):
    """Timestamps on the axis: numbers for a single timestamp, arrays for several.

    Attributes:
        ns: time on the axis, ns since 1970.
        bound_ns: largest possible error; infinite: not known.
        expected_error_ns: standard deviation of the error.
    """

    ns: NDArray[np.int64]
    bound_ns: NDArray[np.float64]
    expected_error_ns: NDArray[np.float64]


class Timebase:
    """The clocks of the hosts of a job against one axis.

    Attributes:
        recording: recording with the samples of all clocks.
        ranks: host -> rank of the process that sampled it; further processes on a host are named `host:rank`.
        reference: the host whose realtime clock the axis began at.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        processes, clocks = recording.processes, recording.clocks
        self.path = processes.file[0]
        if (processes.syncs < MIN_SAMPLES).any():
            raise UsageError(f"'{self.path}' has fewer than two samples of a host; let it run longer")
        self.ranks: dict[str, int] = {}
        for rank, name in zip(processes.rank.tolist(), processes.host, strict=True):
            self.ranks[f"{name}:{rank}" if name in self.ranks else name] = rank
        self.reference = next(iter(self.ranks))
        self.wander = float(processes.max_wander.max())
        first = clocks[clocks.rank == self.ranks[self.reference]]
        since = (int(first.realtime_ticks[0]) - int(first.ticks[0])) * float(first.ns_per_tick[0])
        epoch = int(first.realtime_ns[0]) - int(first.global_ns[0]) - round(since)
        moved = clocks.replaced(global_ns=clocks.global_ns + epoch)
        self._samples: dict[int, Clocks] = {rank: moved[moved.rank == rank] for rank in self.ranks.values()}
        self._clocks: dict[tuple[int, str], LocalClock] = {}

    def to_global(self, host: str, clock: str, t: ArrayLike) -> Moved:
        """Converts timestamps to the axis.

        Args:
            host: name of the host as `hostname` prints it, with or without its domain.
            clock: realtime, monotonic, monotonic_raw or boottime.
            t: a timestamp or several, ns, integers: floats of times since 1970 have errors of some hundred ns.

        Outside of the samples, the bound of monotonic_raw grows with the possible drift of oscillators. Other clocks
        may have been set or slewed there, and have no bound.

        Raises:
            UsageError: the file has no such host or clock, or stamps are not whole numbers.
        """
        times = np.asarray(t)
        if times.dtype.kind not in "iu":
            raise UsageError("stamps are whole numbers of ns; multiply before they become floats")
        rank = self.rank_of(host)
        local = self.local(rank, clock)
        reading = local.place(np.atleast_1d(times).astype(np.int64))
        ns, bound, error = self.axis(rank, local.counter(reading.at))
        low, low_bound, _ = self.axis(rank, local.counter(reading.low))
        high, high_bound, _ = self.axis(rank, local.counter(reading.high))
        hard = np.maximum((ns - low) + low_bound, (high - ns) + high_bound)
        hard = np.maximum(hard, bound) + reading.extra
        likely = np.sqrt(error**2 + reading.variance)
        shape = times.shape
        return Moved(ns.reshape(shape)[()], hard.reshape(shape)[()], likely.reshape(shape)[()])

    def rank_of(self, host: str) -> int:
        """Returns the rank of the process that sampled a host."""
        short = Counter(name.partition(".")[0] for name in self.ranks)
        for name, rank in self.ranks.items():
            brief = name.partition(".")[0]
            if host == name or (
                short[brief] == 1 and host.partition(".")[0] == brief and "." not in min(host, name, key=len)
            ):
                return rank
        raise UsageError(f"'{self.path}' has no host '{host}'; choose one of {', '.join(self.ranks)}")

    def local(self, rank: int, clock: str) -> LocalClock:
        """Returns a system clock of the host that a rank sampled."""
        if clock not in SYSTEM_CLOCKS:
            raise UsageError(f"unknown clock '{clock}'; choose one of {', '.join(SYSTEM_CLOCKS)}")
        if (rank, clock) not in self._clocks:
            samples = self._samples[rank]
            tick = float(np.median(samples.ns_per_tick))
            ramp = max(USUAL_RAMP, float(samples.ramp.max()))
            self._clocks[rank, clock] = LocalClock(
                *samples.reading(clock), tick, self.wander, ramp, clock != NEVER_MOVED
            )
        return self._clocks[rank, clock]

    def axis(
        self, rank: int, ticks: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Converts a rank's counter to the axis, ns, with bound and expected error, ns.

        Args:
            rank: rank of the process.
            ticks: counter.
        """
        samples = self._samples[rank]
        first = int(samples.global_ns[0])
        samples = samples.replaced(global_ns=samples.global_ns - first)
        tick = float(np.median(samples.ns_per_tick))
        which = np.clip(np.searchsorted(samples.ticks, ticks, side="right") - 1, 0, len(samples) - 2)
        # A clock whose frequency changes by `ramp` per ns is ramp * a * b / 2 from its chord, at distances a and b from
        # the ends: like a clock whose frequency changes at once, by up to ramp * (a + b) / 4 from its mean.
        length = np.diff(samples.global_ns).astype(float)
        wander = self.wander + np.maximum(samples.ramp[:-1], samples.ramp[1:]) * length / 4
        times, bounds = global_times(ticks, samples, wander[which])
        beyond = np.where(ticks < samples.ticks[0], 0, -1)
        away = np.maximum(0, np.maximum(samples.ticks[0] - ticks, ticks - samples.ticks[-1])) * tick
        errors = expected_errors(ticks, samples, bounds) * NANOSECONDS
        bounds = bounds * NANOSECONDS + away**2 * samples.ramp[beyond] / 2 + self.jumps(rank)[which]
        return np.rint(times * NANOSECONDS).astype(np.int64) + first, bounds, errors

    def jumps(self, rank: int) -> NDArray[np.float64]:
        """Returns jumps of a rank's counter between two samples, ns; 0: its rate explains the difference.

        A counter jumps if a virtual machine migrates, or if the library's clock can be set.
        """
        samples = self._samples[rank]
        passed = np.diff(samples.ticks) * samples.ns_per_tick[:-1]
        gap = np.abs(np.diff(samples.global_ns) - passed)
        allowed = samples.bound_ns[:-1] + samples.bound_ns[1:] + 2  # whole ns
        allowed += np.abs(passed) * (samples.growth[:-1] + np.abs(passed) * samples.ramp[:-1] / 2)
        jumps: NDArray[np.float64] = np.where(gap > allowed, gap, 0.0)
        return jumps

    @cached_property
    def offsets(self) -> pd.DataFrame:
        """A row per host, clock and sample: axis_ns, clock_ns, offset_ns, rate, bound_ns, expected_error_ns.

        The offset is the axis minus the clock; the rate is its change since the previous sample, NaN at the first
        sample.
        """
        frames = []
        for host, rank in self.ranks.items():
            samples = self._samples[rank]
            for clock in SYSTEM_CLOCKS:
                shown, ticks, duration = samples.reading(clock)
                since, width = (ticks - samples.ticks) * samples.ns_per_tick, duration * samples.ns_per_tick
                offset = samples.global_ns - shown + np.rint(since).astype(np.int64)
                bound = samples.bound_ns + since * (samples.growth + since * samples.ramp / 2)
                variance = samples.variance + since * (
                    2 * samples.cross + since * (samples.rate + since * samples.walk / 3)
                )
                expected = np.sqrt(np.clip(variance, 0, bound**2 / 3) + width**2 / 3)
                rate = np.append(np.nan, np.diff(offset) / np.diff(shown))
                known = {"host": host, "clock": clock, "axis_ns": samples.global_ns, "clock_ns": shown}
                errors = {"bound_ns": bound + width, "expected_error_ns": expected}
                frames.append(pd.DataFrame(known | {"offset_ns": offset, "rate": rate} | errors))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def steps(self) -> list[tuple[str, str, Step]]:
        """Host, clock and step of each movement of a clock that was set or slewed fast, by host."""
        return [
            (host, clock, step)
            for host, rank in self.ranks.items()
            for clock in SYSTEM_CLOCKS
            for step in self.local(rank, clock).steps()
        ]

    def notes(self) -> list[str]:
        """Returns warnings on the samples: missing processes, jumps, clocks that were set; one line each."""
        lines = []
        processes = self.recording.processes
        missing = int(processes.world_size.max()) - len(processes)
        if missing > 0:
            lines.append(f"{missing} of {processes.world_size.max()} processes left no file")
        for used in sorted(set(processes.clock) - set(NEVER_SET)):
            lines.append(f"the counter is the clock '{used}', which may be set or slewed: bounds hold if it was not")
        for host, rank in self.ranks.items():
            jumps = self.jumps(rank)
            for sample in np.flatnonzero(jumps):
                lines.append(
                    f"{host}: its counter jumped by about {jumps[sample] * 1e-9:.3g} s between samples {sample} and "
                    f"{sample + 1}; bounds there have that"
                )
        for host, clock, step in self.steps:
            lines.append(
                f"{host}: {clock} moved by {step.by_ns * 1e-9:+.6g} s between samples {step.sample} and "
                f"{step.sample + 1}: it was set or slewed; bounds there have that"
            )
        return lines

    def table(self) -> list[str]:
        """Returns the lines of a table of the realtime clocks: offset at the first and last sample, rate, errors."""
        head = f"{'host':24}{'first':>14}{'last':>14}{'rate':>10}{'bound':>10}{'expected':>10}{'samples':>9}"
        lines = [head, f"{'':24}{'us':>14}{'us':>14}{'ppm':>10}{'us':>10}{'us':>10}"]
        rows = self.offsets[self.offsets.clock == "realtime"]
        for host, samples in rows.groupby("host", sort=False):
            first, last = samples.offset_ns.iloc[0], samples.offset_ns.iloc[-1]
            rate = (last - first) / (samples.clock_ns.iloc[-1] - samples.clock_ns.iloc[0])
            bound, error = samples.bound_ns.max(), samples.expected_error_ns.max()
            lines.append(
                f"{host:24}{first / 1e3:>14.3f}{last / 1e3:>14.3f}{rate * 1e6:>10.3f}"
                f"{bound / 1e3:>10.3f}{error / 1e3:>10.3f}{len(samples):>9}"
            )
        lines.append(f"axis minus realtime clock; the axis is that of {self.reference} at the start")
        return lines


@lru_cache(maxsize=8)
def opened(path: Path, _changed: frozenset[tuple[str, int, int]]) -> Timebase:
    """Opens the time base of a recording; the second argument identifies the state of its files, for the cache."""
    return Timebase(open_recording(path))


def open_timebase(path: str | Path) -> Timebase:
    """Opens the time base that `downbeat timebase` or `downbeat trace` recorded.

    Args:
        path: the directory, a file in it, or DIR/JOB.

    Raises:
        UsageError: the recording is missing or damaged.
    """
    path = Path(path)
    if path.is_file() and not is_trace(path):
        raise UsageError(f"'{path}' is not a recording; give the directory that downbeat timebase wrote")
    files = path.iterdir() if path.is_dir() else path.parent.glob("*") if not path.exists() else [path]
    stats = [(file.name, file.stat()) for file in files if file.is_file()] if path.parent.is_dir() else []
    return opened(path.absolute(), frozenset((name, status.st_mtime_ns, status.st_size) for name, status in stats))


def to_global(host: str, clock: str, t: ArrayLike, timebase: str | Path = "timebase") -> Moved:
    """Converts timestamps to the axis of a time base: see `Timebase.to_global`."""
    return open_timebase(timebase).to_global(host, clock, t)


__all__ = ["Moved", "Timebase", "open_timebase", "to_global"]


# Name, unit, meaning; column of `Timebase.offsets`, and the factor from its unit.
GAUGES = (
    ("offset", "seconds", "The axis minus the clock", "offset_ns", 1e-9),
    ("rate", "ratio", "By how much faster the axis is than the clock", "rate", 1.0),
    ("bound", "seconds", "Largest possible error of the offset", "bound_ns", 1e-9),
    ("expected_error", "seconds", "Standard deviation of that error", "expected_error_ns", 1e-9),
)
# Perfetto's numbers of clocks: the axis replaces Perfetto's trace time. Clocks of hosts have numbers for clocks that
# are global to a trace, from 128 on.
PERFETTO_BOOTTIME = 6
PERFETTO_GLOBAL = 128


def write_openmetrics(base: Timebase, path: Path) -> None:
    """Writes all samples as OpenMetrics text, for Prometheus (promtool tsdb create-blocks-from openmetrics)."""
    with replacing(path) as file:
        for name, unit, meaning, column, scale in GAUGES:
            family = f"downbeat_clock_{name}_{unit}"
            file.write(f"# TYPE {family} gauge\n# UNIT {family} {unit}\n# HELP {family} {meaning}.\n")
            rows: Any = base.offsets[["host", "clock", "axis_ns", column]].itertuples(index=False)
            for host, clock, axis, value in rows:
                if not np.isnan(value):
                    label = host.replace("\\", "\\\\").replace('"', '\\"')
                    time = f"{axis // 10**9}.{axis % 10**9:09d}"
                    file.write(f'{family}{{host="{label}",clock="{clock}"}} {float(value * scale)!r} {time}\n')
        file.write("# EOF\n")


def perfetto_clock(index: int, clock: str) -> int:
    """Returns Perfetto's number of a clock of a host; `index` is the host's position in `Timebase.ranks`."""
    return PERFETTO_GLOBAL * (1 + len(SYSTEM_CLOCKS) * index + SYSTEM_CLOCKS.index(clock))


def write_perfetto_clocks(base: Timebase, path: Path) -> None:
    """Writes the samples as clock snapshots of Perfetto: a trace that can be joined to others (cat).

    Trace time is the axis. Packets whose timestamp_clock_id is a host's clock (`perfetto_clock`) are moved by the last
    snapshot before them. Perfetto's own synchronization of machines (RemoteClockSync) has one offset for a whole trace,
    which drifts by milliseconds a minute.

    Raises:
        DownbeatError: Perfetto's Python library is not installed.
    """
    try:
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
    except ImportError as error:
        raise DownbeatError("clock snapshots need Perfetto's library; run pip install perfetto") from error
    trace = Trace()
    indexes = {host: index for index, host in enumerate(base.ranks)}
    row: Any
    for row in base.offsets.itertuples(index=False):
        snapshot = trace.packet.add().clock_snapshot
        snapshot.primary_trace_clock = PERFETTO_BOOTTIME
        for number, time in (
            (PERFETTO_BOOTTIME, row.clock_ns + row.offset_ns),
            (perfetto_clock(indexes[row.host], row.clock), row.clock_ns),
        ):
            entry = snapshot.clocks.add()
            entry.clock_id, entry.timestamp = number, time
    with replacing(path, binary=True) as file:
        file.write(trace.SerializeToString())


CLOCK_WRITERS: dict[str, Callable[[Timebase, Path], None]] = {
    "openmetrics": write_openmetrics,
    "perfetto-clocks": write_perfetto_clocks,
}
