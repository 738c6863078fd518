"""Programs on clocks that are slewed, set, stopped and steered: drawn at random, with the truth of every stamp."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from downbeat.align.calls import Calls, Integers, RankTrace
from downbeat.align.clocks import Aligned
from downbeat.align.matching import Floats

EPOCH = 1_764_000_000_000_000_000  # ns
SHAPES = ("all", "halves", "ring", "pipeline")
BETWEEN = 400  # stamps of each rank that are of no call


@dataclass(frozen=True)
class Event:
    """A disturbance of a clock.

    Attributes:
        rank: whose clock.
        at: when it begins, ns.
        by: what it moves by in all, ns.
        lasts: how long that takes, ns; 0: at once.
    """

    rank: int
    at: float
    by: float
    lasts: float = 0.0


@dataclass(frozen=True)
class Program:
    """How a program runs. Times in ns.

    Attributes:
        calls: of each rank, about.
        spacing: from one call to the next, about.
        shape: which ranks call together: see `groups_of`.
        op, late, ends: durations of a call, mean lateness of a rank, scatter of the ends of a call.
        sequence: whether the files have sequence numbers.
    """

    ranks: int = 4
    calls: int = 400
    spacing: float = 20e6
    shape: str = "all"
    op: float = 50e3
    late: float = 100e3
    ends: float = 3e3
    sequence: bool = True

    @property
    def span(self) -> float:
        return self.calls * self.spacing


def groups_of(shape: str, ranks: int) -> list[tuple[tuple[int, ...], str, int]]:
    """Returns the calls of a step, in their order: members, operation, and a root's place among the members or -1."""
    everybody = tuple(range(ranks))
    half = ranks // 2
    if shape == "halves" and half > 1:
        return [
            (everybody[:half], "allreduce", -1),
            (everybody[half:], "allreduce", -1),
            ((half - 1, half), "allreduce", -1),
        ]
    if shape == "ring" and ranks > 2:
        return [(tuple(sorted((rank, (rank + 1) % ranks))), "allreduce", -1) for rank in everybody]
    if shape == "pipeline":
        there: list[tuple[tuple[int, ...], str, int]] = [((rank, rank + 1), "bcast", 0) for rank in everybody[:-1]]
        return there + [((rank, rank + 1), "bcast", 1) for rank in reversed(everybody[:-1])]
    return [(everybody, "allreduce", -1)]


