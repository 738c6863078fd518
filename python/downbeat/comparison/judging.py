"""Judges matched cells, for `compare`, `run`, `report` and `tune`.

All matches of one question are judged together, as one family of tests for Holm's correction.
docs/statistics.md lists the families:

    compare, the end of run, report    all cells of one pair of values from a common start; all others
    report: algorithms                 all pairs of algorithms, in all cases of one operation, from a common start
    tune: choice                   all algorithms in all cells, each against the default
    tune: gain, gain of rules      all cells; all rules
    tune: price                    all cells in which another measurement chooses otherwise
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from downbeat.comparison.compared import UNMATCHED, Verdicts
from downbeat.comparison.matching import ONLY_IN, Match
from downbeat.statistics.hodges_lehmann import one_sample
from downbeat.statistics.power import EFFECT, VerdictRule, detectable_ratio, launches_alike, launches_needed
from downbeat.statistics.slow_launches import unseen_share
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN, Comparison, judge_together
from downbeat.tables import Floats


@dataclass(frozen=True)
class Judged:
    """A cell with its verdict; `comparison` is None if the match has an obstacle."""

    match: Match
    comparison: Comparison | None

    @property
    def verdict(self) -> str:
        """B is faster, slower, equivalent, undecided, or unmatched."""
        if self.comparison:
            return self.comparison.verdict
        return UNMATCHED if self.match.obstacle.startswith(ONLY_IN) else "undecided"

    @property
    def reason(self) -> str:
        """The reason of the verdict in words."""
        return self.comparison.reason if self.comparison else self.match.obstacle


def judge_matches(matches: Sequence[Match], margin: float = MARGIN, confidence: float = CONFIDENCE) -> list[Judged]:
    """Judges matches as one family of tests; a match with an obstacle is not a test."""
    judged = iter(judge_together([cell.compared(margin, confidence) for cell in matches if not cell.obstacle]))
    return [Judged(cell, None if cell.obstacle else next(judged)) for cell in matches]


def count_tests(judged: Sequence[Judged]) -> int:
    """Returns the number of comparisons that Holm's correction counts."""
    return sum(cell.comparison.tested for cell in judged if cell.comparison)


def verdicts_of(judged: Sequence[Judged]) -> Verdicts:
    """Returns a table of cells that were judged together."""
    powers = iter(powers_of([cell.comparison for cell in judged if cell.comparison], count_tests(judged)))
    rows = []
    for cell in judged:
        numbers: dict[str, float] = {}
        if cell.comparison:
            numbers = {**numbers_of(cell.match, cell.comparison), **next(powers)}
        elif cell.match.history_is_a and cell.match.b.size:  # the history lacks the cell, so only B has numbers
            numbers = {"b": typical(cell.match.b, mean=False), "launches_b": cell.match.b.size}
        rows.append({**cell.match.factors, **numbers, "verdict": cell.verdict, "reason": cell.reason})
    return Verdicts.of_rows(rows)


def rule_of(comparisons: Sequence[Comparison], tests: int) -> VerdictRule:
    """Returns the rule of verdicts among `tests` tests, with Holm's strictest correction."""
    first = comparisons[0]
    hidden = np.array([comparison.hidden for comparison in comparisons])
    return VerdictRule(first.level / max(tests, 1), first.margin, first.confidence, hidden)


def powers_of(comparisons: Sequence[Comparison], tests: int) -> list[dict[str, float]]:
    """Returns the power of comparisons among `tests` tests: `detectable_ratio`, `launches_needed` and `launches_alike`.

    Uses Holm's strictest correction. `launches_needed` and `launches_alike` are NaN for comparisons with a history,
    because more launches do not reduce deviations between sessions.
    """
    if not comparisons:
        return []
    rule = rule_of(comparisons, tests)
    error, deviation, freedom, paired = (
        np.array([getattr(test, name) for test in comparisons]) for name in ("error", "deviation", "freedom", "paired")
    )
    needed, alike = np.full((2, len(comparisons)), math.nan)
    # Cells without a history that have an estimate of the deviation.
    known = [i for i, test in enumerate(comparisons) if min(test.launches) >= 2 and test.sessions is None]
    rule_of_known = dataclasses.replace(rule, hidden=np.asarray(rule.hidden)[known])
    needed[known] = launches_needed(EFFECT, deviation[known], freedom[known], paired[known], rule_of_known)
    alike[known] = launches_alike(deviation[known], freedom[known], paired[known], rule_of_known)
    names = ("detectable_ratio", "launches_needed", "launches_alike")
    numbers = zip(detectable_ratio(error, freedom, rule).tolist(), needed.tolist(), alike.tolist(), strict=True)
    return [dict(zip(names, values, strict=True)) for values in numbers]


def numbers_of(match: Match, comparison: Comparison) -> dict[str, float]:
    """Returns column of `Verdicts` -> number of a cell, without the columns of `powers_of`."""
    a, b = (typical(side, match.history is not None) for side in (match.a, match.b))
    ratio, slow = comparison.ratio, match.slow()
    names = ("p_value", "adjusted_p_value", "rank_p_value", "session_deviation")
    return {
        **{"a": a, "b": b, "launches_a": comparison.launches[0], "launches_b": comparison.launches[1]},
        **{"ratio": ratio.estimate, "ratio_low": ratio.low, "ratio_high": ratio.high},
        **{name: getattr(comparison, name) for name in names},
        "clock_uncertainty": match.uncertainty,
        "sessions": math.nan if comparison.sessions is None else comparison.sessions,
        **dict(zip(("slow_a", "slow_b", "slow_p_value"), slow, strict=True)),
        "unseen": unseen_share(min(comparison.launches[match.history_is_a :])),
    }


def typical(side: Floats, mean: bool) -> float:
    """Returns the typical launch of a side, s; if `mean`, the geometric mean, which is compared between sessions."""
    logs = np.log(side)
    return float(np.exp(logs.mean() if mean else one_sample(logs[np.newaxis, :], CONFIDENCE)[0][0]))
