"""Metrics and summaries: of stamps whose metrics are known, and of what downbeat-bench computes from its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import downbeat
import numpy as np
import pytest
from downbeat.data.cells import STATISTICS, STEP
from downbeat.data.launch_file import CELL_FACTORS
from downbeat.errors import UsageError
from launch_files import Cell, write_launch
from stamps import FORMULAS, Stamps

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "build/openmpi/bin/downbeat-bench"

# Ranks enter at 1.0 and 1.5, the second half a second later than planned for it, and are 2 and 4 seconds in two calls.
KNOWN = {
    "latency_avg": 1.5,
    "latency_max": 2.0,
    "latency_min": 1.0,
    "latency_observed": 2.0,
    "global_time": 2.25,
    "makespan": 2.375,
    "after_last_entry": 2.0,
    "exit_skew": 0.25,
    "end_skew": 2.5,
    "imbalance_worst": 0.5,
    "imbalance_mean": 0.25,
}


def test_metrics_of_known_stamps(tmp_path: Path) -> None:
    assert set(KNOWN) == set(FORMULAS)
    cell = Cell([[1.0, 1.5]], [[3.0, 5.5]], calls=2, deadline=0.75, delay=[[0.0, 0.25]])
    found = downbeat.sample_metrics(write_launch(tmp_path / "a.nc", [cell], observed_rank=1))
    assert {name: found[name].item() for name in FORMULAS} == KNOWN
    assert found.begin.item() == 1.0


def test_only_timed_ranks_have_a_latency(tmp_path: Path) -> None:
    cell = Cell([[1.0, 1.5]], [[3.0, 5.5]], timed=[1, 0])
    cells = downbeat.summarize_cells(write_launch(tmp_path / "a.nc", [cell]))
    assert cells.latency_avg_median.item() == cells.latency_max_median.item() == 2.0
    assert cells.makespan_median.item() == 4.5


def test_only_valid_samples_count(tmp_path: Path) -> None:
    exits = [[1, 1], [2, 2], [30, 30], [40, 40], [50, 50], [60, 60]]
    cell = Cell(np.zeros((6, 2)), exits, verdict=[0, 0, 1, 2, 3, 4])
    rejected = Cell(np.zeros((1, 2)), [[1, 1]], verdict=1, size=16)
    cells = downbeat.summarize_cells(write_launch(tmp_path / "a.nc", [cell, rejected]))
    assert cells.latency_avg_max.tolist()[0] == 2.0
    assert np.isnan(cells.latency_avg_median[1])
    assert cells[
        ["valid_count", "late_flag", "late_entry", "overrun", "discarded", "rejected"]
    ].to_numpy().tolist() == [
        [2, 1, 1, 1, 1, 3],
        [0, 1, 0, 0, 0, 1],
    ]


def test_unknown_metric(tmp_path: Path) -> None:
    path = write_launch(tmp_path / "a.nc", [Cell([[1.0, 1.5]], [[3.0, 5.5]])])
    with pytest.raises(UsageError, match="unknown metric 'latency'; choose one of latency_avg"):
        downbeat.sample_metrics(path, ["latency"])


def test_downbeat_bench_finds_the_metrics_that_follow_from_the_stamps(tmp_path: Path) -> None:
    """Of all that makes samples differ from plain ones."""
    file = tmp_path / "out.nc"
    command = [str(ROOT / "tools/launch"), "--mpi", "openmpi", "-n", "2", "--timeout", "300", str(BENCH)]
    command += ["bcast", "ping_pong", "iallreduce(compute=5us)", "-m", "8,1K", "-r", "30", "--observe", "1", "-q"]
    command += ["--timing", "per_call,batch(calls=3)", "--pattern", "one_late", "--delay", "5us", "-o", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr  # 3: a cell has fewer valid samples, and is still summarized
    stored = downbeat.open_launch(file)
    found = downbeat.summarize_cells(file)
    assert len(found) == stored.sizes["cell"] == 64
    for cell, one in stored.groupby("cell_index"):
        stamps = Stamps(
            entry=one.entry.to_numpy(),
            exit=one.exit.to_numpy(),
            delay=one.delay.to_numpy(),
            deadline=one.deadline.to_numpy(),
            timed=stored.timed.to_numpy()[int(cell)].astype(bool),
            calls=int(stored.calls[int(cell)]),
            observed=1,
        )
        for name, formula in FORMULAS.items():
            np.testing.assert_allclose(one[name], formula(stamps), rtol=1e-9, atol=1e-15, err_msg=name)
    fields = set(found) - {"cell", "status"} - {f"{one}_{name}" for one in FORMULAS for name in (*STATISTICS, STEP)}
    assert fields > {*CELL_FACTORS, "valid_count", "discarded", "requested", "max_of_means", "overlap_benefit_min"}
    for name in map(str, fields):  # that are counted anew among them
        assert np.array_equal(found[name], stored[name], equal_nan=found[name].dtype.kind == "f"), name
    units = {name: stored[name].attrs["units"] for name in found if name in stored and "units" in stored[name].attrs}
    steps = {f"{metric}_{STEP}": "s" for metric in FORMULAS if f"{metric}_{STEP}" in found}
    statistics = {f"{metric}_{name}": "s" for metric in FORMULAS for name in STATISTICS}
    assert found.attrs["units"] == units | steps | statistics
