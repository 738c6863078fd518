"""Kinds of figures: launches, measures and pictures, on data whose answer is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from downbeat.data.cells import VERDICTS
from downbeat.data.launch_file import open_launch
from downbeat.report.panel import Timeline
from downbeat.run.experiment import Launch
from downbeat_papers.claims import Finding, Measure, evidence_of
from downbeat_papers.draw import median_sample
from downbeat_papers.figure import FIGURES
from downbeat_papers.judgement import judge
from downbeat_papers.kinds import clocks, late_arrival, over_time, round_trips, scaling
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
from downbeat_papers.kinds.logp import LogP, fit_model
from downbeat_papers.results import LATENCY, MEDIAN, Results, launch_values
from launch_files import Cell, write_launch
from papers_site import site
from scipy import stats

from tests.statistics.shapes import BENEFITS, drift_files
from tests.statistics.worlds import WORLDS, Maker, SimulatedResults, results_of, run_of, skews, time_world

SCATTER = (1.0, 1.03, 0.96, 1.01, 0.99)  # of five launches


def agreed(figure: str, results: Results) -> list[bool | None]:
    """Returns what becomes of the claims of a figure, numbers to compare left out."""
    return [one.agrees for one in judge(FIGURES[figure].findings(results)) if one.finding.is_claim]


def with_cells(cells: pd.DataFrame, ranks: int = 4, cores: int = 4) -> SimulatedResults:
    return dataclasses.replace(results_of([run_of("openmpi-n4", ranks)], cells), site=site((ranks,), cores))


def test_the_median_sample_is_chosen_and_drawn_from_the_first_exit_on(tmp_path: Path) -> None:
    entry = np.array([[10.0, 10.0], [20.0, 20.0 + 1e-6], [30.0, 30.0 + 2e-6]])
    cell = Cell(entry, entry + np.array([[5e-6], [1e-6], [3e-6]]), verdict=0)
    with open_launch(write_launch(tmp_path / "a.nc", [cell])) as data:
        line = median_sample(data, 0, "latency_avg")
        assert line is not None
        assert median_sample(data, 1, "latency_avg") is None
    assert line.entry == pytest.approx([0.0, 2.0], abs=1e-6)
    assert line.exit == pytest.approx([3.0, 5.0], abs=1e-6)
    assert [line.spread, line.mean] == pytest.approx([2.0, 3.0], abs=1e-6)
    (timeline,) = line.panel("x").marks
    assert isinstance(timeline, Timeline)
    bars = timeline.bars.query("phase == 'operation'")
    assert bars[["begin_us", "end_us"]].to_numpy().tolist() == [
        pytest.approx(one, abs=1e-6) for one in ([0, 3], [2, 5])
    ]


# Schuchart 2023 and Hoefler 2008.


def line_cells(value: Callable[[str, str, int, int], float], counts: Sequence[int] = (4,)) -> pd.DataFrame:
    """Returns cells of bcast by algorithm, synchronizer, ranks and launch; values are latencies in us."""
    rows = [
        {
            "label": f"{'mpich' if name == 'mpich' else 'openmpi'}-n{ranks}",
            "operation": "bcast",
            "algorithm": "default" if name == "mpich" else name,
            "synchronizer": sync,
            "ranks": ranks,
            "size": 4,
            "launch": launch,
            LATENCY: 1e-6 * value(name, sync, ranks, launch),
        }
        for name in ("mpich", "default", "knomial", "binomial")
        for sync in ("mpi_barrier", "harmonize")
        for ranks in counts
        for launch in range(5)
    ]
    return pd.DataFrame(rows)


def test_delta_is_paired_within_launches() -> None:
    cells = line_cells(lambda _, sync, __, launch: (launch + 1) * (launch + 2 if sync == "mpi_barrier" else 1))
    frame = scaling.deltas(scaling.with_lines(cells, "bcast"))
    assert frame[frame["line"] == "knomial"]["delta"].tolist() == pytest.approx([2, 3, 4, 5, 6])


@pytest.mark.parametrize("ranks", [2, 4])
def test_on_two_ranks_nothing_is_said_of_algorithms_that_send_the_same_message(ranks: int) -> None:
    def slow(name: str, sync: str, _: int, launch: int) -> float:
        return SCATTER[(launch + len(name) + len(sync)) % 5] * (2 if sync == "mpi_barrier" else 1)

    claims = agreed("schuchart2023-fig9", with_cells(line_cells(slow), ranks))
    assert claims == [False, True, True if ranks > 2 else None]


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
    assert [panel.y for panel in picture.panels] == ["exit skew [us]", "sigma [us]"]
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
    label = next(label for label in apart.have() if apart.run(label).ranks == apart.site.full)

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


def test_message_and_process_scaling_have_the_papers_number_and_medians_beside_it() -> None:
    deviation = np.std([10, 11, 12], ddof=1)

    def numbers(name: str, slowed: str) -> pd.DataFrame:
        results = WORLDS[name](Maker(np.random.default_rng(1), 3, effect=True))
        rows = results.cells.query(slowed).index
        results.cells.loc[rows, LATENCY] = results.cells.loc[rows, "launch"] * 1e-6 + 9e-6
        results.cells.loc[rows, MEDIAN] = 0.7e-6
        return FIGURES[name].pictures(results)[0].numbers

    of_linear = "algorithm == 'linear' and synchronizer == 'mpi_barrier'"
    means = numbers("schuchart2023-fig2", f"{of_linear} and barrier_algorithm == 'bruck'")
    assert (means["bruck"][0], means["bruck deviation"][0]) == (pytest.approx(11), pytest.approx(deviation))
    for name, where, unit in (
        ("schuchart2023-fig6", "size == 4", "latency [us]"),
        ("schuchart2023-fig8", "ranks == 2", "average latency [us]"),
    ):
        table = numbers(name, f"{of_linear} and {where}")
        rows = table[table["series"] == "Open MPI linear, barrier"].groupby("panel").first()
        shown = rows.loc[["mean of means, as in the paper", "medians"], [unit, "low", "high"]].to_numpy().tolist()
        assert shown[0] == pytest.approx([11, 11 - deviation, 11 + deviation])
        assert shown[1] == pytest.approx([0.7] * 3)


# Hunold 2015.


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


@pytest.mark.parametrize(("slower", "agrees"), [("batch_synced", False), ("window", True)])
def test_figure_2_compares_schemes_that_time_the_call_alone(slower: str, agrees: bool) -> None:
    """Scheme (3) times a barrier with each call: that it takes longer says nothing of the scheme."""
    random = np.random.default_rng(1)
    rows = []
    for operation in ("bcast", "allreduce"):
        for timing in ("per_call", "batch", "batch_synced", "window"):
            for launch in range(5):
                time = 1e-6 * random.lognormal(0, 0.01) * (2 if timing == slower else 1)
                cell = {"operation": operation, "size": 8, "launch": launch, "timing": timing}
                cell["synchronizer"] = "window" if timing == "window" else "mpi_barrier"
                rows.append(cell | {"latency_max_median": time, "global_time_median": time})
    results = results_of([run_of("schemes")], pd.DataFrame(rows))
    findings = FIGURES["hunold2015-fig2"].findings(results)
    assert [one.agrees for one in judge(findings)] == [agrees] * 2
    assert "(1) / (4)" in findings[0].here
    assert "(3) /" not in findings[0].here
    (table,) = FIGURES["hunold2015-fig2"].tables
    assert table.frame.set_index("benchmark name")["timing"]["SKaMPI"] == "per_call, window"


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (("openmpi", "openmpi5", "mpich", "mpich5", "intelmpi"), ["intelmpi", "mpich5"]),
        (("openmpi", "mpich"), ["mpich", "openmpi"]),
        (("openmpi", "intelmpi"), ["intelmpi", "openmpi"]),
        (("openmpi", "openmpi5"), ["openmpi", "openmpi5"]),
        (("openmpi",), ["openmpi"]),
    ],
)
def test_any_two_libraries_are_compared(names: tuple[str, ...], taken: list[str]) -> None:
    at = site((2,), 2, dict.fromkeys(names, "bench"))
    for number in (4, 5):
        assert [run.library for run in FIGURES[f"hunold2015-fig{number}"].runs(at)] == taken


@pytest.mark.parametrize("name", ["schuchart2023-fig6", "schuchart2023-fig8", "schuchart2023-sec66"])
def test_the_papers_mpix_harmonize_is_drawn_beside_ours_and_judged(name: str) -> None:
    figure = FIGURES[name]
    ours, paper = (WORLDS[name](Maker(np.random.default_rng(1), 5, effect)) for effect in (False, True))
    place = dataclasses.replace(paper.site, published=True)
    runs = figure.runs(place)
    published = {run.label for run in runs if run.variables == {"DOWNBEAT_PUBLISHED": "schuchart2023"}}
    assert published == {f"{run.label}-published" for run in paper.runs}
    assert all((run.options.get("tolerance") == "1") == (run.label in published) for run in runs)
    theirs = paper.cells.assign(label=paper.cells["label"].astype(str) + "-published")
    made = results_of(runs, pd.concat([ours.cells, theirs], ignore_index=True))
    results = dataclasses.replace(made, site=place)
    assert agreed(name, results) == agreed(name, paper) != agreed(name, ours)
    assert set(agreed(name, dataclasses.replace(results, table=ours.cells))) == {None}  # the paper's launches failed
    pictures, own = figure.pictures(results), figure.pictures(paper)
    assert [one.name for one in pictures] == [f"{one.name}{end}" for end in ("", "-published") for one in own]
    labels = [{name for panel in one.panels for name in panel.lines} for one in pictures]
    assert "Open MPI default, harmonize" in labels[0] and "Open MPI default, published" in labels[len(own)]


@pytest.mark.parametrize("other", ["intelmpi", "openmpi"])
def test_the_base_of_hunolds_figure_5_is_mpich_wherever_it_stands(other: str) -> None:
    made = WORLDS["hunold2015-fig5"](Maker(np.random.default_rng(1), 3, effect=True))
    there = site((8,), 8, {"mpich5": "bench", other: "bench"})
    results = dataclasses.replace(made, site=there, table=made.cells.replace({"library": {"intelmpi": other}}))
    (picture,) = FIGURES["hunold2015-fig5"].pictures(results)
    numbers = picture.numbers.set_index("of")["median"]
    assert numbers["MPICH (for MVAPICH)"].to_numpy() == pytest.approx(1.0)


def test_the_pareto_frontier_is_what_no_scheme_beats_in_both() -> None:
    def launches(values: Sequence[float]) -> dict[str, np.ndarray]:
        return {name: np.array([value] * 3) for name, value in zip("abcde", values, strict=True)}

    choices = clocks.Choices(launches([1, 2, 3, 4, 4]), launches([80, 90, 10, 10, 5]), np.ones(3))
    assert choices.frontier() == ["a", "c", "e"]
    short = ("jk(fit=100,over=0,offset=mean_rtt(exchanges=30))", "hca", "skampi")
    assert [clocks.short_scheme(one) for one in short] == ["jk (100, 30)", "hca, over 1 s", "skampi"]


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


# Hoefler 2008.


@pytest.mark.parametrize("ranks", [2, 4, 16])
def test_the_model_is_the_papers_and_is_found_in_times_that_follow_it(ranks: int) -> None:
    """On four processes L + 2 g of a single broadcast, (8 g + L) / 3 of three, and rank 0 leaves after 2 g."""
    planted, calls = LogP(np.array([5.0, 7.0]), np.array([1.0, 0.2])), np.array([1.0, 3.0, 10.0, 100.0])
    on_four = [of(4, count).tolist() for of, count in ((planted.last, 1), (planted.last, 3), (planted.root, 1))]
    assert on_four == [pytest.approx(one) for one in ([7.0, 7.4], [13 / 3, 8.6 / 3], [2.0, 0.4])]
    found = fit_model(ranks, calls, np.stack([planted.last(ranks, count) for count in calls], axis=1))
    assert [*found.latency, *found.gap] == pytest.approx([*planted.latency, *planted.gap])


def test_a_late_root_lets_all_wait_and_a_late_rank_waits_less() -> None:
    made = WORLDS["hoefler2008-fig2"](Maker(np.random.default_rng(1), 3, effect=False))
    small, _ = FIGURES["hoefler2008-fig2"].pictures(made)[0].panels
    there = np.asarray(small.lines["the root is late"].y)[0]
    of_root, of_last = (small.lines[f"LogP, {name} is late"] for name in ("the root", "the last rank"))
    assert np.asarray(of_root.y) - np.asarray(of_root.x) == pytest.approx(there)
    assert np.asarray(of_last.y)[[0, -1]] == pytest.approx([there, 0.0])


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


# Niethammer 2016.


def cells_of(
    benefits: Mapping[tuple[str, int, float], Sequence[float]], t0: float = 1.0, pattern: str = "one_late"
) -> pd.DataFrame:
    """Returns cells whose benefits in per cent are given by operation, size and delay in us, a value per launch."""
    rows = []
    for (operation, size, delay), launches in benefits.items():
        for launch, benefit in enumerate(launches, 1):
            cell = {"operation": operation, "size": size, "ranks": 2, "synchronizer": "harmonize", "launch": launch}
            for one, time in {0.0: t0, delay: (t0 + delay) / (1 + benefit / 100)}.items():
                late = {"pattern": pattern if one else "none", "largest_delay": one * 1e-6}
                rows.append(cell | late | {"global_time_min": time * 1e-6, "overlap_benefit_min": benefit / 200})
    return pd.DataFrame(rows).drop_duplicates(["operation", "size", "largest_delay", "launch"])


def test_eq_5_is_beside_what_stamps_make_of_it() -> None:
    row = late_arrival.benefit_table(late_arrival.with_delay(cells_of({("bcast", 8, 50.0): [4.0]}, t0=30.0))).iloc[0]
    t = 80.0 / 1.04
    assert row["equation_5"] == pytest.approx(100 * (30 + 50 - t) / t)
    assert (row["by_stamps"], row["ceiling"], row["t0"]) == tuple(map(pytest.approx, (2.0, 60.0, 30.0)))


def test_both_ways_of_the_paper_and_both_late_ranks_are_drawn() -> None:
    given = {
        (operation, size, delay): [4.0, 5.0]
        for operation in ("bcast", "ibcast")
        for size in (8, 128, 1024)
        for delay in (1.0, 50.0)
    }
    parts = [cells_of(given, t0=30.0).assign(synchronizer=synchronizer) for synchronizer in late_arrival.SYNCHRONIZERS]
    last = cells_of({key: [8.0, 9.0] for key in given}, t0=30.0, pattern="one_late(rank=1)")
    results = with_cells(pd.concat([*parts, last.query("largest_delay > 0")], ignore_index=True), 2)
    (picture,) = FIGURES["niethammer2016-fig16"].pictures(results)
    numbers = picture.numbers.set_index(["panel", "series"])["delay overlap benefit [%]"]
    for title, value in (
        ("Eq. 5, harmonize, 50 us late", 4.5),
        ("by stamps, harmonize, 50 us late", 2.25),
        ("Eq. 5, the last rank 50 us late", 8.5),
        ("by stamps, the last rank 50 us late", 4.25),
        ("MPI_Barrier (Listing 1), 50 us late", 4.5),
        ("roundtime (Listing 2), 50 us late", 4.5),
    ):
        assert numbers[title, "Bcast 8 B"] == pytest.approx(value), title
    (times,) = FIGURES["niethammer2016-fig15"].pictures(results)
    assert set(times.numbers["panel"]) == set(late_arrival.SYNCHRONIZERS.values())


@pytest.mark.parametrize("number", range(5, 17))
def test_each_figure_measures_both_ways_to_start_and_shorter_delays(number: int) -> None:
    figure = FIGURES[f"niethammer2016-fig{number}"]
    assert "does not say by what ranks were synchronized" in figure.setup
    for run in figure.runs(site()):
        assert run.options["sync"] == "harmonize,mpi_barrier,roundtime(lead=1ms)"
        assert {"1us", "50us"} <= set(run.options["delay"].split(","))
        assert run.options["pattern"] == f"one_late,one_late(rank={run.ranks - 1})"


@pytest.mark.parametrize("number", BENEFITS)
def test_no_claim_on_benefits_is_decided_where_they_have_no_room(number: str) -> None:
    """An operation of 0.4 us beside a delay of 50 us: the benefit is 0.8 % at most, and borders are 2.5 and 5 %."""
    made = WORLDS[f"niethammer2016-{number}"](Maker(np.random.default_rng(1), 3, effect=True))
    short = made.cells.assign(
        global_time_min=4e-7 + made.cells["largest_delay"], largest_delay=lambda one: (one["largest_delay"] > 0) * 5e-5
    )
    short = short.drop_duplicates(["synchronizer", "pattern", "operation", "size", "ranks", "largest_delay", "launch"])
    short["global_time_min"] = 4e-7 + short["largest_delay"]
    for finding in FIGURES[f"niethammer2016-{number}"].findings(dataclasses.replace(made, table=short)):
        assert "would be a benefit of 0.8 % here, since the operation takes 0.4 us" in str(finding.evidence)


@pytest.mark.parametrize(
    ("law", "logarithmic", "linear"),
    [(np.log2, True, False), (lambda ranks: ranks, False, True), (lambda ranks: 10 - np.log2(ranks), False, False)],
)
def test_the_law_of_growth_is_that_of_most_of_it(
    law: Callable[[float], float], logarithmic: bool, linear: bool
) -> None:
    random = np.random.default_rng(1)
    counts = (2, 4, 8, 16)
    times = {count: float(law(count)) + random.normal(0, 0.05, 5) for count in counts}
    facts = late_arrival.growth(times, 0.0)
    claim = "growth > 0 us and logarithmic_less_linear_growth {} 0 us"
    names = ("growth", "logarithmic_less_linear_growth")
    measures = {name: facts[name] for name in names}
    agrees = [judge([Finding("", "", "", evidence_of(claim.format(sign), measures))])[0].agrees for sign in "><"]
    assert agrees == [logarithmic, linear]
    few = late_arrival.growth({count: times[count] for count in counts[:3]}, 0.0)["growth"]
    assert "fewer than 4 numbers of ranks" in few.obstacle  # type: ignore[union-attr]


def test_a_doubling_is_judged_where_one_too_long_would_fit_in() -> None:
    for times, agrees in (({2: 10.0, 8: 14.0}, True), ({2: 10.0, 4: 19.0}, False), ({2: 0.5, 4: 0.7}, None)):
        launches = {ranks: time * np.array(SCATTER[:3]) ** 0.1 for ranks, time in times.items()}
        measures = {"per_doubling": late_arrival.growth(launches, 5.0)["per_doubling"]}
        assert judge([Finding("", "", "", evidence_of("per_doubling < 5 us", measures))])[0].agrees is agrees


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
        assert judge([Finding("", "", "", evidence_of("some tree > 0 us", measures))])[0].agrees is agrees
    assert "too few rounds" in tree_less_line(np.ones((5, 4))).obstacle  # type: ignore[union-attr]


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


# Launches that worlds do not make up.


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
    assert ("true errors are not known between nodes" in picture.caption) is not truth
    said = [one.here for one in FIGURES[name].findings(results)]
    assert any("known to within" in here for here in said) is not truth
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


def test_own_times_are_less_the_reading_of_the_clock() -> None:
    rows = [
        (2, "bcast", 8, 5.0),
        (2, "nothing", 0, 1.0),
        (1, "nothing", 0, 0.5),
        (1, "bcast", 8, 3.0),
        (1, "bcast", 64, 9.0),
    ]
    cells = pd.DataFrame(rows, columns=["launch", "operation", "size", "latency"])
    assert launch_values(cells, "latency less nothing", operation="bcast", size=8).to_dict() == {1: 2.5, 2: 4.0}
    assert launch_values(cells, "latency", operation=["nothing"]).to_dict() == {1: 0.5, 2: 1.0}


def test_on_two_ranks_line_and_tree_are_one_and_the_same() -> None:
    results = WORLDS["hoefler2008-fig8"](Maker(np.random.default_rng(1), 5, effect=True))
    few = dataclasses.replace(results, site=site((2, 4, 8, 16), 4))
    findings = FIGURES["hoefler2008-fig8"].findings(few)
    assert [one.claim for one in findings if not one.is_claim] == ["on 2 processes the schemes are one and the same"]
    # Times on 4 ranks, and not on 8 and 16, which share cores; messages on all.
    assert agreed("hoefler2008-fig8", few) == [True, None, None, True, True, True]


@pytest.mark.parametrize(
    ("ranks", "cores", "agrees"), [(16, 16, [True] * 6), (2, 16, [True] * 4 + [None] * 2), (16, 2, [None] * 6)]
)
def test_the_papers_own_matrix_bears_out_its_claims(ranks: int, cores: int, agrees: list[bool | None]) -> None:
    made = WORLDS["schuchart2023-fig2"](Maker(np.random.default_rng(1), 5, effect=True))
    other = dataclasses.replace(made, runs=(run_of("matrix", ranks),), site=site((ranks,), cores))
    assert agreed("schuchart2023-fig2", other) == agrees
