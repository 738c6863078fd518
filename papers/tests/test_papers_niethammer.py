"""Figures of Niethammer 2016: what they draw of data whose truth is known, and what becomes of their claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from downbeat_papers.evidence import Evidence, Undecidable
from downbeat_papers.figure import Finding
from downbeat_papers.judgement import judge
from downbeat_papers.niethammer2016.benefit import benefit_table
from downbeat_papers.niethammer2016.exit_tree import exit_lags, release_rounds, tree_rather_than_line
from downbeat_papers.niethammer2016.late_arrival import JUDGED, LATE, LISTINGS, SHORTER, SIZES, SYNCHRONIZERS
from downbeat_papers.niethammer2016.offset_table import draw_offset_table, offset_runs
from downbeat_papers.niethammer2016.overlap_claims import CLAIMS
from downbeat_papers.niethammer2016.scaling_claims import LINEAR, LOG, grows_as, steps_below
from downbeat_papers.registry import FIGURES
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from papers_site import site

LATE_ARRIVALS = [f"niethammer2016-fig{number}" for number in range(5, 17)]
Benefits = Mapping[tuple[str, int, float], Sequence[float] | np.ndarray]
T0 = 1.0  # us without delay, unless a test says otherwise


def agrees(evidence: Evidence | Undecidable | None) -> bool | None:
    return judge([Finding("", "", "", evidence)])[0].agrees


def cells(benefits: Benefits, t0: float = T0, pattern: str = "one_late") -> pd.DataFrame:
    """Returns cells whose benefits in per cent are given by operation, size and delay in us, a value per launch."""
    rows = []
    for (operation, size, delay), launches in benefits.items():
        for launch, benefit in enumerate(launches, 1):
            cell = {"operation": operation, "size": size, "ranks": 2, "synchronizer": JUDGED, "launch": launch}
            times = {0.0: t0, delay: (t0 + delay) / (1 + benefit / 100)}
            rows += [
                cell
                | {
                    "pattern": pattern if one else "none",
                    "largest_delay": one * 1e-6,
                    "global_time_min": t * 1e-6,
                    "overlap_benefit_min": benefit / 200,
                }
                for one, t in times.items()
            ]
    frame = pd.DataFrame(rows)
    return frame.drop_duplicates(["operation", "size", "largest_delay", "launch"]) if rows else frame


def said(claim: str, benefits: Benefits, t0: float = T0) -> bool | None:
    return agrees(CLAIMS[claim](benefit_table(cells(benefits, t0)), "").evidence)


# Eq. 5.


def test_eq_5_stands_beside_what_stamps_make_of_it() -> None:
    table = benefit_table(cells({("bcast", 8, 50.0): [4.0]}, t0=30.0))
    row = table.iloc[0]
    t = 80.0 / 1.04
    assert row["equation_5"] == pytest.approx(100 * (30 + 50 - t) / t)
    assert row["by_stamps"] == pytest.approx(2.0)
    assert row["ceiling"] == pytest.approx(60.0)
    assert row["t0"] == pytest.approx(30.0)


def test_both_are_drawn_and_both_ways_of_the_paper() -> None:
    given = {
        (operation, size, delay): [4.0, 5.0]
        for operation in ("bcast", "ibcast")
        for size in SIZES
        for delay in (*SHORTER, *LATE)
    }
    parts = [cells(given, t0=30.0).assign(synchronizer=synchronizer) for synchronizer in SYNCHRONIZERS]
    later = {key: [8.0, 9.0] for key in given}
    parts.append(cells(later, t0=30.0, pattern="one_late(rank=1)").query("largest_delay > 0"))
    results = Results("niethammer2016-fig16", site((2,)), (), {})
    results.__dict__["cells"] = pd.concat(parts, ignore_index=True)
    picture = FIGURES["niethammer2016-fig16"].draw(results).pictures[0]
    numbers = picture.numbers.set_index(["panel", "series"])["delay overlap benefit [%]"]
    assert numbers["Eq. 5, harmonize, 50 us late", "Bcast 8 B"] == pytest.approx(4.5)
    assert numbers["by stamps, harmonize, 50 us late", "Bcast 8 B"] == pytest.approx(2.25)
    assert numbers["Eq. 5, the last rank 50 us late", "Bcast 8 B"] == pytest.approx(8.5)
    assert numbers["by stamps, the last rank 50 us late", "Bcast 8 B"] == pytest.approx(4.25)
    for words in LISTINGS.values():
        assert numbers[f"{words}, 50 us late", "Ibcast 1024 B"] == pytest.approx(4.5)
    assert "(t0 + delay - t) / t" in picture.caption
    assert "(t0 - u) / t" in picture.caption
    times = FIGURES["niethammer2016-fig15"].draw(results).pictures[0]
    assert set(times.numbers["panel"]) == set(SYNCHRONIZERS.values())


@pytest.mark.parametrize("name", LATE_ARRIVALS)
def test_each_figure_says_by_what_ranks_were_synchronized_and_measures_the_papers_ways(name: str) -> None:
    figure = FIGURES[name]
    assert "does not say by what ranks were synchronized" in figure.setup
    for run in figure.runs(site()):
        assert run.options["sync"] == "harmonize,mpi_barrier,roundtime(lead=1ms)"
        assert "1us" in run.options["delay"].split(",")
        assert "50us" in run.options["delay"].split(",")
        assert run.options["pattern"] == f"one_late,one_late(rank={run.ranks - 1})"


# The benefit.


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_claim_on_benefits_is_told_where_they_have_no_room(claim: str) -> None:
    """An operation of 0.4 us beside a delay of 50 us: b is 0.8 % at most, and borders are 2.5 and 5 %."""
    short = {(form, size, 50.0): [0.3, 0.4, 0.2] for form in ("bcast", "ibcast") for size in (8, 128)}
    evidence = CLAIMS[claim](benefit_table(cells(short, t0=0.4)), "").evidence
    assert isinstance(evidence, Undecidable)
    assert "would be a benefit of 0.8 % here, since the operation takes 0.4 us" in evidence.reason


def test_no_benefit_for_small_messages_can_be_denied() -> None:
    blocking, nonblocking, large = ("bcast", 8, 1.0), ("ibcast", 8, 1.0), ("bcast", 1024, 1.0)
    near = [1.0, -1.0, 0.5, 0.0, -0.5]
    far = [20.0, 21.0, 19.0, 20.0, 22.0]
    assert said("near_zero", {blocking: near, nonblocking: near, large: far}) is True
    assert said("near_zero", {blocking: near, nonblocking: far}) is False
    assert said("near_zero", {blocking: near, nonblocking: [-one for one in far]}) is False
    assert said("near_zero", {blocking: near, nonblocking: [-9.0, 9.0, 6.0, -7.0, 0.0]}) is None
    assert said("near_zero", {large: far}) is None


def test_a_positive_benefit_is_more_than_none() -> None:
    def both(values: list[float]) -> Benefits:
        return {(form, 8, 1.0): values for form in ("allreduce", "iallreduce")}

    assert said("mostly_positive", both([9.0, 10.0, 11.0, 10.0, 12.0])) is True
    assert said("mostly_positive", both([0.4, 0.5, 0.3, 0.4, 0.5])) is False  # all above 0, by nothing to speak of
    assert said("mostly_positive", both([-9.0, -8.0, -9.0])) is False
    assert said("mostly_positive", both([-9.0, 18.0, 2.0])) is None


def test_which_form_is_better_is_compared_within_launches() -> None:
    launches = np.array([10.0, 30.0, 20.0, 15.0, 25.0])
    more = {("barrier", 0, 1.0): launches, ("ibarrier", 0, 1.0): launches + np.array([6.0, 7.0, 6.0, 5.0, 6.0])}
    assert said("nonblocking_better", more) is True
    assert said("blocking_better", more) is False
    alike = {("barrier", 0, 1.0): launches, ("ibarrier", 0, 1.0): launches + np.array([0.2, 0.3, 0.2, 0.1, 0.2])}
    assert (said("nonblocking_better", alike), said("blocking_better", alike)) == (False, False)


def test_sizes_do_not_matter_where_benefits_are_alike() -> None:
    near, far, alike = [1.0, 2.0, 1.0, 2.0], [11.0, 12.0, 11.5, 12.5], [11.5, 12.1, 11.3, 12.6]
    assert said("size_matters_not", {("bcast", 8, 1.0): far, ("bcast", 128, 1.0): alike}) is True
    assert said("size_matters_not", {("bcast", 8, 1.0): near, ("bcast", 128, 1.0): far}) is False


def test_delays_are_ordered_step_by_step() -> None:
    steps = {1.0: [40.0, 41.0, 42.0], 2.0: [30.0, 32.0, 31.0], 5.0: [20.0, 21.0, 19.0]}
    assert said("order_of_delays", {("barrier", 0, delay): values for delay, values in steps.items()}) is True
    level = steps | {5.0: [30.5, 32.0, 30.8]}
    assert said("order_of_delays", {("barrier", 0, delay): values for delay, values in level.items()}) is False
    assert said("order_of_delays", {("barrier", 0, 1.0): steps[1.0]}) is None


# Times.


def test_the_law_of_growth_is_that_of_most_of_it() -> None:
    counts = (2, 4, 8, 16)
    random = np.random.default_rng(1)

    def times(law: dict[int, float]) -> dict[int, list[float]]:
        return {count: list(law[count] + random.normal(0, 0.05, 5)) for count in counts}

    logarithmic = times({count: float(np.log2(count)) for count in counts})
    linear = times({count: float(count) for count in counts})
    falling = times({count: 10.0 - float(np.log2(count)) for count in counts})
    assert (agrees(grows_as(LOG, logarithmic)), agrees(grows_as(LINEAR, logarithmic))) == (True, False)
    assert (agrees(grows_as(LOG, linear)), agrees(grows_as(LINEAR, linear))) == (False, True)
    assert agrees(grows_as(LOG, falling)) is False
    few = grows_as(LOG, {count: logarithmic[count] for count in counts[:3]})
    assert isinstance(few, Undecidable)


def test_steps_are_told_where_one_too_long_would_fit_in() -> None:
    assert agrees(steps_below({2: [10.0, 10.1, 9.9], 8: [14.0, 14.2, 14.1]}, 5.0)) is True
    assert agrees(steps_below({2: [10.0, 10.1, 9.9], 4: [19.0, 19.2, 19.1]}, 5.0)) is False
    # An operation of 0.7 us cannot add 5 us.
    assert "takes 0.7 us at most here" in str(steps_below({2: [0.5, 0.5], 4: [0.7, 0.7]}, 5.0))
    assert isinstance(steps_below({2: [1.0]}, 5.0), Undecidable)


# Table II.


class Offsets(Results):
    """Results that are launches of one run on two ranks."""

    def have(self) -> list[str]:
        return ["n2"]

    def datasets(self, label: str) -> list[xr.Dataset]:
        return list(self.launches[label])  # type: ignore[arg-type]


def offsets(mean: float, deviation: float, hosts: str = "a: 2 ranks") -> list[bool | None]:
    """Returns what becomes of the claims of Table II if the offsets in us of rank 1 are such."""
    random = np.random.default_rng(1)
    files = [
        xr.Dataset(
            {
                "offset": (("pair", "time"), 1e-6 * random.normal(mean, deviation, (1, 100))),
                "offset_bound": (("pair", "time"), np.full((1, 100), 9e-6)),
                "answerer": ("pair", [1]),
            },
            attrs={"hosts": hosts},
        )
        for _ in range(5)
    ]
    run = Run("n2", "openmpi", 2, ("drift",), {})
    drawn = draw_offset_table(Offsets("f", site((2,)), (run,), {"n2": tuple(files)}))  # type: ignore[arg-type]
    return [one.agrees for one in judge(drawn.findings) if one.finding.is_claim]


def test_table_2_is_of_single_exchanges() -> None:
    for run in offset_runs(site()):
        assert (run.options["rounds"], run.options["estimator"]) == ("1", "cristian(exchanges=1)")
        assert run.launches(site()) == site().launches
    # Back to back, as in the paper: after a rest of 10 ms an exchange takes ten times as long.
    intervals = {run.label: float(run.options["interval"]) for run in offset_runs(site())}
    assert intervals["n2"] == pytest.approx(1e-5, rel=0.02)
    assert intervals["n2-rested"] == pytest.approx(1e-2, rel=0.02)


def test_offsets_of_a_node_are_the_same_to_a_microsecond() -> None:
    assert offsets(0.2, 1.0) == [True, True, None]
    assert offsets(0.2, 3.0) == [False, True, None]
    assert offsets(-5.0, 1.0) == [True, False, None]
    # Of ranks on several nodes, it is said by how much the nodes differ.
    assert offsets(-17258.0, 1.0, "a: 1 ranks; b: 1 ranks") == [True, True]
    assert offsets(-172.0, 1.0, "a: 1 ranks; b: 1 ranks") == [True, False]


# Figure 2.


def test_a_tree_releases_ranks_in_rounds() -> None:
    farthest, nearest = release_rounds(8).values()
    assert farthest.tolist() == [0, 3, 2, 3, 1, 3, 2, 3]
    assert nearest.tolist() == [0, 1, 2, 2, 3, 3, 3, 3]


@pytest.mark.parametrize("tree", [0, 1])
def test_the_pattern_of_a_tree_is_told_from_a_line_and_from_none(tree: int) -> None:
    random = np.random.default_rng(1)

    def described(lags: np.ndarray) -> bool | None:
        return agrees(tree_rather_than_line(lags + random.normal(0, 0.2, (5, len(lags)))))

    assert described(list(release_rounds(16).values())[tree]) is True
    assert described(np.arange(16.0)) is False
    assert described(np.zeros(16)) is None
    assert isinstance(tree_rather_than_line(np.ones((5, 4))), Undecidable)


def test_lags_are_medians_over_valid_samples_of_the_cell() -> None:
    entry = 1e-6 * np.array([[5.0, 6.0], [7.0, 9.0], [1.0, 4.0], [0.0, 99.0], [0.0, 50.0]])
    data = xr.Dataset(
        {
            "entry": (("sample", "rank"), entry),
            "valid": ("sample", [1, 1, 1, 0, 1]),
            "cell_index": ("sample", [0, 0, 0, 0, 1]),
        }
    )
    assert exit_lags(data, 0) == pytest.approx([0.0, 2.0])
