"""Chooses an algorithm for each cell of a tuning, and compares with choices from another measurement.

A cell is a collective with a size on a number of ranks. The sweep measures every algorithm in every cell (sweep.py).
"""

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
    """Returns the cells that do not count, grouped by status; cells with wrong results are reported elsewhere.

    Args:
        where: the measurement, e.g. "sweep".
        medians: of the measurement.
    """
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
# (collective, ranks, algorithm) -> sizes with wrong results, bytes.
WrongResults = Mapping[tuple[str, int, str], Sequence[int]]


@dataclass(frozen=True)
class TimedComparison(Comparison):
    """A comparison of A and B, with the times of both."""

    a: float = math.nan  # time in the typical launch of A, s
    b: float = math.nan  # time in the typical launch of B, s


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
    """Pairs the launches of a cell that have a value by both algorithms, A and B; `medians` are those of the cell."""
    of_a, of_b = (Launches.of_frame(medians.counted(name).frame().assign(counts=True, session="")) for name in (a, b))
    return Matcher().match({}, of_a, of_b, "algorithm")


def judge_by_key(matches: Mapping[K, Match], margin: float, confidence: float) -> dict[K, TimedComparison]:
    """Judges matches together, corrected for their number; matches with fewer than two launches have no result."""
    keys = [key for key, match in matches.items() if len(match.a) > 1]
    judged = judge_matches([matches[key] for key in keys], margin, confidence)
    return {
        key: TimedComparison(
            **vars(cell.comparison), a=typical(cell.match.a, mean=False), b=typical(cell.match.b, mean=False)
        )
        for key, cell in zip(keys, judged, strict=True)
        if cell.comparison
    }


def kinds_of(matches: Mapping[str, Match], margin: float, confidence: float) -> list[str]:
    """Returns lines on slow and on correlated launches in matches; the lines have the names of the matches."""
    compared = {name: match for name, match in matches.items() if len(match.a) > 1}
    judged = judge_matches(list(compared.values()), margin, confidence)
    slow = slow_lines([Series(name, "", match.launches[1], match.b / match.a) for name, match in compared.items()])
    return [*slow, *notes_on_kinds(judged, list(compared))] if compared else []


def kinds_of_choice(
    medians: LaunchMedians, decisions: Sequence[Decision], margin: float, confidence: float
) -> list[str]:
    """Returns lines on slow and on correlated launches in the comparisons of chosen algorithms with the default.

    The arguments are those of `choose`, and its decisions.
    """
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
    """Returns the algorithms that computed wrong results in any launch, after any synchronizer, as `WrongResults`."""
    sizes: dict[tuple[str, int, str], list[int]] = {}
    for cell, rows in medians[medians.status == WRONG].by_cell().items():
        for algorithm in sorted(set(rows.algorithm)):
            sizes.setdefault((cell.collective, cell.ranks, algorithm), []).append(cell.size)
    return sizes


def choose(medians: LaunchMedians, wrong: WrongResults, margin: float, confidence: float) -> list[Decision]:
    """Chooses an algorithm for each cell.

    Each algorithm is compared with the default launch by launch. All comparisons are judged together, so that no
    algorithm looks faster by chance because there are many (Holm 1979). An algorithm can be chosen if the verdict is
    faster and the estimate of its ratio is beyond the margin; the algorithm with the best estimate is chosen. The whole
    interval need not be beyond the margin: small gains would then take thousands of launches. The estimate favors the
    luckiest algorithm, so the gain is measured again in launches that had no part in the choice (`measure_rules`).

    An algorithm that computed wrong results is never chosen for the collective on that number of ranks, at any size.

    Args:
        medians: of one synchronizer.
        wrong: algorithms that computed wrong results.
        margin: ratios from 1 / (1 + margin) to 1 + margin count as equal.
        confidence: of intervals; the level of the tests follows from it.
    """
    cells = medians.by_cell()
    algorithms = {cell: sorted(set(rows.algorithm) - {DEFAULT}) for cell, rows in cells.items()}
    matches = {
        (cell, name): match_algorithms(rows, DEFAULT, name) for cell, rows in cells.items() for name in algorithms[cell]
    }
    judged = judge_by_key(matches, margin, confidence)
    decisions = []
    for cell, names in algorithms.items():
        candidates = [
            candidate(name, wrong.get((cell.collective, cell.ranks, name), ()), judged.get((cell, name)))
            for name in names
        ]
        decisions.append(decide(cell, candidates))
    return decisions


