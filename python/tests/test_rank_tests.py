"""Wilcoxon's tests against enumeration and against scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from downbeat.statistics.rank_tests import rank_sum, signed_rank, smallest_rank_sum, smallest_signed_rank
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats


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
