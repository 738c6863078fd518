"""What so many launches can show, and how many it takes."""

from __future__ import annotations

import math

from scipy import optimize, stats

POWER = 0.9
LARGEST_RATIO = 1e6
MOST_LAUNCHES = 100_000


def power(ratio: float, deviation: float, launches: int, paired: bool, level: float) -> float:
    """Returns the probability that a difference is significant, by the noncentral t distribution.

    For two experiments it takes their launches to be as many and to deviate alike; the rank test that guards, and takes
    a little, is left out.

    Args:
        ratio: the true one, B / A.
        deviation: standard deviation of the logarithm of the ratio from one launch of each, `Comparison.deviation`.
        launches: of each, or pairs; 2 at least.
        paired: whether they are pairs.
        level: of the two-sided t test; for the hardest of n cells under Holm's correction, the level / n.
    """
    # Welch's degrees of freedom fall short of those of equal deviations by about one (simulated).
    freedom = launches - 1 if paired else 2 * launches - 3
    critical = float(stats.t.isf(level / 2, freedom))
    if deviation == 0:
        return 0.0 if ratio == 1 else 1.0
    shift = abs(math.log(ratio)) / deviation * math.sqrt(launches)
    # Of a shift so large that the distribution cannot be computed, nothing is missed.
    return 1.0 if shift > critical + 40 else float(stats.nct.sf(critical, freedom, shift))


def detectable_ratio(deviation: float, launches: int, paired: bool, level: float, wanted: float = POWER) -> float:
    """Returns the smallest ratio above 1 that is found significant with a probability, 0.9 by default; else as `power`.

    A ratio of 1 over it is found as easily. NaN where there are fewer than 2 launches, infinite beyond a million.
    """
    if launches < 2 or math.isnan(deviation):
        return math.nan
    if power(LARGEST_RATIO, deviation, launches, paired, level) < wanted:
        return math.inf
    if deviation == 0:
        return 1.0
    log = optimize.brentq(
        lambda log: power(math.exp(log), deviation, launches, paired, level) - wanted, 0, math.log(LARGEST_RATIO)
    )
    return math.exp(float(log))


def launches_needed(ratio: float, deviation: float, paired: bool, level: float, wanted: float = POWER) -> int:
    """Returns how many launches find a ratio significant with a probability, 0.9 by default; else as `power`.

    Returns:
        2 at least, 100,000 at most.

    Raises:
        ValueError: the ratio is 1, which no number of launches finds different.
    """
    if ratio == 1:
        raise ValueError("a ratio of 1 is no difference that launches could show")

    def enough(launches: int) -> bool:
        return power(ratio, deviation, launches, paired, level) >= wanted

    low, high = 1, 2
    while high < MOST_LAUNCHES and not enough(high):
        low, high = high, min(2 * high, MOST_LAUNCHES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
