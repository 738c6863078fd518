"""The library that is tuned, and single runs of downbeat-bench under it."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from downbeat.data.launch_file import open_netcdf
from downbeat.errors import DownbeatError, UsageError
from downbeat.experiment.launch import run
from downbeat.experiment.plan import Library
from downbeat.launchers.launch import EXIT_TIMEOUT
from downbeat.launchers.libraries import linked_mpi
from downbeat.tune.formats import mpich
from downbeat.tune.formats.intel import IntelRules
from downbeat.tune.formats.open_mpi import OpenMpiRules
from downbeat.tune.formats.rules_format import RulesFormat


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


LIST_TIMEOUT = 60.0  # s


@dataclass(frozen=True)
class Target:
    """An MPI library, its algorithms, and the form of its rules."""

    library: Library
    version: str  # what the library says of itself
    algorithms: Mapping[str, Sequence[str]]  # by collective, in the order of the library's numbers
    form: RulesFormat

    def check(self, collectives: Sequence[str]) -> None:
        """Raises UsageError for a collective that rules cannot be for."""
        valid = [name for name in self.form.collectives() if name in self.algorithms]
        for name in collectives:
            if name not in valid:
                raise UsageError(
                    f"'{name}' has no rules under {self.library.name}; choose one of {', '.join(sorted(valid))}"
                )


def find_target(library: Library, directory: Path) -> Target:
    """Asks downbeat-bench what there is to tune.

    Args:
        library: the MPI library.
        directory: for what it writes.

    Raises:
        DownbeatError: it cannot be asked, or its MPI library has no algorithms that can be chosen.
    """
    asked = run_bench(library, 1, ["list", "algorithm", "--format", "json"], {}, LIST_TIMEOUT)
    if asked.status != 0:
        raise DownbeatError(f"'{library.bench}' does not run under {library.name}: {asked.reason}")
    records = [json.loads(line) for line in asked.output.splitlines() if line.startswith("{")]
    parts = [record for record in records if record.get("kind") == "algorithm"]
    if not parts:
        raise UsageError(f"{library.name} has no variables that choose algorithms; there is nothing to tune")
    algorithms = {record["name"]: record["summary"].split(", ") for record in parts}
    version = version_of(library, directory)
    return Target(library, version, algorithms, form_of(library, parts[0]["source"], version, algorithms))


def version_of(library: Library, directory: Path) -> str:
    """Returns what the MPI library says of itself."""
    directory.mkdir(parents=True, exist_ok=True)
    run = run_bench(
        library, 1, ["nothing", "-r", "1", "--sync", "none", "-q", "-o", "context.nc"], {}, LIST_TIMEOUT, directory
    )
    if run.status != 0:
        raise DownbeatError(f"'{library.bench}' does not run under {library.name}: {run.reason}")
    with open_netcdf(directory / "context.nc") as file:
        # The first line, and of it what stands before details of the build.
        return " ".join(str(file.mpi_library).splitlines()[0].split(",")[0].split())


def form_of(library: Library, source: str, version: str, algorithms: Mapping[str, Sequence[str]]) -> RulesFormat:
    """Returns the form of rules, by where the library says that its algorithms are chosen."""
    if source.startswith("coll_"):
        number = re.search(r"v(\d+)\.", version)
        return OpenMpiRules(int(number[1]) if number else 4, algorithms)
    if source.startswith("MPIR_CVAR_USE_"):
        return IntelRules(algorithms)
    linked = linked_mpi(library.bench)
    if linked is None:
        raise DownbeatError(f"the MPI library of '{library.bench}' was not found; ldd must show its path")
    return mpich.form_of(linked)
