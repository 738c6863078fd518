"""Computes the evidence of launches for a claim and against it: p-values, and their combination for several conditions.

A claim says on which side of a border a parameter lies. Every launch estimates the parameter once, however many samples
it has: a mean, a ratio, a slope, a share. If the paper gives the size of an effect, the border is half of the effect,
on a logarithmic scale if it is a factor (`half`): "ten times as slow" is confirmed from 3.2 times on, and not by a mean
just above 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from downbeat.statistics.dependence import error_of_mean
from downbeat.statistics.distributions import t_cdf, t_quantile
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
CONFIDENCE = 0.95  # of the intervals that are printed
ROUNDING = 1e-12  # relative rounding error: smaller standard errors and distances count as 0


@dataclass(frozen=True)
class Evidence:
    """The evidence of launches on a claim.

    Attributes:
        for_it: p-value of the hypothesis that the claim is wrong; small if launches support the claim. NaN with too
            few launches for a p-value.
        against: p-value of the hypothesis that the claim is right; small if launches contradict the claim.
        launches: number of launches; of several conditions, the smallest.
        described: the estimate, its interval, and the border from which it counts, for the page.
        scope: the condition that `described` is of, e.g. "the weakest of 3 parts"; empty if there is a single one.
        series: the values of the launches, in their order: one array, or one for each of two runs.
    """

    for_it: float
    against: float
    launches: int
    described: str
    scope: str = ""
    series: tuple[Floats, ...] = field(default=(), compare=False, repr=False)

    def denied(self) -> Evidence:
        """Returns the evidence on the opposite claim."""
        return replace(self, for_it=self.against, against=self.for_it)


@dataclass(frozen=True)
class Undecidable:
    """The reason why launches cannot decide a claim, e.g. a limit of this machine, or nothing measured."""

    reason: str  # the end of the sentence that begins with "undecided:"


@dataclass(frozen=True)
class Estimate:
    """The estimate of a parameter by the launches."""

    mean: float  # over launches; of logarithms if `factor`
    error: float  # standard error of the mean; NaN with fewer than two launches
    freedom: float  # degrees of freedom of the error
    launches: int  # number of launches; of two runs that are compared, the smaller one
    factor: bool = False  # True: mean and error are those of logarithms
    unit: str = ""  # of a mean, e.g. " us"
    series: tuple[Floats, ...] = field(default=(), compare=False, repr=False)  # as in `Evidence`

    def above(self, border: float) -> Evidence:
        """Returns the evidence that the parameter is above a border, by one-sided t tests."""
        threshold = math.log(border) if self.factor else border
        p_below, p_above = tails(self.mean - threshold, self.error, self.freedom, self.launches)
        described = f"{self}, counts above {border:.3g}{self.unit}"
        return Evidence(p_above, p_below, self.launches, described, series=self.series)

    def below(self, border: float) -> Evidence:
        """Returns the evidence that the parameter is below a border, by one-sided t tests."""
        return replace(self.above(border).denied(), described=f"{self}, counts below {border:.3g}{self.unit}")

    def within(self, low: float, high: float) -> Evidence:
        """Returns the evidence that the parameter is between two borders (Schuirmann 1987)."""
        between = every((self.above(low), self.below(high)))
        return replace(between, described=f"{self}, counts between {low:.3g} and {high:.3g}{self.unit}", scope="")

    def beyond(self, factor: float) -> Evidence:
        """Returns the evidence that a factor, or its inverse, is above a border."""
        return replace(
            self.within(1 / factor, factor).denied(),
            described=f"{self}, counts below {1 / factor:.3g} or above {factor:.3g}",
        )

    def __str__(self) -> str:
        if not self.error >= 0:
            return f"{self.value(self.mean):.3g}{self.unit}"
        half = t_quantile(self.freedom, 0.5 + CONFIDENCE / 2) * self.error
        low, high = self.value(self.mean - half), self.value(self.mean + half)
        return f"{self.value(self.mean):.3g}{self.unit} ({CONFIDENCE:.0%} interval {low:.3g} to {high:.3g}{self.unit})"

    def value(self, mean: float) -> float:
        """Returns a mean in the unit of the parameter: undoes the logarithm of a factor."""
        return math.exp(mean) if self.factor else mean


def tails(distance: float, error: float, freedom: float, launches: int) -> tuple[float, float]:
    """Returns the one-sided p-values of a mean at a distance from a border: small on the left if it is far below.

    Launches without any scatter, e.g. because all are below the step of a clock, have a standard error of 0, and a t
    test would be certain of anything. Then each launch counts as one toss of a coin (sign test).
    """
    if math.isnan(error):
        return math.nan, math.nan
    if error > 0:
        t = distance / error
        return t_cdf(freedom, t), t_cdf(freedom, -t)
    if abs(distance) < ROUNDING:
        return 1.0, 1.0
    return (0.5**launches, 1.0) if distance < 0 else (1.0, 0.5**launches)


def mean_of(values: ArrayLike, unit: str = "") -> Estimate:
    """Estimates a parameter by the mean over launches (Student 1908); NaN does not count.

    Correlated consecutive launches count as fewer (`error_of_mean`).
    """
    known = finite(values)
    error, freedom = error_of_mean(known)
    mean = float(known.mean()) if known.size else math.nan
    error = 0.0 if error <= ROUNDING * abs(mean) else error
    return Estimate(mean, error, freedom, known.size, unit=unit, series=(known,))


def factor_of(values: ArrayLike, unit: str = "") -> Estimate:
    """Estimates a ratio, or another parameter above 0, e.g. a time, by the geometric mean over launches.

    The t test assumes a normal distribution; of times, errors and ratios, the logarithms come closest to one.
    """
    array: Floats = np.asarray(values, dtype=float)
    logs: Floats = np.log(array, out=np.full(array.shape, np.nan), where=array > 0)
    return replace(mean_of(logs), factor=True, unit=unit, series=(np.exp(finite(logs)),))


def difference(first: Estimate, other: Estimate) -> Estimate:
    """Estimates the difference of two runs, of factors their ratio, if launches are not paired (Welch 1947)."""
    fewest = min(first.launches, other.launches)
    error = math.hypot(first.error, other.error)
    freedom = float(max(1, fewest - 1))
    if error > 0:
        freedom = error**4 / sum(side.error**4 / side.freedom for side in (first, other))
    unit = "" if first.factor else first.unit
    return Estimate(first.mean - other.mean, error, freedom, fewest, first.factor, unit, first.series + other.series)


def halves(values: Floats) -> tuple[Floats, Floats]:
    """Splits launches into two halves: the first chooses, e.g. the largest of several, the second judges the choice.

    The launches that made a value the largest must not judge that it is larger. Leaving out one launch at a time, and
    letting it judge the choice of all others, does not help: the choices are nearly the same, so that the launches
    judge their own choice (with 5 launches and a level of 5 %, the largest of equal values was larger in 29 % of
    simulations).
    """
    return values[1::2], values[::2]


def held_out(values: ArrayLike) -> Floats:
    """Returns the values of the judging half of the launches, positive if they have the sign of the choosing half.

    The mean of absolute values is above 0 even if values are noise. The mean of these values is 0 then, because their
    sign is random unless launches agree on a direction. `values` have shape (launches, positions), NaN where a launch
    lacks a value; with a single launch, which cannot choose and judge, all results are NaN.
    """
    choosing, judging = halves(np.asarray(values, dtype=float))
    if not len(choosing):
        return np.full(judging.shape, np.nan)
    signed: Floats = judging * np.sign(np.nansum(choosing, axis=0))
    return signed


def finite(values: ArrayLike) -> Floats:
    """Returns the values that are numbers."""
    array: Floats = np.asarray(values, dtype=float).ravel()
    return array[np.isfinite(array)]


def half(effect: float) -> float:
    """Returns the border of a factor that the paper reports: half of it, on a logarithmic scale."""
    return math.sqrt(effect)


def every(conditions: Iterable[Evidence]) -> Evidence:
    """Combines the evidence on conditions that must all hold.

    For the claim, each condition must be shown at the full level (intersection-union test). Against the claim, a single
    contradicted condition is enough; its p-value is multiplied by the number of conditions, as one may be low by chance
    (Bonferroni). The description is that of the weakest condition.
    """
    evidence = list(conditions)
    if len(evidence) == 1:
        return evidence[0]
    weakest = max(evidence, key=lambda condition: condition.for_it)
    return Evidence(
        float(np.max([condition.for_it for condition in evidence])),
        float(np.minimum(1.0, len(evidence) * np.min([condition.against for condition in evidence]))),
        min(condition.launches for condition in evidence),
        weakest.described,
        f"the weakest of {len(evidence)} parts",
        weakest.series,
    )


def some(conditions: Iterable[Evidence]) -> Evidence:
    """Combines the evidence on alternative conditions: at least one must hold.

    The description is that of the strongest condition.
    """
    evidence = list(conditions)
    if len(evidence) == 1:
        return evidence[0]
    clearest = min(evidence, key=lambda condition: condition.for_it)
    none_holds = every(condition.denied() for condition in evidence)
    scope = f"the clearest of {len(evidence)} places"
    return replace(none_holds.denied(), described=clearest.described, scope=scope, series=clearest.series)


def grows(by_count: Mapping[int, ArrayLike]) -> Evidence | Undecidable:
    """Returns the evidence that values above 0 grow from each number of ranks to the next.

    Args:
        by_count: number of ranks -> a value per launch.
    """
    launches = [factor_of(by_count[count]) for count in sorted(by_count)]
    if len(launches) < 2:
        return Undecidable("it takes two numbers of ranks with a core each")
    return every(difference(more, fewer).above(1.0) for fewer, more in pairwise(launches))
