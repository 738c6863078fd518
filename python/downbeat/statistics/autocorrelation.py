"""How samples that follow each other hang together, and what they are worth because of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def autocorrelation(values: ArrayLike) -> float:
    """Returns the autocorrelation at lag 1: products of successive deviations over squares (Box and Jenkins 1970).

    Args:
        values: shape (samples,), in the order in which they were measured; any unit.

    Returns:
        Between -1 and 1; 0 where there are fewer than two values or all are alike.
    """
    deviations = np.asarray(values, dtype=float)
    if deviations.size < 2:
        return 0.0
    deviations = deviations - deviations.mean()
    variance = float(deviations @ deviations)
    return float(deviations[1:] @ deviations[:-1]) / variance if variance > 0 else 0.0


def effective_number(count: int, r1: float) -> float:
    """Returns how many independent values autocorrelated ones are worth.

    By the first-order autoregressive process: n (1 - r1) / (1 + r1) (Bayley and Hammersley 1946). A negative `r1`
    counts as 0, for alternating noise is no reason to believe more than was measured; the least is 1. As downbeat-bench
    does.

    Args:
        count: of the values.
        r1: their autocorrelation at lag 1.
    """
    r1 = max(r1, 0.0)
    return min(max(count * (1 - r1) / (1 + r1), min(count, 1)), float(count))
