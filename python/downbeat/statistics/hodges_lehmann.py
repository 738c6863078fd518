"""Computes Hodges-Lehmann estimates with rank intervals: the typical launch, the typical ratio.

The pseudo-median of one sample is the median of its Walsh averages, the means of all pairs of values and of each value
with itself; of two samples it is the median of all differences (Hodges and Lehmann 1963). The interval has the
values that Wilcoxon's tests do not reject (Lehmann 1975, sections 2.4 and 4.3). Assumptions: independent values with a
symmetric distribution, or two distributions of the same shape; no normality, not even a finite mean.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from downbeat.statistics.distributions import normal_quantile
from downbeat.statistics.rank_tests import rank_sum_chances, signed_rank_chances

Floats = NDArray[np.float64]
# Values of a sample up to which the cut is exact. For larger samples, the normal cut is equal or one less. With 25,
# limits move by 0.5 %.
MAX_EXACT = 50
AT_ONCE = 2_000_000  # averages or differences in memory at a time, 16 MB


def one_sample(values: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Computes the pseudo-median of each row with its limits.

    Args:
        values: shape (rows, n), any unit.
        confidence: minimum coverage of the interval, between 0 and 1.

    Returns:
        Estimates, lower and upper limits, each of shape (rows,), in the unit of the values; limits are NaN if no rank
        interval has the confidence: below 6 values at 95 %.
    """
    first, second = walsh_pairs(values.shape[1])
    cut = signed_rank_cut(values.shape[1], confidence)
    return in_blocks(
        values.shape[0], first.size, cut, lambda rows: (values[rows][:, first] + values[rows][:, second]) / 2
    )


def two_samples(a: Floats, b: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Computes the shift from A to B in each row with its limits.

    Args:
        a: shape (rows, m), any unit.
        b: shape (rows, n), in the same unit.
        confidence: as in `one_sample`.

    Returns:
        As `one_sample`.
    """
    size = a.shape[1] * b.shape[1]
    cut = rank_sum_cut(a.shape[1], b.shape[1], confidence)
    return in_blocks(
        a.shape[0], size, cut, lambda rows: (b[rows][:, np.newaxis, :] - a[rows][:, :, np.newaxis]).reshape(-1, size)
    )


def in_blocks(rows: int, size: int, cut: int, values: Callable[[slice], Floats]) -> tuple[Floats, Floats, Floats]:
    """Computes, in blocks of rows, the median of each row's values, and the values at rank `cut` from both ends.

    Args:
        rows: number of rows.
        size: number of values per row.
        cut: from 1; 0: no limits.
        values: returns the values of a slice of rows, shape (rows, size).
    """
    limits = np.full((3, rows), np.nan)
    step = max(1, AT_ONCE // max(size, 1))
    for start in range(0, rows, step):
        block = slice(start, start + step)
        ordered = np.sort(values(block), axis=1)
        limits[0, block] = (ordered[:, (size - 1) // 2] + ordered[:, size // 2]) / 2
        if cut:
            limits[1:, block] = ordered[:, [cut - 1, size - cut]].T
    return limits[0], limits[1], limits[2]


@functools.cache
def walsh_pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns the indices of the two values of each Walsh average."""
    first, second = np.triu_indices(count)
    return first, second


@functools.cache
def signed_rank_cut(count: int, confidence: float) -> int:
    """Returns the rank, from 1 at either end, of the Walsh average that is a limit; 0: no interval exists."""
    if count > MAX_EXACT:
        spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return approximate_cut(count * (count + 1) / 4, spread, confidence)
    return exact_cut(signed_rank_chances(tuple(range(1, count + 1))), confidence)


@functools.cache
def rank_sum_cut(first: int, second: int, confidence: float) -> int:
    """Returns the rank of the difference that is a limit, as in `signed_rank_cut` (Mann and Whitney 1947)."""
    if max(first, second) > MAX_EXACT:
        spread = math.sqrt(first * second * (first + second + 1) / 12)
        return approximate_cut(first * second / 2, spread, confidence)
    smallest = first * (first + 1) // 2  # sum of ranks
    return exact_cut(rank_sum_chances(first, tuple(range(1, first + second + 1)))[smallest:], confidence)


def exact_cut(chances: Floats, confidence: float) -> int:
    """Returns the number of smallest values whose total probability is at most (1 - confidence) / 2."""
    return int(np.searchsorted(np.cumsum(chances), (1 - confidence) / 2 * (1 + 1e-12), side="right"))


def approximate_cut(mean: float, spread: float, confidence: float) -> int:
    """Returns `exact_cut` of a normal distribution, with the correction for continuity."""
    return max(0, math.floor(mean + 0.5 - normal_quantile(0.5 + confidence / 2) * spread))
