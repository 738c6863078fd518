"""Plans and runs the measurements of a tuning, above all the sweep: every algorithm that runs, at every size.

A probe first tries every algorithm once (`Probe`). The sweep measures from a common start and, for comparison, after
MPI_Barrier; if the rules are for an arrival pattern, under the pattern and, for comparison, without it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from downbeat.data.cells import NO_PATTERN, WRONG, Cells
from downbeat.data.launch_file import open_samples, read_cells
from downbeat.errors import DownbeatError, UsageError
from downbeat.files import read_json, write_checked_json
from downbeat.output.fields import BARRIER, COMMON_START
from downbeat.run.bench import EXIT_BAD_ARGUMENTS
from downbeat.run.bench_launch import run_bench
from downbeat.run.directory import FAILED
from downbeat.run.execute import Watcher, execute
from downbeat.run.experiment import open_experiment
from downbeat.run.plan import DEFAULT_ENVIRONMENT, Environment, Measurement, Plan
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.tune.rules_format import DEFAULT, Cell
from downbeat.tune.target import Target

EXIT_WRONG = 4  # exit status of downbeat-bench for wrong results
SCHEMA_VERSION = 1
# Time limit of an algorithm in the probe: this time, or if longer RUN_PATIENCE times the time of the default.
MIN_RUN_LIMIT = 60.0  # s
RUN_PATIENCE = 20
PROBE_ATTEMPTS = 2  # launches of an algorithm before it counts as failed


@dataclass
class Usable:
    """The algorithms of a collective that can be measured on a number of ranks."""

    collective: str
    ranks: int
    algorithms: list[str] = field(default_factory=list)
    excluded: dict[str, str] = field(default_factory=dict)  # algorithm -> reason


@dataclass(frozen=True)
class Probe:
    """Tries each algorithm of a collective once at each size, with results validated.

    Attributes:
        target: the library.
        collective: whose algorithms are tried.
        ranks: number of ranks.
        options: of downbeat-bench, as in the sweep.
        directory: for the files of the launches, and the result.
        timeout: time limit of a launch, s.
    """

    target: Target
    collective: str
    ranks: int
    options: Mapping[str, str]
    directory: Path
    timeout: float

    def usable(self) -> Usable:
        """Returns the algorithms that run: the stored result of an earlier probe, or else a new one, which is stored.

        So a continued tuning has the same algorithms, even if a busy machine would now make one of them time out.

        Raises:
            UsageError: downbeat-bench refuses the options, or the directory is of another version of the library.
            DownbeatError: not even the default runs.
        """
        file = self.directory / f"{self.collective}-n{self.ranks}.json"
        subject = {"options": dict(self.options), "algorithms": list(self.target.algorithms[self.collective])}
        version = self.target.version
        stored = read_stored(file)
        if stored and stored["version"] != version:
            raise UsageError(
                f"'{self.directory.parent}' is of {stored['version']}, not {version}; give another directory (-o)"
            )
        if stored and stored["of"] == subject:
            return Usable(self.collective, self.ranks, stored["usable"], stored["excluded"])
        usable = self.try_all()
        content = {"version": version, "of": subject, "usable": usable.algorithms, "excluded": usable.excluded}
        write_checked_json(file, {"schema_version": SCHEMA_VERSION, **content})
        return usable

    def try_all(self) -> Usable:
        """Tries the default, then all algorithms in one launch; if that fails, each in a separate launch.

        Algorithms that fail are tried again after the other algorithms, and then the default once more: a disturbance
        of the machine must not exclude an algorithm.
        """
        form, subject = self.target.form, f"{self.collective} on {self.ranks} ranks"
        reasons = {name: form.unwritable(self.collective, name) for name in self.target.algorithms[self.collective]}
        candidates = [name for name, reason in reasons.items() if not reason]
        excluded = {name: reason for name, reason in reasons.items() if reason}
        usable = Usable(self.collective, self.ranks, candidates, excluded)
        began = time.monotonic()
        if reason := self.failure([DEFAULT], self.timeout):
            raise DownbeatError(f"{subject} cannot be measured under {self.target.library.name}: {reason}")
        limit = min(self.timeout, max(MIN_RUN_LIMIT, RUN_PATIENCE * (time.monotonic() - began)))
        separate = bool(candidates) and bool(form.forcing_variables(self.collective, candidates[0]))
        if candidates and not separate and not self.failure(candidates, limit):
            return usable
        failed = dict.fromkeys(candidates, "")
        for _ in range(PROBE_ATTEMPTS):
            failed = {name: reason for name in failed if (reason := self.failure([name], limit))}
        usable.algorithms = [name for name in candidates if name not in failed]
        usable.excluded |= failed
        if failed and (reason := self.failure([DEFAULT], self.timeout)):
            raise DownbeatError(f"{subject} could be measured at first, but no longer: {reason}")
        if candidates and not usable.algorithms:
            raise UsageError(f"{subject}: no algorithm can be chosen: {next(iter(failed.values()))}")
        return usable

    def failure(self, algorithms: Sequence[str], timeout: float) -> str:
        """Launches these algorithms once, and returns the reason if the launch fails; empty: it does not.

        Raises:
            UsageError: downbeat-bench refuses the launch with the default, so its options are not valid.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        file = self.directory / "probe.nc"
        file.unlink(missing_ok=True)
        forced = {}
        options = {**self.options, "sync": "none", "repetitions": "1", "warmup": "1"}
        if algorithms[0] != DEFAULT:
            forced = self.target.form.forcing_variables(self.collective, algorithms[0])
        if not forced:
            options["algorithm"] = f"{self.collective}={','.join(algorithms)}"
        arguments = [*Measurement((self.collective,), options).arguments(), "-q", "-o", file.name]
        run = run_bench(self.target.library, self.ranks, arguments, forced, timeout, self.directory)
        if run.status == EXIT_WRONG:
            with open_samples(file) as samples:
                cells = Cells.of(read_cells(samples))
            wrong = sorted(set(cells.size[cells.status == WRONG].tolist()))
            return f"wrong results at {', '.join(f'{size:g}' for size in wrong)} bytes"
        if run.status == EXIT_BAD_ARGUMENTS and list(algorithms) == [DEFAULT]:
            raise UsageError(run.reason)
        # Without a common start, samples cannot be invalid, so every other status is an error.
        return "" if run.status == 0 else run.reason


