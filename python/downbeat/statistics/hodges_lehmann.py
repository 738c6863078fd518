"""Hodges-Lehmann's estimates and their intervals by ranks: the typical launch, the typical ratio.

The pseudo-median of one sample is the median of its Walsh averages, the means of all pairs of values and of each value
with itself; of two samples it is the median of all differences (Hodges and Lehmann 1963). The limits are those values
that Wilcoxon's tests do not reject (Lehmann 1975, sections 2.4 and 4.3). They presume independent values that are
symmetric, or two distributions of one shape; not that these are normal, or have a mean at all.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from downbeat.statistics.distributions import normal_quantile

Floats = NDArray[np.float64]
MOST_EXACT = 50  # values, of either sample; beyond, the normal approximation cuts off the same number, or one less
AT_ONCE = 2_000_000  # averages or differences in memory, 16 MB


def one_sample(values: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Returns the pseudo-median of each row with its limits.

    Args:
        values: shape (rows, n), any unit.
        confidence: of the interval, at least, between 0 and 1.

    Returns:
        Estimates, lower and upper limits, each of shape (rows,); limits are NaN where none have that confidence: below
        6 values at 95 %.
    """
    first, second = pairs_of(values.shape[1])
    cut = signed_rank_cut(values.shape[1], confidence)
    return in_parts(
        values.shape[0], first.size, cut, lambda rows: (values[rows][:, first] + values[rows][:, second]) / 2
    )


def two_samples(a: Floats, b: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Returns the shift from A to B in each row with its limits.

    Args:
        a: shape (rows, m), any unit.
        b: shape (rows, n), in the same unit.
        confidence: as in `one_sample`.

    Returns:
        As `one_sample`.
    """
    rows, size = a.shape[0], a.shape[1] * b.shape[1]
    cut = rank_sum_cut(a.shape[1], b.shape[1], confidence)
    return in_parts(
        rows, size, cut, lambda some: (b[some][:, np.newaxis, :] - a[some][:, :, np.newaxis]).reshape(-1, size)
    )


def in_parts(rows: int, size: int, cut: int, made: Callable[[slice], Floats]) -> tuple[Floats, Floats, Floats]:
    """Returns the median of what is made of each row, and what is left between `cut` values at either end."""
    found = np.full((3, rows), np.nan)
    step = max(1, AT_ONCE // max(size, 1))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        ordered = np.sort(made(part), axis=1)
        found[0, part] = (ordered[:, (size - 1) // 2] + ordered[:, size // 2]) / 2
        if cut:
            found[1:, part] = ordered[:, [cut - 1, size - cut]].T
    return found[0], found[1], found[2]


@functools.cache
def pairs_of(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns the places of the two values of each Walsh average."""
    first, second = np.triu_indices(count)
    return first, second


@functools.cache
def signed_rank_cut(count: int, confidence: float) -> int:
    """Returns which Walsh average from either end is a limit, from 1; 0: none has the confidence.

    As many values of the signed-rank statistic, from its smallest, as have a probability of at most half of the rest.
    """
    if count > MOST_EXACT:
        spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return approximate_cut(count * (count + 1) / 4, spread, confidence)
    chances = np.ones(1)
    for rank in range(1, count + 1):
        longer = np.zeros(chances.size + rank)
        longer[: chances.size] += chances / 2
        longer[rank:] += chances / 2
        chances = longer
    return exact_cut(chances, confidence)


@functools.cache
def rank_sum_cut(first: int, second: int, confidence: float) -> int:
    """Returns which difference from either end is a limit, from 1, as `signed_rank_cut`, by Mann and Whitney 1947."""
    if max(first, second) > MOST_EXACT:
        spread = math.sqrt(first * second * (first + second + 1) / 12)
        return approximate_cut(first * second / 2, spread, confidence)
    return exact_cut(rank_sum_chances(first, second), confidence)


@functools.cache
def rank_sum_chances(first: int, second: int) -> Floats:
    """Returns the probability of each value of Mann and Whitney's statistic, from 0, without ties.

    The numbers of ways are the coefficients of a Gaussian binomial, a product of (1 - x^(second + i)) / (1 - x^i).
    """
    ways = np.zeros(first * second + 1)
    ways[0] = 1.0
    for i in range(1, first + 1):
        ways[second + i :] -= ways[: ways.size - second - i].copy()
        for start in range(i):
            ways[start::i] = np.cumsum(ways[start::i])
    return np.asarray(ways / ways.sum())


def exact_cut(chances: Floats, confidence: float) -> int:
    """Returns how many of the smallest values have together at most half of what the confidence leaves."""
    return int(np.searchsorted(np.cumsum(chances), (1 - confidence) / 2 * (1 + 1e-12), side="right"))


def approximate_cut(mean: float, spread: float, confidence: float) -> int:
    """Returns `exact_cut` of a normal distribution, with the correction for continuity."""
    return max(0, math.floor(mean + 0.5 - normal_quantile(0.5 + confidence / 2) * spread))
