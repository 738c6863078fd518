"""Programs of many kinds on clocks that are known, and the traces that a profiler writes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from downbeat.align.calls import Calls, RankTrace
from downbeat.align.clocks import Aligned
from downbeat.align.matching import Floats

EPOCH = 1_764_000_000_000_000_000  # ns
DAY = 86_400e9
KINDS = (("allreduce", 4096), ("allgather", 1024), ("reduce_scatter", 2048), ("allreduce", 8), ("barrier", 0))


@dataclass(frozen=True)
class World:
    """How a program runs, on which clocks, and what its files have. Times in ns, rates as ratios.

    Attributes:
        per: calls in a step, of as many kinds.
        op, think, late: durations of a call, of the work before it, and standard lateness of a rank there.
        uneven: how much steps differ from each other, as a share of `think`.
        ends, ends_are: standard scatter of the ends of a call, and its law.
        always: rank and by how much it comes late at every call.
        pauses: (step, duration): work that all ranks do before it.
        rate: the largest difference of two clocks' rates.
        wander: largest change of a clock's rate, 1/s.
        apart: how far clocks differ.
        files: first and last step of each rank's file; empty: all.
        gaps: of ranks: steps that its file lacks, from and to.
        lacks: of ranks: kind of call that its file lacks.
        sequence: ranks whose files have sequence numbers; None: all.
    """

    ranks: int = 4
    steps: int = 100
    per: int = 1
    op: float = 50e3
    think: float = 1e6
    late: float = 100e3
    uneven: float = 0.1
    ends: float = 3e3
    ends_are: str = "normal"
    always: tuple[int, float] = (0, 0.0)
    pauses: tuple[tuple[int, float], ...] = ()
    rate: float = 50e-6
    wander: float = 0.0
    apart: float = 3e9
    stamp: int = 1
    files: tuple[tuple[int, int], ...] = ()
    gaps: tuple[tuple[int, int, int], ...] = ()
    lacks: tuple[tuple[int, int], ...] = ()
    sequence: tuple[int, ...] | None = None


class Run:
    """A run of a world.

    Attributes:
        entry, exit: true, calls x ranks.
        there: what the files have, likewise.
        traces: as they are read.
    """

    def __init__(self, seed: int, world: World) -> None:
        random, self.world = np.random.default_rng(seed), world
        ranks, calls = world.ranks, world.steps * world.per
        pauses = dict(world.pauses)
        self.entry, self.exit = np.zeros((calls, ranks)), np.zeros((calls, ranks))
        now = np.zeros(ranks)
        laws: dict[str, Callable[[], Floats]] = {
            "normal": lambda: np.abs(3.0 + random.normal(0.0, 1.0, ranks)),
            "exponential": lambda: random.exponential(1.0, ranks),
            "uniform": lambda: random.uniform(0.0, np.sqrt(12.0), ranks),
            "heavy": lambda: np.abs(random.standard_t(2.0, ranks)),
        }
        for call in range(calls):
            work = world.think * (1.0 + world.uneven * random.exponential())
            if call % world.per == 0:
                work += pauses.get(call // world.per, 0.0)
            entry = now + work + world.late * random.exponential(1.0, ranks)
            entry[world.always[0]] += world.always[1]
            scatter = laws[world.ends_are]()
            now = entry.max() + world.op * (1.0 + 0.05 * random.random()) + world.ends * scatter
            self.entry[call], self.exit[call] = entry, now
        self.span = float(self.exit.max())
        self.offset = random.uniform(-world.apart, world.apart, ranks)
        self.rate = random.uniform(-world.rate / 2, world.rate / 2, ranks)
        # A whole run of one sign, or periods of both: what a clock does at the most.
        self.ramp = random.uniform(-world.wander, world.wander, ranks) * 1e-9
        self.period = self.span * 10 ** random.uniform(-1.0, 1.5)
        step, kind = np.divmod(np.arange(calls), world.per)
        self.there = np.ones((calls, ranks), dtype=bool)
        for rank, (begin, end) in enumerate(world.files):
            self.there[:, rank] &= (step >= begin) & (step < end)
        for rank, begin, end in world.gaps:
            self.there[:, rank] &= (step < begin) | (step >= end)
        for rank, which in world.lacks:
            self.there[:, rank] &= kind != which
        names, sizes = (np.array([KINDS[k][i] for k in range(world.per)])[kind] for i in (0, 1))
        self.traces = []
        for rank in range(ranks):
            mine = self.there[:, rank]
            numbered = world.sequence is None or rank in world.sequence
            one = Calls(
                group="0",
                ranks=tuple(range(ranks)),
                operation=names[mine],
                sequence=np.flatnonzero(mine) if numbered else None,
                root=np.full(mine.sum(), -1),
                size=sizes[mine].astype(np.int64),
                entry=self.stamps(rank, self.entry[mine, rank]),
                exit=self.stamps(rank, self.exit[mine, rank]),
            )
            self.traces.append(RankTrace(Path(f"rank{rank}.json"), rank, "", (one,)))

    def clock(self, rank: int, true: Floats) -> Floats:
        """Returns what a clock shows, ns after the epoch."""
        turn = 2.0 * np.pi / self.period
        bent = self.ramp[rank] / turn**2 * (1.0 - np.cos(turn * (true - self.span / 2)))
        shown: Floats = self.offset[rank] + true + self.rate[rank] * (true - self.span / 2) + bent
        return shown

    def stamps(self, rank: int, true: Floats) -> np.ndarray:
        stamp = self.world.stamp
        return EPOCH + np.floor(self.clock(rank, true) / stamp).astype(np.int64) * stamp

    def errors(self, aligned: Aligned) -> tuple[Floats, Floats, Floats]:
        """Returns errors on each axis, bounds and expected errors, ns, of entries of all ranks but the axes' own."""
        found = []
        for rank in range(1, self.world.ranks):
            mine = self.there[:, rank]
            moved, bound, expected = aligned.correct(rank, self.traces[rank].calls[0].entry)
            axis = int(aligned.axis_of(rank).ranks[0])
            if rank == axis:
                continue
            error = (moved - EPOCH).astype(float) - self.clock(axis, self.entry[mine, rank])
            found.append((error, bound, expected))
        return tuple(np.concatenate(one) for one in zip(*found, strict=True))  # type: ignore[return-value]


