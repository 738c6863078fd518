"""Corrects p-values for multiple comparisons."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Returns p-values corrected for their number by Holm's step-down procedure (Holm 1979).

    If each corrected p-value is compared with a level, the probability of rejecting any true null hypothesis is at most
    that level, under any dependence of the tests.

    Args:
        p_values: shape (tests,), 0 to 1. NaN (no test) stays NaN and does not count.

    Returns:
        Shape (tests,), in the same order, never below the uncorrected value.

    Raises:
        ValueError: a p-value is outside 0 to 1.
    """
    values = np.asarray(p_values, dtype=float)
    if np.any((values < 0) | (values > 1)):
        raise ValueError(f"a p-value of {values[(values < 0) | (values > 1)][0]:g}; valid is 0 to 1")
    adjusted = np.full(values.shape, np.nan)
    order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]  # NaN comes last
    stepped = values[order] * np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0) if order.size else stepped
    return adjusted
