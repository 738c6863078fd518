"""The figures of the papers: all are there, and all run."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
import xarray as xr
from downbeat.commands.reproduce import reproduce
from downbeat.errors import UsageError
from downbeat.output.blocks import Command, Heading, Picture, unfolded
from downbeat.output.page import render_page
from downbeat.output.terminal import WIDTH, view_lines
from downbeat.report.drawing import numbers_of
from downbeat.report.panel import Panel
from downbeat.report.style import new_figure
from downbeat.run.durations import MIN_LIMIT
from downbeat.text import evenly
from downbeat_command import downbeat
from downbeat_papers import words
from downbeat_papers.claims import Facts
from downbeat_papers.figure import FIGURES, FOLDER, data_figure, figures_of, find_figures, not_drawn
from downbeat_papers.judgement import judge
from downbeat_papers.kinds import (
    cells,
    clocks,
    distribution,
    drift,
    exits,
    late_arrival,
    over_time,
    round_trips,
    scaling,
)
from downbeat_papers.kinds.late_arrival import Benefit
from downbeat_papers.listing import listing
from downbeat_papers.perform import perform, plan_of, seconds_left
from downbeat_papers.results import Results, SeriesError
from downbeat_papers.site import Site, site_at_hand
from downbeat_papers.view import figure_view, report_view
from papers_site import BENCHES, site

from tests.statistics.claims import LAUNCHES, shares
from tests.statistics.worlds import WITHOUT_CLAIMS, WORLDS, Maker, SimulatedResults, World

EXPERIMENTS = 5
# Which figures there are.


@pytest.mark.parametrize(
    ("lost", "why"),
    [
        ('simulated = "it', "niethammer2016-tab2 has no 'simulated'; give why it is not"),
        ("effect = ", "niethammer2016-tab2 has no 'effect'; give what the paper reports"),
        ("needs = ", "niethammer2016-tab2 has no 'needs'; give a text"),
    ],
)
def test_a_figure_that_lacks_what_is_to_be_known_of_it_is_refused(lost: str, why: str, tmp_path: Path) -> None:
    text = (FOLDER / "niethammer2016.toml").read_text(encoding="utf-8")
    line = text.partition("[tab2]")[0].count("\n") + 1
    kept = [one for one in text.splitlines(keepends=True) if not one.startswith(lost)]
    path = tmp_path / "niethammer2016.toml"
    path.write_text("".join(kept), encoding="utf-8")
    with pytest.raises(UsageError, match=re.escape(f"niethammer2016.toml, line {line}: {why}")):
        list(figures_of("niethammer2016", tmp_path))


def test_a_simulated_figure_of_an_unknown_system_is_refused(tmp_path: Path) -> None:
    text = (FOLDER / "niethammer2016.toml").read_text(encoding="utf-8")
    path = tmp_path / "niethammer2016.toml"
    path.write_text(text.replace('system = "two_nodes"', 'system = "laptop"'), encoding="utf-8")
    with pytest.raises(UsageError, match="niethammer2016-fig2 is simulated without 'laptop'; systems are hornet, two"):
        list(figures_of("niethammer2016", tmp_path))


def test_the_docs_list_the_figures_that_there_are() -> None:
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, root / "tools/figure-lists", "--check"], check=True, timeout=60)


def test_references_are_as_one_cites() -> None:
    assert FIGURES["schuchart2023-fig2"].reference.endswith("Fig. 2")
    assert FIGURES["niethammer2016-tab2"].reference.endswith("Table II")
    assert FIGURES["schuchart2023-sec66"].reference.endswith("section 6.6")


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
        assert "Open MPI" in FIGURES[name].shows(without)


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


# Claims and pictures of figures.


# The first figure of each kind.
FIRST = {type(figure.kind): name for name, figure in reversed(FIGURES.items())}.values()


def figures(names: Iterable[str], later: pytest.MarkDecorator) -> pytest.MarkDecorator:
    """Runs a test on figures, later on all but the first of each kind."""
    return pytest.mark.parametrize("name", [pytest.param(one, marks=[] if one in FIRST else later) for one in names])


@figures(WORLDS, pytest.mark.thorough)
def test_claims_are_seen_with_the_papers_effect_and_not_without(name: str) -> None:
    """`make bench-statistics` does the same with many more experiments."""
    found = shares(name, WORLDS[name], np.random.default_rng(1), EXPERIMENTS, LAUNCHES)
    assert found.false <= 1 / EXPERIMENTS
    assert found.power >= 1 - 1 / EXPERIMENTS, found.least
    assert found.denied == 0


EVERY_WORLD: dict[str, World] = {**WORLDS, **WITHOUT_CLAIMS}


def test_a_table_is_found_with_its_figure_and_once() -> None:
    assert find_figures(["hunold2015-tab1", "hunold2015-fig2"]) == [FIGURES["hunold2015-fig2"]]


@figures(EVERY_WORLD, pytest.mark.thorough)
def test_a_figure_says_and_draws_what_it_finds_in_launches(name: str) -> None:
    figure, results = FIGURES[name], EVERY_WORLD[name](Maker(np.random.default_rng(1), 3, effect=True))
    findings = figure.findings(results)
    # Each claim of the figure is judged by measured values, but for true errors that only some launches know.
    assert {one.paper for one in findings} >= {
        one.paper for one in figure.claims if "{" not in one.paper and "show" not in one.test
    }
    assert all(one.here and "unknown" not in one.here and "{" not in one.claim + one.here for one in findings)
    pictures = figure.pictures(results)
    assert pictures and all(len(picture.numbers) and picture.caption for picture in pictures)


# Columns of what a line or a box is, together and in part; the rest are positions along an axis.
KIND = ["operation", "synchronizer"]
APART = ([*KIND, "label", "algorithm", "barrier_algorithm", "timing", "pattern"], KIND)


def numberless(text: object) -> str:
    """Returns a label, or another name, without the numbers that are positions along an axis."""
    return re.sub(r"\d+", "", str(text))


def lacking_one(results: SimulatedResults) -> Iterator[tuple[str, SimulatedResults]]:
    """Yields the launches without a kind of cells, a synchronizer, scheme or pair, or the samples of a cell, each."""
    for columns in APART if len(results.table) else ():
        kinds = results.table[[one for one in columns if one in results.table]].map(numberless).agg(" ".join, axis=1)
        for kind in kinds.unique():
            yield kind, dataclasses.replace(results, table=results.table[kinds != kind])
    for family, group in itertools.groupby(sorted(results.files, key=numberless), key=numberless):
        labels = list(group)
        first = results.files[labels[0]][0]
        without: dict[str, tuple[str, Any]] = {}
        for dimension in {"synchronizer", "scheme", "pair"} & set(first.coords):
            without |= {str(one): (dimension, one) for one in first[dimension].to_numpy()}
        if "sample" in first.dims and "pair" not in first.dims:
            without |= {f"cell {one}": ("sample", one) for one in np.unique(first.get("cell_index", [0]))}
        for lost, (dimension, one) in without.items():
            files = {label: [less_one(data, dimension, one) for data in results.files[label]] for label in labels}
            yield f"{family}, {lost}", dataclasses.replace(results, files={**results.files, **files})


def less_one(data: xr.Dataset, dimension: str, one: object) -> xr.Dataset:
    """Returns a launch without an entry of a dimension, of samples without those of a cell."""
    if dimension != "sample":
        return data.drop_sel({dimension: [one] if one in data[dimension] else []})
    return data.isel(sample=np.broadcast_to(data.get("cell_index", 0) != one, data.sizes["sample"]))


def shown(pictures: Iterable[Picture]) -> set[tuple[str, ...]]:
    """Returns what has a value: lines, and boxes with their group, by picture and panel."""
    return {
        (picture.name, panel.title, getattr(one, "label", ""), getattr(one, "group", ""))
        for picture in pictures
        for panel in picture.panels
        for one in panel.marks
        if not dataclasses.replace(panel, marks=[one]).empty
    }


# Which draw one line of all that a file has.
NEVER_IN_PART = ("hoefler2008-fig4", "hoefler2008-fig6", "niethammer2016-tab2")


@figures(EVERY_WORLD, pytest.mark.thorough)
def test_no_panel_loses_what_it_shows_in_silence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever launches lack, all that is drawn of whole ones is there, or the figure fails with a line."""

    def undrawn(own: str, title: str, caption: str, panels: Sequence[Panel], **_: object) -> Picture:
        return Picture(own, title, caption, new_figure(1.0), numbers_of(panels), panels)

    for module in (cells, clocks, distribution, drift, exits, late_arrival, over_time, round_trips, scaling):
        monkeypatch.setattr(module, "make_picture", undrawn)
    figure, results = FIGURES[name], EVERY_WORLD[name](Maker(np.random.default_rng(1), 2, effect=True))
    whole, failed = shown(figure.pictures(results)), 0
    for lost, fewer in lacking_one(results):
        try:
            assert whole <= shown(figure.pictures(fewer)), lost
        except SeriesError as error:
            assert str(error).startswith(f"{name}: "), lost
            failed += 1
    assert whole and (failed or name in NEVER_IN_PART)


