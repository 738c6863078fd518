"""The view of `downbeat compare`: the answer and its cells, the other cells, notes; and the record for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.comparison.compare import Rule, comparison_of
from downbeat.comparison.compared import NUMBERS, Compared, Verdicts
from downbeat.comparison.conditions import SYNCHRONIZER
from downbeat.comparison.facts import conclusion, open_cells, other_cells, slow_launches, step_of, unseen
from downbeat.comparison.over_all import within_states
from downbeat.comparison.sides import Side
from downbeat.data.readers.kinds import KINDS, MEASURES, UNITS_SHOWN
from downbeat.output.blocks import Block, Depth, Line, Table, Terms, View
from downbeat.output.facts.comparison import FirstNights
from downbeat.output.fields import BARRIER, COMMON_START, Field, factor_field
from downbeat.output.markdown import notebook_html
from downbeat.output.records import view_record, write_record
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN
from downbeat.tables import Floats
from downbeat.text import PERCENT, counted

SCHEMA_VERSION = 1  # of the record
# The table has the first of these lists of columns that fits.
COLUMNS = (
    ("a", "b", "ratio", "interval", "verdict"),
    ("a", "b", "ratio", "verdict"),
    ("a", "ratio", "verdict"),
    ("ratio", "verdict"),
)


class ComparisonFrame(pd.DataFrame):
    """The verdicts for users of pandas; a notebook shows it as the command prints it."""

    def _repr_html_(self) -> str:
        return notebook_html(comparison_view(self))


def compare(
    a: Side,
    b: Side | None = None,
    *,
    history: Sequence[Side] | None = None,
    where_a: Mapping[str, object] | None = None,
    where_b: Mapping[str, object] | None = None,
    metric: str = "",
    statistic: str = "",
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Compares B with A, cell by cell: faster, slower, equivalent or undecided.

    Cells are matched on all `FACTORS`, except those with different values in `where_a` and `where_b`, and except the
    names of library and environment if each experiment has only one. A launch counts once, by the statistic of its
    valid samples. Launches of one experiment are compared in pairs (`compare_paired`): each launch with itself if the
    factor varies within launches, else launches of the same number, if the experiment was planned. Two experiments are
    independent (`compare_independent`) and also differ by whatever changed between them; a history of experiments at
    other times measures how much that is (`compare_across_sessions`). p-values are corrected for the number of cells
    by Holm's procedure. A cell that is not `ok` in a launch does not count in it.

        compare(experiment, where_a={"variant": "old"}, where_b={"variant": "new"})
        compare(experiment, where_a={"synchronizer": "harmonize"}, where_b={"synchronizer": "mpi_barrier"})
        compare(tonight, history=[open_experiment(path) for path in nights])

    Args:
        a: an experiment, or its frame `cells`. With a history and without `b` it is B, and the history is A.
        b: another experiment; the same one by default.
        history: experiments like A at other times, without a true change between them; `where_a` applies to them too.
            None: no history; `attrs["assumes"]` then says what the verdicts assume.
        where_a: factor -> value: selects the cells of A.
        where_b: the same for B; must name the same factors as `where_a`.
        metric: one of `METRICS`, or of KINDS for results of other tools; by default `latency_avg`, or what both sides
            have.
        statistic: over the valid samples of a launch, one of `STATISTICS`; by default the median, or what both have.
        margin: a ratio within 1 / (1 + margin) and 1 + margin counts as 1.
        confidence: of the intervals.

    Returns:
        A row per cell, times in s: the columns of `Verdicts`, without the compared factors; NaN if it was not judged.
        The attributes `.attrs` are those of `Compared`, and `units`.

    Raises:
        UsageError: unknown metric, statistic, factor or value, or no cell in common.
    """
    rule = Rule(metric, statistic, margin, confidence)
    frame = comparison_of(a, b, history=history, where=(where_a or {}, where_b or {}), rule=rule).frame()
    shown = ComparisonFrame(frame)
    shown.attrs = frame.attrs
    return shown


def comparison_view(result: Compared | pd.DataFrame) -> View:
    """Returns the view of a comparison, of `compare` or of `comparison_of`."""
    compared = Compared.of(result)
    answer, remaining, labels = compared.answer, compared[~compared.answers], compared.shown_factors
    facts = [*conclusion(compared), *within_states(compared)]
    notes = [*other_cells(compared), *slow_launches(compared), *open_cells(compared)]
    blocks: list[Block] = [
        *(Line(fact, "answer") for fact in facts),
        Terms(tuple(head_of(compared)), depth=Depth.TEXT),
        *([cell_table(answer, "")] if len(answer) else []),
        *([cell_table(remaining, "Other cells" if len(answer) else "", labels)] if len(remaining) else []),
        *(Line(fact, "note") for fact in notes if not any(isinstance(each, FirstNights) for each in facts)),
        *(Line(fact, "note", brief=True) for fact in step_of(compared)),
        *(Line(note, "note") for note in compared.notes),
        *(Line(damage, "warning") for damage in compared.damages),
        *(Line(fact, "note") for fact in unseen(answer if len(answer) else compared)),
    ]
    return View("", tuple(blocks), record=record_of(compared))


