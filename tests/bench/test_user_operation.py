"""An operation from a shared object of the user's own is measured as those of MPI are."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ONE_LIBRARY, ROOT, Bench, Outcome, read_dataset, read_records, run_bench

pytestmark = pytest.mark.shared

SOURCE = Path(__file__).resolve().parent / "user_operation.c"
RING = ROOT / "examples/my_operation/ring_allreduce.c"
OTHER = {"openmpi": "mpich", "mpich": "openmpi"}
LIMITS = ["-r", "40", "--max-attempts", "1000", "-q"]
# Cost of a stamp and a clock reading, generously: the smallest of many samples is undisturbed.
COST = 5e-6  # s

Build = Callable[..., Path]


def compile_object(mpi: str, source: Path, target: Path, *flags: str) -> Path:
    """Builds a shared object as a user would."""
    command = [f"mpicc.{mpi}", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-shared"]
    include = f"-I{ROOT / 'lib/include'}"
    subprocess.run([*command, "-fPIC", include, *flags, "-o", str(target), str(source)], check=True)
    return target


@pytest.fixture
def build(mpi: str, tmp_path: Path) -> Build:
    """Returns a function that builds the operation of the tests, where downbeat-bench runs."""

    def build(name: str = "stay.so", *flags: str) -> Path:
        return compile_object(mpi, SOURCE, tmp_path / name, *flags)

    return build


def cells_of(path: Path) -> list[dict[str, Any]]:
    """Returns the records of cells in a file, which come as the cells complete, in the order of the command line."""
    cells = [record for record in read_records(path) if record["record"] == "cell"]
    return sorted(cells, key=lambda cell: int(cell["cell"]))


def test_sizes_reach_it(bench: Bench, build: Build, tmp_path: Path) -> None:
    build()
    outcome = bench("./stay.so(bytes)", "-m", "20000,80000", "--sync", "harmonize", *LIMITS, "-o", "out.json")
    assert outcome.status == 0, outcome.stderr
    cells = cells_of(tmp_path / "out.json")
    assert [cell["size"] for cell in cells] == [20000, 80000]
    for cell in cells:
        time = cell["latency_avg_min"]
        assert cell["size"] * 0.9999e-9 <= time <= cell["size"] * 1e-9 + COST


def test_it_has_all_that_others_have(bench: Bench, build: Build, tmp_path: Path) -> None:
    """Two operations from one file beside one of MPI, delayed, in batches, in every file, called by file name."""
    (tmp_path / "sub").mkdir()
    build("sub/stay.so", "-DUNSIZED")
    operations = ["sub/stay.so(10 us)", "sub/stay.so(20 us, twice)", "barrier"]
    delays = ["--pattern", "one_late", "--delay", "30us"]
    timing = ["--timing", "per_call,batch(calls=4)", "--sync", "harmonize"]
    outcome = bench(*operations, *timing, *delays, *LIMITS, "-o", "out.json", "-o", "out.nc", "-o", "out.csv")
    assert outcome.status == 0, outcome.stderr
    path = tmp_path / "sub/stay.so"
    context, *_ = read_records(tmp_path / "out.json")
    assert context["user_operations"] == f"stay(10 us): {path}\nstay(20 us, twice): {path}"
    cells = cells_of(tmp_path / "out.json")
    assert len(cells) == 3 * 2 * 2
    for cell in cells:
        if cell["operation"] != "barrier":
            least = 10e-6 if "10" in cell["operation"] else 20e-6
            assert cell["latency_avg_min"] >= least * 0.9999
            assert cell["latency_avg_min"] <= least + COST
    data = read_dataset(tmp_path / "out.nc")
    assert data.attrs["user_operations"] == context["user_operations"]
    assert data.sizes["cell"] == len(cells)


@ONE_LIBRARY
def test_without_a_size_there_are_no_sizes(bench: Bench, build: Build) -> None:
    build("stay.so", "-DUNSIZED")
    outcome = bench("./stay.so", "-m", "8")
    assert outcome.status == 2
    assert "--sizes needs an operation that has a message size" in outcome.own_lines[0]


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("parameters", ["", "(max)"])
def test_the_example_is_right(mpi: str, tmp_path: Path, parameters: str, ranks: int) -> None:
    compile_object(mpi, RING, tmp_path / "ring_allreduce.so")
    arguments = ["-m", "8,24,64K", "--sync", "mpi_barrier", "--validate", "-r", "5", "--warmup", "0", "-q"]
    outcome = run_bench(mpi, tmp_path, f"./ring_allreduce.so{parameters}", *arguments, ranks=ranks)
    assert outcome.status == 0, outcome.stderr


@ONE_LIBRARY
def test_a_wrong_result_is_noticed(bench: Bench, build: Build) -> None:
    build()
    outcome = bench("./stay.so(wrong)", "-m", "8", "--sync", "mpi_barrier", "--validate", "-r", "5", "-q")
    assert outcome.status == 4
    assert "rank 1: element 3 is 5 instead of 6" in outcome.stdout + outcome.stderr


def assert_refused(outcome: Outcome, status: int, *words: str) -> None:
    assert outcome.status == status
    assert len(outcome.own_lines) == 1, outcome.stderr
    for word in words:
        assert word in outcome.own_lines[0]


@ONE_LIBRARY
def test_what_is_no_shared_object(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("no ELF, but long enough to be looked at: " + "x" * 100)
    (tmp_path / "directory.so").mkdir()
    assert_refused(bench("absent.so"), 2, "operation './absent.so' cannot be loaded: there is no such file")
    assert_refused(bench("./text.so"), 2, "operation './text.so' cannot be loaded:", "ELF header")
    assert_refused(bench("./directory.so"), 2, "it is not a file; give a shared object")
    assert_refused(bench("./"), 2, "operation cannot be './': it names no file")
    assert_refused(bench("./text.so(a"), 2, "the closing parenthesis is missing")


@ONE_LIBRARY
def test_what_lacks_a_function(bench: Bench, build: Build) -> None:
    build("stay.so", "-DWITHOUT_RUN")
    assert_refused(bench("./stay.so"), 2, "it has no function downbeat_operation_run; define")


def test_what_belongs_to_another_mpi_library(bench: Bench, mpi: str, tmp_path: Path) -> None:
    compile_object(OTHER[mpi], SOURCE, tmp_path / "stay.so")
    library = {"openmpi": "libmpi", "mpich": "libmpich"}
    words = [f"{library[OTHER[mpi]]}.so", f"{library[mpi]}.so", "it is linked with the MPI library"]
    assert_refused(bench("./stay.so"), 2, *words)


@ONE_LIBRARY
def test_what_is_given_twice(bench: Bench, build: Build) -> None:
    build()
    assert_refused(bench("./stay.so", "stay.so()"), 2, "operation 'stay' is given twice")


def test_failures_name_rank_and_code(bench: Bench, build: Build) -> None:
    build()
    assert_refused(
        bench("./stay.so(fail setup)", "-m", "16", "-q"),
        1,
        "./stay.so: downbeat_operation_setup failed on rank 1 for 16 bytes with 1234567",
    )
    assert_refused(
        bench("./stay.so(fail run)", "-m", "16", "-q"), 1, "downbeat_operation_run failed on rank 1 with 1234567"
    )
    # All ranks know of it, and one says so.
    assert_refused(
        bench("./stay.so(all fail run)", "-m", "16", "-q"), 1, "downbeat_operation_run failed on rank 0 with 1234567"
    )
    # All is measured by then.
    assert_refused(
        bench("./stay.so(fail teardown)", "-m", "16", "-r", "5", "--sync", "none", "-q"),
        0,
        "./stay.so: downbeat_operation_teardown failed with 1234567",
    )
