"""Samples in their order: autocorrelation, how many independent samples they are worth, and steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def autocorrelation(values: ArrayLike) -> float:
    """Returns the autocorrelation at lag 1: products of successive deviations over squares (Box and Jenkins 1970).

    The estimate from n values is too low by (1 + 3 r) / n, which is corrected (Marriott and Pope 1954).

    Args:
        values: shape (samples,), in the order in which they were measured; any unit.

    Returns:
        0 where there are fewer than two values or all are equal; of a few it may exceed 1.
    """
    deviations = np.asarray(values, dtype=float)
    if deviations.size < 2:
        return 0.0
    deviations = deviations - deviations.mean()
    variance = float(deviations @ deviations)
    if variance == 0:
        return 0.0
    r1 = float(deviations[1:] @ deviations[:-1]) / variance
    return r1 + (1 + 3 * r1) / len(deviations)


def effective_number(count: int, r1: float) -> float:
    """Returns how many independent values autocorrelated ones are worth.

    For a first-order autoregressive process: n (1 - r1) / (1 + r1) (Bayley and Hammersley 1946), at least 1. A negative
    `r1` counts as 0: alternating noise does not add information. downbeat-bench computes the same.

    Args:
        count: of the values.
        r1: their autocorrelation at lag 1.
    """
    r1 = min(max(r1, 0.0), 1.0)
    return min(max(count * (1 - r1) / (1 + r1), min(count, 1)), float(count))


# The largest error of `grouped_median`, in steps, if samples differ only by the step: 0.09 for one rank, 0.12 for the
# mean of two, 0.2 for the mean of any number (binomial).
LEFT_BY_INTERPOLATION = 0.2
TOLERANCE = 0.05e-9  # s: durations that differ by less are equal, as stamps are rounded
SHORTEST = 10 * TOLERANCE  # s: shorter steps could be noise
LONGEST_SAMPLE = 20e-6  # s: the correction of a clock's rate moves longer durations off the grid
SHARE_ON_GRID = 0.99
FEWEST_GAPS = 8  # any few numbers are on a grid
MOST_DURATIONS = 100_000  # more would not change the result


def grouped_median(samples: ArrayLike, step: float) -> float:
    """Returns the median of values that were read in steps, interpolated within a step.

    A reading stands for all values within half a step of it, equally likely; of readings on a grid that is the median
    of grouped data (Yule and Kendall 1950, section 5.21). Where a sample begins anywhere within a step of the clock, as
    it does unless something waits for the step, the error is at most `LEFT_BY_INTERPOLATION` steps.

    Args:
        samples: shape (samples,), one at least; any unit.
        step: between neighboring readings, in the same unit; of a mean over ranks the step of the clock over their
            number. 0: none, and the result is the median.
    """
    ordered = np.sort(np.asarray(samples, dtype=float))
    return grouped_value(ordered, (ordered.size - 1) / 2, step)


def grouped_value(ordered: NDArray[np.float64], rank: float, step: float) -> float:
    """The value of a rank, from 0, of sorted values as `grouped_median` takes them."""
    rank = min(max(rank, 0.0), ordered.size - 1.0)
    value = float(np.interp(rank, np.arange(ordered.size), ordered))
    if not step > 0:
        return value
    # The result is within half a step of one of the two readings beside the rank; those within a step count in part.
    low, high = ordered[int(np.floor(rank))], ordered[int(np.ceil(rank))]
    first = int(np.searchsorted(ordered, low - step))
    last = int(np.searchsorted(ordered, high + step, side="right"))
    near = ordered[first:last]
    edges = np.concatenate([near - step / 2, near + step / 2])
    order = np.argsort(edges, kind="stable")
    slopes = np.cumsum(np.repeat([1.0, -1.0], near.size)[order]) / step
    below = first + np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(edges[order]))])
    wanted, little = rank + 0.5, 1e-9 * ordered.size
    # Both ends of the gap where the readings are on either side of one.
    return float(np.interp([wanted - little, wanted + little], below, edges[order]).mean())


def step_in(durations: ArrayLike) -> float:
    """Returns the step of the clock that durations were read with, for files that do not say it.

    Args:
        durations: of single ranks, s; long ones are left out.

    Returns:
        In s; 0 where durations are on no grid, or too few differ.
    """
    values = np.asarray(durations, dtype=float)
    values = values[:: -(-values.size // MOST_DURATIONS) or 1]
    values = np.sort(values[(values > 0) & (values < LONGEST_SAMPLE)])
    gaps = np.diff(values)
    gaps = gaps[gaps > TOLERANCE]
    step = float(np.median(gaps[gaps < gaps.min() + TOLERANCE])) if gaps.size >= FEWEST_GAPS else 0.0
    if step < SHORTEST:
        return 0.0
    for few in (values[values < 20 * step], values):  # the longer, the more precise the step
        places: NDArray[np.float64] = np.round(few / step)
        step = float(few @ places) / float(places @ places) if places.any() else step
    on_grid = np.abs(values - step * places) < TOLERANCE
    return step if on_grid.mean() >= SHARE_ON_GRID else 0.0
