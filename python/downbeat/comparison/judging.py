"""Judges matched cells of A and B: numbers and a verdict for each, and the assumptions of the verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from downbeat.comparison.matching import Match
from downbeat.statistics.across_sessions import compare_across_sessions
from downbeat.statistics.independent import compare_independent
from downbeat.statistics.modes import unseen_share
from downbeat.statistics.pairs import compare_paired
from downbeat.statistics.power import detectable_ratio, launches_needed
from downbeat.statistics.sessions import false_verdicts
from downbeat.statistics.verdicts import FEW_ALIKE, FEWEST_ALIKE, Comparison, judge_together, significance

EFFECT = 1.05  # the difference for which `launches_needed` is given
UNMATCHED = "unmatched"
NUMBERS = (
    "a",
    "b",
    "launches_a",
    "launches_b",
    "ratio",
    "ratio_low",
    "ratio_high",
    "p_value",
    "adjusted_p_value",
    "rank_p_value",
    "rank_sum_p_value",
    "clock_uncertainty",
    "detectable_ratio",
    "launches_needed",
    "sessions",
    "session_deviation",
)

SESSION_DEVIATION = 0.02  # for which the assumption of one session is put into a number


def method_of(paired: bool, history_is_a: bool, margin: float, confidence: float) -> Callable[[Match], Comparison]:
    """Returns how cells are compared: launches in pairs, or across sessions where there is a history, or neither."""

    def compare(one: Match) -> Comparison:
        rule = (margin, confidence, one.uncertainty)
        if one.history is not None:
            return compare_across_sessions(None if history_is_a else one.a, one.b, one.history, *rule)
        return (compare_paired if paired else compare_independent)(one.a, one.b, *rule)

    return compare


def judged(
    matches: Sequence[Match], method: Callable[[Match], Comparison], confidence: float
) -> tuple[list[dict[str, object]], list[Comparison]]:
    """Returns a row per cell, and the comparisons of those that have any."""
    found = judge_together([method(one) for one in matches if not one.obstacle])
    level = significance(confidence) / max(count_tests(found), 1)
    rows = []
    following = iter(found)
    for match in matches:
        numbers: dict[str, object] = dict.fromkeys(NUMBERS, math.nan)
        if not match.obstacle:
            numbers |= numbers_of(match, next(following), level)
        else:
            unmatched = match.obstacle.startswith("only in")
            numbers |= {"verdict": UNMATCHED if unmatched else "undecided", "reason": match.obstacle}
        rows.append(match.factors | numbers)
    return rows, found


def numbers_of(match: Match, one: Comparison, level: float) -> dict[str, object]:
    """Returns the numbers and the verdict of a cell."""
    a, b = (float(np.exp(np.mean(np.log(side)))) for side in (match.a, match.b))
    few = min(one.launches) < 2
    return {
        "a": a,
        "b": b,
        "launches_a": one.launches[0],
        "launches_b": one.launches[1],
        "ratio": one.ratio.estimate,
        "ratio_low": one.ratio.low,
        "ratio_high": one.ratio.high,
        "p_value": one.p_value,
        "adjusted_p_value": one.adjusted_p_value,
        "rank_p_value": one.rank_p_value,
        "rank_sum_p_value": one.rank_sum_p_value,
        "clock_uncertainty": match.uncertainty,
        "detectable_ratio": detectable_ratio(one.error, one.freedom, level),
        # Launches do not help against what differs between sessions.
        "launches_needed": math.nan
        if few or one.sessions is not None
        else max(launches_needed(EFFECT, one.deviation, one.paired, level), FEWEST_ALIKE * (one.reason == FEW_ALIKE)),
        "sessions": math.nan if one.sessions is None else one.sessions,
        "session_deviation": one.session_deviation,
        "verdict": one.verdict,
        "reason": one.reason,
    }


def count_tests(comparisons: Sequence[Comparison]) -> int:
    """Returns how many comparisons Holm's correction counts."""
    return sum(one.tested for one in comparisons)


def assumption(comparisons: Sequence[Comparison], paired: bool, history: bool) -> str:
    """Returns the assumptions of verdicts; empty for pairs, which need none."""
    if paired:
        return ""
    if history:
        sessions = max((one.sessions or 0 for one in comparisons), default=0)
        # With two modes of sessions, 8 to 12 % of equal cells are called different by a history of 5 in one of them.
        missed = f"; {sessions} can miss what {100 * unseen_share(sessions):.0f} % of sessions do" if sessions else ""
        return f"A and B differ in time and circumstances no more than the experiments of the history do{missed}"
    shares = [
        false_verdicts(one.error, one.freedom, SESSION_DEVIATION, significance(one.confidence))
        for one in comparisons
        if one.tested
    ]
    described = (
        f"; if sessions deviated by {100 * SESSION_DEVIATION:g} %, {100 * np.median(shares):.0f} % of"
        " identical cells would be called faster or slower"
        if shares
        else ""
    )
    return f"the machine did not change between A and B{described} (docs/compare.md)"
