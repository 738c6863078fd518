"""Variance between and within launches of simulated data, and the split that follows from it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from downbeat.statistics.location import geometric_mean_interval
from downbeat.statistics.variance_components import (
    Split,
    VarianceComponents,
    optimal_repetitions,
    variance_components,
)

from tests.statistics.simulated import Deviations, simulate_launches


def test_finds_what_was_simulated() -> None:
    random = np.random.default_rng(3)
    found = variance_components(list(simulate_launches(random, 400, 200)))
    assert math.sqrt(found.between) == pytest.approx(0.05, rel=0.15)
    # The true variance of medians of launches without launch deviation.
    alike = np.median(simulate_launches(random, 4000, 200, deviations=Deviations(launch=0)), axis=1)
    true_within = float(np.log(alike).var()) * 200
    # Ranks overstate the autocorrelation that counts for a median, so within is a little large, never small.
    assert true_within < found.within < 1.6 * true_within


def test_outliers_do_not_hide_autocorrelation() -> None:
    random = np.random.default_rng(4)
    kept, without = (
        variance_components(list(simulate_launches(random, 200, 400, deviations=Deviations(outlier_share=share))))
        for share in (0.02, 0.0)
    )
    assert kept.within == pytest.approx(without.within, rel=0.2)


def test_scale_does_not_matter() -> None:
    samples = simulate_launches(np.random.default_rng(5), 10, 100)
    microseconds = variance_components(list(samples * 1e-6))
    assert microseconds.between == pytest.approx(variance_components(list(samples)).between)


@pytest.mark.parametrize(
    ("launch_cost", "repetitions"),
    [(1.0, 100), (4.0, 200), (2.0, 142), (1e-9, 50), (1e9, 10_000)],  # no fewer than it takes
)
def test_split_follows_kalibera_and_jones(
    monkeypatch: pytest.MonkeyPatch, launch_cost: float, repetitions: int
) -> None:
    # sqrt(cost ratio * within / between) = sqrt(1e4 * 1 / 1) at 1 s per launch and 0.1 ms per sample
    monkeypatch.setattr(
        "downbeat.statistics.variance_components.variance_components", lambda _: VarianceComponents(1.0, 1.0)
    )
    assert optimal_repetitions([], launch_cost, 1e-4).repetitions == repetitions


def test_split_is_the_cheapest() -> None:
    samples = list(simulate_launches(np.random.default_rng(6), 30, 200))
    launch_cost, sample_cost = 0.5, 1e-4
    chosen = optimal_repetitions(samples, launch_cost, sample_cost)

    def variance_times_cost(repetitions: int) -> float:
        return chosen.components.of_median(repetitions) * (launch_cost + repetitions * sample_cost)

    assert 50 < chosen.repetitions < 10_000
    for other in (chosen.repetitions // 2, chosen.repetitions * 2):
        assert variance_times_cost(chosen.repetitions) < variance_times_cost(other)


def test_launches_that_do_not_differ_are_used_for_long() -> None:
    alike = [np.random.default_rng(seed).lognormal(0, 0.1, 100) for seed in (1, 1, 1)]
    found = optimal_repetitions(alike, 1.0, 1e-4, most=700)
    assert found.components.between == 0
    assert found.repetitions == 700
    constant = optimal_repetitions([np.full(50, 2.0)] * 3, 1.0, 1e-4)
    assert (constant.repetitions, constant.launches_for(0.001)) == (50, 5)


def test_as_many_launches_as_the_width_needs() -> None:
    split = Split(100, VarianceComponents(0.05**2, 0.0))
    # t(0.975, n - 1) * 0.05 / sqrt(n): 18 launches give 0.02486, 17 give 0.02571; asinh(0.05 / 2) = 0.02500 is asked.
    assert split.launches_for(0.05) == 18
    assert split.launches_for(10.0) == 5
    assert split.launches_for(1e-9) == 100_000


def test_launches_keep_the_promise() -> None:
    random = np.random.default_rng(7)
    first = list(simulate_launches(random, 100, 100))
    split = optimal_repetitions(first, 1.0, 1e-3)
    launches = split.launches_for(0.06)
    widths = [
        geometric_mean_interval(np.median(simulate_launches(random, launches, split.repetitions), axis=1)).width
        for _ in range(200)
    ]
    assert np.median(widths) == pytest.approx(0.06, rel=0.12)


@pytest.mark.parametrize(
    ("launches", "costs", "message"),
    [
        ([[1.0, 2.0]], (1, 1), "1 launch;"),
        ([[1.0], []], (1, 1), "without samples"),
        ([[1.0], [0.0]], (1, 1), "not above 0"),
        ([[1.0], [2.0]], (0, 1), "costs of 0 s"),
        ([[1.0], [2.0]], (1, -1), "and -1 s"),
    ],
)
def test_what_makes_no_sense_is_named(launches: list[list[float]], costs: tuple[float, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        optimal_repetitions(launches, *costs)


def test_width_must_be_positive() -> None:
    with pytest.raises(ValueError, match="a width of 0"):
        Split(100, VarianceComponents(1.0, 1.0)).launches_for(0.0)
