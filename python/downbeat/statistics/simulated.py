"""Launches as they come from machines, with the truth known: to see what an interval or a verdict is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Deviations:
    """What makes samples differ. Deviations are standard deviations of logarithms: 0.05 is 5 %.

    Attributes:
        launch: from launch to launch, shared by all cells of a launch.
        cell: from launch to launch, of each cell's own.
        sample: within a launch.
        autocorrelation: of samples that follow each other, at lag 1, without the outliers.
        outlier_share: of the samples.
        outlier_factors: an outlier is longer than it would have been by a factor between these, uniform.
    """

    launch: float = 0.05
    cell: float = 0.0
    sample: float = 0.05
    autocorrelation: float = 0.6
    outlier_share: float = 0.02
    outlier_factors: tuple[float, float] = (2.0, 10.0)


def simulate_launches(
    random: np.random.Generator,
    launches: int,
    samples: int,
    truth: float = 1.0,
    deviations: Deviations | None = None,
    launch_factors: Floats | None = None,
) -> Floats:
    """Returns samples of one cell in several launches.

    Within a launch they are a first-order autoregressive process on logarithms, with outliers.

    Args:
        random: draws them.
        launches: how many.
        samples: per launch.
        truth: the geometric mean over launches of a launch's true median; the unit of the samples.
        deviations: as `Deviations` has them by default.
        launch_factors: what the cells of a launch share, shape (launches,), where several cells are simulated; drawn by
            default.

    Returns:
        Shape (launches, samples), in the order of time.
    """
    deviations = deviations or Deviations()
    if launch_factors is None:
        launch_factors = simulate_launch_factors(random, launches, deviations)
    level = np.log(launch_factors) + random.normal(0, deviations.cell, launches)
    r1 = deviations.autocorrelation
    shocks = random.normal(size=(launches, samples))
    shocks[:, 1:] *= np.sqrt(1 - r1**2)  # the first is drawn from the stationary distribution
    noise = deviations.sample * signal.lfilter([1], [1, -r1], shocks, axis=1)
    # Outliers lie above nearly all else, so the median of all is a little above that of the rest.
    shift = deviations.sample * stats.norm.ppf(0.5 / (1 - deviations.outlier_share))
    outlying = random.random((launches, samples)) < deviations.outlier_share
    factors = np.where(outlying, random.uniform(*deviations.outlier_factors, (launches, samples)), 1.0)
    return np.asarray(truth * np.exp(level[:, np.newaxis] + noise - shift) * factors)


def simulate_launch_factors(random: np.random.Generator, launches: int, deviations: Deviations | None = None) -> Floats:
    """Returns what is peculiar to each launch: log-normal factors, shape (launches,), geometric mean 1."""
    return np.exp(random.normal(0, (deviations or Deviations()).launch, launches))


def simulate_paired_medians(
    random: np.random.Generator, launches: int, samples: int, ratio: float, deviations: Deviations | None = None
) -> tuple[Floats, Floats]:
    """Returns launch medians of two cells that are measured in the same launches, B / A = ratio; each (launches,)."""
    factors = simulate_launch_factors(random, launches, deviations)
    a = simulate_launches(random, launches, samples, 1.0, deviations, factors)
    b = simulate_launches(random, launches, samples, ratio, deviations, factors)
    return np.median(a, axis=1), np.median(b, axis=1)


def simulate_independent_medians(
    random: np.random.Generator, launches: int, samples: int, ratio: float, deviations: Deviations | None = None
) -> tuple[Floats, Floats]:
    """Returns launch medians of the same cell in two experiments, B / A = ratio; each of shape (launches,)."""
    a = simulate_launches(random, launches, samples, 1.0, deviations)
    b = simulate_launches(random, launches, samples, ratio, deviations)
    return np.median(a, axis=1), np.median(b, axis=1)
