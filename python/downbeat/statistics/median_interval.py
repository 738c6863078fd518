"""The median of one launch's samples, with the interval that says how precisely that launch has been measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import normal_quantile, t_quantile
from downbeat.statistics.location import check_confidence
from downbeat.statistics.rank_tests import doubled_ranks
from downbeat.statistics.series import LEFT_BY_INTERPOLATION, autocorrelation, effective_number, grouped_value

LEAST_PER_BLOCK = 4  # samples: with fewer the share below the median can take too few values
ENOUGH_BLOCKS = 5  # also show the effect of autocorrelation, if independent; with both, intervals are too wide
RELATED_ENDS = 0.5  # choice, as in bench/src/rules: of the mean square of differences of unrelated values


@dataclass(frozen=True)
class MedianInterval:
    """A median, its confidence interval, and the number of independent samples whose interval would be as wide."""

    median: float
    low: float
    high: float
    effective: float


def median_interval(
    samples: ArrayLike, blocks: ArrayLike | None = None, confidence: float = 0.95, step: float = 0.0
) -> MedianInterval:
    """Returns the median of one launch's samples with an interval of order statistics.

    No distribution is assumed, and an outlier counts like any other sample. The interval is between interpolated order
    statistics (Hettmansperger and Sheather 1986). Their distance from the middle is the uncertainty of the share of
    samples below the median: how much it varies from block to block, by Student's distribution, but no less than for
    independent samples; with fewer than 5 blocks, or where a block begins near where the one before ended, so that
    blocks are not independent, no less than for the effective number of samples by the autocorrelation of their ranks
    (outliers would hide that of the samples). downbeat-bench stores these numbers as
    `<metric>_median_low`, `_median_high` and `_effective`. The interval is that of this launch alone, see
    `typical_interval`.

    Args:
        samples: the valid ones of a cell, shape (samples,), in the order in which they were measured; any unit.
        blocks: the block of each, as in a launch's samples; one by default, which ignores differences between blocks.
        confidence: of the interval, between 0 and 1; with few samples the interval is their whole range, at a lower
            confidence.
        step: as `grouped_median` has it; the interval is wider by what it hides.

    Returns:
        In the unit of the samples; NaN throughout and `effective` 0 where there are none.

    Raises:
        ValueError: a sample is NaN, there are not as many blocks as samples, or the confidence is not between 0 and 1.
    """
    check_confidence(confidence)
    values = np.asarray(samples, dtype=float)
    numbers = np.zeros(values.shape) if blocks is None else np.asarray(blocks)
    if numbers.shape != values.shape:
        raise ValueError(f"blocks of shape {numbers.shape} for samples of shape {values.shape}; valid is one each")
    if np.any(np.isnan(values)):
        raise ValueError("a sample is NaN; valid are numbers, so leave out what was not measured")
    count = values.size
    if count == 0:
        return MedianInterval(math.nan, math.nan, math.nan, 0.0)
    ordered = np.sort(values)
    median = grouped_value(ordered, (count - 1) / 2, step)
    below = np.clip((median - values) / step, -0.5, 0.5) if step > 0 else np.sign(median - values) / 2
    by_blocks, equal_blocks = half_by_blocks(below, numbers, confidence)
    order = ranks(values)
    shown = equal_blocks >= ENOUGH_BLOCKS and not follow_closely(order, numbers)
    worth = count if shown else effective_number(count, autocorrelation(order))
    z = normal_quantile(0.5 + confidence / 2)
    half = max(z * 0.5 / math.sqrt(worth), by_blocks)
    middle = (count - 1) / 2  # in ranks from 0
    low, high = (grouped_value(ordered, middle + side * count * half, step) for side in (-1, 1))
    hidden = LEFT_BY_INTERPOLATION * step
    return MedianInterval(median, low - hidden, high + hidden, min((z * 0.5 / half) ** 2, float(count)))


def half_by_blocks(
    deviations: NDArray[np.float64], blocks: NDArray[np.generic], confidence: float
) -> tuple[float, int]:
    """Half the width of the interval of a mean, by its deviations from block to block, and the number of equal blocks.

    The squares of the sizes of unequal blocks say how many equal ones they are worth (Kish 1965). 0 and 1 where blocks
    say nothing of each other.
    """
    _, places, sizes = np.unique(blocks, return_inverse=True, return_counts=True)
    worth = math.floor(deviations.size**2 / float(np.sum(sizes.astype(float) ** 2)) + 0.5)
    if worth < 2 or deviations.size < LEAST_PER_BLOCK * sizes.size:
        return 0.0, 1
    sums = np.bincount(places, weights=deviations)
    error = math.sqrt(float(sums @ sums) * worth / (worth - 1)) / deviations.size
    return t_quantile(worth - 1, 0.5 + confidence / 2) * error, worth


def follow_closely(values: NDArray[np.float64], blocks: NDArray[np.generic]) -> bool:
    """Whether blocks begin near where the one before ended (von Neumann 1941, for the ends of blocks alone)."""
    ends = np.flatnonzero(blocks[1:] != blocks[:-1])
    squares = float(np.sum((values[ends + 1] - values[ends]) ** 2))
    return squares < RELATED_ENDS * 2 * float(values.var()) * ends.size


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ranks of values, the mean rank where they are equal."""
    return doubled_ranks(values) / 2