def cell_table(rows: Compared, title: str, labels: Sequence[str] = ()) -> Table:
    """Makes a table with a row per operation and size, and synchronizers side by side unless they are compared.

    Args:
        rows: cells of the table.
        title: title of the table.
        labels: factors that have a column; empty: factors that vary.
    """
    labels, (name_a, name_b), (_, written) = labels or rows.shown_factors, rows.heads, shown_unit(rows.metric)
    fields = {name: factor_field(name) for name in labels} | {
        "a": Field(name_a, written),
        "b": Field(name_b, written),
        "ratio": Field("ratio", "ratio"),
        "interval": Field("interval", "interval"),
        "verdict": Field(f"after {name_b}" if rows.readings else f"{name_b} is"),
    }
    verdicts = rows.verdicts
    frame = pd.DataFrame(rows.frame()).assign(
        interval=pd.Series(list(zip(verdicts.ratio_low, verdicts.ratio_high, strict=True)), dtype=object),
        verdict=[rows.word(verdict) for verdict in verdicts.verdict],
    )
    across = SYNCHRONIZER if SYNCHRONIZER in labels else ""
    return Table(title, frame, fields, len(labels), across, COLUMNS)


def shown_unit(metric: str) -> tuple[str, str]:
    """Returns the printed unit of a metric, and the kind of its fields."""
    return UNITS_SHOWN[KINDS[metric].unit if metric in KINDS else "s"]


def head_of(rows: Compared) -> list[tuple[str, str]]:
    """Returns the lines at the head: metric, A, B, history, ratio and method, each with its name."""
    sessions, unit = np.isfinite(rows.verdicts.sessions).any(), "session" if rows.history_is_a else "launch"
    how = "across sessions" if sessions else "pairs of launches" if rows.paired else "independent launches"
    how += ", of two times" if not (rows.paired or sessions or rows.name_a == rows.name_b) else ""
    tests = {0: "no test", 1: "one test"}.get(rows.tests, f"Holm's correction for {rows.tests} cells")
    equivalent = f"equivalent: within {PERCENT * rows.margin:g} % of 1"
    return [
        ("metric", f"{rows.metric} in {shown_unit(rows.metric)[0]}: {MEASURES[rows.metric].meaning}"),
        ("", f"{rows.statistic} of a launch, the typical launch"),
        ("A", side_text(rows.name_a, rows.where_a, rows.verdicts.launches_a, unit)),
        ("B", side_text(rows.name_b, rows.where_b, rows.verdicts.launches_b)),
        *([("history", history_text(rows))] if sessions else []),
        ("ratio", ratio_text(rows)),
        ("", f"{how}, {PERCENT * rows.confidence:g} % interval; {tests}; {equivalent}"),
    ]


def ratio_text(rows: Compared) -> str:
    """Returns the ratio, and how it relates to delta where a barrier is compared with the common start."""
    names = [where.get(SYNCHRONIZER) for where in (rows.where_a, rows.where_b)]
    if rows.readings and names == [COMMON_START, BARRIER]:
        return "barrier / common start (delta in Schuchart 2023, section 6.1)"
    if rows.readings and names == [BARRIER, COMMON_START]:
        return "common start / barrier (1 / delta in Schuchart 2023, section 6.1)"
    return " / ".join(reversed(rows.heads))


def side_text(name: str, where: Mapping[str, object], launches: Floats, unit: str = "launch") -> str:
    """Returns the name of A or B, its values of the factors that are compared, and its launches."""
    values = "".join(f", {factor}={value}" for factor, value in where.items())
    numbers = sorted(set(launches[np.isfinite(launches)].astype(int)))
    count = "-".join(str(number) for number in dict.fromkeys((numbers[0], numbers[-1]))) if numbers else "no"
    plural = "" if count == "1" else "es" if unit == "launch" else "s"
    return f"{name}{values}, {count} {unit}{plural}"


def history_text(rows: Compared) -> str:
    """Returns the history, and the deviation of its sessions."""
    sessions, deviations = rows.verdicts.sessions, rows.verdicts.session_deviation
    most, count, deviations = int(np.nanmax(sessions)), len(rows.history), deviations[np.isfinite(deviations)]
    ends = (
        dict.fromkeys(f"{PERCENT * end:.1f}" for end in (deviations.min(), deviations.max())) if deviations.size else ()
    )
    beyond = f", which deviate by {' to '.join(ends)} % beyond what launches do" if ends else ""
    return f"{f'{most} of ' if most < count else ''}{counted(count, 'experiment')}{beyond}"


def record_of(compared: Compared) -> dict[str, object]:
    """Returns the record of a comparison for JSON: its settings, and `cells`, an object per cell; times in s."""
    frame = compared.frame()
    counts = [each.name for each in Verdicts.columns() if each.unit in NUMBERS]
    # Pandas makes numbers with a fraction of counts where a cell has none.
    cells = [
        {name: int(value) if name in counts and np.isfinite(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]
    about = {str(name): value for name, value in frame.attrs.items()}
    return {"schema_version": SCHEMA_VERSION, **about, "cells": cells}


def write_comparison(view: View, path: Path) -> None:
    """Writes a comparison as JSON: its record, and its facts.

    Raises:
        DownbeatError: the file cannot be written.
    """
    write_record(view_record(view), path)
