"""Compares launches of two experiments, in pairs or not."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from downbeat.statistics.distributions import satterthwaite, t_quantile, two_sided
from downbeat.statistics.location import interval_of_logs, logarithms
from downbeat.statistics.modes import effective_launches
from downbeat.statistics.rank_tests import rank_sum, signed_rank, smallest_rank_sum, smallest_signed_rank
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN, Comparison, check_rule, judge


def compare_independent(
    a: ArrayLike, b: ArrayLike, margin: float = MARGIN, confidence: float = CONFIDENCE, hidden: float = 0.0
) -> Comparison:
    """Compares B with A, launches that do not belong together, e.g. of two experiments.

    It takes all launches for one session: what differs between sessions is called a difference of B and A. For
    experiments at different times see `compare_across_sessions`.

    The t test is Welch's on the logarithms of the launches' medians (Welch 1947); Wilcoxon's rank-sum test guards it:
    outlying launches decide nothing. Launches that resemble the one before count as fewer (`effective_launches`).

    Args:
        a: one number per launch, as the medians of a cell, in the order of launches, shape (launches,), any unit;
            larger than 0.
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
        worth = [effective_launches(side) for side in (first, second)]
        variances = [float(side.var(ddof=1)) for side in (first, second)]
        error, freedom = welch(variances, worth)
        deviation = math.sqrt(sum(v * n / one for v, n, one in zip(variances, counts, worth, strict=True)))
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


def compare_beyond(
    a: ArrayLike,
    b: ArrayLike,
    factor: float,
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
    hidden: float = 0.0,
) -> Comparison:
    """Compares B with A where something else may make up to a factor between them, as states of the machine do.

    Only a ratio that significantly exceeds the factor is a difference of B and A; the ratio is as it was measured.

    Args:
        a: as in `compare_independent`.
        b: likewise.
        factor: above 1.
        margin: as in `compare_independent`.
        confidence: likewise.
        hidden: likewise.
    """
    found = compare_independent(a, b, margin, confidence, hidden)
    log = math.log(found.ratio.estimate)
    left = math.copysign(max(abs(log) - math.log(factor), 0.0), log)
    p_value = two_sided(left, found.error, found.freedom)
    shifted = np.asarray(a, dtype=float) * math.exp(log - left)
    ranks = rank_sum(np.log(shifted), logarithms(b)) if left else 1.0
    return judge(
        dataclasses.replace(found, p_value=p_value, adjusted_p_value=p_value, rank_p_value=ranks, beyond=factor)
    )


def welch(variances: Sequence[float], counts: Sequence[float]) -> tuple[float, float]:
    """Returns the standard error of a difference of means, and its degrees of freedom."""
    parts = [(variance / count, max(count - 1, 1.0)) for variance, count in zip(variances, counts, strict=True)]
    return math.sqrt(sum(part for part, _ in parts)), satterthwaite(parts)


def compare_paired(
    a: ArrayLike, b: ArrayLike, margin: float = MARGIN, confidence: float = CONFIDENCE, hidden: float = 0.0
) -> Comparison:
    """Compares B with A, measured in the same launches or in launches next to each other in time.

    The t test is that of the logarithms of the ratios, one per pair. Wilcoxon's signed-rank test guards it: outlying
    launches decide nothing. With 5 pairs its p-value cannot be below 0.0625, so then all pairs must agree.
    Pairs whose ratio resembles the one before count as fewer (`effective_launches`).

    Whether launches are pairs follows from how they were made, never from whether pairing makes something significant.

    Args:
        a: one number per launch, as the medians of a cell, shape (pairs,), any unit; larger than 0.
        b: those of the other side, in the same order, that of the launches, and in the same unit.
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
    mean, count = float(logs.mean()), logs.size
    worth = effective_launches(logs)
    error = float(logs.std(ddof=1)) / math.sqrt(worth) if count > 1 else math.nan
    freedom = max(worth - 1, 1.0) if worth < count else count - 1
    half = t_quantile(freedom, 0.5 + confidence / 2) * error
    p_value = two_sided(mean, error, freedom)
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
            deviation=error * math.sqrt(count),
            error=error,
            freedom=freedom,
            margin=margin,
            confidence=confidence,
        )
    )
