"""Output of `downbeat show`: known numbers on 80 columns, even without a geometric mean."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from downbeat.cli import main
from downbeat.comparison.summaries import typical_of_launches
from downbeat.output.terminal import WIDTH
from downbeat.text import microseconds
from launch_files import Cell, write_launch

from tests.statistics import kinds

Run = Callable[..., tuple[int, list[str], str]]
ENTRY = np.arange(5.0)[:, np.newaxis] + np.zeros((5, 2))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Returns what runs the command: exit status, lines of standard output, standard error."""

    def run(*arguments: str | Path) -> tuple[int, list[str], str]:
        monkeypatch.setattr("sys.argv", ["downbeat", "show", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        output, errors = capsys.readouterr()
        return int(ended.value.code or 0), output.splitlines(), errors

    return run


def test_a_row_is_the_typical_of_launches(tmp_path: Path, run: Run) -> None:
    for number, latency in enumerate((1.0, 2.0, 4.0)):
        verdicts = [0, 0, 0, 1, 3]  # of five attempts one is warm-up, one of four rejected
        write_launch(tmp_path / f"{number}.nc", [Cell(ENTRY, ENTRY + latency * 1e-6, verdict=verdicts)])
    status, lines, errors = run(tmp_path)
    assert (status, errors) == (0, "")
    assert lines[0].endswith("2026-01-02T03:04:05Z")
    size, median, half_width, p5, p95, p99 = row(lines, "bcast")[1:]
    assert (size, median) == ("8", "2.000")
    # The logarithms have the standard error log(2) / sqrt(3); Student's quantile of two degrees of freedom.
    factor = math.exp(4.30265 * math.log(2) / math.sqrt(3))
    assert float(half_width) == pytest.approx(100 * (factor - 1 / factor) / 2, rel=0.02)
    assert [p5, p95, p99] == ["2.000"] * 3
    assert "rejected, because ranks did not start together, and repeated: up to 25.0 % with" in lines
    assert ["common", "start"] in [line.split() for line in lines]  # the title of its columns
    assert "up to 63 % of launches may be slow" in " ".join(" ".join(lines).split())


def test_two_launches_have_no_interval(tmp_path: Path, run: Run) -> None:
    for number in range(2):
        write_launch(tmp_path / f"{number}.nc", [Cell(ENTRY, ENTRY + (1 + number) * 1e-6)])
    assert "+-%" not in " ".join(run(tmp_path)[1])


def test_the_interval_of_six_launches_is_their_range(tmp_path: Path, run: Run) -> None:
    """In any order in which none resembles the one before; the typical launch is the pseudo-median."""
    for number, latency in enumerate((4.0, 1.0, 2.0, 512.0, 8.0, 16.0)):
        write_launch(tmp_path / f"{number}.nc", [Cell(ENTRY, ENTRY + latency * 1e-6)])
    (cell,) = json.loads("\n".join(run(tmp_path, "--json", "-")[1]))["cells"]
    typical = 1e-6 * math.exp(kinds.pseudo_median(np.log([4.0, 1.0, 2.0, 512.0, 8.0, 16.0])))
    assert [cell[name] for name in ("median", "low", "high")] == pytest.approx([typical, 1e-6, 512e-6])


def row(lines: list[str], first: str) -> list[str]:
    """Returns the words of the only line that begins with a word."""
    (found,) = (line.split() for line in lines if line.split()[:1] == [first])
    return found


def test_synchronizers_are_side_by_side_and_zeros_are_kept(tmp_path: Path, run: Run) -> None:
    cells = [
        Cell(ENTRY, ENTRY + latency * 1e-6, size=size, synchronizer=synchronizer)
        for size, latency in ((8, 1.42), (1024, 14.2))
        for synchronizer in ("mpi_barrier", "harmonize")
    ]
    lines = run(write_launch(tmp_path / "a.nc", cells))[1]
    assert row(lines, "MPI_Barrier") == ["MPI_Barrier", "common", "start"]
    assert [line.split() for line in lines if line.startswith("bcast")] == [
        ["bcast", "8", *["1.420"] * 8],  # median and three quantiles, twice
        ["bcast", "1024", *["14.20"] * 8],
    ]


def test_the_record_is_in_seconds(tmp_path: Path, run: Run) -> None:
    for number, latency in enumerate((1.0, 2.0, 4.0)):
        write_launch(tmp_path / f"{number}.nc", [Cell(ENTRY, ENTRY + latency * 1e-6)])
    status, lines, errors = run(tmp_path, "--json", "-")
    assert (status, errors) == (0, "")
    written = json.loads("\n".join(lines), parse_constant=pytest.fail)  # and nothing else on standard output
    (cell,) = written["cells"]
    assert (written["schema_version"], written["units"]["median"], written["metric"]) == (1, "s", "latency_avg")
    assert (cell["operation"], cell["size"], cell["synchronizer"], cell["launches"]) == ("bcast", 8, "harmonize", 3)
    assert cell["median"] == pytest.approx(2e-6)
    assert cell["low"] < cell["median"] < cell["high"]
    assert run(tmp_path, "--json", tmp_path / "s.json")[1][-1] == f"written: {tmp_path / 's.json'}"
    assert json.loads((tmp_path / "s.json").read_text(encoding="utf-8")) == written


def test_computation_that_each_launch_finds_for_itself_is_one_row(tmp_path: Path, run: Run) -> None:
    for number in range(3):
        computed = Cell(ENTRY, ENTRY + 1e-6, operation="ibcast(compute=auto)", other={"computation": number * 1e-6})
        write_launch(tmp_path / f"{number}.nc", [computed])
    lines = run(tmp_path)[1]
    assert row(lines, "ibcast(compute=auto)")[1:3] == ["8", "1.000"]
    assert "3 launches" in lines[0]


@pytest.mark.parametrize(
    ("medians", "expected"),
    [
        ([2.0, 8.0], 4.0),
        ([2.0, math.nan], 2.0),
        ([0.0], 0.0),
        ([-1.0], -1.0),
        ([0.0, 1.0], math.nan),
        ([math.nan], math.nan),
        ([], math.nan),
    ],
)
def test_typical_of_launches(medians: list[float], expected: float) -> None:
    assert typical_of_launches(np.array(medians)).estimate == pytest.approx(expected, nan_ok=True)


def test_times_that_are_0_or_below_are_shown(tmp_path: Path, run: Run) -> None:
    alone = Cell(ENTRY[:, :1], ENTRY[:, :1] + 1e-6, deadline=ENTRY[:, 0] + 2e-6)
    write_launch(tmp_path / "a.nc", [alone])
    assert row(run(tmp_path / "a.nc", "--metric", "exit_skew")[1], "bcast")[2] == "0.000"
    assert row(run(tmp_path / "a.nc", "--metric", "makespan")[1], "bcast")[2] == "-1.000"
    write_launch(tmp_path / "b.nc", [alone])
    assert row(run(tmp_path, "--metric", "exit_skew")[1], "bcast")[:3] == ["bcast", "8", "-"]


def test_what_was_not_measured_is_a_dash(tmp_path: Path, run: Run) -> None:
    cells = [Cell(ENTRY, ENTRY + 1e-6), Cell(ENTRY, ENTRY, size=16, verdict=1, other={"status": 2})]
    lines = run(write_launch(tmp_path / "a.nc", cells))[1]
    assert [line.split() for line in lines if line.startswith("bcast")][1] == ["bcast", "16", "-", "-", "-", "-"]
    assert "up to 100 % with common start" in " ".join(" ".join(lines).split())
    assert lines[-1] == "failed: bcast 16 common start"


@pytest.mark.parametrize("long_name", ["bcast", "synthetic(duration=20us,step=5us)", "x" * 39])
def test_it_fits_a_terminal(tmp_path: Path, run: Run, long_name: str) -> None:
    cells = [
        Cell(ENTRY, ENTRY + 123.4e-6, operation=long_name, size=size, synchronizer=synchronizer)
        for size in (8, 65536)
        for synchronizer in ("mpi_barrier", "harmonize")
    ]
    lines = run(write_launch(tmp_path / "a.nc", cells))[1]
    assert max(map(len, lines)) <= WIDTH
    assert sum(line.count("123.40") >= 2 for line in lines) == 2  # a row per size


def test_times_have_three_decimals_below_10_us() -> None:
    shown = [microseconds(value * 1e-6) for value in (0.0, 0.0012345, 0.015, 0.25, 9.8765, 12.346, 12345.678, -0.015)]
    assert shown == ["0.000", "0.00123", "0.015", "0.250", "9.877", "12.35", "12345.68", "-0.015"]
    assert microseconds(math.nan) == "-"


def test_the_command_complains_in_one_line(tmp_path: Path, run: Run) -> None:
    write_launch(tmp_path / "a.nc", [Cell(ENTRY, ENTRY + 1e-6)])
    (tmp_path / "b.nc").write_text("latency,7\n")
    for arguments, message in [
        ((tmp_path / "a.nc", "--metric", "speed"), "unknown metric 'speed'; choose one of latency_avg"),
        ((tmp_path / "none",), "there is no experiment"),
        ((tmp_path / "b.nc",), "b.nc' is not a file of downbeat-bench"),
    ]:
        status, output, errors = run(*arguments)
        assert (status, output, errors.count("\n")) == (2, [], 1)
        assert message in errors
