"""Figures of Hunold 2015, on launches that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from downbeat.data.samples import VERDICTS
from downbeat.experiment.experiment import Launch
from downbeat_papers.evidence import Evidence
from downbeat_papers.hunold2015.clock_offset import NODES
from downbeat_papers.hunold2015.clock_pareto import Choices, short_scheme
from downbeat_papers.hunold2015.exit_pattern import exits_after_the_first, over_all
from downbeat_papers.hunold2015.library_comparison import two_libraries
from downbeat_papers.hunold2015.measurement_schemes import scheme_times
from downbeat_papers.judgement import judge
from downbeat_papers.registry import FIGURES
from downbeat_papers.results import Results
from launch_files import Cell, write_launch
from papers_site import site
from scipy import stats

from benchmarks.simulations.made_up_launches import Maker, SimulatedResults, results_of, run_of
from benchmarks.simulations.worlds_hunold import WORLDS


def test_without_true_errors_measured_ones_are_drawn_with_their_bounds() -> None:
    for number in (8, 9, 10):
        made = WORLDS[f"hunold2015-fig{number}"](Maker(np.random.default_rng(1), 3, effect=True))
        files = {label: [data.drop_vars("true_error") for data in launches] for label, launches in made.files.items()}
        between_nodes = SimulatedResults(made.figure, made.site, made.runs, made.launches, files)
        drawn = FIGURES[f"hunold2015-fig{number}"].draw(between_nodes)
        assert "true errors are not known between nodes" in drawn.pictures[0].caption
        claims = [one for one in drawn.findings if "true error" in one.here]
        assert not claims
        assert any("known to within" in one.here for one in drawn.findings)


def test_part_b_of_figure_8_has_several_processes_per_clock() -> None:
    runs = [run for run in FIGURES["hunold2015-fig8"].runs(site((2, 4, 64), 64)) if run.label.startswith(NODES)]
    clocks = [run.variables["DOWNBEAT_VALIDATION"].rpartition(",")[2] for run in runs]
    assert [run.ranks for run in runs] == [4, 64]
    assert clocks == ["ranks_per_clock=2", "ranks_per_clock=16"]
    assert all(run.variables["DOWNBEAT_SHARE"] == "never" for run in runs)


def test_the_pareto_frontier_is_what_no_scheme_beats_in_both() -> None:
    def launches(values: Sequence[float]) -> dict[str, np.ndarray]:
        return {name: np.array([value] * 3) for name, value in zip("abcde", values, strict=True)}

    choices = Choices(launches([1, 2, 3, 4, 4]), launches([80, 90, 10, 10, 5]), np.ones(3))
    assert choices.frontier() == ["a", "c", "e"]


def test_the_interval_over_launches_is_students() -> None:
    means = np.array([[1.0, 2.0], [1.2, 2.6], [0.9, 2.2]])
    middle, low, high = over_all(means)
    assert middle == pytest.approx(means.mean(axis=0))
    assert (low[1], high[1]) == pytest.approx(stats.ttest_1samp(means[:, 1], 0).confidence_interval(0.95))
    assert [float(one[0]) for one in over_all(means[:1])] == [1.0, 1.0, 1.0]


def test_each_measurement_scheme_tells_what_its_benchmarks_report() -> None:
    cells = pd.DataFrame(
        {
            "operation": "bcast",
            "size": 8,
            "launch": 1,
            "timing": ["per_call", "batch(calls=100)", "batch_synced(calls=100)", "window"],
            "latency_max_median": [1.0, 2.0, 3.0, 4.0],
            "global_time_median": [5.0, 6.0, 7.0, 8.0],
        }
    )
    times = scheme_times(cells).set_index("scheme")["time"]
    assert times.to_dict() == {"(1)": 1.0, "(2)": 2.0, "(3)": 3.0, "(4)": 8.0}


@pytest.mark.parametrize(("slower", "agrees"), [("batch_synced(calls=100)", False), ("window", True)])
def test_figure_2_compares_schemes_that_time_the_call_alone_and_names_the_pair(slower: str, agrees: bool) -> None:
    """Scheme (3) times a barrier with each call: that it takes longer is no effect of the scheme."""
    random = np.random.default_rng(1)
    rows = [
        {
            "operation": operation,
            "size": 8,
            "launch": launch,
            "timing": timing,
            **dict.fromkeys(
                ("latency_max_median", "global_time_median"),
                1e-6 * random.lognormal(0, 0.01) * (2 if timing == slower else 1),
            ),
        }
        for operation in ("bcast", "allreduce")
        for timing in ("per_call", "batch(calls=100)", "batch_synced(calls=100)", "window")
        for launch in range(5)
    ]
    drawn = FIGURES["hunold2015-fig2"].draw(results_of([run_of("schemes")], pd.DataFrame(rows)))
    assert [one.agrees for one in judge(drawn.findings)] == [agrees] * 2
    assert "(1) / (4)" in drawn.findings[0].here
    assert "(3) /" not in drawn.findings[0].here
    evidence = drawn.findings[0].evidence
    assert isinstance(evidence, Evidence)
    assert evidence.described.startswith(("(1) / (4) is", "(2) / (4) is") if agrees else "(1) / (2) is")
    (table,) = drawn.tables
    assert list(table.frame.columns[-2:]) == ["sync. scheme", "timing"]
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
    assert [name for name, _ in two_libraries(at)] == taken
    for number in (4, 5):
        assert [run.library for run in FIGURES[f"hunold2015-fig{number}"].runs(at)] == taken


def test_barriers_of_figure_4_begin_with_windows_on_clocks_of_hca() -> None:
    for run in FIGURES["hunold2015-fig4"].runs(site((2,), 2)):
        assert run.operations == ("barrier",)
        assert run.options["sync"] == "window(size=100us,growth=1)"
        assert run.variables["DOWNBEAT_SYNC"] == "hca"
        assert float(run.variables["DOWNBEAT_MAX_AGE"]) > run.seconds  # once


def test_exits_are_counted_from_the_first_of_each_valid_barrier() -> None:
    exits = 1e-6 * np.array([[10.0, 12.0, 11.0], [25.0, 24.0, 27.0], [0.0, 900.0, 0.0]])
    data = xr.Dataset({"exit": (("sample", "rank"), exits), "valid": ("sample", [1, 1, 0])})
    mean, half = exits_after_the_first(data)
    assert mean == pytest.approx([0.5, 1.0, 2.0])
    interval = stats.ttest_1samp([0.0, 2.0], 1.0).confidence_interval(0.95)
    assert half[1] == pytest.approx((interval.high - interval.low) / 2)
    assert np.isnan(exits_after_the_first(data.isel(sample=[0]))[0]).all()


def test_figure_1_repeats_what_ends_after_its_window_as_skampi_and_draws_it(tmp_path: Path) -> None:
    for run in FIGURES["hunold2015-fig1"].runs(site((2,), 2)):
        assert "overrun=repeat" in run.options["sync"]
        assert (run.options["repetitions"], run.options["max-attempts"]) == ("15000", "1")
    entry = np.repeat(np.arange(4.0)[:, None], 2, axis=1)
    verdicts = [VERDICTS.index(name) for name in ("valid", "overrun", "late_entry", "valid")]
    path = write_launch(
        tmp_path / "1.nc", [Cell(entry, entry + 1e-6 * np.array([[1], [9], [5], [2]]), verdict=verdicts)]
    )
    results = Results("f", site(), (run_of("a", 2),), {"a": (Launch("openmpi", 2, "default", 1, path, {}),)})
    (samples,) = results.samples("a", ("global_time",))
    assert samples["global_time"].to_numpy() == pytest.approx([1e-6, 9e-6, 2e-6])


def test_schemes_are_labelled_as_in_the_paper() -> None:
    assert short_scheme("jk(fit=100,over=0,offset=mean_rtt(exchanges=30))") == "jk (100, 30)"
    assert short_scheme("hca") == "hca, over 1 s"
    assert short_scheme("skampi") == "skampi"


def drift_file(launch: int, ppm: float, noise_us: float, clocks: str, hosts: Sequence[str]) -> xr.Dataset:
    """Returns what the experiment `drift` writes of one pair of clocks that drift apart, in a line but for noise."""
    time = np.arange(0.0, 20.0, 0.25)
    residual = np.random.default_rng(launch).normal(0, noise_us * 1e-6, (1, len(time)))
    drift = ppm * 1e-6 * time + residual
    return xr.Dataset(
        {
            "drift": (("pair", "time"), drift),
            "residual": (("pair", "time"), residual),
            "rtt": (("pair", "time"), np.full(drift.shape, 2e-6)),
            "offset_bound": (("pair", "time"), np.full(drift.shape, 1e-6)),
            "duration": ("pair", [20.0]),
            "answerer": ("pair", [1]),
            "host": ("rank", list(hosts)),
        },
        coords={"time": time},
        attrs={"clock_validation": clocks},
    )


@pytest.mark.parametrize(
    ("ppm", "noise_us", "clocks", "hosts", "agrees"),
    [
        (5.0, 0.2, "off", "ab", [True, True]),
        (0.1, 0.4, "off", "ab", [False, False]),
        (0.005, 0.1, "off", "ab", [False, None]),  # no drift has a shape
        (5.0, 20.0, "off", "ab", [True, False]),
        (5.0, 0.2, "off", "aa", [None, None]),
        (5.0, 0.2, "skew=8e-6", "ab", [None, None]),
    ],
)
def test_the_drift_of_real_clocks_is_judged(
    ppm: float, noise_us: float, clocks: str, hosts: str, agrees: list[bool | None]
) -> None:
    files = [drift_file(launch, ppm * (1 + launch / 50), noise_us, clocks, hosts) for launch in range(5)]
    results = results_of([run_of("drift", 2)], files={"drift": files})
    drawn = FIGURES["hunold2015-fig6"].draw(results)
    assert [one.agrees for one in judge(drawn.findings)] == agrees
    (caption,) = (one.caption for one in drawn.pictures)
    whose = "validation clock's" if clocks != "off" else "those of 2 nodes" if hosts == "ab" else "read one clock"
    assert whose in caption
