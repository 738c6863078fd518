"""downbeat-bench under each MPI library: every operation is measured, and a failure is said in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from conftest import read_dataset, run_bench

REPETITIONS = 20
SYNCHRONIZERS = ["mpi_barrier", "central", "harmonize"]  # central is one-sided
# What each library says of itself (MPI_Get_library_version).
SAYS = {
    "openmpi": "Open MPI v",
    "mpich": "MPICH Version:",
    "openmpi5": "Open MPI v5.",
    "mpich5": "MPICH Version:      5.",
    "intelmpi": "Intel(R) MPI Library 20",
}


def test_every_operation_is_measured(each_library: str, tmp_path: Path) -> None:
    listed = run_bench(each_library, tmp_path, "list", "operation", "--format", "json", ranks=1)
    operations = [json.loads(line)["name"] for line in listed.stdout.splitlines()]
    assert {"barrier", "bcast", "reduce", "allreduce", "synthetic"} <= set(operations)
    arguments = ["-m", "8", "-r", str(REPETITIONS), "--sync", ",".join(SYNCHRONIZERS), "-q", "-o", "out.nc"]
    outcome = run_bench(each_library, tmp_path, *operations, *arguments)
    assert (outcome.status, outcome.own_lines) == (0, []), outcome.stderr
    data = read_dataset(tmp_path / "out.nc")
    assert data.attrs["mpi_library"].startswith(SAYS[each_library])
    valid = np.bincount(data.cell_index.values[data.valid.values == 1])
    assert valid.tolist() == [REPETITIONS] * len(operations) * len(SYNCHRONIZERS)


def test_a_known_time_is_measured(each_library: str, tmp_path: Path) -> None:
    arguments = ["synthetic(duration=40us,step=20us)", "-r", str(REPETITIONS), "-q", "-o", "out.nc"]
    outcome = run_bench(each_library, tmp_path, *arguments)
    assert outcome.status == 0, outcome.stderr
    data = read_dataset(tmp_path / "out.nc")
    times = (data.exit - data.entry).values[data.valid.values == 1]
    # Interruptions only lengthen: the shortest is the time asked for, and what it costs to read clocks.
    assert np.all(times >= [40e-6, 60e-6])
    assert np.allclose(times.min(axis=0), [40e-6, 60e-6], rtol=0, atol=1e-6)


def test_a_failure_is_one_line(each_library: str, tmp_path: Path) -> None:
    outcome = run_bench(each_library, tmp_path, "nosuch", "-m", "8")
    assert outcome.status == 2
    assert len(outcome.own_lines) == 1
    assert "'nosuch'" in outcome.own_lines[0]
