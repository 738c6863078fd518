"""Runs programs that know nothing of Downbeat with libdownbeat-preload."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from downbeat.run.launch import choose_launcher, environment, placement_of
from downbeat.trace.command import Setter

ROOT = Path(__file__).resolve().parents[2]


def launcher_words(mpi: str, ranks: int) -> tuple[list[str], dict[str, str]]:
    """Returns a launcher's command without the program, and its environment."""
    library, launcher = choose_launcher(mpi, None)
    placement = placement_of(ranks)
    words = [launcher, "-n", str(ranks), *library.arguments(placement)]
    return words, environment(library, launcher, None, placement)


def program(mpi: str, name: str) -> str:
    """Returns the path of a test program."""
    return str(ROOT / "build" / mpi / "bin" / f"preload-{name}")


def run_traced(
    directory: Path, mpi: str, words: Sequence[str], *options: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program on 2 ranks by `downbeat trace` into a directory."""
    return run_traced_on(2, directory, mpi, words, *options, **variables)


def run_traced_on(
    ranks: int, directory: Path, mpi: str, words: Sequence[str], *options: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program on a number of ranks."""
    launcher, env = launcher_words(mpi, ranks)
    clean = {name: value for name, value in env.items() if not name.startswith("DOWNBEAT_")}
    command = [sys.executable, "-m", "downbeat", "trace", "-o", str(directory), "--mpi", mpi, *options, "--"]
    return subprocess.run(
        [*command, *launcher, *words],
        capture_output=True,
        text=True,
        check=False,
        env=clean | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables,
        timeout=200,
    )


def preload_library(mpi: str, name: str = "downbeat-preload") -> str:
    """Returns the path of a library of the build."""
    return str(ROOT / "build" / mpi / "lib" / f"lib{name}.so")


def run_preloaded(
    directory: Path, mpi: str, libraries: Sequence[str], words: Sequence[str], ranks: int = 2, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program with libraries in LD_PRELOAD, in that order, without `downbeat trace`."""
    launcher, env = launcher_words(mpi, ranks)
    setter = Setter(libraries, {"DOWNBEAT_PRELOAD_DIR": str(directory), **variables}, [], "")
    with_variables = setter.open_mpi if mpi.startswith("openmpi") else setter.hydra
    clean = {name: value for name, value in env.items() if not name.startswith("DOWNBEAT_")}
    return subprocess.run(
        [launcher[0], *with_variables([*launcher[1:], *words])],
        capture_output=True,
        text=True,
        check=False,
        env=clean | (setter.variables if mpi == "openmpi5" else {}),  # for spawned programs
        timeout=60,
    )