def test_a_series_that_one_panel_lacks_is_named_with_it() -> None:
    figure = FIGURES["hunold2015-fig2"]
    made = WORLDS[figure.name](Maker(np.random.default_rng(1), 3, effect=True))
    results = dataclasses.replace(made, table=made.cells.query("timing != 'batch' or operation == 'bcast'"))
    lacks = "(2) 100 calls in a row (MPI_Allreduce)"
    with pytest.raises(SeriesError, match=re.escape(f"{figure.name}: no launch has {lacks}")):
        figure.pictures(results)
    # Where cells lack valid samples, the rest is drawn, and the page names the missing ones.
    failed = dataclasses.replace(results.launches["schemes"][0], record={"exit_status": 3})
    assert not_drawn(figure.pictures(dataclasses.replace(results, launches={"schemes": (failed,)}))) == [lacks]


# Sizes that fit on a machine.


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
    view = listing(FIGURES.values(), lambda _: site(counts, 64))
    assert max(map(len, view_lines(view))) <= WIDTH
    assert [block.text for block in view.blocks if isinstance(block, Heading)] == [*FIGURES, "all"]


# With downbeat-bench.


@pytest.fixture(scope="module")
def quick() -> Site:
    if "openmpi" not in BENCHES:
        pytest.skip("downbeat-bench is not built; make build")
    return Site(2, BENCHES, (2,), launches=1, quick=True)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """Results by runs: on two ranks some figures are the same runs."""
    return {}


