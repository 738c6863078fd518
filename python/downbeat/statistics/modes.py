"""Launches in several modes, or correlated: what they show, and what an interval over them cannot know."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from downbeat.statistics.distributions import normal_cdf, normal_quantile
from downbeat.statistics.series import autocorrelation, effective_number
from downbeat.text import duration_text

FEWEST_FOR_MODES = 5  # launches, in which two modes or a correlation can be seen at all
FEWEST_IN_ORDER = 20  # in which a correlation of 0.8 is seen in 92 % of experiments; in 10, 61 %
FALSE_ALARMS = 0.01  # of `two_modes`, where launches deviate normally
COARSEST = 0.1  # of the median: values that repeat are on a grid with steps of no more
SMALLEST_GAP = 0.02  # as a share: a smaller gap matters to no verdict
DRAWN = 20_000
MOST_DRAWN = 60  # launches: with more, gaps are smaller still
CORRELATED = 0.05  # share of series of independent launches that are said to be correlated
DECIMALS = 12  # of logarithms
WIDENED = 0.01  # share of them whose intervals are widened for it
UNSEEN_SHARE = 0.05  # the probability with which a mode of `unseen_share` is missed
ASKED_SHARES = (0.10, 0.05)  # for which `unseen_text` names the launches that show them


def unseen_share(launches: int) -> float:
    """Returns the largest share of launches that may be of another kind although none is, with 95 % confidence.

    All of n launches miss a mode of the share s with a probability of (1 - s)^n (rule of three; Hanley 1983).

    Args:
        launches: how many there are.

    Returns:
        A share, 0 to 1.
    """
    return 1 - math.pow(UNSEEN_SHARE, 1 / launches)


def launches_to_see(share: float) -> int:
    """Returns how many launches include one of a mode of this share, with 95 % confidence; inverts `unseen_share`."""
    return math.ceil(math.log(UNSEEN_SHARE) / math.log1p(-share))


def unseen_text(launches: int, span: float = math.nan) -> str:
    """Says what so many launches can miss, how many more would show it, and what it takes for granted.

    A kind of launches that comes in runs of L is missed as by one launch in L.

    Args:
        launches: how many there are.
        span: from the start of the first to that of the last, s; NaN: not known.
    """
    needed = [(launches_to_see(share), share) for share in ASKED_SHARES if launches_to_see(share) > launches]
    more = f" ({', '.join(f'{count} show {100 * share:.0f} %' for count, share in needed)})" if needed else ""
    within = f" within {duration_text(span)}" if launches > 1 and math.isfinite(span) else ""
    share = f"{100 * unseen_share(launches):.0f} % of launches"
    order = f", which fewer than {FEWEST_IN_ORDER} do not show" if launches < FEWEST_IN_ORDER else ""
    longest = duration_text(span) if within else "they do"
    alone = (
        f"if launches are independent{order}: a kind that lasts for several of them takes as many times more, and what "
        f"lasts longer than {longest} does not show"
    )
    counted = f"{launches} launches{within} leave" if launches > 1 else "1 launch leaves"
    return f"{counted} unseen what happens in up to {share}{more}, {alone}"


def two_modes(values: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Returns launches in two groups, lower and upper, if a gap between them is too wide for one kind of launches.

    The widest gap between sorted logarithms, in pooled standard deviations of its two sides, is compared
    with the same of normal deviates: 1 % of these have a wider one. Where few launches are slow without being of
    another kind, as above a floor, it is found more often. Values that repeat are on a grid, in which a gap of one step
    says nothing.

    Args:
        values: one per launch, above 0, any unit.

    Returns:
        None where there are fewer than five launches, or none of the gaps is so wide and above 2 %.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    if ordered.size < FEWEST_FOR_MODES:
        return None
    step = step_of(ordered)
    place, gap = widest_gap(np.log(ordered)[np.newaxis, :], step / float(np.median(ordered)) / math.sqrt(12))
    lower, upper = np.split(ordered, place)
    wide = gap[0] > critical_gap(min(ordered.size, MOST_DRAWN)) and upper[0] > (1 + SMALLEST_GAP) * lower[-1]
    return (lower, upper) if wide and upper[0] - lower[-1] > 2 * step else None


def step_of(ordered: NDArray[np.float64]) -> float:
    """Returns the step of the grid on which sorted values are, as they repeat; 0 where there is none."""
    gaps = np.diff(np.unique(ordered))
    gaps = gaps[gaps > 1e-9 * ordered[-1]]  # else it is rounding
    on_grid = 0 < gaps.size < ordered.size - 1 and gaps.min() <= COARSEST * float(np.median(ordered))
    return float(gaps.min()) if on_grid else 0.0


def widest_gap(ordered: NDArray[np.float64], least: float = 0.0) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Returns where the upper group begins, and the gap in pooled standard deviations, of sorted rows.

    `least` is how much values deviate at least, as those that are read in steps do.
    """
    count = ordered.shape[1]
    sizes = np.arange(1, count)
    centered = ordered - ordered.mean(axis=1, keepdims=True)
    sums, squares = np.cumsum(centered, axis=1), np.cumsum(centered**2, axis=1)
    below = squares[:, :-1] - sums[:, :-1] ** 2 / sizes
    above = (squares[:, -1:] - squares[:, :-1]) - (sums[:, -1:] - sums[:, :-1]) ** 2 / (count - sizes)
    pooled = np.maximum(np.sqrt(np.maximum(below + above, 1e-24) / (count - 2)), least)
    gaps = np.diff(ordered, axis=1) / pooled
    place = gaps.argmax(axis=1)
    return place + 1, np.take_along_axis(gaps, place[:, np.newaxis], axis=1)[:, 0]


