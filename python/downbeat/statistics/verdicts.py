"""A comparison of two sets of launches, and the rule that calls it faster, slower, equivalent or undecided.

docs/statistics.md has the rule with its reasons, and what it achieves on simulated data.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.holm import holm
from downbeat.statistics.location import Interval, interval_of_logs

Verdict = Literal["faster", "slower", "equivalent", "undecided"]

FEWEST_LAUNCHES = 5  # on either side: with 4 pairs no signed-rank test has a p-value below 0.125
FEWEST_SESSIONS = 5  # of a history: with 4, its t interval is 1.6 times as wide as with many
FEWEST_ALIKE = 10  # choice: 5 launches leave a mode of 45 % unseen, 10 one of 26 %; 5, 20: 0.5, 1 % of verdicts
MARGIN = 0.02  # what sessions on one machine deviate by, if nothing changes (docs/ci.md)
CONFIDENCE = 0.95  # usual
# Tolerance for a ratio that is computed by logarithms: one at the margin is within it, whatever the unit.
ROUNDING = 1e-12

# Reasons that more launches may overcome.
NOT_SIGNIFICANT = "no significant difference"
NOT_AMONG_MANY = "no significant difference among so many cells"
FEW_ALIKE = f"within the margin, which takes {FEWEST_ALIKE} launches to claim"
# They do not.
DRIFTS = "launches drift as much as A and B differ"
HIDDEN = "the difference is within the uncertainty of the clocks"
HIDDEN_MARGIN = "the uncertainty of the clocks exceeds the margin"


@dataclass(frozen=True)
class Comparison:
    """B compared with A.

    Attributes:
        ratio: B / A, the typical one, with its interval by ranks (`typical_of_logs`, `shift_of_logs`), wider by
            `hidden` on either side. Below 1, B is faster.
        mean: of the logarithms of ratios, which the t test is of.
        hidden: how much the ratio may be off in all launches together: by errors of the clocks, or by their step.
        p_value: of the t test that the ratio is 1.
        adjusted_p_value: the same, corrected for the comparisons made together; else as `p_value`.
        rank_p_value: of the rank test that guards: signed-rank where paired, else rank-sum (Wilcoxon 1945).
        rank_level: what `rank_p_value` must not exceed: the smallest value that it can have with so few launches, if
            that is above 1 - confidence.
        paired: whether a launch of A and one of B belong together.
        launches: of A and B; where paired both are the pairs.
        deviation: of the logarithm of the ratio from one launch of each, standard deviation.
        error: of the mean, standard error.
        freedom: its degrees of freedom.
        margin: ratios from 1 / (1 + margin) to 1 + margin are as good as 1.
        confidence: of the interval.
        verdict: of B: "faster", "slower", "equivalent" or "undecided".
        reason: why, in words.
        sessions: of the history that the error is from; None where there is none.
        session_deviation: between these, of logarithms, without what launches explain; NaN without.
        drift: what changed during the run, in words, where launches resemble the one before; empty: nothing.
        free_p_value: what `p_value` would be if no launch resembled the one before.
    """

    ratio: Interval
    mean: float
    p_value: float
    adjusted_p_value: float
    rank_p_value: float
    rank_level: float
    paired: bool
    launches: tuple[int, int]
    deviation: float
    error: float
    freedom: float
    margin: float
    confidence: float
    verdict: Verdict = "undecided"
    reason: str = ""
    sessions: int | None = None
    session_deviation: float = math.nan
    hidden: float = 0.0
    drift: str = ""
    free_p_value: float = math.nan

    @property
    def level(self) -> float:
        return significance(self.confidence)

    @property
    def tested(self) -> bool:
        """Whether there is enough for a verdict, so that it counts among many."""
        return not self.lack

    @property
    def lack(self) -> str:
        """The lack of launches or sessions, in words; empty if there are enough."""
        if self.sessions is not None and self.sessions < FEWEST_SESSIONS:
            return f"sessions in the history: {self.sessions}, {FEWEST_SESSIONS} are needed"
        if min(self.launches) < FEWEST_LAUNCHES:
            unit = "pairs of launches" if self.paired else "launches"
            return f"{unit}: {min(self.launches)}, {FEWEST_LAUNCHES} are needed"
        return ""


def check_rule(margin: float, confidence: float) -> None:
    """Checks a margin and a confidence.

    Raises:
        ValueError: they make no sense.
    """
    if not 0 <= margin < 1:
        raise ValueError(f"a margin of {margin:g}; valid are numbers from 0 to below 1, e.g. 0.02 for 2 %")
    if not 0.5 <= confidence < 1:
        raise ValueError(f"a confidence of {confidence:g}; valid are numbers from 0.5 to below 1, e.g. 0.95")


def significance(confidence: float) -> float:
    """The level of the t test: half of what the interval leaves outside.

    At 1 - confidence itself, more than 5 % of 200 comparisons of equals would be called different in four checks of
    ten.
    """
    return (1 - confidence) / 2


def judge(comparison: Comparison) -> Comparison:
    """The comparison with its verdict, and the reason."""
    verdict, reason = verdict_of(comparison)
    return dataclasses.replace(comparison, verdict=verdict, reason=reason)


def verdict_of(one: Comparison) -> tuple[Verdict, str]:
    if not one.tested:
        return "undecided", one.lack
    if within_margin(one, 0.0):
        # A session of a history has launches of its own.
        if min(one.launches if one.sessions is None else one.launches[1:]) < FEWEST_ALIKE:
            return "undecided", FEW_ALIKE
        return "equivalent", "the interval is within the margin"
    # Errors of clocks need not average out over launches: they may shift the whole interval.
    unsure = not (one.ratio.low > 1 or one.ratio.high < 1)
    if one.hidden and unsure and within_margin(one, one.hidden):
        return "undecided", HIDDEN_MARGIN
    if one.adjusted_p_value > one.level:
        if one.p_value <= one.level:
            return "undecided", NOT_AMONG_MANY
        return "undecided", DRIFTS if one.free_p_value <= one.level else NOT_SIGNIFICANT
    if one.rank_p_value > one.rank_level * (1 + 1e-9):
        return "undecided", "the rank test does not confirm the difference"
    if unsure:
        return "undecided", HIDDEN if one.hidden else DRIFTS
    return ("faster" if one.ratio.estimate < 1 else "slower"), one.drift or "a significant difference"


def within_margin(one: Comparison, known: float) -> bool:
    """Whether an interval is within the margin, if `known` of the hidden part were known."""
    most = (1 + one.margin) * (1 + ROUNDING)
    return 1 / most <= one.ratio.low + known and one.ratio.high - known <= most


def judge_together(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Judges comparisons as one question: p-values are corrected by Holm's procedure, verdicts go by these.

    A comparison with too few launches or sessions is not a test and does not count. Intervals stay those of each
    comparison alone, and so does equivalence, which is wrong at most as often as an interval is.

    Args:
        comparisons: those of the cells of two experiments, as a rule.

    Returns:
        The comparisons with their verdicts, in their order.
    """
    tested = [one.p_value if one.tested else math.nan for one in comparisons]
    return [
        judge(dataclasses.replace(one, adjusted_p_value=one.p_value if math.isnan(p) else float(p)))
        for one, p in zip(comparisons, holm(tested), strict=True)
    ]


