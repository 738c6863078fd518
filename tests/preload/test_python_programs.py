"""Programs of mpi4py that know nothing of Downbeat, or that import downbeat.mpi: they run, and are recorded."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import downbeat
import pytest
from downbeat.run.libraries import linked_mpi
from programs import ROOT, run_traced

pytestmark = pytest.mark.thorough

PROGRAM = Path(__file__).resolve().parent / "python_sites.py"
DEBIAN_PYTHON = "/usr/bin/python3"


def other_python(version: str) -> object:
    """A parameter: an interpreter of another version that has mpi4py, if there is one on PATH."""
    path = shutil.which(f"python{version}")
    known = (
        path is not None
        and subprocess.run([path, "-c", "import mpi4py"], check=False, capture_output=True).returncode == 0
    )
    skipped = pytest.mark.skipif(not known, reason=f"no python{version} with mpi4py on PATH")
    return pytest.param("openmpi", path or "", id=f"openmpi-{version}", marks=skipped)


PYTHONS = pytest.mark.parametrize(
    ("mpi", "python"),
    [
        pytest.param("openmpi", sys.executable, id="openmpi"),
        pytest.param("openmpi", DEBIAN_PYTHON, id="openmpi-debian"),
        pytest.param("openmpi5", sys.executable, id="openmpi5"),
        pytest.param("mpich5", sys.executable, id="mpich5"),
        other_python("3.12"),
        other_python("3.13"),
    ],
)


def traced_python(
    directory: Path, mpi: str, python: str, words: list[str], *options: str, path: Path = ROOT
) -> tuple[downbeat.Trace, str]:
    """Runs a program of mpi4py that is to succeed; returns what was recorded, and what it printed."""
    libmpi = linked_mpi(str(ROOT / "build" / mpi / "lib" / "libdownbeat.so"))
    chosen = {"MPI4PY_LIBMPI": str(libmpi)} if python != DEBIAN_PYTHON else {}
    program = ["env", f"PYTHONPATH={ROOT / 'python'}:{path}", python, *words]
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


KINDS = ["arrays", "pickles", "requests", "comprehension", "generator", "generated", "in_thread"]


def planned_sites(stdout: str) -> Counter[tuple[str, str, int]]:
    """Returns what python_sites.py printed: calls by operation, file and line."""
    found: Counter[tuple[str, str, int]] = Counter()
    for line in stdout.splitlines():
        if line.startswith("site "):
            _, operation, calls, number, file = line.split(" ", 4)
            found[operation, file, int(number)] += int(calls)
    return found


def recorded_sites(trace: downbeat.Trace, rank: int) -> Counter[tuple[str, str, int]]:
    """Returns calls by operation, module and offset."""
    found: Counter[tuple[str, str, int]] = Counter()
    for row in trace.profile[(trace.profile["rank"] == rank) & (trace.profile["calls"] > 0)].itertuples():
        found[str(row.operation), str(row.module), int(str(row.offset))] += int(str(row.calls))
    return found


@pytest.mark.parametrize("seed", range(3))
@PYTHONS
def test_the_sites_are_lines_of_the_program(mpi: str, python: str, seed: int, tmp_path: Path) -> None:
    """Functions in a drawn order, from a file whose name is not ASCII."""
    draw = random.Random(seed)
    program = tmp_path / f"prog {chr(228)}{chr(0x4E2D)}{chr(0x1F600)}.py"
    program.write_bytes(PROGRAM.read_bytes())
    words = [*KINDS, *draw.choices(KINDS, k=4)]
    draw.shuffle(words)
    trace, stdout = traced_python(tmp_path / "trace", mpi, python, [str(program), *words])
    expected = planned_sites(stdout)
    assert len(expected) >= 15
    for rank in range(2):
        found = recorded_sites(trace, rank)
        missing = {site: calls for site, calls in expected.items() if found[site] < calls}
        assert not missing
        more = {site: calls for site, calls in found.items() if site[1].endswith(program.name) and site not in expected}
        assert not more
    names = set(trace.arrivals()["name"])
    assert {f"{Path(file).name}:{line}" for _, file, line in expected} <= names


@pytest.mark.parametrize("form", ["-c", "-m", "interactive"])
def test_the_sites_are_lines_however_python_is_started(form: str, tmp_path: Path) -> None:
    text = "from mpi4py import MPI\nimport sys\n\nMPI.COMM_WORLD.Barrier()\nMPI.COMM_WORLD.bcast([1])\n"
    (tmp_path / "started.py").write_text(text, encoding="utf-8")
    words, module = {
        "-c": (["-c", text], "<string>"),
        "-m": (["-m", "started"], str(tmp_path / "started.py")),
        "interactive": (["-i", "-c", text + "sys.exit()"], "<string>"),
    }[form]
    trace, _ = traced_python(tmp_path / "trace", "openmpi", sys.executable, words, path=tmp_path)
    found = recorded_sites(trace, 0)
    assert found["barrier", module, 4] == 1
    assert found["bcast", module, 5] >= 1
