"""Known numbers, enumeration and scipy: Wilcoxon's tests, distributions, means, Holm, simultaneous intervals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from downbeat.statistics.distributions import normal_cdf, normal_quantile, t_cdf, t_quantile
from downbeat.statistics.holm import holm
from downbeat.statistics.location import geometric_mean_interval, typical_launch_interval
from downbeat.statistics.median_interval import median_interval
from downbeat.statistics.rank_tests import rank_sum, signed_rank, smallest_rank_sum, smallest_signed_rank
from downbeat.statistics.two_samples import compare_independent, compare_paired
from downbeat.statistics.verdicts import simultaneous_interval
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from tests.statistics import verdicts
from tests.statistics.intervals import PROMISED, coverages


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=8))
def test_signed_rank_is_exact_also_with_ties(differences: list[int]) -> None:
    values = np.array([one for one in differences if one != 0])
    ranks = stats.rankdata(np.abs(values))
    sums = [float(np.dot(signs, ranks)) for signs in itertools.product([0, 1], repeat=values.size)]
    seen = float(ranks[values > 0].sum())
    lower = np.mean([one <= seen for one in sums])
    upper = np.mean([one >= seen for one in sums])
    assert signed_rank(differences) == pytest.approx(min(1.0, 2 * min(lower, upper)))


@pytest.mark.parametrize("pairs", [5, 10, 30, 50, 101, 400])
def test_signed_rank_without_ties_is_that_of_scipy(pairs: int) -> None:
    values = np.random.default_rng(pairs).normal(0.1, 1, pairs)
    assert signed_rank(values) == pytest.approx(float(stats.wilcoxon(values).pvalue))


VALUES = st.lists(st.integers(-2, 3), min_size=1, max_size=6)


@given(VALUES, VALUES)
def test_rank_sum_is_exact_also_with_ties(a: list[int], b: list[int]) -> None:
    ranks = stats.rankdata([*a, *b])
    sums = np.array([ranks[list(chosen)].sum() for chosen in itertools.combinations(range(ranks.size), len(a))])
    seen = ranks[: len(a)].sum()
    expected = min(1.0, 2 * min(float(np.mean(sums <= seen)), float(np.mean(sums >= seen))))
    assert rank_sum(a, b) == pytest.approx(expected)
    assert rank_sum(b, a) == pytest.approx(expected)


@pytest.mark.parametrize("digits", [1, 0])
def test_rank_sum_of_many_with_ties_is_that_of_scipy(digits: int) -> None:
    random = np.random.default_rng(digits)
    a, b = random.normal(0, 1, 40).round(digits), random.normal(0.4, 1, 60).round(digits)
    assert rank_sum(a, b) == pytest.approx(float(stats.mannwhitneyu(a, b, method="asymptotic").pvalue), rel=1e-9)


@pytest.mark.parametrize(("first", "second"), [(5, 5), (5, 8), (10, 10), (7, 50), (30, 30), (31, 30), (200, 100)])
def test_rank_sum_without_ties_is_that_of_scipy(first: int, second: int) -> None:
    random = np.random.default_rng(first)
    a, b = random.normal(0, 1, first), random.normal(0.5, 1, second)
    exact, approximate = (stats.mannwhitneyu(a, b, method=method).pvalue for method in ("exact", "asymptotic"))
    assert rank_sum(a, b) == pytest.approx(float(exact if first + second <= 60 else approximate))


def test_ties_among_few_launches_make_no_difference() -> None:
    # There are 462 choices of 5 of these 11 values; 21 are as uneven to this side. The approximation says 0.038.
    assert rank_sum([1, 1, 1, 1, 1], [1, 2, 2, 2, 1, 2]) == pytest.approx(2 * 21 / 462)


def test_rounding_makes_no_rank() -> None:
    assert signed_rank([0.1, 0.2, -1e-16, 0.3]) == signed_rank([0.1, 0.2, 0.3])
    assert signed_rank([0.1, -0.1 - 1e-16, 0.3]) == signed_rank([0.1, -0.1, 0.3])


def test_nothing_differs() -> None:
    assert signed_rank([0.0, 0.0]) == 1.0
    assert signed_rank([]) == 1.0
    assert rank_sum([2.0, 2.0], [2.0]) == 1.0


@pytest.mark.parametrize(("a", "b"), [([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]), ([1, 2], [3, 4, 5]), ([1], [2])])
def test_smallest_values_are_those_of_complete_separation(a: list[float], b: list[float]) -> None:
    assert rank_sum(a, b) == pytest.approx(smallest_rank_sum(len(a), len(b)))
    assert signed_rank(a) == pytest.approx(smallest_signed_rank(len(a)))


FREEDOM = st.one_of(st.integers(1, 300).map(float), st.floats(0.5, 1e5))
PROBABILITY = st.one_of(st.floats(1e-12, 0.5), st.floats(0.5, 1 - 1e-12))


@given(FREEDOM, st.floats(-1e3, 1e3))
def test_t(freedom: float, t: float) -> None:
    assert t_cdf(freedom, t) == pytest.approx(special.stdtr(freedom, t), rel=1e-8, abs=1e-200)


@given(FREEDOM, PROBABILITY)
def test_quantiles_of_t(freedom: float, probability: float) -> None:
    assert t_quantile(freedom, probability) == pytest.approx(special.stdtrit(freedom, probability), rel=1e-7, abs=1e-9)


@given(st.floats(-30, 30), PROBABILITY)
def test_normal(z: float, probability: float) -> None:
    assert normal_cdf(z) == pytest.approx(special.ndtr(z), rel=1e-10)
    assert normal_quantile(probability) == pytest.approx(special.ndtri(probability), rel=1e-9, abs=1e-12)


def test_outside_of_their_domains() -> None:
    assert math.isnan(t_cdf(0, 1.0))
    assert math.isnan(t_quantile(math.nan, 0.9))
    assert t_quantile(5, 1) == math.inf
    assert t_quantile(math.inf, 0.975) == normal_quantile(0.975)


def test_interval_of_known_numbers() -> None:
    found = geometric_mean_interval([1.0, 10.0, 100.0])
    assert found.estimate == pytest.approx(10.0)
    # logs 0, 1, 2 of base 10: standard error 1 / sqrt(3); Student's quantile of 2 degrees of freedom is 4.302653.
    assert found.high == pytest.approx(10 * 10 ** (4.302653 / math.sqrt(3)), rel=1e-6)
    assert found.low == pytest.approx(10 / 10 ** (4.302653 / math.sqrt(3)), rel=1e-6)
    assert found.count == 3
    assert found.width == pytest.approx((found.high - found.low) / 10)


def test_agrees_with_scipy() -> None:
    medians = np.random.default_rng(1).lognormal(size=8)
    expected = stats.ttest_1samp(np.log(medians), 0).confidence_interval(0.9)
    found = geometric_mean_interval(medians, 0.9)
    assert (found.low, found.high) == pytest.approx((np.exp(expected.low), np.exp(expected.high)))


def test_one_launch_has_no_interval() -> None:
    found = geometric_mean_interval([2.5e-6])
    assert found.estimate == pytest.approx(2.5e-6)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize(
    ("medians", "message"),
    [
        ([1.0, 0.0], "a median of 0 "),
        ([1.0, -2.0], "a median of -2 "),
        ([math.nan], "a median of nan "),
        ([math.inf], "a median of inf "),
        ([], "one launch at least"),
        ([[1.0]], "one number per launch"),
    ],
)
def test_what_has_no_logarithm_is_named(medians: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        geometric_mean_interval(medians)


@pytest.mark.parametrize("count", [1, 5, 6, 8, 9, 20, 41, 1200])
def test_the_typical_launch_is_between_the_innermost_launches_that_suffice(count: int) -> None:
    """The number of launches below the median is binomial: as many are cut off at either end as leave 95 %."""
    launches = np.random.default_rng(count).permutation(count) + 1.0
    found = typical_launch_interval(launches, hidden=0.25)
    assert (found.estimate, found.count) == ((count + 1) / 2, count)
    cut = int(stats.binom(count, 0.5).ppf(0.025))  # the smallest number that leaves more than 2.5 % at or below
    if count < 6:
        assert math.isnan(found.low)
        assert math.isnan(found.high)
    else:
        assert (found.low, found.high) == (cut - 0.25, count + 1 - cut + 0.25)


def test_the_typical_launch_is_known_of_skewed_launches_too() -> None:
    """A floor and a long tail, as of launches of real machines: the t interval of 7 holds their mean in 0.75."""
    random = np.random.default_rng(7)
    launches = np.exp(0.1 * random.pareto(1.5, (2000, 7)))
    median = math.exp(0.1 * (0.5 ** (-1 / 1.5) - 1))
    mean = math.exp(0.1 / (1.5 - 1))
    typical, means = (list(map(one, launches)) for one in (typical_launch_interval, geometric_mean_interval))
    assert np.mean([one.low <= median <= one.high for one in typical]) > 0.97  # 0.984
    assert np.mean([one.low <= mean <= one.high for one in means]) < 0.85


def test_a_confidence_in_percent_is_refused() -> None:
    for interval in (geometric_mean_interval, median_interval, typical_launch_interval):
        with pytest.raises(ValueError, match="a confidence of 95;"):
            interval([1.0, 2.0], confidence=95)


def test_covers_the_truth_where_pooling_does_not() -> None:
    covered = coverages(np.random.default_rng(20), 10, 2000)
    assert 0.93 < covered[PROMISED] < 0.97  # four standard errors about 0.95
    assert covered["all samples pooled"] < 0.65
    assert covered["one launch"] < 0.45


def reference(p_values: list[float]) -> list[float]:
    """By the definition: of each the largest multiple of those that are not larger (ties stand for each other)."""
    count = len(p_values)
    ordered = sorted(p_values)
    return [
        min(1.0, max((count - i) * ordered[i] for i in range(count) if ordered[i] <= p or math.isclose(p, ordered[i])))
        for p in p_values
    ]


def test_holm_of_known_p_values() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])  # as R's p.adjust


def test_nan_does_not_count() -> None:
    found = holm([0.02, math.nan, 0.01])
    assert found[[0, 2]] == pytest.approx([0.02, 0.02])
    assert math.isnan(found[1])


@given(st.lists(st.integers(0, 1000).map(lambda n: n / 1000), min_size=1, max_size=20))
def test_equals_reference(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(reference(p_values))
    assert np.all(holm(p_values) >= p_values)


def test_no_cells_no_values() -> None:
    assert holm([]).shape == (0,)


def test_a_value_outside_is_named() -> None:
    with pytest.raises(ValueError, match=r"1\.5"):
        holm([0.2, 1.5])


def test_the_most_extreme_of_many_equal_cells_is_held_by_its_interval() -> None:
    """Alone the interval of the most extreme misses the truth in every second experiment: it was picked for that."""
    found = verdicts.simulate_extremes(300)
    assert all(promise.met for promise in found.promises)
    assert {cells: float(alone) for cells, alone, _ in found.tables[0].rows}[20] < 0.6


def test_of_one_it_is_the_interval_alone() -> None:
    comparison = compare_paired([1, 2, 3, 4], [1.1, 2.3, 3.1, 4.6])
    interval = simultaneous_interval(comparison, 1)
    assert (interval.low, interval.high) == pytest.approx((comparison.ratio.low, comparison.ratio.high))
    assert interval.estimate == pytest.approx(comparison.ratio.estimate)


def test_one_pair_has_no_interval() -> None:
    assert np.isnan(simultaneous_interval(compare_paired([1], [2]), 3).low)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="a family of 0 comparisons"):
        simultaneous_interval(compare_paired([1, 2], [2, 3]), 0)
    with pytest.raises(ValueError, match="intervals are of pairs"):
        simultaneous_interval(compare_independent([1, 2], [2, 3]), 2)
