"""The view of results of other tools (OSU, IMB, nccl-tests ...) in `downbeat show` and `downbeat report`.

A run of a tool counts as a launch. A kind is a metric of a tool, e.g. bandwidth (`data/readers/kinds.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from downbeat.comparison.summaries import described_cells, typical_of_launches
from downbeat.data.cells import STATISTICS, Cells
from downbeat.data.launch_file import IMPLIED
from downbeat.data.readers import counted_over_files
from downbeat.data.readers.kinds import KINDS, UNITS_SHOWN
from downbeat.output.blocks import Block, Depth, Heading, Line, Picture, Table, Terms, View
from downbeat.output.facts.tool_results import LaunchSpread
from downbeat.output.fields import Field, factor_field
from downbeat.report.drawing import make_picture
from downbeat.report.latency import at_least_one
from downbeat.report.panel import Panel, lines_of
from downbeat.run.experiment import FACTORS
from downbeat.run.tool_results import ToolExperiment
from downbeat.tables import Floats, Ints, Texts, column, grouped
from downbeat.tables import Table as Columns
from downbeat.text import counted, listed

SCHEMA_VERSION = 1  # of the record
START_FACTORS = ("synchronizer", "barrier_algorithm", "timing")  # determined by the tool, so not shown
SERIES = tuple(name for name in FACTORS if name not in (*START_FACTORS, "operation", "size"))
SORT_KEYS = ("algorithm", "datatype", "ranks", "variant", "library", "operation")  # of rows, the last is the first key
SHOWN_STATISTICS = ("median", "p95", "p99")  # of kinds that have all STATISTICS
SPREAD, SPREAD_MEANING = "spread", "largest launch / smallest launch, of the first of these numbers"
PICTURE_CAPTION = "{} over launches, with the smallest and the largest launch."


class Typical(Columns):
    """A row per cell, kind and statistic: a number over launches."""

    row: Ints = column("first row of the cell among the cells of all launches")
    kind: Texts = column("kind of the number")
    statistic: Texts = column("summary over calls")
    launches: Ints = column("launches with the number")
    median: Floats = column("typical launch, in the unit of the kind")
    low: Floats = column("smallest launch")
    high: Floats = column("largest launch")


def typical_numbers(experiment: ToolExperiment, metric: str) -> Typical:
    """Summarizes the numbers of all cells over launches, of the kind `metric`, or of all kinds if it is empty.

    Raises:
        UsageError: there is no number of this kind.
    """
    if metric:
        experiment.lines_on_metric(metric)  # raises if there is no such kind
    cells, rows = experiment.cell_table, []
    complete = {
        kind for kind, _ in experiment.kinds if all((kind, statistic) in experiment.kinds for statistic in STATISTICS)
    }
    numbers = {
        (kind, statistic): cells.source[f"{kind}_{statistic}"].to_numpy(dtype=float)
        for kind, statistic in experiment.kinds
        if metric in ("", kind) and (statistic in SHOWN_STATISTICS or kind not in complete)
    }
    for _, indices in grouped(*(getattr(cells, name) for name in FACTORS)):
        counted_rows = indices[cells.counts[indices]]
        for (kind, statistic), values in numbers.items():
            launches = values[counted_rows]
            launches = launches[np.isfinite(launches)]
            if launches.size:
                typical = typical_of_launches(launches).estimate
                rows.append((indices[0], kind, statistic, launches.size, typical, launches.min(), launches.max()))
    return Typical.of_tuples(rows)


def tool_view(experiment: ToolExperiment, metric: str = "", page: bool = False) -> View:
    """Makes the view; `page` adds pictures and the table of runs."""
    numbers, cells = typical_numbers(experiment, metric), experiment.cell_table
    runs = experiment.results.runs
    tools = listed(dict.fromkeys(f"{run.tool} {run.version}".strip() for run in runs))
    files = len(dict.fromkeys(run.path for run in runs))
    dates = sorted(run.date for run in runs if run.date)
    kinds = dict.fromkeys(numbers.kind)
    head = (
        ("tool", tools),
        ("runs", f"{len(runs)}, each a launch, in {counted(files, 'file')}"),
        *([("dates", " to ".join(dict.fromkeys((dates[0], dates[-1]))))] if dates else []),
        ("numbers", ", ".join(f"{kind} [{UNITS_SHOWN[KINDS[kind].unit][0]}]" for kind in kinds)),
    )
    damages = counted_over_files(experiment.results.damages)
    tables = list(tables_of(cells, numbers))
    blocks: list[Block] = [
        *(Line(fact, "answer") for fact in spread_of(numbers)),
        *(pictures_of(cells, numbers) if page else []),
        *([Heading("Numbers")] if page else []),
        Terms(head, depth=Depth.TEXT),
        *tables,
        *([Heading("Damage")] if page and damages else []),
        *(Line(damage, "warning") for damage in damages),
        *([Heading("Every run"), runs_table(experiment)] if page else []),
    ]
    title = f"{experiment.name}: {counted(len(runs), 'run')} of {tools}"
    return View(title, tuple(blocks), record=record_of(experiment, numbers))


def spread_of(numbers: Typical) -> list[LaunchSpread]:
    """Returns the ratio of the slowest to the fastest launch of cells, by the first kind of each cell."""
    if not len(numbers):
        return []
    first = numbers[np.unique(numbers.row, return_index=True)[1]]
    several = first[(first.launches > 1) & (first.low > 0)]
    ratios = several.high / several.low
    median, high = np.quantile(ratios, (0.5, 0.9)).tolist() if len(several) else (np.nan, np.nan)
    return [LaunchSpread(len(first), len(several), float(median), float(high))]


def tables_of(cells: Cells, numbers: Typical) -> Iterator[Table]:
    """Yields a table for all operations with the same kinds: a row per cell, a column per kind and statistic."""
    explained: set[str] = set()
    operations, pairs = cells.operation[numbers.row], list(zip(numbers.kind, numbers.statistic, strict=True))
    kinds_of: dict[str, dict[tuple[str, str], None]] = {}
    for operation, pair in zip(operations, pairs, strict=True):
        kinds_of.setdefault(operation, {})[pair] = None
    order = {kind: position for position, kind in enumerate(KINDS)}
    sets = {name: tuple(sorted(kinds, key=lambda pair: order[pair[0]])) for name, kinds in kinds_of.items()}
    for kinds in dict.fromkeys(sets.values()):
        inside = numbers[np.array([sets[operation] == kinds for operation in operations])]
        rows = np.array(list(dict.fromkeys(inside.row.tolist())))
        keys = [getattr(cells[rows], name) for name in ("size", *SORT_KEYS)]
        rows = rows[np.lexsort([np.unique(key, return_inverse=True)[1] for key in keys])]
        group = cells[rows]
        varying = [name for name in FACTORS if name not in IMPLIED and len(set(getattr(group, name))) > 1]
        labels = sorted({"operation", "size", *varying} - set(START_FACTORS), key=FACTORS.index)
        frame = group.frame(*labels).set_axis(rows, axis=0)
        fields = {name: factor_field(name) for name in labels} | {"launches": Field("launches", "number")}
        first = inside[np.unique(inside.row, return_index=True)[1]]
        frame["launches"] = pd.Series(first.launches, first.row)
        for kind, statistic in kinds:
            has_one_statistic = sum(name == kind for name, _ in kinds) == 1
            name = kind if has_one_statistic else f"{kind} {statistic}"
            values = inside[(inside.kind == kind) & (inside.statistic == statistic)]
            frame[name] = pd.Series(values.median, values.row)
            meaning = "" if kind in explained else KINDS[kind].meaning
            explained.add(kind)
            fields[name] = Field(name, UNITS_SHOWN[KINDS[kind].unit][1], KINDS[kind].unit, meaning)
        columns = [name for name in fields if name not in labels]
        if (first.launches > 1).any():
            spread = np.where((first.launches > 1) & (first.low > 0), first.high / first.low, np.nan)
            frame[SPREAD] = pd.Series(spread, first.row)
            fields[SPREAD] = Field("max/min", "ratio", "", "" if SPREAD in explained else SPREAD_MEANING)
            explained.add(SPREAD)
        choices = [[*columns[:count], *([SPREAD] if SPREAD in fields else [])] for count in range(len(columns), 0, -1)]
        title = listed(dict.fromkeys(group.operation))
        yield Table(title, frame.reset_index(drop=True), fields, len(labels), "", choices)


def pictures_of(cells: Cells, numbers: Typical) -> Iterator[Picture]:
    """Yields a picture per kind, with a panel against size for each operation that has this kind first."""
    first = numbers[np.unique(numbers.row, return_index=True)[1]]
    for name, group in first.groups(first.kind):
        kind = KINDS[name]
        unit, factor = UNITS_SHOWN[kind.unit][0], PRINTED_FACTORS[kind.unit]
        panels = []
        for operation, all_rows in grouped(cells[group.row].operation):
            sizes = cells[group.row][all_rows].size
            rows = all_rows[sizes > 0] if sizes.any() else all_rows  # a logarithmic axis cannot show size 0
            rows = rows[np.argsort(cells[group.row][rows].ranks, kind="stable")]  # legends count upward
            of_operation, values = cells[group.row][rows], group[rows]
            names = described_cells(of_operation, SERIES)
            low, high = (np.where(values.launches > 1, end * factor, np.nan) for end in (values.low, values.high))
            lines = lines_of(names, at_least_one(of_operation.size), values.median * factor, low, high)
            panels.append(Panel(lines, "size [bytes]", f"{kind.label} [{unit}]", str(operation), "bytes", "log"))
        meaning = kind.meaning[0].upper() + kind.meaning[1:]
        caption = PICTURE_CAPTION.format(f"{meaning}, {unit}: the typical launch")
        yield make_picture(str(name), kind.label[0].upper() + kind.label[1:], caption, panels)


PRINTED_FACTORS = {"s": 1e6, "B/s": 1e-6, "1/s": 1.0, "1": 1e2}  # unit -> factor to the printed unit


def runs_table(experiment: ToolExperiment) -> Table:
    """Returns the table of runs, with their files and lines."""
    counts = pd.Series(experiment.results.numbers.run).value_counts()
    rows = [
        {
            "tool": run.tool,
            "version": run.version,
            "date": run.date,
            "numbers": int(counts.get(number, 0)),
            "file": run.path,
            "line": run.line,
        }
        for number, run in enumerate(experiment.results.runs)
    ]
    return Table("Runs", pd.DataFrame(rows), depth=Depth.PAGE)


def record_of(experiment: ToolExperiment, numbers: Typical) -> dict[str, object]:
    """Returns the record for JSON, in SI units."""
    cells = experiment.cell_table
    factors = cells[numbers.row].frame(*FACTORS).reset_index(drop=True)
    rows = factors.join(numbers.frame().drop(columns="row"))
    return {
        "schema_version": SCHEMA_VERSION,
        "name": experiment.name,
        "runs": [
            {"tool": run.tool, "version": run.version, "file": run.path, "line": run.line, "date": run.date}
            for run in experiment.results.runs
        ],
        "units": {kind: KINDS[kind].unit for kind in dict.fromkeys(numbers.kind)},
        "cells": rows.to_dict("records"),
    }
