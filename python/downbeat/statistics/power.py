"""The power of launches: which difference a number of them can show, and how many a difference takes.

It is the power of the whole rule (`verdicts.verdict_of`), but for the rank test that guards: a difference within the
margin is never faster or slower, and one that clocks may hide must exceed what they hide.
"""

from __future__ import annotations

import bisect
import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.verdicts import CONFIDENCE, FEWEST_ALIKE, FEWEST_LAUNCHES, MARGIN

POWER = 0.9  # usual where a missed difference costs more than a few launches
LARGEST_RATIO = 1e6  # beyond which no search goes
MOST_LAUNCHES = 100_000  # more than anybody will start
POWER_ROUNDING = 1e-9  # of degrees of freedom that are added up
NODES = 16  # of each integral over an estimated deviation: power to 0.005
PRECISION = 1e-4  # of a search, relative
erfc = np.vectorize(math.erfc, otypes=[float])


@dataclass(frozen=True)
class VerdictRule:
    """What a difference must meet to be called one.

    Attributes:
        level: of the two-sided t test; for the hardest of n cells under Holm's correction, the level / n.
        margin: ratios from 1 / (1 + margin) to 1 + margin are as good as 1.
        confidence: of the interval that must not be within the margin.
        hidden: by how much clocks may shift all launches together, as a share.
    """

    level: float
    margin: float = MARGIN
    confidence: float = CONFIDENCE
    hidden: float = 0.0

    def critical(self, errors: NDArray[np.float64], freedom: float) -> NDArray[np.float64]:
        """Returns from which mean of logarithms on a difference is called one, by its standard error."""
        half = t_quantile(freedom, 0.5 + self.confidence / 2) * errors
        tested = -t_quantile(freedom, self.level / 2) * errors
        outside = math.log1p(self.margin) - self.hidden - half
        return np.maximum(np.maximum(tested, outside), half + self.hidden if self.hidden else 0.0)


