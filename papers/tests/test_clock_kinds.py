"""Kinds of figures about clocks and the instants at which ranks leave, on data whose answer is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from downbeat.data.samples import VERDICTS
from downbeat.run.experiment import Launch
from downbeat_papers.claims import Finding, Measure, evidence_of
from downbeat_papers.figure import FIGURES
from downbeat_papers.judgement import judge
from downbeat_papers.kinds import clocks, over_time, round_trips
from downbeat_papers.kinds.distribution import common_start, ranges
from downbeat_papers.kinds.drift import line_intervals
from downbeat_papers.kinds.exits import (
    after_the_first,
    mean_and_half,
    medians_of_calls,
    release_rounds,
    ring_measures,
    stamps,
    tree_less_line,
    with_delays,
)
from downbeat_papers.results import Results
from launch_files import Cell, write_launch
from papers_site import agreed, site
from scipy import stats

from tests.statistics.shapes import drift_files
from tests.statistics.worlds import WORLDS, Maker, SimulatedResults, results_of, run_of, skews, time_world


def on_one_host(results: SimulatedResults) -> SimulatedResults:
    files = {
        label: [data.assign(host=("rank", ["node"] * data.sizes["rank"])) for data in launches]
        for label, launches in results.files.items()
    }
    return dataclasses.replace(results, files=files)


def test_exit_skew_is_judged_where_its_conditions_are_met() -> None:
    apart = skews(Maker(np.random.default_rng(1), 5, effect=True))
    assert agreed("schuchart2023-fig3", apart) == [True] * 5
    assert agreed("schuchart2023-fig3", on_one_host(apart))[0] is None  # several ranks on a node
    coarse = {label: [data.assign_attrs(error_bound_s=1e-6) for data in files] for label, files in apart.files.items()}
    # A hundredth of the barrier's skew is below the error of the clock.
    assert agreed("schuchart2023-fig3", dataclasses.replace(apart, files=coarse))[2] is None
    outliers = {label: [data.copy(deep=True) for data in files] for label, files in apart.files.items()}
    for data in (data for files in outliers.values() for data in files):
        data["exit"].loc[{"synchronizer": "harmonize", "attempt": 0, "rank": 1}] += 30e-6
    late = dataclasses.replace(apart, files=outliers)
    assert agreed("schuchart2023-fig3", late) == [True] * 4 + [False]
    (picture,) = FIGURES["schuchart2023-fig3"].pictures(apart)
    assert [panel.y.split()[0] for panel in picture.panels] == ["exit", "sigma"]
    assert "50 calls" in picture.caption


@pytest.mark.parametrize(
    ("bounds_ns", "true", "at_most_us", "compared"),
    [
        ((0.0, 0.0), False, [0.4, 0.001, 0.9], True),
        ((20.0, 50.0), False, [0.45, 0.0501, 0.95], True),  # the worst of the launches, in all of them
        ((1100.0, 20.0), False, [1.5, 1.1001, 2.0], False),  # more than the barrier's 10 us over the root of 100
        ((20.0, 1100.0), True, [0.4, 0.001, 0.9], True),  # the truth is known
    ],
)
def test_a_common_start_is_no_better_than_its_clock(
    bounds_ns: tuple[float, float], true: bool, at_most_us: list[float], compared: bool
) -> None:
    apart = skews(Maker(np.random.default_rng(1), 2, effect=True))
    label = next(label for label in apart.labels() if apart.run(label).ranks == apart.site.full)

    def at(bound: float, data: xr.Dataset) -> xr.Dataset:
        known = data.assign_attrs(error_bound_s=bound * 1e-9)
        return known.assign(true_exit=known["exit"]) if true else known

    # Other runs have other clocks.
    files = {one: [at(1e6, data) for data in launches] for one, launches in apart.files.items()}
    files[label] = [at(bound, data) for bound, data in zip(bounds_ns, apart.files[label], strict=True)]
    results = dataclasses.replace(apart, files=files)
    found = common_start(results, apart.site.full, np.array([9.0, 10.0, 11.0]), np.array([0.4, 0.0001, 0.9]))
    for name, values in (("common_start", at_most_us), ("common_start_at_most", at_most_us), ("barrier", [9, 10, 11])):
        measure = found[name]
        assert isinstance(measure, Measure)
        assert measure.values == pytest.approx(values)
        assert name != "barrier" or (measure.obstacle == "") == compared


def test_figure_1_repeats_what_ends_after_its_window_as_skampi_and_draws_it(tmp_path: Path) -> None:
    for run in FIGURES["hunold2015-fig1"].runs(site((2,), 2)):
        assert "overrun=repeat" in run.options["sync"]
        assert (run.options["repetitions"], run.options["max-attempts"]) == ("15000", "1")
        assert float(run.variables["DOWNBEAT_MAX_AGE"]) > run.seconds  # synchronized once
    entry = np.repeat(np.arange(4.0)[:, None], 2, axis=1)
    verdicts = [VERDICTS.index(name) for name in ("valid", "overrun", "late_entry", "valid")]
    cell = Cell(entry, entry + 1e-6 * np.array([[1], [9], [5], [2]]), verdict=verdicts)
    launch = Launch("openmpi", 2, "default", 1, write_launch(tmp_path / "1.nc", [cell]), {})
    (samples,) = Results("f", site(), (run_of("a", 2),), {"a": (launch,)}).samples("a", ("global_time",))
    assert samples["global_time"].to_numpy() == pytest.approx([1e-6, 9e-6, 2e-6])


def test_the_pareto_frontier_is_what_no_scheme_beats_in_both() -> None:
    def launches(values: Sequence[float]) -> dict[str, np.ndarray]:
        return {name: np.array([value] * 3) for name, value in zip("abcde", values, strict=True)}

    choices = clocks.Choices(launches([1, 2, 3, 4, 4]), launches([80, 90, 10, 10, 5]), np.ones(3))
    assert choices.frontier() == ["a", "c", "e"]
    short = ("jk(fit=100,over=0,offset=mean_rtt(exchanges=30))", "hca", "skampi")
    assert [clocks.short_scheme(one).split() for one in short] == [
        ["jk", "(100,", "30)"],
        ["hca,", "over", "1", "s"],
        ["skampi"],
    ]


def test_part_b_of_figure_8_has_several_processes_per_clock() -> None:
    runs = FIGURES["hunold2015-fig8"].runs(site((2, 4, 64), 64))
    shared = [run for run in runs if run.label.startswith(clocks.NODES)]
    per_clock = [run.variables["DOWNBEAT_VALIDATION"].rpartition(",")[2] for run in shared]
    assert [run.ranks for run in shared] == [4, 64]
    assert per_clock == ["ranks_per_clock=2", "ranks_per_clock=16"]
    assert all(run.variables["DOWNBEAT_SHARE"] == "never" for run in shared)


@pytest.mark.parametrize("before", [0.0, 86400.0])
def test_intervals_of_a_line_are_those_of_least_squares(before: float) -> None:
    """95 % of lines through 40 points, and 95 % of their intercepts, lie within: scipy's, and what was planted."""
    random, at = np.random.default_rng(1), np.linspace(0.0, 1.0, 40)
    offsets = 2e-6 * (at + before) + random.normal(0.0, 1e-7, (400, 40))
    found = line_intervals(np.broadcast_to(at, offsets.shape), offsets)
    line = stats.linregress(at + before, offsets[0])
    t = 2 * stats.t.ppf(0.975, 38)
    assert found.slope[0] == pytest.approx(t * line.stderr)
    assert found.intercept(before)[0] == pytest.approx(t * line.intercept_stderr, rel=1e-4)
    fitted = np.polyfit(at, offsets.T, 1)[0]
    assert 0.92 < np.mean(np.abs(fitted - 2e-6) < found.slope / 2) < 0.98


