"""Computes Wilcoxon's tests (Wilcoxon 1945), which use only ranks: an outlying launch counts like any other."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import normal_cdf

# With more pairs, or more values of both sides, the tests use the normal approximation. With half of these values, no
# verdict changes (simulated).
MAX_EXACT = 100  # pairs
MAX_EXACT_SUM = 60  # values of both sides
DECIMALS = 12  # decimals of logarithms of ratios; smaller differences are rounding errors, which would break ties


def doubled_ranks(values: ArrayLike) -> NDArray[np.int_]:
    """Returns twice the rank of each value, an integer; ranks begin at 1, and equal values have their mean rank."""
    _, index, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((2 * last - count + 1)[index])


def signed_rank(differences: ArrayLike) -> float:
    """Returns the two-sided p-value of the signed-rank test that differences are symmetric about 0; 1: all are 0.

    Exact also with ties, which coarse clock steps cause: the distribution of the sum of the mean ranks over all signs,
    conditional on these ranks. Differences of 0 are left out, as by Wilcoxon.

    Args:
        differences: of pairs, e.g. of logarithms, shape (pairs,).

    Returns:
        A probability.
    """
    values = np.round(np.asarray(differences, dtype=float), DECIMALS)
    values = values[values != 0]
    if values.size == 0:
        return 1.0
    doubled = doubled_ranks(np.abs(values))
    if values.size > MAX_EXACT:
        return 2 * normal_cdf(-abs(float(doubled @ np.sign(values))) / float(np.linalg.norm(doubled)))
    chances = signed_rank_chances(tuple(np.sort(doubled).tolist()))
    positive = int(doubled[values > 0].sum())
    return min(1.0, 2 * min(float(chances[: positive + 1].sum()), float(chances[positive:].sum())))


@functools.lru_cache(maxsize=256)  # without ties it depends only on the number of pairs
def signed_rank_chances(ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """Returns the probability of each sum, from 0, of the ranks with positive sign."""
    chances = np.ones(1)
    for rank in ranks:
        longer = np.zeros(chances.size + rank)
        longer[: chances.size] += chances / 2
        longer[rank:] += chances / 2
        chances = longer
    return chances


def smallest_signed_rank(pairs: int) -> float:
    """Returns the smallest possible p-value of the signed-rank test."""
    return min(1.0, 2 * 0.5**pairs)


def rank_sum(a: ArrayLike, b: ArrayLike) -> float:
    """Returns the two-sided p-value of the rank-sum test that neither sample tends to be larger; 1: all are equal.

    Exact also with ties: the distribution of the sum of the mean ranks over all ways to choose the ranks of one side,
    conditional on these ranks. With ties among few values the normal approximation finds false differences; it is used
    only for more than MAX_EXACT_SUM values in total (Mann and Whitney 1947).

    Args:
        a: shape (values,), at least one value; any unit.
        b: the other side, in the same unit.

    Returns:
        A probability.
    """
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    pooled = np.concatenate([first, second])
    if np.ptp(pooled) == 0:
        return 1.0
    doubled = doubled_ranks(pooled)
    if pooled.size > MAX_EXACT_SUM:
        # With corrections for continuity and for ties (Lehmann 1975, section 1.3).
        size, ties = pooled.size, np.unique(pooled, return_counts=True)[1].astype(float)
        spread = first.size * second.size / 12 * (size + 1 - (ties**3 - ties).sum() / (size * (size - 1)))
        off = abs(doubled[: first.size].sum() / 2 - first.size * (size + 1) / 2)
        return min(1.0, 2 * normal_cdf((0.5 - off) / math.sqrt(spread)))
    chances = rank_sum_chances(first.size, tuple(np.sort(doubled).tolist()))
    observed = int(doubled[: first.size].sum())
    return min(1.0, 2 * min(float(chances[: observed + 1].sum()), float(chances[observed:].sum())))


@functools.lru_cache(maxsize=256)
def rank_sum_chances(chosen: int, ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """Returns the probability of each sum, from 0, of `chosen` ranks drawn from all ranks."""
    ways = np.zeros((chosen + 1, sum(ranks) + 1))
    ways[0, 0] = 1
    for rank in ranks:
        # A copy, so that each rank is chosen at most once.
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    return np.asarray(ways[chosen] / math.comb(len(ranks), chosen))


def smallest_rank_sum(first: int, second: int) -> float:
    """Returns the smallest possible p-value of the rank-sum test."""
    return min(1.0, 2 / math.comb(first + second, first))
