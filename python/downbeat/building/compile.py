"""Configures, compiles and installs with CMake; what it prints goes to a log."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from downbeat.errors import DownbeatError
from downbeat.launchers.bench import BENCH

LIBRARIES = ("downbeat", "downbeat_static", "downbeat_preload")
FORTRAN = ("downbeat_fortran", "downbeat_fortran_static")

STEP = re.compile(r"^\[(\d+)/(\d+)\] |^\[ *(\d+)%\] ")  # of Ninja, of make
# The first line of the log that says what went wrong, from the most to the least specific.
CAUSES = (r"downbeat-bench needs .*", r"\S*: (?:fatal )?error: .*", r"CMake Error.*", r".*undefined reference.*")

Progress = Callable[[float], None]  # share that is done


def cause(text: str) -> str:
    """Returns what a log says of a failure, on one line."""
    for pattern in CAUSES:
        found = re.search(rf"(?m)^ *({pattern}(?:\n  \S.*)*)", text)
        if found:
            return " ".join(found[1].split())
    return (text.strip().splitlines() or ["it printed nothing"])[-1].strip()


def run_logged(command: Sequence[str], log: Path, progress: Progress | None = None) -> None:
    """Runs a command whose output is appended to a log.

    Raises:
        DownbeatError: it failed; with the cause, and the place of the log.
    """
    begin = log.stat().st_size if log.exists() else 0
    with log.open("a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(command)}\n")
        file.flush()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                file.write(line)
                file.flush()
                step = STEP.match(line)
                if step and progress:
                    progress(int(step[1]) / int(step[2]) if step[1] else int(step[3]) / 100)
            status = process.wait()
        except BaseException:  # an interruption: the build goes on from here the next time
            process.terminate()
            process.wait()
            raise
    if status != 0:
        text = log.read_bytes()[begin:].decode(errors="replace")
        raise DownbeatError(f"the build failed: {cause(text)}; all of it is in {log}")


def targets_in(tree: Path, bench: bool) -> list[str]:
    """Returns what to compile: the Fortran module only where there is a compiler for it."""
    cache = (tree / "CMakeCache.txt").read_text(encoding="utf-8")
    fortran = FORTRAN if re.search(r"(?m)^CMAKE_Fortran_COMPILER:\w+=/", cache) else ()
    return [*LIBRARIES, *fortran, *([BENCH] if bench else [])]


def compile_and_install(
    cmake: str, options: Sequence[str], tree: Path, jobs: int, bench: bool, log: Path, progress: Progress
) -> None:
    """Makes an installation.

    Args:
        cmake: the program.
        options: that it is configured with.
        tree: directory of the build; what is there is not compiled again.
        jobs: processes of the compiler at a time.
        bench: whether downbeat-bench is a part of it.
        log: file for what is printed.
        progress: is called with the share of steps that are done.

    Raises:
        DownbeatError: a step failed.
    """
    run_logged([cmake, *options], log)
    targets = targets_in(tree, bench)
    run_logged([cmake, "--build", str(tree), "--parallel", str(jobs), "--target", *targets], log, progress)
    run_logged([cmake, "--install", str(tree)], log)
