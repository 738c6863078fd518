"""The median of one launch's samples, with the interval that says how precisely that launch has been measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from downbeat.statistics.autocorrelation import autocorrelation, effective_number
from downbeat.statistics.location import check_confidence


@dataclass(frozen=True)
class MedianInterval:
    """A median, its confidence interval, and the number of independent samples that the samples are worth."""

    median: float
    low: float
    high: float
    effective: float


def median_interval(samples: ArrayLike, confidence: float = 0.95, r1: float | None = None) -> MedianInterval:
    """Returns the median of one launch's samples with an interval of order statistics.

    No distribution is assumed. The number of samples is replaced by what they are worth, `effective_number`. These are
    the numbers that downbeat-bench stores as `<metric>_median_low`, `_median_high` and `_effective`. The interval holds
    for this launch alone; the next may lie elsewhere, see `geometric_mean_interval`.

    Args:
        samples: the valid ones of a cell, shape (samples,), in the order in which they were measured; any unit.
        confidence: of the interval, between 0 and 1; with few samples the interval is all of their range, and its
            confidence lower.
        r1: their autocorrelation at lag 1, where it is known from elsewhere; computed from the samples by default.

    Returns:
        In the unit of the samples; NaN throughout and `effective` 0 where there are none.

    Raises:
        ValueError: a sample is NaN, or the confidence is none.
    """
    check_confidence(confidence)
    values = np.asarray(samples, dtype=float)
    if np.any(np.isnan(values)):
        raise ValueError("a sample is NaN; valid are numbers, so leave out what was not measured")
    if values.size == 0:
        return MedianInterval(math.nan, math.nan, math.nan, 0.0)
    effective = effective_number(values.size, autocorrelation(values) if r1 is None else r1)
    ordered = np.sort(values)
    # In ranks from 0; the number of values below the median has a standard deviation of sqrt(n) / 2.
    half = float(stats.norm.ppf(0.5 + confidence / 2)) * values.size / (2 * math.sqrt(effective))
    middle = (values.size - 1) / 2
    low = max(math.floor(middle - half), 0)
    high = min(math.ceil(middle + half), values.size - 1)
    return MedianInterval(float(np.median(ordered)), float(ordered[low]), float(ordered[high]), effective)
