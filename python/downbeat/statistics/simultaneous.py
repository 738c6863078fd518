"""Intervals that hold all together: what the extreme of many is picked from must not be as narrow as one alone."""

from __future__ import annotations

import math

from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.location import Interval, interval_of_logs
from downbeat.statistics.verdicts import Comparison


def simultaneous_interval(comparison: Comparison, number: int) -> Interval:
    """Returns the interval of a ratio that holds together with those of the other comparisons of a family.

    The interval of one ratio alone is too narrow for the largest of many: it was picked for what noise added to it. By
    Bonferroni's inequality the intervals of all comparisons hold at once with the confidence of the comparison, and so
    does that of any that is picked, for whatever reason (Dunn 1961).

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
    pairs = comparison.launches[0]
    mean = math.log(comparison.ratio.estimate)
    if pairs < 2:
        return interval_of_logs(mean, math.nan, pairs)
    quantile = t_quantile(pairs - 1, 1 - (1 - comparison.confidence) / (2 * number))
    half = quantile * comparison.deviation / math.sqrt(pairs)
    return interval_of_logs(mean, half, pairs, comparison.hidden)
