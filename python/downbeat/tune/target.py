"""Finds the MPI library that is tuned, its algorithms and the format of its rules; checks options of downbeat tune."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from downbeat.data.launch_file import open_netcdf
from downbeat.data.metrics import METRICS
from downbeat.errors import DownbeatError, UsageError
from downbeat.run.bench_launch import run_bench
from downbeat.run.bench_options import invalid_value, passed_options, refuse_reserved, with_absolute_files
from downbeat.run.libraries import linked_mpi
from downbeat.run.machine import Setting, settings_of
from downbeat.run.open_mpi_settings import FILENAME, JSON_SINCE, major_version, misread_rules, rules_in_force
from downbeat.run.plan import Library
from downbeat.run.request import read_ranks
from downbeat.text import split_list
from downbeat.tune import mpich
from downbeat.tune.intel import IntelRules
from downbeat.tune.open_mpi import OpenMpiJsonRules, OpenMpiRules
from downbeat.tune.rules_format import RulesFormat

# Default metrics, without and with an arrival pattern.
DEFAULT_METRIC = "latency_avg"
PATTERN_METRIC = "after_last_entry"


def parse_ranks(text: str) -> tuple[int, ...]:
    """Parses numbers of ranks: "2,4".

    Raises:
        UsageError: a number is below 2 or not a number.
    """
    ranks = read_ranks("--ranks", text, Path())
    if min(ranks) < 2:
        raise invalid_value("--ranks", min(ranks), "numbers from 2, e.g. 2,4")
    return ranks


def parse_share(name: str, value: float, minimum: float) -> float:
    """Checks that the value of option `name` is from the minimum to below 1, and returns it.

    Raises:
        UsageError: the value is outside of this range.
    """
    if not minimum <= value < 1:
        raise UsageError(f"--{name} cannot be {value:g}; give a number from {minimum:g} to below 1")
    return value


def passed_by_user(words: Sequence[str]) -> dict[str, str]:
    """Parses the options of downbeat-bench after `--`, which go to every measurement.

    Raises:
        UsageError: an option is not valid, or is set by the tuning itself.
    """
    options = passed_options(words)
    refuse_reserved(options, ("algorithm", "pattern", "delay", "validate", "stop", "with"))
    return options


def valid_metric(name: str, pattern: str) -> str:
    """Checks the name of a metric and returns it; an empty name becomes the default for the arrival pattern.

    Raises:
        UsageError: no metric has that name.
    """
    if not name:
        return PATTERN_METRIC if pattern else DEFAULT_METRIC
    if name not in METRICS:
        raise UsageError(f"unknown metric '{name}'; choose one of {', '.join(METRICS)}")
    return name


def one_pattern(pattern: str, delay: str) -> tuple[str, str]:
    """Checks an arrival pattern and its largest delay, and returns them; a file of a pattern by its absolute path.

    Raises:
        UsageError: there are several patterns or delays, the pattern is "none", or a delay has no pattern.
    """
    for name, text in (("pattern", pattern), ("delay", delay)):
        if len(split_list(text)) > 1:
            raise UsageError(f"--{name} cannot be '{text}': rules are for one arrival pattern with one delay; give one")
    if pattern == "none":
        raise UsageError("--pattern cannot be 'none': rules need late ranks; leave it out, or give e.g. one_late")
    if delay and not pattern:
        raise UsageError("--delay needs an arrival pattern, e.g. --pattern one_late --delay 50us")
    return with_absolute_files(pattern, Path()), delay


LIST_TIMEOUT = 60.0  # s, time limit of launches that only list algorithms or settings


@dataclass(frozen=True)
class Target:
    """An MPI library, its algorithms, and the format of its rules."""

    library: Library
    version: str  # the library's version text
    algorithms: Mapping[str, Sequence[str]]  # collective -> algorithms, in the order of the library's numbers
    form: RulesFormat
    settings: Mapping[str, Setting] = field(default_factory=dict)  # settings of the library, by name

    def check(self, collectives: Sequence[str]) -> None:
        """Raises UsageError for a collective that cannot have rules."""
        valid = [name for name in self.form.collectives() if name in self.algorithms]
        for name in collectives:
            if name not in valid:
                raise UsageError(
                    f"'{name}' has no rules under {self.library.name}; choose one of {', '.join(sorted(valid))}"
                )


def find_target(library: Library, directory: Path) -> Target:
    """Returns a library with its algorithms and the format of its rules; runs downbeat-bench to list them.

    Args:
        library: the MPI library.
        directory: for the files of downbeat-bench.

    Raises:
        DownbeatError: downbeat-bench fails, or the library has no algorithms that can be chosen.
    """
    run = run_bench(library, 1, ["list", "algorithm", "--format", "json"], {}, LIST_TIMEOUT)
    if run.status != 0:
        raise DownbeatError(f"'{library.bench}' does not run under {library.name}: {run.reason}")
    records = [json.loads(line) for line in run.output.splitlines() if line.startswith("{")]
    listed = [record for record in records if record.get("kind") == "algorithm"]
    if not listed:
        raise UsageError(f"{library.name} has no variables that choose algorithms; there is nothing to tune")
    algorithms = {record["name"]: record["summary"].split(", ") for record in listed}
    version, settings = describe_library(library, directory)
    form = rules_form(library, listed[0]["source"], version, algorithms, settings)
    return Target(library, version, algorithms, form, settings)


def describe_library(library: Library, directory: Path) -> tuple[str, dict[str, Setting]]:
    """Returns the MPI library's version text and its settings."""
    directory.mkdir(parents=True, exist_ok=True)
    run = run_bench(
        library, 1, ["nothing", "-r", "1", "--sync", "none", "-q", "-o", "context.nc"], {}, LIST_TIMEOUT, directory
    )
    if run.status != 0:
        raise DownbeatError(f"'{library.bench}' does not run under {library.name}: {run.reason}")
    with open_netcdf(directory / "context.nc") as file:
        first_line = str(file.mpi_library).splitlines()[0]
        version = " ".join(first_line.split(",")[0].split())  # without details of the build, which follow a comma
        return version, settings_of(file.attributes)


def rules_form(
    library: Library,
    source: str,
    version: str,
    algorithms: Mapping[str, Sequence[str]],
    settings: Mapping[str, Setting],
) -> RulesFormat:
    """Returns the format of a library's rules.

    Args:
        library: the MPI library.
        source: name of the variables that choose algorithms; it tells the kind of library.
        version: the library's version text.
        algorithms: as in `Target`.
        settings: as in `Target`.

    Raises:
        UsageError: the library would misread the rules file that is in force.
        DownbeatError: the file of the library is not found.
    """
    if source.startswith("coll_"):
        misread = misread_rules(version, settings)
        if misread:
            raise UsageError(
                f"the rules file '{misread}' is a classic one, which {version} misreads by one communicator size; "
                f"unset {FILENAME}, or write its rules as JSON"
            )
        major = major_version(version) or 4
        form = OpenMpiJsonRules if major >= JSON_SINCE else OpenMpiRules
        return form(major, algorithms, site=rules_in_force(settings))
    if source.startswith("MPIR_CVAR_USE_"):
        return IntelRules(algorithms)
    linked = linked_mpi(library.bench)
    if linked is None:
        raise DownbeatError(f"the MPI library of '{library.bench}' was not found; ldd must show its path")
    return mpich.mpich_rules(linked)
