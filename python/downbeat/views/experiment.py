"""The view at the end of `downbeat run`: the first answer with its uncertainty, a table, and the next commands.

Uses the medians that downbeat-bench stored in the files of the launches, so it reads no samples.
"""

from __future__ import annotations

import math
import shlex
import textwrap
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.comparison.compare import comparison_of
from downbeat.comparison.compared import Compared
from downbeat.comparison.conditions import SYNCHRONIZER
from downbeat.comparison.facts import by_row, conclusion, operation_verdicts, other_cells, step_of
from downbeat.comparison.over_all import within_states
from downbeat.comparison.summaries import METRIC, CellSummaries, row_names, summaries_of
from downbeat.data.cells import STATE, Cells
from downbeat.errors import UsageError
from downbeat.output.blocks import Block, Command, Line, Table, View
from downbeat.output.facts import Fact
from downbeat.output.facts.comparison import NextStep, TooFewLaunches
from downbeat.output.facts.experiment import Described, LeftOut, MachineStates, Resemble, RunSummary
from downbeat.output.fields import BARRIER, COMMON_START, Field, start_text
from downbeat.output.terminal import WIDTH, layout
from downbeat.run.estimates import LATENCY, Estimates
from downbeat.run.experiment import FACTORS, Experiment, launch_lines, open_experiment, span_of
from downbeat.run.libraries import short_version
from downbeat.run.plan import LAUNCH_FACTORS, Plan
from downbeat.run.simulation import platforms_of
from downbeat.statistics.kinds import is_kind_line
from downbeat.statistics.location import MIN_SHOWN
from downbeat.statistics.verdicts import MIN_LAUNCHES
from downbeat.text import MICROSECONDS, PERCENT, bytes_text, duration_word, evenly, printable

MAX_SIZES = 6  # columns of the table of latencies; they fit in 80 characters
MAX_ROWS = 24  # of this table
MAX_WARNINGS = 5  # lines
MAX_NAME_CHARACTERS = 44  # of a row
# The last line recommends to spread launches over the first of these times, s, that is SPREAD_FACTOR times the span of
# the launches.
SPREAD_OVER, SPREAD_FACTOR = (1800.0, 7200.0, 6 * 3600.0, 24 * 3600.0, 7 * 24 * 3600.0), 5
REPLACED = ("-o", "--output", "--over", "--interval")  # options that its command does not take from the run

Sides = tuple[str, str, str]  # a factor, and its values A and B


@dataclass(frozen=True)
class Medians(Experiment):
    """An experiment whose cells are the medians of `Estimates.frame`, without samples."""

    medians: Cells

    @cached_property
    def cell_table(self) -> Cells:
        """The cells of `Estimates.frame`."""
        return self.medians


