"""Converts ticks of a process' clock to global times, with the bound of the error and the expected error.

A process synchronizes its clock several times; each synchronization gives a map from local ticks to global time.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from downbeat.tables import Floats, Ints, Table, column

NS = 1e-9
# Relative change of a frequency between two synchronizations. The library's setting max_wander is the change at once;
# over minutes a frequency changes more.
MIN_WANDER = 1e-6


class Clocks(Table):
    """Clock synchronizations of processes, by process and time: the fields of `struct trace_map` in trace_file.h."""

    ticks: Ints = column("local clock at the synchronization", "ticks")
    global_ns: Ints = column("global clock at the synchronization", "ns")
    ns_per_tick: Floats = column("length of a tick on the global clock", "ns")
    bound_ns: Floats = column("largest possible error of global_ns", "ns")
    growth: Floats = column("growth of bound_ns per ns", "1")
    ramp: Floats = column("growth of `growth` per ns, from frequency wander", "1/ns")
    variance: Floats = column("variance of the error of global_ns", "ns^2")
    cross: Floats = column("covariance of the error of global_ns and the error of the rate", "ns")
    rate: Floats = column("variance of the error of the rate", "1")
    walk: Floats = column("growth of `rate` per ns, from a random walk of the frequency", "1/ns")
    realtime_ns: Ints = column("CLOCK_REALTIME right after the synchronization", "ns")
    realtime_ticks: Ints = column("local clock at the reading of CLOCK_REALTIME", "ticks")
    realtime_width: Ints = column("duration of the reading of CLOCK_REALTIME", "ticks")
    monotonic_ns: Ints = column("CLOCK_MONOTONIC right after the synchronization", "ns")
    monotonic_ticks: Ints = column("local clock at the reading of CLOCK_MONOTONIC", "ticks")
    monotonic_width: Ints = column("duration of the reading of CLOCK_MONOTONIC", "ticks")
    monotonic_raw_ns: Ints = column("CLOCK_MONOTONIC_RAW right after the synchronization", "ns")
    monotonic_raw_ticks: Ints = column("local clock at the reading of CLOCK_MONOTONIC_RAW", "ticks")
    monotonic_raw_width: Ints = column("duration of the reading of CLOCK_MONOTONIC_RAW", "ticks")
    boottime_ns: Ints = column("CLOCK_BOOTTIME right after the synchronization", "ns")
    boottime_ticks: Ints = column("local clock at the reading of CLOCK_BOOTTIME", "ticks")
    boottime_width: Ints = column("duration of the reading of CLOCK_BOOTTIME", "ticks")
    rank: Ints = column("rank of the process in MPI_COMM_WORLD")

    @classmethod
    def of_process(cls, maps: np.ndarray, rank: int) -> Self:
        """Returns the synchronizations of a process, from the table `maps` of its file."""
        return cls(**{name: maps[name] for name in maps.dtype.names or ()}, rank=np.full(len(maps), rank))

    def tick(self) -> float:
        """Returns the mean length of a tick over the run of a process, s; NaN: no synchronization."""
        if not len(self):
            return np.nan
        ticks = int(self.ticks[-1] - self.ticks[0])
        return (int(self.global_ns[-1] - self.global_ns[0]) / ticks if ticks else float(self.ns_per_tick[0])) * NS

    def reading(self, clock: str) -> tuple[Ints, Ints, Ints]:
        """Returns the readings of a system clock: its time, ns; local clock at the reading and duration, ticks."""
        shown, ticks, width = (getattr(self, f"{clock}_{what}") for what in ("ns", "ticks", "width"))
        return shown, ticks, width


def wander_of_run(max_wander: float) -> float:
    """Returns the largest relative change of a frequency between two synchronizations of a program."""
    return max(max_wander, MIN_WANDER)


def global_times(ticks: np.ndarray, clocks: Clocks, max_wander: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns global times and their error bounds, in seconds.

    Between two synchronizations, the clock is the line through both. Its error is at most the interpolated bound of the
    two plus the effect of a frequency that wanders by max_wander: with rates within +-w, a curve is at most
    2 w a b / (a + b) from its chord, at distances a and b from the ends. Before the first and after the last
    synchronization, the map of the nearest one is used, and its bound grows with the distance.

    Args:
        ticks: readings of the local clock; any shape.
        clocks: of one process, at least one row.
        max_wander: largest relative change of the difference in frequency.
    """
    clocks = clocks[np.unique(clocks.ticks, return_index=True)[1]]
    origin = clocks.ticks[0]
    x = (ticks - origin).astype(float)
    at = (clocks.ticks - origin).astype(float)
    base = clocks.global_ns[0]
    y = (clocks.global_ns - base).astype(float)

    nearest = np.where(x < at[-1], 0, len(clocks) - 1)
    away = (x - at[nearest]) * clocks.ns_per_tick[nearest]
    times = y[nearest] + away
    bounds = clocks.bound_ns[nearest] + np.abs(away) * clocks.growth[nearest]
    if len(clocks) > 1:
        left = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(clocks) - 2)
        share = (x - at[left]) / (at[left + 1] - at[left])
        length = y[left + 1] - y[left]
        drifts = np.maximum(clocks.growth[left], clocks.growth[left + 1]) > 0
        wander = np.where(drifts, 2.0 * max_wander * share * (1.0 - share) * length, 0.0)
        between = (share >= 0.0) & (share <= 1.0)
        times = np.where(between, y[left] + share * length, times)
        bounds = np.where(
            between, (1.0 - share) * clocks.bound_ns[left] + share * clocks.bound_ns[left + 1] + wander, bounds
        )
    return (times + base) * 1e-9, bounds * 1e-9


