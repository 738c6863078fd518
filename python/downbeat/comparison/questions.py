"""Questions on one experiment, and the last lines of `downbeat run`, which answer them.

Barriers are compared with the common start, algorithms with the fastest. The last lines are a row per operation and
size with both latencies, ratio and verdict. Their numbers are the medians that downbeat-bench stored, so that no
samples have to be read.
"""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from downbeat.comparison import sheet
from downbeat.comparison.compare import compare
from downbeat.comparison.conditions import BARRIER, COMMON_START
from downbeat.comparison.judging import Match, Matcher, judge_matches
from downbeat.comparison.sheet import READINGS
from downbeat.comparison.summaries import (
    CONFIGURATION,
    MEDIAN_LATENCY,
    describe_each,
    judged_cells,
    synchronization,
    value_text,
)
from downbeat.comparison.tables import experiment_sheet
from downbeat.data.cells import hidden_by_step, states_line
from downbeat.data.metrics import METRICS
from downbeat.errors import UsageError
from downbeat.run.estimates import LATENCY, Estimates
from downbeat.run.experiment import FACTORS, Experiment, launch_lines, open_experiment
from downbeat.run.libraries import short_version
from downbeat.run.plan import Plan
from downbeat.show import Sheet, wrapped
from downbeat.statistics.verdicts import FEWEST_LAUNCHES, Comparison
from downbeat.text import counted

# The factors of cells that differ in their start alone.
BESIDE_START = [name for name in FACTORS if name not in ("synchronizer", "barrier_algorithm", "computation")]


@dataclass(frozen=True)
class AgainstStart:
    """A cell after a synchronizer, compared with the same cell after `harmonize` in the same launches."""

    synchronizer: str
    cell: str
    comparison: Comparison
    factors: Mapping[str, object] = field(default_factory=dict)  # of the cell


def numbered(experiment: Experiment) -> pd.DataFrame:
    """Returns the cells that are judged, ready to be matched, with `line`, the name of their start."""
    cells = judged_cells(experiment)
    return cells.assign(
        counts=True,
        uncertainty=hidden_by_step(cells, MEDIAN_LATENCY.removesuffix("_median")),
        line=synchronization(cells),
    )


def against_start(experiment: Experiment) -> list[AgainstStart]:
    """Compares every cell after every synchronizer with that after `harmonize`: ratios are synchronizer / harmonize.

    All cells of one synchronizer are judged together. A single rank has nobody to be synchronized with.
    """
    cells = numbered(experiment)
    cells = cells[(cells["ranks"] > 1) & (cells[MEDIAN_LATENCY] > 0)]
    start = cells[cells["synchronizer"] == COMMON_START].drop_duplicates([*BESIDE_START, "launch"])
    others = cells[~cells["synchronizer"].str.startswith((COMMON_START, "none"))]
    rows, comparisons = [], []
    for line, of_line in others.groupby("line", sort=False):
        after = of_line.drop_duplicates([*BESIDE_START, "launch"])
        places = {key: place for place, key in enumerate(after.groupby(BESIDE_START, sort=False).groups)}
        found = Matcher(MEDIAN_LATENCY).cells(start, after, BESIDE_START)
        matches = {places[tuple(one.factors.values())]: one for one in found if not one.obstacle}
        for one in judge_matches([matches[place] for place in sorted(matches)]):
            rows.append({**one.match.factors, "line": line})
            comparisons.append(one.comparison)
    if not rows:
        return []
    frame = pd.DataFrame(rows)
    names = describe_each(frame, "operation", CONFIGURATION) + sizes(frame)
    return [
        AgainstStart(str(line), str(name), one, factors)
        for line, name, one, factors in zip(frame["line"], names, comparisons, rows, strict=True)
        if one
    ]


def against_start_frame(judged: list[AgainstStart]) -> pd.DataFrame:
    """Returns the verdicts as a table."""
    return pd.DataFrame(
        [
            {
                "cell": one.cell,
                "synchronizer": one.synchronizer,
                "verdict": READINGS.get(one.comparison.verdict, one.comparison.verdict),
                "ratio": one.comparison.ratio.estimate,
                "low": one.comparison.ratio.low,
                "high": one.comparison.ratio.high,
                "reason": one.comparison.reason,
            }
            for one in judged
        ]
    )


def sizes(frame: pd.DataFrame) -> pd.Series[str]:
    """Returns for each row its size as the end of a cell's name, nothing where the operation has none."""
    return pd.Series([f", {value_text('size', size)}" if size else "" for size in frame["size"]], index=frame.index)


def slower_algorithms(cells: pd.DataFrame, fastest: pd.Series[str]) -> dict[str, set[str]]:
    """Returns for each `panel` the algorithms that are significantly slower than the fastest.

    The same launches have shown which is the fastest, and the luckiest is easily better than its equals. So all pairs
    of algorithms in all panels are judged together, and those with the fastest looked up: the stated error holds for
    whichever pairs the data pick (Holm 1979).

    Args:
        cells: those of `numbered`, of one operation from a common start, with `panel`.
        fastest: algorithm by panel.
    """
    asked: list[tuple[str, str, str]] = []
    matches: list[Match] = []
    for panel, group in cells.groupby("panel", sort=False):
        by_name = {str(name): rows.drop_duplicates("launch") for name, rows in group.groupby("algorithm")}
        for one, other in itertools.combinations(by_name, 2):
            first, second = (other, one) if other == fastest[panel] else (one, other)
            match = Matcher(MEDIAN_LATENCY).launches({}, by_name[first], by_name[second], str(panel))
            if not match.obstacle:
                asked.append((str(panel), first, second))
                matches.append(match)
    slower: dict[str, set[str]] = {str(panel): set() for panel in fastest.index}
    for (panel, first, second), judged in zip(asked, judge_matches(matches), strict=True):
        if first == fastest[panel] and judged.verdict == "slower":
            slower[panel].add(second)
    return slower


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
    """Returns the result: the comparison that the run was made for, else the medians."""
    libraries = {short_version(str(launch.context["mpi_library"])) for launch in experiment.launches}
    ranks = ", ".join(str(count) for count in sorted({launch.ranks for launch in experiment.launches}))
    title = (
        f"{LATENCY} in us, {METRICS[LATENCY].meaning}; {counted(len(experiment.launches), 'launch')}, {ranks} ranks, "
        f"{'; '.join(sorted(libraries))}"
    )
    if compared is None:
        noticed = [
            *filter(None, [states_line(experiment.cells)]),
            *launch_lines(experiment.cells, f"{LATENCY}_median"),
        ]
        return dataclasses.replace(experiment_sheet(experiment, LATENCY), title=title, about=(), notes=noticed)
    explained = [*sheet.verdict_meanings(compared), *sheet.open_lines(compared), *compared.attrs["notes"]]
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