@pytest.mark.thorough
@figures(FIGURES, pytest.mark.nightly)
def test_downbeat_bench_takes_what_is_run_and_the_page_shows_it(
    name: str, quick: Site, measured: dict[str, Results], tmp_path: Path
) -> None:
    figure = FIGURES[name]
    source = data_figure(figure)
    key = repr(source.runs(quick))
    if key not in measured:
        measured[key] = perform(source, quick, tmp_path, again=False, say=lambda _: None)
    results = measured[key]
    assert results.labels() == [run.label for run in source.runs(quick)]
    view = report_view([figure], [figure_view(figure, results)], quick)
    assert view.pictures and all(len(picture.numbers) for picture in view.pictures)
    assert words.FewMeasurements(quick=True) in view.facts
    counts = view.facts[0]
    assert isinstance(counts, words.ClaimCounts) and not counts.confirmed + counts.not_confirmed
    (commands,) = (block.lines for block in unfolded(view.blocks) if isinstance(block, Command))
    assert len(commands) == len(results.runs)
    assert render_page(view).count("<figure id=") == len(view.pictures)


@pytest.mark.thorough
def test_launches_of_another_plan_are_refused_and_finished_ones_kept(quick: Site, tmp_path: Path) -> None:
    figure = FIGURES["niethammer2016-fig15"]
    said: list[str] = []
    results = perform(figure, quick, tmp_path, again=False, say=said.append)
    begins, *_, ends = said
    lines = len(said)
    assert re.findall(r"n2: (\d+)", begins) == ["1"] and re.findall(r"\d+", ends)[:2] == ["1", "1"]
    assert seconds_left(figure, quick, tmp_path) == 0
    assert seconds_left(figure, dataclasses.replace(quick, launches=3), tmp_path) == 2 * figure.runs(quick)[0].seconds
    before = results.launches["n2"][0].record["started"]
    assert perform(figure, quick, tmp_path, again=False, say=said.append).launches["n2"][0].record["started"] == before
    assert len(said) == lines
    longer = Site(2, BENCHES, (2,), launches=1, quick=False)
    with pytest.raises(UsageError, match="holds another experiment"):
        perform(figure, longer, tmp_path, again=False, say=said.append)
    again = perform(figure, quick, tmp_path, again=True, say=said.append)
    assert again.launches["n2"][0].record["started"] > before  # type: ignore[operator]


