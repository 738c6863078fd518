"""Stand-ins for downbeat-bench and for launchers, quick and as bad as wanted."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from downbeat.run.plan import Library
from launch_files import Cell, write_launch

# Starts as many copies of the program as -n says, as a launcher does.
LAUNCHER = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do case $1 in -n) ranks=$2; shift 2;; *) shift;; esac; done
export RANKS=$ranks
rank=1
while [ $rank -lt $ranks ]; do RANK=$rank "$@" & rank=$((rank + 1)); done
RANK=0 "$@"
status=$?
wait
exit $status
"""
# The last argument is the file to write. Each rank leaves a line; the first rank does what is wanted, and writes.
BENCH = """#!/bin/sh
[ "$1" = --check ] && exit 0
for output; do :; done
key=$(basename "$PWD")
echo "$$ $RANK $key $*" >>{log}
number=$(echo "$key" | sed -E 's/.*-0*([0-9]+)(-portion.)?$/\\1/')
template={templates}/$number.nc
[ -f "$template" ] || template={templates}/any-$RANKS.nc
{body}
[ "$RANK" = 0 ] || exit 0
cp "$template" "$output"
"""
MEDIAN = 2e-6  # s, of the template


def write_template(
    path: Path, medians: list[float], samples: int = 3, ranks: int = 2, trips: tuple[float, float] | None = None
) -> Path:
    """Writes a file of one cell per median, s, each equal samples; `trips`: fastest and slowest of its state, s."""
    state = dict(zip(("canary_low", "canary_high"), trips, strict=True)) if trips else {}
    cells = [
        Cell(np.zeros((samples, ranks)), np.full((samples, ranks), median), size=8 << position, other=dict(state))
        for position, median in enumerate(medians)
    ]
    return write_launch(path, cells)


class FakeBench:
    """A downbeat-bench that writes what the test has put there."""

    def __init__(self, directory: Path, body: str = "") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.log = directory / "log"
        self.bench = script(directory / "downbeat-bench", BENCH.format(log=self.log, templates=directory, body=body))
        self.launcher = script(directory / "launcher", LAUNCHER)
        for ranks in (1, 2, 3):
            write_template(directory / f"any-{ranks}.nc", [MEDIAN], ranks=ranks)

    def library(self, name: str = "fake", **other: tuple[str, ...]) -> Library:
        """Returns it as a library of a plan."""
        return Library(name, str(self.bench), f"{self.launcher} -n {{ranks}}", **other)  # type: ignore[arg-type]

    def starts(self) -> list[tuple[int, str, str]]:
        """Returns what was started: process, key, arguments; of the first ranks alone."""
        lines = [line.split(" ", 3) for line in read_lines(self.log)]
        return [(int(pid), key, arguments) for pid, rank, key, arguments in lines if rank == "0"]

    def processes(self) -> list[int]:
        """Returns the process numbers of all ranks."""
        return [int(line.split(" ")[0]) for line in read_lines(self.log)]


def script(path: Path, text: str) -> Path:
    """Writes a program."""
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def read_lines(path: Path) -> list[str]:
    """Returns the whole lines of a file that may be written at the moment."""
    return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []


def alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def environment() -> dict[str, str]:
    """Returns the environment for a `downbeat` in a process of its own: this copy of the package."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
