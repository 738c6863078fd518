"""Every operation in every form leaves what it should, whatever the number of ranks; and what is wrong is found."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import ONE_LIBRARY, Bench, Outcome, run_bench

RANKS = (1, 2, 3, 4, 5, 8)
FORMS = {"blocking": "{}", "nonblocking": "i{}", "persistent": "{}_init"}
TOPOLOGIES = ("cartesian", "graph")

# Bytes: 13, a prime, and 32 elements of int64.
SIZES = (104, 256)

# In one launch each: what all operations are called with.
VARIETIES = {"defaults": "", "in-place": "type=int64,op=user_ordered,counts=rising,root=rotating,in_place=yes"}

# Whose persistent forms copy contents when they are made: pmodels/mpich#7078.
STALE = {"openmpi": set[str](), "mpich": {"gather_init", "scatter_init", "allgather_init"}}


def mixes_up(mpi: str, name: str, topology: str, ranks: int) -> bool:
    """Returns whether MPI's rule for neighbors that are the same rank is not kept: defaults, 2 dimensions, degree 4."""
    if mpi == "openmpi":  # 4.1.4; on grids of extent 1 or 2, which all of RANKS have
        return topology == "cartesian" and form_of(name) != "blocking"
    if "alltoallv" in name or "alltoallw" in name:  # MPICH 4.0.2
        return topology == "cartesian"
    return ranks < 4 if topology == "graph" else ranks == 1


# So many operations, each topology counted.
MIXED_UP = {("openmpi", 1): 6, ("openmpi", 2): 6, ("mpich", 1): 12, ("mpich", 2): 9}


def listed(mpi: str, directory: Path) -> list[dict[str, Any]]:
    """Returns the collective operations that the library has."""
    outcome = run_bench(mpi, directory, "list", "operation", "--format", "json", ranks=1)
    parts = [json.loads(line) for line in outcome.stdout.splitlines()]
    return [part for part in parts if part["collective"] and not part["unavailable"]]


def form_of(name: str) -> str:
    """Returns the form of a neighborhood operation."""
    return "persistent" if name.endswith("_init") else "nonblocking" if name.startswith("i") else "blocking"


def validate(mpi: str, directory: Path, *arguments: str, ranks: int) -> Outcome:
    """Returns the outcome of few calls whose results are checked."""
    few = ["--validate", "-r", "2", "--warmup", "0", "--sync", "none", "--format", "json", "-q"]
    return run_bench(mpi, directory, *arguments, *few, ranks=ranks)


