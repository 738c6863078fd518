"""Files of a whole run: which samples are valid, in which order cells come, the context, and errors of writing.

python/tests/test_cells.py checks the metrics of the samples.
"""

from __future__ import annotations

import csv
import errno
import json
import re
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import downbeat
import numpy as np
import pytest
import xarray as xr
from conftest import ONE_LIBRARY, RANKS, ROOT, Bench, read_dataset, read_records, run_bench
from damage import share_found
from downbeat.run.libraries import PROGRESS

REPETITIONS = 60
ARGUMENTS = ["barrier", "reduce", "-m", "8,1K", "-r", str(REPETITIONS), "--seed", "11", "-q"]
FILES = ["-o", "out.nc", "-o", "out.json"]
CELLS = [
    (operation, size, synchronizer)
    for operation, size in [("barrier", 0), ("reduce", 8), ("reduce", 1024)]
    for synchronizer in ("mpi_barrier", "harmonize")
]
WARMUP = 3  # verdict


@dataclass(frozen=True)
class Run:
    """A run whose files several tests read."""

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
    return Run(directory)


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
    assert {record["schema_version"] for record in records} == {3}
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
    assert attributes["schema_version"] == 3
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


@ONE_LIBRARY
def test_formats_on_standard_output(bench: Bench) -> None:
    text = bench("barrier", "-r", "5", "-q", "--format", "csv").stdout
    rows = list(csv.DictReader(text.splitlines()))
    assert {row["synchronizer"] for row in rows} == {"mpi_barrier", "harmonize"}
    text = bench("barrier", "-r", "5", "-q", "--format", "json").stdout
    assert [json.loads(line)["record"] for line in text.splitlines()] == ["context", "cell", "cell", "end"]


@ONE_LIBRARY
def test_progress_is_on_standard_error_and_can_be_silenced(bench: Bench) -> None:
    assert "2 of 2 cells complete" in bench("barrier", "-r", "5").stderr
    assert "cells complete" not in bench("barrier", "-r", "5", "-q").stderr


@ONE_LIBRARY
def test_progress_is_what_downbeat_run_looks_for(bench: Bench) -> None:
    assert re.search(PROGRESS, bench("barrier", "--stop", "budget(time=4s)").stderr)


# Where a busy machine makes no rank late: with status 3 the run would end for that.
UNREJECTED = ("barrier", "-r", "5", "--sync", "mpi_barrier", "-q")


def lose(call: str, path: str, error: int) -> dict[str, str]:
    """Returns the environment in which close or fsync of a path fails."""
    library = ROOT / "build/mpich/lib/fault-system.so"
    assert library.exists(), f"{library} is not built"
    return {"LD_PRELOAD": str(library), "FAULT_CALL": call, "FAULT_PATH": path, "FAULT_ERROR": str(error)}


@ONE_LIBRARY
@pytest.mark.parametrize("call", ["close", "fsync"])
@pytest.mark.parametrize("name", ["out.json", "out.csv", "out.nc"])
def test_an_error_that_comes_with_the_last_call_is_one_line(bench: Bench, name: str, call: str) -> None:
    outcome = bench(*UNREJECTED, "-o", name, env=lose(call, f"/{name}", errno.EDQUOT))
    assert outcome.status == 1
    assert outcome.own_lines == [f"downbeat-bench: cannot write '{name}': Disk quota exceeded"]


def test_a_limit_of_file_sizes_is_an_error_of_writing(bench: Bench) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, before[1]))  # MPI libraries need some 4 MB
    try:
        outcome = bench("allreduce", "-m", "8:1K", "-r", "20000", "-q", "-o", "out.nc")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert outcome.status == 1
    (line,) = outcome.own_lines
    assert "out.nc" in line


@ONE_LIBRARY
@pytest.mark.parametrize("error", [errno.EINVAL, errno.ENOSYS, errno.ENOTSUP])
def test_file_systems_without_fsync_will_do(bench: Bench, tmp_path: Path, error: int) -> None:
    outcome = bench(*UNREJECTED, "-o", "out.json", env=lose("fsync", "/out.json", error))
    assert (outcome.status, outcome.own_lines) == (0, [])
    assert read_records(tmp_path / "out.json")[-1]["record"] == "end"


def test_a_flipped_bit_is_found(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "out.nc"
    path.write_bytes((run.directory / "out.nc").read_bytes())
    assert share_found(path, lambda: downbeat.summarize_cells(path).to_csv(), 100) == 1
