"""Simulated launches with known truth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Deviations:
    """Causes of differences between samples. Deviations are standard deviations of logarithms: 0.05 is 5 %.

    Attributes:
        session: from session to session, shared by all cells: experiments at different times find another machine.
        session_cell: from session to session, of each cell's own.
        drift: of a session's launches from its first to its last, on top, shared by all cells: the slope of each
            session is drawn with this deviation.
        launch: from launch to launch, shared by all cells of a launch.
        cell: from launch to launch, of each cell's own.
        sample: within a launch.
        autocorrelation: of samples that follow each other, at lag 1, without the outliers.
        outlier_share: of the samples.
        block: from block to block of a launch.
        blocks: of equal size per launch.
        outlier_factors: an outlier is longer than it would have been by a factor between these, uniform.
    """

    session: float = 0.0
    session_cell: float = 0.0
    drift: float = 0.0
    launch: float = 0.05
    cell: float = 0.0
    sample: float = 0.05
    autocorrelation: float = 0.6
    outlier_share: float = 0.02
    block: float = 0.0
    blocks: int = 1
    outlier_factors: tuple[float, float] = (2.0, 10.0)


def autoregressive(random: np.random.Generator, shape: tuple[int, ...], r1: float) -> Floats:
    """Returns standard normal series along the last axis, first-order autoregressive with autocorrelation r1."""
    shocks = random.normal(size=shape)
    shocks[..., 1:] *= np.sqrt(1 - r1**2)  # the first is drawn from the stationary distribution
    return np.asarray(signal.lfilter([1], [1, -r1], shocks, axis=-1))


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
    noise = deviations.sample * autoregressive(random, (launches, samples), deviations.autocorrelation)
    if deviations.block:
        block = np.arange(samples) * deviations.blocks // samples
        noise += random.normal(0, deviations.block, (launches, deviations.blocks))[:, block]
    # Outliers are above nearly all else, so the median of all is a little above that of the rest.
    shift = math.hypot(deviations.sample, deviations.block) * stats.norm.ppf(0.5 / (1 - deviations.outlier_share))
    outlying = random.random((launches, samples)) < deviations.outlier_share
    factors = np.where(outlying, random.uniform(*deviations.outlier_factors, (launches, samples)), 1.0)
    return np.asarray(truth * np.exp(level[:, np.newaxis] + noise - shift) * factors)


def simulate_stepped_launches(
    random: np.random.Generator, launches: int, samples: int, truth: float, noise: float, step: float, ranks: int = 2
) -> Floats:
    """Returns samples of one cell, means over ranks, read from clocks that advance in steps.

    Samples begin anywhere within a step, and each rank's time in the operation deviates normally.

    Args:
        random: draws them.
        launches: how many.
        samples: per launch.
        truth: time in the operation; the unit of all.
        noise: standard deviation of it, of each rank and sample.
        step: of the clocks.
        ranks: over which a sample is a mean.

    Returns:
        Shape (launches, samples).
    """
    entry = random.uniform(0, step, (launches, samples, ranks))
    exits = entry + truth + random.normal(0, noise, entry.shape)
    return np.asarray(step * (np.floor(exits / step) - np.floor(entry / step)).mean(axis=2))


def simulate_launch_factors(random: np.random.Generator, launches: int, deviations: Deviations | None = None) -> Floats:
    """Returns a log-normal factor for each launch, shape (launches,), geometric mean 1."""
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


def simulate_sessions(
    random: np.random.Generator, sessions: int, launches: int, deviations: Deviations, cells: int = 1
) -> Floats:
    """Returns medians of launches in sessions, of cells without a difference between them.

    Medians as they are, without samples: `launch` and `cell` are all that launches of a session differ by, but `drift`.

    Args:
        random: draws them.
        sessions: how many.
        launches: of each, evenly over its time.
        deviations: `session`, `session_cell`, `drift`, `launch` and `cell` of it.
        cells: measured by each launch.

    Returns:
        Shape (cells, sessions, launches), in the order of time, geometric mean 1.
    """
    level = random.normal(0, deviations.session, (1, sessions, 1))
    level = level + random.normal(0, deviations.session_cell, (cells, sessions, 1))
    slopes = random.normal(0, deviations.drift, (1, sessions, 1))
    level = level + slopes * np.linspace(-0.5, 0.5, launches)
    level = level + random.normal(0, deviations.launch, (1, sessions, launches))
    return np.exp(level + random.normal(0, deviations.cell, (cells, sessions, launches)))


def simulate_interleaved(
    random: np.random.Generator, pairs: int, ratio: float, deviations: Deviations, cells: int = 1
) -> tuple[Floats, Floats]:
    """Simulates launches of A and B that take turns in one session, as an experiment with variants starts them.

    The first of the first pair is drawn, and the order is reversed from pair to pair.

    Args:
        random: draws them.
        pairs: of launches.
        ratio: B / A.
        deviations: those of `simulate_sessions`.
        cells: measured by each launch.

    Returns:
        The launch medians of A and of B, each of shape (cells, pairs).
    """
    launches = simulate_sessions(random, 1, 2 * pairs, deviations, cells).reshape(cells, pairs, 2)
    first = (np.arange(pairs) + random.integers(2)) % 2
    a = np.take_along_axis(launches, first[np.newaxis, :, np.newaxis], axis=2)[..., 0]
    b = np.take_along_axis(launches, 1 - first[np.newaxis, :, np.newaxis], axis=2)[..., 0]
    return a, ratio * b
