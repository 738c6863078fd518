"""The power of launches: which difference a number of them can show, and how many a difference takes.

It is the power of the whole rule (`verdicts.verdict_of`), but for the rank test that guards: a difference within the
margin is never faster or slower, and one that clocks may hide must exceed what they hide.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.verdicts import CONFIDENCE, FEWEST_ALIKE, FEWEST_LAUNCHES, MARGIN

POWER = 0.9  # usual where a missed difference costs more than a few launches
LARGEST_RATIO = 1e6  # beyond which no search goes
MOST_LAUNCHES = 100_000  # more than anybody will start
MOST_DECIDING = 10_000  # nobody will start more of them to decide one cell
POWER_ROUNDING = 1e-9  # of degrees of freedom that are added up
NODES = 16  # of each integral over an estimated deviation: power to 0.005
PRECISION = 1e-3  # of a search, relative
RANKS = 1.07  # times as wide as Student's are intervals by ranks, of normal launches (simulated, 10 to 20 of them)
LEAST = 1e-12  # a deviation of less is none
Floats = NDArray[np.float64]
Count = TypeVar("Count", int, NDArray[np.int_])


def upper_tail(z: Floats) -> Floats:
    """Returns the probability that a normal number is above z, to 1e-7 (Abramowitz and Stegun 1964, 26.2.17)."""
    size = np.abs(z)
    t = 1 / (1 + 0.2316419 * size)
    density = np.exp(-size * size / 2) / math.sqrt(2 * math.pi)
    terms = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = density * terms
    return np.asarray(np.where(z < 0, 1 - tail, tail))


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
    hidden: float | Floats = 0.0

    def critical(self, errors: Floats, freedom: Floats) -> Floats:
        """Returns from which mean of logarithms on a difference is called one.

        Args:
            errors: its standard error, shape (n, nodes).
            freedom: of each, shape (n,).
        """
        hidden = np.broadcast_to(np.asarray(self.hidden, dtype=float), freedom.shape)[:, np.newaxis]
        half = RANKS * t_quantiles(freedom, 0.5 + self.confidence / 2)[:, np.newaxis] * errors
        tested = -t_quantiles(freedom, self.level / 2)[:, np.newaxis] * errors
        outside = math.log1p(self.margin) - hidden - half
        return np.asarray(np.maximum(np.maximum(tested, outside), np.where(hidden > 0, half + hidden, 0.0)))


def t_quantiles(freedom: Floats, probability: float) -> Floats:
    """Returns `t_quantile` of each."""
    values, places = np.unique(freedom, return_inverse=True)
    return np.array([t_quantile(float(value), probability) for value in values])[places]


@functools.cache
def deviation_nodes(freedom: float) -> tuple[Floats, Floats]:
    """Returns nodes and weights of an integral over the ratio of an estimated standard deviation to the true one."""
    points, weights = np.polynomial.legendre.leggauss(NODES)
    low, high = max(0.0, 1 - 4 / math.sqrt(freedom)), 1 + 4 / math.sqrt(freedom)
    s = low + (high - low) * (points + 1) / 2
    logs = (freedom - 1) * np.log(s) - freedom * s * s / 2  # density of chi / sqrt(freedom), but for a factor
    found = weights * np.exp(logs - logs.max())
    return s, found / found.sum()


def nodes_of(freedom: Floats) -> tuple[Floats, Floats]:
    """Returns `deviation_nodes` of each, shape (n, NODES)."""
    values, places = np.unique(freedom, return_inverse=True)
    each = [deviation_nodes(float(value)) for value in values]
    return np.array([s for s, _ in each])[places], np.array([weights for _, weights in each])[places]


def found_share(
    logs: float | Floats, deviation: float | Floats, error: float | Floats, freedom: float | Floats, rule: VerdictRule
) -> Floats:
    """Returns the probability that a mean is called a difference in the direction of `logs`.

    Args:
        logs: the true mean of logarithms; a number, or shape (n,), as are the others and `rule.hidden`.
        deviation: of the mean around it, standard deviation.
        error: what the standard error, which is estimated, is on average: where nothing else is in play `deviation`.
        freedom: degrees of freedom of that error, whole numbers.
        rule: that it must meet.

    Returns:
        Shape (n,), or (1,).
    """
    true, spread, errors, free = np.broadcast_arrays(*map(np.atleast_1d, (logs, deviation, error, freedom)))
    s, weights = nodes_of(free.astype(float))
    critical = rule.critical(errors[:, np.newaxis] * s, free.astype(float))
    apart = (critical - np.abs(true)[:, np.newaxis]) / np.maximum(spread, LEAST)[:, np.newaxis]
    return np.asarray((upper_tail(apart) * weights).sum(axis=1))


def freedom_of(launches: Count, paired: bool) -> Count:
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


def predicted(logs: Floats, error: Floats, freedom: Floats, next_freedom: Floats, rule: VerdictRule) -> Floats:
    """Returns the probability that other launches find a difference, from an error that is estimated itself.

    All of shape (n,), but for the rule, whose `hidden` may be.
    """
    s, weights = nodes_of(freedom)
    true = (np.maximum(error, LEAST)[:, np.newaxis] / s).ravel()
    hidden = np.broadcast_to(np.asarray(rule.hidden, dtype=float), error.shape)
    many = dataclasses.replace(rule, hidden=np.repeat(hidden, NODES))
    found = found_share(np.repeat(logs, NODES), true, true, np.repeat(next_freedom, NODES), many)
    return np.asarray((found.reshape(weights.shape) * weights).sum(axis=1))


def whole(freedom: ArrayLike) -> Floats:
    """Returns degrees of freedom without their fractions, 1 at least."""
    return np.maximum(1.0, np.floor(np.atleast_1d(np.asarray(freedom, dtype=float)) * (1 + POWER_ROUNDING)))


def detectable_ratio(error: ArrayLike, freedom: ArrayLike, rule: VerdictRule, wanted: float = POWER) -> Floats:
    """Returns the smallest ratio above 1 that launches like these find with a probability, 0.9 by default.

    A ratio of 1 over it is found as easily. The error is an estimate; the probability is that over all it may be.

    Args:
        error: standard error of the logarithm of the ratio, `Comparison.error`; a number, or shape (n,).
        freedom: its degrees of freedom; fractions do not count.
        rule: that the difference must meet.
        wanted: the probability.

    Returns:
        Shape (n,), or (1,); NaN where there is no error, infinite beyond a million.
    """
    errors, free = np.broadcast_arrays(np.atleast_1d(np.asarray(error, dtype=float)), np.atleast_1d(freedom))
    found = np.full(errors.shape, np.nan)
    known = np.flatnonzero(np.isfinite(errors) & (free >= 1))
    if not known.size:
        return found
    errors, free = errors[known], whole(free[known])
    rule = dataclasses.replace(rule, hidden=np.broadcast_to(np.asarray(rule.hidden, dtype=float), found.shape)[known])
    low, high = np.zeros(known.size), np.maximum(np.maximum(errors, math.log1p(rule.margin)), rule.hidden)
    while True:
        short = (predicted(high, errors, free, free, rule) < wanted) & (high <= math.log(LARGEST_RATIO))
        if not short.any():
            break
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    beyond = high > math.log(LARGEST_RATIO)
    for _ in range(math.ceil(-math.log2(PRECISION))):
        middle = (low + high) / 2
        short = predicted(middle, errors, free, free, rule) < wanted
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    found[known] = np.where(beyond, np.inf, np.exp(np.minimum(high, math.log(LARGEST_RATIO))))
    return found


def launches_needed(
    ratio: float, deviation: ArrayLike, freedom: ArrayLike, paired: ArrayLike, rule: VerdictRule, wanted: float = POWER
) -> NDArray[np.int_]:
    """Returns how many launches find a ratio with a probability, 0.9 by default.

    Args:
        ratio: the true one, B / A.
        deviation: standard deviation of the logarithm of the ratio from one launch of each, `Comparison.deviation`; a
            number, or shape (n,).
        freedom: degrees of freedom of that estimate; fractions do not count.
        paired: whether they are pairs.
        rule: that the difference must meet.
        wanted: the probability.

    Returns:
        5 at least, which a verdict takes; 100,000 at most. Shape (n,), or (1,).

    Raises:
        ValueError: the ratio is 1, which no number of launches finds different.
    """
    if ratio == 1:
        raise ValueError("a ratio of 1 is not a difference that launches could show")
    deviations, free, pairs = np.broadcast_arrays(np.atleast_1d(deviation), whole(freedom), np.atleast_1d(paired))
    logs = np.full(deviations.shape, math.log(ratio))

    def enough(launches: NDArray[np.int_]) -> NDArray[np.bool_]:
        degrees = np.where(pairs, freedom_of(launches, True), freedom_of(launches, False)).astype(float)
        return np.asarray(predicted(logs, deviations / np.sqrt(launches), free, degrees, rule) >= wanted)

    low, high = np.full(logs.shape, FEWEST_LAUNCHES - 1), np.full(logs.shape, FEWEST_LAUNCHES)
    while True:
        short = ~enough(high) & (high < MOST_LAUNCHES)
        if not short.any():
            break
        low, high = np.where(short, high, low), np.where(short, np.minimum(2 * high, MOST_LAUNCHES), high)
    while (high - low > 1).any():
        middle = (low + high) // 2
        short = ~enough(middle)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray(high)


def launches_that_decide(deviation: float, margin: float, confidence: float = CONFIDENCE) -> int:
    """Returns how many launches make half the interval of a ratio as narrow as the margin.

    Args:
        deviation: standard deviation of the log ratio between launches, `Comparison.deviation`.
        margin: as 0.02.
        confidence: of the interval.

    Returns:
        As many as equivalence takes at least, 10,000 at most.
    """

    def narrow(count: int) -> bool:
        half = t_quantile(count - 1, 0.5 + confidence / 2) * deviation / math.sqrt(count)
        return bool(half <= math.log1p(margin))

    return FEWEST_ALIKE + bisect.bisect_left(range(FEWEST_ALIKE, MOST_DECIDING), True, key=narrow)
