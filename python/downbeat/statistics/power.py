"""The power of launches: which difference a number of them can show, and how many a difference takes.

It is the power of the whole rule (`verdicts.verdict_of`), but for the rank test that guards: a difference within the
margin is never faster or slower, and one that clocks may hide must exceed what they hide.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.verdicts import CONFIDENCE, FEWEST_ALIKE, FEWEST_LAUNCHES, MARGIN

POWER = 0.9  # Cohen 1988 takes 0.8; a choice: 0.8 asks for three quarters of the launches, 0.95 for a fifth more
LARGEST_RATIO = 1e6  # no search goes beyond; no verdict depends on it
MOST_LAUNCHES = 100_000  # likewise
FREEDOM_ROUNDING = 1e-9  # relative error of a sum of whole degrees of freedom
NODES = 16  # of each integral over an estimated deviation: power to 0.0002 (8: 0.01)
PRECISION = 1e-3  # of a search for a ratio, relative: three digits are printed
RANKS = 1.07  # width of an interval by ranks over Student's, of 10 to 20 normal launches (simulated); 1: 10 % fewer
LEAST = 1e-12  # a smaller deviation is rounding
BLOCK = 64  # cells integrated at a time, in caches; 16 and 256 take 1.4 and 1.6 times as long
Floats = NDArray[np.float64]
Counts = NDArray[np.int_]


def upper_tail(z: Floats) -> Floats:
    """The probability that a normal number is above z, to 1e-7 (Abramowitz and Stegun 1964, 26.2.17)."""
    size = np.abs(z)
    t = 1 / (1 + 0.2316419 * size)
    density = np.exp(-size * size / 2) / math.sqrt(2 * math.pi)
    terms = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = density * terms
    return np.asarray(np.where(z < 0, 1 - tail, tail))


@dataclass(frozen=True)
class VerdictRule:
    """The conditions that a difference must meet.

    Attributes:
        level: of the two-sided t test; for the hardest of n cells under Holm's correction, the level / n.
        margin: ratios from 1 / (1 + margin) to 1 + margin are as good as 1.
        confidence: of the interval that must not be within the margin.
        hidden: by how much clocks may shift all launches together, as a share; a number, or shape (n,).
    """

    level: float
    margin: float = MARGIN
    confidence: float = CONFIDENCE
    hidden: float | Floats = 0.0

    def critical(self, true: Floats, estimated: Floats, freedom: Floats, hidden: Floats) -> Floats:
        """The mean of logarithms from which on a difference is called, in standard errors.

        Args:
            true: standard errors of the mean, shape (n, nodes).
            estimated: estimates of these, as a ratio to them, shape (n, other nodes).
            freedom: degrees of freedom of the estimates, shape (n,).
            hidden: shape (n,).

        Returns:
            Shape (n, nodes, other nodes).
        """
        half = (RANKS * quantiles(freedom, 0.5 + self.confidence / 2)[:, np.newaxis] * estimated)[:, np.newaxis, :]
        tested = (-quantiles(freedom, self.level / 2)[:, np.newaxis] * estimated)[:, np.newaxis, :]
        scaled = (hidden[:, np.newaxis] / true)[:, :, np.newaxis]
        outside = (math.log1p(self.margin) / true)[:, :, np.newaxis] - scaled - half
        known = np.where(hidden[:, np.newaxis, np.newaxis] > 0, half + scaled, 0.0)
        return np.asarray(np.maximum(np.maximum(tested, outside), known))

    def equality(self, true: Floats, estimated: Floats, freedom: Floats, hidden: Floats) -> Floats:
        """The probability that two equal sides are shown to be within the margin; arguments as in `critical`."""
        half = (RANKS * quantiles(freedom, 0.5 + self.confidence / 2)[:, np.newaxis] * estimated)[:, np.newaxis, :]
        room = ((math.log1p(self.margin) - hidden)[:, np.newaxis] / true)[:, :, np.newaxis] - half
        return np.where(room > 0, 1 - 2 * upper_tail(np.maximum(room, 0.0)), 0.0)


def quantiles(freedom: Floats, probability: float) -> Floats:
    values, indices = np.unique(freedom, return_inverse=True)
    return np.array([t_quantile(float(value), probability) for value in values])[indices]


@functools.cache
def deviation_nodes(freedom: float) -> tuple[Floats, Floats]:
    """Nodes and weights of an integral over the ratio of an estimated standard deviation to the true one."""
    points, weights = np.polynomial.legendre.leggauss(NODES)
    low, high = max(0.0, 1 - 4 / math.sqrt(freedom)), 1 + 4 / math.sqrt(freedom)
    s = low + (high - low) * (points + 1) / 2
    logs = (freedom - 1) * np.log(s) - freedom * s * s / 2  # density of chi / sqrt(freedom), but for a factor
    density = weights * np.exp(logs - logs.max())
    return s, density / density.sum()


def nodes_of(freedom: Floats) -> tuple[Floats, Floats]:
    """`deviation_nodes` of each, shape (n, NODES)."""
    values, indices = np.unique(freedom, return_inverse=True)
    each = [deviation_nodes(float(value)) for value in values]
    return np.array([s for s, _ in each])[indices], np.array([weights for _, weights in each])[indices]


def power(ratio: float, deviation: float, launches: int, paired: bool, rule: VerdictRule) -> float:
    """The probability that launches show a difference.

    For two experiments it assumes equal numbers of launches that deviate alike.

    Args:
        ratio: the true one, B / A.
        deviation: standard deviation of the logarithm of the ratio from one launch of each; known, larger than 0.
        launches: of each, or pairs; 2 at least.
        paired: whether they are pairs.
        rule: that the difference must meet.

    Returns:
        A probability.
    """
    error = np.array([[deviation / math.sqrt(launches)]])
    free = freedom_of(np.array([launches]), np.array([paired]))
    s, weights = nodes_of(free)
    hidden = np.atleast_1d(np.asarray(rule.hidden, dtype=float))
    apart = rule.critical(error, s, free, hidden)[0, 0] - abs(math.log(ratio)) / error[0, 0]
    return float(upper_tail(apart) @ weights[0])


def freedom_of(launches: Counts, paired: NDArray[np.bool_]) -> Floats:
    """Degrees of freedom of pairs, or of as many launches on both sides."""
    # Welch's fall short of those of equal deviations by about one (simulated).
    return np.where(paired, launches - 1, 2 * launches - 3).astype(float)


@dataclass(frozen=True)
class Spread:
    """How far launches of cells deviate, as far as the launches so far tell.

    Attributes:
        error: standard error of the mean of logarithms, an estimate, shape (n,).
        freedom: its degrees of freedom, whole numbers, shape (n,).
        rule: with `hidden` of shape (n,).
    """

    error: Floats
    freedom: Floats
    rule: VerdictRule

    @classmethod
    def of(cls, error: ArrayLike, freedom: ArrayLike, rule: VerdictRule) -> Spread:
        errors, free = np.broadcast_arrays(
            np.atleast_1d(np.asarray(error, dtype=float)), np.atleast_1d(np.asarray(freedom, dtype=float))
        )
        free = np.maximum(1.0, np.floor(np.nan_to_num(free) * (1 + FREEDOM_ROUNDING)))
        hidden = np.broadcast_to(np.asarray(rule.hidden, dtype=float), errors.shape)
        return cls(errors, free, dataclasses.replace(rule, hidden=hidden))

    def __getitem__(self, rows: NDArray[np.intp]) -> Spread:
        hidden = np.asarray(self.rule.hidden)[rows]
        return Spread(self.error[rows], self.freedom[rows], dataclasses.replace(self.rule, hidden=hidden))

    def chance(self, logs: ArrayLike | None, launches: Counts | None, freedom: Floats) -> Floats:
        """The probability that other launches show a difference, over all true errors that explain the estimate.

        Args:
            logs: the true mean of logarithms, shape (n,), or a number; None: that they show equal sides to be so.
            launches: of which one has the error `error`; None: as many as there are.
            freedom: of the estimate that these launches will make, shape (n,).
        """
        shares = np.empty(self.error.size)
        hidden = np.asarray(self.rule.hidden)
        errors = np.maximum(self.error / (1.0 if launches is None else np.sqrt(launches)), LEAST)
        means = None if logs is None else np.broadcast_to(np.asarray(logs, dtype=float), errors.shape)
        for start in range(0, errors.size, BLOCK):
            rows = slice(start, start + BLOCK)
            s, weights = nodes_of(self.freedom[rows])
            estimated, chances = nodes_of(freedom[rows])
            rest = (errors[rows, np.newaxis] / s, estimated, freedom[rows], hidden[rows])
            if means is None:
                shown = self.rule.equality(*rest)
            else:
                size = (np.abs(means[rows])[:, np.newaxis] / rest[0])[:, :, np.newaxis]
                shown = upper_tail(self.rule.critical(*rest) - size)
            shares[rows] = ((shown * chances[:, np.newaxis, :]).sum(axis=2) * weights).sum(axis=1)
        return shares


def detectable_ratio(error: ArrayLike, freedom: ArrayLike, rule: VerdictRule, wanted: float = POWER) -> Floats:
    """The smallest ratio above 1 that launches like these show with a probability, 0.9 by default.

    A ratio of 1 over it is shown as easily. The error is an estimate; the probability is that over all true errors.

    Args:
        error: standard error of the logarithm of the ratio, `Comparison.error`; a number, or shape (n,).
        freedom: its degrees of freedom; fractions do not count.
        rule: that the difference must meet.
        wanted: the probability.

    Returns:
        Shape (n,), or (1,); NaN where there is no error, infinite beyond a million.
    """
    every = Spread.of(error, freedom, rule)
    ratios = np.full(every.error.shape, np.nan)
    known = np.flatnonzero(np.isfinite(every.error) & (np.broadcast_to(np.asarray(freedom), ratios.shape) >= 1))
    spread, most = every[known], math.log(LARGEST_RATIO)

    def short(logs: Floats, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        some = spread[rows]
        return np.asarray(some.chance(logs, None, some.freedom) < wanted)

    low = np.zeros(known.size)
    high = np.maximum(np.maximum(spread.error, math.log1p(rule.margin)), np.asarray(spread.rule.hidden))
    rows = np.arange(known.size)
    while rows.size:
        rows = rows[short(high[rows], rows) & (high[rows] <= most)]
        low[rows], high[rows] = high[rows], 2 * high[rows]
    beyond, rows = high > most, np.arange(known.size)
    for _ in range(math.ceil(-math.log2(PRECISION))):
        middle = (low + high) / 2
        below = short(middle, rows)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    ratios[known] = np.where(beyond, np.inf, np.exp(np.minimum(high, most)))
    return ratios


def launches_needed(
    ratio: float, deviation: ArrayLike, freedom: ArrayLike, paired: ArrayLike, rule: VerdictRule, wanted: float = POWER
) -> Counts:
    """The number of launches that show a ratio with a probability, 0.9 by default.

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
        ValueError: the ratio is 1, which no number of launches shows to be different.
    """
    if ratio == 1:
        raise ValueError("a ratio of 1 is not a difference that launches could show")
    return fewest(Spread.of(deviation, freedom, rule), math.log(ratio), paired, FEWEST_LAUNCHES, wanted)


def launches_alike(
    deviation: ArrayLike, freedom: ArrayLike, paired: ArrayLike, rule: VerdictRule, wanted: float = POWER
) -> Counts:
    """The number of launches that show with a probability, 0.9 by default, that two equal sides are equivalent.

    Args:
        deviation: as in `launches_needed`.
        freedom: likewise.
        paired: likewise.
        rule: whose margin the interval must be within.
        wanted: the probability.

    Returns:
        10 at least, which equivalence takes; 100,000 at most. Shape (n,), or (1,).
    """
    return fewest(Spread.of(deviation, freedom, rule), None, paired, FEWEST_ALIKE, wanted)


def fewest(spread: Spread, logs: float | None, paired: ArrayLike, least: int, wanted: float) -> Counts:
    """The smallest numbers of launches, from `least` to 100,000, whose chance suffices, by doubling and halving."""
    pairs = np.broadcast_to(np.asarray(paired, dtype=bool), spread.error.shape)
    low, high = np.full(spread.error.shape, least - 1), np.full(spread.error.shape, least)

    def short(launches: Counts, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        chance: Callable[..., Floats] = spread[rows].chance
        return np.asarray(chance(logs, launches, freedom_of(launches, pairs[rows])) < wanted)

    rows = np.arange(high.size)
    while rows.size:
        rows = rows[short(high[rows], rows) & (high[rows] < MOST_LAUNCHES)]
        low[rows], high[rows] = high[rows], np.minimum(2 * high[rows], MOST_LAUNCHES)
    while (rows := np.flatnonzero(high - low > 1)).size:
        middle = (low[rows] + high[rows]) // 2
        below = short(middle, rows)
        low[rows], high[rows] = np.where(below, middle, low[rows]), np.where(below, high[rows], middle)
    return high
