"""Computes the median of a launch's samples with an interval, which shows the precision within that launch."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import normal_quantile, t_quantile
from downbeat.statistics.location import check_confidence
from downbeat.statistics.rank_tests import doubled_ranks
from downbeat.statistics.series import LEFT_BY_INTERPOLATION, autocorrelation, effective_number, grouped_value

MIN_PER_BLOCK = 4  # samples of a block; with fewer, the share below the median has too few possible values
MIN_BLOCKS = 5  # independent blocks whose variation includes autocorrelation; correcting for both is too wide
# Ratio of the mean square difference at the ends of blocks to that of unrelated values. Chosen by hand, as in
# bench/src/rules.
RELATED_ENDS = 0.5


@dataclass(frozen=True)
class MedianInterval:
    """A median, its confidence interval, and the effective number of independent samples."""

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
    samples below the median. It is the larger of two estimates: from the variation between blocks, by Student's
    distribution, and from the number of samples. The latter is the effective number, by the autocorrelation of ranks
    (that of samples would be hidden by outliers), if there are fewer than 5 blocks or successive blocks are correlated:
    a block begins near the end of the previous one. downbeat-bench stores these numbers as `<metric>_median_low`,
    `_median_high` and `_effective`. The interval is for this launch only, see `typical_interval`.

    Args:
        samples: valid samples of a cell, shape (samples,), in order of measurement; any unit.
        blocks: the block of each sample; None: a single block, which ignores differences between blocks.
        confidence: of the interval, between 0 and 1; with few samples the interval is their whole range, at a lower
            confidence.
        step: as in `grouped_median`; the interval is widened by the error that the step can hide.

    Returns:
        In the unit of the samples; NaN and `effective` 0 without samples.

    Raises:
        ValueError: a sample is NaN, the numbers of blocks and samples differ, or the confidence is not between 0 and 1.
    """
    check_confidence(confidence)
    values = np.asarray(samples, dtype=float)
    numbers = np.zeros(values.shape) if blocks is None else np.asarray(blocks)
    if numbers.shape != values.shape:
        raise ValueError(
            f"blocks of shape {numbers.shape} for samples of shape {values.shape}; valid is one block per sample"
        )
    if np.any(np.isnan(values)):
        raise ValueError("a sample is NaN; valid are numbers, so leave out invalid samples")
    count = values.size
    if count == 0:
        return MedianInterval(math.nan, math.nan, math.nan, 0.0)
    ordered = np.sort(values)
    median = grouped_value(ordered, (count - 1) / 2, step)
    below = np.clip((median - values) / step, -0.5, 0.5) if step > 0 else np.sign(median - values) / 2
    by_blocks, equal_blocks = half_by_blocks(below, numbers, confidence)
    order = doubled_ranks(values) / 2
    independent_blocks = equal_blocks >= MIN_BLOCKS and not follow_closely(order, numbers)
    effective = count if independent_blocks else effective_number(count, autocorrelation(order))
    z = normal_quantile(0.5 + confidence / 2)
    half = max(z * 0.5 / math.sqrt(effective), by_blocks)
    middle = (count - 1) / 2  # in ranks from 0
    low, high = (grouped_value(ordered, middle + side * count * half, step) for side in (-1, 1))
    hidden = LEFT_BY_INTERPOLATION * step
    return MedianInterval(median, low - hidden, high + hidden, min((z * 0.5 / half) ** 2, float(count)))


def half_by_blocks(
    deviations: NDArray[np.float64], blocks: NDArray[np.generic], confidence: float
) -> tuple[float, int]:
    """Estimates half the interval of a mean from its variation between blocks, and the effective number of blocks.

    Unequal blocks count as n^2 / (sum of squared sizes) equal blocks (Kish 1965). The result is 0 and 1 with
    too few blocks or samples per block.
    """
    _, indices, sizes = np.unique(blocks, return_inverse=True, return_counts=True)
    equal_blocks = math.floor(deviations.size**2 / float(np.sum(sizes.astype(float) ** 2)) + 0.5)
    if equal_blocks < 2 or deviations.size < MIN_PER_BLOCK * sizes.size:
        return 0.0, 1
    sums = np.bincount(indices, weights=deviations)
    error = math.sqrt(float(sums @ sums) * equal_blocks / (equal_blocks - 1)) / deviations.size
    return t_quantile(equal_blocks - 1, 0.5 + confidence / 2) * error, equal_blocks


def follow_closely(values: NDArray[np.float64], blocks: NDArray[np.generic]) -> bool:
    """Returns true if blocks begin near the end of the previous block (von Neumann 1941, for ends of blocks only)."""
    ends = np.flatnonzero(blocks[1:] != blocks[:-1])
    squares = float(np.sum((values[ends + 1] - values[ends]) ** 2))
    return squares < RELATED_ENDS * 2 * float(values.var()) * ends.size
