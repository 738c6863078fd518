"""Builds the view of choices of algorithms from results of other tools (tune/from_results.py)."""

from __future__ import annotations

import textwrap
from typing import Literal

import numpy as np
import pandas as pd

from downbeat.data.readers.kinds import KINDS
from downbeat.output.blocks import Command, Depth, Heading, Line, Role, Table, Terms, View
from downbeat.output.facts import Fact
from downbeat.output.facts.tuning import TuningWarning
from downbeat.output.fields import Field
from downbeat.statistics.power import MAX_LAUNCHES
from downbeat.tables import Floats
from downbeat.text import PERCENT, listed
from downbeat.tune.from_results import Choices, FromResults

MAX_ROWS = 20  # rows of a table on a terminal
MAX_CONDITIONS = 50  # characters of a text in column "measured with"


def choices_view(made: FromResults, margin: float, switch_on: tuple[str, ...] = ()) -> View:
    """Returns the view of choices.

    Args:
        made: the choices.
        margin: of the verdicts.
        switch_on: commands that switch the rules on; empty: there are no rules.
    """
    table = made.choices
    decided = table[table.decided]
    conditions = (
        ("decided", "faster than the default beyond doubt; where files name no default, than the second algorithm"),
        ("margin", f"{PERCENT * margin:g} %"),
    )
    return View(
        f"Choices from results of {listed(made.tools)}",
        (
            *(Line(fact, role_of(fact, number)) for number, fact in enumerate(made.facts())),
            by_collective(table),
            *([cells_table("Decided cells", decided, Depth.SUMMARY)] if len(decided) else []),
            Heading("All cells", depth=Depth.PAGE),
            cells_table("", table, Depth.PAGE),
            Heading("Switch the rules on"),
            *(Command((line,)) for line in switch_on),
            Heading("How it was chosen", depth=Depth.PAGE),
            Terms(conditions),
        ),
        f"{made.statistic} of: {KINDS[made.kind].meaning}",
        {"choices": table.frame().replace(np.inf, np.nan).to_dict("records")},
    )


def role_of(fact: Fact, index: int) -> Role:
    """Returns the role of a fact: warnings are marked, and the first fact is the answer."""
    if isinstance(fact, TuningWarning):
        return "warning"
    return "answer" if index == 0 else "text"


def conditions_text(library: str, setting: str) -> str:
    """Returns the conditions of numbers, without the names of factors, e.g. "leonardo, OMPI 4.1.6"."""
    words = [factor.partition("=")[2] for factor in setting.split(",") if factor]
    return textwrap.shorten(", ".join(filter(None, [*words, library])), MAX_CONDITIONS, placeholder=" ...")


def by_collective(table: Choices) -> Table:
    """Returns a table with a row for each collective, number of ranks, library and setting: counts of its cells."""
    rows = [
        {
            "of": conditions_text(library, setting),
            "ranks": ranks,
            "collective": collective,
            "cells": len(cells),
            "decided": int(cells.decided.sum()),
            "launches": int(cells.launches.max()),
            "default_ratio": middle(cells.default_ratio),
            "runner_up_ratio": middle(cells.runner_up_ratio),
            "needed": middle(cells.needed, "inverted_cdf"),
        }
        for (collective, ranks, library, setting), cells in table.groups(
            table.collective, table.ranks, table.library, table.setting
        )
    ]
    fields = {
        "of": Field("measured with"),
        "ranks": Field("ranks", "number"),
        "collective": Field("collective"),
        "cells": Field("cells", "number"),
        "decided": Field("decided", "number"),
        "launches": Field("launches", "number", meaning="of the cell with most"),
        "default_ratio": Field("/ default", "ratio", meaning="time of the fastest over it, median over cells"),
        "runner_up_ratio": Field("/ second", "ratio", meaning="time of the fastest over it, median over cells"),
        "needed": Field("needed", "number", meaning="launches that would decide half of the cells"),
    }
    frame = pd.DataFrame(rows)
    frame["needed"] = [needed_text(value) for value in frame["needed"]]
    return Table("Cells by collective", frame, fields, 3, more="choices.json", depth=Depth.SUMMARY)


def middle(values: Floats, method: Literal["linear", "inverted_cdf"] = "linear") -> float:
    """Returns the median of the known numbers; NaN: none is known.

    Args:
        values: NaN for unknown numbers.
        method: of np.quantile; "inverted_cdf" gives one of the values, even infinity.
    """
    known = values[~np.isnan(values)]
    return float(np.quantile(known, 0.5, method=method)) if known.size else np.nan


def needed_text(value: float) -> str:
    """Writes a number of launches: "-" if it is unknown (NaN), "never" if no number of launches would decide."""
    if np.isnan(value):
        return "-"
    return "never" if value >= MAX_LAUNCHES else f"{value:.0f}"


def cells_table(title: str, table: Choices, depth: Depth) -> Table:
    """Returns a table with a row per cell."""
    frame = table.frame()
    frame["of"] = list(map(conditions_text, table.library, table.setting))
    for name in ("default", "runner_up"):
        ends = zip(getattr(table, f"{name}_low"), getattr(table, f"{name}_high"), strict=True)
        frame[f"{name}_interval"] = list(ends)
    frame["needed"] = [needed_text(value) for value in table.needed]
    fields = {
        "of": Field("measured with"),
        "ranks": Field("ranks", "number"),
        "collective": Field("collective"),
        "size": Field("bytes", "number", "byte"),
        "fastest": Field("fastest"),
        "value": Field("time [us]", "time", "s"),
        "default_ratio": Field("/ default", "ratio"),
        "default_interval": Field("interval", "interval"),
        "default_verdict": Field("verdict"),
        "runner_up": Field("second"),
        "runner_up_ratio": Field("/ second", "ratio"),
        "runner_up_interval": Field("its interval", "interval"),
        "runner_up_verdict": Field("its verdict"),
        "launches": Field("launches", "number"),
        "needed": Field("needed", "number"),
    }
    # Columns after the labels, from most to fewest; a terminal shows the first choice that fits.
    medium = ["fastest", "value", "default_ratio", "default_verdict", "runner_up", "runner_up_ratio", "launches"]
    narrow = ["fastest", "default_ratio", "default_verdict", "runner_up_ratio", "launches"]
    choices = [list(fields)[4:], medium, narrow]
    return Table(
        title, frame, fields, 4, choices=choices, more="choices.json", max_rows=MAX_ROWS, noun="cells", depth=depth
    )