def read_stored(file: Path) -> dict[str, Any] | None:
    """Returns the stored result of an earlier probe; None: nothing is stored."""
    if not file.is_file():
        return None
    try:
        stored = read_json(file)
        if stored["schema_version"] == SCHEMA_VERSION:
            return stored
    except (UsageError, KeyError):
        pass
    raise UsageError(f"'{file}' was not written by this version of downbeat tune; give another directory (-o)")


DIGEST = 8  # hexadecimal digits of a hash in names of directories
WITHOUT_SIZE = "barrier"  # the only collective without a size


class LaunchMedians(Table):
    """The medians that choices are based on: a row per launch, cell, algorithm, synchronizer and arrival pattern."""

    collective: Texts = column("collective operation")
    ranks: Ints = column("number of ranks", "1")
    size: Ints = column("size of the message", "B")
    algorithm: Texts = column("algorithm, or the name of the launch's environment if it is not the default one")
    synchronizer: Texts = column("synchronizer before each sample")
    pattern: Texts = column("arrival pattern")
    launch: Ints = column("number of the launch")
    status: Texts = column("of the cell in this launch")
    value: Floats = column("median of the metric over the samples, NaN where the cell does not count", "s")
    uncertainty: Floats = column("largest error of the value by the clocks", "s")

    @classmethod
    def of_cells(cls, cells: Cells, metric: str) -> LaunchMedians:
        """Returns the medians of a metric over the samples of an experiment's cells."""
        return cls(
            collective=cells.operation,
            ranks=cells.ranks,
            size=cells.size,
            algorithm=np.where(cells.environment == DEFAULT_ENVIRONMENT, cells.algorithm, cells.environment),
            synchronizer=cells.synchronizer,
            pattern=cells.pattern,
            launch=cells.launch,
            status=cells.status,
            value=np.where(cells.counts, cells.metric(metric).median_s, np.nan),
            uncertainty=cells.uncertainty(metric),
        )

    def by_cell(self) -> dict[Cell, LaunchMedians]:
        """Returns the rows of each cell, in the order of cells."""
        groups = self.groups(self.collective, self.ranks, self.size)
        return dict(sorted((Cell(name, int(ranks), int(size)), rows) for (name, ranks, size), rows in groups))

    def counted(self, algorithm: str) -> LaunchMedians:
        """Returns the rows of an algorithm that count, one per launch, sorted by its number; `self` is one cell."""
        rows = self[(self.algorithm == algorithm) & np.isfinite(self.value)]
        return rows[np.unique(rows.launch, return_index=True)[1]]

    @property
    def decisive(self) -> LaunchMedians:
        """The rows that choices are based on: from a common start, under the arrival pattern if there is one."""
        common = self[self.synchronizer == COMMON_START]
        has_pattern = common.pattern != NO_PATTERN
        return common[has_pattern] if has_pattern.any() else common

    @property
    def alternative(self) -> LaunchMedians:
        """The rows of the other measurement: without the arrival pattern, or after MPI_Barrier."""
        has_pattern = self.pattern != NO_PATTERN
        return self[~has_pattern] if has_pattern.any() else self[self.synchronizer == BARRIER]


