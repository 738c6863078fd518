"""The evidence of launches for a claim and against it: p-values, and how parts of a claim combine.

A claim is a statement on a parameter that every launch estimates once: a mean, a ratio, a slope, a share. It says on
which side of a border the parameter lies. Where the paper gives the size of an effect, the border is half of it, on a
logarithmic scale if it is a factor (`half`): "ten times as slow" is borne out from 3.2 times on, and not by a mean on
the right side of 1. Launches count once each, however many samples they have.
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
# Means that differ by less are equal: the rest is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Evidence:
    """The evidence of launches on a claim.

    Attributes:
        for_it: p-value of the hypothesis that the claim is wrong; small where launches bear the claim out. NaN where
            there are too few launches for any.
        against: p-value of the hypothesis that the claim is right; small where launches contradict it.
        launches: those of its weakest part.
        described: the estimate, its interval, and the border from which it counts, for the page.
        scope: the part of the claim that the evidence concerns; empty if the claim has a single part.
        series: what its launches measured, in their order: one array, or one for each of two runs.
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
    """The reason why a claim is undecided whatever launches show: a limit of this machine, or nothing measured."""

    reason: str  # the end of the sentence that begins with "undecided:"


@dataclass(frozen=True)
class Estimate:
    """A parameter, as launches estimate it."""

    mean: float  # over launches, of logarithms where it is a factor
    error: float  # standard error of the mean
    freedom: float  # degrees of freedom of the error
    launches: int  # on the smaller side, where two are compared
    factor: bool = False  # whether mean and error are those of logarithms
    unit: str = ""  # of a mean, as " us"
    series: tuple[Floats, ...] = field(default=(), compare=False, repr=False)  # as in `Evidence`

    def above(self, border: float) -> Evidence:
        """Returns the evidence that the parameter is above a border, by one-sided t tests."""
        at = math.log(border) if self.factor else border
        below, above = tails(self.mean - at, self.error, self.freedom, self.launches)
        described = f"{self}, counts above {border:.3g}{self.unit}"
        return Evidence(above, below, self.launches, described, series=self.series)

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
        """Returns a mean in the unit of the parameter."""
        return math.exp(mean) if self.factor else mean


def tails(distance: float, error: float, freedom: float, launches: int) -> tuple[float, float]:
    """Returns the one-sided p-values of a mean at some distance from a border.

    If launches do not scatter, e.g. below the step of a clock, a t test would be certain of anything. Then each launch
    counts as one toss of a coin (sign test).
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
    """Returns the mean of a parameter that each launch estimates once (Student 1908); NaN does not count.

    Launches that resemble the one before count as fewer (`error_of_mean`).
    """
    kept = finite(values)
    error, freedom = error_of_mean(kept)
    mean = float(kept.mean()) if kept.size else math.nan
    error = 0.0 if error <= ROUNDING * abs(mean) else error
    return Estimate(mean, error, freedom, kept.size, unit=unit, series=(kept,))


def factor_of(values: ArrayLike, unit: str = "") -> Estimate:
    """Returns the geometric mean of ratios that launches measured, or of other values that are above 0, as times.

    The test takes launches to deviate normally; times, errors and ratios do so in their logarithms, if at all.
    """
    array: Floats = np.asarray(values, dtype=float)
    logs: Floats = np.log(array, out=np.full(array.shape, np.nan), where=array > 0)
    return replace(mean_of(logs), factor=True, unit=unit, series=(np.exp(finite(logs)),))


def difference(first: Estimate, other: Estimate) -> Estimate:
    """Returns the difference, of factors the ratio, of runs whose launches are not paired (Welch 1947)."""
    fewest = min(first.launches, other.launches)
    error = math.hypot(first.error, other.error)
    freedom = float(max(1, fewest - 1))
    if error > 0:
        freedom = error**4 / sum(side.error**4 / side.freedom for side in (first, other))
    unit = "" if first.factor else first.unit
    return Estimate(first.mean - other.mean, error, freedom, fewest, first.factor, unit, first.series + other.series)


def halves(values: Floats) -> tuple[Floats, Floats]:
    """Splits launches: every other one chooses, the rest judge.

    Launches that made something an extreme, or a direction, must not judge it. Nor does it help that each launch judges
    what all others choose: they choose nearly the same, so that the choice is judged by them
    after all (at 5 launches and a level of 5 % the largest of equal ones was found larger in 29 %, simulated).
    """
    return values[1::2], values[::2]


def held_out(values: ArrayLike) -> Floats:
    """Returns the distances from 0 of half of the launches, positive on the side where the other half lies.

    The mean of absolute values is above 0 even if nothing but noise moves them. These are as often above as below,
    unless launches agree on a direction. `values` have shape (launches, places), NaN where a launch lacks a value; of a
    single launch all distances are NaN.
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
    """Combines the evidence of parts that must all hold.

    All must be shown, each at the full level (intersection-union test). One that is contradicted is enough to
    contradict the claim, which pays for their number, as one may be low by chance (Bonferroni). The weakest part is
    described.
    """
    evidence = list(conditions)
    if len(evidence) == 1:
        return evidence[0]
    weakest = max(evidence, key=lambda each: each.for_it)
    return Evidence(
        float(np.max([each.for_it for each in evidence])),
        float(np.minimum(1.0, len(evidence) * np.min([each.against for each in evidence]))),
        min(each.launches for each in evidence),
        weakest.described,
        f"the weakest of {len(evidence)} parts",
        weakest.series,
    )


def some(conditions: Iterable[Evidence]) -> Evidence:
    """Combines the evidence of conditions where a single one must hold, e.g. at some size; describes the strongest."""
    evidence = list(conditions)
    if len(evidence) == 1:
        return evidence[0]
    clearest = min(evidence, key=lambda each: each.for_it)
    none_holds = every(each.denied() for each in evidence)
    scope = f"the clearest of {len(evidence)} places"
    return replace(none_holds.denied(), described=clearest.described, scope=scope, series=clearest.series)


def grows(by_count: Mapping[int, ArrayLike]) -> Evidence | Undecidable:
    """Returns the evidence that values above 0, one per launch, grow with each number of ranks."""
    launches = [factor_of(by_count[count]) for count in sorted(by_count)]
    if len(launches) < 2:
        return Undecidable("it takes two numbers of ranks with a core each")
    return every(difference(more, fewer).above(1.0) for fewer, more in pairwise(launches))
