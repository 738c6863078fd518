"""Judges the comparison of two sets of launches, A and B: B is faster, slower, equivalent or undecided.

docs/statistics.md has the rule, its reasons and its error rates on simulated data.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.holm import holm
from downbeat.statistics.location import Interval, interval_between

Verdict = Literal["faster", "slower", "equivalent", "undecided"]

MIN_LAUNCHES = 5  # launches on either side; with 4 pairs no signed-rank test has a p-value below 0.125
MIN_SESSIONS = 5  # sessions of a history; with 4, its t interval is 1.6 times as wide as with many
# Launches for the verdict "equivalent". Chosen by hand: 5 launches can miss a mode with a share of 45 %, 10 launches
# one of 26 %. With 5, 0.5 % of verdicts change; with 20, 1 %.
MIN_ALIKE = 10
MARGIN = 0.02  # relative; deviation of unchanged sessions on one machine (docs/ci.md)
CONFIDENCE = 0.95  # usual
# Relative tolerance for rounding of logarithms: a ratio at the margin is within it.
ROUNDING = 1e-12

# Reasons that more launches may remove.
NOT_SIGNIFICANT = "no significant difference"
NOT_AMONG_MANY = "no significant difference among so many cells"
FEW_ALIKE = f"within the margin, which takes {MIN_ALIKE} launches to claim"
# Reasons that more launches do not remove.
DRIFTS = "launches drift as much as A and B differ"
HIDDEN = "the difference is within the uncertainty of the clocks"
HIDDEN_MARGIN = "the uncertainty of the clocks exceeds the margin"


def too_few_sessions(sessions: int) -> str:
    """Returns the reason of a comparison whose history has too few sessions."""
    return f"sessions in the history: {sessions}, {MIN_SESSIONS} are needed"


@dataclass(frozen=True)
class Comparison:
    """The comparison of B with A.

    Attributes:
        ratio: typical ratio B / A, with its rank interval (`typical_of_logs`, `shift_of_logs`), widened by `hidden` on
            both sides. Below 1, B is faster.
        mean: mean logarithm of the ratio, which the t test uses.
        hidden: largest common error of the ratio in all launches, from errors of the clocks or their step.
        p_value: p-value of the t test that the ratio is 1.
        adjusted_p_value: `p_value`, corrected for comparisons that are judged together.
        rank_p_value: p-value of the guarding rank test: signed-rank if paired, else rank-sum (Wilcoxon 1945).
        rank_level: upper limit of `rank_p_value`: 1 - confidence, or the smallest possible p-value if that is larger.
        paired: true: launches of A and B form pairs.
        launches: numbers of launches of A and B; if paired, both are the number of pairs.
        deviation: standard deviation of the logarithm of the ratio from one launch of each.
        error: standard error of the mean.
        freedom: degrees of freedom of `error`.
        margin: ratios from 1 / (1 + margin) to 1 + margin count as equal.
        confidence: confidence of the interval.
        verdict: verdict on B: "faster", "slower", "equivalent" or "undecided".
        reason: reason of the verdict, as text.
        sessions: number of sessions of the history behind the error; None without a history.
        session_deviation: standard deviation between sessions, of logarithms, without launches' share; NaN if unknown.
        drift: change during the run as text, if successive launches are correlated; else empty.
        free_p_value: `p_value` if launches are taken for independent.
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
        """True if there are enough launches and sessions for a verdict; only then it counts in corrections."""
        return not self.lack

    @property
    def lack(self) -> str:
        """Text on missing launches or sessions; empty if there are enough."""
        if self.sessions is not None and self.sessions < MIN_SESSIONS:
            return too_few_sessions(self.sessions)
        if min(self.launches) < MIN_LAUNCHES:
            unit = "pairs of launches" if self.paired else "launches"
            return f"{unit}: {min(self.launches)}, {MIN_LAUNCHES} are needed"
        return ""


def check_rule(margin: float, confidence: float) -> None:
    """Checks a margin and a confidence.

    Raises:
        ValueError: the margin or the confidence is out of range.
    """
    if not 0 <= margin < 1:
        raise ValueError(f"a margin of {margin:g}; valid are numbers from 0 to below 1, e.g. 0.02 for 2 %")
    if not 0.5 <= confidence < 1:
        raise ValueError(f"a confidence of {confidence:g}; valid are numbers from 0.5 to below 1, e.g. 0.95")


