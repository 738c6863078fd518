"""The last screen of `downbeat run`: the machine, latencies, what was compared, what to do next. At most 24 lines.

The first answer and its uncertainty; all numbers are one command away. They are the medians that downbeat-bench stored,
so that no samples have to be read.
"""

from __future__ import annotations

import math
import re
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
from downbeat.comparison.conditions import BARRIER, COMMON_START, SYNCHRONIZER
from downbeat.comparison.facts import (
    NOT_DECIDED,
    by_row,
    conclusion,
    helpful_step,
    row_names,
    states_sentences,
    verdict_ranges,
)
from downbeat.comparison.sheet import shown_rows
from downbeat.comparison.summaries import MEDIAN_LATENCY
from downbeat.comparison.tables import place_of, summarize_launches
from downbeat.data.cells import CHANGED, PATH, STATE, WRONG, left_out
from downbeat.data.states import LINE, MESSAGE, state_text
from downbeat.errors import UsageError
from downbeat.output.terminal import WIDTH, aligned, wrapped
from downbeat.run.estimates import LATENCY, Estimates
from downbeat.run.experiment import FACTORS, Experiment, launch_lines, open_experiment, span_of
from downbeat.run.libraries import short_version
from downbeat.run.plan import LAUNCH_FACTORS, LaunchKey, Plan
from downbeat.statistics.kinds import is_kind_line
from downbeat.statistics.location import FEWEST_SHOWN
from downbeat.statistics.verdicts import FEWEST_LAUNCHES
from downbeat.tables import Flags
from downbeat.text import MICROSECONDS, PERCENT, bytes_text, counted, duration_text, duration_word, evenly, printable

LINES = 23  # of a terminal's 24; one says where all was written
TABLE_ROWS, MOST_SIZES = 5, 6  # fit in 80 columns
LEAST_VERDICTS = 3  # lines, however many others there are
MOST_WARNINGS = 5  # lines
LONGEST_NAME = 44  # of a row
# Times over which the last line spreads launches, s: the first that is so much longer than they took in a row.
SPREAD_OVER, LONGER = (1800.0, 7200.0, 6 * 3600.0, 24 * 3600.0, 7 * 24 * 3600.0), 5
REPLACED = ("-o", "--output", "--over", "--interval")  # options of a run

Sides = tuple[str, str, str]  # a factor, and its values A and B
RanksState = tuple[object, object]  # a number of ranks, and a state of the machine


@dataclass(frozen=True)
class Medians(Experiment):
    """An experiment known by the medians of its cells, without samples."""

    medians: pd.DataFrame

    @cached_property
    def cells(self) -> pd.DataFrame:
        """As `Estimates.frame`."""
        return self.medians


