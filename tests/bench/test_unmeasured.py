"""A cell whose synchronization never holds is an error and never a number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from conftest import Bench, Outcome, run_bench

# Shorter than any message: every deadline has passed when the ranks learn it.
NO_SLACK = {"DOWNBEAT_SLACK": "1e-9"}
REPETITIONS = 10
MAX_ATTEMPTS = 3


@pytest.fixture(scope="module")
def directory(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns where the runs of this file leave theirs."""
    return tmp_path_factory.mktemp("unmeasured")


def run(mpi: str, directory: Path, *arguments: str) -> Outcome:
    limits = ["-r", str(REPETITIONS), "--max-attempts", str(MAX_ATTEMPTS), "-q"]
    return run_bench(mpi, directory, "barrier", *limits, *arguments, env=NO_SLACK)


@pytest.fixture(scope="module")
def both(mpi: str, directory: Path) -> Outcome:
    """A run that measures one cell of two."""
    return run(mpi, directory, "-o", "both.json")


@pytest.fixture(scope="module")
def alone(mpi: str, directory: Path) -> Outcome:
    """A run of which nothing is measured."""
    return run(mpi, directory, "--sync", "harmonize", "-o", "out.csv", "-o", "out.json", "-o", "out.nc")


def test_it_is_said_in_one_line(both: Outcome) -> None:
    assert both.status == 3
    assert len(both.own_lines) == 1
    line = both.own_lines[0]
    assert "1 of 2 cells are incomplete (barrier after harmonize: 0 of 10 samples valid)" in line
    assert "try at most one rank per processor" in line


def test_the_table_shows_no_number_for_it(alone: Outcome) -> None:
    lines = alone.stdout.splitlines()
    row = next(line for line in lines if line.startswith("barrier"))
    assert row.split() == ["barrier", *["-"] * 8, "100.0"]
    assert "failed: barrier after harmonize: 0 of 10 samples valid" in lines


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("word", [",0.0,", ':0.0,"median'])
def test_no_file_holds_a_zero_for_it(directory: Path, word: str) -> None:
    assert word not in (directory / "out.csv").read_text()
    assert word not in (directory / "out.json").read_text()


@pytest.mark.usefixtures("alone")
def test_files_say_so_and_hold_the_rejected_samples(directory: Path) -> None:
    cell = json.loads((directory / "out.json").read_text().splitlines()[1])
    assert cell["status"] == "failed"
    assert cell["valid_count"] == 0
    assert cell["rejected"] == cell["late_flag"] == REPETITIONS * MAX_ATTEMPTS
    assert cell["metrics"]["latency_avg"]["median"] is None
    with xr.open_dataset(directory / "out.nc", engine="netcdf4") as data:
        assert (data.verdict.values == 1).sum() == REPETITIONS * MAX_ATTEMPTS
        assert not data.valid.values.any()
        assert data.status.values[0] == 2
        assert np.isnan(data.latency_avg_median.values[0])


@pytest.mark.usefixtures("both")
def test_other_cells_are_still_measured(directory: Path) -> None:
    cells = [json.loads(line) for line in (directory / "both.json").read_text().splitlines()[1:-1]]
    assert {cell["synchronizer"]: cell["status"] for cell in cells} == {"mpi_barrier": "ok", "harmonize": "failed"}


def test_a_tolerance_of_zero_rejects_all(bench: Bench, tmp_path: Path) -> None:
    outcome = bench("barrier", "-r", "10", "--max-attempts", "3", "-q", "--tolerance", "0", "-o", "out.json")
    assert outcome.status == 3
