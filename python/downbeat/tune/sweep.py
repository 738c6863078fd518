"""The sweep: every algorithm that runs, at every size, from a common start.

Also after MPI_Barrier; or, where the rules are to be for an arrival pattern, under it and also without it.
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
from downbeat.run import directory as places
from downbeat.run.bench import EXIT_BAD_ARGUMENTS
from downbeat.run.bench_launch import run_bench
from downbeat.run.execute import Watcher, execute
from downbeat.run.experiment import open_experiment
from downbeat.run.plan import DEFAULT_ENVIRONMENT, Environment, Measurement, Plan
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.tune.rules_format import DEFAULT, Cell
from downbeat.tune.target import Target

EXIT_WRONG = 4  # of downbeat-bench
SCHEMA_VERSION = 1
LEAST_RUN_LIMIT = 60.0  # s; after this an algorithm that does not end counts as hanging,
SWEEP_ATTEMPTS = 2  # at an algorithm
RUN_PATIENCE = 20  # times what the default took, if longer


@dataclass
class Usable:
    """The algorithms of a collective that can be measured on a number of ranks."""

    collective: str
    ranks: int
    algorithms: list[str] = field(default_factory=list)
    excluded: dict[str, str] = field(default_factory=dict)  # algorithm -> why


@dataclass(frozen=True)
class Probe:
    """Tries each algorithm of a collective once at each size, with results validated.

    Attributes:
        target: the library.
        collective: whose algorithms are tried.
        ranks: number of ranks.
        options: of downbeat-bench, as in the sweep.
        directory: for what the launches write, and the result.
        timeout: s, that a launch may take at most.
    """

    target: Target
    collective: str
    ranks: int
    options: Mapping[str, str]
    directory: Path
    timeout: float

    def usable(self) -> Usable:
        """Returns the algorithms that run, which are kept.

        A tuning that is continued has the same algorithms, though a busy machine may since have made one of them look
        as if it hung.

        Raises:
            UsageError: downbeat-bench refuses the options, or the directory is of another version of the library.
            DownbeatError: not even the default runs.
        """
        file = self.directory / f"{self.collective}-n{self.ranks}.json"
        about = {"options": dict(self.options), "algorithms": list(self.target.algorithms[self.collective])}
        version = self.target.version
        kept = read_kept(file)
        if kept and kept["version"] != version:
            raise UsageError(
                f"'{self.directory.parent}' is of {kept['version']}, not {version}; give another directory (-o)"
            )
        if kept and kept["of"] == about:
            return Usable(self.collective, self.ranks, kept["usable"], kept["excluded"])
        usable = self.try_all()
        content = {"version": version, "of": about, "usable": usable.algorithms, "excluded": usable.excluded}
        write_checked_json(file, {"schema_version": SCHEMA_VERSION, **content})
        return usable

    def try_all(self) -> Usable:
        """Tries the default, then all together, and only if that fails each in a launch of its own.

        Algorithms that fail are tried again after the others, and the default once more: a disturbed machine must not
        exclude an algorithm.
        """
        form, where = self.target.form, f"{self.collective} on {self.ranks} ranks"
        refused = {name: form.unwritable(self.collective, name) for name in self.target.algorithms[self.collective]}
        candidates = [name for name, reason in refused.items() if not reason]
        usable = Usable(self.collective, self.ranks, candidates, {name: why for name, why in refused.items() if why})
        began = time.monotonic()
        if reason := self.failure([DEFAULT], self.timeout):
            raise DownbeatError(f"{where} cannot be measured under {self.target.library.name}: {reason}")
        limit = min(self.timeout, max(LEAST_RUN_LIMIT, RUN_PATIENCE * (time.monotonic() - began)))
        apart = bool(candidates) and bool(form.forcing_variables(self.collective, candidates[0]))
        if candidates and not apart and not self.failure(candidates, limit):
            return usable
        failed = dict.fromkeys(candidates, "")
        for _ in range(SWEEP_ATTEMPTS):
            failed = {name: reason for name in failed if (reason := self.failure([name], limit))}
        usable.algorithms = [name for name in candidates if name not in failed]
        usable.excluded |= failed
        if failed and (reason := self.failure([DEFAULT], self.timeout)):
            raise DownbeatError(f"{where} could be measured at first, but no longer: {reason}")
        if candidates and not usable.algorithms:
            raise UsageError(f"{where}: no algorithm can be chosen: {next(iter(failed.values()))}")
        return usable

    def failure(self, algorithms: Sequence[str], timeout: float) -> str:
        """Returns the reason if a launch by these algorithms fails, else empty.

        Raises:
            UsageError: the library's own choice is refused, so the options are.
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
        # Without a common start no sample lacks one.
        return "" if run.status == 0 else run.reason