def candidate(algorithm: str, wrong: Sequence[int], comparison: TimedComparison | None) -> Candidate:
    """Returns an algorithm with the reason not to choose it, if any.

    Args:
        algorithm: its name.
        wrong: sizes with wrong results.
        comparison: with the default; None: fewer than two launches.
    """
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
    """Chooses the fastest candidate in a cell that is not rejected, or the default; the others are then rejected."""
    ordered = sorted(
        candidates,
        key=lambda candidate: candidate.comparison.ratio.estimate if candidate.comparison else math.inf,
    )
    chosen = next((candidate.algorithm for candidate in ordered if not candidate.rejected), DEFAULT)
    slower = f"faster, but {chosen} is faster still"
    judged = (
        candidate
        if candidate.rejected or candidate.algorithm == chosen
        else dataclasses.replace(candidate, rejected=slower)
        for candidate in ordered
    )
    return Decision(cell, chosen, tuple(judged))


@dataclass(frozen=True)
class OtherChoice:
    """A cell in which the other measurement leads to another choice."""

    cell: Cell
    chosen: str  # algorithm that was chosen
    other: str  # algorithm that the samples of the other measurement lead to


@dataclass(frozen=True)
class Prices:
    """The prices of the other choices: the time of the other algorithm / the time of the chosen one.

    Both are measured again, from a common start, in launches that had no part in either choice. In the launches of the
    sweep, the algorithm that was chosen there looks faster even if the algorithms are equal.

    Attributes:
        by_cell: comparisons, judged together; cells with fewer than two launches of both algorithms are left out.
        mean: mean ratio over these cells and over launches; None: there are no cells.
    """

    by_cell: dict[Cell, TimedComparison]
    mean: Interval | None

    def higher(self) -> list[Cell]:
        """Returns the cells in which the other choice is significantly slower."""
        return [cell for cell, comparison in self.by_cell.items() if comparison.verdict == "slower"]


def other_choices(
    medians: LaunchMedians, decisions: Sequence[Decision], wrong: WrongResults, margin: float, confidence: float
) -> list[OtherChoice]:
    """Returns the cells in which another measurement leads to another choice.

    Args:
        medians: of the other measurement.
        decisions: the choices.
        wrong: as in `choose`.
        margin: as in `choose`.
        confidence: as in `choose`.
    """
    chosen = {decision.cell: decision.algorithm for decision in decisions}
    return [
        OtherChoice(decision.cell, chosen[decision.cell], decision.algorithm)
        for decision in choose(medians, wrong, margin, confidence)
        if decision.algorithm != chosen.get(decision.cell, decision.algorithm)
    ]


def price_plans(target: Target, alternatives: Sequence[OtherChoice], effort: Effort) -> list[Plan]:
    """Returns experiments that measure both choices from a common start, one per collective and number of ranks."""
    plans = []
    for (collective, ranks), group in groupby(
        alternatives, key=lambda choice: (choice.cell.collective, choice.cell.ranks)
    ):
        choices = list(group)
        algorithms = sorted({name for choice in choices for name in (choice.chosen, choice.other)} - {DEFAULT})
        sizes = ",".join(str(choice.cell.size) for choice in choices)
        plan = sweep_plan(target, Usable(collective, ranks, algorithms), sizes, effort, COMMON_START)
        name = f"{collective}-n{ranks}-{digest_of([algorithms, sizes])}"
        # Another seed than in the sweep and the measurement of the gain, so that the order of cells differs.
        plans.append(dataclasses.replace(plan, name=name, seed=effort.seed + 2))
    return plans


def compare_choices(
    medians: LaunchMedians, alternatives: Sequence[OtherChoice], margin: float, confidence: float
) -> Prices:
    """Compares both choices in each cell, launch by launch, all cells judged together.

    Args:
        medians: of launches that had no part in either choice.
        alternatives: the cells, with both choices.
        margin: as in `choose`.
        confidence: as in `choose`.
    """
    cells = medians.by_cell()
    matches = {
        choice.cell: match_algorithms(cells[choice.cell], choice.chosen, choice.other)
        for choice in alternatives
        if choice.cell in cells
    }
    by_cell = judge_by_key(matches, margin, confidence)
    if not by_cell:
        return Prices({}, None)
    ratios = [
        pd.Series(np.log(matches[cell].b) - np.log(matches[cell].a), matches[cell].launches[0]) for cell in by_cell
    ]
    launches = pd.concat(ratios, axis=1).mean(axis=1).dropna()  # mean over the cells that a launch has
    hidden = float(np.mean([comparison.hidden for comparison in by_cell.values()]))
    return Prices(by_cell, typical_interval(np.exp(launches), confidence, hidden))
