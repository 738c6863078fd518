"""Computes the smallest difference that a number of launches can show, and the number of launches for a difference.

It is the power of the verdict rule (`verdicts.verdict_of`) without its rank test: a difference within the margin is
never faster or slower, and it must exceed the uncertainty of the clocks.
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
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN, MIN_ALIKE, MIN_LAUNCHES

EFFECT = 1.05  # ratio for which the needed launches are computed: the smallest gain that is worth tuning
AFFORDABLE = 100  # launches, ten minutes to hours; if more are needed, the machine is called noisy
# Default probability of showing a difference. Chosen by hand (Cohen 1988: 0.8). With 0.8, three quarters of the
# launches are needed; with 0.95, a fifth more.
POWER = 0.9
MAX_RATIO = 1e6  # limit of searches; no verdict depends on it
MAX_LAUNCHES = 100_000  # limit of searches
FREEDOM_ROUNDING = 1e-9  # relative rounding error of a sum of integer degrees of freedom
NODES = 16  # of each integral over an estimated deviation: power to 0.0002 (8: 0.01)
PRECISION = 1e-3  # relative, of a search for a ratio; three digits are printed
# Width of a rank interval relative to Student's interval, for 10 to 20 normal launches (simulated). With 1, 10 % fewer
# launches seem to be needed.
RANKS = 1.07
MIN_DEVIATION = 1e-12  # smaller deviations are rounding errors
BLOCK = 64  # cells that are integrated at a time, to fit in caches; 16 takes 1.4 times, 256 takes 1.6 times as long
Floats = NDArray[np.float64]
Counts = NDArray[np.int_]


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
    """The conditions that a difference must meet for a verdict.

    Attributes:
        level: level of the two-sided t test; level / n for the smallest p-value of n cells under Holm's correction.
        margin: ratios from 1 / (1 + margin) to 1 + margin count as equal.
        confidence: confidence of the interval that must not be within the margin.
        hidden: largest common shift of all launches by clocks, relative; a number, or shape (n,).
    """

    level: float
    margin: float = MARGIN
    confidence: float = CONFIDENCE
    hidden: float | Floats = 0.0

    def critical(self, true: Floats, estimated: Floats, freedom: Floats, hidden: Floats) -> Floats:
        """Returns the smallest mean of logarithms that is called a difference, in standard errors.

        Args:
            true: standard errors of the mean, shape (n, nodes).
            estimated: ratios of estimated to true standard errors, shape (n, other nodes).
            freedom: degrees of freedom of the estimates, shape (n,).
            hidden: largest common shift of all launches by clocks, relative, shape (n,).

        Returns:
            Shape (n, nodes, other nodes).
        """
        half = (RANKS * quantiles(freedom, 0.5 + self.confidence / 2)[:, np.newaxis] * estimated)[:, np.newaxis, :]
        by_test = (-quantiles(freedom, self.level / 2)[:, np.newaxis] * estimated)[:, np.newaxis, :]
        scaled = (hidden[:, np.newaxis] / true)[:, :, np.newaxis]
        outside = (math.log1p(self.margin) / true)[:, :, np.newaxis] - scaled - half
        by_clocks = np.where(hidden[:, np.newaxis, np.newaxis] > 0, half + scaled, 0.0)
        return np.asarray(np.maximum(np.maximum(by_test, outside), by_clocks))

    def equality(self, true: Floats, estimated: Floats, freedom: Floats, hidden: Floats) -> Floats:
        """Returns the probability of the verdict "equivalent" for two equal sides; arguments as in `critical`."""
        half = (RANKS * quantiles(freedom, 0.5 + self.confidence / 2)[:, np.newaxis] * estimated)[:, np.newaxis, :]
        room = ((math.log1p(self.margin) - hidden)[:, np.newaxis] / true)[:, :, np.newaxis] - half
        return np.where(room > 0, 1 - 2 * upper_tail(np.maximum(room, 0.0)), 0.0)


def quantiles(freedom: Floats, probability: float) -> Floats:
    """Returns a quantile of Student's t distribution for each degree of freedom."""
    values, indices = np.unique(freedom, return_inverse=True)
    return np.array([t_quantile(float(value), probability) for value in values])[indices]