def some_world(random: np.random.Generator, most_ranks: int = 64) -> World:
    """Returns a world of all that docs/align.md promises."""
    ranks = int(2 ** random.uniform(1, np.log2(most_ranks) + 0.01))
    op = 10 ** random.uniform(np.log10(20e3), np.log10(50e6))
    steps = int(10 ** random.uniform(1.5, 2.7 if ranks > 16 else 3.0))
    density = random.choice(["dense", "usual", "sparse", "bursts", "lone"])
    think = op * 10 ** random.uniform(-1, 1.5)
    pauses: tuple[tuple[int, float], ...] = ()
    if density == "dense":
        op, think = 20e3, 10 ** random.uniform(3, 5)
    elif density == "sparse":
        think = 10 ** random.uniform(9, 10.8)
    elif density == "bursts":
        where = np.sort(random.choice(steps, size=min(steps // 8, int(random.integers(1, 12))), replace=False))
        pauses = tuple((int(one), 10 ** random.uniform(9, 13)) for one in where)
    elif density == "lone":
        pauses = tuple((steps // 2 + i, 30e9 * random.uniform(0.1, 10)) for i in (0, 1))
    late = op * 10 ** random.uniform(-1.5, 1.5)
    always = (int(random.integers(ranks)), late * 10 ** random.uniform(-1, 1) * random.integers(2))
    return World(
        ranks=ranks,
        steps=steps,
        per=int(random.choice([1, 1, 3, 5])) if steps < 300 else 1,
        op=op,
        think=think,
        late=late,
        uneven=10 ** random.uniform(-3, 0),
        ends=min(op / 4, 10 ** random.uniform(2.5, 5.5)),
        ends_are=str(random.choice(["normal", "exponential", "uniform", "heavy"])),
        always=always,
        pauses=pauses,
        rate=random.uniform(0, 150e-6),
        wander=random.choice([0.0, random.uniform(0, 2e-9)]),
        apart=random.choice([0.0, 3e9, 3 * DAY]),
        stamp=int(random.choice([1, 1, 1000])),
    )


def files_apart(random: np.random.Generator, world: World) -> World:
    """Returns a world whose files have no sequence numbers, and begin, break off or lack calls as they like."""
    ranks, steps = world.ranks, world.steps
    begin = random.integers(0, max(1, min(12, steps // 6)) + 1, ranks) * random.integers(0, 2, ranks)
    end = steps - random.integers(0, max(1, min(12, steps // 6)) + 1, ranks) * random.integers(0, 2, ranks)
    gaps, lacks = [], []
    for rank in range(ranks):
        if random.random() < 0.15:
            from_step = int(random.integers(steps // 4, 3 * steps // 4))
            gaps.append((rank, from_step, from_step + int(random.integers(1, max(2, steps // 10)))))
        if world.per > 1 and random.random() < 0.15:
            lacks.append((rank, int(random.integers(world.per))))
    some = tuple(int(one) for one in np.flatnonzero(random.random(ranks) < 0.3))
    return replace(
        world,
        files=tuple((int(a), int(b)) for a, b in zip(begin, end, strict=True)),
        gaps=tuple(gaps),
        lacks=tuple(lacks),
        sequence=some if random.random() < 0.3 else (),
    )
