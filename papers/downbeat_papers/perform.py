"""Launches the runs of a figure, and uses complete launches."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from downbeat.errors import DownbeatError
from downbeat.run.directory import complete
from downbeat.run.durations import LIMIT_FACTOR, MIN_LIMIT
from downbeat.run.execute import adopt, execute
from downbeat.run.experiment import Launch, open_experiment
from downbeat.run.plan import Environment, Measurement, Plan
from downbeat.run.progress import watcher

from downbeat_papers.figure import Figure
from downbeat_papers.results import Results
from downbeat_papers.runs import Run
from downbeat_papers.site import Site

FIXED = "fixed"  # name of the environment of runs that set variables
SEED = 1  # of the order of cells and of random numbers in downbeat-bench; fixed, so that a figure is reproducible


def plan_of(figure: Figure, run: Run, site: Site) -> Plan:
    """Returns the plan of the experiment that executes a run."""
    return Plan(
        name=f"{figure.name} {run.label}",
        measurement=Measurement(run.operations, dict(run.options)),
        libraries=(site.library(run.library, run.per_node(site)),),
        ranks=(run.ranks,),
        environments=(Environment(FIXED, dict(run.variables)) if run.variables else Environment(),),
        launches=run.launches(site),
        # Generous, since a busy machine may take much longer than estimated; only a hanging launch must end.
        timeout=MIN_LIMIT + LIMIT_FACTOR * run.seconds,
        seed=SEED,
    )


def missing(figure: Figure, run: Run, site: Site, directory: Path) -> int:
    """Returns the number of launches that a run still lacks, in the directory of its figure.

    Raises:
        UsageError: the directory has launches of another plan.
    """
    adopt(plan_of(figure, run, site), directory / run.label)  # raises if the plans differ
    return max(0, run.launches(site) - len(complete(directory / run.label)))


def seconds_left(figure: Figure, site: Site, directory: Path) -> float:
    """Returns the estimated duration of the missing launches of a figure; raises like `missing`."""
    return sum(run.seconds * missing(figure, run, site, directory) for run in figure.runs(site))


def perform(figure: Figure, site: Site, directory: Path, again: bool, say: Callable[[str], None]) -> Results:
    """Runs the missing launches of a figure that has data of its own, and opens all launches.

    Args:
        figure: to measure.
        site: the machine.
        directory: of the figure; each run has a directory in it, named by its label.
        again: True: deletes finished launches first.
        say: receives lines of progress if standard error is not a terminal; else progress is shown there, like that of
            `downbeat run`.

    Raises:
        UsageError: the directory has launches of another plan.
    """
    runs = figure.runs(site)
    if again:
        shutil.rmtree(directory, ignore_errors=True)
    launches: dict[str, tuple[Launch, ...]] = {}
    for run in runs:
        run_directory = directory / run.label
        if missing(figure, run, site, directory):
            execute(plan_of(figure, run, site), run_directory, watcher(stderr=True, say=say))
        try:
            launches[run.label] = open_experiment(run_directory).launches[: run.launches(site)]
        except DownbeatError:
            launches[run.label] = ()  # all launches failed; the figure's warning names the directory of their output
    return Results(figure.name, site, runs, launches)
