"""Claims of figures: the test that a line of text makes of launches, how often it is wrong, and the page."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from downbeat.run.experiment import Launch
from downbeat_papers import words
from downbeat_papers.claims import (
    Claim,
    Facts,
    Finding,
    Measure,
    Measured,
    Outcome,
    between,
    comparisons,
    evidence_of,
    missing,
)
from downbeat_papers.evidence import (
    Evidence,
    Undecidable,
    difference,
    every,
    factor_of,
    half,
    held_out,
    mean_of,
    some,
)
from downbeat_papers.figure import FIGURES
from downbeat_papers.judgement import Judged, judge
from downbeat_papers.results import LaunchCells, Results, launch_values, medians_and_ranges
from downbeat_papers.runs import Run
from downbeat_papers.site import Site
from downbeat_papers.view import counts_of, figure_view, row_of, verdict_lines
from launch_files import Cell, write_launch
from scipy import stats

from tests.statistics import kinds
from tests.statistics.claims import KINDS, at_border, wrong
from tests.statistics.kinds import Kind
from tests.statistics.simulated import autoregressive

EXPERIMENTS = 200


def agrees(evidence: Evidence | Undecidable | None) -> bool | None:
    return judge([Finding("", "", "", evidence)])[0].agrees


# Evidence of launches.


def test_a_mean_is_tested_as_student_did() -> None:
    values = [1.2, 0.9, 1.6, 1.4, 1.1]
    said = mean_of(values, " us").above(1.0)
    assert said.for_it == pytest.approx(stats.ttest_1samp(values, 1.0, alternative="greater").pvalue)
    assert said.against == pytest.approx(stats.ttest_1samp(values, 1.0, alternative="less").pvalue)
    assert said.launches == 5
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert re.findall(r"[\d.]+", said.described) == ["1.24", "95", f"{low:.3g}", f"{high:.3g}", "1"]
    below = mean_of(values).below(1.0)
    assert (below.for_it, below.against) == (said.against, said.for_it)


def test_factors_are_tested_on_logarithms() -> None:
    top, bottom = [2.0, 2.2, 1.9], [1.0, 1.1, 0.9, 1.05]
    welch = stats.ttest_ind(np.log(top), np.log(bottom), equal_var=False, alternative="greater")
    assert difference(factor_of(top), factor_of(bottom)).above(1.0).for_it == pytest.approx(welch.pvalue)
    paired = factor_of(top)
    assert math.exp(paired.mean) == pytest.approx(stats.gmean(top))
    expected = stats.ttest_1samp(np.log(top), np.log(1.5), alternative="greater")
    assert paired.above(1.5).for_it == pytest.approx(expected.pvalue)
    assert half(100.0) == pytest.approx(10.0)


@pytest.mark.parametrize("values", [[], [1.3], [np.nan, 1.3]])
def test_of_a_single_launch_no_error_is_known(values: list[float]) -> None:
    for said in (
        mean_of(values).above(1.0),
        factor_of(values).below(1.0),
        difference(factor_of(values), factor_of([1, 2])).above(1),
    ):
        judged = judge([Finding("", "", "", said)])[0]
        assert judged.agrees is None
        assert "no error" in judged.because


def test_launches_without_scatter_are_a_coin_each() -> None:
    said = mean_of([2.0] * 4).above(1.0)
    assert (said.for_it, said.against) == (1 / 16, 1.0)
    assert difference(factor_of([2.0] * 4), factor_of([1.0] * 5)).above(1.0).for_it == 1 / 16
    assert mean_of([1.0] * 4).above(1.0).for_it == 1.0


def test_parts_combine() -> None:
    yes, no, open_ = Evidence(0.001, 0.999, 5, "yes"), Evidence(0.999, 0.001, 4, "no"), Evidence(0.3, 0.7, 6, "open")
    assert every([yes, open_]).for_it == 0.3
    assert every([yes, open_]).launches == 5
    assert every([yes, open_]).described == "open" and "weakest" in every([yes, open_]).scope
    assert every([yes, no]).against == 0.002
    assert some([no, yes]).for_it == 0.002
    assert some([no, yes]).described == "yes" and "clearest" in some([no, yes]).scope
    assert some([no, no]).against == 0.001
    assert every([yes]) == some([yes]) == yes
    assert math.isnan(every([yes, Evidence(math.nan, math.nan, 1, "")]).for_it)


def test_what_is_held_out_is_not_judged_by_what_chose_it() -> None:
    noise = np.log(np.random.default_rng(1).lognormal(0, 0.3, (2000, 5, 6)))
    assert np.abs(noise).mean() > 0.2
    assert abs(np.mean([held_out(one).mean() for one in noise])) < 0.01
    assert held_out(np.array([[1.0, -2.0], [1.0, -2.0]])).tolist() == [[1.0, 2.0]]
    assert np.isnan(held_out(np.ones((1, 3)))).all()


def test_judgement_corrects_for_the_claims_of_a_figure() -> None:
    findings = [Finding("a", "", "", Evidence(0.02, 0.98, 5, "")), Finding("b", "", "", Evidence(0.9, 0.1, 5, ""))]
    sure = [Finding("a", "", "", Evidence(0.01, 0.99, 5, "")), findings[1]]
    assert [one.agrees for one in judge(findings[:1])] == [True]
    assert [one.agrees for one in judge(findings)] == [None, None]  # both sides, two claims: 0.08
    judged = judge([*sure, Finding("c", "", "", Undecidable("why")), Finding("d", "", "", None)])
    assert [one.agrees for one in judged] == [True, None, None, None]
    assert re.findall(r"[\d.]+", judged[0].because)[:3] == ["0.04", "5", "2"]
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


@pytest.mark.parametrize("kind", [kinds.RUNS[2], *kinds.CORRELATED[:2]], ids=lambda kind: kind.name)
@pytest.mark.parametrize("launches", [3, 5, 10])
def test_what_correlated_launches_show_by_chance_is_not_said_in_silence(kind: Kind, launches: int) -> None:
    found = at_border(np.random.default_rng(5), kind, launches, EXPERIMENTS // 2)
    assert found.seen + found.denied > 0.05 and found.silent == 0


def test_launches_that_resemble_the_one_before_count_as_fewer_and_it_is_said() -> None:
    """Of an AR(1) process of 0.95 the claim is seen in 0.57 of experiments if launches count as independent ones."""
    random = np.random.default_rng(3)
    series = list(autoregressive(random, (200, 40), 0.95))
    assert np.mean([mean_of(one).above(0.0).for_it < 0.025 for one in series]) < 0.25  # no estimate of so few is exact
    assert np.mean(["resemble" in because(mean_of(one).above(0.0)) for one in series]) > 0.9
    fewer = [factor_of(np.exp(one)) for one in series]
    wider = [each.error / (one.std(ddof=1) / math.sqrt(40)) for each, one in zip(fewer, series, strict=True)]
    assert np.mean(np.array(wider) > 2) > 0.9 and np.median(wider) > 3
    assert np.mean([each.freedom < 20 for each in fewer]) > 0.9 and {each.launches for each in fewer} == {40}
    independent = random.normal(0, 1, (200, 40))
    freedom = [mean_of(one).freedom for one in independent]
    # By design 5 % of independent series are widened, from the quantile CHANCE on; only a few of these by much.
    assert np.mean(freedom) > 38 and np.mean(np.array(freedom) == 39) > 0.93
    assert np.mean(np.array(freedom) > 35) > 0.96
    assert np.mean(["resemble" in because(mean_of(one).above(0.0)) for one in independent]) < 0.1


def test_slow_launches_of_either_run_are_said() -> None:
    two, one = np.repeat([1.0, 1.5], [7, 3]) * np.tile(SCATTER, 2), np.tile(SCATTER, 2)
    for said in (factor_of(two).above(0.5), difference(factor_of(one), factor_of(two)).below(9.0)):
        assert "slow launches" in because(said)
    assert "slow launches" not in because(difference(factor_of(one), factor_of(one)).below(9.0))
    assert "slow launches" in because(every([factor_of(two).above(0.5), factor_of(one).above(0.1)]))


def because(evidence: Evidence) -> str:
    return judge([Finding("", "", "", evidence)])[0].because


# The test of a claim, as a line of text, on planted launches.

SCATTER = np.array([1.0, 1.03, 0.96, 1.01, 0.99])  # of five launches


def around(centre: float, shift: int = 0, unit: str = "") -> Measure:
    return Measure(centre * np.roll(SCATTER, shift), unit)


def signed(centre: float, shift: int = 0) -> Measure:
    return Measure(centre + np.roll(SCATTER, shift) - 1.0, " us", signed=True)


PLANTED: dict[str, Measured] = {
    "one": around(1.0, 1),
    "two": around(2.0, 2, " us"),
    "three": around(3.0, 3, " us"),
    "nine": around(9.5, 4),
    "rise": signed(0.5),
    "flat": signed(0.0, 2),
    "sizes": {"4 bytes": around(1.02, 1), "8 bytes": around(9.5, 2)},
    "near": {"4 bytes": around(1.02, 1), "8 bytes": around(0.97, 3), "16 bytes": around(1.0, 2)},
    "cancels": {"4 bytes": around(2.0), "8 bytes": around(0.5)},
    "rising": {"2": around(1.0), "4": around(2.0), "8": around(3.0)},
    "nowhere": {},
    "hidden": missing("a wall is before it"),
    "code": Outcome(Evidence(0.001, 0.999, 5, ""), "as code found it"),
}


@pytest.mark.parametrize(
    ("test", "verdict_"),
    [
        # A bound, and a part of the paper's effect.
        ("three > 2 us", True),
        ("three < 2 us", False),
        ("two > 2 us", None),
        ("three > half 9", None),
        ("three > half 4", True),
        ("nine < half 1/9", False),
        # Ratios: paired by launch, or of two runs.
        ("three / two > 1", True),
        ("three / two < 1", False),
        ("two vs three < 1", True),
        ("two vs three beyond 1.4", True),
        ("two vs three within half 0.25 .. half 4", True),
        ("two vs three within 0.9 .. 1.1", False),
        ("one vs two within 1 .. 2", False),
        # Signed measures: differences.
        ("rise > 0.1 us", True),
        ("flat within -0.1 .. 0.1 us", True),
        ("rise within -0.1 .. 0.1 us", False),
        ("flat > 0 us", None),
        ("rise - flat > 0 us", True),
        ("flat vs rise > 0 us", False),
        # Places.
        ("some sizes > half 10", True),
        ("every sizes > half 10", False),
        ("sizes > half 10", False),
        ("some near > half 10", False),
        ("every near within half 0.6 .. half 1.8", True),
        ("every cancels within half 0.6 .. half 1.8", False),
        ("some sizes > half 10 and sizes > two", True),
        ("every near > 2 or near < 2", True),
        ("every cancels > 2 or cancels < 0.4", False),
        ("rising grows", True),
        ("near grows", False),
        # No decision.
        ("nowhere > 1", None),
        ("hidden > 1", None),
        ("code", True),
    ],
)
def test_a_line_of_text_is_a_test(test: str, verdict_: bool | None) -> None:
    test = test.replace("> two", "> 2")
    names = {name for condition in comparisons(test) for name in condition.names}
    assert agrees(evidence_of(test, {name: PLANTED[name] for name in names})) is verdict_


def test_launches_are_paired_by_their_number() -> None:
    one, other = pd.Series({1: 2.0, 2: 6.0, 3: 12.0}), pd.Series({3: 4.0, 1: 1.0, 2: 2.0})
    said = evidence_of("one / other > 2.5", {"one": Measure(one), "other": Measure(other)})
    assert said == factor_of([2.0, 3.0, 3.0]).above(2.5)


def test_a_claim_says_what_was_measured_where() -> None:
    facts = Facts(
        {**PLANTED, "by_ranks": {4: around(1.0), 8: around(5.0)}}, {4: {"steps": 2}, 8: {"steps": 3}, "w": "x"}
    )
    (plain,) = Claim("three / two > 1", "{w} is", "p").findings(facts)
    assert (plain.claim, plain.paper) == ("x is", "p")
    assert [re.findall(r"[\d.]+", each) for each in plain.here.split("; ")] == [
        ["3", "2.88", "3.09"],
        ["2", "1.92", "2.06"],
        ["1.48", "1.43", "1.61"],
    ]
    sizes = next(Claim("every sizes > 1", "", "").findings(facts)).here
    assert re.findall(r"([\d.]+) bytes ([\d.]+)", sizes) == [("4", "1.02"), ("8", "9.5")]
    weakest = next(Claim("every sizes > 1", "", "").findings(facts)).evidence
    assert isinstance(weakest, Evidence)
    assert weakest.described.startswith("4 bytes")
    each = list(Claim("each by_ranks > {steps}", "on {place}, {steps} steps", "").findings(facts))
    assert [re.findall(r"\d+", one.claim) for one in each] == [["4", "2"], ["8", "3"]]
    assert [agrees(one.evidence) for one in each] == [False, True]
    (number,) = Claim("show three / two, one", "", "").findings(facts)
    assert not number.is_claim
    assert re.findall(r"[\d.]+", number.here)[-3:] == ["1", "0.96", "1.03"]
    assert next(Claim("code", "", "").findings(facts)).here.startswith("as code")
    unheard = Claim("unheard_of > 1", "", "")
    assert not list(unheard.findings(facts))


@pytest.mark.parametrize("test", ["one >> 1", "one is above 1", "one > 1 or two or"])
def test_a_line_that_is_no_test_is_refused(test: str) -> None:
    with pytest.raises(ValueError, match="is not part of a test; write 'late / together < 1'"):
        comparisons(test)


# Results and the page.


def test_values_of_launches_and_their_range() -> None:
    frame = pd.DataFrame({"x": [1, 1, 1, 2], "v": [1e-6, 5e-6, 2e-6, 7e-6], "launch": [2, 1, 3, 1]})
    table = medians_and_ranges(frame["x"].to_numpy(), frame["v"].to_numpy())
    assert table.frame().to_numpy().tolist() == [
        pytest.approx([1, 2.0, 1.0, 5.0]),
        pytest.approx([2, 7.0, 7.0, 7.0]),
    ]
    assert launch_values(LaunchCells.of(frame), "v", x=1).to_dict() == {1: 5e-6, 2: 1e-6, 3: 2e-6}
    assert between([3.0, np.nan, 1.0], " us").split() == ["1", "to", "3", "us"]
    assert between([]) == "none"


OPEN = Undecidable("not measured here")


def test_claims_are_counted_and_grouped_by_verdict_and_reason_and_numbers_are_left_out() -> None:
    judged = [
        Judged(Finding("a", "", "", OPEN), True, "p = 0.01, 5 launches"),
        Judged(Finding("b", "", "", OPEN), None, "few"),
        Judged(Finding("c", "", "", OPEN), True),
        Judged(Finding("d", "", "", None), None),
    ]
    assert counts_of(judged) == words.ClaimCounts(2, 0, 1)
    assert [line.content for line in verdict_lines(judged)] == [
        words.ClaimsOfVerdict("confirmed", ("a", "c")),
        words.ClaimsOfVerdict("undecided", ("b",), "few"),
    ]
    assert [row_of(one)["verdict"] for one in judged] == ["confirmed", "undecided", "confirmed", ""]


class Fake:
    """A kind of figure with one measure."""

    run = Run("a", "openmpi", 2, ("bcast",), {})

    def runs(self, _: Site) -> tuple[Run, ...]:
        return (self.run,)

    def facts(self, _: Results) -> Facts:
        return Facts({"three": PLANTED["three"]})

    def series(self, _: Results) -> tuple[()]:
        return ()

    def pictures(self, _: str, __: Results) -> tuple[()]:
        return ()


def launched(path: Path, launches: int, ranks: int, *, quick: bool = False, **attributes: str | float) -> Results:
    """Returns so many launches of a run on two cores."""
    entry = np.repeat(np.arange(4.0)[:, None], 2, axis=1)
    files = [
        write_launch(path / f"{number}.nc", [Cell(entry, entry + 1e-6)], **attributes) for number in range(launches)
    ]
    there = tuple(Launch("openmpi", 2, "default", number, file, {}) for number, file in enumerate(files))
    run = dataclasses.replace(Fake.run, ranks=ranks)
    return Results("f", Site(2, {"openmpi": "bench"}, (ranks,), quick=quick), (run,), {"a": there})


FIGURE = dataclasses.replace(FIGURES["hunold2015-fig7"], kind=Fake(), claims=(Claim("three > 2 us", "it is", ""),))


@pytest.mark.parametrize(("ranks", "quick", "agrees"), [(2, False, True), (4, False, None), (2, True, None)])
def test_claims_are_left_open_where_all_ranks_share_cores_or_repetitions_are_few(
    ranks: int, quick: bool, agrees: bool | None, tmp_path: Path
) -> None:
    view = figure_view(FIGURE, launched(tmp_path, 3, ranks, quick=quick))
    assert view.facts[0] == words.ClaimCounts(int(agrees is True), 0, int(agrees is None))
    shared = [fact for fact in view.facts if isinstance(fact, words.RanksShareCores)]
    assert shared == ([words.RanksShareCores(("a",), (4,), 2)] if ranks == 4 else [])


def test_the_view_has_the_offsets_of_clocks_at_the_end_of_launches(tmp_path: Path) -> None:
    results = launched(tmp_path, 1, 2, clock_check_offset_s="2e-7", clock_check_ranks_outside=0)
    assert "0.200 us" in str(figure_view(FIGURE, results).record["clocks"])


def test_lacking_launches_and_shared_cores_are_facts(tmp_path: Path) -> None:
    results = launched(tmp_path, 2, 2)
    assert results.missing_launches() == {"a": 3}
    assert words.LaunchesFailed("a", 3, 5, "f/a/failed") in figure_view(FIGURE, results).facts
    assert results.crowding(2) == ""
    assert results.crowding(4)
