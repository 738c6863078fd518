"""The power of launches: against simulation, and against the tables of the noncentral t distribution."""

from __future__ import annotations

import math

import pytest
from downbeat.statistics.power import detectable_ratio, freedom_of, launches_needed, power
from scipy import integrate, stats


def test_two_experiments_cannot_show_five_percent_with_ten_launches() -> None:
    # 5 % from launch to launch, so the ratio of one launch of each deviates by sqrt(2) as much. Level 0.05.
    deviation = 0.05 * math.sqrt(2)
    assert power(1.05, deviation, 10, False, 0.05) == pytest.approx(0.54, abs=0.01)
    # Nor could any test: were the deviation known, z would reach 1.96 with this probability.
    shift = math.log(1.05) / deviation * math.sqrt(10)
    assert 0.5 * math.erfc((1.96 - shift) / math.sqrt(2)) == pytest.approx(0.59, abs=0.01)
    needed = launches_needed(1.05, deviation, False, 0.05)
    assert needed == 24
    assert power(1.05, deviation, needed, False, 0.05) >= 0.9 > power(1.05, deviation, needed - 1, False, 0.05)


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
        assert power(ratio, deviation, launches, paired, level) == pytest.approx(expected, abs=1e-5)


def test_few_launches_miss_even_large_differences() -> None:
    # With one degree of freedom |t| falls short of 25.45 where |z| is above shift / 25.45 = 2.61: 0.9 % of all cases.
    assert power(math.exp(66.5 / math.sqrt(2)), 1.0, 2, True, 0.025) == pytest.approx(0.9910, abs=1e-4)
    # And of 50,930, the level of one of 2,000 cells, where |z| is above 2 or 4, or 1e-9.
    critical = float(stats.t.isf(0.025 / 4000, 1))
    for multiple, share in ((2, 0.9545), (4, 0.99994), (1e-9, 6.25e-6)):
        deviation = math.log(1.05) * math.sqrt(2) / (multiple * critical)
        assert power(1.05, deviation, 2, True, 0.025 / 2000) == pytest.approx(share, rel=1e-4)
    assert launches_needed(1.05, math.log(1.05) * math.sqrt(2) / (1.1 * critical), True, 0.025 / 2000) == 3
    assert power(1.05, 1e-300, 2, True, 0.025 / 2000) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("paired", [True, False])
def test_detectable_is_found_with_the_probability_wanted(paired: bool) -> None:
    ratio = detectable_ratio(0.07 / math.sqrt(12), freedom_of(12, paired), 0.025)
    assert power(ratio, 0.07, 12, paired, 0.025) == pytest.approx(0.9)
    assert power(1 / ratio, 0.07, 12, paired, 0.025) == pytest.approx(0.9)
    assert launches_needed(ratio * 1.0001, 0.07, paired, 0.025) == 12


def test_ends() -> None:
    assert math.isnan(detectable_ratio(math.nan, math.nan, 0.025))
    assert detectable_ratio(0.0, 4, 0.025) == 1
    assert detectable_ratio(70.0, 1, 1e-4) == math.inf
    assert detectable_ratio(0.03, 4.9, 0.025) == detectable_ratio(0.03, 4, 0.025)
    assert launches_needed(1.05, 0.0, True, 0.025) == 2
    assert launches_needed(1.0001, 1.0, True, 0.025) == 100_000
    assert power(1.0, 0.05, 10, True, 0.05) == pytest.approx(0.05, abs=0.026)  # one of both sides is counted
    with pytest.raises(ValueError, match="a ratio of 1"):
        launches_needed(1.0, 0.05, True, 0.025)
