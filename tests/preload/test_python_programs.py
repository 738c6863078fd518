"""Programs of mpi4py that know nothing of Downbeat, or that import downbeat.mpi: they run, and are recorded."""

from __future__ import annotations

import sys
from pathlib import Path

import downbeat
import pytest
from downbeat.run.libraries import linked_mpi
from programs import ROOT, run_traced

pytestmark = pytest.mark.thorough

PROGRAM = Path(__file__).resolve().parent / "python_sites.py"
DEBIAN_PYTHON = "/usr/bin/python3"
PYTHONS = pytest.mark.parametrize(
    ("mpi", "python"),
    [("openmpi", sys.executable), ("openmpi", DEBIAN_PYTHON), ("openmpi5", sys.executable), ("mpich5", sys.executable)],
    ids=["openmpi", "openmpi-debian", "openmpi5", "mpich5"],
)


def traced_python(
    directory: Path, mpi: str, python: str, words: list[str], *options: str
) -> tuple[downbeat.Trace, str]:
    """Runs a program of mpi4py that is to succeed; returns what was recorded, and what it printed."""
    libmpi = linked_mpi(str(ROOT / "build" / mpi / "lib" / "libdownbeat.so"))
    chosen = {"MPI4PY_LIBMPI": str(libmpi)} if python == sys.executable else {}
    program = ["env", f"PYTHONPATH={ROOT / 'python'}", python, *words]
    done = run_traced(directory, mpi, program, *options, **chosen)
    assert done.returncode == 0, done.stdout + done.stderr
    return downbeat.open_trace(directory), done.stdout


@pytest.mark.parametrize("options", [(), ("--harmonize", "--callers", "all")], ids=["record", "harmonize"])
@PYTHONS
def test_a_program_that_imports_the_library_is_recorded(
    mpi: str, python: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    trace, _ = traced_python(tmp_path / "trace", mpi, python, [str(PROGRAM), "with_library"], *options)
    calls = trace.profile.groupby("operation", observed=True)["calls"].sum()
    assert calls["barrier"] >= 2 * 3
    assert calls["allreduce"] >= 2 * 3 * 2