def simultaneous_interval(comparison: Comparison, number: int) -> Interval:
    """The interval of a ratio that holds together with those of the other comparisons of a family.

    The interval of one ratio alone is too narrow for the largest of many. By Bonferroni's inequality the intervals of
    all comparisons hold at once with the confidence of the comparison (Dunn 1961). Ranks of few pairs have no limits of
    such a confidence: its ends are farther from the estimate as Student's are, and it contains Student's.

    Args:
        comparison: of `compare_paired`.
        number: of comparisons in the family, from which one was picked.

    Returns:
        The estimate with the wider interval; NaN where one pair leaves none.

    Raises:
        ValueError: the comparison is not one of pairs, or the family has no member.
    """
    if not comparison.paired:
        raise ValueError("a comparison of independent launches; simultaneous intervals are of pairs")
    if number < 1:
        raise ValueError(f"a family of {number} comparisons; valid are numbers from 1")
    alone, level = comparison.ratio, 1 - comparison.confidence
    if comparison.launches[0] < 2:
        return alone
    quantile = t_quantile(comparison.freedom, 1 - level / (2 * number))
    farther = quantile / t_quantile(comparison.freedom, 1 - level / 2)
    low, high = (alone.estimate * (end / alone.estimate) ** farther for end in (alone.low, alone.high))
    student = interval_of_logs(comparison.mean, quantile * comparison.error, alone.count, comparison.hidden)
    return dataclasses.replace(alone, low=min(low, student.low), high=max(high, student.high))
