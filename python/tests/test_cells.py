"""Metrics and summaries: of stamps whose metrics are known, and against what downbeat-bench itself computes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import downbeat
import numpy as np
import pytest
import xarray as xr
from downbeat.data import samples
from downbeat.data.cells import STATISTICS, STEP
from downbeat.data.launch_file import CELL_FACTORS
from downbeat.data.metrics import METRICS
from downbeat.errors import UsageError
from launch_files import Cell, write_launch

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
    assert set(KNOWN) == set(METRICS)
    cell = Cell([[1.0, 1.5]], [[3.0, 5.5]], calls=2, deadline=0.75, delay=[[0.0, 0.25]])
    found = downbeat.sample_metrics(write_launch(tmp_path / "a.nc", [cell], observed_rank=1))
    assert {name: found[name].item() for name in METRICS} == KNOWN
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


def test_reading_in_parts_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    cells = []
    for size in (8, 16, 32):
        entry = random.random((11, 3))
        cells.append(Cell(entry, entry + random.random((11, 3)), size=size, deadline=random.random(11)))
    path = write_launch(tmp_path / "a.nc", cells)
    whole = downbeat.sample_metrics(path)
    monkeypatch.setattr(samples, "CHUNK_BYTES", 4 * 3 * 8)
    xr.testing.assert_identical(downbeat.sample_metrics(path), whole)


def test_unknown_metric(tmp_path: Path) -> None:
    path = write_launch(tmp_path / "a.nc", [Cell([[1.0, 1.5]], [[3.0, 5.5]])])
    with pytest.raises(UsageError, match="unknown metric 'latency'; choose one of latency_avg"):
        downbeat.sample_metrics(path, ["latency"])


def test_same_as_downbeat_bench(tmp_path: Path) -> None:
    """Summaries that downbeat-bench wrote into the file, of all that makes samples differ from plain ones."""
    file = tmp_path / "out.nc"
    command = [str(ROOT / "tools/launch"), "--mpi", "openmpi", "-n", "2", "--timeout", "300", str(BENCH)]
    command += ["bcast", "ping_pong", "iallreduce(compute=5us)", "-m", "8,1K", "-r", "30", "--observe", "1", "-q"]
    command += ["--timing", "per_call,batch(calls=3)", "--pattern", "one_late", "--delay", "5us", "-o", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr  # 3: a cell has fewer valid samples, and is still summarized
    stored = downbeat.open_launch(file)
    found = downbeat.summarize_cells(file)
    assert len(found) == stored.sizes["cell"] == 64
    status = stored["status"].attrs["flag_meanings"].split()
    assert found["status"].tolist() == [status[number] for number in stored["status"].values]
    fields = set(found) - {"cell", "status"} - {f"{one}_{name}" for one in METRICS for name in (*STATISTICS, STEP)}
    assert fields > {*CELL_FACTORS, "valid_count", "discarded", "requested", "max_of_means", "overlap_benefit_min"}
    for name in fields:  # that are counted anew among them
        assert np.array_equal(found[name], stored[name], equal_nan=found[name].dtype.kind == "f"), name
    units = {name: stored[name].attrs["units"] for name in found if name in stored and "units" in stored[name].attrs}
    steps = {f"{metric}_{STEP}": "s" for metric in METRICS if f"{metric}_{STEP}" in found}
    assert found.attrs["units"] == units | steps
    assert {name.removesuffix("_p25") for name in map(str, stored) if name.endswith("_p25")} == set(METRICS)
    for metric in METRICS:
        for statistic in STATISTICS:
            column = f"{metric}_{statistic}"
            # Where the file does not say the step of its clocks, only Python interpolates within it.
            lacking = statistic == "median" and "clock_resolution" not in stored.attrs
            step = found[f"{metric}_{STEP}"].max() if lacking and f"{metric}_{STEP}" in found else 0.0
            np.testing.assert_allclose(found[column], stored[column], rtol=1e-9, atol=step + 1e-15, err_msg=column)
