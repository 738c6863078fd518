"""Several jobs and groups in a trace, with planted lateness: right, or left open for the true reason."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import downbeat
import pytest
from downbeat.trace.arrivals import BEYOND, find_arrivals
from downbeat.trace.file import jobs_in
from on_hosts import under
from programs import launcher_words, program

LATE = 20000.0  # us
CALLS = 20
under_both = under("openmpi", "mpich")


def downbeat_command(*words: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a subcommand of `downbeat`."""
    command = [sys.executable, "-m", "downbeat", *map(str, words)]
    variables = (env or dict(os.environ)) | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=variables, timeout=200)


def traced(directory: Path, mpi: str, ranks: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a program by `downbeat trace`."""
    launcher, env = launcher_words(mpi, ranks)
    spare = ["--oversubscribe"] if mpi.startswith("openmpi") else []
    clean = {name: value for name, value in env.items() if not name.startswith("DOWNBEAT_")}
    return downbeat_command("trace", "-o", directory, "--", launcher[0], *spare, "-n", ranks, *words, env=clean)


@under_both
@pytest.mark.parametrize(
    ("kind", "operation", "ranks", "late", "waiting"),
    [
        # With the first half of the ranks on one side. These wait for the late rank:
        ("halves", "bcast", 3, 0, {1, 2}),
        ("halves", "bcast", 3, 2, set()),
        ("halves", "allreduce", 4, 1, {2, 3}),
        ("dup", "allreduce", 4, 2, {0, 1}),
        ("halves", "barrier", 3, 0, {1, 2}),
        ("dup", "gather", 4, 3, {0}),
        ("halves", "gather", 4, 1, set()),
    ],
)
def test_the_other_group_waits_for_a_late_rank(
    mpi: str, kind: str, operation: str, ranks: int, late: int, waiting: set[int], tmp_path: Path
) -> None:
    done = traced(tmp_path / "trace", mpi, ranks, program(mpi, "late_groups"), kind, str(late), operation, str(LATE))
    assert done.returncode == 0, done.stderr
    found = find_arrivals(downbeat.open_trace(tmp_path / "trace").recording)
    assert found.left_out == {}
    sites = found.sites.frame().index[found.sites.frame()["operation"] == operation]
    # The call after the computation: of barriers the one with the lateness.
    rows = found.rows.frame()[found.rows.frame()["site"].isin(sites)]
    site = rows.groupby("site")["entry"].min().idxmax()
    # Ranks share processors, so others are late too, and do not wait then.
    waits = rows[rows["site"] == site].groupby("rank")["wait"].quantile(0.8) * 1e6
    assert set(waits.index[waits > 0.5 * LATE]) >= waiting
    if operation in ("bcast", "gather"):
        assert set(waits.index[waits > 0]) <= {"bcast": set(range(ranks // 2, ranks)), "gather": {0}}[operation]


@pytest.mark.thorough
@pytest.mark.parametrize("mpi", ["openmpi", "openmpi5", "mpich5"])  # others cannot spawn here, with us or without
@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        ("spawn", "bcast"),
        pytest.param("spawn", "allreduce", marks=pytest.mark.nightly),
        pytest.param("merged", "allreduce"),
    ],
)
def test_with_another_job_it_is_not_told_who_is_late(mpi: str, kind: str, operation: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    done = traced(trace, mpi, 1, program(mpi, "late_groups"), kind, "-1", operation, str(LATE))
    assert done.returncode == 0, done.stderr
    names = jobs_in(trace)
    assert len(names) == 2
    assert all(f"job {name}" in done.stderr for name in names)
    for name, ranks in zip(names, (1, 2), strict=True):
        said = json.loads(downbeat_command("arrivals", trace, "--job", name, "--json", "-").stdout)
        assert said["ranks"] == ranks
        assert said["left_out"] == {BEYOND[1]: 2 * CALLS * ranks}
        sites = [site for site in said["sites"] if site["operation"] == operation]
        assert [(site["calls"], site["sampled"], site["beyond"]) for site in sites] == [(CALLS, 0, 1)]
        assert not any("is the operation" in line for line in said["verdict"])
        beside = downbeat_command("align", trace, "--job", name)
        assert "Traceback" not in beside.stderr
        exported = downbeat_command("export", trace / name, "--to", "perfetto", "-o", tmp_path / f"{name}.json")
        assert exported.returncode == 0, exported.stderr
    several = downbeat_command("arrivals", trace)
    assert several.returncode == 2
    assert all(name in several.stderr for name in names)


def compiled(directory: Path, source: str, *options: str) -> str:
    """Returns the path of a program for Open MPI."""
    (directory / "program.c").write_text(source, encoding="utf-8")
    compiler = shutil.which("mpicc.openmpi")
    if not compiler:
        pytest.skip("needs mpicc.openmpi")
    path = directory / "program"
    subprocess.run([compiler, *options, str(directory / "program.c"), "-o", str(path)], check=True)
    return str(path)


HELLO = (
    "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); }\n"
)
EMPTY = "int main(void) { return 0; }\n"
NOTHING = "#include <mpi.h>\nint main(void) { return MPI_Initialized(&(int){0}); }\n"


@pytest.mark.thorough
def test_a_program_with_the_address_sanitizer_is_recorded(tmp_path: Path) -> None:
    checked = compiled(tmp_path, HELLO, "-fsanitize=address")
    for before in ([], ["-x", "ASAN_OPTIONS=detect_leaks=0"]):  # what the user says of it stays
        done = traced(tmp_path / f"trace{len(before)}", "openmpi", 1, *before, checked)
        assert "does not come first" not in done.stderr
        assert len(downbeat.open_trace(tmp_path / f"trace{len(before)}").records) == 1


@pytest.mark.parametrize(
    ("source", "options", "before", "said"),
    [
        (NOTHING, (), "", "did not call MPI_Init"),
        (EMPTY, ("-static",), "", "is linked statically"),
        (HELLO, (), "setuid", "is setuid"),
        (HELLO, (), "script", "changes LD_PRELOAD"),
    ],
)
def test_why_nothing_was_recorded(
    source: str, options: tuple[str, ...], before: str, said: str, tmp_path: Path
) -> None:
    if "-static" in options:
        compiler = shutil.which("cc")
        assert compiler
        (tmp_path / "program.c").write_text(source, encoding="utf-8")
        words = [str(tmp_path / "program")]
        if subprocess.run([compiler, "-static", str(tmp_path / "program.c"), "-o", words[0]], check=False).returncode:
            pytest.skip("no static C library")
    else:
        words = [compiled(tmp_path, source, *options)]
    if before == "setuid":
        Path(words[0]).chmod(0o4755)
    if before == "script":
        script = tmp_path / "run.sh"
        script.write_text(f"#!/bin/sh\nunset LD_PRELOAD\nexec {words[0]}\n", encoding="utf-8")
        words = [str(script)]
        script.chmod(0o755)
    done = traced(tmp_path / "trace", "openmpi", 1, *words)
    if before == "setuid" and done.returncode == 0:
        pytest.skip("started by its owner, the loader heeds LD_PRELOAD")
    assert done.returncode == 1
    assert said in done.stderr.splitlines()[-1]
