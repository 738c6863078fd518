"""The view of a tuning: its rules with their gains, and how to switch them on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from downbeat.output.blocks import Command, Depth, Heading, Line, Number, Numbers, Picture, Role, Table, Terms, View
from downbeat.output.facts import Fact
from downbeat.output.facts.tuning import ChoicePrice, NotMeasured, RulesOutcome, TuningWarning
from downbeat.output.fields import Field, span
from downbeat.statistics.slow_launches import unseen_text
from downbeat.tables import Texts
from downbeat.text import MICROSECONDS, PERCENT, bytes_text, counted, listed, microseconds
from downbeat.tune.record import Contrasts, RuleGains, TuningRecord
from downbeat.tune.rules_format import DEFAULT

MAX_NUMBERS = 3  # gains in large figures
MAP_CAPTION = (
    "How many times as fast as the library's own choice each algorithm was in the sweep, from a common start, or under "
    "the arrival pattern: the typical ratio. Framed: the choice of the rules. The gain of the rules is measured in "
    "launches that had no part in the choice."
)
LABELS = {
    "collective": Field("collective"),
    "ranks": Field("ranks", "number"),
    "bytes": Field("bytes", "number", "byte"),
}


def tuning_view(record: TuningRecord, depth: Depth = Depth.PAGE) -> View:
    """Returns the view of a tuning; heat maps of algorithms are drawn only if `depth` is PAGE."""
    origin, question = record.origin, record.origin.question
    rules = record.rules[~record.rules.withdrawn]
    warnings = [*lines(record, TuningWarning, "warning")]
    caution = f"{counted(len(warnings), 'warning')} below"  # a text, not a fact: each of the warnings is a fact
    purposes = ("in a shell", "or as arguments of mpirun")
    arrivals = f"; {question.effort.metric} under {question.arrivals}" if question.arrivals else ""
    conditions = (
        ("metric", question.effort.metric),
        ("arrival pattern", question.arrivals or "none: ranks arrive together"),
        ("launches", f"{question.effort.launches}, of {question.effort.repetitions} samples of a cell"),
        ("smallest gain of a rule", f"{PERCENT * question.margin:g} %"),
        ("written", f"{origin.written[:16]} on {origin.host}: {listed(origin.files) or 'no rules'}"),
    )
    return View(
        f"{listed(question.collectives)}: algorithms of {origin.version}",
        (
            *lines(record, RulesOutcome, "answer"),
            *([Numbers(tuple(numbers_of(rules)))] if len(rules) else []),
            *([Line(caution, label="before you rely on it", depth=Depth.PAGE)] if warnings else []),
            *([rules_table(record, rules)] if len(rules) else []),
            Heading("Algorithms by size", depth=Depth.PAGE),
            *(draw_choices(record) if depth == Depth.PAGE else []),
            Heading("Warnings", depth=Depth.PAGE),
            *warnings,
            Heading(f"Choices {question.otherwise}"),  # e.g. "Choices after MPI_Barrier"
            *lines(record, ChoicePrice),
            *others_table(record),
            Heading("Not measured"),
            *lines(record, NotMeasured),
            Heading("Switch the rules on"),
            *(Command((line,), purpose) for line, purpose in zip(origin.switch_on, purposes, strict=False)),
            Heading("Cells without and under the rules", depth=Depth.PAGE),
            *cells_table(record),
            Heading("How it was measured", depth=Depth.PAGE),
            Terms(conditions),
        ),
        f"{listed(question.ranks)} ranks; sizes {question.sizes}; {question.effort.launches} launches{arrivals}; "
        f"rules: {origin.form}",
        record.content(),
    )


def lines(record: TuningRecord, kind: type[Fact], role: Role = "text") -> Iterator[Line]:
    """Returns a line for each fact of a type in the record."""
    return (Line(fact, role) for fact in record.facts if isinstance(fact, kind))


def numbers_of(rules: RuleGains) -> Iterator[Number]:
    """Returns the gains of the first rules, in large figures."""
    first = rules[:MAX_NUMBERS]
    names = (first.collective, first.sizes, first.algorithm)
    numbers = (first.a, first.b, first.ratio, first.intervals)  # A: the default, B: under the rules, ratio: B / A
    for collective, sizes, algorithm, default_s, rules_s, ratio, interval in zip(*names, *numbers, strict=True):
        if np.isfinite(ratio):
            times = f"{microseconds(rules_s)} us in place of {microseconds(default_s)} us"
            about = f"times as fast: {collective}, {sizes} bytes, by {algorithm}; {times}"
            yield Number(f"{1 / ratio:.2f}", "", span(*interval), about)


def gains_table(record: TuningRecord, title: str, rows: Contrasts, depth: Depth, **columns: Texts) -> Table:
    """Returns a table with a row per rule or cell and its gain.

    Args:
        record: of the tuning.
        title: of the table.
        rows: the rules or the cells.
        depth: from which the table is shown.
        columns: further columns; `bytes` and `algorithm` are labels of the rows, the others are shown on pages only.
    """
    frame = pd.DataFrame(
        {
            "collective": rows.collective,
            "ranks": rows.ranks,
            **columns,
            "default": rows.a,
            "rules": rows.b,
            "times_as_fast": 1 / rows.ratio,
            "interval": rows.intervals,
            "verdict": np.where(rows.verdict == "", "not measured", rows.verdict),
        }
    )
    launches = rows.launches[np.isfinite(rows.launches)]
    # How many launches may be slow although none was observed.
    unseen = f"; {unseen_text(int(launches.min()))}" if launches.size else ""
    meaning = f"{PERCENT * record.origin.question.confidence:g} %, over launches{unseen}"
    gain = {
        "default": Field("default [us]", "time", "s"),
        "rules": Field("rules [us]", "time", "s"),
        "times_as_fast": Field("times as fast", "ratio"),
        "interval": Field("interval", "interval", meaning=meaning),
        "verdict": Field("verdict"),
    }
    labels = {**LABELS, "algorithm": Field("algorithm")}
    # Columns on a terminal: the verdict only if it is not "faster" everywhere.
    on_terminal = [name for name in gain if name != "verdict" or set(rows.verdict) != {"faster"}]
    extra = {name: Field(name) for name in columns if name not in labels}
    return Table(title, frame, {**labels, **gain, **extra}, labels=len(labels), choices=[on_terminal], depth=depth)


def rules_table(record: TuningRecord, rules: RuleGains) -> Table:
    """Returns the table with a row per rule."""
    columns = {"bytes": rules.sizes, "algorithm": rules.algorithm, "runner-up": rules.runner_up}
    return gains_table(record, "Rules, their gain measured anew", rules, Depth.SUMMARY, **columns)


def cells_table(record: TuningRecord) -> Iterator[Table]:
    """Returns the table with a row per cell, or none if no rules were measured.

    Column `proof` shows whether the library obeys the rules in the cell (tune/proving.py).
    """
    cells = record.cells
    if np.isfinite(cells.ratio).any():
        columns = {"bytes": cells.size.astype(object), "algorithm": cells.in_rules, "proof": cells.proof}
        yield gains_table(record, "Cells, measured anew", cells, Depth.PAGE, **columns)


def others_table(record: TuningRecord) -> Iterator[Table]:
    """Returns the table with a row per cell in which the choice of the other measurement is slower, or no table.

    The other measurement has starts after MPI_Barrier, or, if the rules are for an arrival pattern, no pattern.
    """
    slower = record.other_choices[record.other_choices.verdict == "slower"]
    if len(slower):
        fields = {
            **LABELS,
            "other": Field("choice"),
            "chosen": Field("in place of"),
            "ratio": Field("times as long", "ratio"),
            "interval": Field("interval", "interval"),
        }
        frame = slower.frame("collective", "ranks", "other", "chosen", "ratio").assign(bytes=slower.size)
        frame["interval"] = list(zip(slower.ratio_low, slower.ratio_high, strict=True))
        yield Table("", frame, fields, labels=len(LABELS) + 2)


def draw_choices(record: TuningRecord) -> list[Picture]:
    """Draws a heat map per collective and number of ranks: algorithms by size, as multiples of the default's speed.

    The algorithms of rules are framed.
    """
    from downbeat.report.drawing import make_picture
    from downbeat.report.panel import Heat, Panel

    tried = record.candidates[np.isfinite(record.candidates.ratio)]
    panels = []
    for (collective, ranks), cells in record.cells.groups(record.cells.collective, record.cells.ranks):
        rows = tried[(tried.collective == collective) & (tried.ranks == ranks)]
        sizes = [bytes_text(size) for size in cells.size]
        table = pd.DataFrame(np.nan, [DEFAULT, *dict.fromkeys(rows.algorithm)], sizes)
        table.loc[DEFAULT] = 1.0
        for algorithm, size, ratio in zip(rows.algorithm, rows.size, rows.ratio, strict=True):
            table.loc[algorithm, bytes_text(size)] = 1 / ratio
        framed = [(name, size) for name, size in zip(cells.in_rules, sizes, strict=True) if name in table.index]
        marks = [Heat(table, form=".2f", framed=framed, ratios=True)]
        panels.append(Panel(marks, x="message size [bytes]", title=f"{collective}, {ranks} ranks"))
    frame = tried.frame("collective", "ranks", "size", "algorithm").rename(columns={"size": "bytes"})
    frame = frame.assign(default_us=MICROSECONDS * tried.a, algorithm_us=MICROSECONDS * tried.b)
    frame = frame.assign(times_as_fast=1 / tried.ratio, low=1 / tried.ratio_high, high=1 / tried.ratio_low)
    numbers = frame.assign(verdict=tried.verdict, not_chosen_because=tried.rejected)
    title = "Times as fast as the default"
    return [make_picture("tuned", title, MAP_CAPTION, panels, numbers, columns=1)] if len(tried) else []
