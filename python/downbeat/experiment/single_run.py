"""Single runs of downbeat-bench under a library, outside of an experiment."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from downbeat.experiment.launch import run
from downbeat.experiment.plan import Library
from downbeat.launchers.launch import EXIT_TIMEOUT
from downbeat.launchers.libraries import packaged_bench


@dataclass(frozen=True)
class Run:
    """A run that has ended."""

    status: int
    output: str
    errors: str

    @property
    def reason(self) -> str:
        """Why it failed, in a line."""
        if self.status == EXIT_TIMEOUT:
            return "did not end in time"
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        described = [line for line in lines if line.startswith("downbeat-bench:")]
        return (described or lines or [f"exit status {self.status}"])[-1].removeprefix("downbeat-bench:").strip()


def run_bench(
    library: Library,
    ranks: int,
    arguments: Sequence[str],
    variables: Mapping[str, str],
    timeout: float,
    directory: Path | None = None,
) -> Run:
    """Runs downbeat-bench once and waits for it.

    Args:
        library: the MPI library.
        ranks: number of ranks.
        arguments: of downbeat-bench.
        variables: set in its environment.
        timeout: s, after which all ranks are ended.
        directory: in which it runs.
    """
    start = [sys.executable, "-m", "downbeat.launchers.launch"]
    if library.launcher:
        start += ["--launcher", library.launcher]
    elif library.bench == packaged_bench():  # which is of all libraries
        start += ["--mpi", library.name]
    if library.ranks_per_node:
        start += ["--ranks-per-node", str(library.ranks_per_node)]
    start += ["-n", str(ranks), "--timeout", f"{timeout:g}"]
    command = [*start, library.bench, *arguments]
    mark = f"{os.getpid()} {time.monotonic_ns()}"
    # Files without names: nothing of them stays, however this process ends.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        status = run(command, directory or Path(), variables, (output, errors), mark)
        return Run(status, read_whole(output), read_whole(errors))


def read_whole(file: IO[bytes]) -> str:
    """Returns what was written into a file."""
    file.seek(0)
    return file.read().decode(errors="replace")
