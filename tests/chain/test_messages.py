"""The library writes one line per launch to standard error, not one per rank."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run_figures(mpi: str, ranks: int, mode: str, **environment: str) -> tuple[int, list[str]]:
    """Runs a mode of the figures program; returns its status and the lines of the library, and of MPI if it accuses."""
    program = ROOT / "build" / mpi / "bin" / "figures"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DOWNBEAT_")}
    done = subprocess.run(
        [str(ROOT / "tools/launch"), "--mpi", mpi, "-n", str(ranks), "--timeout", "300", str(program), mode],
        capture_output=True,
        text=True,
        check=False,
        env=clean | environment,
    )
    said = ("downbeat:", "Fatal error", "bug report", "An error occurred")
    return done.returncode, [line for line in done.stderr.splitlines() if any(word in line for word in said)]


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("DOWNBEAT_CLOK", "tsc", "DOWNBEAT_CLOK is unknown"),
        ("DOWNBEAT_CLOCK", "rdtsc", "valid: tsc, monotonic_raw, monotonic, realtime, wtime"),
        ("DOWNBEAT_SLACK", "1us", "valid: auto, published, or seconds from 1e-09 to 3600"),
        ("DOWNBEAT_VALIDATION", "skw=1e-6", "offset=1e-3,skew=20e-6"),
    ],
)
def test_bad_environment_is_one_line_and_ends_the_run(variable: str, value: str, named: str) -> None:
    status, lines = run_figures("openmpi", 2, "recovery", **{variable: value})
    assert status != 0
    assert len(lines) == 1
    assert variable in lines[0]
    assert named in lines[0]


def test_a_bad_environment_is_one_line_under_each_library(each_library: str) -> None:
    status, lines = run_figures(each_library, 2, "recovery", DOWNBEAT_CLOCK="rdtsc")
    assert status != 0
    assert len(lines) == 1
    assert "DOWNBEAT_CLOCK" in lines[0]


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_oversubscription_is_said_once(mpi: str) -> None:
    ranks = 2 * len(os.sched_getaffinity(0))
    status, lines = run_figures(mpi, ranks, "crowd")
    assert status == 0
    assert len(lines) == 1
    assert "more processes than processors" in lines[0]


def test_enough_processors_say_nothing() -> None:
    assert run_figures("openmpi", 2, "crowd") == (0, [])
