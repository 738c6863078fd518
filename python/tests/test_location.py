"""The geometric mean of launches, and what its interval is worth on data like ours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from downbeat.statistics.location import geometric_mean_interval
from downbeat.statistics.median_interval import median_interval
from scipy import stats

from tests.statistics.intervals import PROMISED, coverages


def test_known_numbers() -> None:
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


def test_a_confidence_in_percent_is_refused() -> None:
    for interval in (geometric_mean_interval, median_interval):
        with pytest.raises(ValueError, match="a confidence of 95;"):
            interval([1.0, 2.0], confidence=95)


def test_covers_the_truth_where_pooling_does_not() -> None:
    covered = coverages(np.random.default_rng(20), 10, 2000)
    assert 0.93 < covered[PROMISED] < 0.97  # four standard errors about 0.95
    assert covered["all samples pooled"] < 0.65
    assert covered["one launch"] < 0.45
