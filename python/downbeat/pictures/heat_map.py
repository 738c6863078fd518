"""Algorithms of an operation against the synchronizers before it, as Schuchart 2023, figure 2."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from downbeat.base.text import MICROSECONDS
from downbeat.experiment.experiment import Experiment
from downbeat.pictures.style import GRAY, ROW_INCHES, TEXT_POINTS, WIDTH_INCHES, Picture, first_panels, new_figure
from downbeat.tables.summaries import PANELS, by_operation, describe, plain_cells, summarize, synchronization

# White to dark in one hue: in gray print it is still the order.
COLORS = "Blues"
DARK = 0.71  # of the scale; above it white figures have more contrast than black ones


def draw_heat_maps(experiment: Experiment) -> list[Picture]:
    """Draws a map for each operation that was measured with several algorithms after several synchronizers."""
    pictures = []
    for operation, frame in by_operation(plain_cells(experiment)):
        columns = synchronization(frame)
        if frame["algorithm"].nunique() > 1 and columns.nunique() > 1:
            pictures.append(heat_map(frame.assign(column=columns, panel=describe(frame, PANELS)), operation))
    return pictures


def heat_map(frame: pd.DataFrame, operation: str) -> Picture:
    """Draws the latency of each `algorithm` after each `column`, a map per `panel`."""
    numbers = summarize(frame, ("panel", "algorithm", "column"), "latency_avg_median")
    for name in ("estimate", "low", "high"):
        numbers[name] *= MICROSECONDS
    drawn, note = first_panels(numbers)
    panels = list(drawn.groupby("panel", sort=False))
    rows = [group["algorithm"].nunique() for _, group in panels]
    figure = new_figure(WIDTH_INCHES, sum(count * ROW_INCHES * 1.3 + 0.45 for count in rows) + 1.1)
    stacked = figure.subplots(len(panels), squeeze=False, gridspec_kw={"height_ratios": rows})
    for position, (axes, (panel, group)) in enumerate(zip(stacked.flat, panels, strict=True)):
        table = group.pivot(index="algorithm", columns="column", values="estimate")
        table = table.reindex(index=group["algorithm"].unique(), columns=group["column"].unique())
        draw_map(axes, table, last=position == len(panels) - 1)
        axes.set_title(str(panel), fontsize=TEXT_POINTS, loc="left")
    caption = (
        "Latency [us], mean over ranks: geometric mean over launches of the launches' medians (as Schuchart 2023, "
        "figure 2). A row is one algorithm: only the synchronizer makes its values differ. Darker is higher; "
        f"each map has its own scale.{note}"
    )
    renamed = numbers.rename(
        columns={"column": "synchronizer", "estimate": "latency_us", "low": "low_us", "high": "high_us"}
    )
    return Picture(f"heat_map-{operation}", f"{operation}: algorithms after synchronizers", caption, figure, renamed)


def draw_map(
    axes: Axes, table: pd.DataFrame, last: bool, form: str = ".3g", deviations: pd.DataFrame | None = None
) -> None:
    """Draws one map; only the lowest one names the columns. A value that is missing is a dash."""
    values = table.to_numpy(dtype=float)
    low, high = np.nanmin(values), np.nanmax(values)
    scale = LogNorm(low, high if high > low else low * 1.01)
    axes.imshow(values, cmap=COLORS, norm=scale, aspect="auto")
    spreads = None if deviations is None else deviations.to_numpy(dtype=float)
    for (row, column), value in np.ndenumerate(values):
        written = f"{value:{form}}" if np.isfinite(value) else "-"
        if spreads is not None and np.isfinite(spreads[row, column]):
            written += f"\n\u00b1 {spreads[row, column]:{form}}"
        color = "white" if np.isfinite(value) and float(scale(value)) > DARK else "black"
        axes.text(column, row, written, ha="center", va="center", color=color, fontsize=TEXT_POINTS - 0.5)
    axes.set_yticks(range(len(table.index)), table.index, fontsize=TEXT_POINTS - 0.5)
    axes.set_xticks(range(len(table.columns)), table.columns if last else [], fontsize=TEXT_POINTS - 0.5)
    if last:
        axes.tick_params(axis="x", rotation=40)
        for text in axes.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
    axes.tick_params(length=0, labelcolor=GRAY)
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(0.5, len(table.columns) - 1), minor=True)
    axes.set_yticks(np.arange(0.5, len(table.index) - 1), minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)
