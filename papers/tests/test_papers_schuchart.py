"""Figures of Schuchart 2023, on launches that are made up."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from downbeat_papers.evidence import Evidence, Undecidable, held_out
from downbeat_papers.registry import FIGURES
from downbeat_papers.schuchart2023.exit_skew import durations, exits, less_skew, ranges, skew_findings
from downbeat_papers.schuchart2023.process_scaling import metric_finding
from downbeat_papers.schuchart2023.reduce_matrix import as_much_finding
from scipy import stats

from benchmarks.simulations.made_up_launches import Maker, SimulatedResults, World, results_of, run_of
from benchmarks.simulations.worlds_schuchart import matrix, message_world, process_world, skews


def moved(results: SimulatedResults, host: str) -> SimulatedResults:
    """Returns the results as if all ranks had been on one host."""
    files = {
        label: [data.assign(host=("rank", [host] * data.sizes["rank"])) for data in launches]
        for label, launches in results.files.items()
    }
    return dataclasses.replace(results, files=files)


def test_one_process_per_node_is_judged_where_there_is_one_per_node() -> None:
    apart = skews(Maker(np.random.default_rng(1), 5, effect=True))
    for results, kind in ((apart, Evidence), (moved(apart, "node"), Undecidable)):
        labels = results.have()
        found = skew_findings(results, ranges(results, exits, labels), ranges(results, durations, labels), labels)
        assert found[0].claim.startswith("with one process per node")
        assert isinstance(found[0].evidence, kind)


def test_sigma_is_over_times_in_the_barrier_and_skew_over_instants_of_leaving() -> None:
    data = xr.Dataset(
        {
            "exit": (("synchronizer", "attempt", "rank"), 1e-6 * np.array([[[5.0, 7.0]], [[1.0, 1.0]]])),
            "entry": (("synchronizer", "attempt", "rank"), 1e-6 * np.array([[[0.0, 4.0]], [[0.0, 0.0]]])),
            "valid": (("synchronizer", "attempt"), np.ones((2, 1), int)),
        },
        coords={"synchronizer": ["mpi_barrier", "harmonize"]},
    )
    results = results_of([run_of("n2", 2)], files={"n2": [data]})
    assert ranges(results, exits, ["n2"])["mpi_barrier", 2][0] == pytest.approx([2.0])
    assert ranges(results, durations, ["n2"])["mpi_barrier", 2][0] == pytest.approx([2.0])
    assert ranges(results, durations, ["n2"])["harmonize", 2][0] == pytest.approx([0.0])
    later = results_of([run_of("n2", 2)], files={"n2": [data.assign(entry=data["entry"] * 0)]})
    assert ranges(later, durations, ["n2"])["mpi_barrier", 2][0] == pytest.approx([2.0])
    together = results_of([run_of("n2", 2)], files={"n2": [data.assign(entry=data["exit"] - 3e-6)]})
    assert ranges(together, durations, ["n2"])["mpi_barrier", 2][0] == pytest.approx([0.0], abs=1e-6)
    assert ranges(together, exits, ["n2"])["mpi_barrier", 2][0] == pytest.approx([2.0])


def test_panels_of_figure_3_are_labelled_by_what_they_show_and_calls_counted_by_the_run() -> None:
    made = skews(Maker(np.random.default_rng(1), 2, effect=True))
    quick = dataclasses.replace(made, site=dataclasses.replace(made.site, quick=True))
    for results, calls in ((made, "50 calls"), (quick, "5 calls")):
        (picture,) = FIGURES["schuchart2023-fig3"].draw(results).pictures
        assert [axes.get_ylabel() for axes in picture.figure.axes] == ["exit skew [us]", "sigma [us]"]
        assert calls in picture.caption


def test_a_hundredth_of_a_skew_below_the_clocks_bound_cannot_be_told() -> None:
    barrier, common = np.array([0.3, 0.31, 0.29]), np.array([0.001, 0.001, 0.001])
    assert isinstance(less_skew(barrier, common, bound=0.05), Undecidable)
    said = less_skew(100 * barrier, common, bound=0.05)
    assert isinstance(said, Evidence)
    assert said.for_it < 0.01


def test_latencies_are_the_papers_means_over_launches_with_medians_beside_them() -> None:
    deviation = np.std([1, 2, 30], ddof=1)

    def drawn(name: str, world: World, where: str) -> list[pd.DataFrame]:
        """Draws a figure of which an interruption slowed one launch, and returns its numbers."""
        results = world(Maker(np.random.default_rng(1), 3, effect=True))
        slowed = results.cells.query(where).index
        assert len(slowed) == 3
        results.cells.loc[slowed, "mean_of_means"] = [1e-6, 2e-6, 30e-6]
        results.cells.loc[slowed, "latency_avg_median"] = 0.7e-6
        return [one.numbers for one in FIGURES[name].draw(results).pictures]

    of_linear = "algorithm == 'linear' and synchronizer == 'mpi_barrier'"
    means, medians = drawn("schuchart2023-fig2", matrix, f"{of_linear} and barrier_algorithm == 'bruck'")
    assert means["bruck_us"][0] == pytest.approx(11)
    assert means["bruck_deviation_us"][0] == pytest.approx(deviation)
    assert medians["bruck_us"][0] == pytest.approx(0.7)
    for name, world, where, unit in (
        ("schuchart2023-fig6", message_world(6), "size == 4", "latency [us]"),
        ("schuchart2023-fig8", process_world("reduce"), "ranks == 2", "average latency [us]"),
    ):
        numbers = drawn(name, world, f"{of_linear} and {where}")[0]
        rows = numbers[numbers["series"] == "Open MPI linear, barrier"].groupby("panel").first()
        shown = rows.loc[["mean of means, as in the paper", "medians"], [unit, "low", "high"]].to_numpy().tolist()
        assert shown[0] == pytest.approx([11, 11 - deviation, 11 + deviation])
        assert shown[1] == pytest.approx([0.7] * 3)


def test_the_maximum_of_figure_8_is_osus() -> None:
    rows = [
        {
            "line": "Open MPI linear",
            "synchronizer": "harmonize",
            "ranks": ranks,
            "launch": launch,
            "mean_of_means": (8 / ranks) * (1 + 0.01 * launch),
            "latency_avg_median": ranks * (1 + 0.01 * launch),
            "max_of_means": ranks * (1 + 0.01 * launch),
            "latency_max_median": 1 / ranks,
        }
        for ranks in (2, 8)
        for launch in range(5)
    ]
    evidence = metric_finding(pd.DataFrame(rows))[0].evidence
    assert isinstance(evidence, Evidence)
    assert evidence.for_it < 0.01


def test_scatter_and_gather_have_runs_of_their_own() -> None:
    results = FIGURES["schuchart2023-sec66"].runs(skews(Maker(np.random.default_rng(1), 1, effect=True)).site)
    assert {run.operations for run in results} == {("scatter",), ("gather",)}


def test_what_is_held_out_is_not_judged_by_what_chose_it() -> None:
    noise = np.log(np.random.default_rng(1).lognormal(0, 0.3, (2000, 5, 6)))
    assert np.abs(noise).mean() > 0.2
    assert abs(np.mean([held_out(one).mean() for one in noise])) < 0.01
    assert held_out(np.array([[1.0, -2.0], [1.0, -2.0]])).tolist() == [[1.0, 2.0]]
    assert np.isnan(held_out(np.ones((1, 3)))).all()


def test_the_largest_of_equal_ones_is_found_larger_in_five_per_cent() -> None:
    random = np.random.default_rng(4)
    found = [as_much_finding(random.lognormal(0, 0.05, (5, 4, 6))).evidence for _ in range(400)]
    shown = sum(one.for_it <= 0.05 for one in found if isinstance(one, Evidence))
    assert shown <= stats.binom.ppf(0.999, len(found), 0.05)  # where each launch judges what all others choose: 29 %
