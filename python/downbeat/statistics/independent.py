"""Compares launches of two experiments that have nothing in common but what was measured."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike
from scipy import stats

from downbeat.statistics.location import interval_of_logs, logarithms
from downbeat.statistics.rank_tests import rank_sum, smallest_rank_sum
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN, Comparison, check_rule, judge


def compare_independent(
    a: ArrayLike, b: ArrayLike, margin: float = MARGIN, confidence: float = CONFIDENCE
) -> Comparison:
    """Compares B with A, launches that do not belong together, as those of yesterday and today.

    The t test is Welch's on the logarithms of the launches' medians (Welch 1947); Wilcoxon's rank-sum test guards it:
    outlying launches decide nothing.

    Args:
        a: one number per launch, as the medians of a cell, shape (launches,), any unit; larger than 0.
        b: the same of what is compared with it, in the same unit; the number of launches may differ.
        margin: within which a ratio is as good as 1.
        confidence: of the interval; the tests' level follows from it.

    Returns:
        The comparison, judged alone; `judge_together` corrects several.

    Raises:
        ValueError: a value is not positive and finite, or the rule makes no sense.
    """
    check_rule(margin, confidence)
    first, second = logarithms(a), logarithms(b)
    counts = (first.size, second.size)
    mean = float(second.mean() - first.mean())
    half, p_value, deviation = math.nan, math.nan, math.nan
    ranks = rank_sum(first, second)
    if min(counts) > 1:
        variances = (float(first.var(ddof=1)), float(second.var(ddof=1)))
        deviation = math.sqrt(sum(variances))
        half, p_value = welch(mean, variances, counts, confidence)
    return judge(
        Comparison(
            ratio=interval_of_logs(mean, half, min(counts)),
            p_value=p_value,
            adjusted_p_value=p_value,
            rank_p_value=ranks,
            rank_level=max(1 - confidence, smallest_rank_sum(*counts)),
            rank_sum_p_value=ranks,
            paired=False,
            launches=counts,
            deviation=deviation,
            margin=margin,
            confidence=confidence,
        )
    )


def welch(
    mean: float, variances: tuple[float, float], counts: tuple[int, int], confidence: float
) -> tuple[float, float]:
    """Returns half the width of the interval of a difference of means, and the p-value of its being 0."""
    parts = [variance / count for variance, count in zip(variances, counts, strict=True)]
    squared = sum(parts)
    if squared == 0:
        return 0.0, 1.0 if mean == 0 else 0.0
    freedom = 1 / sum((part / squared) ** 2 / (count - 1) for part, count in zip(parts, counts, strict=True))
    error = math.sqrt(squared)
    return (
        float(stats.t.ppf(0.5 + confidence / 2, freedom)) * error,
        float(2 * stats.t.sf(abs(mean) / error, freedom)),
    )