@functools.cache
def deviation_nodes(freedom: float) -> tuple[Floats, Floats]:
    """Returns nodes and weights of an integral over the ratio of an estimated standard deviation to the true one."""
    points, weights = np.polynomial.legendre.leggauss(NODES)
    low, high = max(0.0, 1 - 4 / math.sqrt(freedom)), 1 + 4 / math.sqrt(freedom)
    s = low + (high - low) * (points + 1) / 2
    logs = (freedom - 1) * np.log(s) - freedom * s * s / 2  # log density of chi / sqrt(freedom), up to a constant
    density = weights * np.exp(logs - logs.max())
    return s, density / density.sum()


def nodes_of(freedom: Floats) -> tuple[Floats, Floats]:
    """Returns `deviation_nodes` for each degree of freedom, shape (n, NODES)."""
    values, indices = np.unique(freedom, return_inverse=True)
    each = [deviation_nodes(float(value)) for value in values]
    return np.array([s for s, _ in each])[indices], np.array([weights for _, weights in each])[indices]


def power(ratio: float, deviation: float, launches: int, paired: bool, rule: VerdictRule) -> float:
    """Returns the probability that launches show a difference.

    For two experiments it assumes equal numbers of launches with equal deviations.

    Args:
        ratio: true ratio, B / A.
        deviation: standard deviation of the logarithm of the ratio from one launch of each; known, larger than 0.
        launches: number of launches of each side, or of pairs; at least 2.
        paired: true: launches are pairs.
        rule: conditions that the difference must meet.
    """
    error = np.array([[deviation / math.sqrt(launches)]])
    free = freedom_of(np.array([launches]), np.array([paired]))
    s, weights = nodes_of(free)
    hidden = np.atleast_1d(np.asarray(rule.hidden, dtype=float))
    apart = rule.critical(error, s, free, hidden)[0, 0] - abs(math.log(ratio)) / error[0, 0]
    return float(upper_tail(apart) @ weights[0])


def freedom_of(launches: Counts, paired: NDArray[np.bool_]) -> Floats:
    """Returns the degrees of freedom for pairs, or for an equal number of launches on both sides."""
    # Welch's degrees of freedom are about one below those of the pooled test (simulated).
    return np.where(paired, launches - 1, 2 * launches - 3).astype(float)