@dataclass(frozen=True)
class Effort:
    """The settings of all measurements of a tuning."""

    launches: int  # launches of each measurement
    repetitions: int  # samples of a cell in a launch
    timeout: float  # time limit of a launch, s; 0: chosen by its size
    seed: int  # of random orders
    metric: str  # that choices are based on
    pattern: str = ""  # arrival pattern, as downbeat-bench takes it; empty: ranks arrive together
    delay: str = ""  # largest delay of the pattern, as downbeat-bench takes it; empty: the pattern's default
    passed: Mapping[str, str] = field(default_factory=dict)  # further options of downbeat-bench from the user

    def options(self, collectives: Sequence[str], sizes: str) -> dict[str, str]:
        """Returns the options of downbeat-bench that all measurements share."""
        options = {"repetitions": str(self.repetitions), "validate": ""}
        if set(collectives) != {WITHOUT_SIZE}:
            options["sizes"] = sizes
        if self.pattern:
            options["pattern"] = self.pattern
        if self.delay:
            options["delay"] = self.delay
        return options | dict(self.passed)

    def synchronizers(self, collective: str) -> str:
        """Returns the synchronizers before the samples of a collective, separated by commas.

        MPI_Barrier itself is measured from a common start only: under most libraries, the choice of its algorithm would
        also change the MPI_Barrier that synchronizes. So are arrival patterns, since the exit skew of a barrier would
        add to the delays.
        """
        if collective == WITHOUT_SIZE or self.pattern:
            return COMMON_START
        return f"{COMMON_START},{BARRIER}"


def sweep_plan(target: Target, usable: Usable, sizes: str, effort: Effort, sync: str) -> Plan:
    """Returns the experiment that measures the algorithms of a collective on a number of ranks."""
    collective = usable.collective
    options = {"sync": sync, **effort.options((collective,), sizes)}
    forced = {name: target.form.forcing_variables(collective, name) for name in usable.algorithms}
    environments = [Environment()]
    if all(forced.values()):
        environments += [Environment(name, variables) for name, variables in forced.items()]
    else:
        options["algorithm"] = f"{collective}={','.join([DEFAULT, *usable.algorithms])}"
    return Plan(
        name=f"{collective}-n{usable.ranks}",
        measurement=Measurement((collective,), options),
        libraries=(target.library,),
        ranks=(usable.ranks,),
        environments=tuple(environments),
        launches=effort.launches,
        timeout=effort.timeout,
        seed=effort.seed,
    )


def measure(plan: Plan, directory: Path, metric: str, watcher: Watcher) -> LaunchMedians:
    """Executes the missing launches of a plan, and reads the medians of a metric.

    Raises:
        DownbeatError: no launch was complete.
    """
    outcome = execute(plan, directory, watcher)
    if outcome.refused:
        raise DownbeatError(f"{plan.name} could not be measured at all: {outcome.refused}")
    try:
        return LaunchMedians.of_cells(open_experiment(directory).cell_table, metric)
    except UsageError as error:
        failed = directory / FAILED
        files = sorted(failed.glob("*/stderr.txt"))
        output = ["no output", *(line for file in files for line in file.read_text(errors="replace").splitlines())]
        raise DownbeatError(f"{plan.name} could not be measured at all: {output[-1]}; see {failed}") from error


def digest_of(content: object) -> str:
    """Returns a hash of content that JSON can store; it names a directory that only this content uses."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST]
