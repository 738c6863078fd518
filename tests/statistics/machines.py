"""Pairwise times of simulated machines, with and without planted faults."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from downbeat.tables import Floats

LEAF = 16  # nodes of a leaf: a group of near nodes, e.g. behind a switch
KINDS = ("flat", "jobs", "tiers", "far")
FARTHER = 1.35  # time between leaves over that within a leaf


@dataclass(frozen=True)
class Machine:
    """A simulated machine.

    Attributes:
        nodes: number of nodes.
        values: number of values of each pair.
        kind: "flat": leaves; "jobs": with other jobs, which double the times of a leaf in a third of the values;
            "tiers": three classes of links; "far": a leaf that is 25 % farther.
        noise: standard deviation of the logarithm of each value.
        spread: standard deviation of the logarithms of links, equal in all values of a link.
        outliers: share of values that are 2 to 8 times larger.
        leaf: nodes of a leaf.
    """

    nodes: int = 64
    values: int = 6
    kind: str = "flat"
    noise: float = 0.01
    spread: float = 0.03
    outliers: float = 0.01
    leaf: int = LEAF

    def times(self, random: np.random.Generator) -> Floats:
        """Draws log times, shape (values, nodes, nodes), symmetric; NaN on the diagonal."""
        leaf = np.arange(self.nodes) // self.leaf
        base = np.where(apart(leaf), np.log(FARTHER), 0.0) + symmetric(random.normal(0, self.spread, self.shape))
        if self.kind == "tiers":
            base += np.where(apart(leaf // max(1, (leaf.max() + 1) // 2)), np.log(1.3), 0.0)
        if self.kind in ("tiers", "far"):
            base += np.where(apart(leaf == leaf.max()), np.log(1.25), 0.0)
        noise = max(self.noise, 0.03) if self.kind == "jobs" else self.noise
        times = np.empty((self.values, *self.shape))
        for each in times:
            slow = np.where(random.random(self.shape) < self.outliers, np.log(random.uniform(2, 8, self.shape)), 0.0)
            value = random.normal(0, noise, self.shape) + slow
            if self.kind == "jobs":
                busy = random.integers(leaf.max() + 1, size=self.shape)
                touched = (busy == leaf) | (busy == leaf[:, np.newaxis])
                value += np.where(touched & (random.random(self.shape) < 1 / 3), np.log(2), 0.0)
            each[:] = base + symmetric(value)
            np.fill_diagonal(each, np.nan)
        return times

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a matrix of pairs."""
        return self.nodes, self.nodes


def apart(group: np.ndarray) -> np.ndarray:
    """Flags pairs of nodes of different groups, shape (n, n); `group`: group of each node."""
    return np.asarray(group[:, np.newaxis] != group)


def symmetric(values: Floats) -> Floats:
    """Copies the upper triangle of a matrix to the lower one; the diagonal is 0."""
    upper = np.triu(values, 1)
    return np.asarray(upper + upper.T)


def slow_node(times: Floats, node: int, factor: float) -> Floats:
    """Makes a node slower by a factor, in both directions."""
    changed = times.copy()
    changed[:, node] += np.log(factor)
    changed[:, :, node] += np.log(factor)
    return changed


def slow_link(times: Floats, a: int, b: int, factor: float, both: bool = True) -> Floats:
    """Makes a link slower by a factor, from a to b or in both directions."""
    changed = times.copy()
    changed[:, a, b] += np.log(factor)
    if both:
        changed[:, b, a] += np.log(factor)
    return changed


def shuffled(times: Floats, random: np.random.Generator) -> Floats:
    """Shuffles values over pairs; all values of a pair stay together."""
    upper = np.triu_indices(times.shape[1], 1)
    changed = np.full(times.shape, np.nan)
    changed[:, *upper] = times[:, *upper][:, random.permutation(len(upper[0]))]
    changed[:, upper[1], upper[0]] = changed[:, *upper]
    return changed