def closing(
    plan: Plan,
    directory: Path,
    estimates: Estimates,
    every_state: bool = False,
    words: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> list[str]:
    """The lines with which a run ends; none if nothing was measured.

    Args:
        plan: of the run.
        directory: of the run.
        estimates: of its launches.
        every_state: whether to show verdicts of all states of the machine.
        words: of its command, before and after `--`.
    """
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
            compared = comparison_of(experiment, where=({factor: a}, {factor: b}))
        except UsageError:  # nothing has both, for example because all launches of one variant failed
            compared = None
    states = estimates.states()
    main = main_states(frame)
    above = [*machine_lines(experiment, states, frame), "", *latency_lines(frame, sides, main)]
    below = [
        *warning_lines(frame, compared),
        *next_steps(plan, directory, sides if compared is not None else None, compared, every_state),
        *spread_lines(experiment, directory, words),
    ]
    if compared is None or not sides:
        return [*above, "", *below]
    room = max(LEAST_VERDICTS, LINES - len(above) - len(below) - 2)
    return [*above, "", *verdict_lines(compared, sides, main, every_state, room), "", *below]


def contrast(plan: Plan, frame: pd.DataFrame) -> Sides | None:
    """The factor that the run was made to compare, with its values A and B; None where there is no such pair.

    What launches differ in, if it has two values; else mpi_barrier against the common start; else two synchronizers.
    """
    for factor, values in (("variant", plan.variants), ("library", plan.libraries), ("environment", plan.environments)):
        if len(values) == 2:
            return factor, values[0].name, values[1].name
    names = list(dict.fromkeys(map(str, frame[SYNCHRONIZER])))
    if {COMMON_START, BARRIER} <= set(names):
        return SYNCHRONIZER, COMMON_START, BARRIER
    if len(names) != 2:
        return None
    a, b = names if names[0] != BARRIER else names[::-1]
    return SYNCHRONIZER, a, b


def main_states(frame: pd.DataFrame) -> set[RanksState]:
    """The state whose numbers are shown for each number of ranks: the most frequent one of all configurations.

    Launches of one configuration without any in that state show none.
    """
    launches = frame[frame["status"] != CHANGED].drop_duplicates([*LAUNCH_FACTORS, "launch", STATE])
    found: set[RanksState] = set()
    for ranks, of_ranks in launches.groupby("ranks", sort=False):
        counts = of_ranks.groupby([STATE, *LAUNCH_FACTORS], sort=False).size().unstack(STATE, fill_value=0)
        found.add((ranks, max(counts, key=lambda state: (counts[state].min(), counts[state].sum()))))
    return found


def in_states(frame: pd.DataFrame, states: set[RanksState]) -> pd.DataFrame:
    """The rows of these states, by their number of ranks."""
    return frame[[pair in states for pair in zip(frame["ranks"], frame[STATE], strict=True)]]


def of_states(compared: Compared, states: set[RanksState]) -> Flags:
    """The rows of these states, by their number of ranks; all where one of both is compared."""
    if not {"ranks", STATE} <= set(compared.factors):
        return np.ones(len(compared), dtype=bool)
    return np.array(
        [pair in states for pair in zip(compared.verdicts.ranks.tolist(), compared.verdicts.state, strict=True)]
    )


def of_all_configurations(frame: pd.DataFrame, states: set[RanksState]) -> pd.DataFrame:
    """The rows of these states; of a configuration without any, those of its most frequent state."""
    parts = []
    for _, group in frame.groupby(list(LAUNCH_FACTORS), sort=False):
        rows = in_states(group, states)
        parts.append(rows if len(rows) else group[group[STATE] == group[STATE].mode()[0]])
    found: pd.DataFrame = pd.concat(parts)
    return found


def machine_lines(experiment: Medians, states: Mapping[LaunchKey, str], frame: pd.DataFrame) -> list[str]:
    """Ranks, library, launches, and the states of the machine."""
    contexts = [launch.context for launch in experiment.launches]
    where, place = place_of(contexts[0])
    libraries = dict.fromkeys(short_version(str(one["mpi_library"])) for one in contexts)
    every = sorted({launch.ranks for launch in experiment.launches})
    ranks = f"{', '.join(map(str, every))} {'rank' if every == [1] else 'ranks'}"
    kinds = len({launch.configuration for launch in experiment.launches})
    span = span_of(contexts)
    within = f" within {duration_text(span)}" if span > 0 else ""
    of = f" of {kinds} configurations" if kinds > 1 else ""
    what = (
        f"simulated on {place.partition(', ')[0]}{', ...)' if ', ' in place else ''}"
        if where == "simulated"
        else ", ".join(libraries)
    )
    text = f"{ranks}, {what}, {counted(len(states), 'launch')}{of}{within}"
    parts = []
    for one in every:
        counts = Counter(state for key, state in states.items() if key.ranks == one)
        if len(counts) > 1:
            of_ranks = f"with {counted(one, 'rank')} " if len(every) > 1 else ""
            in_states_of = (f"{count} in state {state_text(state)}" for state, count in counts.most_common())
            parts.append(f"{of_ranks}{', '.join(in_states_of)} ({LINE if (frame[PATH] == LINE).all() else MESSAGE})")
    return wrapped(f"{text}{': ' if parts else ''}{'; '.join(parts)}", 3)


def latency_lines(frame: pd.DataFrame, sides: Sides | None, main: set[RanksState]) -> list[str]:
    """The latencies from a common start, by operation and a few sizes."""
    names = list(dict.fromkeys(map(str, frame[SYNCHRONIZER])))
    start = COMMON_START if COMMON_START in names else sides[1] if sides and sides[0] == SYNCHRONIZER else names[0]
    rows = of_all_configurations(frame[frame[SYNCHRONIZER] == start], main)
    table = summarize_launches(rows, [name for name in FACTORS if name != SYNCHRONIZER], LATENCY)
    table = table[table["median"].notna()].reset_index(drop=True)
    labels = row_names(table)
    apart = [(ranks, state) not in main for ranks, state in zip(table["ranks"], table[STATE], strict=True)]
    labels = labels.where(~np.array(apart, dtype=bool), labels + ", " + table[STATE].map(state_text))
    rows_of = list(dict.fromkeys(labels))
    cells = {(name, int(table["size"][i])): latency_text(table.iloc[i]) for i, name in enumerate(labels)}
    sizes = sorted({size for _, size in cells if size})
    at = "from a common start" if start == COMMON_START else f"after {start}"
    states = {str(state) for _, state in main}
    in_state = f", state {state_text(min(states))}" if len(states) == 1 and min(states) else ""
    interval = "; +-: half the 95 % interval" if (table["launches"] >= FEWEST_SHOWN).any() else ""
    head = f"latency {at}{in_state} [us]{interval}"
    shown = rows_of[:TABLE_ROWS]
    more = [f"and {len(rows_of) - len(shown)} more: downbeat show"] if len(rows_of) > len(shown) else []
    return [*wrapped(head), *size_table(cells, shown, sizes), *more]


def size_table(cells: Mapping[tuple[str, int], str], rows: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """Rows of latencies at as many sizes as fit, evenly spread."""
    for count in range(min(MOST_SIZES, len(sizes)), 0, -1):
        chosen = evenly(sizes, count)
        texts = [["bytes", *map(bytes_text, chosen)], *([short(row), *row_texts(cells, row, chosen)] for row in rows)]
        lines = [line.rstrip() for line in aligned(texts, [True, *[False] * count])]
        if max(map(len, lines)) <= WIDTH:
            return lines
    return aligned([[short(row), cells.get((row, 0), "")] for row in rows], [True, False]) if rows else []


def short(name: str) -> str:
    return textwrap.shorten(printable(name), LONGEST_NAME, placeholder="...")


def row_texts(cells: Mapping[tuple[str, int], str], label: str, sizes: Sequence[int]) -> list[str]:
    """The latencies of a row; one without a size is in the first column."""
    if (label, 0) in cells:
        return [cells[label, 0], *("" for _ in sizes[1:])]
    return [cells.get((label, size), "") for size in sizes]


def latency_text(row: pd.Series) -> str:
    """A latency in us with three digits, and half of its interval in percent."""
    median, low, high = (float(row[name]) for name in ("median", "low", "high"))
    value = median * MICROSECONDS
    text = f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value >= 0.01 else f"{value:.3g}"
    if row["launches"] < FEWEST_SHOWN or math.isnan(low):
        return text
    half = PERCENT * (high - low) / (2 * median)
    return f"{text} +-{f'{half:.0f}' if half >= 0.95 else f'{half:.1f}'}%"


def verdict_lines(compared: Compared, sides: Sides, main: set[RanksState], every_state: bool, room: int) -> list[str]:
    """The verdicts in a sentence, then by operation and ranges of sizes; in at most `room` lines."""
    factor, a, b = sides
    rows, few = shown_rows(compared, every_state)
    common = rows.within(SYNCHRONIZER, COMMON_START)
    rows = common if len(common) else rows
    is_main = np.ones(len(rows), dtype=bool) if every_state else of_states(rows, main)
    is_main = is_main if is_main.any() else ~is_main
    named, others = rows[is_main], rows[~is_main]
    if factor == SYNCHRONIZER:
        against = "" if a == COMMON_START else f" (against {a})"
        head = [f"what {'MPI_Barrier' if b == BARRIER else b} does to these numbers{against}, by bytes"]
    else:
        start = " from a common start" if set(named.verdicts.synchronizer) == {COMMON_START} else ""
        head = [line for each in conclusion(named) for line in wrapped(str(each).replace("undecided", NOT_DECIDED))]
        head = head or [f"{b} against {a}: no verdict"]
        head += [line for each in states_sentences(compared) for line in wrapped(str(each))]
        head.append(f"{b} against {a}{start}, by bytes:")
    several = every_state and len(set(named.verdicts.state)) > 1
    groups = [
        (short(f"{name}, {state_text(state)}" if several else name), group.within(STATE, state) if several else group)
        for name, group in by_row(named)
        for state in (dict.fromkeys(group.verdicts.state) if several else ("",))
    ]
    width = max(len(name) for name, _ in groups)
    tail = [line for each in [*other_lines(others), *few] for line in wrapped(f"  {each}")]
    room = max(LEAST_VERDICTS, room - len(head) - len(tail))

    def lines(brief: bool) -> list[list[str]]:
        indents = [f"  {name:<{width}}  " for name, _ in groups]
        texts = ["; ".join(verdict_ranges(group, brief)) for _, group in groups]
        return [
            textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent))
            for indent, text in zip(indents, texts, strict=True)
        ]

    whole = lines(brief=False)
    return [*head, *(cut(whole if sum(map(len, whole)) <= room else lines(brief=True), room)), *tail]


