"""The power of launches: which difference a number of them can show, and how many a difference takes."""

from __future__ import annotations

import bisect
import functools
import math

from downbeat.statistics.distributions import noncentral_t_above, t_quantile
from downbeat.statistics.verdicts import CONFIDENCE, FEWEST_ALIKE

POWER = 0.9  # usual where a missed difference costs more than a few launches
LARGEST_RATIO = 1e6  # beyond which no search goes
MOST_LAUNCHES = 100_000  # more than anybody will start
MOST_DECIDING = 10_000  # nobody will start more of them to decide one cell
POWER_ROUNDING = 1e-9  # of degrees of freedom that are added up


def power(ratio: float, deviation: float, launches: int, paired: bool, level: float) -> float:
    """Returns the probability that a difference is significant, by the noncentral t distribution.

    For two experiments it assumes as many launches that deviate as much; the rank test that guards, and costs a little,
    is left out.

    Args:
        ratio: the true one, B / A.
        deviation: standard deviation of the logarithm of the ratio from one launch of each, `Comparison.deviation`.
        launches: of each, or pairs; 2 at least.
        paired: whether they are pairs.
        level: of the two-sided t test; for the hardest of n cells under Holm's correction, the level / n.
    """
    if deviation == 0:
        return 0.0 if ratio == 1 else 1.0
    shift = abs(math.log(ratio)) / deviation * math.sqrt(launches)
    return power_of_shift(shift, freedom_of(launches, paired), level)


def freedom_of(launches: int, paired: bool) -> int:
    """Returns the degrees of freedom of so many launches of each, or pairs."""
    # Welch's fall short of those of equal deviations by about one (simulated).
    return launches - 1 if paired else 2 * launches - 3


def power_of_shift(shift: float, freedom: int, level: float) -> float:
    """Returns the power where the mean is so many of its standard errors off 0; else as `power`."""
    return noncentral_t_above(-t_quantile(freedom, level / 2), freedom, shift)


@functools.cache  # thousands of cells ask for a few degrees of freedom
def shift_needed(freedom: int, level: float, wanted: float) -> float:
    """Returns how many of its standard errors the mean must be off 0 for a power; else as `power`."""
    if power_of_shift(0.0, freedom, level) >= wanted:
        return 0.0
    low, high = 0.0, 1.0
    while power_of_shift(high, freedom, level) < wanted:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if power_of_shift(middle, freedom, level) < wanted else (low, middle)
    return high


def detectable_ratio(error: float, freedom: float, level: float, wanted: float = POWER) -> float:
    """Returns the smallest ratio above 1 that is found significant with a probability, 0.9 by default.

    A ratio of 1 over it is found as easily.

    Args:
        error: standard error of the logarithm of the ratio, `Comparison.error`.
        freedom: its degrees of freedom; fractions do not count.
        level: as for `power`.
        wanted: the probability.

    Returns:
        NaN where there is no error, infinite beyond a million.
    """
    if math.isnan(error) or freedom < 1:
        return math.nan
    log = error * shift_needed(math.floor(freedom * (1 + POWER_ROUNDING)), level, wanted)
    return math.exp(log) if log <= math.log(LARGEST_RATIO) else math.inf


def launches_needed(ratio: float, deviation: float, paired: bool, level: float, wanted: float = POWER) -> int:
    """Returns how many launches find a ratio significant with a probability, 0.9 by default; else as `power`.

    Returns:
        2 at least, 100,000 at most.

    Raises:
        ValueError: the ratio is 1, which no number of launches finds different.
    """
    if ratio == 1:
        raise ValueError("a ratio of 1 is not a difference that launches could show")

    def enough(launches: int) -> bool:
        needed = shift_needed(freedom_of(launches, paired), level, wanted)
        return abs(math.log(ratio)) * math.sqrt(launches) >= deviation * needed

    low, high = 1, 2
    while high < MOST_LAUNCHES and not enough(high):
        low, high = high, min(2 * high, MOST_LAUNCHES)
    return bisect.bisect_left(range(high), True, lo=low + 1, key=enough)


def launches_that_decide(deviation: float, margin: float, confidence: float = CONFIDENCE) -> int:
    """Returns how many launches make half the interval of a ratio as narrow as the margin.

    Args:
        deviation: standard deviation of the log ratio between launches, `Comparison.deviation`.
        margin: as 0.02.
        confidence: of the interval.

    Returns:
        As many as equivalence takes at least, 10,000 at most.
    """

    def narrow(count: int) -> bool:
        half = t_quantile(count - 1, 0.5 + confidence / 2) * deviation / math.sqrt(count)
        return bool(half <= math.log1p(margin))

    return FEWEST_ALIKE + bisect.bisect_left(range(FEWEST_ALIKE, MOST_DECIDING), True, key=narrow)
