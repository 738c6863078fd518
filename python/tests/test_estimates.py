"""Estimates from a sample of the calls, against all calls of programs drawn at random."""

from __future__ import annotations

import numpy as np
import pytest
from downbeat.trace.sites import Z, ratio_error, total_error, weighted_quantiles
from numpy.typing import NDArray

TRIALS = 150
LEVELS = np.array([0.5, 0.95, 0.99])


def waits_of(kind: str, count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Returns the waits of a program's calls."""
    if kind == "lognormal":
        some = random.random(count) < random.uniform(0.01, 1)
        return random.lognormal(random.uniform(-2, 3), random.uniform(0.1, 1.5), count) * some
    if kind == "heavy tail":
        return random.pareto(random.uniform(1.2, 3), count)
    if kind == "periodic":
        return np.where(np.arange(count) % random.choice([2, 4, 8, 64]) == 0, 100.0, 0.0)
    waits = random.lognormal(0, 0.5, count)
    waits[random.integers(0, count, int(random.integers(1, 5)))] += count * random.uniform(0.1, 3)
    return waits


@pytest.mark.parametrize("kind", ["lognormal", "heavy tail", "periodic", "rare and long"])
def test_the_truth_is_within_the_errors(kind: str) -> None:
    random = np.random.default_rng(5)
    inside = []
    for _ in range(TRIALS):
        count = int(np.exp(random.uniform(np.log(2000), np.log(100_000))))
        halvings = int(random.integers(1, max(2, int(np.log2(count / 100)))))
        wait = waits_of(kind, count, random)
        time = wait + random.lognormal(0, random.uniform(0.05, 1), count)
        kept = random.random(count) < 0.5**halvings
        weights = np.full(kept.sum(), 2.0**halvings)
        error = Z * ratio_error(wait[kept], time[kept], weights) * time.sum()
        error += total_error(time[kept], weights, float(time.sum()), count)
        found = wait[kept].sum() / time[kept].sum() * time.sum()
        quantiles, errors = weighted_quantiles(wait[kept], weights, LEVELS)
        truth = np.quantile(wait, LEVELS)
        inside.append([abs(found - wait.sum()) <= error, *(np.abs(quantiles - truth) <= errors + 1e-9)])
    assert np.mean(inside, axis=0).min() >= 0.9  # of intervals of 95 %


def test_all_calls_have_no_error() -> None:
    values, weights = np.arange(5.0), np.ones(5)
    assert ratio_error(values, values + 1, weights) == 0
    assert total_error(values, weights, 1e9, 5) == 0
    quantiles, errors = weighted_quantiles(values, weights, np.array([0.5, 1.0]))
    assert quantiles.tolist() == [2, 4]
    assert errors.tolist() == [0, 0]


def test_calls_count_by_their_weights() -> None:
    quantiles, _ = weighted_quantiles(np.array([1.0, 2.0]), np.array([1.0, 99.0]), np.array([0.1, 0.5]))
    assert quantiles == pytest.approx([1.2, 2.0], abs=0.1)


def test_long_calls_that_a_sample_lacks_are_noticed() -> None:
    weights, waits = np.full(100, 8.0), np.linspace(1, 2, 100)
    assert total_error(waits, weights, 1205.0, 800) == 0
    assert total_error(waits, weights, 1200.0 + 5000, 800) > 4900