def closing(
    plan: Plan,
    directory: Path,
    estimates: Estimates,
    words: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> View:
    """Makes the view at the end of a run; it has no blocks if nothing was measured.

    Args:
        plan: plan of the run.
        directory: directory of the run.
        estimates: estimates from its launches.
        words: words of its command, before and after `--`.
    """
    frame = estimates.frame(plan)
    if not len(frame):
        return View(plan.name, ())
    opened, cells = open_experiment(directory), Cells.of(frame)
    experiment = Medians(opened.path, opened.name, opened.launches, opened.plan, opened.failures, cells)
    sides = contrast(plan, cells)
    compared = None
    if sides:
        factor, a, b = sides
        try:
            compared = comparison_of(experiment, where=({factor: a}, {factor: b}))
        except UsageError:  # A and B have no cell in common, e.g. because all launches of a variant failed
            compared = None
    blocks = [
        Line(summary_of(experiment)),
        *(Line(fact) for fact in machine_states(cells)),
        *latency_table(cells, sides),
        *(verdict_lines(compared) if compared else []),
        *warning_lines(cells, compared),
        *next_steps(plan, directory, sides if compared else None, compared, words),
        *spread_lines(experiment, {library.name for library in plan.on_machine.libraries}, directory, words),
    ]
    return View(plan.name, tuple(blocks))


def contrast(plan: Plan, cells: Cells) -> Sides | None:
    """Chooses the factor to compare, with its values A and B; None if no factor has two values.

    The factor is that of launches (variant, library, environment), else the synchronizer: mpi_barrier against the
    common start, or two other synchronizers.
    """
    for factor, values in (("variant", plan.variants), ("library", plan.libraries), ("environment", plan.environments)):
        if len(values) == 2:
            return factor, values[0].name, values[1].name
    names = list(dict.fromkeys(cells.synchronizer.tolist()))
    if {COMMON_START, BARRIER} <= set(names):
        return SYNCHRONIZER, COMMON_START, BARRIER
    if len(names) != 2:
        return None
    a, b = names if names[0] != BARRIER else names[::-1]
    return SYNCHRONIZER, a, b


def summary_of(experiment: Experiment) -> RunSummary:
    """Summarizes an experiment: ranks, libraries, launches."""
    contexts = [launch.context for launch in experiment.launches]
    return RunSummary(
        tuple(sorted({launch.ranks for launch in experiment.launches})),
        "".join(platforms_of(contexts[:1])),
        tuple(dict.fromkeys(short_version(str(context["mpi_library"])) for context in contexts)),
        len(experiment.launches),
        len({launch.configuration for launch in experiment.launches}),
        span_of(contexts),
    )


def machine_states(cells: Cells) -> list[MachineStates]:
    """Returns the states of the machine, with their numbers of launches; empty if there is one state."""
    cells = cells[cells.state != ""]  # some numbers of ranks may have one state only
    states = Counter(state for *_, state in dict.fromkeys(cells.values(*LAUNCH_FACTORS, "launch", STATE)))
    return [MachineStates(tuple(states.most_common()))] if len(states) > 1 else []


def latency_table(cells: Cells, sides: Sides | None) -> list[Block]:
    """Returns a table of latencies from one start, by operation and a few sizes.

    The start is the common start if it was measured, else A of a comparison of starts, else the first synchronizer.
    """
    names = list(dict.fromkeys(cells.synchronizer.tolist()))
    preferred = [COMMON_START, *(sides[1:2] if sides and sides[0] == SYNCHRONIZER else ()), names[0]]
    start = next(name for name in preferred if name in names)
    factors = [name for name in FACTORS if name != SYNCHRONIZER]
    table = summaries_of(cells[cells.synchronizer == start], factors, LATENCY)
    table = table[~np.isnan(table.median)]
    labels = [short_name(name) for name in row_names(table, factors)]
    texts = {(name, int(table.size[i])): latency_text(table, i) for i, name in enumerate(labels)}
    interval = "; +-: half the 95 % interval" if (table.launches >= MIN_SHOWN).any() else ""
    title = f"latency {start_text(start)} [us]{interval}"
    block = size_table(title, texts, list(dict.fromkeys(labels)))
    return [block] if block else []


def size_table(title: str, texts: Mapping[tuple[str, int], str], rows: Sequence[str]) -> Table | None:
    """Makes a table of as many sizes as fit, evenly spread; a latency without a size is in the first column."""
    sizes = sorted({size for _, size in texts if size})
    table = None
    for count in range(min(MAX_SIZES, max(len(sizes), 1)), 0, -1):
        chosen = evenly(sizes, count) if sizes else [0]
        frame = pd.DataFrame({"bytes": rows})
        for i, size in enumerate(chosen):
            frame[str(size)] = [texts.get((row, size), texts.get((row, 0), "") if not i else "") for row in rows]
        fields = {"bytes": Field("bytes" if sizes else "")}
        fields |= {str(size): Field(bytes_text(size) if size else "", "number") for size in chosen}
        table = Table(title, frame, fields, more="downbeat show", max_rows=MAX_ROWS)
        if max(map(len, layout(table)[0]), default=0) <= WIDTH:
            break
    return table


def short_name(name: str) -> str:
    """Shortens the name of a row so that the table fits a terminal."""
    return textwrap.shorten(printable(name), MAX_NAME_CHARACTERS, placeholder="...")


def latency_text(cells: CellSummaries, row: int) -> str:
    """Returns a latency in us with three digits, and half of its interval in percent."""
    median, low, high = float(cells.median[row]), float(cells.low[row]), float(cells.high[row])
    value = median * MICROSECONDS
    text = f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value >= 0.01 else f"{value:.3g}"
    if cells.launches[row] < MIN_SHOWN or math.isnan(low):
        return text
    half = PERCENT * (high - low) / (2 * median)
    return f"{text} +-{f'{half:.0f}' if half >= 0.95 else f'{half:.1f}'}%"


def verdict_lines(compared: Compared) -> list[Block]:
    """Returns lines on verdicts: the conclusion, then each operation by ranges of sizes."""
    facts: list[Fact] = [*conclusion(compared), *within_states(compared)]
    verdicts = [operation_verdicts(rows, name) for name, rows in by_row(compared.answer)]
    return [
        *(Line(fact, "answer") for fact in facts),
        *(Line(fact, label=short_name(fact.operation), brief=len(verdicts) > MAX_LONG_VERDICTS) for fact in verdicts),
        *(Line(fact) for fact in other_cells(compared)),
    ]


MAX_LONG_VERDICTS = 4  # operations; with more, lines omit the reasons of undecided sizes


def warning_lines(cells: Cells, compared: Compared | None) -> list[Block]:
    """Warnings on cells that do not count and on correlated launches, each with a remedy."""
    facts: list[Fact] = []
    for status, rows in sorted(cells[~cells.counts].groups(cells.status[~cells.counts]), key=lambda pair: str(pair[0])):
        names = dict.fromkeys(
            f"{name} {bytes_text(size)}" if size else name for name, size in rows.values("operation", "size")
        )
        facts.append(LeftOut(status, tuple(names), len(set(rows.launch.tolist()))))
    kinds = launch_lines(cells.frame(), f"{METRIC}_median") if compared is None else compared.notes
    facts += [Resemble(line) for line in kinds if is_kind_line(line)]
    return [Line(fact, "warning") for fact in facts[:MAX_WARNINGS]]


def next_steps(
    plan: Plan,
    directory: Path,
    sides: Sides | None,
    compared: Compared | None,
    words: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> list[Block]:
    """Returns the next step towards a verdict, and commands."""
    step: list[Fact] = []
    if plan.launches < MIN_LAUNCHES:
        step = [TooFewLaunches(MIN_LAUNCHES)]
    elif compared is not None and len(compared.answer) and (compared.answer.fewest < MIN_LAUNCHES).all():
        step = [TooFewLaunches(2 * plan.launches, so_far=True)]
    elif compared is not None:
        step = [*step_of(compared)]
    where = shlex.quote(str(directory))
    commands = [f"downbeat show {where}", f"downbeat report {where}"]
    if sides:
        factor, a, b = sides
        conditions = [] if factor == "variant" else [shlex.quote(f"{factor}={value}") for value in (a, b)]
        commands.insert(0, " ".join(["downbeat compare", where, *conditions]))
    launches = next((fact.needed for fact in step if isinstance(fact, NextStep) and fact.needed > plan.launches), 0)
    if launches and words[0]:
        commands.insert(0, run_command(words, ("--launches",), ["--launches", str(launches)]))
    return [*(Line(fact, label="next") for fact in step), Command(tuple(commands), "" if step else "next")]


def run_command(words: tuple[Sequence[str], Sequence[str]], without: Collection[str], options: Sequence[str]) -> str:
    """Returns the command of a run (`words` of `closing`), with the options `without` replaced by `options`."""
    return shlex.join(
        ["downbeat", "run", *without_options(words[0], without), *options, *(["--", *words[1]] if words[1] else [])]
    )


def spread_lines(
    experiment: Experiment, libraries: Collection[str], directory: Path, words: tuple[Sequence[str], Sequence[str]]
) -> list[Block]:
    """Returns the time that the launches cover, and the command that spreads launches over a longer time.

    Empty if launches were spread already: the launches of `libraries` (not simulated) took less than half of the time.
    `words`: see `closing`.
    """
    if not words[0] or len(experiment.launches) < 2:
        return []
    try:
        busy = sum(
            (
                datetime.fromisoformat(str(launch.record["ended"]))
                - datetime.fromisoformat(str(launch.record["started"]))
            )
            / timedelta(seconds=1)
            for launch in experiment.launches
            if launch.library in libraries
        )
    except (KeyError, ValueError):
        return []
    span, count = span_of(launch.context for launch in experiment.launches), len(experiment.launches)
    if not 2 * busy * (count - 1) / count > span:  # the span ends at the start of the last launch
        return []
    time = duration_word(next((seconds for seconds in SPREAD_OVER if seconds >= SPREAD_FACTOR * span), SPREAD_OVER[-1]))
    target = next(
        path for path in (f"{directory}-{time}{again}" for again in ("", *range(2, 1000))) if not Path(path).exists()
    )
    command = run_command(words, REPLACED, ["--over", time, "-o", target])
    return [Line(Described(count, span)), Command((command,))]


def without_options(words: Sequence[str], names: Collection[str]) -> list[str]:
    """Removes options with their values: `-o DIR`, `-oDIR`, `--output DIR` or `--output=DIR`."""
    kept: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word in names:
            next(remaining, None)
        elif not any(word.startswith(f"{name}=" if name.startswith("--") else name) for name in names):
            kept.append(word)
    return kept
