"""The checks of conformance/ find each planted defect, and pass an implementation that has none."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.alone, pytest.mark.thorough]

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "conformance").glob("*.c"))
DEFECTIVE = ROOT / "conformance" / "defects" / "harmonize.c"

# The check that finds each defect.
FOUND_BY = {
    "always_true": "after_the_wait",
    "any_handle": "intercommunicator",
    "apart": "together",
    "copied_state": "duplicate",
    "deaf": "recovery",
    "early_flag": "after_the_wait",
    "failed_for_good": "after_the_wait",
    "false_unwritten": "after_the_wait",
    "finalized": "finalize",
    "global_flag": "after_the_wait",
    "global_ranks": "reordered",
    "global_state": "subset",
    "leak": "freed",
    "no_handler": "null_communicator",
    "no_progress": "progress",
    "one_lock": "crossed",
    "slots": "blocks",
    "stale_flag": "after_the_wait",
    "user_messages": "wildcard",
    "wrong_class": "null_flag",
}
HANGS = {"global_ranks", "global_state", "no_progress", "one_lock", "user_messages"}

ELSEWHERE = {"deaf"}  # test_recovery.py

INCONCLUSIVE = "# SKIP inconclusive"

under_mpich = pytest.mark.parametrize("mpi", ["mpich"])  # quickest where a program fails; has 2048 communicators


def run(mpi: str, program: Path | str, *arguments: str, ranks: int = 2, **variables: str) -> tuple[int, str]:
    """Runs a program of conformance/; returns its exit status and its output."""
    if not Path(program).exists():
        pytest.fail(f"{program} is not built")
    launch = [sys.executable, str(ROOT / "tools" / "launch"), "--mpi", mpi, "-n", str(ranks), "--timeout", "150"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("DOWNBEAT_", "CONFORMANCE_"))}
    done = subprocess.run(
        [*launch, str(program), *arguments], capture_output=True, text=True, check=False, env=clean | variables
    )
    return done.returncode, done.stdout


def built(mpi: str, name: str) -> Path:
    return ROOT / "build" / mpi / "bin" / name


def test_every_defect_has_its_check() -> None:
    source = DEFECTIVE.read_text(encoding="utf-8")
    planted = re.findall(r"^ +X\((\w+)\)", source, flags=re.MULTILINE)
    assert planted == ["none", *sorted(FOUND_BY)]


@under_mpich
@pytest.mark.parametrize("defect", sorted(FOUND_BY.keys() - ELSEWHERE))
def test_defects_are_found(mpi: str, defect: str) -> None:
    check = FOUND_BY[defect]
    patience = "1" if defect in HANGS else "60"
    arguments = ("--only", check, "--timeout", patience)
    for _ in range(5):  # on a busy machine
        status, output = run(mpi, built(mpi, "conformance-defects"), *arguments, CONFORMANCE_DEFECT=defect)
        if INCONCLUSIVE not in output:
            break
    assert status != 0, output
    # Some defects end the program, and one does so after the last line.
    assert f"not ok 1 - {check}" in output or defect in {"copied_state", "finalized"}
    assert ("Bail out!" in output) == (defect in HANGS)


@under_mpich
@pytest.mark.parametrize("defect", ["early_flag", "stale_flag"])
def test_where_processes_share_a_processor_no_defect_passes(mpi: str, defect: str) -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        program = built(mpi, "conformance-defects")
        _, output = run(mpi, program, "--only", "after_the_wait", CONFORMANCE_DEFECT=defect)
    finally:
        os.sched_setaffinity(0, allowed)
    assert "not ok 1" in output or INCONCLUSIVE in output


def test_the_program_ends_without_a_launcher() -> None:
    # Open MPI starts a daemon then, which must not keep the pipe to the process that stops others.
    variables = {f"OMPI_ALLOW_RUN_AS_ROOT{more}": "1" for more in ("", "_CONFIRM")}
    listed = subprocess.run(
        [built("openmpi", "conformance"), "--list"],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | variables,
        check=True,
    )
    assert "after_the_wait" in listed.stdout


@under_mpich
def test_a_correct_implementation_passes(mpi: str) -> None:
    status, output = run(mpi, built(mpi, "conformance-defects"))
    assert status == 0, output
    assert "not ok" not in output
    assert re.findall(r"^ok \d+ - (\w+):.* # SKIP (?!inconclusive)", output, flags=re.MULTILINE) == ["recovery"]
    planned = int(output.split("1..")[1].split()[0])
    assert re.findall(r"^ok (\d+) -", output, flags=re.MULTILINE) == [str(i + 1) for i in range(planned)]


@under_mpich
def test_compiles_with_one_line_and_another_name(mpi: str, tmp_path: Path) -> None:
    implementation = tmp_path / "implementation.o"
    program = tmp_path / "conformance"
    compiler = [f"mpicc.{mpi}", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(
        [*compiler, "-DMPIX_Harmonize=MPI_Harmonize", "-c", str(DEFECTIVE), "-o", str(implementation)], check=True
    )
    sources = [str(source) for source in SOURCES]
    subprocess.run(
        [*compiler, "-DHARMONIZE=MPI_Harmonize", "-o", str(program), *sources, str(implementation), "-lpthread"],
        check=True,
    )
    status, output = run(mpi, program, "--only", "alone", ranks=1)
    assert (status, "ok 1 - alone" in output) == (0, True)


@under_mpich
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--only", "bloks"), "no check has the name 'bloks'; --list prints the names"),
        (("--timeout", "1.5"), "invalid number '1.5'; it must be whole"),
        (("--tolerance", "0"), "invalid number '0'; it must be above 0 and at most 1e6"),
        (("--tolerance",), "no value for '--tolerance'; valid are"),
        (("-h",), "unknown argument '-h'; valid are"),
    ],
)
def test_bad_arguments_are_refused(mpi: str, arguments: tuple[str, ...], complaint: str) -> None:
    done = subprocess.run(
        [str(built(mpi, "conformance-defects")), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"conformance: {complaint}")
