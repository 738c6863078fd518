"""Computation beside nonblocking operations: what is recorded, and the three figures drawn from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from conftest import CALIBRATION, ONE_LIBRARY, Bench, read_dataset, read_records

PURE = 0  # cells of a launch with one operation that computes
COMPUTING = 1


def measure(bench: Bench, directory: Path, operation: str, *arguments: str) -> tuple[list[dict[str, Any]], xr.Dataset]:
    """Runs one operation that computes; returns its cells, the pure one first, and the samples."""
    done = bench(operation, "-q", "-o", "out.json", "-o", "out.nc", *arguments)
    assert done.status == 0, done.stderr
    cells = [record for record in read_records(directory / "out.json") if record["record"] == "cell"]
    assert [cell["operation"].partition("(")[0] for cell in cells] == [operation.partition("(")[0]] * 2
    return cells, read_dataset(directory / "out.nc")


def samples(data: xr.Dataset, cell: int) -> xr.Dataset:
    """Returns the valid samples of a cell."""
    return data.isel(sample=np.flatnonzero((data.cell_index.values == cell) & (data.valid.values == 1)))


def expected_overlap(data: xr.Dataset) -> tuple[float, float, float]:
    """Returns overlap_osu, overlap_imb and overlap_window by their definitions."""
    pure, computing = samples(data, PURE), samples(data, COMPUTING)
    t_pure = float((pure.exit - pure.entry).mean())
    t = float((computing.exit - computing.entry).mean())
    computed = float(computing.computed_time.mean())
    window_pure = float((pure.exit.max("rank") - pure.entry.min("rank")).median())
    window = computing.exit.max("rank") - computing.entry.min("rank") - computing.computed_time.max("rank")
    return (
        max(0.0, 1.0 - (t - computed) / t_pure),
        min(max((t_pure + computed - t) / min(t_pure, computed), 0.0), 1.0),
        (window_pure - float(window.median())) / min(window_pure, computed),
    )


@ONE_LIBRARY
@pytest.mark.parametrize("hidden", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("compute", [100, 400])
def test_known_overlap_is_found(bench: Bench, tmp_path: Path, hidden: float, compute: int) -> None:
    operation = f"synthetic(duration=200us,step=0,compute={compute}us,hidden={hidden:g})"
    cells, data = measure(bench, tmp_path, operation, "-r", "60", "--sync", "mpi_barrier")
    cell = cells[COMPUTING]
    found = [cell[name] for name in ("overlap_osu", "overlap_imb", "overlap_window")]
    assert found == pytest.approx(expected_overlap(data), abs=1e-9)
    computing = samples(data, COMPUTING)
    assert computing.computed_time.values == pytest.approx(compute * 1e-6, abs=1e-12)
    # The least disturbed call takes what it must, whatever else runs on the machine.
    truth = (200 + compute - hidden * min(200, compute)) * 1e-6
    assert truth * (1 - CALIBRATION) <= float((computing.exit - computing.entry).min()) < 1.2 * truth
    assert cells[PURE]["computed"] == 0.0
    assert cells[PURE]["overlap_window"] is None


@pytest.mark.parametrize("operation", ["ibcast", "iallreduce"])
def test_computation_is_as_long_as_asked(bench: Bench, tmp_path: Path, operation: str) -> None:
    cells, data = measure(
        bench, tmp_path, f"{operation}(compute=50us,tests=4)", "-m", "64", "-r", "30", "--sync", "harmonize"
    )
    computing = samples(data, COMPUTING)
    assert float(computing.computed_time.min()) >= 50e-6 - 1e-9
    assert bool((computing.exit - computing.entry >= computing.computed_time * (1 - CALIBRATION)).all())
    assert cells[COMPUTING]["computation"] == pytest.approx(50e-6)
    assert 0.0 <= cells[COMPUTING]["overlap_imb"] <= 1.0


@ONE_LIBRARY
def test_computation_takes_the_operations_own_time(bench: Bench, tmp_path: Path) -> None:
    cells, _ = measure(bench, tmp_path, "synthetic(duration=500us,step=0,compute=auto)", "-r", "20", "--sync", "none")
    assert cells[COMPUTING]["computation"] >= 500e-6 * (1 - CALIBRATION)


def test_ping_pong_is_half_a_round_trip(bench: Bench, tmp_path: Path) -> None:
    timings = ["per_call", "batch(calls=20)"]
    done = bench(
        *["ping_pong", "ping_pong(first=2,second=0)", "-m", "8", "-r", "10", "--warmup", "1"],
        *["--sync", "none", "--validate", "-q"],
        *["--timing", ",".join(timings), "-o", "out.nc", "-o", "out.json"],
        ranks=3,
    )
    assert done.status == 0, done.stderr
    data = read_dataset(tmp_path / "out.nc")
    cells = [record for record in read_records(tmp_path / "out.json") if record["record"] == "cell"]
    assert len(cells) == 4
    for cell in cells:
        first = 0 if cell["operation"] == "ping_pong" else 2
        calls = 2 if cell["timing"] == "per_call" else 40
        assert (cell["calls"], cell["size_meaning"], cell["wrong"]) == (calls, "of each message", 0)
        assert cell["validated"] > 0
        one = samples(data, cell["cell"]).isel(rank=first)
        halves = (one.exit - one.entry) / calls
        for metric in ("latency_avg", "latency_min", "latency_max"):
            assert cell[f"{metric}_mean"] == pytest.approx(float(halves.mean()), rel=1e-9)
