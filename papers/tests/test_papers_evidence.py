"""Claims of figures: what launches say of them, and how often that is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from downbeat_papers.evidence import (
    Evidence,
    Undecidable,
    every,
    factor_between,
    factor_of,
    grows,
    half,
    mean_of,
    some,
)
from downbeat_papers.figure import Finding
from downbeat_papers.judgement import judge
from scipy import stats

from benchmarks.simulations.claims_at_border import KINDS, wrong

EXPERIMENTS = 200


def test_a_mean_is_tested_as_student_did() -> None:
    values = [1.2, 0.9, 1.6, 1.4, 1.1]
    said = mean_of(values, " us").above(1.0)
    assert said.for_it == pytest.approx(stats.ttest_1samp(values, 1.0, alternative="greater").pvalue)
    assert said.against == pytest.approx(stats.ttest_1samp(values, 1.0, alternative="less").pvalue)
    assert said.launches == 5
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert said.described == f"1.24 us (95% interval {low:.3g} to {high:.3g} us), counts above 1 us"
    below = mean_of(values).below(1.0)
    assert (below.for_it, below.against) == (said.against, said.for_it)


def test_factors_are_tested_on_logarithms() -> None:
    top, bottom = [2.0, 2.2, 1.9], [1.0, 1.1, 0.9, 1.05]
    welch = stats.ttest_ind(np.log(top), np.log(bottom), equal_var=False, alternative="greater")
    assert factor_between(top, bottom).above(1.0).for_it == pytest.approx(welch.pvalue)
    paired = factor_of([2.0, 2.2, 1.9])
    assert math.exp(paired.mean) == pytest.approx(stats.gmean([2.0, 2.2, 1.9]))
    assert paired.above(1.5).for_it == pytest.approx(
        stats.ttest_1samp(np.log(top), np.log(1.5), alternative="greater").pvalue
    )
    assert half(100.0) == pytest.approx(10.0)


@pytest.mark.parametrize("values", [[], [1.3], [np.nan, 1.3]])
def test_of_a_single_launch_no_error_is_known(values: list[float]) -> None:
    for said in (mean_of(values).above(1.0), factor_of(values).below(1.0), factor_between(values, [1, 2]).above(1)):
        judged = judge([Finding("", "", "", said)])[0]
        assert judged.agrees is None
        assert "of which no error can be known" in judged.because


def test_launches_without_scatter_are_a_coin_each() -> None:
    said = mean_of([2.0] * 4).above(1.0)
    assert (said.for_it, said.against) == (1 / 16, 1.0)
    assert factor_between([2.0] * 4, [1.0] * 5).above(1.0).for_it == 1 / 16
    assert mean_of([1.0] * 4).above(1.0).for_it == 1.0


def test_parts_combine() -> None:
    yes, no, open_ = Evidence(0.001, 0.999, 5, "yes"), Evidence(0.999, 0.001, 4, "no"), Evidence(0.3, 0.7, 6, "open")
    assert every([yes, open_]).for_it == 0.3
    assert every([yes, open_]).launches == 5
    assert (every([yes, open_]).described, every([yes, open_]).part) == ("open", "the weakest of 2 parts")
    assert every([yes, no]).against == 0.002
    assert some([no, yes]).for_it == 0.002
    assert (some([no, yes]).described, some([no, yes]).part) == ("yes", "the clearest of 2 places")
    assert some([no, no]).against == 0.001
    assert every([yes]) == some([yes]) == yes
    assert math.isnan(every([yes, Evidence(math.nan, math.nan, 1, "")]).for_it)


def test_equivalence_takes_both_sides() -> None:
    near = [1.01, 0.99, 1.02, 1.0, 0.98]
    assert factor_of(near).within(0.8, 1.25).for_it < 0.001
    assert factor_of(near).beyond(1.25).against < 0.001
    away = factor_of([2.0, 2.1, 1.9]).within(0.8, 1.25)
    assert (away.for_it > 0.9, away.against < 0.01) == (True, True)
    assert factor_of([2.0, 2.1, 1.9]).beyond(1.25).for_it < 0.01
    assert factor_of([0.5, 0.52, 0.48]).beyond(1.25).for_it < 0.01


def test_growth_is_that_at_each_step() -> None:
    by_count = {2: [1.0, 1.05, 0.95], 4: [2.0, 2.1, 1.9], 8: [3.0, 3.1, 2.9]}
    rising, falling = grows(by_count), grows(by_count | {8: [1.0, 1.1, 0.9]})
    assert isinstance(rising, Evidence)
    assert isinstance(falling, Evidence)
    assert rising.for_it < 0.01
    assert falling.against < 0.01
    assert isinstance(grows({2: [1.0, 2.0]}), Undecidable)


def test_judgement_corrects_for_the_claims_of_a_figure() -> None:
    findings = [Finding("a", "", "", Evidence(0.02, 0.98, 5, "")), Finding("b", "", "", Evidence(0.9, 0.1, 5, ""))]
    sure = [Finding("a", "", "", Evidence(0.01, 0.99, 5, "")), findings[1]]
    assert [one.agrees for one in judge(findings[:1])] == [True]
    assert [one.agrees for one in judge(findings)] == [None, None]  # both sides, two claims: 0.08
    judged = judge([*sure, Finding("c", "", "", Undecidable("why")), Finding("d", "", "", None)])
    assert [one.agrees for one in judged] == [True, None, None, None]
    assert judged[0].because == "p = 0.04, 5 launches, corrected for 2 claims"
    assert judged[2].because == "why"
    three = [*findings, Finding("e", "", "", Evidence(0.5, 0.005, 5, ""))]
    assert [one.agrees for one in judge(three)] == [None, None, False]
    assert [one.because for one in judge(three, "quick")] == ["quick"] * 3


@pytest.mark.parametrize("launches", [3, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_at_the_border_a_figure_of_five_claims_shows_any_in_five_per_cent(kind: str, launches: int) -> None:
    assert (
        wrong(np.random.default_rng(5), KINDS[kind], launches, EXPERIMENTS)
        <= stats.binom.ppf(0.9999, EXPERIMENTS, 0.05) / EXPERIMENTS
    )
