"""The view of a comparison: verdicts first, then the cells, then the notes; and its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.comparison.compared import NUMBERS, Compared, Verdicts
from downbeat.comparison.conditions import BARRIER, COMMON_START, SYNCHRONIZER
from downbeat.comparison.facts import (
    conclusion,
    open_lines,
    slow_launches_line,
    standing_lines,
    states_sentences,
    verdict_counts,
)
from downbeat.data.cells import STATE
from downbeat.data.metrics import METRICS
from downbeat.data.states import state_text
from downbeat.output.fields import Field, factor_field
from downbeat.output.records import write_record
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.show import Sheet
from downbeat.statistics.verdicts import FEWEST_LAUNCHES
from downbeat.tables import Floats
from downbeat.text import PERCENT, counted

SCHEMA_VERSION = 1  # of the record
# Columns of a comparison: as many as fit, from the first of these lists that does.
SHEET_COLUMNS = (
    ("a", "b", "ratio", "interval", "verdict"),
    ("a", "b", "ratio", "verdict"),
    ("a", "ratio", "verdict"),
    ("ratio", "verdict"),
)


class ComparisonFrame(pd.DataFrame):
    """The verdicts for users of pandas; a notebook shows it as the command prints it."""

    def _repr_html_(self) -> str:
        return comparison_sheet(self).html()


def shown_rows(compared: Compared, every_state: bool = False) -> tuple[Compared, list[str]]:
    """The rows of states with enough launches for verdicts, and a line on each other state.

    Where no state has enough, the one with the most launches is shown. No number changes: tests are those of all rows.

    Args:
        compared: all rows.
        every_state: leave no row out.
    """
    states = dict.fromkeys(compared.verdicts.state)
    if every_state or STATE not in compared.factors or len(states) < 2:
        return compared, []
    frame = compared.frame()
    launches = pd.Series(np.nan_to_num(compared.fewest).astype(int))
    configuration = [frame[name] for name in LAUNCH_FACTORS if name in frame] or [pd.Series(0, frame.index)]
    of_state = launches.groupby([*configuration, frame[STATE]], sort=False).transform("max")
    most = of_state.groupby(configuration, sort=False).transform("max")
    kept = ((of_state >= FEWEST_LAUNCHES) | (of_state == most)).to_numpy()
    counts = {state: int(of_state[frame[STATE] == state].max()) for state in states}
    hidden = [state for state in states if not kept[compared.verdicts.state == state].any()]
    return compared[kept], [few_line(state, counts[state], sum(counts.values())) for state in hidden]


def few_line(state: str, launches: int, of: int) -> str:
    """Says why the rows of a state are not shown."""
    why = f"{launches} of {of} launches: too few for verdicts" if launches else "no launch on one of both sides"
    return f"state {state_text(state)}, {why} (--states all shows it)"


def comparison_sheet(result: Compared | pd.DataFrame, every_state: bool = False) -> Sheet:
    """The sheet of a comparison; of states with few launches a line, or all rows.

    Args:
        result: of `compare`, or of `comparison_of`.
        every_state: leave no row out.
    """
    rows, few = shown_rows(Compared.of(result), every_state)
    notes = [*slow_launches_line(rows), *open_lines(rows), *few, *rows.notes, *standing_lines(rows)]
    answer = [str(each) for each in (*conclusion(rows), *states_sentences(rows))]
    frame, fields, labels, across, columns, title = cells_of_sheet(rows)
    return Sheet(frame, fields, labels, across, columns, title, head_of(rows), notes, answer)


def cells_of_sheet(rows: Compared) -> tuple[pd.DataFrame, dict[str, Field], int, str, Sequence[Sequence[str]], str]:
    """A row per operation and size; synchronizers, where they are not compared, are side by side."""
    labels, (name_a, name_b) = rows.shown_factors, rows.heads
    fields = {name: factor_field(name) for name in labels} | {
        "a": Field(name_a, "time"),
        "b": Field(name_b, "time"),
        "ratio": Field("ratio", "ratio"),
        "interval": Field("interval", "interval"),
        "verdict": Field(f"after {name_b}" if rows.readings else f"{name_b} is"),
    }
    verdicts = rows.verdicts
    frame = pd.DataFrame(rows.frame()).assign(
        interval=pd.Series(list(zip(verdicts.ratio_low, verdicts.ratio_high, strict=True)), dtype=object),
        verdict=[rows.word(each) for each in verdicts.verdict],
    )
    across = SYNCHRONIZER if SYNCHRONIZER in labels else ""
    return frame, fields, len(labels), across, SHEET_COLUMNS, "" if conclusion(rows) else verdict_counts(rows)


def head_of(rows: Compared) -> list[tuple[str, str]]:
    """The metric, both sides, the history, the ratio and the method, each with its name."""
    sessions, unit = np.isfinite(rows.verdicts.sessions).any(), "session" if rows.history_is_a else "launch"
    how = "across sessions" if sessions else "pairs of launches" if rows.paired else "independent launches"
    how += ", of two times" if not (rows.paired or sessions or rows.name_a == rows.name_b) else ""
    tests = {0: "no test", 1: "one test"}.get(rows.tests, f"Holm's correction for {rows.tests} cells")
    equivalent = f"equivalent: within {PERCENT * rows.margin:g} % of 1"
    return [
        ("metric", f"{rows.metric} in us: {METRICS[rows.metric].meaning}"),
        ("", f"{rows.statistic} of a launch, the typical launch"),
        ("A", side_text(rows.name_a, rows.where_a, rows.verdicts.launches_a, unit)),
        ("B", side_text(rows.name_b, rows.where_b, rows.verdicts.launches_b)),
        *([("history", history_text(rows))] if sessions else []),
        ("ratio", ratio_text(rows)),
        ("", f"{how}, {PERCENT * rows.confidence:g} % interval; {tests}; {equivalent}"),
    ]


def ratio_text(rows: Compared) -> str:
    """The ratio, and how it relates to delta where a barrier is compared with the common start."""
    names = [where.get(SYNCHRONIZER) for where in (rows.where_a, rows.where_b)]
    if rows.readings and names == [COMMON_START, BARRIER]:
        return "barrier / common start (delta in Schuchart 2023, section 6.1)"
    if rows.readings and names == [BARRIER, COMMON_START]:
        return "common start / barrier (1 / delta in Schuchart 2023, section 6.1)"
    return " / ".join(reversed(rows.heads))


def side_text(name: str, where: Mapping[str, object], launches: Floats, unit: str = "launch") -> str:
    """The name of A or B, its values of the factors that are compared, and its launches."""
    values = "".join(f", {factor}={value}" for factor, value in where.items())
    numbers = sorted(set(launches[np.isfinite(launches)].astype(int)))
    count = "-".join(str(number) for number in dict.fromkeys((numbers[0], numbers[-1]))) if numbers else "no"
    plural = "" if count == "1" else "es" if unit == "launch" else "s"
    return f"{name}{values}, {count} {unit}{plural}"


def history_text(rows: Compared) -> str:
    """The history, and the deviation of its sessions."""
    sessions, deviations = rows.verdicts.sessions, rows.verdicts.session_deviation
    most, count, deviations = int(np.nanmax(sessions)), len(rows.history), deviations[np.isfinite(deviations)]
    ends = (
        dict.fromkeys(f"{PERCENT * end:.1f}" for end in (deviations.min(), deviations.max())) if deviations.size else ()
    )
    beyond = f", which deviate by {' to '.join(ends)} % beyond what launches do" if ends else ""
    return f"{f'{most} of ' if most < count else ''}{counted(count, 'experiment')}{beyond}"


def write_comparison(result: Compared | pd.DataFrame, path: Path) -> None:
    """Writes a comparison as JSON: what it is about, and `cells`, an object per cell; times in s.

    Raises:
        DownbeatError: the file cannot be written.
    """
    frame = Compared.of(result).frame()
    counts = [each.name for each in Verdicts.columns() if each.unit in NUMBERS]
    # Pandas makes numbers with a fraction of counts where a cell has none.
    cells = [
        {name: int(value) if name in counts and np.isfinite(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]
    about = {str(name): value for name, value in frame.attrs.items()}
    write_record({"schema_version": SCHEMA_VERSION, **about, "cells": cells}, path)
