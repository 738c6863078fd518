"""Intervals and verdicts on real launches, drawn again from a committed sample.

`real_launches.csv` has a row a launch: seconds since the first, the round trip of a cache line (canary) in ns, then the
median of each cell in ns: allreduce, bcast, reduce and alltoall of 8, 256 and 4096 bytes after MPI_Barrier and after
MPIX_Harmonize, 500 calls each, mean over both ranks. Two ranks of a virtual machine with two processors, Open MPI 4.1,
one launch every 16 s on 27 November 2026, while other programs of the machine were stopped for the launch. Nothing was
left out. `python -m tests.statistics.real DIRECTORY` writes the sample from files of downbeat-bench.

The truth of a cell is its geometric mean over all launches of the sample in one state.
"""

from __future__ import annotations

import csv
import dataclasses
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
from downbeat.data.cells import CANARY_HIGH, CANARY_LOW
from downbeat.data.states import names_of_classes
from downbeat.run.experiment import open_experiment
from scipy import stats

from benchmarks.promises import Promise, at_least, at_most, by_chance
from tests.statistics import printed
from tests.statistics.findings import Findings, Table, show_progress
from tests.statistics.simulated import Floats

SAMPLE = Path(__file__).with_name("real_launches.csv")
SECONDS, CANARY = "seconds", "canary ns"
BARRIER, COMMON_START = "mpi_barrier", "harmonize"
NANOSECONDS = 1e9


def write_sample(directory: Path, target: Path = SAMPLE) -> int:
    """Writes the sample of the files `*.nc` of a directory, one a launch; returns how many there are."""
    rows: list[dict[str, str]] = []
    first = None
    for path in sorted(directory.glob("*.nc")):
        launch = open_experiment(path)
        began = datetime.fromisoformat(str(launch.launches[0].context["date"]))
        first = first or began
        cells = launch.cells
        trip = math.sqrt(cells[CANARY_LOW].median() * cells[CANARY_HIGH].median()) * NANOSECONDS
        row = {SECONDS: f"{(began - first).total_seconds():.0f}", CANARY: f"{trip:.0f}"}
        for _, cell in cells.iterrows():
            name = f"{cell['operation']} {cell['size']} {cell['synchronizer']}"
            row[name] = f"{cell['latency_avg_median'] * NANOSECONDS:.1f}"
        rows.append(row)
    with target.open("w", newline="", encoding="ascii") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


@dataclass(frozen=True)
class Sample:
    """Launches in the order of time.

    Attributes:
        cells: operation, size and synchronizer of each.
        logs: of the medians in s, shape (launches, cells).
        trips: of a cache line, s, shape (launches,).
    """

    cells: list[tuple[str, int, str]]
    logs: Floats
    trips: Floats

    def rows(self, which: np.ndarray) -> Sample:
        """Returns some launches, in the order that is given."""
        return Sample(self.cells, self.logs[which], self.trips[which])

    def after(self, synchronizer: str) -> Sample:
        """Returns the cells after a synchronizer."""
        kept = [index for index, cell in enumerate(self.cells) if cell[2] == synchronizer]
        return Sample([self.cells[index] for index in kept], self.logs[:, kept], self.trips)

    def frame(self, with_canary: bool = False) -> pd.DataFrame:
        """Returns the cells of the launches as `compare` takes them."""
        trips = self.trips if with_canary else None
        parts = [
            printed.cells_of(column - math.log(printed.TIME), trips, operation=name, size=size, synchronizer=start)
            for (name, size, start), column in zip(self.cells, self.logs.T, strict=True)
        ]
        return pd.concat(parts, ignore_index=True)


def read_sample() -> Sample:
    """Returns the committed sample."""
    with SAMPLE.open(encoding="ascii") as file:
        head, *lines = csv.reader(file)
    numbers = np.array(lines, dtype=float)
    names = [tuple(name.split()) for name in head[2:]]
    cells = [(operation, int(size), synchronizer) for operation, size, synchronizer in names]
    return Sample(cells, np.log(numbers[:, 2:] / NANOSECONDS), numbers[:, 1] / NANOSECONDS)


def in_one_state(sample: Sample) -> Sample:
    """Returns the launches in the state that most of them are in."""
    states = names_of_classes(sample.trips)
    names, counts = np.unique(states.astype(str), return_counts=True)
    return sample.rows(np.flatnonzero(states == names[counts.argmax()]))


Choose = Callable[[np.random.Generator, int, int], np.ndarray]


