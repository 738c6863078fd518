"""MPI_Wtime is the clock that docs/timebase.md says, under each library."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[2]
# By which each clock is too fast in wtime.c; the counter is not.
RATES = {"realtime": 0.02, "monotonic": 0.05, "monotonic_raw": 0.1, "counter": 0.0}
HOUR = 3600.0


def documented(library: str) -> tuple[str, str]:
    """Returns the clock of a library, and from when it counts."""
    text = (ROOT / "docs" / "timebase.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+ MPI|MPICH)\b[^|]*\| `?(\w+)[^|]*\| ([^|]*) \|$", text, re.MULTILINE)
    name = {"openmpi": "Open MPI", "mpich": "MPICH", "intelmpi": "Intel MPI"}[library.rstrip("5")]
    ((clock, origin),) = [(clock, origin) for found, clock, origin in rows if found == name]
    return clock, origin


def test_the_clock_of_wtime(each_library: str, tmp_path: Path) -> None:
    prefix = ROOT / ".mpi" / each_library
    mpicc = shutil.which(f"mpicc.{each_library}") or str(prefix / "bin" / "mpicc")
    program = tmp_path / "wtime"
    source = Path(__file__).with_name("wtime.c")
    subprocess.run([mpicc, "-Wall", "-Wextra", "-Werror", "-rdynamic", "-o", program, source], check=True)
    command: list[str | Path] = [
        ROOT / "tools" / "launch",
        "--mpi",
        each_library,
        "-n",
        "2",
        "--timeout",
        "60",
        program,
    ]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ranks = sorted([float(word) for word in line.split()] for line in printed.splitlines())
    clock, origin = documented(each_library)
    for _, rate, less_realtime, _ in ranks:
        assert min(RATES, key=lambda name: abs(rate - 1 - RATES[name])) == clock
        of_the_hour = abs((less_realtime + HOUR / 2) % HOUR - HOUR / 2) < 1e-4
        assert of_the_hour == origin.startswith("the full hour")
    if clock == "monotonic":
        assert origin.startswith("a moment of its own")
        assert abs(ranks[0][3] - ranks[1][3]) > 1e-5
