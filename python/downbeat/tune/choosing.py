"""Chooses an algorithm for each cell, and compares with choices from another measurement."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

import numpy as np
import pandas as pd

from downbeat.comparison.judging import judge_matches, typical
from downbeat.comparison.matching import Match, Matcher, launches_text
from downbeat.comparison.notes import notes_on_kinds
from downbeat.comparison.sides import Launches
from downbeat.data.cells import OK, WRONG
from downbeat.output.facts.tuning import UncountedCells
from downbeat.output.fields import COMMON_START
from downbeat.run.plan import Plan
from downbeat.statistics.kinds import Series, slow_lines
from downbeat.statistics.location import Interval, typical_interval
from downbeat.statistics.verdicts import Comparison
from downbeat.text import bytes_text
from downbeat.tune.rules_format import DEFAULT, Cell
from downbeat.tune.sweep import Effort, LaunchMedians, Usable, digest_of, sweep_plan
from downbeat.tune.target import Target


def find_left_out(where: str, medians: LaunchMedians) -> list[UncountedCells]:
    """Returns the cells that do not count, by status, but for wrong results: these have consequences of their own."""
    left_out = []
    for status in sorted({*medians.status} - {OK, WRONG}):
        rows = medians[medians.status == status]
        groups = rows.groups(rows.collective, rows.ranks, rows.size, rows.algorithm, rows.synchronizer)
        names = tuple(
            f"{collective} of {bytes_text(size)} bytes on {ranks} ranks by {algorithm}, {synchronizer}: "
            f"{launches_text(group.launch)}"
            for (collective, ranks, size, algorithm, synchronizer), group in sorted(groups, key=itemgetter(0))
        )
        left_out.append(UncountedCells(where, status, names))
    return left_out


K = TypeVar("K")
# What computed wrong results: collective, ranks and algorithm -> the sizes, bytes.
WrongResults = Mapping[tuple[str, int, str], Sequence[int]]


@dataclass(frozen=True)
class TimedComparison(Comparison):
    """A comparison, with the typical launch of A and of B, s."""

    a: float = math.nan
    b: float = math.nan


@dataclass(frozen=True)
class Candidate:
    """An algorithm in a cell, compared with the default."""

    algorithm: str
    # The algorithm against the default, corrected over all algorithms in all cells; None if it was not measured.
    comparison: TimedComparison | None
    rejected: str  # why it was not chosen; empty if it was


@dataclass(frozen=True)
class Decision:
    """The choice for a cell."""

    cell: Cell
    algorithm: str
    candidates: tuple[Candidate, ...]  # fastest first


def match_algorithms(medians: LaunchMedians, a: str, b: str) -> Match:
    """Matches the launches of one cell that have a value by both algorithms."""
    of_a, of_b = (Launches.of_frame(medians.counted(name).frame().assign(counts=True, session="")) for name in (a, b))
    return Matcher().match({}, of_a, of_b, "algorithm")


def judge_by_key(matches: Mapping[K, Match], margin: float, confidence: float) -> dict[K, TimedComparison]:
    """Judges matches together; one with fewer than two launches is missing."""
    keys = [key for key, match in matches.items() if len(match.a) > 1]
    judged = judge_matches([matches[key] for key in keys], margin, confidence)
    return {
        key: TimedComparison(**vars(each.comparison), a=typical(each.match.a, False), b=typical(each.match.b, False))
        for key, each in zip(keys, judged, strict=True)
        if each.comparison
    }


def kinds_of(matches: Mapping[str, Match], margin: float, confidence: float) -> list[str]:
    """Lines on slow and on correlated launches of matches, by their names."""
    compared = {name: match for name, match in matches.items() if len(match.a) > 1}
    judged = judge_matches(list(compared.values()), margin, confidence)
    slow = slow_lines([Series(name, "", match.launches[1], match.b / match.a) for name, match in compared.items()])
    return [*slow, *notes_on_kinds(judged, list(compared))] if compared else []


def kinds_of_choice(
    medians: LaunchMedians, decisions: Sequence[Decision], margin: float, confidence: float
) -> list[str]:
    """Lines on kinds of launches in the chosen algorithms against the default; the medians are those of `choose`."""
    cells = medians.by_cell()
    return kinds_of(
        {
            f"{decision.cell} by {decision.algorithm}": match_algorithms(
                cells[decision.cell], DEFAULT, decision.algorithm
            )
            for decision in decisions
            if decision.algorithm != DEFAULT
        },
        margin,
        confidence,
    )


def wrong_results(medians: LaunchMedians) -> dict[tuple[str, int, str], list[int]]:
    """Returns the algorithms that computed wrong results in any launch, by any synchronizer."""
    sizes: dict[tuple[str, int, str], list[int]] = {}
    for cell, rows in medians[medians.status == WRONG].by_cell().items():
        for algorithm in sorted(set(rows.algorithm)):
            sizes.setdefault((cell.collective, cell.ranks, algorithm), []).append(cell.size)
    return sizes


def choose(medians: LaunchMedians, wrong: WrongResults, margin: float, confidence: float) -> list[Decision]:
    """Chooses an algorithm for each cell.

    Each algorithm is compared with the default launch by launch, and all comparisons are judged together, so that many
    algorithms in many cells do not make one of them look faster by chance (Holm 1979). It is chosen if it is faster by
    that verdict and its estimate better than the margin; of several the one with the best estimate. The far end of the
    interval need not lie beyond the margin as well: small gains would then cost thousands of launches, and how much is
    gained is measured by launches that had no part in the choice (`gain`): these favor the luckiest.

    An algorithm that computed wrong results once is never chosen for the collective on so many ranks, at any size.

    Args:
        medians: of one synchronizer.
        wrong: what computed wrong results.
        margin: ratios from 1 / (1 + margin) to 1 + margin are as good as 1.
        confidence: of intervals; the level of the tests follows from it.
    """
    cells = medians.by_cell()
    algorithms = {cell: sorted(set(rows.algorithm) - {DEFAULT}) for cell, rows in cells.items()}
    matches = {
        (cell, name): match_algorithms(rows, DEFAULT, name) for cell, rows in cells.items() for name in algorithms[cell]
    }
    judged = judge_by_key(matches, margin, confidence)

    def candidates(cell: Cell) -> list[Candidate]:
        return [
            candidate(name, wrong.get((cell.collective, cell.ranks, name), ()), judged.get((cell, name)))
            for name in algorithms[cell]
        ]

    return [decide(cell, candidates(cell)) for cell in algorithms]


def candidate(algorithm: str, wrong: Sequence[int], comparison: TimedComparison | None) -> Candidate:
    """Returns an algorithm with the reason not to choose it, if any; `wrong`: sizes with wrong results."""
    if wrong:
        rejected = f"wrong results at {', '.join(map(str, wrong))} bytes"
    elif comparison is None:
        rejected = "fewer than two launches have it beside the default"
    elif comparison.verdict != "faster":
        rejected = f"{comparison.verdict}: {comparison.reason}"
    elif comparison.ratio.estimate > 1 / (1 + comparison.margin):
        rejected = f"faster, but by less than the margin of {comparison.margin:.3g}"
    else:
        rejected = ""
    return Candidate(algorithm, comparison, rejected)


def decide(cell: Cell, candidates: Sequence[Candidate]) -> Decision:
    """Returns the choice among the candidates in a cell."""

    def ratio(candidate: Candidate) -> float:
        return candidate.comparison.ratio.estimate if candidate.comparison else math.inf

    ordered = sorted(candidates, key=ratio)
    chosen = next((each.algorithm for each in ordered if not each.rejected), DEFAULT)
    slower = f"faster, but {chosen} is faster still"
    judged = (
        each if each.rejected or each.algorithm == chosen else dataclasses.replace(each, rejected=slower)
        for each in ordered
    )
    return Decision(cell, chosen, tuple(judged))


@dataclass(frozen=True)
class OtherChoice:
    """A cell in which the other measurement leads to another choice."""

    cell: Cell
    chosen: str  # algorithm
    other: str  # by the same rule, from the samples of the other measurement


@dataclass(frozen=True)
class Prices:
    """The price of the other choices: their time / that of the choice that was made, both measured as that.

    Both were chosen as the luckiest of many from the launches of the sweep, which therefore show a price even between
    equal algorithms. Launches that had no part in either choice do not.

    Attributes:
        by_cell: judged together; a cell without two launches that have both algorithms is missing.
        mean: over these cells, each launch a number; None if there are none.
    """

    by_cell: dict[Cell, TimedComparison]
    mean: Interval | None

    def higher(self) -> list[Cell]:
        """Returns the cells in which the other choice is certainly slower."""
        return [cell for cell, comparison in self.by_cell.items() if comparison.verdict == "slower"]


def other_choices(
    medians: LaunchMedians, decisions: Sequence[Decision], wrong: WrongResults, margin: float, confidence: float
) -> list[OtherChoice]:
    """Returns the cells in which another measurement leads to another choice.

    Args:
        medians: of the other measurement.
        decisions: the choices.
        wrong: as in `choose`.
        margin: likewise.
        confidence: likewise.
    """
    chosen = {decision.cell: decision.algorithm for decision in decisions}
    return [
        OtherChoice(decision.cell, chosen[decision.cell], decision.algorithm)
        for decision in choose(medians, wrong, margin, confidence)
        if decision.algorithm != chosen.get(decision.cell, decision.algorithm)
    ]


def price_plans(target: Target, alternatives: Sequence[OtherChoice], effort: Effort) -> list[Plan]:
    """Experiments that measure both choices like the choice that was made, for each collective and number of ranks."""
    plans = []
    for (collective, ranks), group in groupby(alternatives, key=lambda each: (each.cell.collective, each.cell.ranks)):
        choices = list(group)
        algorithms = sorted({name for each in choices for name in (each.chosen, each.other)} - {DEFAULT})
        sizes = ",".join(str(each.cell.size) for each in choices)
        plan = sweep_plan(target, Usable(collective, ranks, algorithms), sizes, effort, COMMON_START)
        name = f"{collective}-n{ranks}-{digest_of([algorithms, sizes])}"
        plans.append(dataclasses.replace(plan, name=name, seed=effort.seed + 2))  # another order than that of the gain
    return plans


def compare_choices(
    medians: LaunchMedians, alternatives: Sequence[OtherChoice], margin: float, confidence: float
) -> Prices:
    """Compares both choices in each cell, launch by launch, all cells judged together.

    Args:
        medians: of launches that had no part in either choice.
        alternatives: the cells, with both choices.
        margin: ratios from 1 / (1 + margin) to 1 + margin are as good as 1.
        confidence: of the intervals; the level of the tests follows from it.
    """
    cells = medians.by_cell()
    matches = {
        other.cell: match_algorithms(cells[other.cell], other.chosen, other.other)
        for other in alternatives
        if other.cell in cells
    }
    by_cell = judge_by_key(matches, margin, confidence)
    if not by_cell:
        return Prices({}, None)
    ratios = [
        pd.Series(np.log(matches[cell].b) - np.log(matches[cell].a), matches[cell].launches[0]) for cell in by_cell
    ]
    launches = pd.concat(ratios, axis=1).mean(axis=1).dropna()  # of the cells that count in a launch
    hidden = float(np.mean([comparison.hidden for comparison in by_cell.values()]))
    return Prices(by_cell, typical_interval(np.exp(launches), confidence, hidden))