def cut(groups: Sequence[list[str]], room: int) -> list[str]:
    """The groups of lines for which there is room, and the number of the others."""
    if sum(map(len, groups)) <= room:
        return [line for group in groups for line in group]
    kept: list[str] = []
    for i, group in enumerate(groups):
        if len(kept) + len(group) > room - 1:
            return [*kept, f"  and {len(groups) - i} more: downbeat compare"]
        kept += group
    return kept


def other_lines(others: Compared) -> list[str]:
    """A line for each other state that has enough launches for verdicts."""
    lines = []
    for state in dict.fromkeys(others.verdicts.state):
        counts = Counter(others.within(STATE, state).verdicts.verdict)
        text = ", ".join(f"{counts[each]} {others.word(each, counts[each])}" for each in counts)
        lines.append(f"state {state_text(state)}: {text.replace('undecided', NOT_DECIDED)}")
    return lines


def warning_lines(frame: pd.DataFrame, compared: Compared | None) -> list[str]:
    """Reasons to doubt numbers, each with what to do."""
    found = []
    for status, rows in left_out(frame).items():
        pairs_of = zip(rows["operation"], rows["size"], strict=True)
        names = list(dict.fromkeys(f"{name} {bytes_text(size)}" if size else name for name, size in pairs_of))
        which = f"{', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}"
        where = f"{counted(rows['launch'].nunique(), 'launch')}, not counted"
        if status == CHANGED:
            if 10 * len(rows) > len(frame):
                found.append(f"the state of the machine changed in {which} ({where}): more, shorter launches (-r)")
        elif status == WRONG:
            found.append(f"wrong results of {which} ({where}): do not use the operation; -- --validate repeats it")
        else:
            found.append(f"{status}: {which} ({where}): a quieter machine, or -- --max-attempts")
    kinds = launch_lines(frame, MEDIAN_LATENCY) if compared is None else compared.notes
    for line in filter(is_kind_line, kinds):
        said = re.sub(r" \([^)]*\)", "", line).partition(":")[0]  # downbeat compare says it whole
        found.append(f"{said}: spread launches over a longer time (--over)")
    return [line for one in found[:MOST_WARNINGS] for line in wrapped(f"warning: {one}", 2)]


