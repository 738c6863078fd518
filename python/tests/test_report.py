"""Reports: what they say is what was measured, and the page is one file that says it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from downbeat.cli import app
from downbeat.comparison.compared import Compared
from downbeat.comparison.facts import step_of
from downbeat.comparison.summaries import plain_cells
from downbeat.data.attributes import ATTRIBUTES
from downbeat.errors import DownbeatError, UsageError
from downbeat.output.blocks import Heading, Line, Number, Numbers, View, unfolded
from downbeat.output.facts.comparison import Conclusion, OperationVerdicts
from downbeat.output.facts.experiment import Algorithms, Caution, Lowest, MachineStates
from downbeat.output.page import write_page
from downbeat.output.terminal import view_lines
from downbeat.output.words import long, short
from downbeat.report.compared import contrast_of
from downbeat.report.conditions import commands, machine_terms, measured_terms, variables
from downbeat.report.findings import (
    algorithm_facts,
    comparison_facts,
    delay_facts,
    large_numbers,
    latency_facts,
    overlap_facts,
    skew_facts,
    start_facts,
)
from downbeat.report.warnings import bench_warnings, experiment_warnings
from downbeat.run.experiment import Experiment, open_experiment
from downbeat.views.comparison import compare, comparison_view
from downbeat.views.report import make_report
from launch_files import Cell
from report_data import CONTEXT, US, add_overlaps, barrier_cells, cell, write_experiment
from snapshots import check_snapshot
from typer.testing import CliRunner


def lines_of(view: View) -> dict[str, str]:
    """Returns the sentences of a page by their labels, the first of each."""
    return {block.label: block.text for block in reversed([*unfolded(view.blocks)]) if isinstance(block, Line)}


def numbers_of(view: View) -> list[Number]:
    return [number for block in view.blocks if isinstance(block, Numbers) for number in block.numbers]


def test_the_news_counts_verdicts(tmp_path: Path) -> None:
    def news(name: str, launches: list[list[Cell]]) -> Conclusion:
        (said,) = comparison_facts(contrast_of(write_experiment(tmp_path / name, launches)))
        assert isinstance(said, Conclusion)
        return said

    said = news("a", [barrier_cells(one, 1.2) for one in (1, 1.01, 0.99, 1, 1.02)])
    assert [said.cells, said.count("slower"), said.ratio] == pytest.approx([3, 3, 1.2])
    assert news("b", [barrier_cells(1)] * 2).count("undecided") == 3


def test_the_barrier_is_said_by_ranges_of_sizes_in_the_main_state(tmp_path: Path) -> None:
    """Up to 64 bytes it adds 20 %; the slow launches, in which it adds 50 %, are too few."""
    launches = []
    for number, factor in enumerate((1, 1.003, 0.998, 1.001, 1.002, 0.997, 1)):
        slow = number == 3
        state: dict[str, Any] = dict.fromkeys(("canary_low", "canary_high"), 3e-7 if slow else 6e-8)
        launches.append(
            [
                cell(
                    10 * factor * (1.5 if slow else 1.2 if barrier and size < 512 else 1), "bcast", size, name, **state
                )
                for size in (8, 64, 512)
                for name, barrier in (("harmonize", False), ("mpi_barrier", True))
            ]
        )
    page = make_report([write_experiment(tmp_path, launches).path])
    (verdicts,) = (fact for fact in page.facts if isinstance(fact, OperationVerdicts))
    assert (verdicts.sizes, verdicts.ranges[0].verdict, verdicts.ranges[0].indices) == ((8, 64, 512), "slower", (0, 1))
    assert (verdicts.ranges[0].low, verdicts.ranges[0].high) == pytest.approx((1.2, 1.2), rel=1e-3)
    (states,) = (fact for fact in page.facts if isinstance(fact, MachineStates))
    assert states.launches == (("60ns", 6), ("300ns", 1))
    assert {fact.cells for fact in page.facts if isinstance(fact, Conclusion)} == {3}


def test_undecided_cells_say_how_many_launches_would_do(tmp_path: Path) -> None:
    deltas = (1.0, 1.1, 0.9, 1.05, 0.96)
    experiment = write_experiment(tmp_path, [barrier_cells(1, delta, sizes=(8,)) for delta in deltas])
    frame = compare(experiment, where_a={"synchronizer": "harmonize"}, where_b={"synchronizer": "mpi_barrier"})
    _, said = start_facts(contrast_of(experiment))
    (step,) = step_of(Compared.of(frame))
    assert said == step
    assert (step.cells, step.launches) == (1, 5)
    assert short(step) in " ".join(" ".join(view_lines(comparison_view(frame))).split())


def test_each_start_is_a_family(tmp_path: Path) -> None:
    cells = [cell(5, synchronizer=name) for name in ("harmonize", "tree", "linear", "bruck")]
    facts = start_facts(contrast_of(write_experiment(tmp_path, [cells])))
    assert [(one.b, one.cells) for one in facts if isinstance(one, Conclusion)] == [
        ("tree", 1),
        ("linear", 1),
        ("bruck", 1),
    ]


def test_how_long_operations_take(tmp_path: Path) -> None:
    launches = [[cell(factor * 4, "barrier", 0), *barrier_cells(factor)] for factor in (1, 2, 4)]
    (said,) = latency_facts(write_experiment(tmp_path, launches))
    barrier, bcast = said.operations
    # Geometric means over launches, 2 x 4 and 2 x (10 to 26) us; of the interval see the test of the picture.
    assert [barrier.low, barrier.interval_low, barrier.interval_high] == pytest.approx([8, 1.43, 44.8], rel=1e-2)
    assert [bcast.low, bcast.high, bcast.cells] == pytest.approx([20.2, 52.0, 3], rel=1e-2)
    check_snapshot("latencies", [long(said)])


def test_libraries_are_compared_from_a_common_start(tmp_path: Path) -> None:
    write_experiment(tmp_path / "a", [barrier_cells(factor) for factor in (1, 1.01, 0.99, 1, 1.02)], mpi_library="A 1")
    write_experiment(tmp_path / "b", [barrier_cells(2 * factor) for factor in (1, 1.01, 1, 1.01, 1)], mpi_library="B 1")
    for file in sorted((tmp_path / "b").glob("*.nc")):
        file.rename(tmp_path / "a" / f"1{file.name}")
    contrast = contrast_of(open_experiment(tmp_path / "a"))
    (news,) = comparison_facts(contrast)
    assert isinstance(news, Conclusion)
    assert (news.a, news.b, news.cells) == ("A 1", "B 1", 3)
    assert news.ratio == pytest.approx(2, rel=0.02)
    assert list(contrast.ratios.verdict) == ["slower"] * 3
    first, second, ratio = large_numbers(contrast)
    assert [one.value[:4] for one in (first, second, ratio)] == ["10.2", "20.4", "2.00"]
    assert ratio.about.endswith("3 cells")


def test_without_a_comparison_three_latencies_are_large(tmp_path: Path) -> None:
    cells = [cell(latency, size=size) for latency, size in ((5, 8), (6, 64), (7, 512), (8, 1024))]
    numbers = large_numbers(contrast_of(write_experiment(tmp_path, [cells] * 3)))
    assert [(one.value, one.unit) for one in numbers] == [("5.00", "us"), ("7.00", "us"), ("8.00", "us")]


def test_what_is_incomplete_is_in_pictures_and_in_no_verdict(tmp_path: Path) -> None:
    """As in `downbeat compare`: of seven launches five have both cells complete."""
    launches = [barrier_cells(factor, sizes=(8,)) for factor in (1, 1.1, 1, 1.2, 1, 1, 1)]
    for late in launches[5:]:
        late[0].other["status"] = 1
    experiment = write_experiment(tmp_path, launches)
    (table,) = contrast_of(experiment).tables.values()
    assert table.verdicts.launches_a.tolist() == table.verdicts.launches_b.tolist() == [5]
    assert len(plain_cells(experiment)) == 14
    assert any(warning.startswith("2 cells") for warning in experiment_warnings(experiment))


def test_four_launches_are_no_verdict_and_a_warning(tmp_path: Path) -> None:
    experiment = write_experiment(tmp_path, [barrier_cells(1, 2.0)] * 4)
    (said,) = comparison_facts(contrast_of(experiment))
    assert isinstance(said, Conclusion)
    assert (said.cells, said.count("undecided")) == (3, 3)
    assert experiment_warnings(experiment)[0].startswith("4 launches")
    (caution,) = (fact for fact in make_report([experiment.path]).facts if isinstance(fact, Caution))
    assert long(caution).split()[0] == str(len(experiment_warnings(experiment)))


def test_without_a_common_start_nothing_is_judged(tmp_path: Path) -> None:
    experiment = write_experiment(tmp_path, [[cell(5, synchronizer="mpi_barrier")]] * 5)
    assert contrast_of(experiment).tables == {}
    page = make_report([tmp_path])
    assert page.title.split(", ") == ["bcast: latency", "node", "2026-01-02"]
    assert [one.value for one in numbers_of(page)] == ["5.00"]


def test_algorithms_that_look_fastest_behind_a_barrier_alone(tmp_path: Path) -> None:
    latencies = {
        ("linear", "harmonize"): 3,
        ("tree", "harmonize"): 4,
        ("linear", "mpi_barrier"): 6,
        ("tree", "mpi_barrier"): 5,
    }
    cells = [cell(value, "reduce", 8, line, algorithm=name) for (name, line), value in latencies.items()]
    (said,) = algorithm_facts(write_experiment(tmp_path, [cells] * 5))
    assert said == Algorithms(
        "reduce",
        (Lowest("linear", "harmonize", 1),),
        from_common_start=True,
        cases=1,
        sure=1,
        deceived=(("mpi_barrier", 1),),
        harmed=1,
    )
    check_snapshot("algorithms", [long(said)])
    (said,) = algorithm_facts(write_experiment(tmp_path / "few", [cells] * 4))
    assert isinstance(said, Algorithms) and said.sure == 0


def test_algorithms_of_many_sizes_share_a_sentence(tmp_path: Path) -> None:
    cells = [
        cell(size if name == "linear" else 64, "reduce", size, line, algorithm=name)
        for name in ("linear", "tree")
        for size in (8, 16, 512)
        for line in ("harmonize", "mpi_barrier")
    ]
    (said,) = algorithm_facts(write_experiment(tmp_path, [cells] * 5))
    assert isinstance(said, Algorithms)
    assert [(one.algorithm, one.cases) for one in said.lowest] == [("linear", 2), ("tree", 1)]
    assert (said.cases, said.sure, said.deceived) == (3, 3, ())


def test_without_a_common_start_nobody_knows_the_fastest(tmp_path: Path) -> None:
    cells = [
        cell(value, "reduce", 8, "mpi_barrier", algorithm=name) for name, value in (("linear", 2.0), ("tree", 1.0))
    ]
    (said,) = algorithm_facts(write_experiment(tmp_path, [cells]))
    assert said == Algorithms("reduce", (Lowest("tree", "mpi_barrier", 1),))


def test_sentences_on_delays_and_skews(tmp_path: Path) -> None:
    together = Cell([[0.0, 0.5 * US]], [[4 * US, 4 * US]])
    late = Cell(
        [[0.0, 10 * US]],
        [[12 * US, 12 * US]],
        delay=[[0, 10 * US]],
        other={"pattern": "one_late", "largest_delay": 10 * US},
    )
    experiment = write_experiment(tmp_path, [[together, late]])
    (said,) = delay_facts(experiment)
    ((spread, delays),) = said.operations
    assert (spread.operation, spread.cells) == ("bcast", 1)
    assert [spread.low, spread.high, *delays] == pytest.approx([0.5, 0.5, 10, 10])
    (skew,) = skew_facts(experiment)
    assert {one.synchronizer: one.low for one in skew.above} == pytest.approx({"harmonize": 0.5 * US})


def test_skews_that_the_clock_cannot_tell_apart_are_not_ordered(tmp_path: Path) -> None:
    cells = [
        cell(5, skew_us=0.03, synchronizer="harmonize"),
        cell(5, skew_us=0.01, synchronizer="window"),
        cell(5, skew_us=0.5, synchronizer="tree"),
        cell(5, "reduce", skew_us=40, ranks=3),  # of other ranks, and of the fewer
    ]
    (said,) = skew_facts(write_experiment(tmp_path, [cells[:3]]))
    assert said.limit == pytest.approx(0.04 * US)
    assert said.below == ("harmonize", "window")
    assert [skew.synchronizer for skew in said.above] == ["tree"]
    write_experiment(tmp_path / "b", [cells[3:]])
    (tmp_path / "b" / "001.nc").rename(tmp_path / "002.nc")
    (said,) = skew_facts(open_experiment(tmp_path))
    assert said.ranks == 3
    assert {skew.synchronizer: skew.high for skew in said.above} == pytest.approx({"harmonize": 40 * US})


def test_overlap_with_computation_is_said(tmp_path: Path) -> None:
    cells = [cell(5, "ibcast(compute=auto)", size, computation=9 * US) for size in (8, 64)]
    write_experiment(tmp_path, [cells])
    add_overlaps(tmp_path / "001.nc", [0.5, 0.9])
    (said,) = overlap_facts(open_experiment(tmp_path))
    # 0.2 less than OSU's figure, as `add_overlaps` has it.
    (spread,) = said.operations
    assert [spread.low, spread.high, spread.cells] == pytest.approx([0.3, 0.7, 2])


def test_warnings_say_what_is_wrong_with_cells_clocks_and_conditions(tmp_path: Path) -> None:
    outside: dict[str, str | int] = {
        "clock_check_offset_s": "1e-3",
        "clock_check_allowed_s": "1e-7",
        "clock_check_ranks_outside": 1,
    }
    wrong = cell(5, "reduce", 64, status=3)
    launches = [[cell(5 * factor)] for factor in (1, 1.02, 0.99, 1.03, 0.98)]  # that do not resemble the one before
    write_experiment(tmp_path, [[*one, wrong] for one in launches], **outside)
    write_experiment(tmp_path / "b", [[cell(5)]], git_revision="another")
    (tmp_path / "b" / "001.nc").rename(tmp_path / "006.nc")
    warnings = experiment_warnings(open_experiment(tmp_path))
    check_snapshot("report_warnings", warnings)
    assert experiment_warnings(write_experiment(tmp_path / "fine", launches)) == ()


def test_more_than_five_warnings_share_the_last(tmp_path: Path) -> None:
    lines = [f"{name} is wrong: mend it" for name in "abcdefg"]
    found = experiment_warnings(write_experiment(tmp_path, [[cell(5)]], warnings="\n".join(lines)))
    assert len(found) == 5
    assert [sum(line in one for one in found) for line in lines] == [1] * len(lines)


def test_warnings_that_differ_in_numbers_alone_are_one() -> None:
    contexts = [{"warnings": text} for text in ("load 0.5\nslow", "load 0.7", "")]
    assert [re.findall(r"[\d.]+", line) for line in bench_warnings(contexts)] == [["0.5", "2", "3"], ["1", "3"]]
    assert bench_warnings(contexts[:1]) == ["load 0.5", "slow"]


def test_conditions(tmp_path: Path) -> None:
    experiment = write_experiment(tmp_path, [[cell(5)]] * 2)
    check_snapshot("conditions", (f"{name}: {text}" for name, text in machine_terms(experiment).pairs))
    assert commands(experiment) == [CONTEXT["command_line"]]
    ranks_own, chosen = "OMPI_MCA_ess=pmi", ["OMPI_MCA_btl=tcp", "I_MPI_ADJUST_BCAST=2"]
    assert variables([{"environment": "\n".join([ranks_own, *chosen])}]) == chosen


def test_conditions_have_each_setting_with_its_label_and_unit(tmp_path: Path) -> None:
    late = ("late_s", "late_by", "late_ranks")
    plain = dict(measured_terms(write_experiment(tmp_path / "plain", [[cell(5)]])).pairs)
    assert not {ATTRIBUTES[name].label for name in late} & set(plain)
    assert plain[ATTRIBUTES["stopping_rule"].label].startswith("fixed(")
    given = write_experiment(tmp_path / "late", [[cell(5)]], late_s="5e-06", late_ranks="0.01")
    measured = dict(measured_terms(given).pairs)
    assert [measured.get(ATTRIBUTES[name].label) for name in late] == ["5.000 us", None, "0.01"]
    flags = dict(measured_terms(write_experiment(tmp_path / "flags", [[cell(5)]], late_by="flags")).pairs)
    assert [flags.get(ATTRIBUTES[name].label) for name in late] == [None, "flags", None]


def test_commands_and_what_doctor_saw_are_told_of_a_run(tmp_path: Path) -> None:
    write_experiment(tmp_path, [[cell(5)]])
    (lone,) = open_experiment(tmp_path).launches
    launch = type(lone)("mpich", 2, "tree", 1, lone.path, {"command": ["mpirun", "a b"], "variables": {"X": "1"}})
    finding = {"check": "clock", "seen": "it is slow", "verdict": "problem", "advice": "another"}
    (tmp_path / "machine.json").write_text(json.dumps({"findings": [finding]}))
    failure = {"library": "mpich", "directory": "failed/one", "exit_status": 1}
    experiment = Experiment(tmp_path, "e", (launch,), None, (failure,))
    assert [shlex.split(command) for command in commands(experiment)] == [["env", "X=1", "mpirun", "a b"]]
    assert finding["seen"] in dict(machine_terms(experiment).pairs)["clock"]
    warnings = experiment_warnings(experiment)
    assert any(finding["seen"] in warning and finding["advice"] in warning for warning in warnings)
    assert any(warning.startswith("1 launch") and "failed/one" in warning for warning in warnings)


PICTURES = ("Pictures", "More pictures")  # headings of an experiment among several


def headings(view: View) -> list[str]:
    return [block.text for block in view.blocks if isinstance(block, Heading)]


def test_nights_are_named_by_directory_and_drawn_over_time(tmp_path: Path) -> None:
    for night in range(4):
        write_experiment(
            tmp_path / f"night{night}", [barrier_cells(1 + 0.1 * night)] * 2, date=f"2026-01-0{night + 1}T01:00:00Z"
        )
    page = make_report([tmp_path / f"night{night}" for night in range(4)])
    (picture,) = (each for each in page.pictures if each.name == "nights")
    assert sorted(set(picture.numbers["experiment"])) == [f"night{night}" for night in range(4)]
    medians = picture.numbers[picture.numbers["size_bytes"] == 8].sort_values("night")["median_us"]
    assert medians.tolist() == pytest.approx([(10 + 8 / 64) * (1 + 0.1 * night) for night in range(4)])


def test_a_report_of_several_sources(tmp_path: Path) -> None:
    write_experiment(tmp_path / "a", [barrier_cells(1)])
    write_experiment(tmp_path / "b", [[cell(5)]])
    page = make_report([tmp_path / "a", tmp_path / "b" / "001.nc"])
    assert page.title.startswith("2 experiments")
    assert {f"{name}: {each}" for name in ("a", "001") for each in PICTURES} <= set(headings(page))
    names = [picture.name for picture in page.pictures]
    assert len(names) == len(set(names)) and {"exit_skew", "exit_skew-2"} <= set(names)
    write_page(tmp_path / "page.html", page)


def test_the_command_writes_beside_the_data_and_names_the_page(tmp_path: Path) -> None:
    write_experiment(tmp_path, [[cell(5)]])
    command = [sys.executable, "-W", "error", "-m", "downbeat", "report", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path / 'report.html'}\n", "")
    other = tmp_path / "other.html"
    pictures = tmp_path / "new" / "pictures"
    result = CliRunner().invoke(
        app, ["report", str(tmp_path / "001.nc"), "-o", str(other), "--pictures", str(pictures)]
    )
    assert (result.exit_code, result.output) == (0, f"{other}\n")
    assert "<svg" in other.read_text(encoding="utf-8")
    assert len(list(pictures.iterdir())) == 3 * 3
    assert (pictures / "exit-skew.png").read_bytes()[:4] == b"\x89PNG"
    assert (pictures / "exit-skew.pdf").read_bytes()[:4] == b"%PDF"
    assert pd.read_csv(pictures / "exit-skew.csv")["median_us"].tolist() == pytest.approx([0.5])
    result = CliRunner().invoke(app, ["report", str(tmp_path / "001.nc"), "--pictures", str(other)])
    assert isinstance(result.exception, DownbeatError)


def test_what_has_no_report_is_refused_in_one_line(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "x.nc", "w", format="NETCDF3_64BIT_DATA") as file:
        file.setncatts({"schema": "downbeat-bench", "schema_version": 3, "experiment": "algorithms"})
    with pytest.raises(
        UsageError, match="is of algorithms; reports are of samples of operations, skew, clock, drift, rtt"
    ):
        make_report([tmp_path / "x.nc"])
    with pytest.raises(UsageError, match="there is no experiment"):
        make_report([tmp_path / "none"])


def clock_file(path: Path, experiment: str, **variables: tuple[tuple[str, ...], object]) -> None:
    """Writes a file as of an experiment on clocks or synchronizers."""
    data = xr.Dataset(
        {name: (dims, np.asarray(values)) for name, (dims, values) in variables.items()},
        attrs=CONTEXT
        | {"schema": "downbeat-bench", "schema_version": 3, "experiment": experiment}
        | {
            "title": "A title",
            "hosts": "a host",
            "date": "2026-01-02",
            "mpi_library": "Some MPI 1.0",
            "clock_domains": 1,
        },
    )
    data.to_netcdf(path, format="NETCDF3_64BIT")


def test_a_directory_of_files_may_hold_all_kinds(tmp_path: Path) -> None:
    histogram = {"histogram_left": [[1e-6, 2e-6]], "histogram_count": [[1.0, 2.0]]}
    variables = {name: (("pair", "bin"), values) for name, values in histogram.items()}
    times = {name: (("pair",), [1e-6]) for name in ("rtt_min", "rtt_median", "rtt_p99", "histogram_width")}
    sample = {"rtt": (("pair", "sample"), [[1e-6]])}
    write_experiment(tmp_path, [[cell(5)]])
    clock_file(tmp_path / "rtt.nc", "rtt", **variables, **times, **sample)
    page = make_report([tmp_path])
    assert {"rtt: Pictures", *(f"{tmp_path.name}: {each}" for each in PICTURES)} <= set(headings(page))
    (tmp_path / "001.nc").unlink()
    assert make_report([tmp_path]).title.split(", ") == ["rtt", "a host", "2026-01-02"]


def test_launches_are_counted_by_configuration(tmp_path: Path) -> None:
    write_experiment(tmp_path / "a", [[cell(5)]] * 2, mpi_library="A 1")
    write_experiment(tmp_path / "b", [[cell(5)]] * 2, mpi_library="B 1")
    for file in (tmp_path / "b").glob("*.nc"):
        file.rename(tmp_path / "a" / f"b{file.name}")
    assert "2 launches" in make_report([tmp_path / "a"]).byline


def test_a_file_with_arrival_patterns_alone_has_a_report(tmp_path: Path) -> None:
    experiment = write_experiment(tmp_path / "a", [[cell(5, pattern="one_late", largest_delay=1e-5)]])
    assert latency_facts(experiment) == []
    assert make_report([tmp_path / "a"]).pictures