def at_random(random: np.random.Generator, of: int, launches: int) -> np.ndarray:
    """Chooses launches independently of each other."""
    return random.integers(of, size=launches)


def in_a_row(random: np.random.Generator, of: int, launches: int) -> np.ndarray:
    """Chooses launches that followed each other."""
    return random.integers(of - launches + 1) + np.arange(launches)


@dataclass(frozen=True)
class Coverage:
    """Shares of intervals: that hold; that miss in silence; of all that miss, whose launches lack the slowest tenth."""

    holds: float
    silent: float
    lacking: float


def coverage(random: np.random.Generator, sample: Sample, choose: Choose, launches: int, count: int) -> Coverage:
    """Returns how often intervals over launches hold the truth, all cells together."""
    truth, slow = sample.logs.mean(axis=0), np.quantile(sample.logs, 1 - SLOWEST, axis=0)
    held, lacking = [], []
    silent: list[bool] = []
    for _ in range(count):
        logs = sample.logs[choose(random, len(sample.logs), launches)]
        half = stats.t.ppf(0.975, launches - 1) * logs.std(axis=0, ddof=1) / math.sqrt(launches)
        holds = np.abs(logs.mean(axis=0) - truth) <= half
        held.append(holds.mean())
        lacks = logs.max(axis=0) < slow
        lacking += list(lacks[~holds])
        if len(silent) < MOST_READ and not holds.all():
            cell = int(random.choice(np.flatnonzero(~holds)))
            cause = printed.Cause(
                SLOWEST if lacks[cell] else math.inf, rare=True, in_order=choose is in_a_row, lasting=choose is in_a_row
            )
            text = printed.show(printed.cells_of(logs[:, cell] - math.log(printed.TIME)))
            silent.append(not printed.names_cause(text, launches, cause))
    holding = float(np.mean(held))
    missed = (float(np.mean(one)) if one else 0.0 for one in (silent, lacking))
    return Coverage(holding, (1 - holding) * next(missed), next(missed))


def halves_at_random(random: np.random.Generator, of: int, launches: int) -> tuple[np.ndarray, np.ndarray]:
    """Chooses two sides without a launch in common."""
    both = random.permutation(of)[: 2 * launches]
    return np.sort(both[:launches]), np.sort(both[launches:])


def in_turn(random: np.random.Generator, of: int, launches: int) -> tuple[np.ndarray, np.ndarray]:
    """Chooses every other launch of some in a row."""
    both = in_a_row(random, of, 2 * launches)
    return both[::2], both[1::2]


def one_after_the_other(random: np.random.Generator, of: int, launches: int) -> tuple[np.ndarray, np.ndarray]:
    """Chooses the first and the second half of some launches in a row."""
    both = in_a_row(random, of, 2 * launches)
    return both[:launches], both[launches:]


@dataclass(frozen=True)
class Equal:
    """Shares: of comparisons in which any cell is called different, and of cells whose interval holds a ratio of 1."""

    false: float
    holds: float


def equal_sides(random: np.random.Generator, sample: Sample, how: str, launches: int, count: int) -> Equal:
    """Compares sides that are equal, all cells together."""
    false, held = 0, []
    for _ in range(count):
        if how == PAIRS:
            some = sample.rows(np.sort(random.permutation(len(sample.logs))[:launches]))
            a, b = some.after(COMMON_START), some.after(BARRIER)
            swapped = random.random(launches)[:, np.newaxis] < 0.5
            one = Sample(a.cells, np.where(swapped, b.logs, a.logs), some.trips)
            other = Sample(a.cells, np.where(swapped, a.logs, b.logs), some.trips)
            found = printed.compare_pairs(one.frame(), other.frame())
        else:
            first, second = SIDES[how](random, len(sample.logs), launches)
            found = printed.compare_apart(sample.rows(first).frame(), sample.rows(second).frame())
        false += bool({"faster", "slower"} & set(found.verdicts))
        held += [low <= 0 <= high for low, high in found.intervals]
    return Equal(false / count, float(np.mean(held)))


SIDES = {"halves at random": halves_at_random, "in turn": in_turn, "one after the other": one_after_the_other}
SLOWEST, MOST_READ = 0.1, 20  # share of launches; intervals that are read
COUNTS = (3, 5, 7, 10, 20, 40)
PAIRS = "pairs, sides drawn"
PLANTED_TIME, PLANTED_TRIP, SHARE = 0.28, 0.25, 0.2  # factors on times and round trips; share of launches


