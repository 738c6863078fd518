"""The library that is tuned, and single runs of downbeat-bench under it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from downbeat.data.launch_file import open_netcdf
from downbeat.errors import DownbeatError, UsageError
from downbeat.run.bench_launch import run_bench
from downbeat.run.libraries import linked_mpi
from downbeat.run.machine import Setting, settings_of
from downbeat.run.plan import Library
from downbeat.tune.formats import mpich
from downbeat.tune.formats.intel import IntelRules
from downbeat.tune.formats.open_mpi import FILENAME, PREFIX, OpenMpiRules
from downbeat.tune.formats.rules_format import RulesFormat

LIST_TIMEOUT = 60.0  # s


@dataclass(frozen=True)
class Target:
    """An MPI library, its algorithms, and the form of its rules."""

    library: Library
    version: str  # what the library says of itself
    algorithms: Mapping[str, Sequence[str]]  # by collective, in the order of the library's numbers
    form: RulesFormat
    settings: Mapping[str, Setting] = field(default_factory=dict)  # what is set for the library, by name

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
    version, settings = about(library, directory)
    form = form_of(library, parts[0]["source"], version, algorithms, settings)
    return Target(library, version, algorithms, form, settings)


def about(library: Library, directory: Path) -> tuple[str, dict[str, Setting]]:
    """Returns what the MPI library says of itself, and what is set for it."""
    directory.mkdir(parents=True, exist_ok=True)
    run = run_bench(
        library, 1, ["nothing", "-r", "1", "--sync", "none", "-q", "-o", "context.nc"], {}, LIST_TIMEOUT, directory
    )
    if run.status != 0:
        raise DownbeatError(f"'{library.bench}' does not run under {library.name}: {run.reason}")
    with open_netcdf(directory / "context.nc") as file:
        # The first line, and of it what stands before details of the build.
        return " ".join(str(file.mpi_library).splitlines()[0].split(",")[0].split()), settings_of(file.attributes)


def form_of(
    library: Library,
    source: str,
    version: str,
    algorithms: Mapping[str, Sequence[str]],
    settings: Mapping[str, Setting],
) -> RulesFormat:
    """Returns the form of rules, by where the library says that its algorithms are chosen."""
    if source.startswith("coll_"):
        number = re.search(r"v(\d+)\.", version)
        dynamic = settings.get(f"{PREFIX}use_dynamic_rules", Setting("false", "")).value in ("1", "true")
        site = settings.get(f"{PREFIX}{FILENAME}", Setting("", "")).value if dynamic else ""
        return OpenMpiRules(int(number[1]) if number else 4, algorithms, site=site)
    if source.startswith("MPIR_CVAR_USE_"):
        return IntelRules(algorithms)
    linked = linked_mpi(library.bench)
    if linked is None:
        raise DownbeatError(f"the MPI library of '{library.bench}' was not found; ldd must show its path")
    return mpich.form_of(linked)