class SteeredRun:
    """A run of a program on clocks with known disturbances.

    Attributes:
        traces: as they are read.
        stamps, times: of each rank: what its clock shows, at which instants, ns; of calls and of others.
        of_calls: how many of the stamps are of calls; they come first.
    """

    def __init__(self, seed: int, program: Program, events: tuple[Event, ...], steering: tuple[float, float]) -> None:
        """Runs it.

        Args:
            seed: draws all that is random.
            program: what runs.
            events: on its clocks.
            steering: by how much each clock's frequency changes, as a ratio, and each how many ns.
        """
        random = np.random.default_rng(seed)
        self.program, self.events = program, events
        ranks, groups = program.ranks, groups_of(program.shape, program.ranks)
        steps = max(program.calls // max(1, len(groups) * 2 // ranks), 3)
        now = np.zeros(ranks)
        rows: list[list[tuple[Floats, Floats]]] = [[] for _ in groups]
        for _ in range(steps):
            now += program.spacing * (0.9 + 0.2 * random.random())
            for number, (members, _, root) in enumerate(groups):
                mine = list(members)
                entry = now[mine] + random.exponential(program.late, len(mine))
                ready = np.full(len(mine), entry.max())
                if root >= 0:
                    ready = np.maximum(entry, entry[root])
                end = ready + program.op * (1.0 + 0.1 * random.exponential())
                end += np.abs(random.normal(3.0, 1.0, len(mine))) * program.ends
                now[mine] = end
                rows[number].append((entry, end))
            if program.shape == "all":
                now[:] = now.max() - random.exponential(program.late / 4, ranks)
        self.span = float(now.max())
        self.offset = random.uniform(-2e9, 2e9, ranks)
        self.rate = random.uniform(-75e-6, 75e-6, ranks)
        self.steps = self.steered(random, ranks, *steering)
        calls: list[list[Calls]] = [[] for _ in range(ranks)]
        true: list[list[Floats]] = [[] for _ in range(ranks)]
        for number, (members, operation, root) in enumerate(groups):
            entries, exits = (np.array(some) for some in zip(*rows[number], strict=True))
            for place, rank in enumerate(members):
                calls[rank].append(
                    Calls(
                        group=f"{number}",
                        ranks=members,
                        operation=np.full(steps, operation),
                        sequence=np.arange(steps) if program.sequence else None,
                        root=np.full(steps, members[root] if root >= 0 else -1),
                        size=np.full(steps, 4096),
                        entry=self.shown(rank, entries[:, place]),
                        exit=self.shown(rank, exits[:, place]),
                    )
                )
                true[rank] += [entries[:, place], exits[:, place]]
        self.traces = [RankTrace(Path(f"rank{rank}.json"), rank, "", tuple(calls[rank])) for rank in range(ranks)]
        beside = [random.uniform(-0.01, 1.01, BETWEEN) * self.span for _ in range(ranks)]
        self.of_calls = [sum(map(len, some)) for some in true]
        self.times = [np.concatenate([*some, more]) for some, more in zip(true, beside, strict=True)]
        self.stamps = [self.shown(rank, times) for rank, times in enumerate(self.times)]

    def steered(self, random: np.random.Generator, ranks: int, by: float, each: float) -> list[tuple[Floats, Floats]]:
        """Returns instants and corrections of each clock, ns, lines in between: what steering of frequency adds."""
        count = int(min(1.02 * self.span / each, 100_000)) + 2 if by else 2
        at = np.linspace(-0.02 * self.span, -0.02 * self.span + (count - 1) * each, count) if by else np.zeros(2)
        found = []
        for _ in range(ranks):
            rates = random.normal(0.0, by, count - 1) if by else np.zeros(1)
            # It follows the time of others, so it does not run away.
            rates -= np.concatenate([[0.0], rates[:-1]]) * 0.8
            found.append((at, np.concatenate([[0.0], np.cumsum(rates * np.diff(at))])))
        return found

    def clock(self, rank: int, true: Floats) -> Floats:
        """Returns what a clock shows, ns after the epoch."""
        shown = self.offset[rank] + true + self.rate[rank] * true
        if np.ptp(self.steps[rank][0]):
            shown = shown + np.interp(true, *self.steps[rank])
        for event in self.events:
            if event.rank == rank:
                passed = np.clip((true - event.at) / event.lasts, 0.0, 1.0) if event.lasts else true >= event.at
                shown = shown + event.by * passed
        found: Floats = shown
        return found

    def shown(self, rank: int, true: Floats) -> Integers:
        return EPOCH + np.floor(self.clock(rank, true)).astype(np.int64)

    def broken(self, aligned: Aligned) -> tuple[int, int]:
        """Returns how many stamps have a bound, and of how many it is less than the error."""
        bounded, wrong = 0, 0
        for rank in range(self.program.ranks):
            moved, bound, _ = aligned.correct(rank, self.stamps[rank])
            axis = int(aligned.axis_of(rank).ranks[0])
            error = np.abs((moved - EPOCH).astype(float) - self.clock(axis, self.times[rank]))
            bounded += int(np.isfinite(bound).sum())
            wrong += int((error > bound + 1.0).sum())
        return bounded, wrong


def some_program(random: np.random.Generator) -> Program:
    """Returns a program of all that docs/align.md promises."""
    ranks = int(2 ** random.uniform(1.0, 4.05))
    op = 10 ** random.uniform(4.0, 6.3)
    return Program(
        ranks=ranks,
        calls=int(10 ** random.uniform(np.log10(6), np.log10(3000)))
        if random.random() < 0.8
        else int(random.integers(6, 12)),
        spacing=10 ** random.uniform(np.log10(0.3e6), np.log10(4e9)),
        shape=str(random.choice(SHAPES, p=(0.55, 0.15, 0.15, 0.15))),
        op=op,
        late=op * 10 ** random.uniform(-1.0, 1.2),
        ends=min(op / 4, 10 ** random.uniform(2.0, 5.0)),
        sequence=bool(random.random() < 0.8),
    )


KINDS = ("slew", "fast slew", "step", "leap", "stop", "steered", "frequency", "quiet")


def some_events(
    random: np.random.Generator, kind: str, program: Program
) -> tuple[tuple[Event, ...], tuple[float, float]]:
    """Returns disturbances of a kind, and how frequencies are steered."""
    ranks, span = program.ranks, program.span
    count = 1 if random.random() < 0.7 else 2
    steering = (0.0, 0.0)
    events = []
    for _ in range(count):
        rank, at, sign = int(random.integers(ranks)), random.uniform(0.02, 0.98) * span, random.choice([-1.0, 1.0])
        if kind == "slew":
            by = 10 ** random.uniform(5, 7)
            events.append(Event(rank, at, sign * by, by / 10 ** random.uniform(np.log10(50e-6), np.log10(500e-6))))
        elif kind == "fast slew":
            by = 10 ** random.uniform(5, 7)
            events.append(Event(rank, at, sign * by, by / 10 ** random.uniform(np.log10(500e-6), np.log10(83e-3))))
        elif kind == "step":
            events.append(Event(rank, at, sign * 10 ** random.uniform(np.log10(20e3), np.log10(3e9))))
        elif kind == "stop":
            events.append(Event(rank, at, -random.choice([1e6, 50e6])))
        elif kind == "frequency":
            events.append(Event(rank, at, sign * 20e-6 * 2 * span, 2 * span))
    if kind == "leap":
        events = [Event(int(random.integers(ranks)), random.uniform(0.1, 0.9) * span, -1e9)]
    if kind == "steered":
        steering = (random.choice([0.5e-6, 5e-6]), 64e9)
    return tuple(events), steering


def drawn(seed: int, kind: str | None = None) -> SteeredRun:
    """Returns a run of a drawn program with a drawn disturbance."""
    random = np.random.default_rng(seed)
    program = some_program(random)
    # Without numbers, calls after a set clock may find no partner, and nothing ties the clock there any more.
    kind = kind or KINDS[seed % len(KINDS)]
    program = replace(program, sequence=program.sequence or kind in ("step", "leap", "stop"))
    events, steering = some_events(random, kind, program)
    return SteeredRun(seed, program, events, steering)
