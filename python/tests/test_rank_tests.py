"""Known numbers, enumeration and scipy: Wilcoxon's tests, distributions, means, Holm, simultaneous intervals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from downbeat.statistics.distributions import normal_cdf, normal_quantile, t_cdf, t_quantile
from downbeat.statistics.hodges_lehmann import rank_sum_cut, signed_rank_cut
from downbeat.statistics.holm import holm
from downbeat.statistics.location import shift_of_logs, typical_interval, typical_of_logs
from downbeat.statistics.median_interval import median_interval
from downbeat.statistics.rank_tests import (
    rank_sum,
    rank_sum_chances,
    signed_rank,
    smallest_rank_sum,
    smallest_signed_rank,
)
from downbeat.statistics.two_samples import compare_independent, compare_paired
from downbeat.statistics.verdicts import simultaneous_interval
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from tests.statistics import kinds, verdicts
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


def wilcoxon_p(values: np.ndarray, shift: float) -> float:
    return float(stats.wilcoxon(values - shift, method="exact").pvalue)


@pytest.mark.parametrize("count", [6, 7, 10, 23, 50])
def test_limits_of_pairs_are_what_the_signed_rank_test_does_not_reject(count: int) -> None:
    logs = kinds.in_turn(np.random.default_rng(count).standard_t(2, count))
    estimate, low, high = typical_of_logs(logs, 0.95)
    walsh = np.add.outer(logs, logs)[np.triu_indices(count)] / 2
    assert estimate == pytest.approx(np.median(walsh))
    step = 1e-9
    assert wilcoxon_p(logs, low + step) > 0.05 >= wilcoxon_p(logs, low - step)
    assert wilcoxon_p(logs, high - step) > 0.05 >= wilcoxon_p(logs, high + step)


@pytest.mark.parametrize(("first", "second"), [(4, 4), (5, 9), (12, 12), (30, 30)])
def test_limits_of_two_samples_are_what_the_rank_sum_test_does_not_reject(first: int, second: int) -> None:
    """But wider where Welch's interval is: as many launches here, which deviate alike and in turn."""
    random = np.random.default_rng(first)
    a, b = kinds.in_turn(random.normal(0, 1, first)), kinds.in_turn(random.normal(1, 1, second))
    cut = rank_sum_cut(first, second, 0.95)
    ordered = np.sort(np.subtract.outer(b, a).ravel())
    estimate, low, high = shift_of_logs(a, b, 0.95)
    assert estimate == pytest.approx(np.median(ordered))
    assert low <= ordered[cut - 1]
    assert high >= ordered[-cut]

    def p(shift: float) -> float:
        return float(stats.mannwhitneyu(b - shift, a, method="exact").pvalue)

    assert p(ordered[cut - 1] + 1e-9) > 0.05 >= p(ordered[cut - 1] - 1e-9)


def test_distributions_of_rank_statistics_are_those_of_enumeration() -> None:
    sums = [sum(chosen) - 10 for chosen in itertools.combinations(range(13), 5)]
    assert rank_sum_chances(5, tuple(range(1, 14)))[15:56] == pytest.approx(np.bincount(sums) / len(sums))
    assert [signed_rank_cut(count, 0.95) for count in (5, 6, 8, 10, 20)] == [0, 1, 4, 9, 53]  # Hollander and Wolfe
    assert (rank_sum_cut(3, 3, 0.95), rank_sum_cut(4, 4, 0.95), rank_sum_cut(10, 10, 0.95)) == (0, 1, 24)
    for exact, approximate in ((50, 51), (49, 52)):  # on either side of the border
        assert signed_rank_cut(exact, 0.95) < signed_rank_cut(approximate, 0.95)
    assert abs(signed_rank_cut(51, 0.95) - stats.norm.ppf(0.025, 51 * 52 / 4, (51 * 52 * 103 / 24) ** 0.5)) < 1.5


def test_many_launches_do_not_need_much_memory() -> None:
    random = np.random.default_rng(1)
    low, high = typical_of_logs(random.normal(0, 1, 3000), 0.95)[1:]
    assert -0.1 < low < 0 < high < 0.1


def test_below_six_launches_it_is_students_interval() -> None:
    """With 5 the whole range has a confidence of 0.9375: no rank interval of 0.95 exists."""
    found = typical_interval([1.0, 10.0, 100.0])
    assert found.estimate == pytest.approx(10.0)
    # logs 0, 1, 2 of base 10: standard error 1 / sqrt(3); Student's quantile of 2 degrees of freedom is 4.302653.
    assert found.high == pytest.approx(10 * 10 ** (4.302653 / math.sqrt(3)), rel=1e-6)
    assert found.low == pytest.approx(10 / 10 ** (4.302653 / math.sqrt(3)), rel=1e-6)
    assert found.count == 3
    assert found.width == pytest.approx((found.high - found.low) / 10)
    medians = np.exp(kinds.in_turn(np.random.default_rng(1).normal(size=5)))
    expected = stats.ttest_1samp(np.log(medians), 0).confidence_interval(0.95)
    student = typical_interval(medians)
    assert (student.low, student.high) == pytest.approx((np.exp(expected.low), np.exp(expected.high)))
    six = np.exp(kinds.in_turn(np.random.default_rng(2).normal(size=6)))
    assert (typical_interval(six).low, typical_interval(six).high) == pytest.approx((six.min(), six.max()))


def test_one_launch_has_no_interval() -> None:
    found = typical_interval([2.5e-6])
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
        ([], "at least one launch"),
        ([[1.0]], "one number per launch"),
    ],
)
def test_what_has_no_logarithm_is_named(medians: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        typical_interval(medians)


def test_the_typical_launch_is_known_of_skewed_launches_too() -> None:
    """A floor and a long tail, as of launches of real machines: the t interval of 7 holds their mean in 0.75."""
    random = np.random.default_rng(7)
    logs = 0.1 * random.pareto(1.5, (2000, 7))
    truth = kinds.pseudo_median(0.1 * ((1 - (np.arange(3000) + 0.5) / 3000) ** (-1 / 1.5) - 1))
    intervals = [typical_interval(np.exp(one)) for one in logs]
    held = np.mean([one.low <= math.exp(truth) <= one.high for one in intervals])
    assert 0.93 < held < 0.98


def test_a_confidence_in_percent_is_refused() -> None:
    for interval in (typical_interval, median_interval):
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
    with pytest.raises(ValueError, match="paired"):
        simultaneous_interval(compare_independent([1, 2], [2, 3]), 2)
