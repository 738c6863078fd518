"""A cell whose synchronization never holds is an error and never a number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from conftest import Bench, Outcome

# Shorter than any message: every deadline has passed when the ranks learn it.
NO_SLACK = {"DOWNBEAT_SLACK": "1e-9"}
REPETITIONS = 10
MAX_ATTEMPTS = 3


def run(bench: Bench, *arguments: str) -> Outcome:
    limits = ["-r", str(REPETITIONS), "--max-attempts", str(MAX_ATTEMPTS), "-q"]
    return bench("barrier", *limits, *arguments, env=NO_SLACK)


def test_it_is_said_in_one_line(bench: Bench) -> None:
    outcome = run(bench)
    assert outcome.status == 3
    assert len(outcome.own_lines) == 1
    line = outcome.own_lines[0]
    assert "1 of 2 cells lack what was asked for (barrier under harmonize: 0 of 10 samples valid)" in line
    assert "no more ranks than processors" in line


def test_the_table_shows_no_number_for_it(bench: Bench) -> None:
    lines = run(bench, "--sync", "harmonize").stdout.splitlines()
    row = next(line for line in lines if line.startswith("barrier"))
    assert row.split() == ["barrier", *["-"] * 11, str(REPETITIONS * MAX_ATTEMPTS), "100.0%"]
    assert "failed: barrier under harmonize: 0 of 10 samples valid" in lines


@pytest.mark.parametrize("word", [",0.0,", ':0.0,"median'])
def test_no_file_holds_a_zero_for_it(bench: Bench, tmp_path: Path, word: str) -> None:
    run(bench, "--sync", "harmonize", "-o", "out.csv", "-o", "out.json", "-o", "out.nc")
    assert word not in (tmp_path / "out.csv").read_text()
    assert word not in (tmp_path / "out.json").read_text()


def test_files_say_so_and_hold_the_rejected_samples(bench: Bench, tmp_path: Path) -> None:
    run(bench, "--sync", "harmonize", "-o", "out.json", "-o", "out.nc")
    cell = json.loads((tmp_path / "out.json").read_text().splitlines()[1])
    assert cell["status"] == "failed"
    assert cell["valid"] == 0
    assert cell["rejected"] == cell["late_flag"] == REPETITIONS * MAX_ATTEMPTS
    assert cell["metrics"]["latency_avg"]["median"] is None
    with xr.open_dataset(tmp_path / "out.nc", engine="netcdf4") as data:
        assert (data.verdict.values == 1).sum() == REPETITIONS * MAX_ATTEMPTS
        assert not data.valid.values.any()
        assert data.status.values[0] == 2
        assert np.isnan(data.latency_avg_median.values[0])


def test_other_cells_are_still_measured(bench: Bench, tmp_path: Path) -> None:
    run(bench, "-o", "out.json")
    cells = [json.loads(line) for line in (tmp_path / "out.json").read_text().splitlines()[1:-1]]
    assert {cell["synchronizer"]: cell["status"] for cell in cells} == {"mpi_barrier": "ok", "harmonize": "failed"}


def test_a_tolerance_of_zero_rejects_all(bench: Bench, tmp_path: Path) -> None:
    outcome = bench("barrier", "-r", "10", "--max-attempts", "3", "-q", "--tolerance", "0", "-o", "out.json")
    assert outcome.status == 3