def test_what_runs_under_a_launcher_is_not_said_to_run_on_this_machines_cores() -> None:
    cluster = Site(0, {"openmpi": "bench", "mpich5": "bench"}, (2, 64), launcher="srun -n {ranks}", nodes=0)
    text = "\n".join(view_lines(listing(FIGURES.values(), lambda _: cluster)))
    assert not re.search(r"\b2 cores|\b1 node\b", text)


JOB = Site(
    32, {"openmpi": "bench", "mpich5": "bench"}, (2, 32, 64, 4096), nodes=128, ranks_per_node=32, made_clocks=False
)


def test_figures_take_the_ranks_and_the_clocks_of_a_job() -> None:
    assert (JOB.node, JOB.full, JOB.most) == (32, 4096, 4096)
    one_node = {"schuchart2023-fig2", "schuchart2023-fig6", "schuchart2023-fig9", "schuchart2023-fig12"}
    for figure in FIGURES.values():
        runs = figure.runs(JOB)
        assert not any("DOWNBEAT_VALIDATION" in run.variables for run in runs if run.per_node(JOB) < run.ranks), figure
        if figure.name in one_node:
            assert {run.ranks for run in runs} == {32}
    pairs = {name: FIGURES[name].runs(JOB) for name in ("hunold2015-fig6", "hunold2015-fig8", "schuchart2023-fig3")}
    (drift,) = pairs["hunold2015-fig6"]
    assert (drift.ranks, drift.per_node(JOB), drift.launches(JOB)) == (128, 1, JOB.launches)
    assert drift.options["pairs"] == "0:1,0:26,0:51,0:77,0:102,0:127"
    offsets = {run.label: run for run in pairs["hunold2015-fig8"]}
    assert {label: run.per_node(JOB) for label, run in offsets.items()} == {
        "n2": 1, "n32": 1, "n64": 1, "nodes-n4096": 32,
    }  # fmt: skip
    assert offsets["nodes-n4096"].options["sample"] == "128"
    assert "sample" not in offsets["n64"].options
    alone = [run for run in pairs["schuchart2023-fig3"] if run.label.startswith("alone-")]
    assert [(run.ranks, run.per_node(JOB)) for run in alone] == [(2, 1), (32, 1), (64, 1), (128, 1)]


def test_clocks_are_watched_as_long_as_is_asked_for() -> None:
    night = dataclasses.replace(JOB, seconds=50400.0)
    for name in ("hunold2015-fig6", "hoefler2008-fig5"):
        (usual,), (long,) = FIGURES[name].runs(JOB), FIGURES[name].runs(night)
        assert (usual.options["duration"], usual.options["interval"]) == ("20", "0.25")
        assert float(long.options["duration"]) == 50400
        assert float(long.options["duration"]) / float(long.options["interval"]) <= 2000
        assert long.seconds > 50400 and "50400 s" in FIGURES[name].shows(night)
    assert FIGURES["hunold2015-fig9"].runs(night)[0].seconds > 4 * 3600  # one scheme after another, an hour each
    waits = {seconds: dataclasses.replace(JOB, seconds=seconds) for seconds in (0.0, 20.0)}
    found = {seconds: FIGURES["hunold2015-fig9"].runs(at)[0].options["waits"] for seconds, at in waits.items()}
    assert found == {0.0: "0,2,4,6,8,10", 20.0: "0,2,4,6,8,10,12,14,16,18,20"}


