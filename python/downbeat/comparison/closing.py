"""The last lines of `downbeat run`: a row per operation and size with both latencies, ratio and verdict; the next step.

The numbers are the medians that downbeat-bench stored, so that no samples have to be read.
"""

from __future__ import annotations

import dataclasses
import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from downbeat.comparison import sheet
from downbeat.comparison.compare import compare
from downbeat.comparison.conditions import BARRIER
from downbeat.comparison.tables import experiment_sheet
from downbeat.data.cells import states_line
from downbeat.data.metrics import METRICS
from downbeat.errors import UsageError
from downbeat.run.estimates import LATENCY, Estimates
from downbeat.run.experiment import Experiment, launch_lines, open_experiment
from downbeat.run.libraries import short_version
from downbeat.run.plan import Plan
from downbeat.show import Sheet, wrapped
from downbeat.statistics.verdicts import FEWEST_LAUNCHES
from downbeat.text import counted

AFFORDABLE = 100  # launches; to need more says that the machine is noisy


@dataclass(frozen=True)
class Medians(Experiment):
    """An experiment known by the medians of its cells, without samples."""

    medians: pd.DataFrame

    @cached_property
    def cells(self) -> pd.DataFrame:
        """As `Estimates.frame`."""
        return self.medians


def closing(plan: Plan, directory: Path, estimates: Estimates) -> list[str]:
    """Returns the lines with which a run ends; none if nothing was measured."""
    frame = estimates.frame(plan)
    if not len(frame):
        return []
    whole = open_experiment(directory)
    experiment = Medians(whole.path, whole.name, whole.launches, whole.plan, whole.failures, frame)
    sides = contrast(plan, frame)
    compared = None
    if sides:
        factor, a, b = sides
        try:
            compared = compare(experiment, where_a={factor: a}, where_b={factor: b})
        except UsageError:  # no cell has both, for example because all launches of one variant failed
            compared = None
    return [*result(experiment, compared).text(), "", *next_steps(plan, directory, sides, compared)]


def result(experiment: Medians, compared: pd.DataFrame | None) -> Sheet:
    """Returns what was found: the comparison that the run was made for, else the medians."""
    libraries = {short_version(str(launch.context["mpi_library"])) for launch in experiment.launches}
    ranks = ", ".join(str(count) for count in sorted({launch.ranks for launch in experiment.launches}))
    title = (
        f"{LATENCY} in us, {METRICS[LATENCY].meaning}; {counted(len(experiment.launches), 'launch')}, {ranks} ranks, "
        f"{'; '.join(sorted(libraries))}"
    )
    noticed = [
        *filter(None, [states_line(experiment.cells)]),
        *launch_lines(experiment.cells, f"{LATENCY}_median", compared is not None),
    ]
    if compared is None:
        return dataclasses.replace(experiment_sheet(experiment, LATENCY), title=title, about=(), notes=noticed)
    explained = [*sheet.verdict_meanings(compared), *sheet.open_lines(compared), *noticed]
    found = sheet.cells_sheet(compared, [], [f"ratio: {sheet.ratio_text(compared)}", *explained])
    return dataclasses.replace(found, title=title)


def contrast(plan: Plan, frame: pd.DataFrame) -> tuple[str, str, str] | None:
    """Returns the factor that the run was made to compare, with its values A and B; None where there is no such pair.

    Two variants, else two synchronizers. mpi_barrier is B, whatever the other one is.
    """
    if len(plan.variants) == 2:
        return "variant", plan.variants[0].name, plan.variants[1].name
    names = list(dict.fromkeys(map(str, frame["synchronizer"])))
    if len(names) != 2:
        return None
    a, b = names if names[0] != BARRIER else names[::-1]
    return "synchronizer", a, b


def next_steps(
    plan: Plan, directory: Path, sides: tuple[str, str, str] | None, compared: pd.DataFrame | None
) -> list[str]:
    """Returns what to do next, commands on lines of their own."""
    steps = []
    if plan.launches < FEWEST_LAUNCHES:
        steps.append(f"next: --launches {FEWEST_LAUNCHES} or more, which verdicts need; the same command continues")
    elif compared is not None:
        needed = compared.loc[compared["reason"].isin(sheet.MORE_LAUNCHES), "launches_needed"]
        if len(needed) and needed.max() <= AFFORDABLE:
            steps.append(
                f"next: --launches {int(needed.max())} to detect a difference of 5 %; the same command continues"
            )
        elif len(needed):
            steps.append("next: use a quieter machine (downbeat doctor); launches differ too much")
    where = shlex.quote(str(directory))
    commands = [f"downbeat report {where}"]
    if sides:
        factor, a, b = sides
        conditions = [] if factor == "variant" else [shlex.quote(f"{factor}={value}") for value in (a, b)]
        commands.insert(0, " ".join(["downbeat compare", where, *conditions]))
    return [*(line for step in steps for line in wrapped(step)), *(f"  {command}" for command in commands)]
