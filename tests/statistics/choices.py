"""False rules by `downbeat tune` for equal algorithms, and false prices of choosing after MPI_Barrier.

Launch medians of six algorithms in 8 cells: launches deviate by 5 %, and each algorithm by 4 % more, independently from
a common start and after the barrier. Six algorithms that equal the default must not get rules. If six equal ones are
20 % faster than it, chance chooses one from a common start and another after the barrier: there is no price between
them, and none must be reported.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from downbeat.comparison.summaries import NO_PATTERN
from downbeat.tune.choosing import Prices, choose, compare_choices, other_choices
from downbeat.tune.rules_format import DEFAULT
from downbeat.tune.sweep import HARMONIZE, MPI_BARRIER, SWEEP_COLUMNS

from benchmarks.promises import Promise, at_least, at_most, by_chance
from tests.statistics.findings import Findings, Table, show_progress

LAUNCHES = 10
CELLS = 8
LAUNCH = 0.05  # standard deviations of logarithms
OWN = 0.04
MARGIN = 0.05  # as `downbeat tune` has it by default
CONFIDENCE = 0.95
EQUAL = [f"equal{number}" for number in range(6)]
Times = Mapping[str, float]


@dataclasses.dataclass
class Reported:
    """Reports on cells in which the barrier leads to another choice, over experiments."""

    cells: int = 0  # that have another choice
    higher: int = 0  # of these, with a significant price
    any_higher: int = 0  # experiments that report one or more
    means: list[float] = dataclasses.field(default_factory=list)  # logarithms, one for each experiment
    held: int = 0  # experiments whose interval of the mean price holds the truth

    def add(self, prices: Prices, truth: float) -> None:
        """Adds an experiment whose prices are all `truth`."""
        self.cells += len(prices.by_cell)
        self.higher += len(prices.higher())
        self.any_higher += bool(prices.higher())
        if prices.mean:
            self.means.append(math.log(prices.mean.estimate))
            self.held += prices.mean.low <= truth <= prices.mean.high

    def row(self, experiments: int) -> tuple[float, ...]:
        """Returns cells with another choice, with a price, experiments with one, the mean price, and coverage."""
        return (
            self.cells / (experiments * CELLS),
            self.higher / (experiments * CELLS),
            self.any_higher / experiments,
            math.exp(np.mean(self.means)),
            self.held / len(self.means),
        )


def launch_medians(random: np.random.Generator, times: Times, synchronizer: str) -> pd.DataFrame:
    """Returns `sweep.COLUMNS` of algorithms with these true times in all cells."""
    shared = random.normal(0, LAUNCH, LAUNCHES)
    own = random.normal(0, OWN, (CELLS, len(times), LAUNCHES))
    values = np.array(list(times.values()))[:, np.newaxis] * np.exp(shared + own)
    rows = [
        ("bcast", 4, size, algorithm, synchronizer, NO_PATTERN, launch + 1, "ok", values[size, index, launch], 0.0)
        for size in range(CELLS)
        for index, algorithm in enumerate(times)
        for launch in range(LAUNCHES)
    ]
    return pd.DataFrame(rows, columns=list(SWEEP_COLUMNS))


def false_rules(random: np.random.Generator, experiments: int) -> float:
    """Returns the share of experiments in which an algorithm that is equal to the default gets a rule."""
    times = dict.fromkeys([DEFAULT, *EQUAL], 1.0)
    found = 0
    for _ in range(experiments):
        decisions = choose(launch_medians(random, times, HARMONIZE), {}, 0.0, CONFIDENCE)
        found += any(decision.algorithm != DEFAULT for decision in decisions)
    return found / experiments


def prices(random: np.random.Generator, after_barrier: Times, truth: float, experiments: int) -> list[Reported]:
    """Returns the prices that the launches of the choice show, and those of fresh launches.

    Args:
        random: draws.
        after_barrier: what each algorithm takes after the barrier; from a common start all take 1, but the default 1.25
            and the first of `EQUAL` 1 / truth.
        truth: the price of what the barrier leads to.
        experiments: how many.
    """
    times = {DEFAULT: 1.25} | dict.fromkeys(EQUAL, 1.0) | {EQUAL[0]: 1 / truth}
    same, fresh = Reported(), Reported()
    for _ in range(experiments):
        harmonized = launch_medians(random, times, HARMONIZE)
        after = launch_medians(random, after_barrier, MPI_BARRIER)
        decisions = choose(harmonized, {}, MARGIN, CONFIDENCE)
        others = other_choices(after, decisions, {}, MARGIN, CONFIDENCE)
        for reported, frame in ((same, harmonized), (fresh, launch_medians(random, times, HARMONIZE))):
            reported.add(compare_choices(frame, others, MARGIN, CONFIDENCE), truth)
    return [same, fresh]


def simulate(experiments: int) -> Findings:
    """Returns false rules, prices and their promises."""
    random = np.random.default_rng(2026)
    count = max(experiments // 40, 5)
    show_progress("choices, false rules")
    rules = false_rules(random, count)
    show_progress("choices, prices of equal algorithms")
    equal = prices(random, {DEFAULT: 1.25} | dict.fromkeys(EQUAL, 1.0), 1.0, count)
    show_progress("choices, a price of 8 %")
    dear = prices(random, {DEFAULT: 1.25} | dict.fromkeys(EQUAL, 1.0) | {EQUAL[1]: 0.8}, 1.08, count)
    rows: list[tuple[str | float, ...]] = [
        (algorithms, launches, *reported.row(count))
        for algorithms, found in (("six equal", equal), ("one 8 % faster", dear))
        for launches, reported in zip(("those of the choice", "others"), found, strict=True)
    ]
    table = Table(
        f"Price of choosing after MPI_Barrier, {CELLS} cells, {LAUNCHES} launches, {count} experiments",
        ("algorithms", "estimated on", "other choice", "with a price", "any", "mean price", "interval holds"),
        rows,
    )
    return Findings([table], [at_most("rules for algorithms that equal the default", rules, 0.05), *promises(equal[1])])


def promises(equal: Reported) -> list[Promise]:
    """Returns the promises on equal algorithms."""
    mean = float(np.mean(equal.means))
    error = float(np.std(equal.means, ddof=1)) / math.sqrt(len(equal.means))
    return [
        Promise("mean price between equal algorithms", mean, f"0 +- {3 * error:.4f}", abs(mean) <= 3 * error),
        at_least(
            "interval of the mean price between equal algorithms",
            equal.held / len(equal.means),
            0.95 - by_chance(0.95, len(equal.means)),
        ),
        at_most("a price between equal algorithms in any cell", equal.any_higher / len(equal.means), 0.05),
    ]