def test_every_process_of_a_job_synchronizes_by_itself_where_the_paper_has_it() -> None:
    alone = {f"hunold2015-fig{number}" for number in (1, 3, 4, 5, 11)}
    for name in alone | {"hunold2015-fig7", "hunold2015-fig9", "hunold2015-fig10", "hoefler2008-fig8"}:
        for run in FIGURES[name].runs(JOB):
            assert name == "hunold2015-fig5" or run.variables["DOWNBEAT_SHARE"] == "never", name
            if name in alone:
                assert (run.ranks, run.per_node(JOB)) == (128, 1), name
                assert "128 ranks" in FIGURES[name].shows(JOB)
    full = {name: FIGURES[name].runs(JOB)[-1] for name in ("hunold2015-fig7", "hunold2015-fig9")}
    assert {name: (run.ranks, run.per_node(JOB)) for name, run in full.items()} == dict.fromkeys(full, (4096, 32))
    few = dataclasses.replace(JOB, counts=(2, 4))
    assert {run.ranks for run in FIGURES["hunold2015-fig3"].runs(few)} == {4}


def test_launches_of_a_job_have_time_by_their_size() -> None:
    figure = FIGURES["niethammer2016-fig11"]  # alltoall
    few, *_, many = figure.runs(JOB)
    for one in (few, many):
        assert plan_of(figure, one, JOB).timeout >= max(MIN_LIMIT, 5 * one.seconds)  # as downbeat run
    assert many.seconds > 30


def test_all_ranks_with_a_core_of_a_job_are_judged() -> None:
    made = WORLDS["schuchart2023-fig8"](Maker(np.random.default_rng(1), 5, effect=True))
    job = dataclasses.replace(made.site, cores=8, nodes=2, ranks_per_node=8)
    unknown, few = dataclasses.replace(job, cores=0, nodes=0), site((2, 4, 8, 16))
    for place, agrees in ((unknown, True), (job, True), (few, None)):
        findings = FIGURES["schuchart2023-fig8"].findings(dataclasses.replace(made, site=place))
        assert judge(findings[:1])[0].agrees is agrees


def test_clocks_can_be_made_in_a_job_and_stay_made_on_one_node() -> None:
    made = dataclasses.replace(JOB, made_clocks=True)
    for place in (made, site()):
        assert all("DOWNBEAT_VALIDATION" in run.variables for run in FIGURES["hunold2015-fig9"].runs(place))
    assert "DOWNBEAT_VALIDATION" not in FIGURES["hunold2015-fig9"].runs(JOB)[0].variables


def test_the_job_is_found_in_slurms_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    if "openmpi" not in BENCHES:
        pytest.skip("downbeat-bench is not built; make build")
    job = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "3", "SLURM_JOB_CPUS_PER_NODE": "8(x3)", "SLURM_NTASKS": "12"}
    for name, value in job.items():
        monkeypatch.setenv(name, value)
    here_ = site_at_hand([], ["openmpi"], 5, quick=False)
    assert (here_.cores, here_.nodes, here_.ranks_per_node, here_.made_clocks) == (8, 3, 4, False)
    assert here_.counts == (2, 4, 8, 12)
    assert re.findall(r"\d+", here_.place) == ["3", "4"]
    assert site_at_hand([], ["openmpi"], 5, quick=False, ranks_per_node=1).counts == (2, 3)
    assert site_at_hand([], ["openmpi"], 5, quick=False, clocks="made").made_clocks
    with pytest.raises(UsageError, match="--ranks 16: at 4 per node, 3 nodes \\(Slurm job 7\\) have room for 12"):
        site_at_hand([16], ["openmpi"], 5, quick=False)


@pytest.mark.parametrize(
    ("numbers", "most", "kept"),
    [(range(5), 5, [0, 1, 2, 3, 4]), (range(1, 100), 3, [1, 50, 99]), (range(4), 1, [3]), ([], 2, [])],
)
def test_a_sample_is_evenly_spaced(numbers: range, most: int, kept: list[int]) -> None:
    assert evenly(numbers, most) == kept


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return downbeat("reproduce", *arguments, where=Path())