def next_steps(
    plan: Plan, directory: Path, sides: Sides | None, compared: Compared | None, every_state: bool = False
) -> list[str]:
    """What to do next, commands on lines of their own."""
    step = ""
    if plan.launches < FEWEST_LAUNCHES:
        step = f"--launches {FEWEST_LAUNCHES} or more, which verdicts need"
    elif compared is not None:
        step = helpful_step(shown_rows(compared, every_state)[0], plan.launches)
    where = shlex.quote(str(directory))
    commands = [f"downbeat show {where}", f"downbeat report {where}"]
    if sides:
        factor, a, b = sides
        conditions = [] if factor == "variant" else [shlex.quote(f"{factor}={value}") for value in (a, b)]
        commands.insert(0, " ".join(["downbeat compare", where, *conditions]))
    return [*(wrapped(f"next: {step}") if step else []), *(f"  {command}" for command in commands)]


def spread_lines(experiment: Experiment, directory: Path, words: tuple[Sequence[str], Sequence[str]]) -> list[str]:
    """The time that launches in a row describe, and the command that spreads them over a longer one.

    None where they were spread: for more than half of the time, none was running. `words`: as in `closing`.
    """
    simulated = experiment.plan is not None and any(one.simulate for one in experiment.plan.libraries)
    if simulated or not words[0] or len(experiment.launches) < 2:
        return []
    try:
        busy = sum(
            (datetime.fromisoformat(str(one.record["ended"])) - datetime.fromisoformat(str(one.record["started"])))
            / timedelta(seconds=1)
            for one in experiment.launches
        )
    except (KeyError, ValueError):
        return []
    span, count = span_of(one.context for one in experiment.launches), len(experiment.launches)
    if not 2 * busy * (count - 1) / count > span:  # which ends at the start of the last launch
        return []
    time = duration_word(next((one for one in SPREAD_OVER if one >= LONGER * span), SPREAD_OVER[-1]))
    target = next(
        path for path in (f"{directory}-{time}{again}" for again in ("", *range(2, 1000))) if not Path(path).exists()
    )
    said = f"these {count} launches describe {duration_text(span)} of this machine; for latencies that hold tomorrow:"
    again = ["downbeat", "run", *without_options(words[0], REPLACED), "--over", time, "-o", target]
    return [*wrapped(said), f"  {shlex.join([*again, *(['--', *words[1]] if words[1] else [])])}"]


def without_options(words: Sequence[str], names: Collection[str]) -> list[str]:
    """The words of a command without some options, `-o DIR`, `-oDIR`, `--output DIR` or `--output=DIR`."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in names:
            next(rest, None)
        elif not any(word.startswith(f"{name}=" if name.startswith("--") else name) for name in names):
            kept.append(word)
    return kept
