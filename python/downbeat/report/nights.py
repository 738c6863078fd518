"""Draws the latency of each cell over several experiments of the same kind, such as the runs of a nightly test.

The page of several experiments shows these pictures. A night is one experiment.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from downbeat.comparison.sides import in_order_of_time
from downbeat.comparison.summaries import METRIC, plain_cells, row_names, summaries_of
from downbeat.data.cells import STATE
from downbeat.data.states import in_main_state
from downbeat.output.blocks import Picture
from downbeat.output.fields import COMMON_START
from downbeat.report.drawing import make_picture
from downbeat.report.panel import Line, Panel
from downbeat.run.experiment import FACTORS, Experiment
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.text import MICROSECONDS, bytes_text

MIN_NIGHTS = 3  # experiments that have a cell; with fewer it has no line
MAX_LINES = 6  # sizes of a panel, evenly spaced; more lines would hide each other
NIGHTS_CAPTION = (
    "Latency of the typical launch {}, us, with its 95 % interval; experiments in the order in which they were "
    "measured. Lines are sizes, in bytes."
)


class NightCells(Table):
    """A cell in each experiment."""

    experiment: Texts = column("name of the experiment")
    night: Ints = column("number of the experiment in the order of time, from 1")
    cell: Texts = column("operation and other factors that vary, without size")
    size_bytes: Ints = column("message size", "B")
    median_us: Floats = column("typical launch's median", "us")
    low_us: Floats = column("lower end of its interval", "us")
    high_us: Floats = column("upper end of its interval", "us")


def nights_pictures(experiments: Mapping[str, Experiment]) -> list[Picture]:
    """Draws cells over experiments in the order of time; no picture if no cell is in `MIN_NIGHTS` of them."""
    rows: list[tuple[object, ...]] = []
    names = {id(experiment): name for name, experiment in experiments.items()}
    ordered = in_order_of_time(list(experiments.values()))
    have_common_start = all(
        (plain_cells(experiment).synchronizer == COMMON_START).any() for experiment in experiments.values()
    )
    factors = [name for name in FACTORS if name != STATE]
    for night, experiment in enumerate(ordered, 1):
        assert isinstance(experiment, Experiment)
        cells = plain_cells(experiment)
        start = COMMON_START
        if not have_common_start:
            start = str(cells.synchronizer[0]) if len(cells) else ""
        cells = cells[in_main_state(cells) & (cells.synchronizer == start)]
        table = summaries_of(cells, factors, METRIC)
        values = zip(row_names(table, factors), table.size, table.median, table.low, table.high, strict=True)
        rows += [
            (names[id(experiment)], night, cell, int(size), *(float(seconds) * MICROSECONDS for seconds in times))
            for cell, size, *times in values
        ]
    numbers = NightCells.of_tuples(rows)
    panels = []
    for name, cell in numbers.groups(numbers.cell):
        sizes = sorted(set(cell.size_bytes.tolist()))
        chosen = [sizes[round(i)] for i in np.linspace(0, len(sizes) - 1, min(MAX_LINES, len(sizes)))]
        lines = [
            Line(bytes_text(size), group.night, group.median_us, group.low_us, group.high_us, color)
            for color, size in enumerate(chosen)
            for group in [cell[cell.size_bytes == size]]
            if len(group) >= MIN_NIGHTS
        ]
        if lines:
            panels.append(Panel(lines, "experiment", "latency [us]", str(name), "whole", "log"))
    caption = NIGHTS_CAPTION.format("from a common start" if have_common_start else "after the first synchronizer")
    return [make_picture("nights", "Latency over time", caption, panels, numbers.frame())] if panels else []