TRUTH, TREND = 0.25, 1e-6  # s; offset, and by how much the clocks drift apart over a recording


def exchanges(forth: np.ndarray, back: np.ndarray) -> xr.Dataset:
    """Returns a file of the experiment rtt, of messages that took so long, s."""
    truth = TRUTH + np.linspace(0.0, TREND, len(forth))
    dims = ("pair", "sample")
    ends = {"true_offset_before": ("pair", [TRUTH]), "true_offset_after": ("pair", [TRUTH + TREND])}
    return xr.Dataset({"rtt": (dims, [forth + back]), "clock_difference": (dims, [truth + forth]), **ends})


def test_an_offset_is_off_by_half_of_the_asymmetry() -> None:
    count = 4 * round_trips.EXCHANGES
    file = exchanges(np.full(count, 3e-6), np.full(count, 1e-6))
    assert round_trips.offset_errors(file) == pytest.approx(dict.fromkeys(round_trips.ESTIMATORS, 1e-6), rel=1e-6)
    assert round_trips.offset_errors(file.drop_vars("true_offset_before")) is None


def test_each_estimator_takes_the_exchanges_that_its_name_says() -> None:
    forth, back = np.full(round_trips.EXCHANGES, 2e-6), np.full(round_trips.EXCHANGES, 2e-6)
    forth[7] = back[7] = 1e-6  # the only one that is symmetric
    forth[8:] += 4e-6
    errors = round_trips.offset_errors(exchanges(forth, back))
    expected = [0.0, 37 / 45 * 2e-6, 2e-6, 172 / 180 * 2e-6]
    assert errors is not None
    assert list(errors.values()) == pytest.approx(expected, rel=1e-4, abs=1e-12)


