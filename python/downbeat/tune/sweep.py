"""The sweep: every algorithm that runs, at every size, from a common start.

Also after MPI_Barrier; or, where the rules are to be for an arrival pattern, under it and also without it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from downbeat.data.countable import countable
from downbeat.errors import DownbeatError, UsageError
from downbeat.experiment import directory as places
from downbeat.experiment.execute import Watcher, execute
from downbeat.experiment.experiment import open_experiment
from downbeat.experiment.plan import DEFAULT_ENVIRONMENT, Environment, Measurement, Plan
from downbeat.summaries.cells import NO_PATTERN
from downbeat.tune.probing import Usable
from downbeat.tune.rules import DEFAULT
from downbeat.tune.target import Target

HARMONIZE = "harmonize"
BARRIER = "mpi_barrier"
DIGEST = 8  # hexadecimal digits
SIZELESS = "barrier"  # the collective that has no size
# Of a launch and cell, what choosing needs; `value` is the median of the metric over the launch's samples, in s, NaN
# where the cell does not count (`countable`).
COLUMNS = ("collective", "ranks", "size", "algorithm", "synchronizer", "pattern", "launch", "status", "value")


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
        if set(collectives) != {SIZELESS}:
            options["sizes"] = sizes
        if self.pattern:
            options["pattern"] = self.pattern
        if self.delay:
            options["delay"] = self.delay
        return options | dict(self.passed)

    def synchronizers(self, collective: str) -> str:
        """Returns what is measured behind what.

        A barrier is measured from a common start alone: under most libraries the choice would hold for the MPI_Barrier
        that synchronizes as well. So are arrival patterns: after a barrier its own exit skew would be part of them.
        """
        return HARMONIZE if collective == SIZELESS or self.pattern else f"{HARMONIZE},{BARRIER}"


def decisive(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows that choices are made from: from a common start, under the arrival pattern if there is one."""
    common = frame[frame["synchronizer"] == HARMONIZE]
    late = common["pattern"] != NO_PATTERN
    return common[late] if late.any() else common


def alternative(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows of the other measurement: without the arrival pattern, where there is none after MPI_Barrier."""
    late = frame["pattern"] != NO_PATTERN
    return frame[~late] if late.any() else frame[frame["synchronizer"] == BARRIER]


def sweep_plan(target: Target, usable: Usable, sizes: str, effort: Effort, sync: str) -> Plan:
    """Returns the experiment that measures the algorithms of a collective on a number of ranks."""
    collective = usable.collective
    options = {"sync": sync, **effort.options((collective,), sizes)}
    environments = [Environment()]
    if usable.algorithms:
        forced = {name: target.form.forcing_variables(collective, name) for name in usable.algorithms}
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


def sweep(plan: Plan, directory: Path, metric: str, watcher: Watcher) -> pd.DataFrame:
    """Measures what a plan of `sweep_plan` says; returns one row per launch and cell, `COLUMNS`.

    Raises:
        DownbeatError: no launch was complete.
    """
    return measured(cells_of_plan(plan, directory, watcher), metric)


def cells_of_plan(plan: Plan, directory: Path, watcher: Watcher) -> pd.DataFrame:
    """Executes a plan and returns the cells of its launches.

    Raises:
        DownbeatError: no launch was complete.
    """
    outcome = execute(plan, directory, watcher)
    if outcome.refused:
        raise DownbeatError(f"{plan.name} could not be measured at all: {outcome.refused}")
    try:
        return open_experiment(directory).cells
    except UsageError as error:
        raise nothing_measured(plan, directory) from error


def digest_of(content: object) -> str:
    """Returns a name for what JSON can hold that nothing else has: launches of something else say nothing of it."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST]


def nothing_measured(plan: Plan, directory: Path) -> DownbeatError:
    """Returns what to say of an experiment without a complete launch."""
    failed = directory / places.FAILED
    said = [
        line for path in sorted(failed.glob("*/stderr.txt")) for line in path.read_text(errors="replace").splitlines()
    ]
    return DownbeatError(f"{plan.name} could not be measured at all: {said[-1] if said else 'no output'}; see {failed}")


def measured(cells: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Returns `COLUMNS` of the cells of an experiment; an environment other than the default one is an algorithm."""
    frame = with_values(cells, metric)
    forced = frame["environment"] != DEFAULT_ENVIRONMENT
    frame["algorithm"] = frame["algorithm"].where(~forced, frame["environment"])
    return frame[list(COLUMNS)].reset_index(drop=True)


def with_values(cells: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Returns the cells of an experiment with `collective` and `value`, as `COLUMNS` has them."""
    frame = cells.rename(columns={"operation": "collective"})
    frame["value"] = frame[f"{metric}_median"].where(countable(frame))
    return frame
