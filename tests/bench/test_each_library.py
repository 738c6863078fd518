"""downbeat-bench under each MPI library: every operation is measured, and a failure is said in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import CALIBRATION, ROUNDING, read_dataset, run_bench
from validation import validate

REPETITIONS = 20
OPERATIONS = ["barrier", "bcast", "ping_pong", "nothing", "synthetic"]
SYNCHRONIZERS = ["mpi_barrier", "central", "harmonize"]  # central is one-sided
# From MPI_Get_library_version.
SAYS = {
    "openmpi": "Open MPI v",
    "mpich": "MPICH Version:",
    "openmpi5": "Open MPI v5.",
    "mpich5": "MPICH Version:      5.",
    "intelmpi": "Intel(R) MPI Library 20",
}


# Operations that downbeat-bench refuses on 2 ranks, each topology counted, as the library gets them wrong: it mixes up
# neighbors that are the same rank, or sends the contents of when a persistent operation was made (pmodels/mpich#7078).
REFUSED = {"openmpi": 6, "mpich": 12, "openmpi5": 6, "mpich5": 0, "intelmpi": 12}


@pytest.mark.parametrize("ranks", [2, *(pytest.param(count, marks=pytest.mark.nightly) for count in (1, 3, 4, 5, 8))])
def test_every_collective_is_right(each_library: str, ranks: int) -> None:
    found = validate(each_library, ranks)
    assert found.wrong == []
    assert ranks != 2 or len(found.refused) == REFUSED[each_library], found.refused
    assert found.right == 2 * (82 - len(found.refused))


def test_operations_are_measured(each_library: str, tmp_path: Path) -> None:
    arguments = ["-m", "8", "-r", str(REPETITIONS), "--sync", ",".join(SYNCHRONIZERS), "-q", "-o", "out.nc"]
    outcome = run_bench(each_library, tmp_path, *OPERATIONS, *arguments)
    assert (outcome.status, outcome.own_lines) == (0, []), outcome.stderr
    data = read_dataset(tmp_path / "out.nc")
    assert data.attrs["mpi_library"].startswith(SAYS[each_library])
    valid = np.bincount(data.cell_index.values[data.valid.values == 1])
    assert valid.tolist() == [REPETITIONS] * len(OPERATIONS) * len(SYNCHRONIZERS)


def test_a_known_time_is_measured(each_library: str, tmp_path: Path) -> None:
    arguments = ["synthetic(duration=40us,step=20us)", "-r", str(REPETITIONS), "-q", "-o", "out.nc"]
    outcome = run_bench(each_library, tmp_path, *arguments)
    assert outcome.status == 0, outcome.stderr
    data = read_dataset(tmp_path / "out.nc")
    times = (data.exit - data.entry).values[data.valid.values == 1]
    # Interruptions only lengthen: the shortest is the time asked for, and what it costs to read clocks.
    assert np.all(times >= np.array([40e-6, 60e-6]) * (1 - CALIBRATION) - ROUNDING)
    assert np.allclose(times.min(axis=0), [40e-6, 60e-6], rtol=0, atol=1e-6)


def test_a_failure_is_one_line(each_library: str, tmp_path: Path) -> None:
    outcome = run_bench(each_library, tmp_path, "nosuch", "-m", "8")
    assert outcome.status == 2
    assert len(outcome.own_lines) == 1
    assert "'nosuch'" in outcome.own_lines[0]
