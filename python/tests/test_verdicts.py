"""Verdicts on launches whose truth is known: which is given when, and how often a wrong one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
from downbeat.statistics.two_samples import compare_independent, compare_paired
from downbeat.statistics.verdicts import (
    DRIFTS,
    FEW_ALIKE,
    MIN_ALIKE,
    ROUNDING,
    Comparison,
    judge,
    judge_together,
    significance,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from tests.statistics import kinds
from tests.statistics.verdicts import family_errors, verdicts

Compare = Callable[..., Comparison]
BOTH = pytest.mark.parametrize("compare", [compare_paired, compare_independent])
LAUNCHES = 10
OPPOSITE = {"faster": "slower", "slower": "faster", "equivalent": "equivalent", "undecided": "undecided"}

# Medians of launches, some microseconds; differences from nothing to a multiple.
MEDIANS = st.lists(
    st.tuples(st.integers(900, 1100), st.integers(900, 1400)).map(lambda pair: (pair[0] / 100, pair[1] / 100)),
    min_size=2,
    max_size=14,
)


def test_paired_is_students_test_of_log_ratios() -> None:
    random = np.random.default_rng(1)
    a, ratios = random.lognormal(0, 0.1, 9), np.exp(kinds.in_turn(random.normal(0.05, 0.1, 9)))
    found, expected = compare_paired(a, a * ratios), stats.ttest_1samp(np.log(ratios), 0)
    assert found.p_value == pytest.approx(expected.pvalue)
    walsh = np.add.outer(np.log(ratios), np.log(ratios))[np.triu_indices(9)] / 2
    assert found.ratio.estimate == pytest.approx(np.exp(np.median(walsh)))
    assert found.mean == pytest.approx(np.log(ratios).mean())
    assert found.rank_p_value == pytest.approx(stats.wilcoxon(np.log(ratios)).pvalue)


def test_independent_is_welchs_test_of_logs() -> None:
    random = np.random.default_rng(2)
    a, b = np.exp(kinds.in_turn(random.normal(0, 0.1, 9))), np.exp(kinds.in_turn(random.normal(0.05, 0.02, 14)))
    found, expected = compare_independent(a, b), stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.ratio.estimate == pytest.approx(np.exp(np.median(np.subtract.outer(np.log(b), np.log(a)))))
    assert found.rank_p_value == pytest.approx(stats.mannwhitneyu(a, b, method="exact").pvalue)
    assert (found.launches, found.ratio.count) == ((9, 14), 9)
    assert found.deviation == pytest.approx(math.hypot(np.log(a).std(ddof=1), np.log(b).std(ddof=1)))
    assert found.error == pytest.approx(found.mean / expected.statistic)
    assert found.freedom == pytest.approx(expected.df)


@pytest.mark.parametrize("launches", [5, 10, 20, 40])
@pytest.mark.parametrize("times", [0.001, 15, 2000])
@pytest.mark.parametrize("others", [0, 11, 1000])
def test_a_drift_does_not_hide_a_difference_far_beyond_it(launches: int, times: float, others: int) -> None:
    """12 % drift, in a line or a step, alone, among as many cells like it, among as many that are equal."""
    random = np.random.default_rng(launches)
    a = random.lognormal(0, 0.02, launches)
    for drift in (np.linspace(1, 1.12, launches), np.where(np.arange(launches) < launches // 2, 1, 1.12)):
        found = [compare_paired(a, a * times * drift), compare_independent(a, a * times * drift)]
        equal = compare_paired(a, a * random.lognormal(0, 0.01, launches))
        for one in found:
            wanted = "slower" if times > 1 else "faster"
            few = launches == 5 and others == 1000 and not one.paired  # by ranks 5 launches show no more than 0.008
            for family in ([one] * (others + 1), [one] + [equal] * others):
                assert judge_together(family)[0].verdict == wanted or few
            assert "drift during the run" in judge(one).reason or launches == 5


def test_a_difference_within_the_drift_is_not_decided() -> None:
    rise = np.exp(np.linspace(-0.05, 0.25, 10))
    found = compare_paired(np.ones(10), rise)
    assert (found.verdict, found.reason) == ("undecided", DRIFTS)
    assert found.free_p_value < 0.025 < found.p_value


@BOTH
def test_what_clocks_hide_is_a_share_of_a(compare: Compare) -> None:
    """Differences may be off by it, so that a ratio of means is by that over the mean of a, on either side."""
    a, b = np.array([90.0, 100.0, 110.0, 95.0, 105.0]), np.array([200.0, 210.0, 190.0, 205.0, 195.0])
    plain, widened = compare(a, b), compare(a, b, hidden=3.0)
    share = 3.0 / stats.gmean(a)
    assert widened.hidden == pytest.approx(share)
    assert widened.ratio.estimate == plain.ratio.estimate
    assert (widened.ratio.low, widened.ratio.high) == pytest.approx((plain.ratio.low - share, plain.ratio.high + share))


def test_a_p_value_at_the_level_is_significant() -> None:
    """As an interval that ends at 1 is: both tests reject at their level."""
    level = significance(0.95)
    found = compare_paired([1.0, 1.01, 1.02, 1.0, 1.01, 1.02], [1.5, 1.52, 1.54, 1.5, 1.53, 1.51])
    at = dataclasses.replace(found, p_value=level, adjusted_p_value=level, rank_p_value=found.rank_level)
    assert judge(at).verdict == "slower"
    above = dataclasses.replace(at, adjusted_p_value=math.nextafter(level, 1))
    assert (judge(above).verdict, "among so many" in judge(above).reason) == ("undecided", True)
    alone = dataclasses.replace(above, p_value=math.nextafter(level, 1))
    assert (judge(alone).verdict, "among so many" in judge(alone).reason) == ("undecided", False)


@pytest.mark.parametrize("end", ["low", "high"])
def test_an_interval_that_ends_at_the_margin_is_within_it(end: str) -> None:
    found = compare_paired(np.linspace(1, 1.1, 10), np.linspace(1, 1.1, 10), margin=0.02)
    most = 1.02 * (1 + ROUNDING)
    at = most if end == "high" else 1 / most
    beyond = math.nextafter(at, 9 if end == "high" else 0)
    for limit, expected in ((at, "equivalent"), (beyond, "undecided")):
        low, high = (found.ratio.low, limit) if end == "high" else (limit, found.ratio.high)
        ratio = dataclasses.replace(found.ratio, low=low, high=high)
        assert judge(dataclasses.replace(found, ratio=ratio)).verdict == expected


@BOTH
def test_compared_with_itself_it_is_equivalent(compare: Compare) -> None:
    found = compare([2.5e-6] * MIN_ALIKE, [2.5e-6] * MIN_ALIKE)
    assert (found.verdict, found.p_value, found.rank_p_value) == ("equivalent", 1.0, 1.0)
    assert (found.ratio.low, found.ratio.estimate, found.ratio.high) == pytest.approx((1.0, 1.0, 1.0), abs=1e-12)


def test_pairs_of_the_same_numbers_are_equivalent() -> None:
    medians = np.random.default_rng(3).lognormal(0, 0.3, MIN_ALIKE)
    assert compare_paired(medians, medians).verdict == "equivalent"


@BOTH
@pytest.mark.parametrize(("factor", "verdict"), [(0.9, "faster"), (1.1, "slower")])
def test_differences_without_any_scatter(compare: Compare, factor: float, verdict: str) -> None:
    assert compare(np.full(5, 3.0), np.full(5, 3.0 * factor)).verdict == verdict


@BOTH
def test_nothing_is_said_of_few_launches(compare: Compare) -> None:
    for launches in range(1, 5):
        for factor in (1.0, 10.0):
            found = compare(np.full(launches, 1.0), np.full(launches, factor))
            assert found.verdict == "undecided"
            assert f"launches: {launches}, 5 are needed" in found.reason
    assert compare_independent(np.full(5, 1.0), np.full(4, 9.0)).verdict == "undecided"


@BOTH
def test_equivalence_takes_more_launches_than_a_difference(compare: Compare) -> None:
    """A second mode of B, in 15 % of launches, is in none of five launches with a probability of 0.44."""
    for launches in (5, MIN_ALIKE - 1):
        found = compare(np.full(launches, 3.0), np.full(launches, 3.0))
        assert (found.verdict, found.reason) == ("undecided", FEW_ALIKE)
    assert compare(np.full(MIN_ALIKE, 3.0), np.full(MIN_ALIKE, 3.0)).verdict == "equivalent"


def test_five_pairs_must_all_agree() -> None:
    a = np.full(5, 10.0)
    agree = compare_paired(a, [11.0, 11.1, 11.2, 11.3, 11.4])
    assert (agree.rank_p_value, agree.rank_level, agree.verdict) == (0.0625, 0.0625, "slower")
    one_against = compare_paired(a, [11.0, 11.1, 11.2, 11.3, 9.95])
    assert one_against.verdict == "undecided"


def test_ranks_guard_the_t_test() -> None:
    a, b = np.ones(6), np.array([1.1, 1.11, 1.12, 1.13, 1.14, 0.999])
    found = compare_paired(a, b)
    assert found.p_value < 0.025
    assert found.rank_p_value > found.rank_level
    assert found.verdict == "undecided"
    assert found.reason == "the rank test does not confirm the difference"


def test_a_significant_difference_within_the_margin_is_equivalent() -> None:
    a = np.ones(10)
    b = np.exp(0.01 + 0.001 * np.resize([1, -1], 10))
    found = compare_paired(a, b)
    assert found.p_value < 1e-6
    assert found.verdict == "equivalent"
    assert compare_paired(a, b, margin=0.005).verdict == "slower"


@given(MEDIANS, st.sampled_from([0.01, 0.02, 0.1]), st.sampled_from([0.9, 0.95]))
def test_equivalence_is_two_one_sided_tests(
    medians: list[tuple[float, float]], margin: float, confidence: float
) -> None:
    """Both that the ratio is too small and that it is too large are rejected (Schuirmann 1987), by rank tests.

    An interval that is wider, since launches resemble each other or one side deviates more, says so less often.
    """
    a, b = np.transpose(medians)
    logs, edge, level = np.log(b / a), math.log1p(margin), (1 - confidence) / 2
    assume(np.unique(np.abs(np.concatenate([logs - edge, logs + edge]))).size == 2 * logs.size)  # ties are not exact
    paired = [
        stats.wilcoxon(logs + edge, alternative="greater", method="exact").pvalue,
        stats.wilcoxon(logs - edge, alternative="less", method="exact").pvalue,
    ]
    found = compare_paired(a, b, margin, confidence)
    alike = len(medians) >= MIN_ALIKE and max(paired) <= level
    if math.isclose(found.freedom, logs.size - 1):
        assert (found.verdict == "equivalent") == alike
    assert found.verdict != "equivalent" or alike


def test_holm_takes_verdicts_back() -> None:
    a = np.exp(np.linspace(-0.05, 0.05, 8))
    b = a * np.exp([0.001, 0.07, 0.003, 0.04, 0.02, 0.06, 0.002, 0.08])
    one = compare_paired(a, b)
    assert 0.0125 < one.p_value < 0.025
    assert one.verdict == "slower"
    assert judge_together([one])[0].verdict == "slower"
    both = judge_together([one, one])
    assert [each.verdict for each in both] == ["undecided", "undecided"]
    assert both[0].adjusted_p_value == pytest.approx(2 * one.p_value)
    # A comparison with too few launches is not a test, and costs the others nothing.
    few = compare_paired(a[:3], b[:3])
    assert judge_together([few, one])[1].verdict == "slower"


@BOTH
@given(MEDIANS)
def test_swapping_inverts(compare: Compare, medians: list[tuple[float, float]]) -> None:
    a, b = np.transpose(medians)
    one, other = compare(a, b), compare(b, a)
    assert other.verdict == OPPOSITE[one.verdict]
    assert other.ratio.estimate == pytest.approx(1 / one.ratio.estimate)
    assert other.ratio.low == pytest.approx(1 / one.ratio.high)
    assert other.p_value == pytest.approx(one.p_value)
    assert other.rank_p_value == pytest.approx(one.rank_p_value)


@BOTH
@given(MEDIANS, st.sampled_from([1e-9, 1e-6, 1024.0]))
def test_units_do_not_matter(compare: Compare, medians: list[tuple[float, float]], unit: float) -> None:
    a, b = np.transpose(medians)
    one, other = compare(a, b), compare(a * unit, b * unit)
    assert other.verdict == one.verdict
    assert other.ratio.estimate == pytest.approx(one.ratio.estimate)
    assert other.p_value == pytest.approx(one.p_value, abs=1e-9)


@BOTH
@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1.0, 1024.0])
@pytest.mark.parametrize("percent", [1, 2, 5, 10])
@pytest.mark.parametrize("launches", [10, 15])
def test_what_is_at_the_margin_is_equivalent(compare: Compare, unit: float, percent: int, launches: int) -> None:
    """As by a coarse clock, in whatever unit."""
    a, b = np.full(launches, 10.0) * unit, np.full(launches, (100 + percent) / 10) * unit
    assert compare(a, b, margin=percent / 100).verdict == "equivalent"
    assert compare(b, a, margin=percent / 100).verdict == "equivalent"
    assert compare(a, b * (1 + 1e-9), margin=percent / 100).verdict == "slower"


@BOTH
@given(MEDIANS, st.integers(0, 10), st.integers(0, 10))
def test_a_wider_margin_only_makes_equivalent(
    compare: Compare, medians: list[tuple[float, float]], first: int, second: int
) -> None:
    a, b = np.transpose(medians)
    narrow, wide = (compare(a, b, margin=percent / 100).verdict for percent in sorted((first, second)))
    assert wide in (narrow, "equivalent")
    assert narrow != "equivalent" or wide == "equivalent"


@BOTH
def test_bad_values_are_named(compare: Compare) -> None:
    with pytest.raises(ValueError, match="a median of -1 "):
        compare([1.0, 2.0], [1.0, -1.0])
    with pytest.raises(ValueError, match=r"a margin of -0\.1"):
        compare([1.0, 2.0], [1.0, 1.0], margin=-0.1)
    with pytest.raises(ValueError, match="a confidence of 95"):
        compare([1.0, 2.0], [1.0, 1.0], confidence=95)


def test_pairs_have_as_many_on_either_side() -> None:
    with pytest.raises(ValueError, match="2 launches and 3"):
        compare_paired([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("design", "ratio", "own", "experiments", "limits"),
    [
        # About 0.7 % differ; 2 % of 200 experiments are allowed. The more samples per launch, the more are equivalent.
        ("paired", 1.0, 0.0, 1000, {"faster slower": (0, 0.02), "equivalent": (0.851, 1)}),
        # 2.5 % and four standard errors, below 4 %; the interval is four times as wide as the margin.
        ("independent", 1.0, 0.0, 2000, {"faster slower": (0, 0.0375), "equivalent": (0, 0)}),
        ("paired", 1.05, 0.0, 300, {"slower": (0.99, 1)}),
        ("paired", 1 / 1.05, 0.02, 300, {"faster": (0.8, 1)}),
        # At the margin: 2.5 % and four standard errors.
        ("paired", 1.02, 0.0, 1000, {"equivalent": (0, 0.045), "faster": (0, 0)}),
    ],
)
def test_verdicts_on_simulated_launches_are_right(
    design: str, ratio: float, own: float, experiments: int, limits: dict[str, tuple[float, float]]
) -> None:
    found = verdicts(np.random.default_rng(11), design, LAUNCHES, ratio, own, experiments)
    for names, (least, most) in limits.items():
        assert least <= sum(getattr(found, name) for name in names.split()) <= most


def test_many_identical_cells_are_rarely_called_different() -> None:
    shares = {correction: share for _, correction, share in family_errors(np.random.default_rng(12), "independent", 80)}
    assert shares["Holm"] <= 0.09  # 2.5 % and four standard errors


@BOTH
def test_an_interval_beyond_all_numbers_is_infinite(compare: Compare) -> None:
    found = compare([1.0, 1.1], [1.0, 2.0], confidence=0.9999999)  # t of one degree of freedom: 6,366,198
    assert (found.ratio.low, found.ratio.high, found.verdict) == (0.0, math.inf, "undecided")


def test_nan_has_no_verdict_but_a_reason() -> None:
    found = compare_paired([1.0], [2.0])
    assert math.isnan(found.p_value)
    assert found.verdict == "undecided"