@dataclass(frozen=True)
class Spread:
    """The deviations of cells, estimated from the launches so far.

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
        """Returns the probability that future launches show a difference, averaged over true errors given the estimate.

        Args:
            logs: true mean of logarithms, shape (n,), or a number; None: the probability that equal sides are shown
                to be equivalent.
            launches: number of launches, if `error` is for a single one, shape (n,); None: `error` is for all.
            freedom: degrees of freedom of the future estimate, shape (n,).
        """
        shares = np.empty(self.error.size)
        hidden = np.asarray(self.rule.hidden)
        errors = np.maximum(self.error / (1.0 if launches is None else np.sqrt(launches)), MIN_DEVIATION)
        means = None if logs is None else np.broadcast_to(np.asarray(logs, dtype=float), errors.shape)
        for start in range(0, errors.size, BLOCK):
            rows = slice(start, start + BLOCK)
            s, weights = nodes_of(self.freedom[rows])
            estimated, chances = nodes_of(freedom[rows])
            arguments = (errors[rows, np.newaxis] / s, estimated, freedom[rows], hidden[rows])
            if means is None:
                shown = self.rule.equality(*arguments)
            else:
                size = (np.abs(means[rows])[:, np.newaxis] / arguments[0])[:, :, np.newaxis]
                shown = upper_tail(self.rule.critical(*arguments) - size)
            shares[rows] = ((shown * chances[:, np.newaxis, :]).sum(axis=2) * weights).sum(axis=1)
        return shares


def detectable_ratio(error: ArrayLike, freedom: ArrayLike, rule: VerdictRule, probability: float = POWER) -> Floats:
    """Returns the smallest ratio above 1 that launches show with a probability, 0.9 by default.

    The inverse ratio is shown equally well. The probability is averaged over the true errors given the estimate.

    Args:
        error: standard error of the logarithm of the ratio, `Comparison.error`; a number, or shape (n,).
        freedom: its degrees of freedom, rounded down.
        rule: that the difference must meet.
        probability: of showing it.

    Returns:
        Shape (n,), or (1,); NaN without an error, infinite beyond a million.
    """
    spread = Spread.of(error, freedom, rule)
    ratios = np.full(spread.error.shape, np.nan)
    known = np.flatnonzero(np.isfinite(spread.error) & (np.broadcast_to(np.asarray(freedom), ratios.shape) >= 1))
    spread, max_log = spread[known], math.log(MAX_RATIO)

    def short(logs: Floats, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        cells = spread[rows]
        return np.asarray(cells.chance(logs, None, cells.freedom) < probability)

    low = np.zeros(known.size)
    high = np.maximum(np.maximum(spread.error, math.log1p(rule.margin)), np.asarray(spread.rule.hidden))
    rows = np.arange(known.size)
    while rows.size:
        rows = rows[short(high[rows], rows) & (high[rows] <= max_log)]
        low[rows], high[rows] = high[rows], 2 * high[rows]
    beyond, rows = high > max_log, np.arange(known.size)
    for _ in range(math.ceil(-math.log2(PRECISION))):
        middle = (low + high) / 2
        below = short(middle, rows)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    ratios[known] = np.where(beyond, np.inf, np.exp(np.minimum(high, max_log)))
    return ratios


def launches_needed(
    ratio: ArrayLike,
    deviation: ArrayLike,
    freedom: ArrayLike,
    paired: ArrayLike,
    rule: VerdictRule,
    probability: float = POWER,
) -> Counts:
    """Returns the number of launches that show a ratio with a probability, 0.9 by default.

    Args:
        ratio: true ratio, B / A; a number, or shape (n,).
        deviation: standard deviation of the logarithm of the ratio from one launch of each, `Comparison.deviation`; a
            number, or shape (n,).
        freedom: degrees of freedom of that estimate, rounded down.
        paired: whether launches are pairs.
        rule: that the difference must meet.
        probability: of showing it.

    Returns:
        At least 5, which a verdict needs, at most 100,000. Shape (n,), or (1,).

    Raises:
        ValueError: a ratio is 1.
    """
    if np.any(np.asarray(ratio) == 1):
        raise ValueError("a ratio of 1 is no difference; give another ratio")
    return fewest(Spread.of(deviation, freedom, rule), np.log(ratio), paired, MIN_LAUNCHES, probability)


def launches_alike(
    deviation: ArrayLike, freedom: ArrayLike, paired: ArrayLike, rule: VerdictRule, probability: float = POWER
) -> Counts:
    """Returns the number of launches that show with a probability, 0.9 by default, that equal sides are equivalent.

    Args:
        deviation: as in `launches_needed`.
        freedom: as in `launches_needed`.
        paired: as in `launches_needed`.
        rule: whose margin the interval must be within.
        probability: of showing it.

    Returns:
        At least 10, which equivalence needs, at most 100,000. Shape (n,), or (1,).
    """
    return fewest(Spread.of(deviation, freedom, rule), None, paired, MIN_ALIKE, probability)


def fewest(spread: Spread, logs: ArrayLike | None, paired: ArrayLike, least: int, probability: float) -> Counts:
    """Finds the smallest numbers of launches, from `least` to 100,000, that have a probability of showing a ratio."""
    pairs = np.broadcast_to(np.asarray(paired, dtype=bool), spread.error.shape)
    low, high = np.full(spread.error.shape, least - 1), np.full(spread.error.shape, least)
    means = None if logs is None else np.broadcast_to(np.asarray(logs, dtype=float), spread.error.shape)

    def short(launches: Counts, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        chance: Callable[..., Floats] = spread[rows].chance
        means_of_rows = None if means is None else means[rows]
        return np.asarray(chance(means_of_rows, launches, freedom_of(launches, pairs[rows])) < probability)

    rows = np.arange(high.size)
    while rows.size:
        rows = rows[short(high[rows], rows) & (high[rows] < MAX_LAUNCHES)]
        low[rows], high[rows] = high[rows], np.minimum(2 * high[rows], MAX_LAUNCHES)
    while (rows := np.flatnonzero(high - low > 1)).size:
        middle = (low[rows] + high[rows]) // 2
        below = short(middle, rows)
        low[rows], high[rows] = np.where(below, middle, low[rows]), np.where(below, high[rows], middle)
    return high
