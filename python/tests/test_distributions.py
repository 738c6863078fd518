"""Distributions against scipy, over the whole range of what is asked."""

from __future__ import annotations

import math

import pytest
from downbeat.statistics.distributions import noncentral_t_above, normal_cdf, normal_quantile, t_cdf, t_quantile
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

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


@given(st.integers(1, 400), st.floats(1e-6, 0.2), st.floats(0, 30))
def test_noncentral_t(freedom: int, level: float, shift: float) -> None:
    critical = -t_quantile(freedom, level / 2)
    assert noncentral_t_above(critical, freedom, shift) == pytest.approx(
        stats.nct.sf(critical, freedom, shift), abs=1e-6
    )


def test_outside_of_their_domains() -> None:
    assert math.isnan(t_cdf(0, 1.0))
    assert math.isnan(t_quantile(math.nan, 0.9))
    assert t_quantile(5, 1) == math.inf
    assert t_quantile(math.inf, 0.975) == normal_quantile(0.975)
