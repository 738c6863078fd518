"""Pictures: what is drawn is what the data say, and nothing is drawn where they say nothing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import netCDF4
import numpy as np
import pytest
import xarray as xr
from downbeat.comparison.summaries import MAX_OPERATIONS, described_cells, described_operations
from downbeat.data import exit_patterns
from downbeat.data.cells import Factors
from downbeat.data.exit_patterns import exit_pattern
from downbeat.report.clock_pictures import draw_drift, draw_edges, draw_pareto, draw_round_trips, pareto_front
from downbeat.report.compared import contrast_of
from downbeat.report.drawing import make_picture, numbers_of
from downbeat.report.instants import draw_pattern_file, draw_patterns, draw_skew_file, draw_skews, draw_timelines
from downbeat.report.latency import (
    draw_computation_overlap,
    draw_contrast,
    draw_heat_maps,
    draw_late_arrival,
    draw_processes,
    draw_starts,
)
from downbeat.report.launches import draw_checks, draw_launches, draw_run_times
from downbeat.report.panel import Dots, Heat, Line, Panel, Timeline, box_of
from downbeat.report.pictures import OF_EXPERIMENTS
from downbeat.report.style import MAX_PANELS, positions
from downbeat.run.experiment import Experiment, open_experiment
from downbeat.text import bytes_text
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from launch_files import Cell
from report_data import SPREAD, US, add_overlaps, barrier_cells, cell, write_experiment

EXACT = 1e-9


def line(panel: Panel, label: str) -> tuple[object, object]:
    """Returns the abscissas and ordinates of the line with this label."""
    return np.asarray(panel.lines[label].x, float).tolist(), np.asarray(panel.lines[label].y, float).tolist()


def test_panels_draw_what_they_are_given() -> None:
    one = Line("a", [2, 4], [1.5, 3.0], [1.0, 2.0], [2.0, 4.0])
    two = Line("b", [2, 4], [10.0, 20.0], style=":")
    panel = Panel([one, two], "ranks", "time [us]", x_scale="positions", y_scale="log")
    picture = make_picture("p", "t", "c", [panel])
    drawn = [one for one in picture.figure.axes[0].get_lines() if one.get_label() in ("a", "b")]
    assert [list(map(float, line.get_ydata())) for line in drawn] == [[1.5, 3.0], [10.0, 20.0]]  # type: ignore[arg-type]
    assert picture.numbers["time [us]"].tolist() == [1.5, 3.0, 10.0, 20.0]
    assert picture.numbers["low"].tolist()[:2] == [1.0, 2.0]


@given(arrays.arrays(float, 9, elements=st.integers(0, 50)))
def test_a_box_has_all_values(values: np.ndarray) -> None:
    box = box_of("g", "a", values)
    assert (box.median, *box.box) == tuple(np.percentile(values, [50, 25, 75]))
    assert box.whiskers[0] <= box.box[0] <= box.box[1] <= box.whiskers[1]
    numbers = numbers_of([Panel([box], "n", "time")])
    assert numbers[["min", "max", "values"]].to_numpy().tolist() == [[values.min(), values.max(), len(values)]]


def test_latency_against_size_is_the_geometric_mean_of_launch_medians(tmp_path: Path) -> None:
    experiment = write_experiment(tmp_path, [barrier_cells(factor) for factor in (1, 2, 4)])
    picture, ratios = draw_contrast(experiment)
    assert (picture.name, ratios.name, len(picture.panels)) == ("latency_by_size", "barrier_ratio", 1)
    x, y = line(picture.panels[0], "MPI_Barrier")
    assert x == [8, 64, 1024]
    assert y == pytest.approx([1.2 * 2 * (10 + size / 64) for size in (8, 64, 1024)], EXACT)
    first = picture.numbers[picture.numbers["synchronizer"] == "harmonize"].iloc[0]
    assert first["mean_us"] == pytest.approx(2 * 10.125 * SPREAD.mean(), EXACT)
    assert first["p95_us"] == pytest.approx(2 * 10.125 * np.percentile(SPREAD, 95), EXACT)
    # t of 2 degrees of freedom, standard deviation of the logs log 2.
    assert first["high_us"] == pytest.approx(2 * 10.125 * np.exp(4.302652730 * np.log(2) / np.sqrt(3)), 1e-6)


def test_latency_against_processes(tmp_path: Path) -> None:
    launches = [[cell(10.0 * ranks, ranks=ranks)] for ranks in (2, 4, 8)]
    (picture,) = draw_processes(write_experiment(tmp_path, launches))
    assert line(picture.panels[0], "common start") == ([2, 4, 8], pytest.approx([20, 40, 80], EXACT))


def test_delta_is_paired_by_launch(tmp_path: Path) -> None:
    # Launches differ by a factor of ten, and delta in none of them.
    experiment = write_experiment(tmp_path, [barrier_cells(factor) for factor in (1, 10, 3)])
    _, picture = draw_contrast(experiment)
    assert line(picture.panels[0], "MPI_Barrier") == ([8, 64, 1024], pytest.approx([1.2] * 3, EXACT))
    assert picture.numbers["high"].tolist() == pytest.approx([1.2] * 3, EXACT)


def two_variants(directory: Path, factors: Sequence[float], variants: Sequence[str] = ("a", "b")) -> Experiment:
    """Returns an experiment whose variants take 1 and 3 times as long, beside barriers that double all."""
    launches = []
    for place, variant in enumerate(variants):
        for number, factor in enumerate(factors, 1):
            cells = barrier_cells(factor * (1 + 2 * place), 2.0, ("bcast", "barrier"))
            kept = [one for one in cells if one.operation == "bcast" or one.size == 8]
            lone = write_experiment(directory / f"{variant}{number}", [kept])
            launches.append(replace(lone.launches[0], variant=variant, number=number))
    return Experiment(directory, "e", tuple(launches), None, ())


def test_what_a_user_compares_comes_before_the_barrier(tmp_path: Path) -> None:
    experiment = two_variants(tmp_path, (1, 1.01, 0.99, 1, 1.02))
    contrast = contrast_of(experiment)
    assert (contrast.factor, contrast.sides, contrast.start) == ("variant", ("a", "b"), "harmonize")
    pictures = draw_contrast(experiment)
    names = ["latency_by_size", "latency", "variant_ratio", "variant_ratio-others"]
    assert [picture.name for picture in pictures] == names
    latencies, others, ratios, ratio = pictures
    assert [list(panel.lines) for panel in latencies.panels] == [["a", "b"]]
    assert [len(panel.marks) for panel in (others.panels[0], ratio.panels[0])] == [2, 1]  # no panel of a single dot
    assert line(ratios.panels[0], "b")[1] == pytest.approx([3] * 3, rel=1e-6)
    assert (ratios.panels[0].y, ratio.panels[0].x) == ("b / a", "b / a")
    (barrier, *_) = draw_starts(experiment)
    assert barrier.name == "barrier_ratio"
    assert barrier.numbers["ratio"].tolist() == pytest.approx([2] * 8, rel=1e-6)


def test_pictures_have_a_panel_for_each_state(tmp_path: Path) -> None:
    fast, slow = (cast(dict[str, Any], {"canary_low": trip, "canary_high": trip}) for trip in (50e-9, 300e-9))
    launches = [
        [cell(latency, size=size, **state) for size in (8, 64, 512)]
        for latency, state in ((10, fast), (10, fast), (90, slow))
    ]
    experiment = write_experiment(tmp_path, launches)
    picture = draw_contrast(experiment)[0]
    for panel, latency, state in zip(picture.panels, (10, 90), ("50ns", "300ns"), strict=True):
        assert line(panel, "common start")[1] == pytest.approx([latency] * 3)
        assert state in panel.title
    assert sorted(picture.numbers["median_us"]) == pytest.approx([10] * 3 + [90] * 3)


def test_heat_map_has_the_values_written_in(tmp_path: Path) -> None:
    latency = {
        ("linear", "default"): 3.0,
        ("linear", "tree"): 4.0,
        ("binary", "default"): 5.0,
        ("binary", "tree"): 60.0,
    }
    cells = [
        cell(value, "reduce", synchronizer="mpi_barrier", algorithm=algorithm, barrier_algorithm=barrier)
        for (algorithm, barrier), value in latency.items()
    ]
    (picture,) = draw_heat_maps(write_experiment(tmp_path, [cells]))
    (heat,) = picture.panels[0].marks
    assert isinstance(heat, Heat)
    assert heat.values.to_numpy().tolist() == [pytest.approx([3, 4]), pytest.approx([5, 60])]
    assert list(heat.values.columns) == ["MPI_Barrier", "MPI_Barrier[tree]"]


def test_exit_skew_quantiles_and_what_the_clock_cannot_tell_apart(tmp_path: Path) -> None:
    cells = [cell(10, synchronizer="mpi_barrier", skew_us=0.5), cell(10, skew_us=0.02, error_bound=30e-9)]
    (picture,) = draw_skews(write_experiment(tmp_path, [cells]))
    assert picture.numbers["median_us"].tolist() == pytest.approx([0.5, 0.02], 1e-6)
    assert picture.panels[0].x_at == pytest.approx(0.06)


def test_exit_pattern_is_each_ranks_mean_after_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = np.array([[1.0, 4.0, 2.0], [7.0, 6.0, 9.0], [0.0, 0.0, 50.0]]) * US
    one = Cell(entry + np.array([0, 10 * US, 0]), entry + 1, verdict=[0, 0, 1], delay=[0, 10 * US, 0])
    experiment = write_experiment(tmp_path, [[one, cell(1, operation="reduce", ranks=3, skew_us=0)]])
    expected = pytest.approx([0.5e-6, 1.5e-6, 2e-6, 0, 0, 0], abs=1e-12)
    assert exit_pattern(experiment.launches[0].path).exit_s.tolist() == expected
    monkeypatch.setattr(exit_patterns, "CHUNK_BYTES", 1)
    assert exit_pattern(experiment.launches[0].path).exit_s.tolist() == expected
    (picture,) = draw_patterns(experiment)
    # Two cells behind the same synchronizer: what follows it does not matter.
    assert line(picture.panels[0], "common start") == ([0, 1, 2], pytest.approx([0.25, 0.75, 1.0], abs=1e-6))


def test_a_launch_that_slows_down_rises(tmp_path: Path) -> None:
    begin = np.linspace(0, 1, 800)[:, None] * np.ones(2)
    latency = np.where(begin < 0.5, 10 * US, 30 * US)
    (picture,) = draw_run_times(write_experiment(tmp_path, [[Cell(begin, begin + latency)]]))
    numbers = picture.numbers
    assert numbers["relative"].tolist() == pytest.approx([0.5] * 20 + [1.5] * 20, 1e-6)
    assert numbers["time_s"].iloc[-1] == pytest.approx(39.5 / 40)
    assert int(numbers["samples"].sum()) == 800


def test_launches_are_shown_where_they_differ_most(tmp_path: Path) -> None:
    launches = [[cell(10, size=8), cell(20 * factor, size=64)] for factor in (1, 1.5, 0.8)]
    (picture,) = draw_launches(write_experiment(tmp_path, launches))
    assert line(picture.panels[0], "common start") == ([1, 2, 3], pytest.approx([20, 30, 16], EXACT))
    assert "64 bytes" in picture.panels[0].title
    spread = picture.numbers.set_index("size_bytes")
    assert spread.loc[8, "between_launches_percent"] == pytest.approx(0, abs=1e-6)
    assert spread.loc[64, "between_launches_percent"] == pytest.approx(
        100 * np.std(np.log([1, 1.5, 0.8]), ddof=1), 1e-6
    )
    assert spread.loc[64, "within_launches_percent"] == pytest.approx(5, 1e-6)


def test_late_arrival_by_equation_5(tmp_path: Path) -> None:
    # Without a delay 4 us; with one of 10 us 12 us: 2 of 4 us are hidden.
    together = Cell([[0.0, 0.0]], [[4 * US, 4 * US]])
    late = Cell([[0.0, 10 * US]], [[12 * US, 12 * US]], other={"pattern": "one_late", "largest_delay": 10 * US})
    curves, benefits = draw_late_arrival(write_experiment(tmp_path, [[together, late]] * 2))
    assert line(curves.panels[0], "one_late") == (pytest.approx([10]), pytest.approx([12]))
    assert curves.numbers["without_delay_us"].tolist() == pytest.approx([4])
    assert benefits.numbers["benefit"].tolist() == pytest.approx([2 / 12])
    assert benefits.numbers["share"].tolist() == pytest.approx([2 / 4])


def test_delays_that_are_multiples_of_the_time_belong_together(tmp_path: Path) -> None:
    launches = []
    for delay in (10 * US, 11 * US):
        late = Cell([[0.0, delay]], [[20 * US, 20 * US]], other={"pattern": "one_late", "largest_delay": delay})
        launches.append([Cell([[0.0, 0.0]], [[4 * US, 4 * US]]), late])
    curves, _ = draw_late_arrival(write_experiment(tmp_path, launches))
    assert curves.numbers[["delay_us", "launches"]].to_numpy().tolist() == [[pytest.approx(10.5), 2]]


def test_overlap_with_computation_is_the_mean_over_launches(tmp_path: Path) -> None:
    cells = [cell(5, "ibcast(compute=auto)", size, computation=9 * US) for size in (8, 64)]
    write_experiment(tmp_path, [[*cells, cell(5)]] * 2)
    add_overlaps(tmp_path / "001.nc", [0.2, 0.4, np.nan])
    add_overlaps(tmp_path / "002.nc", [0.4, 0.6, np.nan])
    (picture,) = draw_computation_overlap(open_experiment(tmp_path))
    assert line(picture.panels[0], "OSU") == ([8, 64], pytest.approx([30, 50]))
    assert line(picture.panels[0], "from the common start") == ([8, 64], pytest.approx([10, 30]))


def test_timelines_show_the_median_and_the_worst_sample(tmp_path: Path) -> None:
    (picture,) = draw_timelines(write_experiment(tmp_path, [[cell(10, skew_us=2)]]))
    bars = picture.numbers.set_index(["sample", "rank", "phase"])[["begin_us", "end_us"]].T.to_dict("list")
    # Into the synchronizer 1 us before the entry; the deadline is decided 1 us before it; ranks enter 0 and 2 us after.
    assert bars["median", 0, "operation"] == pytest.approx([0, 10], abs=1e-3)
    assert bars["worst", 1, "operation"] == pytest.approx([2, 2 + 13.5], abs=1e-3)
    assert bars["median", 1, "wait"] == pytest.approx([1, 2], abs=1e-3)
    (worst,) = picture.panels[1].marks
    assert isinstance(worst, Timeline)
    assert (worst.bars["end_us"] - worst.bars["begin_us"]).max() == pytest.approx(13.5, abs=1e-3)


def test_clock_checks_tell_launches_outside(tmp_path: Path) -> None:
    write_experiment(
        tmp_path,
        [[cell(5)]] * 2,
        clock_check_offset_s="-3e-8",
        clock_check_allowed_s="2e-7",
        clock_check_ranks_outside=0,
    )
    (picture,) = draw_checks(open_experiment(tmp_path))
    assert picture.numbers["offset_us"].tolist() == pytest.approx([0.03, 0.03])
    assert draw_checks(write_experiment(tmp_path / "none", [[cell(5)]] * 2)) == []


@given(arrays.arrays(float, (6, 2), elements=st.integers(1, 5)))
def test_the_front_is_what_nothing_is_better_than(points: np.ndarray) -> None:
    def beaten(one: np.ndarray) -> bool:
        return any((other <= one).all() and (other < one).any() for other in points)

    assert pareto_front(points[:, 0], points[:, 1]).tolist() == [not beaten(one) for one in points]


def test_pareto_takes_true_errors_where_there_are_any() -> None:
    data = xr.Dataset(
        {
            "duration_median": ("scheme", [1e-5, 1e-3, 1e-2]),
            "offset_max": (("scheme", "wait"), [[9e-6], [9e-6], [9e-6]]),
            "true_max": (("scheme", "wait"), [[3e-6], [1e-6], [2e-6]]),
        },
        coords={"scheme": ["a", "b", "c"], "wait": [0.0]},
    )
    (picture,) = draw_pareto(data)
    assert picture.numbers["error_us"].tolist() == pytest.approx([3, 1, 2])
    assert picture.numbers["on_front"].tolist() == [True, True, False]
    assert [text for _, _, text in picture.panels[0].notes] == ["a", "b"]  # those of the front


def test_a_path_that_lies_is_the_largest_dot() -> None:
    columns = {"scheme": ["a"] * 4, "rank": [0, 1, 2, 1], "partner": [1, 0, 1, 2], "residual": [0.0, 1e-8, -5e-6, 1e-7]}
    data = xr.Dataset({f"edge_{name}": ("edge", values) for name, values in columns.items()})
    (picture,) = draw_edges(data)
    (dots,) = picture.panels[0].marks
    assert isinstance(dots, Dots)
    x, y, values = map(np.asarray, (dots.x, dots.y, dots.values))
    largest = int(np.argmax(np.abs(values)))
    assert (x[largest], y[largest], values[largest]) == (2, 1, pytest.approx(-5))
    assert draw_edges(data.drop_vars("edge_residual")) == []


def test_drift_is_drawn_as_recorded() -> None:
    dims = ("pair", "time")
    data = xr.Dataset(
        {"drift": (dims, [[0.0, 5e-6]]), "residual": (dims, [[0.0, 1e-7]]), "offset_bound": (dims, [[2e-7, 2e-7]])},
        coords={"pair": ["0:1"], "time": [0.0, 10.0]},
    )
    (picture,) = draw_drift(data)
    assert line(picture.panels[0], "ranks 0:1") == ([0, 10], pytest.approx([0, 5]))


def test_round_trips_are_the_histogram() -> None:
    data = xr.Dataset(
        {
            "rtt_median": ("pair", [1e-6]),
            "histogram_left": (("pair", "bin"), [[1e-6, 2e-6, 3e-6]]),
            "histogram_count": (("pair", "bin"), [[7, 0, 5]]),
            "histogram_width": ("pair", [1e-6]),
        },
        coords={"pair": ["0:1"]},
    )
    (picture,) = draw_round_trips(data)
    assert line(picture.panels[0], "") == (pytest.approx([1, 2, 3, 4]), [7, 0, 5, 0])


def test_a_file_of_skews() -> None:
    quantiles = {
        f"skew_{name}": ("synchronizer", [1e-6 * place, 2e-6 * place])
        for place, name in enumerate(("p5", "p25", "median", "p75", "p95", "p99"), 1)
    }
    data = xr.Dataset(
        quantiles
        | {
            "error_bound": ("synchronizer", [1e-7, 1e-7]),
            "exit_mean": (("synchronizer", "rank"), [[0.0, 3e-6, 1e-6], [1e-6, 0.0, 0.0]]),
            "exit_half": (("synchronizer", "rank"), [[0.0, 1e-7, 1e-7], [1e-7, 0.0, 0.0]]),
        },
        coords={"synchronizer": ["tree", "harmonize"], "rank": [0, 1, 2]},
    )
    (skews,), (pattern,) = draw_skew_file(data), draw_pattern_file(data)
    assert skews.numbers["median_us"].tolist() == pytest.approx([3, 6])
    assert line(pattern.panels[0], "tree") == ([0, 1, 2], pytest.approx([0, 3, 1]))
    assert draw_pattern_file(data.isel(rank=[0, 1])) == []  # of two ranks the exit skew says it all


def test_only_what_the_data_have_is_drawn(tmp_path: Path) -> None:
    names = [picture.name for draw in OF_EXPERIMENTS for picture in draw(write_experiment(tmp_path / "2", [[cell(5)]]))]
    assert names == ["latency", "exit_skew", "timelines-bcast"]
    three = write_experiment(tmp_path / "3", [[cell(5, ranks=3)]])
    names = [picture.name for draw in OF_EXPERIMENTS for picture in draw(three)]
    assert names == ["latency", "exit_skew", "exit_pattern", "timelines-bcast"]


def test_a_single_rank_has_no_skew_and_no_valid_sample_no_picture(tmp_path: Path) -> None:
    alone = write_experiment(tmp_path / "alone", [[cell(5, ranks=1)]])
    assert [picture.name for draw in OF_EXPERIMENTS for picture in draw(alone)] == ["latency", "timelines-bcast"]
    rejected = Cell(np.ones((3, 2)), np.ones((3, 2)) + US, verdict=1, other={"status": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        failed = write_experiment(tmp_path / "failed", [[rejected]] * 3)
        assert [picture.name for draw in OF_EXPERIMENTS for picture in draw(failed)] == []


def test_what_takes_no_time_has_no_logarithm_and_no_point(tmp_path: Path) -> None:
    (picture,) = draw_contrast(
        write_experiment(tmp_path, [[cell(0, "nothing", 0), cell(5, "nothing", 0, "mpi_barrier")]])
    )
    assert picture.numbers.set_index("synchronizer")["median_us"].isna().to_dict() == {
        "harmonize": True,
        "mpi_barrier": False,
    }


def test_names_of_cells() -> None:
    names = ("operation", "synchronizer", "barrier_algorithm", "timing", "size", "ranks", "library")
    values = (
        ("a", "mpi_barrier", "default", "per_call", 8, 2, "x"),
        ("a", "mpi_barrier", "tree", "batch", 65536, 4, "x"),
        ("b", "harmonize", "default", "per_call", 0, 4, "x"),
    )
    cells = Factors.of_rows([dict(zip(names, row, strict=True)) for row in values])
    assert cells.started_by.tolist() == ["mpi_barrier", "mpi_barrier[tree], batch", "harmonize"]
    assert described_cells(cells, ["library", "ranks", "size"]).tolist() == [
        "2 ranks, 8 bytes",
        "4 ranks, 64K bytes",
        "4 ranks, no message",
    ]
    assert described_operations(cells, ["ranks"]).tolist() == ["a, 2 ranks", "a, 4 ranks", "b"]
    assert [bytes_text(size) for size in (8, 1000, 1024, 1536, 1 << 20)] == ["8", "1000", "1K", "1536", "1M"]


@given(st.lists(st.sampled_from(["mpi_barrier", "harmonize", "tree", "bruck", "linear"])))
def test_lines_of_a_picture_have_places_of_their_own(names: list[str]) -> None:
    places = positions(names)
    assert set(places) == set(names)
    assert len(set(places.values())) == len(places)


def test_a_single_rank_is_in_no_picture_of_leaving_together(tmp_path: Path) -> None:
    experiment = write_experiment(tmp_path, [[cell(5, ranks=1)], [cell(5, ranks=3)]])
    (skews,), (pattern,) = draw_skews(experiment), draw_patterns(experiment)
    assert [len(picture.panels) for picture in (skews, pattern)] == [1, 1]
    # Three ranks show more than one.
    (timelines,) = draw_timelines(experiment)
    assert timelines.numbers["rank"].max() == 2 and "3 ranks" in timelines.caption


def test_intervals_of_what_cannot_be_negative_are_cut_off_at_0(tmp_path: Path) -> None:
    experiment = write_experiment(tmp_path, [[cell(5, skew_us=skew, ranks=3)] for skew in (0.1, 0.1, 90)])
    (picture,) = draw_patterns(experiment)
    last = picture.numbers.set_index("rank").loc[2]
    assert last["exit_us"] == pytest.approx(90.2 / 3, abs=1e-3) and last["low_us"] == 0 < last["high_us"]
    (picture,) = draw_patterns(write_experiment(tmp_path / "one", [[cell(5, ranks=3)]]))
    assert picture.numbers["low_us"].isna().all()


def timed(seconds: float, count: int = 800) -> Cell:
    """Returns a cell of samples spread evenly over a time, all of the same latency."""
    begin = np.linspace(0, seconds, count)[:, None] * np.ones(2)
    return Cell(begin, begin + 10 * US)


def test_what_one_long_launch_has_beyond_the_others_is_no_median_over_launches(tmp_path: Path) -> None:
    (picture,) = draw_run_times(write_experiment(tmp_path, [[timed(1)], [timed(1)], [timed(2, 1600)]]))
    panel = picture.panels[0]
    time, _ = line(panel, "median over launches")
    assert max(time) == pytest.approx(39.5 / 40)  # type: ignore[call-overload]
    assert panel.x_limits is not None and panel.x_limits[1] < 1.3
    assert picture.numbers["time_s"].max() == pytest.approx(2, abs=0.05)
    assert panel.y_limits is not None and panel.y_limits[0] <= 0.98 and panel.y_limits[1] >= 1.02


def test_few_samples_have_no_course_over_time_and_a_gap_no_line(tmp_path: Path) -> None:
    assert draw_run_times(write_experiment(tmp_path / "few", [[timed(1, 99)]])) == []
    begin = np.concatenate([np.linspace(0, 1, 400), np.linspace(3, 4, 400)])[:, None] * np.ones(2)
    latency = np.where(np.arange(800) < 40, 10_000 * US, 10 * US)[:, None]  # a pause at the beginning
    (picture,) = draw_run_times(write_experiment(tmp_path, [[Cell(begin, begin + latency)]]))
    _, y = line(picture.panels[0], "the launch")
    # From 1 s to 3 s of 4 s: half of the bins, but for those at the edges.
    assert 18 <= np.isnan(y).sum() <= 20  # type: ignore[call-overload]


def test_a_long_wait_before_a_sample_leaves_room_for_the_sample(tmp_path: Path) -> None:
    launch = write_experiment(tmp_path, [[cell(10)]]).launches[0]
    with netCDF4.Dataset(launch.path, "a") as file:
        file["sync_entry"][:] = file["entry"][:] - 5e-3
    (picture,) = draw_timelines(open_experiment(tmp_path))
    left, right = picture.panels[0].x_limits or (0.0, 0.0)
    assert left == pytest.approx(-6 * 10.5, rel=0.05) and right > 10
    assert picture.numbers["begin_us"].min() == pytest.approx(-5000, rel=1e-2)


def test_an_overlap_of_minus_thousands_does_not_hide_the_others(tmp_path: Path) -> None:
    write_experiment(tmp_path, [[cell(5, "ibcast(compute=auto)", size, computation=9 * US) for size in (8, 64)]])
    add_overlaps(tmp_path / "001.nc", [0.5, -50])
    (picture,) = draw_computation_overlap(open_experiment(tmp_path))
    assert picture.panels[0].y_limits is not None and picture.panels[0].y_limits[0] >= -110
    assert picture.numbers["overlap_percent"].min() < -5000 < 0


def test_many_operations_and_panels_do_not_make_a_page_of_megabytes(tmp_path: Path) -> None:
    operations = [f"operation_{number}" for number in range(MAX_PANELS + 1)]
    experiment = write_experiment(tmp_path, [barrier_cells(1, operations=operations)])
    _, ratios = draw_contrast(experiment)
    assert len(ratios.panels) == MAX_PANELS and ratios.numbers["cell"].nunique() == MAX_PANELS + 1
    assert ratios.caption.endswith("The first 12 of 13 panels are drawn; the numbers are of all.")
    assert len(draw_timelines(experiment)) == MAX_OPERATIONS
