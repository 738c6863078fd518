"""Launches the runs of a figure, and uses complete launches."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from downbeat.errors import DownbeatError
from downbeat.run import directory as places
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
SEED = 1  # of the order of cells and of random numbers in downbeat-bench, the same each time


def plan_of(figure: Figure, run: Run, site: Site) -> Plan:
    """Returns the experiment that a run is."""
    return Plan(
        name=f"{figure.name} {run.label}",
        measurement=Measurement(run.operations, dict(run.options)),
        libraries=(site.library(run.library, run.per_node(site)),),
        ranks=(run.ranks,),
        environments=(Environment(FIXED, dict(run.variables)) if run.variables else Environment(),),
        launches=run.launches(site),
        # A busy machine takes its time, above all where nothing is measured; a hanging launch is to end some day.
        timeout=MIN_LIMIT + LIMIT_FACTOR * run.seconds,
        seed=SEED,
    )


def missing(figure: Figure, run: Run, site: Site, directory: Path) -> int:
    """Returns the number of launches that a run still lacks, in the directory of its figure.

    Raises:
        UsageError: the launches there are of something else.
    """
    adopt(plan_of(figure, run, site), directory / run.label)
    return max(0, run.launches(site) - len(places.complete(directory / run.label)))


def seconds_left(figure: Figure, site: Site, directory: Path) -> float:
    """Returns roughly the time of the missing launches of a figure; may raise as `missing` does."""
    return sum(run.seconds * missing(figure, run, site, directory) for run in figure.runs(site))


def perform(figure: Figure, site: Site, directory: Path, again: bool, say: Callable[[str], None]) -> Results:
    """Runs the missing launches of a figure that has data of its own, and opens all.

    Each run has a directory, named by its label; `again` throws finished launches away first. Progress is on standard
    error as that of `downbeat run`; where that is no terminal, `say` receives its lines.

    Raises:
        UsageError: the directory holds launches of something else.
    """
    runs = figure.runs(site)
    if again:
        shutil.rmtree(directory, ignore_errors=True)
    launches: dict[str, tuple[Launch, ...]] = {}
    for run in runs:
        where = directory / run.label
        if missing(figure, run, site, directory):
            execute(plan_of(figure, run, site), where, watcher(stderr=True, say=say))
        try:
            launches[run.label] = open_experiment(where).launches[: run.launches(site)]
        except DownbeatError:
            launches[run.label] = ()  # all launches failed; the section says where their output is
    return Results(figure.name, site, runs, launches)
