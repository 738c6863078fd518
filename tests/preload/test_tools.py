"""libdownbeat-preload beside PMPI tools: each sees the program's calls, whoever comes first."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import downbeat
import pytest
from downbeat.run.libraries import LIBRARIES
from programs import preload_library, program, run_preloaded

pytestmark = pytest.mark.thorough

HERE = Path(__file__).resolve().parent
OURS, ONE, TWO = "downbeat-preload", "preload-tool-one", "preload-tool-two"
# Calls of two ranks of tooled.c.
CALLS = {
    "bcast": 200, "allreduce": 200, "barrier": 62, "iallreduce": 40, "ibarrier": 22,
    "send": 20, "wait": 40, "test": 2, "waitall": 20, "dup": 2, "pcontrol": 8, "phases": 2,
}  # fmt: skip
RECORDED = {
    ("allreduce", "blocking"): 200,
    ("allreduce", "nonblocking"): 40,
    ("barrier", "blocking"): 60,  # not the one after MPI_Pcontrol(0)
    ("barrier", "nonblocking"): 22,
    ("bcast", "blocking"): 200,
}
SUMS = {"point-to-point": 40, "requests": 62, "communicators": 4}
# A tool that passes calls on to Downbeat by PMPI_ passes its own on too, here a reduction in MPI_Finalize.
OWN = {("reduce", "blocking"): 2}
# In LD_PRELOAD, program, the tool that sees the calls, whether it comes before Downbeat. Tools pass calls on by PMPI_,
# so of several the first one sees them, with Downbeat or without.
ORDERS = {
    "after": ([OURS, ONE], "tooled", "one", False),
    "before": ([ONE, OURS], "tooled", "one", True),
    "around": ([ONE, OURS, TWO], "tooled", "one", True),
    "both-after": ([OURS, TWO, ONE], "tooled", "two", False),
    "linked": ([OURS], "tooled-linked", "one", False),
    "linked-and-before": ([TWO, OURS], "tooled-linked", "two", True),
    "in-the-executable": ([OURS], "tooled-inside", "one", True),
    "in-the-executable-and-after": ([OURS, TWO], "tooled-inside", "one", True),
}


def tools(stdout: str) -> dict[str, dict[str, int]]:
    """Returns what each tool counted."""
    said = {}
    for line in stdout.splitlines():
        if line.startswith("tool "):
            name, _, rest = line.removeprefix("tool ").partition(":")
            words = rest.split()
            said[name] = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    return said


def recorded(trace: downbeat.Trace) -> dict[tuple[str, str], int]:
    """Returns the calls of the trace by operation and kind."""
    found: dict[tuple[str, str], int] = {}
    for row in trace.profile[trace.profile["calls"] > 0].itertuples():
        key = (str(row.operation), str(row.kind))
        found[key] = found.get(key, 0) + int(str(row.calls))
    return found


BY_DAY = {("openmpi", "record"), ("mpich", "record,harmonize")}
EACH = [
    pytest.param(mpi, mode, marks=[] if (mpi, mode) in BY_DAY else [pytest.mark.nightly])
    for mpi in LIBRARIES
    for mode in ("record", "record,harmonize")
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("mpi", "mode"), EACH)
def test_each_tool_sees_the_calls_of_the_program(mpi: str, order: str, mode: str, tmp_path: Path) -> None:
    libraries, name, seeing, before = ORDERS[order]
    paths = [preload_library(mpi, library) for library in libraries]
    done = run_preloaded(tmp_path / "trace", mpi, paths, [program(mpi, name)], DOWNBEAT_PRELOAD_MODE=mode)
    assert done.returncode == 0, done.stderr
    expected = dict(CALLS)
    if mode != "record" and not before:
        expected["barrier"] -= 60  # they become MPIX_Harmonize, which is not MPI's
    assert tools(done.stdout) == {seeing: expected}
    trace = downbeat.open_trace(tmp_path / "trace")
    assert recorded(trace) == RECORDED | (OWN if before else {})
    sums = trace.sums.groupby("kind", observed=True)["calls"].sum()
    assert {kind: int(sums[kind]) for kind in SUMS} == SUMS
    assert trace.records["complete"].all()
    assert list(trace.phases["begins"]) == [1, 1]
    assert (trace.records["phase"] == "tooled").sum() == 60


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("mpi", LIBRARIES)
def test_tools_see_of_fortran_what_they_see_without(mpi: str, order: str, tmp_path: Path) -> None:
    compiler = shutil.which(f"mpif90.{mpi}")
    libraries, name, _, before = ORDERS[order]
    if compiler is None or shutil.which("gfortran") is None:
        pytest.skip("there is no Fortran compiler")
    inside, linked = name == "tooled-inside", name == "tooled-linked"
    subprocess.run([f"mpicc.{mpi}", "-c", str(HERE / "tool.c"), "-o", "tool.o"], check=True, cwd=tmp_path)
    objects = ["tool.o"] if inside else [preload_library(mpi, ONE)] if linked else []
    subprocess.run([compiler, str(HERE / "tooled.f90"), *objects, "-o", "tooled"], check=True, cwd=tmp_path)
    words = [str(tmp_path / "tooled")]
    without = [preload_library(mpi, library) for library in libraries if library != OURS]
    alone = run_preloaded(tmp_path / "none", mpi, without, words)
    done = run_preloaded(tmp_path / "trace", mpi, [preload_library(mpi, each) for each in libraries], words)
    assert done.returncode == 0, done.stderr
    assert tools(done.stdout) == tools(alone.stdout)
    calls = {("allreduce", "blocking"): 200, ("barrier", "nonblocking"): 40, ("bcast", "blocking"): 200}
    own = OWN if before and tools(alone.stdout) else {}
    assert recorded(downbeat.open_trace(tmp_path / "trace")) == calls | own
