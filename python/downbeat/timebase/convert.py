"""Stamps of a host's clock on the axis of a time base, with the bound of their error."""

from __future__ import annotations

from collections import Counter
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.errors import UsageError
from downbeat.timebase.file import CLOCKS, Recorded, maps_of, read, readings_of
from downbeat.timebase.local import NEVER_MOVED, LocalClock, Step
from downbeat.traces.expected import expected_errors
from downbeat.traces.trace import to_global as between_synchronizations

NANOSECONDS = 1e9
USUAL_RAMP = 2e-16  # per ns: 200 ppb per second, as the library assumes, where the file has none


class Moved(NamedTuple):
    """Stamps on the axis: numbers for one, arrays for several.

    Attributes:
        ns: on the axis, since 1970.
        bound_ns: the error cannot be larger; infinite where nothing is known.
        expected_error_ns: standard deviation of the error.
    """

    ns: NDArray[np.int64]
    bound_ns: NDArray[np.float64]
    expected_error_ns: NDArray[np.float64]


class Timebase:
    """The clocks of the hosts of a job against one axis.

    Attributes:
        recorded: the file.
        ranks: the process that sampled each host; of several on one host, the others are `host:rank`.
    """

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        names = {rank: samples[0].host for rank, samples in sorted(recorded.samples.items())}
        self.ranks: dict[str, int] = {}
        for rank, name in names.items():
            self.ranks[f"{name}:{rank}" if name in self.ranks else name] = rank
        self.wander = float(recorded.head.settings["max_wander"])
        self._maps = {rank: maps_of(samples) for rank, samples in recorded.samples.items()}
        self._clocks: dict[tuple[int, str], LocalClock] = {}

    def to_global(self, host: str, clock: str, t: ArrayLike) -> Moved:
        """Returns stamps on the axis.

        Args:
            host: name, as `hostname` says it, with or without its domain.
            clock: realtime, monotonic, monotonic_raw or boottime.
            t: one stamp or several, ns, whole numbers: a float has lost some hundred ns since 1970.

        Outside of the samples the bound of monotonic_raw grows with what oscillators may do. Other clocks may have been
        set or slewed there, and have no bound.

        Raises:
            UsageError: the file has no such host or clock, or stamps are not whole numbers.
        """
        times = np.asarray(t)
        if times.dtype.kind not in "iu":
            raise UsageError("stamps are whole numbers of ns; multiply before they become floats")
        rank = self.rank_of(host)
        local = self.local(rank, clock)
        place = local.place(np.atleast_1d(times).astype(np.int64))
        ns, bound, error = self.axis(rank, local.counter(place.at))
        low, low_bound, _ = self.axis(rank, local.counter(place.low))
        high, high_bound, _ = self.axis(rank, local.counter(place.high))
        hard = np.maximum((ns - low) + low_bound, (high - ns) + high_bound)
        hard = np.maximum(hard, bound) + place.extra
        likely = np.sqrt(error**2 + place.variance)
        shape = times.shape
        return Moved(ns.reshape(shape)[()], hard.reshape(shape)[()], likely.reshape(shape)[()])

    def rank_of(self, host: str) -> int:
        """Returns the process that sampled a host."""
        short = Counter(name.partition(".")[0] for name in self.ranks)
        for name, rank in self.ranks.items():
            brief = name.partition(".")[0]
            if host == name or (
                short[brief] == 1 and host.partition(".")[0] == brief and "." not in min(host, name, key=len)
            ):
                return rank
        raise UsageError(f"'{self.recorded.path}' has no host '{host}'; choose one of {', '.join(self.ranks)}")

    def local(self, rank: int, clock: str) -> LocalClock:
        """Returns a clock of the host that a process sampled."""
        if clock not in CLOCKS:
            raise UsageError(f"unknown clock '{clock}'; choose one of {', '.join(CLOCKS)}")
        if (rank, clock) not in self._clocks:
            readings = readings_of(self.recorded.samples[rank], clock)
            tick = float(np.median(self._maps[rank]["ns_per_tick"]))
            ramp = max(USUAL_RAMP, float(self._maps[rank]["ramp"].max()))
            self._clocks[rank, clock] = LocalClock(readings, tick, self.wander, ramp, clock != NEVER_MOVED)
        return self._clocks[rank, clock]

    def axis(
        self, rank: int, ticks: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Returns where a rank's counter is on the axis, with bound and expected error, ns.

        Args:
            rank: of the process.
            ticks: of the counter.
        """
        maps = self._maps[rank].copy()
        first = int(maps["global_ns"][0])
        maps["global_ns"] -= first
        tick = float(np.median(maps["ns_per_tick"]))
        which = np.clip(np.searchsorted(maps["ticks"], ticks, side="right") - 1, 0, len(maps) - 2)
        # A frequency that changes by `ramp` per ns moves by ramp * a * b / 2 from a chord, at distances a and b from
        # its ends: as one within ramp * (a + b) / 4 of its mean does at once.
        length = np.diff(maps["global_ns"]).astype(float)
        wander = self.wander + np.maximum(maps["ramp"][:-1], maps["ramp"][1:]) * length / 4
        times, bounds = between_synchronizations(ticks, maps, wander[which])
        beyond = np.where(ticks < maps["ticks"][0], 0, -1)
        away = np.maximum(0, np.maximum(maps["ticks"][0] - ticks, ticks - maps["ticks"][-1])) * tick
        errors = expected_errors(ticks, maps, bounds) * NANOSECONDS
        bounds = bounds * NANOSECONDS + away**2 * maps["ramp"][beyond] / 2 + self.jumps(rank)[which]
        return np.rint(times * NANOSECONDS).astype(np.int64) + first, bounds, errors

    def jumps(self, rank: int) -> NDArray[np.float64]:
        """Returns by how much a rank's counter jumped between two samples, ns; 0 where its rate explains all.

        A counter does so where a virtual machine moves to another one, or the library's clock is one that can be set.
        """
        maps = self._maps[rank]
        passed = np.diff(maps["ticks"]) * maps["ns_per_tick"][:-1]
        gap = np.abs(np.diff(maps["global_ns"]) - passed)
        allowed = maps["bound_ns"][:-1] + maps["bound_ns"][1:] + 2  # whole ns
        allowed += np.abs(passed) * (maps["growth"][:-1] + np.abs(passed) * maps["ramp"][:-1] / 2)
        found: NDArray[np.float64] = np.where(gap > allowed, gap, 0.0)
        return found

    @cached_property
    def steps(self) -> list[tuple[str, str, Step]]:
        """Where clocks were set or slewed fast: host, clock, step; in the order of hosts."""
        return [
            (host, clock, step)
            for host, rank in self.ranks.items()
            for clock in CLOCKS
            for step in self.local(rank, clock).steps()
        ]

    def notes(self) -> list[str]:
        """Returns a line for each fact that a reader of the numbers must know."""
        said = list(self.recorded.notes)
        used = self.recorded.head.settings["clock"]
        if used not in ("tsc", "monotonic_raw"):
            said.append(f"the counter is the clock '{used}', which may be set or slewed: bounds hold if it was not")
        for host, rank in self.ranks.items():
            jumps = self.jumps(rank)
            for sample in np.flatnonzero(jumps):
                said.append(
                    f"{host}: its counter jumped by about {jumps[sample] * 1e-9:.3g} s between samples {sample} and "
                    f"{sample + 1}; bounds there have that"
                )
        for host, clock, step in self.steps:
            said.append(
                f"{host}: {clock} moved by {step.by_ns * 1e-9:+.6g} s between samples {step.sample} and "
                f"{step.sample + 1}: it was set or slewed; bounds there have that"
            )
        return said


@lru_cache(maxsize=8)
def opened(path: Path, _changed: int, _size: int) -> Timebase:
    """Returns a time base of a file as it is now."""
    return Timebase(read(path))


def open_timebase(path: str | Path) -> Timebase:
    """Returns the time base that `downbeat timebase` wrote.

    Raises:
        UsageError: there is none, or it is damaged.
    """
    path = Path(path)
    if not path.exists():
        return Timebase(read(path))
    status = path.stat()
    return opened(path.resolve(), status.st_mtime_ns, status.st_size)


def to_global(host: str, clock: str, t: ArrayLike, timebase: str | Path = "timebase.jsonl") -> Moved:
    """Returns stamps on the axis of a time base: see `Timebase.to_global`."""
    return open_timebase(timebase).to_global(host, clock, t)