def simulate(experiments: int) -> Findings:
    """Returns what intervals over real launches hold, how often equal sides differ, and what first runs decide."""
    random = np.random.default_rng(2026)
    sample = read_sample()
    one = in_one_state(sample)
    show_progress(f"real launches, {len(one.logs)} of {len(sample.logs)} in one state")
    covered = {
        (name, launches): coverage(random, one, choose, launches, experiments // 2)
        for name, choose in (("at random", at_random), ("in a row", in_a_row))
        for launches in COUNTS
    }
    least = 0.93 - by_chance(0.93, experiments // 2)
    promises: list[Promise] = [
        at_least(f"{launches} real launches {name}: interval holds", found.holds, least)
        for (name, launches), found in covered.items()
        if name == "at random"
    ]
    promises += [
        at_most(f"{launches} real launches {name}: misses in silence", found.silent, 0.05)
        for (name, launches), found in covered.items()
    ]
    count = max(experiments // 400, 5)
    equal: dict[tuple[str, int], Equal] = {}
    for how in (*SIDES, PAIRS):
        for launches in (5, 10, 20):
            show_progress(f"real launches, {how}, {launches}")
            equal[how, launches] = equal_sides(random, one, how, launches, count)
    false = float(np.mean([found.false for found in equal.values()]))
    most = 0.05 + by_chance(0.05, len(equal) * count)
    promises.append(at_most("real launches: any of equal cells called different", false, most))
    where = f"Real launches, {len(one.logs)} in one state"
    return Findings(
        [
            Table(
                f"{where}: 95 % intervals over launches, all {len(one.cells)} cells; silent misses, and the share\n"
                "of misses whose launches lack all of the slowest tenth",
                ("launches", "n", "holds", "silent", "lack the slowest"),
                [(*key, *dataclasses.astuple(found)) for key, found in covered.items()],
            ),
            Table(
                f"{where}, equal sides, {len(one.cells)} cells (of pairs half as many), Holm's correction",
                ("sides", "n", "any false", "ratio holds"),
                [(*key, *dataclasses.astuple(found)) for key, found in equal.items()],
            ),
            first_runs(random, one, count),
        ],
        promises,
    )


def planted_run(random: np.random.Generator, sample: Sample, most_frequent: int, other: int) -> Sample:
    """Returns 10 launches and those that it takes until both states have as many as asked for.

    The second, faster state is planted: the same launches with shorter times, so that ratios are the same in both.
    """
    fast: list[bool] = []
    while (
        len(fast) < 10
        or max(sum(fast), len(fast) - sum(fast)) < most_frequent
        or (min(sum(fast), len(fast) - sum(fast)) < other)
    ):
        fast.append(bool(random.random() < SHARE))
    drawn = sample.rows(at_random(random, len(sample.logs), len(fast)))
    states = np.array(fast)
    trips = np.where(states, PLANTED_TRIP, 1.0) * np.median(sample.trips)
    return Sample(drawn.cells, drawn.logs + math.log(PLANTED_TIME) * states[:, np.newaxis], trips)


def first_runs(random: np.random.Generator, sample: Sample, count: int) -> Table:
    """Returns what first runs of some lengths decide within states, where a fifth of the launches are in a second."""
    barrier, start = sample.after(BARRIER), sample.after(COMMON_START)
    ratios = (barrier.logs - start.logs).mean(axis=0)
    truth = {cell[:2]: ratio for cell, ratio in zip(barrier.cells, ratios, strict=True)}
    rows: list[tuple[str | float, ...]] = []
    for name, least in (("10 launches", (0, 0)), ("10 in the larger state", (10, 0)), ("10 in both states", (10, 10))):
        show_progress(f"first runs, {name}")
        totals = np.zeros(5)
        for _ in range(count):
            run = planted_run(random, sample, *least)
            found = printed.compare_pairs(run.after(COMMON_START).frame(True), run.after(BARRIER).frame(True))
            decided = sum(verdict in ("faster", "slower", "equivalent") for verdict in found.verdicts)
            wrong = sum(
                printed.is_wrong(verdict, truth[cell])
                for verdict, cell in zip(found.verdicts, found.cells, strict=True)
            )
            totals += len(run.logs), len(found.verdicts), decided, len(found.verdicts) - decided, wrong
        rows.append((name, *map(float, totals / count)))
    title = "First runs, barrier against common start within states, a fifth of launches in a second state; means"
    return Table(title, ("until", "launches", "rows", "decided", "undecided", "wrong"), rows)


if __name__ == "__main__":
    print(f"{write_sample(Path(sys.argv[1]))} launches in {SAMPLE}")