def test_the_cost_of_stopping_follows_from_counting() -> None:
    """After k round trips, the next to be shorter than all is beyond the m-th with probability k / m."""
    random = np.random.default_rng(4)
    n, runs, costs = 100, 4000, 0.0
    for _ in range(runs):
        last = 1
        while (following := int(np.ceil(last / random.random()))) <= last + n:
            last = max(following, last + 1)
        costs += last + n
    assert costs / runs == pytest.approx(round_trips.COUNTED * n, rel=0.03)


def test_table_2_is_of_single_exchanges_back_to_back() -> None:
    runs = FIGURES["niethammer2016-tab2"].runs(site())
    assert all((run.options["rounds"], run.options["estimator"]) == ("1", "cristian(exchanges=1)") for run in runs)
    # After a rest of 10 ms an exchange takes ten times as long.
    intervals = {run.label: float(run.options["interval"]) for run in runs}
    assert [intervals["n2"], intervals["n2-rested"]] == pytest.approx([1e-5, 1e-2], rel=0.02)


def test_a_tree_releases_ranks_in_rounds() -> None:
    farthest, nearest = release_rounds(8).values()
    assert farthest.tolist() == [0, 3, 2, 3, 1, 3, 2, 3]
    assert nearest.tolist() == [0, 1, 2, 2, 3, 3, 3, 3]


@pytest.mark.parametrize(
    ("lags", "agrees"), [(release_rounds(16), True), ({"line": np.arange(16.0)}, False), ({"none": np.zeros(16)}, None)]
)
def test_the_pattern_of_a_tree_is_told_from_a_line_and_from_none(
    lags: dict[str, np.ndarray], agrees: bool | None
) -> None:
    random = np.random.default_rng(1)
    for one in lags.values():
        measures = {"tree": tree_less_line(one + random.normal(0, 0.2, (5, 16)))}
        evidence = evidence_of("some tree > 0 us", measures)
        assert judge([Finding("", "", "", evidence)])[0].agrees is agrees
    assert "few rounds" in tree_less_line(np.ones((5, 4))).obstacle  # type: ignore[union-attr]


def test_lags_are_medians_over_valid_samples_of_the_cell() -> None:
    entry = 1e-6 * np.array([[5.0, 6.0], [7.0, 9.0], [1.0, 4.0], [0.0, 99.0], [0.0, 50.0]])
    variables = {"entry": (("sample", "rank"), entry), "valid": ("sample", [1, 1, 1, 0, 1])}
    cells = {"cell_index": ("sample", [0, 0, 0, 0, 1]), "synchronizer": ("cell", ["bruck", "tree"])}
    exits = stamps(xr.Dataset(variables | cells), "entry", "synchronizer", "bruck")
    assert medians_of_calls([after_the_first(exits)])[0] == pytest.approx([0.0, 2.0])
    assert np.isnan(medians_of_calls([exits[:0]])).all()


def test_delays_in_whole_us_compensate_a_pattern_that_stays_and_spoil_one_that_does_not() -> None:
    """A loop of n us that begins at 0.3 us ends at n, when the clock has advanced by n."""
    stays = np.tile([0.3, 2.3, 4.3], (4, 1))
    assert with_delays(stays)[1].tolist() == [[4.0, 4.0, 4.3]] * 2
    turns = np.concatenate([stays[:2], stays[2:, ::-1]])
    plain, delayed = with_delays(turns)
    assert np.ptp(plain, axis=1) == pytest.approx([4.0] * 2)
    assert delayed.tolist() == [[8.0, 4.0, 0.3]] * 2
    assert with_delays(stays / 10)[1].tolist() == (stays[2:] / 10).tolist()  # no delay is a microsecond


def test_the_first_half_of_a_ring_is_counted_from_the_root() -> None:
    entry = np.array([[4.0, 1.0, 2.0, 3.0], [14.0, 11.0, 12.0, 14.5]])
    found = ring_measures([(entry, entry + np.array([5.0, 8.0, 1.0, 3.0]))])
    assert list(found.pop("after_the_root")) == ["rank 1"]  # type: ignore[arg-type]
    values = {name: np.asarray(one.values)[0] for name, one in found.items() if isinstance(one, Measure)}
    first, second = (-3.0, 8.0), (-1.125, 2.0)
    assert [(values[f"{half}_leaves"], values[f"{half}_takes"]) for half in ("first_half", "second_half")] == [
        first,
        second,
    ]


