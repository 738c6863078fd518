"""Compares launches of two experiments, in pairs or not."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from downbeat.statistics.distributions import satterthwaite, t_quantile, two_sided
from downbeat.statistics.location import interval_of_logs, log_interval, logarithms
from downbeat.statistics.rank_tests import rank_sum, signed_rank, smallest_rank_sum, smallest_signed_rank
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
        b: those of the other side, in the same unit; the number of launches may differ.
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


def compare_paired(
    a: ArrayLike, b: ArrayLike, margin: float = MARGIN, confidence: float = CONFIDENCE, hidden: float = 0.0
) -> Comparison:
    """Compares B with A, measured in the same launches or in launches next to each other in time.

    The t test is that of the logarithms of the ratios, one per pair. Wilcoxon's signed-rank test guards it: outlying
    launches decide nothing. With 5 pairs its p-value cannot be below 0.0625, so then all pairs must agree.

    Whether launches are pairs follows from how they were made, never from whether pairing makes something significant.

    Args:
        a: one number per launch, as the medians of a cell, shape (pairs,), any unit; larger than 0.
        b: those of the other side, in the same order and unit.
        margin: within which a ratio is as good as 1.
        confidence: of the interval; the tests' level follows from it.
        hidden: how much b - a may be off in the same way in all launches, by the clocks, in the unit of a.

    Returns:
        The comparison, judged alone; `judge_together` corrects several.

    Raises:
        ValueError: the numbers of launches differ, or a value is not positive and finite, or the rule makes no sense.
    """
    check_rule(margin, confidence)
    first, second = logarithms(a), logarithms(b)
    if first.size != second.size:
        raise ValueError(f"{first.size} launches and {second.size}; pairs have as many on either side")
    logs = second - first
    mean, half = log_interval(logs, confidence)
    count = logs.size
    deviation = float(logs.std(ddof=1)) if count > 1 else math.nan
    error = deviation / math.sqrt(count)
    p_value = two_sided(mean, error, count - 1)
    share = hidden / math.exp(first.mean())
    return judge(
        Comparison(
            ratio=interval_of_logs(mean, half, count, share),
            hidden=share,
            p_value=p_value,
            adjusted_p_value=p_value,
            rank_p_value=signed_rank(logs),
            rank_level=max(1 - confidence, smallest_signed_rank(count)),
            rank_sum_p_value=rank_sum(first, second),
            paired=True,
            launches=(count, count),
            deviation=deviation,
            error=error,
            freedom=count - 1,
            margin=margin,
            confidence=confidence,
        )
    )
