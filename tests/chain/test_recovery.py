"""MPIX_Harmonize after a process was killed, where the MPI library goes on without it (ULFM)."""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.alone, pytest.mark.thorough]

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = ROOT / ".mpi" / "openmpi5" / "bin" / "mpirun"
RANKS = 3
# Open MPI 5.0.11 waits for the dead in MPI_Finalize without the last one (issue 11404 of open-mpi/ompi).
VARIABLES = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_osc": "^ucx",
    "OMPI_MCA_async_mpi_finalize": "1",
}

on_open_mpi_5 = pytest.mark.parametrize("mpi", ["openmpi5"])


def survive(mpi: str, program: str, *arguments: str, status: int = 0, **variables: str) -> str:
    """Runs a program whose processes may be killed; returns what it printed."""
    command = [str(LAUNCHER), "--with-ft", "ulfm", "--oversubscribe", "-n", str(RANKS)]
    path = ROOT / "build" / mpi / "bin" / program
    done = subprocess.run(
        [*command, str(path), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | VARIABLES | variables,
    )
    assert done.returncode == status, (arguments, done.stdout, done.stderr)
    return done.stdout


@on_open_mpi_5
@pytest.mark.parametrize(
    "when",
    ["before", "waiting", "any", "first", "first_waiting", "changing", "changing_hca", "revoked", "first_revoked"],
)
@pytest.mark.parametrize("victim", [0, RANKS - 1])
def test_survivors_hear_of_it_and_go_on(mpi: str, when: str, victim: int) -> None:
    printed = survive(mpi, "test_process_failure", when, str(victim), str(random.randint(20_000, 80_000)))
    survivors = RANKS - (not when.endswith("revoked"))
    assert re.findall(r"recovered: (\d) processes", printed) == [str(survivors)] * survivors


@on_open_mpi_5
@pytest.mark.parametrize("program", ["conformance", "conformance-defects"])
def test_the_check_passes_what_recovers(mpi: str, program: str) -> None:
    printed = survive(mpi, program, "--only", "recovery,finalize")
    assert re.findall(r"^(ok|not ok) \d - (\w+)", printed, flags=re.MULTILINE) == [
        ("ok", "recovery"),
        ("ok", "finalize"),
    ]
    assert "SKIP" not in printed


@on_open_mpi_5
def test_the_check_finds_who_does_not_hear(mpi: str) -> None:
    variables = {"CONFORMANCE_DEFECT": "deaf"}
    printed = survive(mpi, "conformance-defects", "--only", "recovery", "--timeout", "3", status=1, **variables)
    assert "not ok 1 - recovery" in printed
