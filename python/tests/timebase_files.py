"""Recordings of made-up clocks, whose truth is known at every instant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from downbeat.trace.file import TABLES
from launch_files import packed
from numpy.typing import NDArray

FINE = 200  # points of a curve between two samples
EPOCH = 1_700_000_000_000_000_000
RAMP = 2e-16  # per ns
WANDER = 2e-7
Floats = NDArray[np.float64]


@dataclass
class World:
    """The truth: time on the axis (ns since EPOCH), and a curve for each clock of host 1 over it.

    Attributes:
        axis: instants.
        clocks: what each clock shows then, ns.
        stepped: between which samples a clock was set: clock -> samples.
    """

    axis: Floats
    clocks: dict[str, Floats]
    stepped: dict[str, list[int]]


def curve(rate: Floats, length: Floats) -> Floats:
    """Returns a clock that starts at 0, of its rate in each piece of the axis."""
    return np.concatenate([[0.0], np.cumsum(rate * length)])


def corrections(random: np.random.Generator, count: int, interval: float) -> tuple[Floats, Floats, list[int]]:
    """Returns what NTP or people do to a clock: its rate in each piece, jumps after pieces, samples before jumps."""
    rate = np.full(count * FINE, random.uniform(-1e-4, 1e-4))
    jumps = np.zeros(count * FINE)
    stepped = []
    at = random.integers(FINE, (count - 1) * FINE)
    rate[at:] += random.uniform(-5e-6, 5e-6)  # another frequency from then on
    for sample in np.flatnonzero(random.random(count) < 0.04):
        begin, end = np.sort(random.integers(0, FINE, 2)) + sample * FINE
        if random.random() < 0.5:
            rate[begin:end] += random.choice([-1, 1]) * 10 ** random.uniform(-6, -3.3)
        else:
            jump = random.choice([-1, 1]) * 10 ** random.uniform(3, 10.5)  # 1 us to 30 s
            jumps[begin] += jump
            if abs(jump) > max(1e5, 1e-4 * interval):
                stepped.append(int(sample))
    return rate, jumps, stepped


def simulate(
    random: np.random.Generator,
    path: Path,
    disturbed: bool = True,
    jitter: float = 1.0,
    change: Callable[[int, np.ndarray], None] | None = None,
) -> World:
    """Writes a file of two hosts; returns the truth of the second.

    Args:
        random: draws all of it.
        path: of the file.
        disturbed: whether the clocks are slewed and set.
        jitter: scales the errors of synchronizations.
        change: of what is written: rank and maps.
    """
    count = int(random.integers(12, 40))
    interval = 10 ** random.uniform(8.5, 10.5)  # ns: 0.3 to 30 s
    # Samples are not evenly spaced: a process may come late.
    starts = np.concatenate([[0.0], np.cumsum(interval * random.uniform(0.9, 1.3, count))])
    axis = np.interp(np.arange(count * FINE + 1) / FINE, np.arange(count + 1), starts)
    length = np.diff(axis)
    middle = (axis[1:] + axis[:-1]) / 2
    period, phase = 10 ** random.uniform(9.5, 12), random.uniform(0, 6.28)
    # Both together change at most WANDER / 2 at once and a tenth of RAMP.
    wandering = min(WANDER / 4, RAMP / 10 * period / 6.28) * np.sin(6.28 * middle / period + phase)
    counter = curve(1 + random.uniform(-3e-4, 3e-4) + wandering, length)
    raw = curve(1 + random.uniform(-1e-5, 1e-5) + np.zeros_like(length), np.diff(counter))
    clocks = {"monotonic_raw": raw + 2e12}
    stepped: dict[str, list[int]] = {}
    for name, origin, set_by_hand in (("realtime", 3e9, True), ("monotonic", 2e12, False), ("boottime", 5e12, False)):
        rate, jumps, where = corrections(random, count, interval)
        rate = rate if disturbed else np.full_like(rate, rate[0])
        jumps = jumps if disturbed and set_by_hand else np.zeros_like(jumps)
        clocks[name] = curve(1 + rate, np.diff(counter)) + np.concatenate([[0.0], np.cumsum(jumps)]) + origin
        stepped[name] = where if disturbed and set_by_hand else []
    tables = {name: np.zeros(0, dtype) for name, dtype in TABLES.items()}
    sections = []
    for rank, host in enumerate(("a.local", "b.local")):
        rows = [row_of(random, rank, axis[sample * FINE], jitter, counter, axis, clocks) for sample in range(count + 1)]
        maps = np.zeros(count + 1, TABLES["maps"])
        for place, row in enumerate(rows):
            for name, value in row.items():
                maps[name][place] = value
        if change:
            change(rank, maps)
        sections.append(packed(rank, tables | {"maps": maps}, host, WANDER))
    path.write_bytes(b"".join(sections))
    return World(axis, clocks, stepped)


def row_of(
    random: np.random.Generator,
    rank: int,
    time: float,
    jitter: float,
    counter: Floats,
    axis: Floats,
    clocks: dict[str, Floats],
) -> dict[str, float]:
    """Returns the row of a host after a synchronization: rank 0's clocks are the axis."""
    deviation = 30.0 * jitter if rank else 0.0
    error = np.clip(random.normal(0, deviation), -4 * deviation, 4 * deviation) if rank else 0.0
    here = np.interp(time, axis, counter) if rank else time
    near = np.array([max(0.0, time - 1e6), min(time + 1e6, axis[-1])])
    tick = float(np.diff(near)[0] / np.diff(np.interp(near, axis, counter))[0]) if rank else 1.0
    readings = {}
    for name, shown in clocks.items():
        delay = random.uniform(500, 5000)
        half = int(random.integers(20, 200))
        at = min(time + delay, axis[-1])
        inside = random.uniform(-half, half)
        if not rank:  # the axis is what its clock shows
            at, inside = np.rint(at), 0.0
        value = np.interp(at, axis, shown) if rank else at + EPOCH % 10**15
        ticks = np.interp(at, axis, counter) if rank else at
        readings[f"{name}_ns"] = int(np.floor(value)) + (EPOCH if name == "realtime" else 0)
        readings[f"{name}_ticks"] = round(ticks + inside)
        readings[f"{name}_width"] = half + 1
    return readings | {
        "ticks": round(here),
        "global_ns": round(time + error),
        "ns_per_tick": tick + (random.uniform(-5e-7, 5e-7) if rank else 0.0),
        "bound_ns": 4 * deviation + 2 * (rank > 0),
        "growth": 1e-6 if rank else 0.0,
        "ramp": RAMP if rank else 0.0,
        "variance": deviation**2,
        "cross": 0.0,
        "rate": 1e-16,
        "walk": 1e-26,
    }


def stamps(random: np.random.Generator, world: World, clock: str, count: int) -> tuple[NDArray[np.int64], Floats]:
    """Returns stamps of a clock of host 1 at random instants, and these instants, ns since EPOCH."""
    piece = random.integers(0, len(world.axis) - 1, count)
    share = random.random(count)
    shown = world.clocks[clock]
    rise = np.diff(shown)[piece]
    # A piece in which the clock was set has no clock: it shows what came before, or after.
    smooth = np.abs(rise / np.diff(world.axis)[piece] - 1) < 2e-3
    piece, share = piece[smooth], share[smooth]
    times = world.axis[piece] + share * np.diff(world.axis)[piece]
    values = shown[piece] + share * np.diff(shown)[piece]
    whole = np.floor(values).astype(np.int64) + (EPOCH if clock == "realtime" else 0)
    return whole, times
