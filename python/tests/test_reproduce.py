"""The figures of the papers: all are there, all run, and drawers draw what the data say."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from downbeat.data.launch_file import open_launch
from downbeat.errors import UsageError
from downbeat.experiment.experiment import Launch
from downbeat.mpi.bench import built
from downbeat.report.page import Section, render_page
from downbeat.reproduce.agreement import above, all_above, all_below, below, every, grows, ratios, some, unanimous
from downbeat.reproduce.drawing.boxes import Box, BoxPanel, draw_boxes
from downbeat.reproduce.drawing.matrix import draw_matrix
from downbeat.reproduce.drawing.panels import Panel, Series, draw_panels, size_text
from downbeat.reproduce.drawing.timeline import draw_timelines, median_sample
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.hunold2015.clock_pareto import short_scheme
from downbeat.reproduce.hunold2015.over_time import binned, rise_finding
from downbeat.reproduce.listing import WIDTH, estimated_total, here, listing
from downbeat.reproduce.niethammer2016.global_time import grows_as, steps_below
from downbeat.reproduce.niethammer2016.offset_table import draw_offset_table
from downbeat.reproduce.niethammer2016.overlap_benefit import (
    mostly_above,
    mostly_positive,
    near_zero,
    nonblocking_better,
    order_of_delays,
    size_matters_not,
)
from downbeat.reproduce.page import definition, figure_section, lack, missing_section, tally, verdict, whole_page
from downbeat.reproduce.perform import perform, seconds_left
from downbeat.reproduce.registry import FIGURES, find_figures, own_data
from downbeat.reproduce.results import Results, over_launches
from downbeat.reproduce.schuchart2023.delta import Claim, claim_findings, deltas, most_affected_finding
from downbeat.reproduce.schuchart2023.library_order import library_finding
from downbeat.reproduce.schuchart2023.process_scaling import draw_processes, knomial_finding, stability
from downbeat.reproduce.schuchart2023.reduce_matrix import MATRIX, draw_reduce_matrix
from downbeat.reproduce.site import Site, parse_ranks, site_at_hand
from downbeat.reproduce.wording import between
from launch_files import Cell, write_launch

# What the figures distinguish: Open MPI, MPICH, Intel MPI.
BENCHES = {name: path for name in ("openmpi", "mpich5", "intelmpi") if (path := built(name))}

# Of Niethammer 2016 Table II besides.
NUMBERS = {
    "schuchart2023": [*range(1, 4), *range(6, 17)],
    "hunold2015": [1, *range(3, 12)],
    "hoefler2008": [4, 5, 6, 8],
    "niethammer2016": [2, 3, *range(5, 17)],
}
NAMES = {f"{paper}-fig{number}" for paper, numbers in NUMBERS.items() for number in numbers} | {"niethammer2016-tab2"}


def site(ranks: tuple[int, ...] = (2, 4), cores: int = 2, benches: dict[str, str] | None = None) -> Site:
    return Site(cores, {"openmpi": "bench", "mpich5": "bench"} if benches is None else benches, ranks)


# Which figures there are.


def test_every_figure_of_the_papers_is_there() -> None:
    assert set(FIGURES) == NAMES
    assert len(NAMES) == 43


def test_figures_that_share_launches_agree_on_them() -> None:
    for figure in FIGURES.values():
        source = own_data(figure)
        assert not source.data, figure.name
        assert figure.runs(site()) == source.runs(site()), figure.name


def test_references_are_as_one_cites() -> None:
    assert FIGURES["schuchart2023-fig2"].reference == "Schuchart 2023, Fig. 2"
    assert FIGURES["niethammer2016-tab2"].reference == "Niethammer 2016, Table II"


def test_labels_of_runs_tell_them_apart_and_can_be_directories() -> None:
    for figure in FIGURES.values():
        labels = [run.label for run in figure.runs(site())]
        assert len(set(labels)) == len(labels), figure.name
        assert not any(set(label) & set("/ ()") for label in labels), figure.name


def test_ranks_that_share_cores_get_a_tolerance_that_lets_them_start() -> None:
    for figure in FIGURES.values():
        for run in figure.runs(site(ranks=(2, 4), cores=2)):
            if "harmonize" in run.options.get("sync", ""):
                wide = run.options.get("tolerance") or run.variables.get("DOWNBEAT_TOLERANCE")
                assert (wide == "1e-4") == (run.ranks == 4), (figure.name, run.label)


def test_figures_of_open_mpis_algorithms_need_it() -> None:
    without = site(benches={"mpich5": "bench"})
    nothing = {name for name, figure in FIGURES.items() if not figure.runs(without)}
    assert nothing == {"schuchart2023-fig1", "schuchart2023-fig2"}
    for name in nothing:
        assert "for want of Open MPI" in here(FIGURES[name], without)
        assert "for want of Open MPI" in missing_section(FIGURES[name], FIGURES[name].lacks, without).paragraphs[2]


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("schuchart2023-fig22", "did you mean schuchart2023-fig2"),
        ("Hunold2015-Fig10", "did you mean hunold2015-fig10"),
        ("xyz", "schuchart2023-fig1 to schuchart2023-fig16"),
    ],
)
def test_an_unknown_figure_is_one_line_with_near_names(asked: str, hint: str) -> None:
    with pytest.raises(UsageError, match="there is no figure") as error:
        find_figures([asked])
    assert hint in str(error.value)
    assert "\n" not in str(error.value)


def test_a_figure_named_twice_is_drawn_once() -> None:
    assert [one.name for one in find_figures(["hunold2015-fig1", "hunold2015-fig1"])] == ["hunold2015-fig1"]


# What fits on a machine.


@pytest.mark.parametrize("text", ["2,x", "0", "2,,4", "-2", "2.5"])
def test_bad_numbers_of_ranks_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--ranks"):
        site_at_hand(parse_ranks(text), [], 3, quick=False)


def test_one_rank_is_too_few() -> None:
    with pytest.raises(UsageError, match="at least 2 ranks"):
        site_at_hand([1, 2], [], 3, quick=False)


@pytest.mark.parametrize(
    ("counts", "cores", "node", "most"),
    [((2, 4), 2, 2, 4), ((4, 8), 2, 4, 8), ((2, 4, 8, 16), 8, 8, 16), ((2,), 64, 2, 2)],
)
def test_a_node_is_what_has_a_core_each(counts: tuple[int, ...], cores: int, node: int, most: int) -> None:
    here_ = site(counts, cores)
    assert (here_.node, here_.most) == (node, most)
    assert here_.crowded(most) == (most > cores)


@pytest.mark.parametrize("counts", [(2,), (2, 4), (2, 4, 8, 16, 32, 64, 128)])
def test_the_list_names_all_and_is_80_columns_wide(counts: tuple[int, ...]) -> None:
    text = listing(FIGURES.values(), site(counts, 64))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert [line.partition(":")[0] for line in text.splitlines()[:-1] if not line.startswith(" ")] == list(FIGURES)
    assert text.splitlines()[-1].startswith("43 figures; all together take about ")


def test_shared_launches_count_once_in_the_estimate() -> None:
    first, second = FIGURES["niethammer2016-fig5"], FIGURES["niethammer2016-fig6"]
    assert estimated_total([first, second], site()) == estimated_total([first], site()) > 0


# Drawers, on data whose answer is known.


def test_panels_draw_what_they_are_given() -> None:
    one = Series("a", [2, 4], [1.5, 3.0], [1.0, 2.0], [2.0, 4.0])
    two = Series("b", [2, 4], [10.0, 20.0], style=":")
    picture = draw_panels("p", "t", "c", [Panel([one, two], "ranks", "time [us]", log_x=True, log_y=True)])
    lines = picture.figure.axes[0].get_lines()
    assert [list(map(float, line.get_ydata())) for line in lines] == [[1.5, 3.0], [10.0, 20.0]]  # type: ignore[arg-type]
    assert [list(map(float, line.get_xdata())) for line in lines] == [[2.0, 4.0], [2.0, 4.0]]  # type: ignore[arg-type]
    assert picture.figure.axes[0].get_xscale() == picture.figure.axes[0].get_yscale() == "log"
    assert picture.numbers["time [us]"].tolist() == [1.5, 3.0, 10.0, 20.0]
    assert picture.numbers["low"].tolist()[:2] == [1.0, 2.0]


def test_boxes_show_quartiles() -> None:
    values = np.arange(101.0)
    picture = draw_boxes("p", "t", "c", [BoxPanel([Box("2", "a", values), Box("4", "a", values + 1)], "ranks", "us")])
    assert picture.numbers["median"].tolist() == [50.0, 51.0]
    assert picture.numbers["p25"].tolist() == [25.0, 26.0]
    assert picture.numbers["values"].tolist() == [101, 101]


def test_a_matrix_has_its_values_written_in() -> None:
    frame = MATRIX.copy()
    frame.loc["linear", "tree"] = np.nan
    picture = draw_matrix("p", "t", "c", frame, "reduce", "barrier")
    written = [text.get_text() for text in picture.figure.axes[0].texts]
    assert written[:6] == ["7.68", "16.35", "0.24", "8.10", "7.59", "-"]
    assert len(written) == 24


def test_sizes_are_written_as_people_do() -> None:
    assert [size_text(size) for size in (4, 1024, 1536, 65536, 1 << 20)] == ["4", "1K", "1536", "64K", "1M"]


def test_the_median_sample_is_chosen_and_drawn_from_the_first_exit_on(tmp_path: Path) -> None:
    entry = np.array([[10.0, 10.0], [20.0, 20.0 + 1e-6], [30.0, 30.0 + 2e-6]])
    cell = Cell(entry, entry + np.array([[5e-6], [1e-6], [3e-6]]), verdict=0)
    with open_launch(write_launch(tmp_path / "a.nc", [cell])) as data:
        line = median_sample(data, 0, "x", "latency_avg")
        assert line is not None
        assert median_sample(data, 1, "none such", "latency_avg") is None
    assert line.entry == pytest.approx([0.0, 2.0], abs=1e-6)
    assert line.exit == pytest.approx([3.0, 5.0], abs=1e-6)
    assert line.spread == pytest.approx(2.0, abs=1e-6)
    picture = draw_timelines("p", "t", "c", [line])
    bars = picture.figure.axes[0].patches
    assert [bar.get_width() for bar in bars[2:]] == pytest.approx([3.0, 3.0], abs=1e-6)  # type: ignore[attr-defined]
    assert picture.numbers["operation_exit_us"].tolist() == pytest.approx([3.0, 5.0], abs=1e-6)


# What is computed.


def latencies(values: dict[tuple[str, str, int, int], float]) -> pd.DataFrame:
    """Returns cells by line, synchronizer, ranks and launch."""
    rows = [
        {"line": line, "synchronizer": sync, "ranks": ranks, "launch": launch, "latency_avg_median": value}
        for (line, sync, ranks, launch), value in values.items()
    ]
    return pd.DataFrame(rows)


def test_delta_is_paired_within_launches_and_claims_want_all_launches() -> None:
    harmonize = {("a", "harmonize", 2, launch): 1e-6 * launch for launch in (1, 2, 3)}
    barrier = {("a", "mpi_barrier", 2, launch): 1e-6 * launch * factor for launch, factor in ((1, 2), (2, 3), (3, 4))}
    frame = deltas(latencies(harmonize | barrier), "ranks")
    assert frame["delta"].tolist() == pytest.approx([2.0, 3.0, 4.0])
    slower, faster, alike, missing = claim_findings(
        frame, [Claim("a", 1, ""), Claim("a", -1, ""), Claim("a", 0, ""), Claim("b", 1, "")], ranks=4
    )
    assert (slower.agrees, faster.agrees, alike.agrees, missing.agrees) == (True, False, False, None)
    assert "delta 3.00 (launches 2.00 to 4.00" in slower.here
    # On two ranks Open MPI's algorithms are the same message, so that nothing can be said of one of them.
    assert claim_findings(frame, [Claim("a", 1, "")], ranks=2)[0].agrees is None
    frame.loc[0, "delta"] = 0.9
    assert claim_findings(frame, [Claim("a", 1, "")], ranks=4)[0].agrees is None


def test_a_claim_that_there_is_no_effect_is_not_borne_out_by_effects_that_cancel() -> None:
    rows = [("a", size, launch, delta) for size, delta in ((4, 2.0), (8, 0.5)) for launch in (1, 2)]
    frame = pd.DataFrame(rows, columns=["line", "size", "launch", "delta"])
    assert claim_findings(frame, [Claim("a", 0, "")], ranks=4)[0].agrees is False
    near = frame.assign(delta=[1.1, 1.1, 0.95, 0.95])
    assert claim_findings(near, [Claim("a", 0, "")], ranks=4)[0].agrees is True
    both = pd.concat([frame, near.assign(line="b")])
    assert most_affected_finding(both, "a", 4).agrees is True
    assert most_affected_finding(both, "b", 4).agrees is False
    assert most_affected_finding(both, "a", 2).agrees is None


def test_what_launches_say() -> None:
    assert (all_above([2, 3], 1.0), all_above([0.5, 3], 1.0), all_above([0.5], 1.0), all_above([], 1.0)) == (
        True,
        None,
        False,
        None,
    )
    assert (all_below([2, 3], 1.0), all_below([0.5], 1.0)) == (False, True)
    assert all_above([np.nan, 2], 1.0) is None
    assert (unanimous([True]), unanimous([False, False]), unanimous([True, False]), unanimous([])) == (
        True,
        False,
        None,
        None,
    )
    assert (every([True, None]), every([None, False]), every([True]), every([])) == (None, False, True, None)
    assert (some([True, None]), some([None, False]), some([False]), some([])) == (True, None, False, None)
    assert ratios([2, 4], [1, 2]) == (1.0, 4.0)
    assert above(*ratios([], [1]), 1.0) is None
    assert grows({2: [1, 2], 4: [3, 4], 8: [5]}) is True
    assert grows({2: [1, 2], 4: [3, 4], 8: [1]}) is False
    assert grows({2: [1, 3], 4: [2, 4]}) is None
    assert grows({2: [1]}) is None


def test_growth_is_told_from_four_counts_on() -> None:
    counts = (2, 4, 8, 16)
    logarithmic = {count: [np.log2(count), 1.1 * np.log2(count)] for count in counts}
    linear = {count: [float(count), 1.1 * count] for count in counts}
    assert (grows_as("log", logarithmic), grows_as("linear", logarithmic)) == (True, False)
    assert (grows_as("log", linear), grows_as("linear", linear)) == (False, True)
    assert grows_as("log", {count: logarithmic[count] for count in counts[:3]}) is None
    assert grows_as("log", {count: [10.0 - np.log2(count)] for count in counts}) is False
    assert steps_below({2: [1.0, 2.0], 8: [3.0]}, 1.5) is True
    assert steps_below({2: [1.0, 2.0], 4: [9.0]}, 5.0) is False
    assert steps_below({2: [1.0]}, 5.0) is None


def matrix_results(values: Callable[[int, str, str], float], ranks: int) -> Results:
    """Returns three launches of Fig. 2 on so many cores, from latencies in us by launch, algorithm and barrier."""
    rows = [
        {
            "label": "matrix",
            "launch": launch,
            "algorithm": algorithm,
            "synchronizer": "mpi_barrier",
            "barrier_algorithm": barrier,
            "latency_avg_median": 1e-6 * values(launch, algorithm, barrier),
        }
        for launch in (1, 2, 3)
        for algorithm in MATRIX.index
        for barrier in MATRIX.columns
    ]
    results = Results("f", site((ranks,), ranks), (Run("matrix", "openmpi", ranks, ("reduce",), {}),), {})
    results.__dict__["cells"] = pd.DataFrame(rows)  # what the cached property would read from files
    return results


def test_the_papers_own_matrix_bears_out_its_claims() -> None:
    drawn = draw_reduce_matrix(matrix_results(lambda _, row, column: float(MATRIX[column][row]), 4))
    assert [one.agrees for one in drawn.findings] == [True] * 6


def test_a_matrix_of_noise_bears_out_nothing() -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        noise = {key: random.lognormal(0, 0.1) for key in itertools.product((1, 2, 3), MATRIX.index, MATRIX.columns)}
        drawn = draw_reduce_matrix(matrix_results(lambda *key, noise=noise: noise[key], 2))
        assert True not in [one.agrees for one in drawn.findings[4:]]
        assert sum(one.agrees is True for one in drawn.findings[:4]) <= 2


def test_offsets_of_a_node_are_the_same_to_a_microsecond(monkeypatch: pytest.MonkeyPatch) -> None:
    def agreed(mean: float, deviation: float) -> list[bool | None]:
        offset = 1e-6 * (mean + deviation * np.array([[-1.0, 1.0]]) / np.sqrt(2))
        data = xr.Dataset(
            {
                "offset": (("pair", "time"), offset),
                "offset_bound": (("pair", "time"), np.full((1, 2), 4e-7)),
                "answerer": ("pair", [1]),
            }
        )
        monkeypatch.setattr(Results, "datasets", lambda _self, _label: [data])
        run = Run("n2", "openmpi", 2, ("drift",), {})
        launch = Launch("openmpi", 2, "default", 1, Path(), {})
        return [one.agrees for one in draw_offset_table(Results("f", site(), (run,), {"n2": (launch,)})).findings]

    assert agreed(0.4, 1.5) == [True, True, None]
    assert agreed(0.4, 2.5) == [False, True, None]
    assert agreed(-17258.0, 1.5) == [True, False, None]


def test_the_order_of_libraries_tips_where_all_launches_say_so() -> None:
    def cells(behind: list[float], common: list[float]) -> pd.DataFrame:
        mpich, default = "MPICH (for MVAPICH2)", "Open MPI default"
        return latencies(
            {(default, "mpi_barrier", 2, launch): value for launch, value in enumerate(behind)}
            | {(default, "harmonize", 2, launch): value for launch, value in enumerate(common)}
            | {(mpich, sync, 2, launch): 1.0 for sync in ("mpi_barrier", "harmonize") for launch in (0, 1)}
        )

    assert library_finding(cells([1.2, 1.1], [0.9, 0.8]), "ranks").agrees is True
    assert library_finding(cells([1.2, 1.1], [0.9, 1.1]), "ranks").agrees is None
    assert library_finding(cells([0.9, 0.8], [0.9, 0.8]), "ranks").agrees is False
    assert library_finding(cells([], [0.9, 0.8]), "ranks").agrees is None


def test_knomial_is_judged_from_four_counts_on() -> None:
    counts = (2, 4, 8, 16)
    wild = dict(zip(counts, (1, 5, 1, 5), strict=True))
    lines = {
        (line, sync, ranks, 1): 1e-6 * (wild[ranks] if (line, sync) == ("Open MPI knomial", "mpi_barrier") else ranks)
        for line in ("Open MPI knomial", "Open MPI binomial")
        for sync in ("mpi_barrier", "harmonize")
        for ranks in counts
    }
    assert knomial_finding(latencies(lines))[0].agrees is True
    other = {"mpi_barrier": "harmonize", "harmonize": "mpi_barrier"}
    swapped = {(line, other[sync], ranks, launch): value for (line, sync, ranks, launch), value in lines.items()}
    assert knomial_finding(latencies(swapped))[0].agrees is False
    assert knomial_finding(latencies({key: value for key, value in lines.items() if key[2] < 8}))[0].agrees is None


def test_over_launches_tells_the_middle_and_the_ends() -> None:
    frame = pd.DataFrame({"x": [1, 1, 1, 2], "v": [1e-6, 5e-6, 2e-6, 7e-6]})
    table = over_launches(frame, ("x",), "v")
    assert table["median"].tolist() == pytest.approx([2.0, 7.0])
    assert table["low"].tolist() == pytest.approx([1.0, 7.0])
    assert table["high"].tolist() == pytest.approx([5.0, 7.0])
    assert table["launches"].tolist() == [3, 1]


def test_oscillation_is_seen_from_four_counts_on() -> None:
    counts = (2, 4, 8, 16)
    smooth = {("a", "harmonize", ranks, 1): 1e-6 * ranks for ranks in counts}
    rough = {
        ("a", "mpi_barrier", ranks, 1): 1e-6 * ranks * factor
        for ranks, factor in zip(counts, (1, 5, 1, 5), strict=True)
    }
    assert stability(latencies(smooth | rough))[0].agrees is True
    few = {key: value for key, value in (smooth | rough).items() if key[2] < 8}
    assert stability(latencies(few))[0].agrees is None


def overlaps(values: dict[tuple[str, int, float], list[float]]) -> pd.DataFrame:
    """Returns cells with overlap benefits in per cent by operation, size and delay in us, a value per launch."""
    rows = [
        {
            "operation": operation,
            "size": size,
            "delay": delay,
            "ranks": 2,
            "launch": launch,
            "overlap_benefit_min": value / 100,
        }
        for (operation, size, delay), launches in values.items()
        for launch, value in enumerate(launches, 1)
    ]
    return pd.DataFrame(rows, columns=["operation", "size", "delay", "ranks", "launch", "overlap_benefit_min"])


def test_benefits_are_told_where_launches_agree_beyond_the_clocks_error() -> None:
    blocking, nonblocking = ("bcast", 8, 50.0), ("ibcast", 8, 50.0)
    assert near_zero(overlaps({blocking: [3, 4], nonblocking: [-2, 1]}), "").agrees is True
    assert near_zero(overlaps({blocking: [3, 4], nonblocking: [9, 8]}), "").agrees is False
    assert near_zero(overlaps({blocking: [3, 4], nonblocking: [3, 8]}), "").agrees is None
    assert nonblocking_better(overlaps({blocking: [3, 8], nonblocking: [9, 13]}), "").agrees is True
    assert nonblocking_better(overlaps({blocking: [9, 13], nonblocking: [3, 8]}), "").agrees is False
    assert nonblocking_better(overlaps({blocking: [3, 8], nonblocking: [9, 8]}), "").agrees is None
    assert mostly_above(pd.DataFrame([[0.2, 0.3], [5, 6], [-0.2, -0.3]])) is None
    assert mostly_above(pd.DataFrame([[5, 6], [2, 3], [-3, -4]])) is True
    assert mostly_above(pd.DataFrame([[5, 6], [-2, -3], [-3, -4]])) is False
    assert size_matters_not(overlaps({("bcast", 8, 50.0): [1, 2], ("bcast", 128, 50.0): [3, 2]}), "").agrees is True
    assert size_matters_not(overlaps({("bcast", 8, 50.0): [1, 2], ("bcast", 128, 50.0): [8, 9]}), "").agrees is False
    delays = {("barrier", 0, 10.0): [9.0, 8.0], ("barrier", 0, 20.0): [5.0, 6.0], ("barrier", 0, 50.0): [1.0, 2.0]}
    assert order_of_delays(overlaps(delays), "").agrees is True
    assert order_of_delays(overlaps(delays | {("barrier", 0, 50.0): [1.0, 7.0]}), "").agrees is None


def test_benefits_of_ranks_that_share_cores_tell_nothing() -> None:
    nothing = overlaps({})
    for claim in (mostly_positive, near_zero, size_matters_not, nonblocking_better, order_of_delays):
        assert claim(nothing, "").agrees is None


def drifting(path: Path, slope: float, launches: int = 3) -> Results:
    """Returns launches of 800 samples whose run-time begins at 10 us and rises by `slope` us per sample."""
    path.mkdir(exist_ok=True)
    files = []
    for launch in range(1, launches + 1):
        entry = np.repeat(np.arange(800.0)[:, None], 2, axis=1)
        length = 1e-6 * (10 + slope * np.arange(800.0))
        length[::50] += 1e-3  # interruptions, which must not count
        file = write_launch(path / f"{launch}.nc", [Cell(entry, entry + length[:, None])])
        files.append(Launch("openmpi", 2, "default", launch, file, {}))
    run = Run("a", "openmpi", 2, ("bcast",), {})
    return Results("f", site(), (run,), {"a": tuple(files)})


def test_bins_are_medians_and_a_rise_is_seen(tmp_path: Path) -> None:
    rising = drifting(tmp_path, 0.01)
    middle, low, high = binned(rising, "a", "global_time", 100)
    assert middle == pytest.approx(10 + 0.01 * (100 * np.arange(8) + 49.5), abs=0.03)  # two interruptions a bin
    assert low == pytest.approx(high)
    assert rise_finding(rising, "a", "global_time", 100, "", "", rises=True).agrees is True
    assert rise_finding(rising, "a", "global_time", 100, "", "", rises=False).agrees is False


def test_no_rise_is_seen_where_there_is_none(tmp_path: Path) -> None:
    flat = drifting(tmp_path, 0.0)
    assert rise_finding(flat, "a", "global_time", 100, "", "", rises=True).agrees is False
    assert rise_finding(flat, "a", "global_time", 100, "", "", rises=False).agrees is True
    assert rise_finding(flat, "a", "global_time", 300, "", "", rises=False).agrees is None


def test_a_curve_that_stays_in_some_launches_alone_is_undecided(tmp_path: Path) -> None:
    flat, rising = drifting(tmp_path / "flat", 0.0, 1), drifting(tmp_path / "rising", 0.01, 1)
    both = Results("f", site(), flat.runs, {"a": flat.launches["a"] + rising.launches["a"]})
    assert rise_finding(both, "a", "global_time", 100, "", "", rises=False).agrees is None
    assert rise_finding(both, "a", "global_time", 100, "", "", rises=True).agrees is None


def test_ranks_that_share_cores_tell_nothing(tmp_path: Path) -> None:
    results = drifting(tmp_path, 0.0, launches=1)
    assert results.told_on(2, agrees=True) is True
    assert results.told_on(4, agrees=True) is None


@pytest.mark.parametrize(
    ("counts", "quick", "said"), [((2,), False, "Seen"), ((4,), False, "Cannot"), ((2,), True, "Cannot")]
)
def test_claims_are_left_open_where_all_ranks_share_cores_or_repetitions_are_few(
    counts: tuple[int, ...], quick: bool, said: str, tmp_path: Path
) -> None:
    launches = drifting(tmp_path, 0.0, launches=3).launches
    run = Run("a", "openmpi", counts[0], ("bcast",), {})
    results = Results("f", Site(2, {"openmpi": "bench"}, counts, quick=quick), (run,), launches)
    drawn = Drawn((), (Finding("it rises", "", "", True),))
    figure = dataclasses.replace(FIGURES["hunold2015-fig7"], runs=lambda _: (run,), draw=lambda _: drawn)
    section = figure_section(figure, results)
    assert section.paragraphs[0].startswith(f"Verdict. {said}")
    assert f"\n{said}" in section.definitions[0][1]


def test_words() -> None:
    assert (above(1.1, 1.2, 1.0), above(0.9, 1.2, 1.0), above(0.8, 0.9, 1.0)) == (True, None, False)
    assert (below(1.1, 1.2, 1.0), below(0.9, 1.2, 1.0), below(0.8, 0.9, 1.0)) == (False, None, True)
    assert between([3.0, np.nan, 1.0], " us") == "1 to 3 us"
    assert between([]) == "none"
    assert short_scheme("jk(fit=100,over=0,offset=mean_rtt(exchanges=30))") == "jk (100, 30)"
    assert short_scheme("hca") == "hca, over 1 s"
    assert short_scheme("skampi") == "skampi"


def test_the_verdict_sorts_claims_and_leaves_numbers_out() -> None:
    findings = [
        Finding("a", "", "", True),
        Finding("b", "", "", None),
        Finding("c", "", "", True),
        Finding("d", "", "", None, is_claim=False),
    ]
    assert verdict(findings) == "Seen here: a; c. Cannot be told here: b."
    sections = [Section("one", definitions=tuple(map(definition, findings)))]
    assert tally(sections) == (
        "Of 3 claims of the papers 2 are seen here and 0 are not seen here; 1 cannot be told here.",
    )
    sections.append(Section("Hunold 2015, Fig. 1: two", definitions=(definition(Finding("e", "", "", False)),)))
    assert tally(sections) == (
        "Of 4 claims of the papers 2 are seen here and 1 is not seen here; 1 cannot be told here.",
        "Not seen here, in the whole or in part: Hunold 2015, Fig. 1.",
    )
    assert tally([Section("none", definitions=(definition(findings[3]),))]) == ()


# With downbeat-bench.


@pytest.fixture(scope="module")
def quick() -> Site:
    if "openmpi" not in BENCHES:
        pytest.skip("downbeat-bench is not built; make build")
    return Site(2, BENCHES, (2,), launches=1, quick=True)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """Results by what was run: on two ranks some figures are the same runs."""
    return {}


@pytest.mark.parametrize("name", FIGURES)
def test_downbeat_bench_takes_what_is_run_and_the_page_shows_it(
    name: str, quick: Site, measured: dict[str, Results], tmp_path: Path
) -> None:
    figure = FIGURES[name]
    source = own_data(figure)
    key = repr(source.runs(quick))
    if key not in measured:
        measured[key] = perform(source, quick, tmp_path, again=False, say=lambda _: None)
    results = measured[key]
    assert results.have() == [run.label for run in source.runs(quick)]
    section = figure_section(figure, results)
    assert section.pictures
    assert all(len(picture.numbers) for picture in section.pictures)
    assert section.definitions
    assert any("--quick" in warning for warning in section.warnings)
    assert not any(
        text.endswith(f"\n{said}.") for _, text in section.definitions for said in ("Seen here", "Not seen here")
    )
    assert len(section.commands) == len(results.runs)
    page = render_page(whole_page([section], [figure], quick))
    assert page.count("<svg") == len(section.pictures)


def test_launches_of_another_plan_are_refused_and_finished_ones_kept(quick: Site, tmp_path: Path) -> None:
    figure = FIGURES["niethammer2016-fig15"]
    said: list[str] = []
    results = perform(figure, quick, tmp_path, again=False, say=said.append)
    assert len(said) == 1
    assert seconds_left(figure, quick, tmp_path) == 0
    assert seconds_left(figure, dataclasses.replace(quick, launches=3), tmp_path) == 2 * figure.runs(quick)[0].seconds
    before = results.launches["n2"][0].record["started"]
    assert perform(figure, quick, tmp_path, again=False, say=said.append).launches["n2"][0].record["started"] == before
    assert len(said) == 1
    longer = Site(2, BENCHES, (2,), launches=1, quick=False)
    with pytest.raises(UsageError, match="holds another experiment"):
        perform(figure, longer, tmp_path, again=False, say=said.append)
    again = perform(figure, quick, tmp_path, again=True, say=said.append)
    assert again.launches["n2"][0].record["started"] > before  # type: ignore[operator]


def test_a_run_that_fails_is_said_on_the_page(tmp_path: Path) -> None:
    broken = Site(2, {"openmpi": "/bin/false"}, (2,), launches=1, quick=True)
    figure = FIGURES["niethammer2016-fig15"]
    results = perform(figure, broken, tmp_path, again=False, say=lambda _: None)
    section = figure_section(figure, results)
    assert not section.pictures
    assert "no complete launch" in section.warnings[0]
    assert "nothing was measured" in section.paragraphs[2]


def test_a_run_that_lacks_launches_is_said_on_the_page(tmp_path: Path) -> None:
    results = drifting(tmp_path, 0.0, launches=2)
    assert results.lacking() == {"a": 1}
    assert "1 of 3 launches failed" in lack(results.runs[0], 1, results)
    assert drifting(tmp_path / "all", 0.0, launches=3).lacking() == {}


def test_what_runs_under_a_launcher_is_not_said_to_run_on_this_machines_cores() -> None:
    cluster = Site(2, {"openmpi": "bench", "mpich5": "bench"}, (2, 64), launcher="srun -n {ranks}")
    text = listing(FIGURES.values(), cluster)
    assert "on 2 cores" not in text
    assert ", 2 cores" not in text
    assert "1 node of 128" not in text


def test_all_ranks_of_a_launcher_are_judged() -> None:
    counts = (2, 4, 8, 16)
    rows = [
        {
            "label": f"openmpi-n{ranks}",
            "algorithm": "linear",
            "synchronizer": sync,
            "ranks": ranks,
            "launch": 1,
            "latency_avg_median": 1e-6 * ranks * factor,
            "latency_max_median": 1e-6 * ranks,
        }
        for ranks, wild in zip(counts, (1, 5, 1, 5), strict=True)
        for sync, factor in (("mpi_barrier", wild), ("harmonize", 1))
    ]
    for launcher, agrees in (("srun -n {ranks}", True), ("", None)):
        results = Results("f", Site(2, {"openmpi": "bench"}, counts, launcher=launcher), (), {})
        results.__dict__["cells"] = pd.DataFrame(rows)
        drawn = draw_processes("f", "reduce", lambda _: [])(results)
        assert drawn.findings[0].agrees is agrees


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "downbeat", "reproduce", *arguments], capture_output=True, text=True, check=False
    )


def test_the_command_lists_within_80_columns(quick: Site) -> None:
    done = command("--list")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert all(f"\n{name}:" in f"\n{done.stdout}" for name in FIGURES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing-fig1"], "there is no figure 'nothing-fig1'"),
        ([], "no figure named"),
        (["--all", "hunold2015-fig1"], "either --all or names of figures"),
        (["hunold2015-fig1", "--ranks", "two"], "--ranks two"),
        (["hunold2015-fig1", "--mpi", "lam"], "--mpi lam: unknown"),
        (["hunold2015-fig1", "--launcher", "true"], "does not say where the number of ranks goes"),
        (["hunold2015-fig1", "--launcher", "no-such -n {ranks}"], "'no-such' is not a program"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], said: str) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_another_experiment_is_refused_before_anything_is_launched(quick: Site, tmp_path: Path) -> None:
    perform(FIGURES["niethammer2016-fig15"], quick, tmp_path / "niethammer2016-fig15", again=False, say=lambda _: None)
    options = ["--ranks", "2", "--launches", "1", "--mpi", ",".join(quick.benches), "-o", str(tmp_path)]
    done = command("schuchart2023-fig1", "niethammer2016-fig15", *options)
    assert done.returncode == 2
    assert "holds another experiment" in done.stderr
    assert not (tmp_path / "schuchart2023-fig1").exists()


def test_the_command_writes_a_page_for_one_figure_and_a_report_for_several(quick: Site, tmp_path: Path) -> None:
    options = ["--quick", "--ranks", "2", "--launches", "1", "--mpi", "openmpi", "-o", str(tmp_path)]
    one = command("niethammer2016-fig15", *options)
    assert one.stdout == f"{tmp_path}/niethammer2016-fig15.html\n"
    two = command("niethammer2016-fig15", "niethammer2016-fig16", *options)
    assert two.stdout == f"{tmp_path}/report.html\n"
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Niethammer 2016, Fig. 15" in text
    assert "Niethammer 2016, Fig. 16" in text
    # Measured once for both.
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["niethammer2016-fig15"]
