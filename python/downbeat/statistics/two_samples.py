"""Compares launches of two experiments, paired or independent."""

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
MAX_LOG = 100.0  # largest logarithm of a drift in texts, so that exp does not overflow
# Ratio of the error to that of independent launches from which reasons name the drift. Chosen by hand; with 1.1 or 1.4,
# 1 % of reasons change.
DRIFT = 1.2


def compare_independent(
    a: ArrayLike, b: ArrayLike, margin: float = MARGIN, confidence: float = CONFIDENCE, hidden: float = 0.0
) -> Comparison:
    """Compares B with A, independent launches, e.g. of two experiments.

    All launches count as one session; for experiments at different times see `compare_across_sessions`. The ratio is
    the median of all ratios of a launch of B and a launch of A (`shift_of_logs`). The t test is Welch's on the
    logarithms (Welch 1947), guarded by Wilcoxon's rank-sum test against outlying launches. Correlated successive
    launches count as fewer (`effective_launches`), unless the sides are farther apart than the range of either.

    Args:
        a: one number per launch, in their order, shape (launches,), any unit; larger than 0.
        b: launches of the other side, in the same unit; their number may differ.
        margin: ratios within the margin count as equal.
        confidence: of the interval; determines the level of the tests.
        hidden: largest common error of b - a in all launches, from the clocks, in the unit of a.

    Returns:
        The comparison, judged alone; `judge_together` corrects several.

    Raises:
        ValueError: a value is not positive and finite, or the margin or the confidence is out of range.
    """
    check_rule(margin, confidence)
    first, second = logarithms(a), logarithms(b)
    tested = tested_by_t([first, second], second - first[:, np.newaxis], float(second.mean() - first.mean()), margin)
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
    """Compares B with A, measured in the same launches or in successive launches.

    The ratio is the pseudo-median of the ratios of pairs (`typical_of_logs`). The t test is that of their logarithms,
    guarded by Wilcoxon's signed-rank test; with 5 pairs its p-value is at least 0.0625, so all pairs must agree.
    The design of the experiment decides whether launches are pairs, never the significance of a result.

    Args:
        a: as in `compare_independent`, a number per pair.
        b: the other side of each pair, in the same order.
        margin: as in `compare_independent`.
        confidence: as in `compare_independent`.
        hidden: as in `compare_independent`.

    Returns:
        The comparison, judged alone; `judge_together` corrects several.

    Raises:
        ValueError: as `compare_independent`, or the numbers of launches differ.
    """
    check_rule(margin, confidence)
    first, second = logarithms(a), logarithms(b)
    if first.size != second.size:
        raise ValueError(f"{first.size} launches and {second.size}; pairs need equal numbers")
    logs, count = second - first, first.size
    share = hidden / math.exp(first.mean())
    tested = tested_by_t([logs], logs, float(logs.mean()), margin)
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
    """The fields of a comparison that the t test determines."""

    mean: float
    p_value: float
    adjusted_p_value: float
    free_p_value: float
    deviation: float
    error: float
    freedom: float
    drift: str


def tested_by_t(series: Sequence[Floats], logs: Floats, mean: float, margin: float) -> Tested:
    """Runs the t test.

    Correlated successive launches widen the error, because a drift may explain the difference. A drift is no larger
    than the range of the launches: if the ratio closest to 1 is beyond the margin by more than that range, the test
    takes launches for independent.

    Args:
        series: logarithms of the ratios of pairs, or of the launches of A and of B, in their order.
        logs: logarithms of all ratios, any shape.
        mean: mean logarithm of the ratio.
        margin: ratios within the margin count as equal.
    """
    ratios = float(logs.min()), float(logs.max())
    scales = [error_of_mean(logs) for logs in series]
    error, freedom = welch(scales)
    plain, degrees = welch([plain_error(logs) for logs in series])
    spans = max(float(np.ptp(logs)) for logs in series)
    apart = max(ratios[0], -ratios[1]) > math.log1p(margin) + spans
    free = two_sided(mean, plain, degrees)
    p_value = free if apart else two_sided(mean, error, freedom)
    return {
        "mean": mean,
        "p_value": p_value,
        "adjusted_p_value": p_value,
        "free_p_value": free,
        "deviation": math.hypot(*(scale[0] * math.sqrt(logs.size) for scale, logs in zip(scales, series, strict=True))),
        "error": error,
        "freedom": freedom,
        "drift": drift_text(spans, ratios) if error > DRIFT * plain else "",
    }


def plain_error(series: Floats) -> Scale:
    """Returns `error_of_mean` of launches that are taken for independent."""
    if series.size < 2:
        return math.nan, 0.0
    return float(series.std(ddof=1)) / math.sqrt(series.size), series.size - 1.0


def drift_text(spans: float, ratios: tuple[float, float]) -> str:
    """Describes the drift of launches and the range of ratios."""
    drift = PERCENT * math.expm1(min(spans, MAX_LOG))
    low, high = (f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.3g}" for ratio in map(math.exp, ratios))
    return f"{drift:.2g} % drift during the run; the difference is {low} to {high} times"
