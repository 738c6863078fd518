"""Compares launches of two experiments, in pairs or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.dependence import error_of_mean
from downbeat.statistics.distributions import two_sided
from downbeat.statistics.location import Scale, interval_between, logarithms, shift_of_logs, typical_of_logs, welch
from downbeat.statistics.rank_tests import rank_sum, signed_rank, smallest_rank_sum, smallest_signed_rank
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN, Comparison, check_rule, judge
from downbeat.text import PERCENT

Floats = NDArray[np.float64]
LARGEST = 100.0  # logarithm of a drift in words: exp does not overflow
DRIFT = 1.2  # times the error of independent launches, from which a reason names the drift; 1.1, 1.4: 1 % of reasons


def compare_independent(
    a: ArrayLike, b: ArrayLike, margin: float = MARGIN, confidence: float = CONFIDENCE, hidden: float = 0.0
) -> Comparison:
    """Compares B with A, launches that do not belong together, e.g. of two experiments.

    It takes all launches for one session; for experiments at other times see `compare_across_sessions`. The ratio is
    the median of all ratios of a launch of B and one of A (`shift_of_logs`). The t test is Welch's on the logarithms
    (Welch 1947); Wilcoxon's rank-sum test guards it: outlying launches decide nothing. Launches that resemble the one
    before count as fewer (`effective_launches`), except where the sides are farther apart than either spans.

    Args:
        a: one number per launch, in their order, shape (launches,), any unit; larger than 0.
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
    tested = tested_by_t(
        [first, second], float(second.mean() - first.mean()), extremes(second - first[:, np.newaxis]), margin
    )
    counts, share = (first.size, second.size), hidden / math.exp(first.mean())
    shift = shift_of_logs(first, second, confidence, (tested["error"], tested["freedom"]))
    return judge(
        Comparison(
            ratio=interval_between(*shift, min(counts), share),
            hidden=share,
            rank_p_value=rank_sum(first, second),
            rank_level=max(1 - confidence, smallest_rank_sum(*counts)),
            paired=False,
            launches=counts,
            margin=margin,
            confidence=confidence,
            **tested,
        )
    )


def compare_paired(
    a: ArrayLike, b: ArrayLike, margin: float = MARGIN, confidence: float = CONFIDENCE, hidden: float = 0.0
) -> Comparison:
    """Compares B with A, measured in the same launches or in launches next to each other in time.

    The ratio is the pseudo-median of the ratios of pairs (`typical_of_logs`). The t test is that of their logarithms,
    guarded by Wilcoxon's signed-rank test: with 5 pairs its p-value cannot be below 0.0625, so then all must agree.
    Whether launches are pairs follows from how they were made, never from whether pairing makes something significant.

    Args:
        a: as in `compare_independent`, a number per pair.
        b: likewise, in the same order.
        margin: likewise.
        confidence: likewise.
        hidden: likewise.

    Returns:
        The comparison, judged alone; `judge_together` corrects several.

    Raises:
        ValueError: those of `compare_independent`, or the numbers of launches differ.
    """
    check_rule(margin, confidence)
    first, second = logarithms(a), logarithms(b)
    if first.size != second.size:
        raise ValueError(f"{first.size} launches and {second.size}; pairs have as many on either side")
    logs, count = second - first, first.size
    share = hidden / math.exp(first.mean())
    tested = tested_by_t([logs], float(logs.mean()), extremes(logs), margin)
    typical = typical_of_logs(logs, confidence, (tested["error"], tested["freedom"]))
    return judge(
        Comparison(
            ratio=interval_between(*typical, count, share),
            hidden=share,
            rank_p_value=signed_rank(logs),
            rank_level=max(1 - confidence, smallest_signed_rank(count)),
            paired=True,
            launches=(count, count),
            margin=margin,
            confidence=confidence,
            **tested,
        )
    )


class Tested(TypedDict):
    """The fields of a comparison that the t test makes."""

    mean: float
    p_value: float
    adjusted_p_value: float
    free_p_value: float
    deviation: float
    error: float
    freedom: float
    drift: str


def extremes(logs: Floats) -> tuple[float, float]:
    """The smallest and the largest logarithm."""
    return float(logs.min()), float(logs.max())


def tested_by_t(series: Sequence[Floats], mean: float, ratios: tuple[float, float], margin: float) -> Tested:
    """The t test.

    Launches that resemble the one before widen the error, for they may have drifted to where they are. They cannot have
    drifted farther than they did: where even the nearest ratio is beyond the margin by more than their whole range, the
    test takes them for independent.

    Args:
        series: logarithms of the ratios of pairs, or of the launches of A and of B, in their order.
        mean: of the ratio, of logarithms.
        ratios: the smallest and the largest of them, of logarithms.
        margin: within which a ratio is as good as 1.
    """
    scales = [error_of_mean(one) for one in series]
    error, freedom = welch(scales)
    plain, degrees = welch([plain_error(one) for one in series])
    spans = max(float(np.ptp(one)) for one in series)
    apart = max(ratios[0], -ratios[1]) > math.log1p(margin) + spans
    free = two_sided(mean, plain, degrees)
    p_value = free if apart else two_sided(mean, error, freedom)
    return {
        "mean": mean,
        "p_value": p_value,
        "adjusted_p_value": p_value,
        "free_p_value": free,
        "deviation": math.hypot(*(scale[0] * math.sqrt(one.size) for scale, one in zip(scales, series, strict=True))),
        "error": error,
        "freedom": freedom,
        "drift": drift_text(spans, ratios) if error > DRIFT * plain else "",
    }


def plain_error(series: Floats) -> Scale:
    """`error_of_mean` of independent launches."""
    if series.size < 2:
        return math.nan, 0.0
    return float(series.std(ddof=1)) / math.sqrt(series.size), series.size - 1.0


def drift_text(spans: float, ratios: tuple[float, float]) -> str:
    """Says how far launches went, and from where to where ratios go."""
    drift = PERCENT * math.expm1(min(spans, LARGEST))
    low, high = (f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.3g}" for ratio in map(math.exp, ratios))
    return f"{drift:.2g} % drift during the run; the difference is {low} to {high} times"
