"""False rules by `downbeat tune` for equal algorithms, and false prices of choosing after MPI_Barrier.

Launch medians of six algorithms in 8 cells: launches deviate by 5 %, and each algorithm by 4 % more, independently from
a common start and after the barrier. Six algorithms that equal the default must not get rules. If six equal ones are
20 % faster than it, chance chooses one from a common start and another after the barrier: there is no price between
them, and none must be reported.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping

import numpy as np
from downbeat.data.cells import NO_PATTERN
from downbeat.output.fields import BARRIER, COMMON_START
from downbeat.statistics.series import LEFT_BY_INTERPOLATION, grouped_median
from downbeat.tune.choosing import Prices, choose, compare_choices, kinds_of_choice, other_choices
from downbeat.tune.proving import RULES, compare_cells, compare_rules, kinds_of_gain
from downbeat.tune.rules_format import DEFAULT, Rule
from downbeat.tune.sweep import LaunchMedians

from benchmarks.promises import Promise, at_least, at_most, by_chance
from tests.statistics import kinds
from tests.statistics.findings import Findings, Table, show_progress
from tests.statistics.simulated import autoregressive, simulate_stepped_launches

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


# What an algorithm deviates by from launch to launch in a cell: shape (rows, launches), logarithms.
Series = Callable[[np.random.Generator, int, int], np.ndarray]


def independent(random: np.random.Generator, rows: int, launches: int) -> np.ndarray:
    """Returns launches that know nothing of each other."""
    return random.normal(0, OWN, (rows, launches))


def correlated(random: np.random.Generator, rows: int, launches: int) -> np.ndarray:
    """Returns launches of an AR(1) process of 0.8."""
    return OWN * autoregressive(random, (rows, launches), 0.8)


def in_modes(random: np.random.Generator, rows: int, launches: int) -> np.ndarray:
    """Returns launches that deviate by 1 %, and of which 20 % are 10 % slower, in runs of five (Markov)."""
    return kinds.mixture(0.2, 1.1, run=5).draw(random, rows, launches).logs


def launch_medians(
    random: np.random.Generator,
    times: Times,
    synchronizer: str,
    series: Series = independent,
    cells: int = CELLS,
    launches: int = LAUNCHES,
) -> LaunchMedians:
    """Medians of algorithms with these true times in all cells."""
    shared = random.normal(0, LAUNCH, launches)
    own = series(random, cells * len(times), launches).reshape(cells, len(times), launches)
    values = np.array(list(times.values()))[:, np.newaxis] * np.exp(shared + own)
    rows = [
        ("bcast", 4, size, algorithm, synchronizer, NO_PATTERN, launch + 1, "ok", values[size, index, launch], 0.0)
        for size in range(cells)
        for index, algorithm in enumerate(times)
        for launch in range(launches)
    ]
    return LaunchMedians.of_tuples(rows)


def false_rules(random: np.random.Generator, experiments: int) -> float:
    """Returns the share of experiments in which an algorithm that is equal to the default gets a rule."""
    times = dict.fromkeys([DEFAULT, *EQUAL], 1.0)
    found = 0
    for _ in range(experiments):
        decisions = choose(launch_medians(random, times, COMMON_START), {}, 0.0, CONFIDENCE)
        found += any(decision.algorithm != DEFAULT for decision in decisions)
    return found / experiments


KINDS: dict[str, Series] = {
    "independent": independent,
    "AR(1) 0.8": correlated,
    "20 % slower by 10 %, in runs of 5": in_modes,
}
KIND_CELLS = 4


@dataclasses.dataclass
class Ruled:
    """Experiments in which equal algorithms get a rule: from the choice, and of these what the gain leaves."""

    chosen: float  # share of experiments in which any cell gets a rule
    kept: float  # in which the gain, measured anew, confirms any of them
    silent: float  # in which it does, and no line on kinds of launches is there
    held: float  # share of cells whose gain's interval holds 1


def rules_of_equal(random: np.random.Generator, series: Series, launches: int, experiments: int) -> Ruled:
    """Returns what becomes of six algorithms that equal the default, under the default margin."""
    times = dict.fromkeys([DEFAULT, *EQUAL], 1.0)
    found = Ruled(0.0, 0.0, 0.0, 0.0)
    for _ in range(experiments):
        sweep = launch_medians(random, times, COMMON_START, series, KIND_CELLS, launches)
        decisions = choose(sweep, {}, MARGIN, CONFIDENCE)
        chosen = [one.cell for one in decisions if one.algorithm != DEFAULT]
        both = dict.fromkeys([DEFAULT, RULES], 1.0)
        again = launch_medians(random, both, COMMON_START, series, KIND_CELLS, launches)
        gains = compare_cells(again, MARGIN, CONFIDENCE)
        rules = [Rule(cell.collective, cell.ranks, cell.size, cell.size, "a") for cell in chosen]
        confirmed = [one for one in compare_rules(again, rules, MARGIN, CONFIDENCE).values() if one.verdict == "faster"]
        rule = (MARGIN, CONFIDENCE)
        lines = kinds_of_choice(sweep, decisions, *rule) + kinds_of_gain(again, rules, *rule) if confirmed else []
        found.chosen += bool(chosen) / experiments
        found.kept += bool(confirmed) / experiments
        found.silent += (bool(confirmed) and not lines) / experiments
        found.held += sum(one.ratio.low <= 1 <= one.ratio.high for one in gains.values()) / experiments / KIND_CELLS
    return found


def simulate_kinds(experiments: int) -> Findings:
    """Returns how often algorithms that equal the default get a rule where launches are of several kinds."""
    random = np.random.default_rng(2026)
    count = max(experiments // 80, 5)
    rows: list[tuple[str | float, ...]] = []
    promises = []
    for name, series in KINDS.items():
        for launches in (LAUNCHES, 3 * LAUNCHES):
            show_progress(f"choices, {name}, {launches} launches")
            found = rules_of_equal(random, series, launches, count)
            rows.append((name, launches, *dataclasses.astuple(found)))
            promises.append(at_most(f"rules for equal algorithms, {name}, {launches} launches", found.kept, 0.05))
    columns = ("launches of each", "launches", "chosen", "kept", "kept in silence", "gain's interval holds")
    title = f"Rules for six algorithms that equal the default, {KIND_CELLS} cells, {count} experiments"
    return Findings([Table(title, columns, rows)], promises)


STEPPED_SAMPLES, STEPPED_RANKS, STEPPED_NOISE = 200, 2, 0.3  # ns: of a sample of one rank
STEPPED = ((153.0, 156.5), (205.0, 202.7), (252.0, 250.0), (399.0, 395.4), (102.0, 103.0))  # ns, default and rules


def stepped_gain(
    random: np.random.Generator, times: tuple[float, float], step: float, deviation: float, known: bool = True
) -> LaunchMedians:
    """Medians of one cell without and under rules, read with a clock that advances in steps, s.

    Args:
        random: draws.
        times: without and under rules, ns.
        step: of the clock, ns.
        deviation: of launches, of logarithms.
        known: whether the uncertainty is that of the step, or 0.
    """
    rows = []
    read = step / STEPPED_RANKS
    for algorithm, time in zip((DEFAULT, RULES), times, strict=True):
        for launch in range(1, LAUNCHES + 1):
            truth = time * math.exp(random.normal(0, deviation))
            samples = simulate_stepped_launches(random, 1, STEPPED_SAMPLES, truth, STEPPED_NOISE, step, STEPPED_RANKS)
            median = grouped_median(samples[0], read) * 1e-9
            uncertainty = LEFT_BY_INTERPOLATION * read * 1e-9 if known else 0.0
            rows.append(("bcast", 2, 8, algorithm, COMMON_START, NO_PATTERN, launch, "ok", median, uncertainty))
    return LaunchMedians.of_tuples(rows)


def gain_holds(
    random: np.random.Generator,
    times: tuple[float, float],
    step: float,
    deviation: float,
    experiments: int,
    known: bool = True,
) -> tuple[float, float]:
    """Returns the share of experiments whose interval of the gain holds the truth, of the cell and of its rule."""
    ratio = times[1] / times[0]
    rule = Rule("bcast", 2, 8, 8, "a")
    held = np.zeros(2)
    for _ in range(experiments):
        medians = stepped_gain(random, times, step, deviation, known)
        cell = next(iter(compare_cells(medians, MARGIN, CONFIDENCE).values()))
        both = (cell, compare_rules(medians, [rule], MARGIN, CONFIDENCE)[rule])
        held += [one.ratio.low <= ratio <= one.ratio.high for one in both]
    cell_held, rule_held = held / experiments
    return float(cell_held), float(rule_held)


def simulate_steps(experiments: int) -> Findings:
    """Returns what the intervals of gains hold where the clock advances in steps."""
    random = np.random.default_rng(2026)
    count = max(experiments // 80, 10)
    rows: list[tuple[str | float, ...]] = []
    promises = []
    for step in (5.0, 10.0):
        for times in STEPPED:
            show_progress(f"gains, {times[0]:g} and {times[1]:g} ns in steps of {step:g}")
            shares = []
            for deviation in (0.0002, 0.001, 0.01):
                shares.append(min(gain_holds(random, times, step, deviation, count)))
            rows.append((f"{times[0]:g} / {times[1]:g}", step, *shares))
            low = 0.95 - by_chance(0.95, count)
            promises.append(at_least(f"gain, {times[0]:g} ns in steps of {step:g}: holds", min(shares), low))
    columns = ("default / rules, ns", "step, ns", "launches 0.02 %", "0.1 %", "1 %")
    title = f"Coverage of the 95 % interval of a gain, {LAUNCHES} launches, cell and rule: the smaller"
    return Findings([Table(title, columns, rows)], promises)


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
        harmonized = launch_medians(random, times, COMMON_START)
        after = launch_medians(random, after_barrier, BARRIER)
        decisions = choose(harmonized, {}, MARGIN, CONFIDENCE)
        others = other_choices(after, decisions, {}, MARGIN, CONFIDENCE)
        for reported, medians in ((same, harmonized), (fresh, launch_medians(random, times, COMMON_START))):
            reported.add(compare_choices(medians, others, MARGIN, CONFIDENCE), truth)
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