def of_clocks(results: SimulatedResults, *, truth: bool) -> SimulatedResults:
    """Returns launches whose errors differ from measured ones, or between nodes, where no errors are known."""

    def changed(data: xr.Dataset) -> xr.Dataset:
        return data.assign(true_error=5 * data["offset"]) if truth else data.drop_vars("true_error")

    return dataclasses.replace(
        results, files={label: list(map(changed, some)) for label, some in results.files.items()}
    )


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("name", ["schuchart2023-fig16", "hunold2015-fig8", "hunold2015-fig9", "hunold2015-fig10"])
def test_clock_errors_are_judged_by_the_truth_where_it_is_known(name: str, truth: bool) -> None:
    results = of_clocks(WORLDS[name](Maker(np.random.default_rng(1), 3, effect=True)), truth=truth)
    (picture,) = FIGURES[name].pictures(results)
    assert ("not known" in picture.caption) is not truth
    said = [one.here for one in FIGURES[name].findings(results)]
    assert any("known to" in here for here in said) is not truth
    assert any("true error" in here for here in said) is (truth and name == "hunold2015-fig10")
    if name == "schuchart2023-fig16":
        mean = float(said[0].partition("2 ranks ")[2].partition(" us")[0])
        assert mean == pytest.approx(1.5 if truth else 0.3, rel=0.3)


@pytest.mark.parametrize(
    ("ppm", "noise_us", "whose", "hosts", "agrees"),
    [
        (5.0, 0.2, "off", "ab", [True, True, True]),
        (0.1, 0.4, "off", "ab", [False, False, True]),
        (0.005, 0.1, "off", "ab", [False, None, True]),  # no drift has a shape
        (5.0, 40.0, "off", "ab", [True, False, False]),
        (5.0, 0.2, "off", "aa", [None, None, None]),
        (5.0, 0.2, "skew=8e-6", "ab", [None, None, None]),
    ],
)
def test_the_drift_of_real_clocks_is_judged(
    ppm: float, noise_us: float, whose: str, hosts: str, agrees: list[bool | None]
) -> None:
    run = dataclasses.replace(run_of("drift", 2), options={"pairs": "0:1"})
    files = drift_files(np.random.default_rng(1), (1,), ppm, noise_us, whose, hosts)
    results = results_of([run], files={"drift": files})
    assert [*agreed("hunold2015-fig6", results), *agreed("hoefler2008-fig5", results)] == agrees
    (picture,) = FIGURES["hunold2015-fig6"].pictures(results)
    words = "validation clock's" if whose != "off" else "those of 2 nodes" if hosts == "ab" else "read one clock"
    assert words in picture.caption


@pytest.mark.parametrize(("rises", "said"), [(0.5, True), (0.0, False)])
def test_bins_are_medians_which_interruptions_do_not_move(rises: float, said: bool) -> None:
    world = time_world("hunold2015-fig1", lambda *_: (20, rises))
    results = world(Maker(np.random.default_rng(1), 3, effect=True))
    for data in results.files["fixed"]:
        data["global_time"][::50] += 1e-3
    rows = over_time.bins_of_launches(results, "fixed", "global_time", 100)
    assert max(one.max() for one in rows) < 100
    assert [one.agrees for one in judge(FIGURES["hunold2015-fig1"].findings(results))][:2] == [said, said]


def test_intervals_of_mean_exits_are_students() -> None:
    late = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 3.0]])
    mean, half = mean_and_half(late)
    low, high = stats.ttest_1samp(late[:, 1], 0).confidence_interval(0.95)
    assert (mean[1] - half[1], mean[1] + half[1]) == pytest.approx((low, high))
    assert mean_and_half(late[:1])[1].tolist() == [0.0, 0.0, 0.0]


def test_sigma_is_over_times_in_the_barrier_and_skew_over_instants_of_leaving() -> None:
    dims = ("synchronizer", "attempt", "rank")
    stamps = {"exit": [[[5e-6, 7e-6], [0.0, 1.0]]], "entry": [[[2e-6, 4e-6], [0.0, 0.0]]]}
    data = xr.Dataset({name: (dims, values) for name, values in stamps.items()} | {"valid": (dims[:2], [[1, 0]])})
    data = data.assign_coords(synchronizer=["mpi_barrier"])
    results = results_of([run_of("n2", 2)], files={"n2": [data]})
    skew, sigma = (ranges(results, times, ["n2"])["mpi_barrier", 2][0].tolist() for times in ("exit", "duration"))
    assert (skew, sigma) == (pytest.approx([2.0]), pytest.approx([0.0]))


def test_on_two_ranks_line_and_tree_are_one_and_the_same() -> None:
    results = WORLDS["hoefler2008-fig8"](Maker(np.random.default_rng(1), 5, effect=True))
    few = dataclasses.replace(results, site=site((2, 4, 8, 16), 4))
    findings = FIGURES["hoefler2008-fig8"].findings(few)
    (note,) = (one.claim for one in findings if not one.is_claim)
    assert "2 processes" in note
    # Times on 4 ranks, and not on 8 and 16, which share cores; messages on all.
    assert agreed("hoefler2008-fig8", few) == [True, None, None, True, True, True]
