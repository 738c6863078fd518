"""A program built for the standard ABI of MPI runs unchanged under every library that has it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build" / "abi" / "bin"


def launch(mpi: str | None, ranks: int, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of the tree for the standard ABI."""
    chosen = ["--mpi", mpi] if mpi else []
    command = [str(ROOT / "tools/launch"), *chosen, "-n", str(ranks), "--timeout", "300", str(PROGRAMS / program)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_the_programs_need_no_library_but_the_standard_one() -> None:
    linked = subprocess.run(["readelf", "-d", PROGRAMS / "test_sync"], capture_output=True, text=True, check=True)
    needed = [line.split("[")[1].rstrip("]") for line in linked.stdout.splitlines() if "(NEEDED)" in line]
    assert [name for name in needed if name.startswith("libmpi")] == ["libmpi_abi.so.1"]


@pytest.mark.parametrize(("program", "ranks"), [("test_sync", 2), ("test_harmonize", 2), ("test_communicators", 4)])
def test_another_library_than_that_of_the_build_keeps_the_promises(program: str, ranks: int) -> None:
    done = launch("intelmpi", ranks, program)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("mpi", "says"), [("mpich5", "/.mpi/mpich5/"), ("intelmpi", "/.mpi/intelmpi/"), (None, "/.mpi/mpich5/")]
)
def test_the_library_asked_for_is_the_one_that_runs(mpi: str | None, says: str, tmp_path: Path) -> None:
    # A file per process: what several write to one pipe may come in pieces.
    done = launch(mpi, 2, "test_sync", LD_DEBUG="libs", LD_DEBUG_OUTPUT=str(tmp_path / "libs"))
    lines = [line for file in tmp_path.iterdir() for line in file.read_text(errors="replace").splitlines()]
    used = [Path(line.rpartition(": ")[2]) for line in lines if "calling init:" in line and "libmpi_abi" in line]
    assert done.returncode == 0
    assert [path.resolve() for path in used] == [(ROOT / says.strip("/") / "lib" / "libmpi_abi.so.1").resolve()] * 2
