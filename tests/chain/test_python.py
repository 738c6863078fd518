"""downbeat.mpi under each MPI library, with mpi4py of PyPI and of Debian; and where no libdownbeat fits."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from downbeat.run.libraries import linked_mpi

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).resolve().parent / "python_program.py"
DEBIAN_PYTHON = "/usr/bin/python3"


def libdownbeat(mpi: str) -> Path:
    """Returns the library of a build tree."""
    return ROOT / "build" / mpi / "lib" / "libdownbeat.so"


def libmpi(mpi: str) -> Path:
    """Returns the file of an MPI library."""
    found = linked_mpi(str(libdownbeat(mpi)))
    assert found is not None
    return found


def launch(
    mpi: str, ranks: int, *words: str | Path, python: str = sys.executable, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program in Python."""
    # The wheels of mpi4py take the MPI library that this variable names.
    chosen = {"MPI4PY_LIBMPI": str(libmpi(mpi))} if python == sys.executable else {}
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **chosen, **variables}
    command = ["tools/launch", "--mpi", mpi, "-n", str(ranks), "--timeout", "120", python, *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def keeps_promises(mpi: str, ranks: int, python: str, **variables: str) -> None:
    """Runs the program of all calls, which must find the library of the right build tree."""
    done = launch(mpi, ranks, PROGRAM, python=python, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[:2] == [str(libdownbeat(mpi)), "0.1.0"]


# Debian's MPICH is called libmpich.so.12, and the wheels look for libmpi.so.12.
@pytest.mark.thorough
@pytest.mark.parametrize("mpi", ["openmpi", "openmpi5", "mpich5", "intelmpi"])
def test_wheel_of_mpi4py(mpi: str) -> None:
    keeps_promises(mpi, 2, sys.executable)


@pytest.mark.thorough
@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("mpi", ["openmpi"])
def test_mpi4py_of_debian(mpi: str, ranks: int) -> None:
    keeps_promises(mpi, ranks, DEBIAN_PYTHON)


@pytest.mark.thorough
def test_the_library_that_the_variable_names() -> None:
    keeps_promises("openmpi", 2, sys.executable, DOWNBEAT_LIBRARY=str(libdownbeat("openmpi")))


def refusal(mpi: str, code: str, **variables: str) -> str:
    """Returns the last line of an import that fails, in a process of its own."""
    done = launch(mpi, 1, "-c", code, python=sys.executable, **variables)
    assert done.returncode == 1
    return next(line for line in done.stderr.splitlines() if line.startswith("downbeat.run"))


@pytest.mark.thorough
def test_a_library_for_another_mpi_is_refused() -> None:
    said = refusal("openmpi", "import downbeat.mpi", DOWNBEAT_LIBRARY=str(libdownbeat("mpich")))
    assert "DOWNBEAT_LIBRARY is" in said and "libmpich.so.12" in said and "mpi4py has" in said


@pytest.mark.thorough
def test_two_mpi_libraries_are_refused() -> None:
    code = f"import ctypes, mpi4py.MPI; ctypes.CDLL('{libmpi('mpich')}'); import downbeat.mpi"
    said = refusal("openmpi", code)
    assert "two MPI" in said
    assert "libmpi.so.40" in said
    assert "libmpich.so.12" in said


def test_every_function_of_the_header_is_called() -> None:
    text = (ROOT / "lib/include/mpix_harmonize.h").read_text(encoding="utf-8")
    declared = set(re.findall(r"^int ((?:MPIX|Downbeat)_\w+)\(", text, re.MULTILINE))
    sources = (ROOT / "python/downbeat/mpi.py").read_text(encoding="utf-8")
    assert "MPIX_Harmonize_time" in declared
    assert declared == set(re.findall(r"function\(\"(\w+)\"", sources))


@pytest.mark.thorough
def test_without_mpi4py_the_import_says_what_to_install() -> None:
    said = refusal("openmpi", "import sys; sys.modules['mpi4py'] = None; import downbeat.mpi")
    assert said.endswith("'downbeat[mpi]'")


@pytest.mark.thorough
def test_the_refusal_is_an_import_error() -> None:
    code = "try:\n import downbeat.mpi\nexcept ImportError as error: print('optional:', error)"
    done = launch("openmpi", 1, "-c", code, DOWNBEAT_LIBRARY="/nowhere")
    assert done.stdout.startswith("optional: DOWNBEAT_LIBRARY") and "'/nowhere'" in done.stdout
