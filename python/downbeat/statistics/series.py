"""Analyzes samples in order of measurement: autocorrelation, effective number of samples, and steps of the clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def autocorrelation(values: ArrayLike) -> float:
    """Returns the autocorrelation at lag 1: products of successive deviations over squares (Box and Jenkins 1970).

    Corrected for the bias of the estimate from n values, -(1 + 3 r) / n (Marriott and Pope 1954).

    Args:
        values: shape (samples,), in order of measurement; any unit.

    Returns:
        0 for fewer than two values or equal values; may exceed 1 for few values.
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
    """Returns the effective number of independent values among autocorrelated values.

    For a first-order autoregressive process: n (1 - r1) / (1 + r1) (Bayley and Hammersley 1946), at least 1. A negative
    `r1` counts as 0: alternating noise does not add information. downbeat-bench computes the same.

    Args:
        count: number of values.
        r1: autocorrelation at lag 1.

    Returns:
        The number, from 1 to `count`.
    """
    r1 = min(max(r1, 0.0), 1.0)
    return min(max(count * (1 - r1) / (1 + r1), min(count, 1)), float(count))


# The largest error of `grouped_median`, in steps, if samples differ only by the step: 0.09 for one rank, 0.12 for the
# mean over two ranks, 0.2 for the mean over any number (binomial).
LEFT_BY_INTERPOLATION = 0.2
TOLERANCE = 0.05e-9  # s; smaller differences of durations are rounding errors of timestamps
MIN_STEP = 10 * TOLERANCE  # s; shorter steps could be noise
MAX_SAMPLE = 20e-6  # s; rate corrections of a clock move longer durations off the grid
SHARE_ON_GRID = 0.99  # share of the durations that must be multiples of the step
MIN_GAPS = 8  # differences of durations; fewer numbers always fit some grid
MAX_DURATIONS = 100_000  # durations that are used; more would not change the result


def grouped_median(samples: ArrayLike, step: float) -> float:
    """Returns the median of values read in steps, interpolated within a step.

    A reading represents all values within half a step, equally likely; on a grid this is the median of grouped data
    (Yule and Kendall 1950, section 5.21). If samples begin at random times within a step of the clock, the error is at
    most `LEFT_BY_INTERPOLATION` steps.

    Args:
        samples: shape (samples,), at least one; any unit.
        step: between neighboring readings, in the same unit; for a mean over ranks, the step of the clock divided by
            their number. 0: no step; the result is the plain median.

    Returns:
        The median, in the unit of the samples.
    """
    ordered = np.sort(np.asarray(samples, dtype=float))
    return grouped_value(ordered, (ordered.size - 1) / 2, step)


def grouped_value(ordered: NDArray[np.float64], rank: float, step: float) -> float:
    """Returns the value at a rank, from 0, of sorted values, interpolated as in `grouped_median`."""
    rank = min(max(rank, 0.0), ordered.size - 1.0)
    value = float(np.interp(rank, np.arange(ordered.size), ordered))
    if not step > 0:
        return value
    # The result is within half a step of a reading next to the rank, so readings within a step of these contribute.
    low, high = ordered[int(np.floor(rank))], ordered[int(np.ceil(rank))]
    first = int(np.searchsorted(ordered, low - step))
    last = int(np.searchsorted(ordered, high + step, side="right"))
    near = ordered[first:last]
    edges = np.concatenate([near - step / 2, near + step / 2])
    order = np.argsort(edges, kind="stable")
    slopes = np.cumsum(np.repeat([1.0, -1.0], near.size)[order]) / step
    below = first + np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(edges[order]))])
    target, little = rank + 0.5, 1e-9 * ordered.size
    # If the rank is in a gap between readings, the mean of both ends of the gap.
    return float(np.interp([target - little, target + little], below, edges[order]).mean())


def step_in(durations: ArrayLike) -> float:
    """Estimates the step of the clock, s, from durations, for files that do not record it.

    Args:
        durations: of single ranks, s; long durations are ignored.

    Returns:
        The step, s; 0 if durations are on no grid, or too few differ.
    """
    values = np.asarray(durations, dtype=float)
    values = values[:: -(-values.size // MAX_DURATIONS) or 1]
    values = np.sort(values[(values > 0) & (values < MAX_SAMPLE)])
    gaps = np.diff(values)
    gaps = gaps[gaps > TOLERANCE]
    step = float(np.median(gaps[gaps < gaps.min() + TOLERANCE])) if gaps.size >= MIN_GAPS else 0.0
    if step < MIN_STEP:
        return 0.0
    for few in (values[values < 20 * step], values):  # longer durations make the step more precise
        steps: NDArray[np.float64] = np.round(few / step)
        step = float(few @ steps) / float(steps @ steps) if steps.any() else step
    on_grid = np.abs(values - step * steps) < TOLERANCE
    return step if on_grid.mean() >= SHARE_ON_GRID else 0.0
