"""Compares launches of two experiments that are not pairs."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.location import interval_of_logs, logarithms
from downbeat.statistics.rank_tests import rank_sum, smallest_rank_sum
from downbeat.statistics.satterthwaite import satterthwaite
from downbeat.statistics.two_sided import two_sided
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN, Comparison, check_rule, judge


def compare_independent(
    a: ArrayLike, b: ArrayLike, margin: float = MARGIN, confidence: float = CONFIDENCE, hidden: float = 0.0
) -> Comparison:
    """Compares B with A, launches that do not belong together, e.g. of two experiments.

    It takes all launches for one session: what differs between sessions is called a difference of B and A. For
    experiments at different times see `compare_across_sessions`.

    The t test is Welch's on the logarithms of the launches' medians (Welch 1947); Wilcoxon's rank-sum test guards it:
    outlying launches decide nothing.

    Args:
        a: one number per launch, as the medians of a cell, shape (launches,), any unit; larger than 0.
        b: the same of what is compared with it, in the same unit; the number of launches may differ.
        margin: within which a ratio is as good as 1.
        confidence: of the interval; the tests' level follows from it.
        hidden: how much b - a may be off in the same way in all launches, by the clocks, in the unit of a.

    Returns:
        The comparison, judged alone; `judge_together` corrects several.

    Raises:
        ValueError: a value is not positive and finite, or the rule makes no sense.
    """
    check_rule(margin, confidence)
    first, second = logarithms(a), logarithms(b)
    counts = (first.size, second.size)
    mean = float(second.mean() - first.mean())
    half, p_value, deviation, error, freedom = (math.nan,) * 5
    ranks = rank_sum(first, second)
    if min(counts) > 1:
        variances = (float(first.var(ddof=1)), float(second.var(ddof=1)))
        deviation = math.sqrt(sum(variances))
        error, freedom = welch(variances, counts)
        half = t_quantile(freedom, 0.5 + confidence / 2) * error
        p_value = two_sided(mean, error, freedom)
    share = hidden / math.exp(first.mean())
    return judge(
        Comparison(
            ratio=interval_of_logs(mean, half, min(counts), share),
            hidden=share,
            p_value=p_value,
            adjusted_p_value=p_value,
            rank_p_value=ranks,
            rank_level=max(1 - confidence, smallest_rank_sum(*counts)),
            rank_sum_p_value=ranks,
            paired=False,
            launches=counts,
            deviation=deviation,
            error=error,
            freedom=freedom,
            margin=margin,
            confidence=confidence,
        )
    )


def welch(variances: tuple[float, float], counts: tuple[int, int]) -> tuple[float, float]:
    """Returns the standard error of a difference of means, and its degrees of freedom."""
    parts = [(variance / count, count - 1) for variance, count in zip(variances, counts, strict=True)]
    return math.sqrt(sum(part for part, _ in parts)), satterthwaite(parts)
