"""Operations, element types and reductions leave what they should, and what is wrong is found.

test_each_library.py validates every collective in every form; `make validate` does so on 1 to 8 ranks.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import ONE_LIBRARY, Bench, Outcome, run_bench

FORMS = ("{}", "i{}", "{}_init")  # blocking, nonblocking, persistent


def validate(mpi: str, directory: Path, *arguments: str, ranks: int) -> Outcome:
    """Returns the outcome of few calls whose results are checked."""
    few = ["--validate", "-r", "2", "--warmup", "0", "--sync", "none", "--format", "json", "-q"]
    return run_bench(mpi, directory, *arguments, *few, ranks=ranks)


def test_all_collectives_of_mpi_are_there(mpi: str, tmp_path: Path) -> None:
    outcome = run_bench(mpi, tmp_path, "list", "operation", "--format", "json", ranks=1)
    parts = [json.loads(line) for line in outcome.stdout.splitlines()]
    moved = ["gather", "scatter", "allgather", "alltoall", "neighbor_allgather", "neighbor_alltoall"]
    names = [name + suffix for name in moved for suffix in ("", "v")]
    names += ["barrier", "bcast", "alltoallw", "neighbor_alltoallw", "reduce", "allreduce", "reduce_scatter"]
    names += ["reduce_scatter_block", "scan", "exscan"]
    expected = {form.format(name) for name in names for form in FORMS}
    found = {part["name"] for part in parts if part["collective"] and not part["unavailable"]}
    assert found == expected | {"reduce_local"}


TYPES = [
    ("allreduce", "int8", "sum"),
    ("allreduce", "uint8", "prod"),
    ("reduce", "int16", "sum"),
    ("reduce", "uint16", "max"),
    ("scan", "int32", "land"),
    ("scan", "uint32", "bxor"),
    ("exscan", "uint64", "lor"),
    ("allreduce", "int64", "lxor"),
    ("reduce_scatter", "byte", "band"),
    ("reduce_scatter_block", "byte", "bor"),
    ("reduce_local", "float", "min"),
    ("allreduce", "long_double", "prod"),
    ("allreduce", "complex_float", "prod"),
    ("reduce", "complex_double", "sum"),
    ("allreduce", "float_int", "minloc"),
    ("allreduce", "double_int", "maxloc"),
    ("scan", "long_int", "minloc"),
    ("reduce", "2int", "maxloc"),
    ("exscan", "short_int", "minloc"),
    ("allreduce", "vector", "user"),
    ("scan", "vector", "user_ordered"),
    ("allreduce", "complex_double", "user_ordered"),
]


@pytest.mark.parametrize("ranks", (2, 5))
def test_types_and_reductions(mpi: str, tmp_path: Path, ranks: int) -> None:
    if mpi == "mpich" and ranks > 3:
        pytest.skip("12 ms per collective, where ranks share processors")
    asked = [f"{name}(type={kind},op={op})" for name, kind, op in TYPES]
    copied = [f"alltoallv(type={kind},counts=rising)" for kind in dict.fromkeys(kind for _, kind, _ in TYPES)]
    # A multiple of all sizes: 12 and 6 bytes with padding, 32 of the largest.
    outcome = validate(mpi, tmp_path, *asked, *copied, "-m", "1056", ranks=ranks)
    assert outcome.status == 0, outcome.stderr


@ONE_LIBRARY
def test_a_size_that_counts_cannot_hold_is_refused(bench: Bench) -> None:
    outcome = bench("alltoallw(type=vector)", "-m", "1G")
    assert outcome.status == 2
    # Displacements count bytes in memory, of which there are twice as many as in messages: two ranks of 2^31 / 4.
    assert f"{(2**31 - 1) // 32 // 2 * 16} bytes" in outcome.own_lines[0]


BROKEN = r"""
#include <mpi.h>
static int rank(MPI_Comm comm) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}
int MPI_Alltoall(const void *send, int count, MPI_Datatype type, void *receive, int receives, MPI_Datatype received,
                 MPI_Comm comm) {
    int code = PMPI_Alltoall(send, count, type, receive, receives, received, comm);
    if (rank(comm) == 1) {
        ((unsigned char *)receive)[5] ^= 1;
    }
    return code;
}
int MPI_Barrier(MPI_Comm comm) { return comm == MPI_COMM_NULL ? MPI_ERR_COMM : MPI_SUCCESS; }
"""


@pytest.fixture
def broken(mpi: str, tmp_path: Path) -> dict[str, str]:
    """Returns an environment in which a library is wrong on rank 1."""
    source = tmp_path / "broken.c"
    source.write_text(BROKEN)
    library = tmp_path / "libbroken.so"
    subprocess.run([f"mpicc.{mpi}", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return {"LD_PRELOAD": str(library)}


def test_one_wrong_element_on_one_rank_is_found(mpi: str, tmp_path: Path, broken: dict[str, str]) -> None:
    words = ["alltoall", "-m", "8", "--validate", "-r", "2", "--warmup", "0", "--sync", "none", "-q"]
    outcome = run_bench(mpi, tmp_path, *words, env=broken)
    assert outcome.status == 4
    assert any("alltoall of" in line and "element 5" in line and "rank 1" in line for line in outcome.own_lines)


def test_a_barrier_that_is_none_is_found(mpi: str, tmp_path: Path, broken: dict[str, str]) -> None:
    words = ["barrier", "--validate", "-r", "100", "--warmup", "0", "--sync", "none", "-q"]
    outcome = run_bench(mpi, tmp_path, *words, env=broken)
    assert outcome.status == 4
    assert any("rank 0:" in line and "rank 1" in line for line in outcome.own_lines)


@ONE_LIBRARY
def test_what_was_looked_at_is_said(bench: Bench) -> None:
    words = ["bcast", "nothing", "-m", "8", "-r", "2", "--warmup", "0", "--sync", "none", "-q"]
    assert "; not checked: nothing\n" in bench(*words, "--validate").stdout
    assert "validated" not in bench(*words).stdout
