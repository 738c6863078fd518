"""Results of other tools in compare, show, report and export: launches, kinds, rates, damage, false verdicts."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import downbeat as package
import numpy as np
import pytest
from downbeat.commands.report import EXIT_DIFFERENT
from downbeat.comparison.compare import comparison_of
from downbeat.comparison.compared import Compared
from downbeat.data.readers import osu
from downbeat.data.readers.results import CUT, WRONG_RESULTS, Results
from downbeat.run.tool_results import ToolExperiment, open_results, tool_experiment
from downbeat_command import downbeat
from launch_files import Cell, write_launch

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "build/openmpi/bin/downbeat-bench"
SIZES = (8, 1024, 65536)


def latency_log(values: Sequence[float], sizes: Sequence[int] = SIZES, ranks: int = 4) -> str:
    """A log of osu_allreduce with a latency, us, for each size."""
    rows = "".join(f"{size:<10}{value:>18.3f}\n" for size, value in zip(sizes, values, strict=True))
    return (
        f"+ mpirun -n {ranks} osu_allreduce\n# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_FLOAT.\n"
        f"# Size       Avg Latency(us)\n{rows}"
    )


def bandwidth_log(values: Sequence[float]) -> str:
    """A log of osu_bw with a bandwidth, MB/s, for each size."""
    rows = "".join(f"{size:<10}{value:>18.2f}\n" for size, value in zip(SIZES, values, strict=True))
    return f"# OSU MPI Bandwidth Test v7.4\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n{rows}"


def write_logs(directory: Path, texts: Sequence[str]) -> list[Path]:
    """A file for each launch."""
    directory.mkdir(parents=True)
    paths = [directory / f"{number}.log" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def launches(seed: int, count: int, factor: float = 1.0, deviation: float = 0.01) -> list[str]:
    """Logs of launches with known medians 10, 20 and 400 us, times a factor and what launches deviate by."""
    logs = np.random.default_rng(seed).normal(0, deviation, (count, 1))
    return [latency_log(row) for row in (factor * np.array([10.0, 20.0, 400.0]) * np.exp(logs)).tolist()]


def compared(a: Sequence[Path], b: Sequence[Path], **options: object) -> Compared:
    return comparison_of(open_results(a), open_results(b), **options)  # type: ignore[arg-type]


def record(*words: object, where: Path) -> dict[str, Any]:
    """The JSON of a command."""
    result = downbeat(*words, "--json", "-", where=where)
    assert result.returncode == 0, result.stderr
    content: dict[str, Any] = json.loads(result.stdout)
    return content


def test_files_of_two_directories_are_two_sides(tmp_path: Path) -> None:
    before = write_logs(tmp_path / "before", launches(1, 6))
    after = write_logs(tmp_path / "after", launches(2, 6, 1.5))
    ways: list[list[object]] = [[*before, *after], [tmp_path / "before", tmp_path / "after"], [*before, "vs", *after]]
    for words in ways:
        content = record("compare", *words, where=tmp_path)
        cells = content["cells"]
        assert [cell["verdict"] for cell in cells] == ["slower"] * 3
        assert [cell["ratio"] for cell in cells] == pytest.approx([1.5] * 3, rel=0.02)
        assert [cell["launches_a"] for cell in cells] == [6] * 3
        assert [content[name] for name in ("metric", "statistic")] == ["latency_avg", "mean"]
    assert [cell["size"] for cell in cells] == list(SIZES)
    assert {cell["ranks"] for cell in cells} == {4}
    result = downbeat("compare", *before, *after, "--fail-on", "slower", where=tmp_path)
    assert result.returncode == EXIT_DIFFERENT
    assert downbeat("compare", *after, *before, "--fail-on", "slower", where=tmp_path).returncode == 0


def test_files_that_could_be_either_side_are_refused(tmp_path: Path) -> None:
    paths = write_logs(tmp_path / "logs", launches(1, 4))
    more = write_logs(tmp_path / "more", launches(1, 4)) + write_logs(tmp_path / "third", launches(1, 4))
    ways: list[list[object]] = [[*paths], [*paths, *more], ["vs", *paths], [*paths, "vs"]]
    for words in ways:
        result = downbeat("compare", *words, where=tmp_path)
        assert result.returncode == 2
        assert " vs " in result.stderr or "'vs'" in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_half_the_bandwidth_is_slower(tmp_path: Path) -> None:
    deviations = np.exp(np.random.default_rng(3).normal(0, 0.01, 12))
    texts = [bandwidth_log([100 * each, 2000 * each, 9000 * each]) for each in deviations]
    halved = [bandwidth_log([50 * each, 1000 * each, 9000 * each]) for each in deviations[::-1]]
    rows = compared(write_logs(tmp_path / "a", texts), write_logs(tmp_path / "b", halved))
    cells = rows.verdicts
    assert rows.metric == "bandwidth"
    assert cells.verdict.tolist() == ["slower", "slower", "equivalent"]
    assert cells.ratio == pytest.approx([0.5, 0.5, 1], rel=0.02)
    assert (cells.ratio_low < cells.ratio).all()
    assert (cells.ratio < cells.ratio_high).all()
    assert cells.a == pytest.approx([100e6, 2000e6, 9000e6], rel=0.02)  # B/s
    assert rows.frame().attrs["units"]["a"] == "B/s"
    back = compared([tmp_path / "b"], [tmp_path / "a"]).verdicts
    assert back.verdict.tolist() == ["faster", "faster", "equivalent"]


def test_one_launch_each_has_a_ratio_and_no_verdict(tmp_path: Path) -> None:
    a, b = write_logs(tmp_path / "a", launches(1, 1)), write_logs(tmp_path / "b", launches(2, 1, 3.0))
    content = record("compare", *a, *b, where=tmp_path)
    facts = content["facts"]
    fact = next(each for each in facts if each["fact"] == "one_launch_each")
    assert fact["ratio"] == pytest.approx(3, rel=0.05)
    cells = content["cells"]
    assert {cell["verdict"] for cell in cells} == {"undecided"}
    for option in ("slower", "different"):
        assert downbeat("compare", *a, *b, "--fail-on", option, where=tmp_path).returncode == 0


def test_a_history_of_files(tmp_path: Path) -> None:
    write_logs(tmp_path / "nights", ["".join(launches(seed, 5)) for seed in range(8)])
    nights = sorted((tmp_path / "nights").iterdir())
    tonight, same = tmp_path / "tonight.log", tmp_path / "same.log"
    tonight.write_text("".join(launches(50, 5, 1.5)), encoding="utf-8")
    same.write_text("".join(launches(51, 5)), encoding="utf-8")
    ways: list[list[object]] = [["--history", *nights, tonight], [tonight, "--history", tmp_path / "nights"]]
    for words in ways:
        result = downbeat("compare", *words, "--fail-on", "slower", where=tmp_path)
        assert result.returncode == EXIT_DIFFERENT, result.stdout
    assert downbeat("compare", "--history", *nights, same, "--fail-on", "different", where=tmp_path).returncode == 0
    result = downbeat("compare", "--history", *nights, where=tmp_path)
    assert result.returncode == 2
    assert "--history DIR" in result.stderr


def test_kinds_are_not_mixed(tmp_path: Path) -> None:
    latency = write_logs(tmp_path / "a", launches(1, 3))
    bandwidth = write_logs(tmp_path / "b", [bandwidth_log([1, 2, 3])] * 3)
    result = downbeat("compare", *latency, *bandwidth, where=tmp_path)
    assert result.returncode == 2
    assert "latency_avg (mean) / bandwidth (mean)" in result.stderr
    both = write_logs(tmp_path / "c", [text + bandwidth_log([1, 2, 3]) for text in launches(1, 3)])
    rows = compared(both, latency)
    assert (rows.metric, rows.verdicts.operation.tolist()) == ("latency_avg", ["allreduce"] * 3)
    rows = compared(both, both)
    assert any("--metric bandwidth" in note for note in rows.notes)
    for words in (["--metric", "one_way"], ["--statistic", "p99"], ["--metric", "speed"]):
        assert downbeat("compare", *both, *latency, *words, where=tmp_path).returncode == 2


def test_ours_and_theirs(tmp_path: Path) -> None:
    """Files of ours and logs: the same metric and statistic, and the number of ranks that OSU does not say."""
    (tmp_path / "ours").mkdir()
    for number in range(3):
        cell = Cell([[0.0, 0.0]] * 2, [[10e-6, 10e-6]] * 2, synchronizer="mpi_barrier")
        write_launch(tmp_path / "ours" / f"{number}.nc", [cell])
    ours = package.open_experiment(tmp_path / "ours").cells.iloc[0]
    text = latency_log([20.0], [ours["size"]]).replace("Allreduce", "Broadcast").replace("mpirun", "start")
    write_logs(tmp_path / "logs", [text.replace("MPI_FLOAT", ours["datatype"])] * 3)
    content = record("compare", "ours", "logs", where=tmp_path)
    cells = content["cells"]
    assert (content["metric"], content["statistic"]) == ("latency_avg", "mean")
    assert [(cell["ratio"], cell["ranks"]) for cell in cells] == [(pytest.approx(2.0), ours["ranks"])]


def test_show_report_and_export(tmp_path: Path) -> None:
    texts = launches(1, 4)
    texts[1] = texts[1][:-3]
    texts[2] += "# OSU MPI Bcast Latency Test v7.4\n# Size  Avg Latency(us)  Validation\n8 1.5 Fail\n"
    paths = write_logs(tmp_path / "logs", texts)
    content = record("show", *paths, where=tmp_path)
    facts = content["facts"]
    damages = {fact["what"]: (fact["count"], Path(fact["file"]).name) for fact in facts if fact["fact"] == "damage"}
    assert damages == {CUT: (1, "1.log"), WRONG_RESULTS: (1, "2.log")}
    cells = content["cells"]
    assert [(cell["operation"], cell["size"], cell["launches"]) for cell in cells] == [
        ("allreduce", 8, 4),
        ("allreduce", 1024, 4),
        ("allreduce", 65536, 3),
    ]
    spread = next(fact for fact in facts if fact["fact"] == "launch_spread")
    assert (spread["cells"], spread["several"]) == (3, 3)
    assert 1 < spread["median"] < 1.1
    assert downbeat("report", *paths, "-o", "page.html", where=tmp_path).returncode == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert CUT in page
    assert "<svg" in page
    exported = downbeat("export", "logs", "--to", "csv", where=tmp_path)
    rows = list(csv.DictReader(io.StringIO(exported.stdout)))
    assert [float(row["value"]) * 1e6 for row in rows[:3]] == pytest.approx(
        [float(line.split()[1]) for line in texts[0].splitlines()[4:]]
    )
    assert {row["tool"] for row in rows} == {"OSU"}
    assert downbeat("export", "logs", "--to", "csv", "--rows", "samples", where=tmp_path).returncode == 2


def false_verdicts(experiments: range) -> float:
    """The share of cells called different in halves of ten launches that deviate by 10 %, cells of them by 3 %."""
    false = cells = 0
    for seed in experiments:
        generator = np.random.default_rng(seed)
        deviations = generator.normal(0, 0.1, (10, 1)) + generator.normal(0, 0.03, (10, 3))
        texts = [latency_log(row) for row in (np.array([10.0, 20.0, 400.0]) * np.exp(deviations)).tolist()]
        order = generator.permutation(10).tolist()
        sides = []
        for half in (order[:5], order[5:]):
            results = Results.joined([osu.read(texts[number], f"{number}.log") for number in half])
            sides.append(tool_experiment(results, [f"{number}.log" for number in half]))
        verdicts = comparison_of(*sides).verdicts.verdict
        false += int(np.isin(verdicts, ("faster", "slower")).sum())
        cells += len(verdicts)
    return false / cells


@pytest.mark.parametrize("count", [5, pytest.param(150, marks=pytest.mark.nightly)])
def test_halves_of_the_same_launches_do_not_differ(count: int) -> None:
    assert false_verdicts(range(count)) <= 0.025


@pytest.mark.alone
@pytest.mark.thorough
def test_the_osu_format_of_the_bench_has_its_own_numbers(tmp_path: Path) -> None:
    """Three launches a side with the same settings: what is read is what the files have, and nothing differs."""
    words = ["bcast", "barrier", "-m", "8:4K", "-r", "200", "--sync", "mpi_barrier"]
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
    for number in range(3):
        for side in ("a", "b"):
            file = tmp_path / side / f"{number}"
            launch = [ROOT / "tools/launch", "--mpi", "openmpi", "-n", "2", "--timeout", "300", BENCH, *words]
            output = ["-o", f"{file}.nc", "--format", "osu"]
            with file.with_suffix(".log").open("w") as log:
                subprocess.run([*map(str, launch), *output], stdout=log, check=True, timeout=600)
    for side in ("a", "b"):
        logs = open_results(sorted((tmp_path / side).glob("*.log")))
        assert isinstance(logs, ToolExperiment)
        ours = package.open_experiment(tmp_path / side).cells
        key = ["launch", "operation", "size"]
        own = {tuple(row): value for *row, value in ours[[*key, "latency_avg_mean"]].itertuples(index=False)}
        read = logs.cells[[*key, "latency_avg_mean"]]
        numbers = {tuple(row): value for *row, value in read.itertuples(index=False)}
        assert numbers.keys() == {(launch, *cell) for launch in (1, 2, 3) for cell in {each[1:] for each in own}}
        for cell, value in numbers.items():
            assert abs(value - own[cell]) <= 0.501 * (1e-9 if own[cell] < 1e-6 else 1e-8), cell
    a, b = (sorted((tmp_path / side).glob("*.log")) for side in ("a", "b"))
    assert not set(compared(a, b).verdicts.verdict) & {"faster", "slower"}
