"""Time bases of launches, and the clock that MPI_Wtime is under each library, as docs/align.md says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from downbeat.align.timebase import open_timebase
from downbeat.run.launch import choose_launcher, environment, placement_of
from downbeat.trace.file import SYSTEM_CLOCKS as CLOCKS

pytestmark = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[2]
DOWNBEAT = (sys.executable, "-m", "downbeat", "timebase")


def run(where: Path, variables: Mapping[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    """Runs a command, which has two minutes."""
    return subprocess.run(
        [*map(str, words)],
        cwd=where,
        env={**variables, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(("command", "status"), [("sleep 0.6", 0), ("exit 3", 3)])
def test_a_command_is_sampled_to_its_end(tmp_path: Path, command: str, status: int, library: str) -> None:
    variables = environment(*choose_launcher(library, None), None, placement_of(1))
    done = run(tmp_path, variables, *DOWNBEAT, "--mpi", library, "--interval", 0.1, "--", "sh", "-c", command)
    assert done.returncode == status, done.stderr
    base = open_timebase(tmp_path / "timebase")
    samples = base.offsets[base.offsets["clock"] == "realtime"]
    assert len(samples) >= (5 if status == 0 else 2)
    # The axis began at this clock.
    assert abs(samples["offset_ns"].iloc[-1]) < 10**8
    assert "realtime clock" in done.stderr


def test_processes_of_a_launcher_find_each_other(tmp_path: Path, library: str) -> None:
    chosen, launcher = choose_launcher(library, None)
    placement = placement_of(2)
    variables = environment(chosen, launcher, None, placement)
    known = {"DOWNBEAT_VALIDATION": "offset=1,skew=300e-6,wander=0.05e-6,seed=5"}
    words = [launcher, "-n", 2, *chosen.arguments(placement), *DOWNBEAT, "--mpi", library]
    done = run(tmp_path, variables | known, *words, "--interval", 0.2, "--seconds", 1.5)
    assert done.returncode == 0, done.stderr
    base = open_timebase(tmp_path / "timebase")
    one, other = base.ranks  # of one host, whose system clocks are the same
    for clock in CLOCKS:
        shown = base.local(0, clock).shown
        stamps = np.linspace(shown[1], shown[-2], 500).astype(np.int64)
        moved, again = (base.to_global(host, clock, stamps) for host in (one, other))
        assert (np.abs(moved.ns - again.ns) <= moved.bound_ns + again.bound_ns + 1).all()
        assert np.median(again.bound_ns) < 10**7
    refused = run(tmp_path, variables, *words, "--", "true")
    assert refused.returncode != 0
    assert "downbeat timebase -- srun" in refused.stderr


# By which each clock is too fast in wtime.c; the counter is not.
RATES = {"realtime": 0.02, "monotonic": 0.05, "monotonic_raw": 0.1, "counter": 0.0}
HOUR = 3600.0


def documented(library: str) -> tuple[str, str]:
    """Returns the clock of a library, and from when it counts."""
    text = (ROOT / "docs" / "align.md").read_text(encoding="utf-8")
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
        assert of_the_hour == ("hour" in origin)
    if clock == "monotonic":
        assert "moment" in origin
        assert abs(ranks[0][3] - ranks[1][3]) > 1e-5
