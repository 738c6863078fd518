"""Samples, statistics recomputed from them, and the table show the same numbers."""

from __future__ import annotations

import csv
import errno
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import downbeat
import numpy as np
import pytest
import xarray as xr
from conftest import ONE_LIBRARY, RANKS, ROOT, Bench, Outcome, read_dataset, read_records, run_bench, shows
from damage import share_found
from numpy.typing import NDArray

REPETITIONS = 60
ARGUMENTS = ["barrier", "reduce", "-m", "8,20,1K", "-r", str(REPETITIONS), "--seed", "11", "-q"]
FILES = ["-o", "out.nc", "-o", "out.csv", "-o", "out.json"]
CELLS = [
    (operation, size, synchronizer)
    for operation, size in [("barrier", 0), ("reduce", 8), ("reduce", 20), ("reduce", 1024)]
    for synchronizer in ("mpi_barrier", "harmonize")
]
WARMUP = 3  # verdict
PERCENTILES = {"min": 0, "p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95, "p99": 99, "max": 100}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """A run whose outcome and files several tests read."""

    outcome: Outcome
    directory: Path

    @property
    def samples(self) -> xr.Dataset:
        return read_dataset(self.directory / "out.nc")

    @property
    def records(self) -> list[dict[str, Any]]:
        return read_records(self.directory / "out.json")


@pytest.fixture(scope="module")
def run(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A complete run with a file of each kind."""
    directory = tmp_path_factory.mktemp("run")
    outcome = run_bench(mpi, directory, *ARGUMENTS, *FILES, env={"DOWNBEAT_MAX_AGE": "0.5"})
    assert outcome.status == 0, outcome.stderr
    return Run(outcome, directory)


def metrics_of(data: xr.Dataset, cell: int) -> dict[str, Floats]:
    """Recomputes the metrics of a cell's valid samples from the stamps."""
    chosen = (data.cell_index.values == cell) & (data.valid.values == 1)
    entry, leave = data.entry.values[chosen], data.exit.values[chosen]
    deadline = data.deadline.values[chosen]
    start = np.where(np.isnan(deadline), entry.min(axis=1), deadline)
    return {
        "latency_avg": (leave - entry).mean(axis=1),
        "latency_max": (leave - entry).max(axis=1),
        "latency_min": (leave - entry).min(axis=1),
        "latency_observed": leave[:, 0] - entry[:, 0],
        "global_time": leave.max(axis=1) - entry.min(axis=1),
        "after_last_entry": leave.max(axis=1) - entry.max(axis=1),
        "imbalance_worst": entry.max(axis=1) - entry.min(axis=1),
        "imbalance_mean": np.abs(entry - entry.mean(axis=1, keepdims=True)).mean(axis=1),
        "makespan": leave.max(axis=1) - start,
        "exit_skew": entry.max(axis=1) - entry.min(axis=1),
        "end_skew": leave.max(axis=1) - leave.min(axis=1),
    }


def where_below(values: Floats, step: float, share: float) -> float:
    """Returns where this share of values is below, by bisection; each value stands for all within half a step of it."""
    low, high = values.min() - step, values.max() + step
    for _ in range(100):
        middle = (low + high) / 2
        below = np.clip((middle - values) / step + 0.5, 0, 1).mean()
        low, high = (middle, high) if below < share else (low, middle)
    return float(middle)


def test_samples_statistics_and_files_agree(run: Run) -> None:
    data = run.samples
    rows = {int(row["cell"]): row for row in csv.DictReader((run.directory / "out.csv").open())}
    records = {record["cell"]: record for record in run.records if record["record"] == "cell"}
    assert sorted(rows) == sorted(records) == list(range(len(CELLS)))
    assert data.sizes["cell"] == len(CELLS)

    for cell, (operation, size, synchronizer) in enumerate(CELLS):
        assert (data.operation.values[cell].decode(), data.synchronizer.values[cell].decode()) == (
            operation,
            synchronizer,
        )
        assert data["size"].values[cell] == size
        assert (rows[cell]["operation"], int(rows[cell]["size_byte"]), rows[cell]["synchronizer"]) == CELLS[cell]
        assert (records[cell]["operation"], records[cell]["size"], records[cell]["synchronizer"]) == CELLS[cell]
        for name, values in metrics_of(data, cell).items():
            assert len(values) == REPETITIONS
            expected = {key: np.percentile(values, p) for key, p in PERCENTILES.items()} | {"mean": values.mean()}
            little = 1e-18
            if name.startswith("latency"):
                step = data.attrs["clock_resolution"] / (2 if name == "latency_avg" else 1)  # of two ranks
                ends = [where_below(values, step, 0.5 + off) for off in (-1e-7, 1e-7)]  # far apart in a gap
                expected["median"] = np.mean(ends)
                little = ends[1] - ends[0] + 1e-6 * step
            for statistic, value in expected.items():
                stored = float(data[f"{name}_{statistic}"].values[cell])
                assert stored == pytest.approx(value, rel=1e-9, abs=little if statistic == "median" else 1e-18)
                assert float(rows[cell][f"{name}_{statistic}_s"]) == stored
                assert records[cell]["metrics"][name][statistic] == stored


def test_table_shows_the_same_numbers(run: Run) -> None:
    data = run.samples
    lines = run.outcome.stdout.splitlines()
    assert all(len(line) <= 80 or line.startswith(("warning: ", "  machine ", "  MPI ")) for line in lines)
    header = next(i for i, line in enumerate(lines) if line.startswith("operation "))
    rows = [line.split() for line in lines[header + 1 :] if line.split()[:1] in (["barrier"], ["reduce"])]
    assert [(row[0], row[1]) for row in rows] == [
        ("barrier", "-"),
        ("reduce", "8"),
        ("reduce", "20"),
        ("reduce", "1024"),
    ]
    for i, row in enumerate(rows):
        pair = [2 * i, 2 * i + 1]
        median = data.latency_avg_median.values[pair] * 1e6
        mean = data.latency_avg_mean.values[pair] * 1e6
        latency = [median[0], mean[0], median[1], mean[1]]
        skew = data.exit_skew_median.values[pair] * 1e6
        rejected = data.rejected.values[pair] / (data.valid_count.values[pair] + data.rejected.values[pair])
        expected = [*latency, median[0] / median[1], *skew, 100 * max(rejected)]
        assert all(shows(word, value) for word, value in zip(row[2:], expected, strict=True)), (row, expected)
    assert [line for line in lines if line.startswith("written: ")] == [f"written: {name}" for name in FILES[1::2]]


def test_validity_follows_the_rule(run: Run) -> None:
    data = run.samples
    deadline = data.deadline.values
    late = data.entry.values.max(axis=1) > deadline + data.attrs["tolerance_s"]  # False where the deadline is NaN
    warmup = data.verdict.values == WARMUP
    valid = data.flag.values.all(axis=1) & ~late & ~warmup
    assert np.array_equal(data.valid.values == 1, valid)
    assert np.array_equal(data.verdict.values == 0, valid)

    has_deadline = np.array([synchronizer == "harmonize" for _, _, synchronizer in CELLS])
    assert np.array_equal(~np.isnan(deadline), has_deadline[data.cell_index.values])
    assert np.array_equal(~np.isnan(data.slack.values), has_deadline[data.cell_index.values])
    assert (data.exit.values >= data.entry.values).all()
    for cell in range(len(CELLS)):
        mine = data.cell_index.values == cell
        assert data.valid_count.values[cell] == data.requested.values[cell] == (data.valid.values[mine] == 1).sum()
        assert data.rejected.values[cell] == ((data.valid.values[mine] == 0) & ~warmup[mine]).sum()
        blocks = len(np.unique(data.block.values[mine]))
        assert blocks >= 10  # more where some gave up
        assert data.discarded.values[cell] == warmup[mine].sum() == 10 * blocks
        assert data.rejected.values[cell] == data.late_flag.values[cell] + data.late_entry.values[cell]
        assert data.overrun.values[cell] == 0  # not asked for
        assert list(data.attempt.values[mine]) == list(range(mine.sum()))


def order_of_cells(data: xr.Dataset) -> list[int]:
    """Returns the cell of each block, in the order of the launch."""
    first = np.unique(data.block.values, return_index=True)[1]
    return [int(cell) for cell in data.cell_index.values[first]]


@ONE_LIBRARY
def test_the_seed_decides_the_order_in_which_cells_are_interleaved(bench: Bench, tmp_path: Path) -> None:
    orders = []
    for seed in ("1", "1", "2"):
        assert bench("barrier", "bcast", "-m", "8:64", "-r", "10", "-q", "--seed", seed, "-o", "out.nc").status == 0
        data = read_dataset(tmp_path / "out.nc")
        assert data.attrs["seed"] == seed
        assert (np.diff(data.block.values) >= 0).all()
        orders.append(order_of_cells(data)[:100])  # then what a disturbed machine made blocks give up
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == sorted(list(range(10)) * 10)
    assert orders[0] != sorted(orders[0])


def test_context(run: Run) -> None:
    records = run.records
    assert [record["record"] for record in records] == ["context", *["cell"] * len(CELLS), "end"]
    assert {record["schema_version"] for record in records} == {2}
    context = records[0]
    assert context["seed"] == 11
    assert context["stopping_rule"] == f"fixed(samples={REPETITIONS})"
    assert context["command_line"].endswith(" ".join([*ARGUMENTS, *FILES]))
    assert sum(host["ranks"] for host in context["hosts"]) == len(context["ranks"]) == RANKS
    assert all(rank["cpuset"] for rank in context["ranks"])
    assert float(context["clock"]["max_age"]) == 0.5
    assert context["environment"]["DOWNBEAT_MAX_AGE"] == "0.5"
    assert context["date"].endswith("Z")

    attributes = run.samples.attrs
    assert attributes["schema_version"] == 2
    assert float(attributes["clock_max_age"]) == 0.5
    assert "DOWNBEAT_MAX_AGE=0.5" in attributes["environment"].splitlines()
    for name in (
        "mpi_library",
        "mpi_standard",
        "git_revision",
        "compiler",
        "command_line",
        "tolerance_s",
        "warmup_rule",
    ):
        assert attributes[name] == context[name]
    assert attributes["warnings"].splitlines() == records[-1]["warnings"]


def test_file_is_netcdf_classic_with_64_bit_data(run: Run) -> None:
    assert (run.directory / "out.nc").read_bytes()[:4] == b"CDF\x05"


@ONE_LIBRARY
def test_formats_on_standard_output(bench: Bench) -> None:
    text = bench("barrier", "-r", "5", "-q", "--format", "csv").stdout
    rows = list(csv.DictReader(text.splitlines()))
    assert {row["synchronizer"] for row in rows} == {"mpi_barrier", "harmonize"}
    text = bench("barrier", "-r", "5", "-q", "--format", "json").stdout
    assert [json.loads(line)["record"] for line in text.splitlines()] == ["context", "cell", "cell", "end"]


@ONE_LIBRARY
def test_one_synchronizer_shows_details(bench: Bench) -> None:
    outcome = bench("allreduce", "-m", "64", "-r", "20", "-q", "--sync", "harmonize")
    assert outcome.status == 0
    assert "synchronizer harmonize" in outcome.stdout
    row = next(line for line in outcome.stdout.splitlines() if line.startswith("allreduce"))
    assert len(row.split()) == 10


@ONE_LIBRARY
def test_progress_is_on_standard_error_and_can_be_silenced(bench: Bench) -> None:
    assert "2 of 2 cells complete" in bench("barrier", "-r", "5").stderr
    assert "cells complete" not in bench("barrier", "-r", "5", "-q").stderr


def test_root_may_be_any_rank(bench: Bench, tmp_path: Path) -> None:
    done = bench("bcast", "reduce", "barrier", "-m", "8", "-r", "5", "-q", "--with", "root=1", "-o", "out.json")
    assert done.status == 0
    operations = {record["operation"] for record in read_records(tmp_path / "out.json") if record["record"] == "cell"}
    assert operations == {"bcast(root=1)", "reduce(root=1)", "barrier"}


def lose(call: str, path: str, error: int) -> dict[str, str]:
    """Returns the environment in which close or fsync of a path fails."""
    library = ROOT / "build/mpich/lib/fault-system.so"
    assert library.exists(), f"{library} is not built"
    return {"LD_PRELOAD": str(library), "FAULT_CALL": call, "FAULT_PATH": path, "FAULT_ERROR": str(error)}


@ONE_LIBRARY
@pytest.mark.parametrize("call", ["close", "fsync"])
@pytest.mark.parametrize("name", ["out.json", "out.csv", "out.nc", "out.txt"])
def test_an_error_that_comes_with_the_last_call_is_one_line(bench: Bench, name: str, call: str) -> None:
    outcome = bench("barrier", "-r", "5", "-q", "-o", name, env=lose(call, f"/{name}", errno.EDQUOT))
    assert outcome.status == 1
    assert outcome.own_lines == [f"downbeat-bench: cannot write '{name}': Disk quota exceeded"]


@ONE_LIBRARY
@pytest.mark.parametrize("error", [errno.EINVAL, errno.ENOSYS, errno.ENOTSUP])
def test_file_systems_without_fsync_will_do(bench: Bench, tmp_path: Path, error: int) -> None:
    outcome = bench("barrier", "-r", "5", "-q", "-o", "out.json", env=lose("fsync", "/out.json", error))
    assert (outcome.status, outcome.own_lines) == (0, [])
    assert read_records(tmp_path / "out.json")[-1]["record"] == "end"


def test_a_flipped_bit_is_found(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "out.nc"
    path.write_bytes((run.directory / "out.nc").read_bytes())
    assert share_found(path, lambda: downbeat.summarize_cells(path).to_csv(), 100) == 1