def test_the_command_lists_within_80_columns(quick: Site) -> None:
    done = command("--list")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert all(f"\n{name}\n" in f"\n{done.stdout}" for name in FIGURES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing-fig1"], "there is no figure 'nothing-fig1'"),
        ([], "name a figure"),
        (["--all", "hunold2015-fig1"], "either --all or names of figures"),
        (["hunold2015-fig1", "--ranks", "two"], "--ranks two"),
        (["hunold2015-fig1", "--ranks", "2,,4"], "--ranks 2,,4"),
        (["hunold2015-fig1", "--ranks", "1,2"], "at least 2 ranks"),
        (["hunold2015-fig1", "--mpi", "lam"], "--mpi lam: unknown"),
        (["hunold2015-fig1", "--launcher", "true"], "has no {ranks} in place of the number of ranks"),
        (["hunold2015-fig1", "--launcher", "true -n {ranks}"], "does not say how many there can be; give numbers"),
        (["hunold2015-fig1", "--launcher", "true {nodes} -n {ranks}"], "give the number with --ranks-per-node"),
        (["hunold2015-fig1", "--clocks", "atomic"], "--clocks atomic: unknown; valid are made, real"),
        (["hunold2015-fig1", "--clocks", "real"], "all ranks are on one node and read one clock"),
        (["hunold2015-fig1", "--seconds", "50"], "valid are hunold2015-fig6, hunold2015-fig9, hoefler2008-fig5"),
        (["schuchart2023-fig2", "--published"], "valid are schuchart2023-fig6"),
        (["hunold2015-fig1", "--launcher", "no-such -n {ranks}"], "'no-such' is not an executable program"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], said: str) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.thorough
def test_another_experiment_is_refused_before_anything_is_launched(quick: Site, tmp_path: Path) -> None:
    perform(FIGURES["niethammer2016-fig15"], quick, tmp_path / "niethammer2016-fig15", again=False, say=lambda _: None)
    options = ["--ranks", "2", "--launches", "1", "--mpi", ",".join(quick.benches), "-o", str(tmp_path)]
    done = command("schuchart2023-fig1", "niethammer2016-fig15", *options)
    assert done.returncode == 2
    assert "another experiment" in done.stderr
    assert not (tmp_path / "schuchart2023-fig1").exists()


@pytest.mark.thorough
def test_a_figure_that_fails_takes_no_other_with_it(
    quick: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(Benefit):
        def facts(self, _: Results) -> Facts:
            raise KeyError("true_error")

    broken = dataclasses.replace(FIGURES["niethammer2016-fig16"], kind=Broken("bcast"))
    monkeypatch.setitem(FIGURES, broken.name, broken)
    with pytest.raises(typer.Exit) as ended:
        reproduce(
            [broken.name, "niethammer2016-fig15"], output=tmp_path, ranks="2", mpi="openmpi", quick=True, launches=1
        )
    assert ended.value.exit_code == 3
    assert "'true_error'" in capsys.readouterr().err
    record = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    (failed,) = (fact for fact in record["facts"] if fact["fact"] == "not_drawn")
    assert failed["directory"] == "niethammer2016-fig15"
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "KeyError: &#39;true_error&#39;" in text
    assert text.count("<figure id=") == 1  # of the other


@pytest.mark.thorough
def test_the_command_writes_a_page_for_one_figure_and_a_report_for_several(quick: Site, tmp_path: Path) -> None:
    options = ["--quick", "--ranks", "2", "--launches", "1", "--mpi", "openmpi", "-o", str(tmp_path)]
    one = command("niethammer2016-fig15", *options)
    assert one.stdout == f"{tmp_path}/niethammer2016-fig15.html\n"
    two = command("niethammer2016-fig15", "niethammer2016-fig16", *options)
    assert two.stdout == f"{tmp_path}/report.html\n"
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Fig. 15" in text and "Fig. 16" in text
    # Measured once for both.
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["niethammer2016-fig15"]