def read_kept(file: Path) -> dict[str, Any] | None:
    """Returns the result of an earlier probe; None without one."""
    if not file.is_file():
        return None
    try:
        kept = read_json(file)
        if kept["schema_version"] == SCHEMA_VERSION:
            return kept
    except (UsageError, KeyError):
        pass
    raise UsageError(f"'{file}' was not written by this version of downbeat tune; give another directory (-o)")


DIGEST = 8  # hexadecimal digits
WITHOUT_SIZE = "barrier"  # the collective that has no size


class LaunchMedians(Table):
    """What choices are made from: a row per launch, cell, algorithm, synchronizer and arrival pattern."""

    collective: Texts = column("collective operation")
    ranks: Ints = column("number of ranks", "1")
    size: Ints = column("size of the message", "B")
    algorithm: Texts = column("algorithm, or the environment other than the default that the launch ran in")
    synchronizer: Texts = column("synchronizer before each sample")
    pattern: Texts = column("arrival pattern")
    launch: Ints = column("number of the launch")
    status: Texts = column("of the cell in this launch")
    value: Floats = column("median of the metric over the samples, NaN where the cell does not count", "s")
    uncertainty: Floats = column("change of the value by the clocks, at most", "s")

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
        """Returns the rows of one cell by an algorithm that count, one for each launch, by its number."""
        rows = self[(self.algorithm == algorithm) & np.isfinite(self.value)]
        return rows[np.unique(rows.launch, return_index=True)[1]]

    @property
    def decisive(self) -> LaunchMedians:
        """The rows that choices are made from: from a common start, under the arrival pattern if there is one."""
        common = self[self.synchronizer == COMMON_START]
        late = common.pattern != NO_PATTERN
        return common[late] if late.any() else common

    @property
    def alternative(self) -> LaunchMedians:
        """The rows of the other measurement: without the arrival pattern, or after MPI_Barrier."""
        late = self.pattern != NO_PATTERN
        return self[~late] if late.any() else self[self.synchronizer == BARRIER]


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    launches: int
    repetitions: int
    timeout: float  # s, for a launch; 0: by its size
    seed: int
    metric: str
    pattern: str = ""  # arrival pattern, as downbeat-bench takes it; empty: all ranks together
    delay: str = ""  # the largest of the pattern, likewise; empty: the pattern has its own
    passed: Mapping[str, str] = field(default_factory=dict)  # other options of downbeat-bench

    def options(self, collectives: Sequence[str], sizes: str) -> dict[str, str]:
        """Returns the options of downbeat-bench that all measurements have in common."""
        options = {"repetitions": str(self.repetitions), "validate": ""}
        if set(collectives) != {WITHOUT_SIZE}:
            options["sizes"] = sizes
        if self.pattern:
            options["pattern"] = self.pattern
        if self.delay:
            options["delay"] = self.delay
        return options | dict(self.passed)

    def synchronizers(self, collective: str) -> str:
        """Returns the synchronizers that a collective is measured after.

        A barrier is measured from a common start alone: under most libraries the choice would hold for the MPI_Barrier
        that synchronizes as well. So are arrival patterns: after a barrier its own exit skew would be part of them.
        """
        return COMMON_START if collective == WITHOUT_SIZE or self.pattern else f"{COMMON_START},{BARRIER}"


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
    """Executes a plan, as far as its launches are missing, and reads the medians of a metric.

    Raises:
        DownbeatError: no launch was complete.
    """
    outcome = execute(plan, directory, watcher)
    if outcome.refused:
        raise DownbeatError(f"{plan.name} could not be measured at all: {outcome.refused}")
    try:
        return LaunchMedians.of_cells(open_experiment(directory).cell_table, metric)
    except UsageError as error:
        failed = directory / places.FAILED
        files = sorted(failed.glob("*/stderr.txt"))
        output = ["no output", *(line for file in files for line in file.read_text(errors="replace").splitlines())]
        raise DownbeatError(f"{plan.name} could not be measured at all: {output[-1]}; see {failed}") from error


def digest_of(content: object) -> str:
    """A hash of content that JSON can hold: names the directory of its launches, which no other content shares."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST]
