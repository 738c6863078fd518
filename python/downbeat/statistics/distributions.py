"""Computes the normal, Student's t and the binomial distribution, the t test, and Satterthwaite's degrees of freedom.

scipy has these distributions but would be a third of an installation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from downbeat.tables import Floats

normal_quantile = NormalDist().inv_cdf


def normal_cdf(z: float) -> float:
    """Returns the probability that a standard normal number is below z, accurate also in the tail."""
    return math.erfc(-z / math.sqrt(2)) / 2


def beta_fraction(a: float, b: float, x: float) -> float:
    """Computes the continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22)."""
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    fraction = d
    for m in range(1, 10_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return fraction


def t_cdf(freedom: float, t: float) -> float:
    """Returns the probability that a number with Student's t distribution is below t; NaN if freedom is not above 0."""
    if not freedom > 0 or math.isnan(t):
        return math.nan
    if math.isinf(freedom) or math.isinf(t):
        return normal_cdf(t)
    if t > 0:
        return 1 - t_cdf(freedom, -t)
    a, b = freedom / 2, 0.5
    square = t * t
    x, complement = freedom / (freedom + square), square / (freedom + square)
    if complement == 0:
        return 0.5
    # (DLMF 8.17.2)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(complement))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a / 2
    return (1 - front * beta_fraction(b, a, complement) / b) / 2


@functools.cache  # thousands of cells share a few degrees of freedom
def t_quantile(freedom: float, probability: float) -> float:
    """Returns a quantile of Student's t distribution; NaN: invalid arguments."""
    if not (freedom > 0 and 0 <= probability <= 1):
        return math.nan
    if probability > 0.5:
        return -t_quantile(freedom, 1 - probability)
    if math.isinf(freedom):
        return normal_quantile(probability)
    if probability == 0:
        return -math.inf
    log_density = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    t = normal_quantile(probability)  # start value, closer to 0 than the result
    for _ in range(1000):  # Newton's method; the distribution is convex here, so steps do not overshoot
        density = math.exp(log_density - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = (t_cdf(freedom, t) - probability) / density
        t -= step
        if abs(step) <= 1e-14 * abs(t):
            break
    return t


def two_sided(mean: float, error: float, freedom: float) -> float:
    """Returns the two-sided p-value of the t test that a mean is 0; with a standard error of 0 it is 1 or 0."""
    if math.isnan(error):
        return math.nan
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * t_cdf(freedom, -abs(mean) / error))


def satterthwaite(variances: Sequence[tuple[float, float]]) -> float:
    """Returns the degrees of freedom of a sum of independent variance estimates (Satterthwaite 1946).

    Args:
        variances: each estimate, 0 or above, with its degrees of freedom.

    Returns:
        Degrees of freedom; those of the first estimate if all are 0.
    """
    total = sum(value for value, _ in variances)
    if total == 0:
        return float(variances[0][1])
    return total**2 / sum(value**2 / freedom for value, freedom in variances if value)


def binomial_tails(trials: int, probability: float) -> Floats:
    """Computes tails of binomial distributions: [n, k] is the probability of k or more successes in n <= `trials`."""
    tails = np.zeros((trials + 1, trials + 1))
    for n in range(trials + 1):
        masses = [math.comb(n, k) * probability**k * (1 - probability) ** (n - k) for k in range(n + 1)]
        tails[n, : n + 1] = np.minimum(np.cumsum(masses[::-1])[::-1], 1.0)
    return tails
