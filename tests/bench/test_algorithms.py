"""Algorithms of the MPI library: what each does is held against closed forms, what is ignored is noticed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from conftest import ONE_LIBRARY, Bench, Outcome, read_dataset, read_records, run_bench
from downbeat.run.libraries import FETCHED
from downbeat.tune.mpich import mpich_rules
from downbeat.tune.rules_format import Rule

BYTES = 64
DEBIAN_MPICH = Path("/usr/lib/x86_64-linux-gnu/libmpich.so.12")

Matrix = list[list[int]]


def matrix(ranks: int, sends: Callable[[int], list[int]]) -> Matrix:
    """Returns the messages from each rank to each, where `sends` lists the receivers of a rank."""
    return [[sends(rank).count(to) for to in range(ranks)] for rank in range(ranks)]


def double_ring(ranks: int) -> Matrix:
    return matrix(ranks, lambda rank: 2 * [(rank + 1) % ranks])


def recursive_doubling(ranks: int) -> Matrix:
    """For a power of two ranks."""
    return matrix(ranks, lambda rank: [rank ^ d for d in powers(ranks)])


def pipeline(ranks: int) -> Matrix:
    return matrix(ranks, lambda rank: [rank + 1] if rank + 1 < ranks else [])


def binomial(ranks: int) -> Matrix:
    return matrix(ranks, lambda rank: [rank + d for d in powers(ranks) if d > rank and rank + d < ranks])


def two_rings(ranks: int) -> Matrix:
    """Reduces around the ring, then gathers around it, both without the own part."""
    return matrix(ranks, lambda rank: 2 * (ranks - 1) * [(rank + 1) % ranks])


def powers(ranks: int) -> list[int]:
    return [2**k for k in range((ranks - 1).bit_length())]


# Open MPI, of 64 bytes: short enough that nothing is cut into segments.
MESSAGES: dict[tuple[str, str], Callable[[int], Matrix]] = {
    ("barrier", "double_ring"): double_ring,
    ("bcast", "pipeline"): pipeline,
    ("bcast", "binomial"): binomial,
    ("allreduce", "recursive_doubling"): recursive_doubling,
    ("allreduce", "ring"): two_rings,
}


def children_in_order(rank: int, ranks: int) -> int:
    """Returns how many subtrees a rank of a binomial tree collects: one for each bit below its lowest one."""
    return sum(1 for d in powers(ranks) if rank % (2 * d) == 0 and rank + d < ranks)


def binary_children(rank: int) -> list[int]:
    """Returns those in Open MPI's binary tree, which hands each level's places out rank by rank, left ones first."""
    level_size = 1 << ((rank + 1).bit_length() - 1)
    return [rank + level_size, rank + 2 * level_size]


# Calls of the operator on a rank.
CALLS: dict[str, dict[tuple[str, str], Callable[[int, int], int]]] = {
    "openmpi": {
        ("reduce", "linear"): lambda rank, ranks: ranks - 1 if rank == 0 else 0,
        ("reduce", "pipeline"): lambda rank, ranks: 1 if rank + 1 < ranks else 0,
        ("reduce", "binary"): lambda rank, ranks: sum(1 for child in binary_children(rank) if child < ranks),
        ("reduce", "binomial"): children_in_order,
        ("reduce", "rabenseifner"): lambda _, ranks: len(powers(ranks)),
        ("allreduce", "recursive_doubling"): lambda _, ranks: len(powers(ranks)),
        ("allreduce", "ring"): lambda _, ranks: ranks - 1,
    },
    "mpich": {
        ("reduce", "binomial"): children_in_order,
        ("allreduce", "recursive_doubling"): lambda _, ranks: len(powers(ranks)),
    },
}


def try_algorithms(mpi: str, directory: Path, *operations: str, ranks: int = 4, **env: str) -> xr.Dataset:
    """Returns what `downbeat-bench algorithms` wrote, by (operation, algorithm)."""
    arguments = ["algorithms", *operations, "-m", str(BYTES), "-q", "-o", "out.nc"]
    outcome = run_bench(mpi, directory, *arguments, env=env, ranks=ranks)
    assert outcome.status == 0, outcome.stderr
    return read_dataset(directory / "out.nc")


def text(variable: xr.DataArray) -> list[str]:
    return [value.decode() if isinstance(value, bytes) else str(value) for value in variable.values]


def places(data: xr.Dataset) -> dict[tuple[str, str], int]:
    return {key: i for i, key in enumerate(zip(text(data.operation), text(data.algorithm), strict=True))}


def one_line(outcome: Outcome, status: int) -> str:
    assert outcome.status == status, outcome.stderr
    assert len(outcome.own_lines) == 1
    return outcome.own_lines[0]


@pytest.mark.parametrize("ranks", [4, 8])
def test_messages_are_those_of_the_algorithm(mpi: str, tmp_path: Path, ranks: int) -> None:
    if mpi != "openmpi":
        pytest.skip("this library counts no messages")
    data = try_algorithms(mpi, tmp_path, ranks=ranks)
    place = places(data)
    for key, expected in MESSAGES.items():
        assert data.messages.values[place[key]].tolist() == expected(ranks), key


@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_the_operator_is_called_as_the_algorithm_does(mpi: str, tmp_path: Path, ranks: int) -> None:
    data = try_algorithms(mpi, tmp_path, "reduce", "allreduce", ranks=ranks)
    place = places(data)
    for key, expected in CALLS[mpi].items():
        power_of_two = ranks & (ranks - 1) == 0
        if power_of_two or key[1] not in ("recursive_doubling", "rabenseifner"):
            calls = data.calls.values[place[key]].tolist()
            assert calls == [expected(rank, ranks) for rank in range(ranks)], key


def test_bytes_are_counted(mpi: str, tmp_path: Path) -> None:
    if mpi != "openmpi":
        pytest.skip("this library counts no messages")
    data = try_algorithms(mpi, tmp_path, "bcast", "allreduce")
    place = places(data)
    assert data.bytes.values[place["bcast", "pipeline"]].tolist() == (BYTES * np.array(pipeline(4))).tolist()
    ring = data.bytes.values[place["allreduce", "ring"]].sum(axis=1)
    assert ring.tolist() == 4 * [2 * 3 * BYTES // 4]


def test_what_differs_from_the_default_is_in_force(mpi: str, tmp_path: Path) -> None:
    data = try_algorithms(mpi, tmp_path, "reduce")
    place = places(data)
    verdict = text(data.verdict)
    if mpi == "openmpi":
        assert verdict[place["reduce", "linear"]] == "in force"
        assert verdict[place["reduce", "rabenseifner"]] == "in force"
        assert verdict[place["reduce", "binary"]] == "cannot tell"  # the default at this size
    else:
        assert verdict[place["reduce", "binomial"]] == "cannot tell"  # the same, and no messages to distinguish them by
        assert verdict[place["reduce", "smp"]] == "refused"  # one node
        assert "MPI_Reduce failed" in text(data.refusal)[place["reduce", "smp"]]


def test_an_algorithm_that_refuses_does_not_end_the_others(mpi: str, tmp_path: Path) -> None:
    data = try_algorithms(mpi, tmp_path, "barrier", ranks=3)
    verdicts = dict(zip(text(data.algorithm), text(data.verdict), strict=True))
    refused, after = ("two_proc", "tree") if mpi == "openmpi" else ("smp", "dissemination")
    assert verdicts[refused] == "refused"
    assert verdicts[after] != "refused"


def test_cells_for_every_algorithm(bench: Bench, mpi: str, tmp_path: Path) -> None:
    reduce = ["binary", "rabenseifner"] if mpi == "openmpi" else ["binomial", "nb"]
    barriers = ["linear", "tree"] if mpi == "openmpi" else ["nb", "dissemination"]
    arguments = ["reduce", "bcast", "-m", "64", "--algorithm", "reduce=default," + ",".join(reduce)]
    arguments += ["--barrier-algorithm", ",".join(barriers), "--sync", "mpi_barrier,harmonize,roundtime,linear"]
    outcome = bench(*arguments, "-r", "3", "-q", "-o", "out.json", "-o", "out.nc", "-o", "out.csv")
    assert outcome.status in (0, 3), outcome.stderr
    records = read_records(tmp_path / "out.json")
    cells = {
        (r["operation"], r["algorithm"], r["synchronizer"], r["barrier_algorithm"])
        for r in records
        if r["record"] == "cell"
    }
    starts = [(name, barrier) for name in ("mpi_barrier", "roundtime") for barrier in barriers]
    starts += [("harmonize", "default"), ("linear", "default")]
    subjects = [("reduce", name) for name in ("default", *reduce)] + [("bcast", "default")]
    assert cells == {(*subject, *start) for subject in subjects for start in starts}
    data = read_dataset(tmp_path / "out.nc")
    columns = [text(data[name]) for name in ("operation", "algorithm", "synchronizer", "barrier_algorithm")]
    assert set(zip(*columns, strict=True)) == cells
    for name in (*(f"reduce[{name}]" for name in reduce), *(f"barrier[{name}]" for name in barriers)):
        assert f"{name}: set " in data.attrs["algorithms"]
        assert name in outcome.stdout
    assert "read back" in data.attrs["algorithms"]
    assert (tmp_path / "out.csv").read_text().splitlines()[0].startswith("cell,operation,algorithm,size_byte")


def test_numbers_are_names(bench: Bench, tmp_path: Path) -> None:
    outcome = bench("reduce", "-m", "64", "--algorithm", "reduce=1", "-r", "2", "-q", "-o", "out.json")
    assert outcome.status in (0, 3), outcome.stderr
    listed = bench("list", "algorithm", "--format", "json").stdout.splitlines()
    reduce = next(part for part in map(json.loads, listed) if part["name"] == "reduce")
    cells = [r for r in read_records(tmp_path / "out.json") if r["record"] == "cell"]
    assert {cell["algorithm"] for cell in cells} == {reduce["summary"].split(", ")[0]}


@ONE_LIBRARY
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reduce", "--algorithm", "reduce=fast"], "unknown algorithm of reduce 'fast'; choose one of default, "),
        (["reduce", "--algorithm", "reduce=default,default"], "'default' is given twice"),
        (["reduce", "--algorithm", "reduce="], "unknown algorithm of reduce ''"),
        (["reduce", "--algorithm", "linear"], "use an operation and its algorithms"),
        (["reduce", "--algorithm", "bcast=binomial"], "bcast is not measured"),
        (["reduce", "--algorithm", "fly=binomial"], "unknown operation 'fly'"),
        (["nothing", "--algorithm", "nothing=binomial"], "cannot choose an algorithm for nothing; it can for "),
        (["reduce", "--barrier-algorithm", "fast"], "unknown algorithm of barrier 'fast'; choose one of default, "),
        (
            ["reduce", "--barrier-algorithm", "default", "--sync", "harmonize"],
            "--barrier-algorithm needs a synchronizer that calls MPI_Barrier",
        ),
        (["algorithms", "nothing"], "unknown operation 'nothing'; choose one of barrier, "),
        (["algorithms", "-m", "12"], "use a multiple of 8 up to"),
    ],
)
def test_bad_choices_are_named(bench: Bench, arguments: list[str], said: str) -> None:
    assert said in one_line(bench(*arguments), 2)


def test_what_the_environment_makes_ignored_is_noticed(mpi: str, tmp_path: Path) -> None:
    arguments = ["reduce", "-m", "64", "-r", "2", "-q", "--algorithm"]
    if mpi == "mpich":
        outcome = run_bench(mpi, tmp_path, *arguments, "reduce=nb", env={"MPIR_CVAR_DEVICE_COLLECTIVES": "all"})
        line = one_line(outcome, 2)
        assert "nb" in line.split() and "MPIR_CVAR_DEVICE_COLLECTIVES" in line
        return
    choice = "reduce=linear"
    rules = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "0"}
    assert "coll_tuned_use_dynamic_rules" in one_line(run_bench(mpi, tmp_path, *arguments, choice, env=rules), 2)
    rival = {"OMPI_MCA_coll_sm_priority": "90"}
    assert "coll_sm_priority" in one_line(run_bench(mpi, tmp_path, *arguments, choice, env=rival), 2)
    without = {"OMPI_MCA_coll": "^tuned"}
    assert "cannot choose" in one_line(run_bench(mpi, tmp_path, *arguments, choice, env=without), 2)


def test_a_choice_reaches_the_call(mpi: str, tmp_path: Path) -> None:
    """An algorithm that these ranks cannot run says so, before anything is measured."""
    if mpi == "openmpi":
        barrier = run_bench(mpi, tmp_path, "bcast", "-m", "64", "-q", "--barrier-algorithm", "two_proc", ranks=3)
        line = one_line(barrier, 1)
        assert "barrier[two_proc]" in line and "3 ranks" in line
        return
    reduce = run_bench(mpi, tmp_path, "reduce", "-m", "64", "-q", "--algorithm", "reduce=smp", ranks=3)
    line = one_line(reduce, 1)
    assert "reduce[smp]" in line and "3 ranks" in line
    barrier = run_bench(mpi, tmp_path, "bcast", "-m", "64", "-q", "--barrier-algorithm", "smp")
    line = one_line(barrier, 2)
    assert "MPICH crashes" in line and "smp" in line


@pytest.mark.parametrize("library", ["mpich", "mpich5"])
@pytest.mark.parametrize("place", ["variable", "files"])
def test_a_choice_reaches_the_call_past_what_a_site_selects(library: str, place: str, tmp_path: Path) -> None:
    """On one node smp cannot run, and fails only if the call takes it. The library's own choice, the site's, runs."""
    site = {"MPIR_CVAR_REDUCE_INTRA_ALGORITHM": "binomial"}
    if place == "files":
        shared = FETCHED / "mpich5/lib/libmpi.so.12" if library == "mpich5" else DEBIAN_MPICH
        written = mpich_rules(shared).write([Rule("reduce", 3, 0, None, "binomial")])
        for name, text in written.files.items():
            (tmp_path / name).write_text(text, encoding="ascii")
        site = written.environment(tmp_path)
    arguments = ["reduce", "-m", "64", "-r", "2", "-q", "--sync", "none", "--algorithm"]
    assert run_bench(library, tmp_path, *arguments, "reduce=default", env=site, ranks=3).status == 0
    refused = one_line(run_bench(library, tmp_path, *arguments, "reduce=smp", env=site, ranks=3), 1)
    assert "reduce[smp]" in refused and "3 ranks" in refused


def test_one_barrier_at_a_time(mpi: str, tmp_path: Path) -> None:
    """As operation and in a synchronizer, where the choice holds for the process."""
    names = ["linear", "tree"] if mpi == "openmpi" else ["nb", "dissemination"]
    arguments = ["barrier", "-r", "2", "-q", "--algorithm", f"barrier={names[0]}", "--barrier-algorithm"]
    other = run_bench(mpi, tmp_path, *arguments, names[1])
    if mpi == "openmpi":
        assert other.status in (0, 3), other.stderr
    else:
        assert "one algorithm" in one_line(other, 2)
    assert run_bench(mpi, tmp_path, *arguments, names[0]).status in (0, 3)


@pytest.mark.parametrize("library", ["openmpi5", "mpich5"])
def test_other_libraries_switch_within_a_launch(library: str, tmp_path: Path) -> None:
    data = try_algorithms(library, tmp_path, "reduce")
    found = {str(name): calls.tolist() for name, calls in zip(data.algorithm.values, data.calls.values, strict=True)}
    assert found["binomial"] == [children_in_order(rank, 4) for rank in range(4)]
    assert found["default"] != found["binomial"]


@pytest.mark.parametrize("library", ["intelmpi"])
def test_what_is_read_in_init_is_tried_as_it_is(library: str, tmp_path: Path) -> None:
    found = []
    for number in ("1", "2"):
        data = try_algorithms(library, tmp_path, "reduce", I_MPI_ADJUST_REDUCE=number)
        assert data.algorithm.values.tolist() == ["default"]
        found.append(data.calls.values[0].tolist())
    assert found[1] == [children_in_order(rank, 4) for rank in range(4)]
    assert found[0] != found[1]
    arguments = ["reduce", "-m", "8", "-r", "5", "-q", "--sync", "none"]
    assert run_bench(library, tmp_path, *arguments, "--algorithm", "reduce=2").status == 0
    refused = run_bench(library, tmp_path, *arguments, "--algorithm", "reduce=1,2")
    line = one_line(refused, 2)
    assert "MPI_Init" in line and "reduce" in line


def test_an_error_text_longer_than_the_library_says_is_told(tmp_path: Path) -> None:
    # MPICH's smp algorithm of scan wants ranks on several nodes; its texts about that grow with the calls in between.
    outcome = run_bench("mpich", tmp_path, "algorithms", "scan", ranks=4)
    assert outcome.status == 0, outcome.stderr
    assert re.search(r"algorithm\s+is\s+not\s+usable", outcome.stdout)
