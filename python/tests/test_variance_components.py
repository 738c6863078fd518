"""Variance between and within launches of simulated data, the split that follows, power, and estimates of a run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from downbeat.statistics.location import typical_interval
from downbeat.statistics.power import VerdictRule, detectable_ratio, launches_needed, power
from downbeat.statistics.sampling import Z, ratio_error, total_error, weighted_quantiles
from downbeat.statistics.two_samples import compare_paired
from downbeat.statistics.variance_components import (
    Split,
    VarianceComponents,
    optimal_repetitions,
    variance_components,
)
from downbeat.statistics.verdicts import Comparison
from numpy.typing import NDArray
from scipy import integrate, stats

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
        typical_interval(np.median(simulate_launches(random, launches, split.repetitions), axis=1)).width
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


def test_two_experiments_cannot_show_five_percent_with_ten_launches() -> None:
    # 5 % from launch to launch, so the ratio of one launch of each deviates by sqrt(2) as much. Level 0.05.
    deviation, rule = 0.05 * math.sqrt(2), VerdictRule(0.05)
    assert power(1.05, deviation, 10, False, rule) == pytest.approx(0.54, abs=0.01)
    # Nor could any test: were the deviation known, z would reach 1.96 with this probability.
    shift = math.log(1.05) / deviation * math.sqrt(10)
    assert 0.5 * math.erfc((1.96 - shift) / math.sqrt(2)) == pytest.approx(0.59, abs=0.01)
    needed = int(launches_needed(1.05, deviation, 1e4, False, rule)[0])  # the deviation is known
    assert needed == pytest.approx(24, abs=1)
    assert power(1.05, deviation, needed + 1, False, rule) >= 0.9 > power(1.05, deviation, needed - 2, False, rule)


@pytest.mark.parametrize(("launches", "paired"), [(5, True), (5, False), (10, True), (30, False)])
@pytest.mark.parametrize("level", [0.025, 0.025 / 40])
def test_power_is_what_its_definition_gives(launches: int, paired: bool, level: float) -> None:
    """A normal mean beyond the critical value times a deviation that is estimated: integrated over the latter."""
    freedom = launches - 1 if paired else 2 * launches - 3
    critical, deviation = stats.t.isf(level / 2, freedom), 0.05
    for ratio in (1.01, 1.05, 0.9, 1.3):
        shift = abs(math.log(ratio)) / deviation * math.sqrt(launches)

        def found(share: float, shift: float = shift) -> float:
            return float(stats.norm.sf(critical * math.sqrt(stats.chi2.ppf(share, freedom) / freedom) - shift))

        expected, _ = integrate.quad(found, 0, 1, limit=200)
        assert power(ratio, deviation, launches, paired, VerdictRule(level, margin=0.0)) == pytest.approx(
            expected, abs=0.006
        )


@pytest.mark.parametrize(("deviation", "launches", "hidden"), [(0.003, 9, 0.0), (0.01, 5, 0.004), (0.03, 10, 0.01)])
def test_what_is_called_detectable_is_found(deviation: float, launches: int, hidden: float) -> None:
    """By the verdicts of other launches, drawn: near the margin, where clocks hide a part, and where neither counts."""
    random = np.random.default_rng(11)

    def pairs(ratio: float) -> Comparison:
        b = np.exp(math.log(ratio) + random.normal(0, deviation, launches))
        return compare_paired(np.ones(launches), b, hidden=hidden)

    found = 0
    for _ in range(300):
        one = pairs(1.0)
        found += (
            pairs(float(detectable_ratio(one.error, one.freedom, VerdictRule(one.level, hidden=hidden))[0])).verdict
            == "slower"
        )
    assert 0.84 <= found / 300 <= 0.99


def test_a_verdict_takes_five_launches_and_more_where_clocks_hide() -> None:
    assert launches_needed(1.05, 0.001, 4, True, VerdictRule(0.025)) == 5
    assert launches_needed(1.05, 0.02, 9, True, VerdictRule(0.025, hidden=0.03)) > launches_needed(
        1.05, 0.02, 9, True, VerdictRule(0.025)
    )
    assert launches_needed(1.05, 0.02, 9, True, VerdictRule(0.025, hidden=0.05)) == 100_000


def test_ends() -> None:
    rule = VerdictRule(0.025)
    assert np.isnan(detectable_ratio(math.nan, math.nan, rule))
    assert detectable_ratio(0.0, 4, rule) == pytest.approx(1.02, abs=1e-5)
    assert detectable_ratio(70.0, 1, VerdictRule(1e-4)) == math.inf
    assert detectable_ratio(0.03, 4.9, rule) == detectable_ratio(0.03, 4, rule)
    assert launches_needed(1.05, 0.0, 4, True, rule) == 5
    assert launches_needed(1.0001, 1.0, 4, True, rule) == 100_000
    with pytest.raises(ValueError, match="a ratio of 1"):
        launches_needed(1.0, 0.05, 4, True, rule)


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
