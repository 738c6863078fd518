"""Kinds of figures: launches, measures and pictures, on data whose answer is known."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from downbeat.data.launch_file import open_launch
from downbeat.report.panel import Timeline
from downbeat.run.libraries import LIBRARIES
from downbeat_papers.claims import Finding, evidence_of
from downbeat_papers.draw import median_sample
from downbeat_papers.figure import FIGURES
from downbeat_papers.judgement import judge
from downbeat_papers.kinds import late_arrival, scaling
from downbeat_papers.kinds.logp import LogP, fit_model
from downbeat_papers.results import LATENCY, MEDIAN, LaunchCells, launch_values
from launch_files import Cell, write_launch
from papers_site import agreed, site

from tests.statistics.shapes import BENEFITS
from tests.statistics.worlds import WORLDS, Maker, SimulatedResults, results_of, run_of

SCATTER = (1.0, 1.03, 0.96, 1.01, 0.99)  # of five launches


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
    ratios = scaling.deltas(scaling.with_lines(LaunchCells.of(cells), "bcast"))
    assert ratios.value[ratios.line == "knomial"].tolist() == pytest.approx([2, 3, 4, 5, 6])


@pytest.mark.parametrize("ranks", [2, 4])
def test_on_two_ranks_nothing_is_said_of_algorithms_that_send_the_same_message(ranks: int) -> None:
    def slow(name: str, sync: str, _: int, launch: int) -> float:
        return SCATTER[(launch + len(name) + len(sync)) % 5] * (2 if sync == "mpi_barrier" else 1)

    claims = agreed("schuchart2023-fig9", with_cells(line_cells(slow), ranks))
    assert claims == [False, True, True if ranks > 2 else None]


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
    assert "(1) /" in findings[0].here and "/ (4)" in findings[0].here
    assert "(3) /" not in findings[0].here
    (table,) = FIGURES["hunold2015-fig2"].tables
    assert table.frame.set_index("benchmark name")["timing"]["SKaMPI"] == "per_call, window"


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (tuple(LIBRARIES), ["intelmpi", "mpich5"]),
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
    assert all((run.options.get("late") == "flags") == (run.label in published) for run in runs)
    theirs = paper.cells.assign(label=paper.cells["label"].astype(str) + "-published")
    made = results_of(runs, pd.concat([ours.cells, theirs], ignore_index=True))
    results = dataclasses.replace(made, site=place)
    assert agreed(name, results) == agreed(name, paper) != agreed(name, ours)
    assert set(agreed(name, dataclasses.replace(results, table=ours.cells))) == {None}  # the paper's launches failed
    pictures, own = figure.pictures(results), figure.pictures(paper)
    assert [one.name for one in pictures] == [f"{one.name}{end}" for end in ("-published", "") for one in own]
    labels = [{name for panel in one.panels for name in panel.lines} for one in pictures]
    (drawn_first, drawn_last) = (
        [name for name in each if "Open MPI" in name] for each in (labels[0], labels[len(own)])
    )
    assert any(name.endswith("published") for name in drawn_first)
    assert any(name.endswith("common start") for name in drawn_last)


@pytest.mark.parametrize("other", ["intelmpi", "openmpi"])
def test_the_base_of_hunolds_figure_5_is_mpich_wherever_it_stands(other: str) -> None:
    made = WORLDS["hunold2015-fig5"](Maker(np.random.default_rng(1), 3, effect=True))
    there = site((8,), 8, {"mpich5": "bench", other: "bench"})
    results = dataclasses.replace(made, site=there, table=made.cells.replace({"library": {"intelmpi": other}}))
    (picture,) = FIGURES["hunold2015-fig5"].pictures(results)
    numbers = picture.numbers.set_index("of")["median"]
    base = numbers[[name for name in numbers.index if "MVAPICH" in name]]
    assert len(base) and base.to_numpy() == pytest.approx(1.0)


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
    cells = LaunchCells.of(cells_of({("bcast", 8, 50.0): [4.0]}, t0=30.0))
    benefits = late_arrival.benefits_of(late_arrival.times_of(cells))
    t = 80.0 / 1.04
    assert benefits.equation_5 == pytest.approx(100 * (30 + 50 - t) / t)
    assert [*benefits.by_stamps, *benefits.ceiling, *benefits.t0] == pytest.approx([2.0, 60.0, 30.0])


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
    operation = "Bcast 8 B"
    for title, value in (
        ("Eq. 5, common start, 50 us late", 4.5),
        ("by stamps, common start, 50 us late", 2.25),
        ("Eq. 5, the last rank 50 us late", 8.5),
        ("by stamps, the last rank 50 us late", 4.25),
        ("MPI_Barrier (Listing 1), 50 us late", 4.5),
        ("roundtime (Listing 2), 50 us late", 4.5),
    ):
        assert numbers[title, operation] == pytest.approx(value), title
    (times,) = FIGURES["niethammer2016-fig15"].pictures(results)
    assert set(times.numbers["panel"]) == set(late_arrival.SYNCHRONIZERS.values())


@pytest.mark.parametrize("number", range(5, 17))
def test_each_figure_measures_both_ways_to_start_and_shorter_delays(number: int) -> None:
    figure = FIGURES[f"niethammer2016-fig{number}"]
    assert "not say" in figure.setup
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
        assert {("0.8", "%"), ("0.4", "us")} <= set(re.findall(r"([\d.]+) (%|us)", str(finding.evidence)))


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
    assert "fewer than" in few.obstacle and "4" in few.obstacle  # type: ignore[union-attr]


def test_a_doubling_is_judged_where_one_too_long_would_fit_in() -> None:
    for times, agrees in (({2: 10.0, 8: 14.0}, True), ({2: 10.0, 4: 19.0}, False), ({2: 0.5, 4: 0.7}, None)):
        launches = {ranks: time * np.array(SCATTER[:3]) ** 0.1 for ranks, time in times.items()}
        measures = {"per_doubling": late_arrival.growth(launches, 5.0)["per_doubling"]}
        evidence = evidence_of("per_doubling < 5 us", measures)
        assert judge([Finding("", "", "", evidence)])[0].agrees is agrees


# Launches that worlds do not make up.


def test_own_times_are_less_the_reading_of_the_clock() -> None:
    rows = [
        (2, "bcast", 8, 5.0),
        (2, "nothing", 0, 1.0),
        (1, "nothing", 0, 0.5),
        (1, "bcast", 8, 3.0),
        (1, "bcast", 64, 9.0),
    ]
    cells = LaunchCells.of(pd.DataFrame(rows, columns=["launch", "operation", "size", "latency"]))
    less_the_reading = launch_values(cells, "latency less nothing", operation="bcast", size=8)
    assert less_the_reading.to_dict() == {1: 2.5, 2: 4.0}
    assert launch_values(cells, "latency", operation=["nothing"]).to_dict() == {1: 0.5, 2: 1.0}


@pytest.mark.parametrize(
    ("ranks", "cores", "agrees"), [(16, 16, [True] * 6), (2, 16, [True] * 4 + [None] * 2), (16, 2, [None] * 6)]
)
def test_the_papers_own_matrix_bears_out_its_claims(ranks: int, cores: int, agrees: list[bool | None]) -> None:
    made = WORLDS["schuchart2023-fig2"](Maker(np.random.default_rng(1), 5, effect=True))
    other = dataclasses.replace(made, runs=(run_of("matrix", ranks),), site=site((ranks,), cores))
    assert agreed("schuchart2023-fig2", other) == agrees