@pytest.fixture(scope="session")
def operations(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Returns the names of all collective operations."""
    return [part["name"] for part in listed(mpi, tmp_path_factory.mktemp("list"))]


def test_all_collectives_of_mpi_are_there(operations: list[str]) -> None:
    moved = ["gather", "scatter", "allgather", "alltoall", "neighbor_allgather", "neighbor_alltoall"]
    names = [name + suffix for name in moved for suffix in ("", "v")]
    names += ["barrier", "bcast", "alltoallw", "neighbor_alltoallw", "reduce", "allreduce", "reduce_scatter"]
    names += ["reduce_scatter_block", "scan", "exscan"]
    expected = {form.format(name) for name in names for form in FORMS.values()}
    assert set(operations) == expected | {"reduce_local"}


# More ranks are refused the same way; test_results_are_right measures the operations that are not refused.
@pytest.mark.parametrize("ranks", [1, 2])
def test_who_mixes_up_blocks_is_known_and_refused(mpi: str, tmp_path: Path, operations: list[str], ranks: int) -> None:
    refused = 0
    for name in operations:
        for topology in TOPOLOGIES:
            if "neighbor_alltoall" in name and mixes_up(mpi, name, topology, ranks):
                outcome = validate(mpi, tmp_path, f"{name}(topology={topology})", "-m", "8", ranks=ranks)
                assert outcome.status == 2, outcome.stderr
                assert "mixes up their blocks" in outcome.own_lines[0]
                refused += 1
    assert refused == MIXED_UP[mpi, ranks]


@pytest.mark.parametrize("name", ["gather_init", "scatter_init", "allgather_init"])
def test_who_sends_old_contents_is_known_and_refused(mpi: str, tmp_path: Path, name: str) -> None:
    outcome = validate(mpi, tmp_path, name, "-m", "8", ranks=2)
    assert outcome.status == (2 if name in STALE[mpi] else 0), outcome.stderr
    assert outcome.status == 0 or "not when it is started" in outcome.own_lines[0]


# The rest is for `make validate`: MPICH takes 12 ms per collective where ranks share processors.
MOST_RANKS = {"openmpi": 8, "mpich": 3}


# More than two ranks share processors and take their time, so `make test-all` has the variety with more in it.
CASES = [
    pytest.param(ranks, given, id=f"{name}-{ranks}", marks=[pytest.mark.nightly] if ranks > 2 and not given else [])
    for ranks in RANKS
    for name, given in VARIETIES.items()
]


@pytest.mark.parametrize(("ranks", "parameters"), CASES)
def test_results_are_right(mpi: str, tmp_path: Path, operations: list[str], ranks: int, parameters: str) -> None:
    if ranks > MOST_RANKS[mpi]:
        pytest.skip("make validate")
    asked = []
    for name in operations:
        if "neighbor_alltoall" in name:
            kept = [topology for topology in TOPOLOGIES if not mixes_up(mpi, name, topology, ranks)]
            asked += [f"{name}(topology={topology})" for topology in kept]
        elif "neighbor" in name:
            asked += [f"{name}(topology={topology})" for topology in TOPOLOGIES]
        elif name not in STALE[mpi]:
            asked.append(name)
    with_parameters = ["--with", parameters] if parameters else []
    sizes = SIZES[:1] if mpi == "mpich" and ranks > 2 else SIZES
    outcome = validate(mpi, tmp_path, *asked, "-m", ",".join(map(str, sizes)), *with_parameters, ranks=ranks)
    assert outcome.status == 0, outcome.stderr
    cells = [record for record in map(json.loads, outcome.stdout.splitlines()) if record["record"] == "cell"]
    assert len(cells) == len(sizes) * (len(asked) - 3) + 3  # barriers have no size
    assert all(cell["status"] == "ok" and cell["validated"] > 0 and cell["wrong"] == 0 for cell in cells)


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
    if ranks > MOST_RANKS[mpi]:
        pytest.skip("12 ms per collective")
    asked = [f"{name}(type={kind},op={op})" for name, kind, op in TYPES]
    copied = [f"alltoallv(type={kind},counts=rising)" for kind in dict.fromkeys(kind for _, kind, _ in TYPES)]
    # A multiple of all sizes: 12 and 6 bytes with padding, 32 of the largest.
    outcome = validate(mpi, tmp_path, *asked, *copied, "-m", "1056", ranks=ranks)
    assert outcome.status == 0, outcome.stderr


@ONE_LIBRARY
def test_what_does_not_go_together_is_refused(bench: Bench) -> None:
    outcome = bench("allreduce(type=double,op=band)", "-m", "8")
    assert outcome.status == 2
    assert len(outcome.own_lines) == 1
    assert "op band cannot combine type double; choose one of sum, prod, min, max, user" in outcome.own_lines[0]


@ONE_LIBRARY
def test_a_size_that_counts_cannot_hold_is_refused(bench: Bench) -> None:
    outcome = bench("alltoallw(type=vector)", "-m", "1G")
    assert outcome.status == 2
    # Displacements count bytes in memory, of which there are twice as many as in messages: two ranks of 2^31 / 4.
    assert f"use at most {(2**31 - 1) // 32 // 2 * 16} bytes" in outcome.own_lines[0]


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
    assert any("alltoall of 8 bytes" in line and "rank 1: element 5 is " in line for line in outcome.own_lines)


def test_a_barrier_that_is_none_is_found(mpi: str, tmp_path: Path, broken: dict[str, str]) -> None:
    words = ["barrier", "--validate", "-r", "100", "--warmup", "0", "--sync", "none", "-q"]
    outcome = run_bench(mpi, tmp_path, *words, env=broken)
    assert outcome.status == 4
    assert any("rank 0: rank 1 left before this one entered" in line for line in outcome.own_lines)


@ONE_LIBRARY
def test_what_was_looked_at_is_said(bench: Bench) -> None:
    words = ["bcast", "nothing", "-m", "8", "-r", "2", "--warmup", "0", "--sync", "none", "-q"]
    assert "; not checked: nothing\n" in bench(*words, "--validate").stdout
    assert "validated" not in bench(*words).stdout