def expected_errors(ticks: np.ndarray, clocks: Clocks, bounds: np.ndarray) -> np.ndarray:
    """Returns the standard deviation of the error of times from `global_times`, s.

    Between two synchronizations, the variance has two terms: the interpolated errors of both ends, as if fully
    correlated, and the random walk of the frequency: walk * a**2 * b**2 / (3 * (a + b)), at distances a and b from the
    ends (the variance of an integrated Wiener process that is known at both ends). Before the first and after the last
    synchronization, it grows with the distance as in the library (Downbeat_clock). The result is at most the standard
    deviation of an error that is uniform within its bound, bound / sqrt(3).

    Args:
        ticks: readings of the local clock; any shape.
        clocks: as in `global_times`.
        bounds: bound of the error of each time, s.
    """
    clocks = clocks[np.argsort(clocks.ticks, kind="stable")]
    origin = clocks.ticks[0]
    x = (ticks - origin).astype(float)
    at = (clocks.ticks - origin).astype(float)
    nearest = np.where(x < at[-1], 0, len(clocks) - 1)
    away = np.abs(x - at[nearest]) * clocks.ns_per_tick[nearest]
    near = clocks[nearest]
    variance = near.variance + away * (2 * np.abs(near.cross) + away * (near.rate + away * near.walk / 3))
    if len(clocks) > 1:
        left = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(clocks) - 2)
        length = np.maximum(at[left + 1] - at[left], 1.0)
        share = (x - at[left]) / length
        length *= clocks.ns_per_tick[left]
        deviation = np.sqrt(clocks.variance)
        walk = np.maximum(clocks.walk[left], clocks.walk[left + 1])
        chord = (1.0 - share) * deviation[left] + share * deviation[left + 1]
        between = chord**2 + walk * (share * (1.0 - share)) ** 2 * length**3 / 3
        variance = np.where((share >= 0.0) & (share <= 1.0), between, variance)
    errors: np.ndarray = np.minimum(np.sqrt(variance) * 1e-9, bounds / np.sqrt(3.0))
    return errors
