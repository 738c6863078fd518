"""Intervals of what was picked from many: held against known truth."""

from __future__ import annotations

import numpy as np
import pytest
from downbeat.statistics.two_samples import compare_independent, compare_paired
from downbeat.statistics.verdicts import simultaneous_interval

from tests.statistics import verdicts


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
