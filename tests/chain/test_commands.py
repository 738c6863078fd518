"""Every command once, as a user gives it, under the chosen MPI library (--mpi): it succeeds and writes its files."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from downbeat.cli import app
from downbeat.run.launch import choose_launcher, environment, placement_of

pytestmark = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[2]

# Arguments, and a file that is written, after `run -o results`, `trace -o trace` and `downbeat-bench pairs`.
COMMANDS = {
    "build": ("--no-bench --mpi {mpicc}", "cache/downbeat"),
    "config": ("--mpi {mpicc} --cflags --libs", "."),
    "doctor": ("--mpi {mpi} -n 2 --seconds 0 --json doctor.json", "doctor.json"),
    "compare": ("results synchronizer=harmonize synchronizer=mpi_barrier --json verdicts.json", "verdicts.json"),
    "report": ("results", "results/report.html"),
    "show": ("results --json results.json", "results.json"),
    "export": ("results --to parquet -o cells.parquet", "cells.parquet"),
    "tune": ("bcast -m 8 -n 2 --launches 1 --mpi {mpi} -o rules", "rules"),
    "reproduce": ("schuchart2023-fig3 --quick --ranks 2 --launches 1 --mpi {mpi}", "reproduce/schuchart2023-fig3.html"),
    "arrivals": ("trace -o arrivals.html", "arrivals.html"),
    "align": ("trace -o merged.json", "merged.json"),
    "locate": ("pairs.nc -o pairs.html", "pairs.html"),
    "timebase": ("--mpi {mpi} --interval 0.1 -- sleep 0.3", "timebase"),
}
MAY_END_WITH = {"tune": (0, 3)}  # rules that are not worth it

BENCH = {
    "cells": "barrier bcast allreduce -m 8 -r 20 --validate -o cells.nc -o cells.csv -o cells.json",
    "list": "list",
    "clock": "clock --schemes hca3_offset,disciplined --waits 0 --rounds 1 -r 1",
    "rtt": "rtt --count 100 --resamples 10",
    "drift": "drift --duration 0.4 --interval 0.1 --rounds 1",
    "skew": "skew --sync mpi_barrier,harmonize -r 20",
    "pairs": "pairs --exchanges 5 --within 20s",
    "algorithms": "algorithms bcast",
}


def run(library: str, where: Path, *command: object, statuses: Sequence[int] = (0,)) -> str:
    variables = environment(*choose_launcher(library, None), None, placement_of(2))
    variables |= {"PYTHONPATH": str(ROOT / "python"), "XDG_CACHE_HOME": str(where / "cache")}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=where, env=variables, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode in statuses, done.stdout + done.stderr
    return done.stdout


def downbeat(library: str, where: Path, *words: object, statuses: Sequence[int] = (0,)) -> None:
    run(library, where, sys.executable, "-m", "downbeat", *words, statuses=statuses)


@pytest.fixture(scope="module")
def results(library: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with an experiment, a trace and times of pairs."""
    where = tmp_path_factory.mktemp("commands")
    downbeat(library, where, "run", "bcast", "-m", 8, "-n", 2, "--launches", 2, "--mpi", library, "-o", "results")
    chosen, launcher = choose_launcher(library, None)
    launch = [launcher, "-n", 2, *chosen.arguments(placement_of(2))]
    program = ROOT / "build" / library / "bin" / "preload-planned"
    downbeat(library, where, "trace", "-o", "trace", "--", *launch, program, 20, 100000)
    bench = ROOT / "build" / library / "bin/downbeat-bench"
    run(library, where, *launch, bench, "pairs", "--exchanges", 5, "--within", "20s", "-o", "pairs.nc")
    return where


@pytest.mark.parametrize(
    "command", [pytest.param(name, marks=pytest.mark.thorough if name == "build" else ()) for name in COMMANDS]
)
def test_command(results: Path, library: str, command: str) -> None:
    arguments, written = COMMANDS[command]
    mpicc = shutil.which(f"mpicc.{library}") or ROOT / ".mpi" / library / "bin" / "mpicc"
    words = arguments.format(mpi=library, mpicc=mpicc).split()
    downbeat(library, results, command, *words, statuses=MAY_END_WITH.get(command, (0,)))
    assert (results / written).exists()


def test_every_command_is_here() -> None:
    registered = {one.callback.__name__ for one in app.registered_commands if one.callback}
    assert registered == {*COMMANDS, "run", "trace"}


@pytest.mark.parametrize(("kind", "ranks"), [("cells", 1), *((kind, 2) for kind in BENCH)])
def test_bench(library: str, kind: str, ranks: int, tmp_path: Path) -> None:
    launch = [ROOT / "tools/launch", "--mpi", library, "-n", ranks, "--timeout", 120]
    assert run(library, tmp_path, *launch, ROOT / "build" / library / "bin/downbeat-bench", *BENCH[kind].split())