def significance(confidence: float) -> float:
    """Returns the level of the t test: half of 1 - confidence.

    With 1 - confidence, more than 5 % of 200 comparisons of equal sides would be significant in 4 of 10 experiments.
    """
    return (1 - confidence) / 2


def judge(comparison: Comparison) -> Comparison:
    """Returns the comparison with its verdict and reason."""
    verdict, reason = verdict_of(comparison)
    return dataclasses.replace(comparison, verdict=verdict, reason=reason)


def verdict_of(comparison: Comparison) -> tuple[Verdict, str]:
    if not comparison.tested:
        return "undecided", comparison.lack
    if within_margin(comparison, 0.0):
        # Against a history, only the launches of B count.
        if min(comparison.launches if comparison.sessions is None else comparison.launches[1:]) < MIN_ALIKE:
            return "undecided", FEW_ALIKE
        return "equivalent", "the interval is within the margin"
    # Errors of clocks may not average out over launches: they can shift the whole interval.
    unsure = not (comparison.ratio.low > 1 or comparison.ratio.high < 1)
    if comparison.hidden and unsure and within_margin(comparison, comparison.hidden):
        return "undecided", HIDDEN_MARGIN
    if comparison.adjusted_p_value > comparison.level:
        if comparison.p_value <= comparison.level:
            return "undecided", NOT_AMONG_MANY
        return "undecided", DRIFTS if comparison.free_p_value <= comparison.level else NOT_SIGNIFICANT
    if comparison.rank_p_value > comparison.rank_level * (1 + 1e-9):
        return "undecided", "the rank test does not confirm the difference"
    if unsure:
        return "undecided", HIDDEN if comparison.hidden else DRIFTS
    return ("faster" if comparison.ratio.estimate < 1 else "slower"), comparison.drift or "a significant difference"


def within_margin(comparison: Comparison, known: float) -> bool:
    """Returns true if the interval, narrowed by `known` on both sides, is within the margin."""
    limit = (1 + comparison.margin) * (1 + ROUNDING)
    return 1 / limit <= comparison.ratio.low + known and comparison.ratio.high - known <= limit


def judge_together(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Judges comparisons together, with p-values corrected by Holm's procedure.

    A comparison with too few launches or sessions is no test and does not count. Intervals and the verdict
    "equivalent" are not corrected; that verdict is wrong at most as often as an interval.

    Args:
        comparisons: e.g. of all cells of two experiments.

    Returns:
        The comparisons with their verdicts, in their order.
    """
    tested = [comparison.p_value if comparison.tested else math.nan for comparison in comparisons]
    return [
        judge(dataclasses.replace(comparison, adjusted_p_value=comparison.p_value if math.isnan(p) else float(p)))
        for comparison, p in zip(comparisons, holm(tested), strict=True)
    ]


def simultaneous_interval(comparison: Comparison, number: int) -> Interval:
    """Returns an interval of a ratio that is valid simultaneously with those of a family of comparisons.

    The interval of a single ratio is too narrow for the largest of many. With Bonferroni's correction all intervals of
    the family cover their ratios at once with the confidence of the comparison (Dunn 1961). Few pairs have no rank
    interval with such a confidence, so the rank interval is widened by the factor of Student's, and contains Student's.

    Args:
        comparison: of `compare_paired`.
        number: number of comparisons in the family.

    Returns:
        The estimate with the wider interval; NaN for a single pair.

    Raises:
        ValueError: the comparison is not paired, or the number is below 1.
    """
    if not comparison.paired:
        raise ValueError("a comparison of independent launches; give a paired comparison")
    if number < 1:
        raise ValueError(f"a family of {number} comparisons; valid are numbers from 1")
    alone, level = comparison.ratio, 1 - comparison.confidence
    if comparison.launches[0] < 2:
        return alone
    quantile = t_quantile(comparison.freedom, 1 - level / (2 * number))
    farther = quantile / t_quantile(comparison.freedom, 1 - level / 2)
    low, high = (alone.estimate * (end / alone.estimate) ** farther for end in (alone.low, alone.high))
    mean, half = comparison.mean, quantile * comparison.error
    student = interval_between(mean, mean - half, mean + half, alone.count, comparison.hidden)
    return dataclasses.replace(alone, low=min(low, student.low), high=max(high, student.high))
