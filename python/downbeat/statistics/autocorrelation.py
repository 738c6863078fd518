"""The autocorrelation of samples, and how many independent ones they are worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


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
