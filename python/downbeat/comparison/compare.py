"""Compares the cells of two experiments, or of two values of a factor in one.

Four values, each made once of the one before: sides, matched launches, verdicts, notes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from downbeat.comparison.compared import Compared
from downbeat.comparison.judging import count_tests, judge_matches, verdicts_of
from downbeat.comparison.matching import ONLY_IN, Matcher
from downbeat.comparison.notes import assumption, over_all_states, remarks_on, shares_of_states, shorter_span
from downbeat.comparison.sheet import ComparisonFrame
from downbeat.comparison.sides import Side, sides_of
from downbeat.data.cells import STATISTICS
from downbeat.data.metrics import METRICS
from downbeat.errors import UsageError
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN, check_rule


def compare(
    a: Side,
    b: Side | None = None,
    *,
    history: Sequence[Side] | None = None,
    where_a: Mapping[str, object] | None = None,
    where_b: Mapping[str, object] | None = None,
    metric: str = "latency_avg",
    statistic: str = "median",
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Compares B with A, cell by cell: faster, slower, equivalent or undecided.

    Cells are matched on all `FACTORS`, except those with different values in `where_a` and `where_b`, and except the
    names of library and environment if each experiment has only one. A launch counts once, by the statistic of its
    valid samples. Launches of one experiment are compared in pairs (`compare_paired`): each launch with itself if the
    factor varies within launches, else launches of the same number, if the experiment was planned. Two experiments are
    independent (`compare_independent`) and also differ by whatever changed between them; a history of experiments at
    other times measures how much that is (`compare_across_sessions`). p-values are corrected for the number of cells
    by Holm's procedure. A cell that is not `ok` in a launch does not count in it.

        compare(experiment, where_a={"variant": "old"}, where_b={"variant": "new"})
        compare(experiment, where_a={"synchronizer": "harmonize"}, where_b={"synchronizer": "mpi_barrier"})
        compare(tonight, history=[open_experiment(path) for path in nights])

    Args:
        a: an experiment, or its frame `cells`. With a history and without `b` it is B, and the history is A.
        b: another experiment; the same one by default.
        history: experiments like A at other times, without a true change between them; `where_a` applies to them too.
            None: no history; `attrs["assumes"]` then says what the verdicts assume.
        where_a: factor -> value: selects the cells of A.
        where_b: the same for B; must name the same factors as `where_a`.
        metric: one of `METRICS`.
        statistic: over the valid samples of a launch, one of `STATISTICS`.
        margin: a ratio within 1 / (1 + margin) and 1 + margin counts as 1.
        confidence: of the intervals.

    Returns:
        A row per cell, times in s: the columns of `Verdicts`, without the compared factors; NaN if it was not judged.
        The attributes `.attrs` are those of `Compared`, and `units`.

    Raises:
        UsageError: unknown metric, statistic, factor or value, or no cell in common.
    """
    rule = Rule(metric, statistic, margin, confidence)
    frame = comparison_of(a, b, history=history, where=(where_a or {}, where_b or {}), rule=rule).frame()
    shown = ComparisonFrame(frame)
    shown.attrs = frame.attrs
    return shown


@dataclass(frozen=True)
class Rule:
    """The numbers that are compared, and the rule; as arguments of `compare`.

    Raises:
        UsageError: one of them is not valid.
    """

    metric: str = "latency_avg"
    statistic: str = "median"
    margin: float = MARGIN
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise UsageError(f"unknown metric '{self.metric}'; choose one of {', '.join(METRICS)}")
        if self.statistic not in STATISTICS:
            raise UsageError(f"unknown statistic '{self.statistic}'; choose one of {', '.join(STATISTICS)}")
        try:
            check_rule(self.margin, self.confidence)
        except ValueError as error:
            raise UsageError(str(error)) from error


def comparison_of(
    a: Side,
    b: Side | None = None,
    *,
    history: Sequence[Side] | None = None,
    where: tuple[Mapping[str, object], Mapping[str, object]] = ({}, {}),
    rule: Rule | None = None,
) -> Compared:
    """`compare` for this house; `where` are the conditions of A and of B."""
    rule = rule or Rule()
    sides = sides_of(a, b, history, where, rule.metric, rule.statistic)
    matcher = Matcher(sides.column, sides.paired)
    matches = matcher.cells(None if sides.history_is_a else sides.a, sides.b, sides.key, sides.past)
    overall = over_all_states(sides, rule.margin, rule.confidence)
    if overall is None and all(match.obstacle.startswith(ONLY_IN) for match in matches):
        raise UsageError(f"A and B have no cell in common: {sides.mismatch()}")
    judged = judge_matches(matches, rule.margin, rule.confidence)
    return Compared(
        verdicts_of(judged),
        tuple(sides.key),
        **dataclasses.asdict(rule),
        paired=sides.paired,
        where_a=sides.values(sides.a),
        where_b=sides.values(sides.b),
        name_a=sides.names[0],
        name_b=sides.names[1],
        tests=count_tests(judged),
        span=shorter_span(sides),
        shares=shares_of_states(sides),
        overall=overall,
        assumes=assumption(sides, judged),
        history=list(sides.history),
        history_is_a=sides.history_is_a,
        notes=remarks_on(sides, matcher.notes(), judged),
    )
