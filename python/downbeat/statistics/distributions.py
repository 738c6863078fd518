"""The normal distribution and Student's, and tests and degrees of freedom that others share.

scipy, which has the distributions too, would be a third of an installation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from statistics import NormalDist

NORMAL = NormalDist()


def normal_cdf(z: float) -> float:
    """The probability of less than z; also of small ones as many digits as there are."""
    return math.erfc(-z / math.sqrt(2)) / 2


def normal_quantile(probability: float) -> float:
    return NORMAL.inv_cdf(probability)


def beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22)."""
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    found = d
    for m in range(1, 10_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            found *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return found


def t_cdf(freedom: float, t: float) -> float:
    """The probability of less than t by Student's distribution; NaN where there is no freedom."""
    if not freedom > 0 or math.isnan(t):
        return math.nan
    if math.isinf(freedom) or math.isinf(t):
        return normal_cdf(t)
    if t > 0:
        return 1 - t_cdf(freedom, -t)
    a, b = freedom / 2, 0.5
    square = t * t
    x, rest = freedom / (freedom + square), square / (freedom + square)
    if rest == 0:
        return 0.5
    # (DLMF 8.17.2)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a / 2
    return (1 - front * beta_fraction(b, a, rest) / b) / 2


@functools.cache  # thousands of cells ask for a few degrees of freedom
def t_quantile(freedom: float, probability: float) -> float:
    """The t below which a number by Student's distribution is with a probability."""
    if not (freedom > 0 and 0 <= probability <= 1):
        return math.nan
    if probability > 0.5:
        return -t_quantile(freedom, 1 - probability)
    if math.isinf(freedom):
        return normal_quantile(probability)
    if probability == 0:
        return -math.inf
    log_density = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    t = normal_quantile(probability)  # nearer to 0 than the result
    for _ in range(1000):  # Newton's method: the distribution is convex there, so that no step goes too far
        density = math.exp(log_density - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = (t_cdf(freedom, t) - probability) / density
        t -= step
        if abs(step) <= 1e-14 * abs(t):
            break
    return t


def two_sided(mean: float, error: float, freedom: float) -> float:
    """The p-value of the t test of a mean with a standard error; without any scatter only 0 is compatible with 0."""
    if math.isnan(error):
        return math.nan
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * t_cdf(freedom, -abs(mean) / error))


def satterthwaite(parts: Sequence[tuple[float, float]]) -> float:
    """The degrees of freedom of a sum of independent estimates of variances (Satterthwaite 1946).

    Args:
        parts: each estimate, 0 or above, with its degrees of freedom.

    Returns:
        Those of the first where all are 0.
    """
    total = sum(value for value, _ in parts)
    if total == 0:
        return float(parts[0][1])
    return total**2 / sum(value**2 / freedom for value, freedom in parts if value)