@functools.cache
def deviation_nodes(freedom: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns nodes and weights of an integral over the ratio of an estimated standard deviation to the true one."""
    points, weights = np.polynomial.legendre.leggauss(NODES)
    low, high = max(0.0, 1 - 4 / math.sqrt(freedom)), 1 + 4 / math.sqrt(freedom)
    s = low + (high - low) * (points + 1) / 2
    logs = (freedom - 1) * np.log(s) - freedom * s * s / 2  # density of chi / sqrt(freedom), but for a factor
    found = weights * np.exp(logs - logs.max())
    return s, found / found.sum()


def found_share(
    logs: float,
    deviation: float | NDArray[np.float64],
    error: float | NDArray[np.float64],
    freedom: int,
    rule: VerdictRule,
) -> NDArray[np.float64]:
    """Returns the probability that a mean is called a difference in the direction of `logs`.

    Args:
        logs: the true mean of logarithms.
        deviation: of the mean around it, standard deviation; a number, or shape (n,).
        error: what the standard error, which is estimated, is on average: where nothing else is in play `deviation`.
        freedom: degrees of freedom of that error.
        rule: that it must meet.

    Returns:
        Shape (n,), or (1,).
    """
    s, weights = deviation_nodes(freedom)
    spread, errors = np.atleast_1d(deviation)[:, np.newaxis], np.atleast_1d(error)[:, np.newaxis] * s
    beyond = erfc((rule.critical(errors, freedom) - abs(logs)) / (math.sqrt(2) * spread)) / 2
    return np.asarray(beyond @ weights)


def freedom_of(launches: int, paired: bool) -> int:
    """Returns the degrees of freedom of so many launches of each, or pairs."""
    # Welch's fall short of those of equal deviation_nodes by about one (simulated).
    return launches - 1 if paired else 2 * launches - 3


def power(ratio: float, deviation: float, launches: int, paired: bool, rule: VerdictRule) -> float:
    """Returns the probability that a difference is found.

    For two experiments it assumes as many launches that deviate as much.

    Args:
        ratio: the true one, B / A.
        deviation: standard deviation of the logarithm of the ratio from one launch of each; known, larger than 0.
        launches: of each, or pairs; 2 at least.
        paired: whether they are pairs.
        rule: that the difference must meet.
    """
    error = deviation / math.sqrt(launches)
    return float(found_share(math.log(ratio), error, error, freedom_of(launches, paired), rule)[0])


def predicted(logs: float, error: float, freedom: int, next_freedom: int, rule: VerdictRule) -> float:
    """Returns the probability that other launches find a difference, from an error that is estimated itself."""
    s, weights = deviation_nodes(freedom)
    true = error / s
    return float(found_share(logs, true, true, next_freedom, rule) @ weights)


def detectable_ratio(error: float, freedom: float, rule: VerdictRule, wanted: float = POWER) -> float:
    """Returns the smallest ratio above 1 that launches like these find with a probability, 0.9 by default.

    A ratio of 1 over it is found as easily. The error is an estimate; the probability is that over all it may be.

    Args:
        error: standard error of the logarithm of the ratio, `Comparison.error`.
        freedom: its degrees of freedom; fractions do not count.
        rule: that the difference must meet.
        wanted: the probability.

    Returns:
        NaN where there is no error, infinite beyond a million.
    """
    if math.isnan(error) or freedom < 1:
        return math.nan
    whole = math.floor(freedom * (1 + POWER_ROUNDING))
    low, high = 0.0, max(error, math.log1p(rule.margin), rule.hidden)
    if error == 0:
        return math.exp(float(rule.critical(np.zeros(1), whole)[0]))
    while predicted(high, error, whole, whole, rule) < wanted:
        low, high = high, 2 * high
        if high > math.log(LARGEST_RATIO):
            return math.inf
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if predicted(middle, error, whole, whole, rule) < wanted else (low, middle)
    return math.exp(high)


def launches_needed(
    ratio: float, deviation: float, freedom: float, paired: bool, rule: VerdictRule, wanted: float = POWER
) -> int:
    """Returns how many launches find a ratio with a probability, 0.9 by default.

    Args:
        ratio: the true one, B / A.
        deviation: standard deviation of the logarithm of the ratio from one launch of each, `Comparison.deviation`.
        freedom: degrees of freedom of that estimate; fractions do not count.
        paired: whether they are pairs.
        rule: that the difference must meet.
        wanted: the probability.

    Returns:
        5 at least, which a verdict takes; 100,000 at most.

    Raises:
        ValueError: the ratio is 1, which no number of launches finds different.
    """
    if ratio == 1:
        raise ValueError("a ratio of 1 is not a difference that launches could show")
    whole, logs = max(1, math.floor(freedom * (1 + POWER_ROUNDING))), math.log(ratio)

    def enough(launches: int) -> bool:
        next_freedom = freedom_of(launches, paired)
        if deviation == 0:
            return bool(abs(logs) > rule.critical(np.zeros(1), next_freedom)[0])
        return predicted(logs, deviation / math.sqrt(launches), whole, next_freedom, rule) >= wanted

    low, high = FEWEST_LAUNCHES - 1, FEWEST_LAUNCHES
    while high < MOST_LAUNCHES and not enough(high):
        low, high = high, min(2 * high, MOST_LAUNCHES)
    return bisect.bisect_left(range(high), True, lo=low + 1, key=enough)


def alike_share(deviation: float, freedom: int, launches: int, paired: bool, rule: VerdictRule) -> float:
    """Returns the probability that launches show two equal sides within the margin, from an estimated deviation."""
    next_freedom = freedom_of(launches, paired)
    true, weights = deviation_nodes(freedom)
    estimated, chances = deviation_nodes(next_freedom)
    errors = deviation / math.sqrt(launches) / true[:, np.newaxis]  # of the mean
    half = t_quantile(next_freedom, 0.5 + rule.confidence / 2) * errors * estimated
    room = np.maximum(math.log1p(rule.margin) - rule.hidden - half, 0.0)
    within = 1 - erfc(room / (math.sqrt(2) * errors))
    return float(weights @ within @ chances)


def launches_alike(deviation: float, freedom: float, paired: bool, rule: VerdictRule, wanted: float = POWER) -> int:
    """Returns how many launches show with a probability, 0.9 by default, that two equal sides are equivalent.

    Args:
        deviation: standard deviation of the logarithm of the ratio from one launch of each, `Comparison.deviation`.
        freedom: degrees of freedom of that estimate; fractions do not count.
        paired: whether they are pairs.
        rule: whose margin the interval must be within.
        wanted: the probability.

    Returns:
        10 at least, which equivalence takes; 100,000 at most.
    """
    whole = max(1, math.floor(freedom * (1 + POWER_ROUNDING)))

    def enough(launches: int) -> bool:
        if deviation == 0:
            return rule.hidden < math.log1p(rule.margin)
        return alike_share(deviation, whole, launches, paired, rule) >= wanted

    low, high = FEWEST_ALIKE - 1, FEWEST_ALIKE
    while high < MOST_LAUNCHES and not enough(high):
        low, high = high, min(2 * high, MOST_LAUNCHES)
    return bisect.bisect_left(range(high), True, lo=low + 1, key=enough)
