"""The t test that a mean is 0."""

from __future__ import annotations

import math

from downbeat.statistics.distributions import t_cdf


def two_sided(mean: float, error: float, freedom: float) -> float:
    """Returns the p-value of the t test; without any scatter only a mean of 0 is compatible with 0.

    Args:
        mean: an estimate of what may be 0.
        error: its standard error, in the same unit; NaN where there is none.
        freedom: degrees of freedom of the error.
    """
    if math.isnan(error):
        return math.nan
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * t_cdf(freedom, -abs(mean) / error))
