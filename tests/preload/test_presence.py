"""Ranks without libdownbeat-preload: the program runs as without, and one line says so."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import downbeat
import pytest
from downbeat.run.libraries import LIBRARIES
from programs import preload_library, program, run_preloaded

pytestmark = pytest.mark.thorough

RANKS = 4
# Which ranks lack it: the first (that decides), the last, one in the middle, several, all but one.
LACKING = [
    "0",
    "3",
    "1,2",
    *(pytest.param(ranks, marks=pytest.mark.nightly) for ranks in ("1", "0,3", "1,2,3", "0,1,2")),
]


@pytest.fixture
def wrapper(tmp_path: Path) -> str:
    """Returns a script that starts a program without libdownbeat-preload on the ranks LACKING."""
    script = tmp_path / "wrapper"
    script.write_text(
        "#!/bin/sh\n"
        'rank=${PMIX_RANK:-$PMI_RANK}\nlibrary=$LIBRARY\ncase ",$LACKING," in *",$rank,"*) library= ;; esac\n'
        'LD_PRELOAD=$library exec "$@"\n'
    )
    script.chmod(0o755)
    return str(script)


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Returns the lines of ours that say why there is no trace."""
    return [line for line in done.stderr.splitlines() if "nothing is recorded" in line]


@pytest.mark.parametrize("lacking", LACKING)
@pytest.mark.parametrize("mpi", LIBRARIES)
def test_a_program_that_some_ranks_run_without(mpi: str, lacking: str, wrapper: str, tmp_path: Path) -> None:
    directory = tmp_path / "trace"
    words = [wrapper, program(mpi, "partial"), "7"]
    given = {"LACKING": lacking, "LIBRARY": preload_library(mpi)}
    done = run_preloaded(directory, mpi, [], words, RANKS, **given)
    assert "partial: right" in done.stdout, done.stderr
    assert done.returncode == 7
    (line,) = said(done)
    count = lacking.count(",") + 1
    assert f"{count} of {RANKS} ranks" in line
    assert f"(rank {lacking.replace(',', ', ')})" in line
    assert not any(directory.rglob("*"))  # no mark is left


@pytest.mark.parametrize("mpi", LIBRARIES)
def test_all_ranks_have_it(mpi: str, wrapper: str, tmp_path: Path) -> None:
    directory = tmp_path / "trace"
    words = [wrapper, program(mpi, "partial")]
    done = run_preloaded(directory, mpi, [], words, RANKS, LACKING="none", LIBRARY=preload_library(mpi))
    assert done.returncode == 0, done.stderr
    assert not said(done)
    assert [path.suffix for path in directory.iterdir()] == [".trace"]  # no mark is left
    calls = downbeat.open_trace(directory).profile.groupby("operation", observed=True)["calls"].sum()
    assert calls["bcast"] == calls["barrier"] == RANKS * 50


@pytest.mark.parametrize("lacking", ["none", "0", "1"])
@pytest.mark.parametrize("mpi", ["openmpi", "openmpi5", "mpich5"])  # others cannot spawn here, with us or without
def test_spawned_jobs_are_asked_for_themselves(mpi: str, lacking: str, wrapper: str, tmp_path: Path) -> None:
    directory = tmp_path / "trace"
    words = [wrapper, program(mpi, "partial"), "spawn", "0"]
    done = run_preloaded(directory, mpi, [], words, RANKS, LACKING=lacking, LIBRARY=preload_library(mpi))
    assert done.returncode == 0, done.stderr
    assert "partial: right" in done.stdout
    assert bool(said(done)) == (lacking != "none")


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_nodes_that_share_no_directory(mpi: str, tmp_path: Path) -> None:
    """As on such nodes, each rank has a directory of its own."""
    script = tmp_path / "wrapper"
    script.write_text(
        '#!/bin/sh\nDOWNBEAT_PRELOAD_DIR=$DOWNBEAT_PRELOAD_DIR/${PMIX_RANK:-$PMI_RANK} LD_PRELOAD=$LIBRARY exec "$@"\n'
    )
    script.chmod(0o755)
    words = [str(script), program(mpi, "partial"), "5"]
    apart = run_preloaded(tmp_path / "apart", mpi, [], words, LIBRARY=preload_library(mpi))
    assert apart.returncode == 5
    assert 1 <= len(said(apart)) <= 2  # rank 1 sees no mark of rank 0, either
    assert "DOWNBEAT_PRELOAD_RANKS=all" in said(apart)[0]
    vouched = run_preloaded(
        tmp_path / "vouched", mpi, [], words, LIBRARY=preload_library(mpi), DOWNBEAT_PRELOAD_RANKS="all"
    )
    assert vouched.returncode == 5
    assert not said(vouched)
    assert list((tmp_path / "vouched").rglob("*-rank-*.part"))


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_settings_that_differ_end_the_program(mpi: str, tmp_path: Path) -> None:
    script = tmp_path / "wrapper"
    script.write_text(
        '#!/bin/sh\n[ "${PMIX_RANK:-$PMI_RANK}" = 1 ] && export DOWNBEAT_PRELOAD_MODE=record,harmonize\nexec "$@"\n'
    )
    script.chmod(0o755)
    done = run_preloaded(tmp_path / "trace", mpi, [preload_library(mpi)], [str(script), program(mpi, "partial")])
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("downbeat:")]
    assert done.returncode != 0
    assert "MODE" in line


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write anywhere")
def test_a_directory_that_cannot_be_written_ends_the_program(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = run_preloaded(tmp_path / "trace", "openmpi", [preload_library("openmpi")], [program("openmpi", "partial")])
    assert done.returncode != 0
    assert "cannot write in" in done.stderr