@functools.cache
def critical_gap(launches: int) -> float:
    """Returns the gap that 1 % of so many normal deviates exceed; drawn, always in the same way."""
    drawn = np.sort(np.random.default_rng(launches).standard_normal((DRAWN, launches)), axis=1)
    return float(np.quantile(widest_gap(drawn)[1], 1 - FALSE_ALARMS))


def correlation(series: ArrayLike, level: float = CORRELATED) -> float:
    """Returns the correlation of launches with the one before, 0 where chance explains it or they are few.

    Args:
        series: a number per launch, as logarithms of medians, in the order of the launches.
        level: share of series of independent launches that are taken for correlated.
    """
    values = rounded(series)
    found = autocorrelation(values) if values.size >= FEWEST_FOR_MODES else 0.0
    return min(found, 1.0) if found * math.sqrt(max(values.size, 1)) > -normal_quantile(level) else 0.0


def resemblance_p(series: ArrayLike) -> float:
    """Returns the p-value that launches, in their order, do not resemble the one before; NaN of fewer than five."""
    values = rounded(series)
    if values.size < FEWEST_FOR_MODES:
        return math.nan
    return normal_cdf(-autocorrelation(values) * math.sqrt(values.size))


def effective_launches(series: ArrayLike) -> float:
    """Returns how many independent launches these are worth: all of them unless they resemble the one before.

    Args:
        series: a number per launch, as logarithms of medians or of ratios, in the order of the launches.
    """
    values = rounded(series)
    return effective_number(values.size, correlation(values, WIDENED))


def rounded(series: ArrayLike) -> NDArray[np.float64]:
    """Returns deviations from the mean of logarithms, without the last digits, by which equal launches would differ."""
    values = np.asarray(series, dtype=float)
    return np.round(values - values.mean(), DECIMALS) if values.size else values


def inflation(series: ArrayLike) -> float:
    """Returns how much wider an interval must be for launches that resemble the one before, significantly or not."""
    values = np.asarray(series, dtype=float)
    return math.sqrt(values.size / max(effective_number(values.size, autocorrelation(values)), 1.0))
