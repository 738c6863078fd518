"""Wilcoxon's tests against enumeration and against scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from downbeat.statistics.rank_tests import rank_sum, signed_rank, smallest_rank_sum, smallest_signed_rank
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats


@settings(deadline=None)  # machines are noisy
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
