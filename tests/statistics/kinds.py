"""Kinds of launches that no method of the package presumes: tails, modes, runs, drifts, grids.

A kind draws many experiments at once. Its numbers are logarithms of launch medians, in the order of the launches, whose
pseudo-median over infinitely many launches is 0: the truth is the typical launch, as docs/statistics.md has it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tests.statistics.simulated import Floats, autoregressive

DEVIATION = 0.01  # of launches of one mode
FEW, SLOWEST_OF_FEW, SLOWEST = (
    20,
    0.10,
    0.05,
)  # the slowest launches of a skewed kind that few launches, or more, may lack
GRID = 200.0  # what a launch on a grid takes
OF_STEP = 0.6  # its deviation
AR_DEVIATION = 0.02


@dataclass(frozen=True)
class Drawn:
    """Experiments of one kind.

    Attributes:
        logs: of each launch, shape (experiments, launches).
        rare: share -> which launches are of a rare kind of this share, same shape.
    """

    logs: Floats
    rare: dict[float, NDArray[np.bool_]]

    def missed(self, experiment: int) -> float:
        """Returns the share of the rarest launches that an experiment has none of; infinite if it has all."""
        return min((share for share, which in self.rare.items() if not which[experiment].any()), default=math.inf)

    def first(self, launches: int) -> Drawn:
        """Returns the first launches of each experiment."""
        return Drawn(self.logs[:, :launches], {share: which[:, :launches] for share, which in self.rare.items()})


MANY = 3000  # quantiles that a typical launch is computed from


def pseudo_median(logs: Floats) -> float:
    """Returns the median of the means of all pairs of values: the truth that Hodges and Lehmann estimate."""
    return float(np.median(np.add.outer(logs, logs)[np.triu_indices(logs.size)])) / 2


Draw = Callable[[np.random.Generator, int, int], Drawn]


@dataclass(frozen=True)
class Kind:
    """A kind of launches.

    Attributes:
        name: in tables.
        draw: (random, experiments, launches).
        rare: has launches of another kind, which an experiment may lack, or have too many of.
        in_order: a launch resembles the one before.
        run: launches that a rare kind lasts for, mean.
    """

    name: str
    draw: Draw
    rare: bool = False
    in_order: bool = False
    run: float = 1.0


def in_turn(values: Floats) -> Floats:
    """Returns values with small and large ones in turn, so that none resembles the one before."""
    ordered = np.sort(values)
    found = np.empty_like(ordered)
    half = -(-ordered.size // 2)
    found[::2], found[1::2] = ordered[:half], ordered[half:]
    return found


def normal(random: np.random.Generator, experiments: int, launches: int) -> Drawn:
    """Draws independent normal launches."""
    return Drawn(random.normal(0, DEVIATION, (experiments, launches)), {})


def student(freedom: float) -> Draw:
    """Returns a function that draws launches with symmetric tails."""
    return lambda random, experiments, launches: Drawn(
        DEVIATION * random.standard_t(freedom, (experiments, launches)), {}
    )


def one_tenfold(random: np.random.Generator, experiments: int, launches: int) -> Drawn:
    """Draws normal launches of which one, anywhere, takes ten times as long."""
    logs = normal(random, experiments, launches).logs
    logs[np.arange(experiments), random.integers(launches, size=experiments)] += math.log(10)
    return Drawn(logs, {})


def above_floor(quantile: Callable[[Floats], Floats], share: float) -> Draw:
    """Returns a function that draws launches above a floor of 1: 1 + share x a deviate with these quantiles."""

    @functools.cache
    def typical() -> float:
        return pseudo_median(np.log1p(share * quantile((np.arange(MANY) + 0.5) / MANY)))

    def draw(random: np.random.Generator, experiments: int, launches: int) -> Drawn:
        places = random.random((experiments, launches))
        slowest = SLOWEST_OF_FEW if launches <= FEW else SLOWEST
        return Drawn(np.log1p(share * quantile(places)) - typical(), {slowest: places > 1 - slowest})

    return draw


def modes(*others: tuple[float, float], run: float = 1.0) -> Draw:
    """Returns a function that draws launches of several modes.

    Args:
        others: share and factor of each mode beside the first; only one if they come in runs.
        run: launches that the slow mode lasts for, mean; 1: launches are independent.
    """
    shares = np.array([share for share, _ in others])
    levels = np.array([0.0, *(math.log(factor) for _, factor in others)])

    @functools.cache
    def typical() -> float:
        counts = np.round(MANY * np.array([1 - shares.sum(), *shares])).astype(int)
        each = [
            level + DEVIATION * special.ndtri((np.arange(n) + 0.5) / n) for level, n in zip(levels, counts, strict=True)
        ]
        return pseudo_median(np.concatenate(each))

    def draw(random: np.random.Generator, experiments: int, launches: int) -> Drawn:
        if run > 1:
            mode = in_runs(random, experiments, launches, float(shares[0]), run)
        else:
            mode = np.searchsorted(np.cumsum([1 - shares.sum(), *shares])[:-1], random.random((experiments, launches)))
        logs = levels[mode] - typical() + random.normal(0, DEVIATION, mode.shape)
        rare = {float(share): mode == number for number, share in enumerate(shares, 1)}
        return Drawn(logs, rare)

    return draw


def in_runs(random: np.random.Generator, experiments: int, launches: int, share: float, run: float) -> NDArray[np.intp]:
    """Returns 0 or 1 for each launch, a Markov chain: 1 in this share of launches, for so many in a row."""
    chances = random.random((experiments, launches))
    mode = np.zeros((experiments, launches), dtype=np.intp)
    mode[:, 0] = chances[:, 0] < share
    to_slow = share / ((1 - share) * run)
    for launch in range(1, launches):
        mode[:, launch] = chances[:, launch] < np.where(mode[:, launch - 1], 1 - 1 / run, to_slow)
    return mode


def correlated(r1: float) -> Draw:
    """Returns a function that draws a first-order autoregressive series."""
    return lambda random, experiments, launches: Drawn(
        AR_DEVIATION * autoregressive(random, (experiments, launches), r1), {}
    )


def ageing(rise: float) -> Draw:
    """Returns a function that draws launches that rise by a share from the first to the last, around 0."""
    return lambda random, experiments, launches: Drawn(
        normal(random, experiments, launches).logs + rise * np.linspace(-0.5, 0.5, launches), {}
    )


def on_grid(step: float) -> Draw:
    """Returns a function that draws launches of 200 that are read in steps, with a deviation below a step.

    The place of the truth within a step is drawn for each experiment; the truth is what the grid makes of it.
    """

    def draw(random: np.random.Generator, experiments: int, launches: int) -> Drawn:
        place = random.uniform(GRID, GRID + step, (experiments, 1))
        read = step * np.round((place + random.normal(0, OF_STEP * step, (experiments, launches))) / step)
        readings = step * np.round(place / step) + step * np.arange(-4, 5)
        edges = np.concatenate([readings - step / 2, readings[:, -1:] + step / 2], axis=1)
        chances = np.diff(special.ndtr((edges - place) / (OF_STEP * step)), axis=1)
        counts = np.round(300 * chances).astype(int)
        logs = [pseudo_median(np.log(np.repeat(x, n))) for x, n in zip(readings, counts, strict=True)]
        return Drawn(np.log(read) - np.array(logs)[:, np.newaxis], {})

    return draw


def pareto(places: Floats) -> Floats:
    """Returns quantiles of a Pareto distribution (Lomax) with exponent 1.5: a mean, but no variance."""
    return np.asarray((1 - places) ** (-1 / 1.5) - 1)


def exponential(places: Floats) -> Floats:
    """Returns quantiles of the exponential distribution."""
    return np.asarray(-np.log1p(-places))


def lognormal(places: Floats) -> Floats:
    """Returns quantiles of the exponential of a normal deviate."""
    return np.asarray(np.exp(special.ndtri(places)))


def mixture(share: float, factor: float, run: float = 1.0) -> Kind:
    """Returns a kind of two modes."""
    lasting = f", in runs of {run:g}" if run > 1 else ""
    return Kind(
        f"{100 * share:.0f} % x{factor:g}{lasting}",
        modes((share, factor), run=run),
        rare=True,
        in_order=run > 1,
        run=run,
    )


NORMAL = Kind("normal", normal)
SYMMETRIC = (Kind("t(2)", student(2)), Kind("one launch x10", one_tenfold))
SKEWED = (
    Kind("floor + 3 % Pareto(1.5)", above_floor(pareto, 0.03), rare=True),
    Kind("floor + 3 % exponential", above_floor(exponential, 0.03), rare=True),
    Kind("floor + 3 % lognormal", above_floor(lognormal, 0.03), rare=True),
)
GRIDS = (Kind("steps of 1 in 200", on_grid(1)), Kind("steps of 10 in 200", on_grid(10)))
MIXED = (
    mixture(0.15, 1.003),
    mixture(0.15, 1.03),
    mixture(0.05, 1.3),
    mixture(0.30, 1.3),
    mixture(0.10, 3.0),
    Kind("15 % x1.03, 10 % x1.3", modes((0.15, 1.03), (0.10, 1.3)), rare=True),
    Kind("20 % x1.3, 10 % x3", modes((0.20, 1.3), (0.10, 3.0)), rare=True),
)
RUNS = (mixture(0.30, 1.03, 5), mixture(0.10, 1.3, 3), mixture(0.20, 1.3, 5), mixture(0.20, 1.3, 15))
CORRELATED = tuple(Kind(f"AR {r1}", correlated(r1), in_order=True) for r1 in (0.8, 0.95, 0.99))
AGEING = (Kind("ageing by 2 %", ageing(0.02), in_order=True), Kind("ageing by 10 %", ageing(0.1), in_order=True))
