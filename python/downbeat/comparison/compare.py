"""Compares the cells of two experiments (A and B), or of two values of a factor in one experiment.

Four steps: `sides.py` selects the cells of A and B, `matching.py` matches their launches, `judging.py` gives verdicts,
and `notes.py` adds notes.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from downbeat.comparison.compared import Compared, Verdicts
from downbeat.comparison.conditions import SYNCHRONIZER
from downbeat.comparison.judging import Judged, count_tests, judge_matches, verdicts_of
from downbeat.comparison.kinds import chosen_number
from downbeat.comparison.matching import ONLY_IN, Match, Matcher
from downbeat.comparison.notes import assumption, remarks_on, shorter_span
from downbeat.comparison.over_all import over_all, shares_of_states
from downbeat.comparison.sides import Side, sides_of
from downbeat.data.cells import STATISTICS
from downbeat.data.readers import counted_over_files
from downbeat.data.readers.kinds import MEASURES, is_rate
from downbeat.errors import UsageError
from downbeat.output.fields import COMMON_START
from downbeat.run.tool_results import ToolExperiment
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN, check_rule

PERCENTILE = re.compile(r"p\d+(\.\d+)?")  # a statistic of results of other tools


@dataclass(frozen=True)
class Rule:
    """The numbers to compare and the rule of verdicts: arguments of `compare`.

    An empty metric or statistic stands for the default of the sides (`chosen_number`).

    Raises:
        UsageError: one of them is not valid.
    """

    metric: str = ""
    statistic: str = ""
    margin: float = MARGIN
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        if self.metric not in ("", *MEASURES):
            raise UsageError(f"unknown metric '{self.metric}'; choose one of {', '.join(MEASURES)}")
        if self.statistic not in ("", *STATISTICS) and not PERCENTILE.fullmatch(self.statistic):
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
    """Compares like the public function `compare`, for callers inside of Downbeat.

    Args:
        a: an experiment; the cells of A.
        b: the cells of B; None: A and B are two values of a factor in `a`.
        history: earlier sessions; None: no history.
        where: conditions that select the cells of A and of B.
        rule: numbers to compare and rule of verdicts; None: defaults.
    """
    rule = rule or Rule()
    compared_sides = [a] if b is None else [a, b]
    (metric, statistic), lines = chosen_number(compared_sides, rule.metric, rule.statistic)
    rule = dataclasses.replace(rule, metric=metric, statistic=statistic)
    sides = sides_of(a, b, history, where, rule.metric, rule.statistic)
    matcher = Matcher(sides.paired)
    matches = matcher.cells(None if sides.history_is_a else sides.a, sides.b, sides.key, sides.past)
    overall = over_all(sides, rule.margin, rule.confidence)
    if overall is None and all(match.obstacle.startswith(ONLY_IN) for match in matches):
        raise UsageError(f"A and B have no cell in common: {sides.mismatch()}")
    families = families_of(matches)
    by_family = [judge_matches([matches[i] for i in family], rule.margin, rule.confidence) for family in families]
    judged = in_order(families, by_family)
    verdicts = Verdicts.joined(map(verdicts_of, by_family))[np.argsort(np.concatenate(families))]
    tool_sides = [side for side in (*compared_sides, *(history or ())) if isinstance(side, ToolExperiment)]
    return Compared(
        verdicts.of_rates() if is_rate(metric) else verdicts,
        tuple(sides.key),
        **dataclasses.asdict(rule),
        paired=sides.paired,
        where_a=sides.values(sides.a),
        where_b=sides.values(sides.b),
        name_a=sides.names[0],
        name_b=sides.names[1],
        tests=count_tests(by_family[0]),
        span=shorter_span(sides),
        shares=shares_of_states(sides),
        overall=overall,
        assumes=assumption(sides, judged),
        history=list(sides.history),
        history_is_a=sides.history_is_a,
        notes=[*lines, *remarks_on(sides, matcher.notes(), judged)],
        damages=counted_over_files(damage for side in tool_sides for damage in side.results.damages),
    )


def families_of(matches: Sequence[Match]) -> list[list[int]]:
    """Divides matches into families of tests, as indices: matches from a common start, then all other matches.

    Returns one family if only one of these has matches, e.g. if starts are compared.
    """
    common = [match.factors.get(SYNCHRONIZER) == COMMON_START and not match.obstacle for match in matches]
    families = [[i for i, is_common in enumerate(common) if is_common == selected] for selected in (True, False)]
    return [family for family in families if family]


def in_order(families: Sequence[Sequence[int]], judged: Sequence[Sequence[Judged]]) -> list[Judged]:
    """Restores the order of the matches from their verdicts by family."""
    pairs = zip(itertools.chain(*families), itertools.chain(*judged), strict=True)
    return [cell for _, cell in sorted(pairs, key=lambda pair: pair[0])]
