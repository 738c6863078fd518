"""The variance between launches and within them, and how to split time between launches and samples."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.median_interval import median_interval
from downbeat.statistics.power import MOST_LAUNCHES
from downbeat.statistics.verdicts import FEWEST_LAUNCHES

FEWEST_REPETITIONS = 50  # with fewer the t interval of a launch's median is a guess
MOST_REPETITIONS = 10_000  # with more a median is far more precise than launches agree
ONE_SIGMA = 0.6827  # the confidence of an interval of one standard deviation to either side


@dataclass(frozen=True)
class VarianceComponents:
    """Variances of the logarithm of a launch's median.

    Attributes:
        between: variance between launches, without what comes from the samples within them; 0 where that explains all.
        within: what one sample contributes: the median of r samples has variance within / r, autocorrelation included.
    """

    between: float
    within: float

    def of_median(self, repetitions: int) -> float:
        """The variance of the logarithm of a launch's median."""
        return self.between + self.within / repetitions


@dataclass(frozen=True)
class Split:
    """How to spend time on launches and on samples within them.

    Attributes:
        repetitions: valid samples per launch and cell.
        components: what the choice follows from.
    """

    repetitions: int
    components: VarianceComponents

    def launches_for(self, width: float, confidence: float = 0.95) -> int:
        """The number of launches that narrow the interval of the typical launch to a width, if normal.

        Args:
            width: of the whole interval, as share of the estimate: 0.02 is +-1 %; larger than 0.
            confidence: of the interval.

        Returns:
            5 at least, for fewer launches do not show how much launches differ; 100,000 at most.

        Raises:
            ValueError: the width is not positive.
        """
        if not width > 0:
            raise ValueError(f"a width of {width:g}; valid are numbers above 0")
        deviation = math.sqrt(self.components.of_median(self.repetitions))
        goal = math.asinh(width / 2)  # half the width on logarithms: exp(h) - exp(-h) = width

        def enough(launches: int) -> bool:
            t = t_quantile(launches - 1, 0.5 + confidence / 2)
            return t * deviation / math.sqrt(launches) <= goal

        return bisect.bisect_left(range(MOST_LAUNCHES), True, lo=FEWEST_LAUNCHES, key=enough)


def variance_components(samples_per_launch: Sequence[ArrayLike]) -> VarianceComponents:
    """Returns the variance between launches and within them, of the logarithms (Kalibera and Jones 2013).

    Their estimators are those of means. A median is what stands for a launch here, so what a sample contributes is
    taken from the standard error of the median: the interval of order statistics at one standard deviation. In that
    autocorrelation counts, but not what blocks differ by: there are as many blocks however many samples, so that is a
    part of what launches differ by.

    Args:
        samples_per_launch: the valid samples of one cell, an array of shape (samples,) per launch, in the order in
            which they were measured; any unit, larger than 0; two launches at least.

    Raises:
        ValueError: there are fewer than two launches, one is empty, or a sample is not positive.
    """
    if len(samples_per_launch) < 2:
        raise ValueError(f"{len(samples_per_launch)} launch; how much launches differ is seen from 2 on")
    medians, errors, contributions = [], [], []
    for samples in samples_per_launch:
        values = np.asarray(samples, dtype=float)
        if values.size == 0 or not np.all(values > 0):
            raise ValueError("a launch without samples, or with one that is not above 0, has no logarithms")
        logs = np.log(values)
        found = median_interval(logs, confidence=ONE_SIGMA)
        squared = ((found.high - found.low) / 2) ** 2
        medians.append(found.median)
        errors.append(squared)
        contributions.append(squared * values.size)
    between = float(np.var(medians, ddof=1) - np.mean(errors))
    return VarianceComponents(max(between, 0.0), float(np.mean(contributions)))


def optimal_repetitions(
    samples_per_launch: Sequence[ArrayLike],
    launch_cost: float,
    sample_cost: float,
    least: int = FEWEST_REPETITIONS,
    most: int = MOST_REPETITIONS,
) -> Split:
    """Returns the number of samples per launch that makes the interval narrowest for the time spent.

    Repetitions are sqrt(launch_cost / sample_cost * within / between) (Kalibera and Jones 2013): what is
    dear to start is to be used for long, but not longer than its own noise matters beside that of the launch.

    Args:
        samples_per_launch: those of `variance_components`, from a first few launches.
        launch_cost: what a launch takes for this cell without its samples, s: start, clocks, end, shared by the cells
            of the launch, and warm-up.
        sample_cost: what a sample takes, rejected ones and synchronization included, s.
        least: repetitions at least.
        most: repetitions at most; also what is chosen where launches do not differ beyond what their samples explain.

    Raises:
        ValueError: those of `variance_components`; or a cost is not positive, or `least` is above `most`.
    """
    if not (launch_cost > 0 and sample_cost > 0):
        raise ValueError(f"costs of {launch_cost:g} s and {sample_cost:g} s; valid are numbers above 0")
    if not 1 <= least <= most:
        raise ValueError(f"from {least} to {most} repetitions; valid is a range from 1 on")
    components = variance_components(samples_per_launch)
    if components.between > 0:
        best = math.sqrt(launch_cost / sample_cost * components.within / components.between)
        repetitions = math.ceil(min(max(best, least), most))
    else:
        repetitions = most if components.within > 0 else least
    return Split(repetitions, components)
