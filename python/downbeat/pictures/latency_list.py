"""Latencies of cells as a list, for what has no size to be drawn against, or few: a row for each synchronizer."""

from __future__ import annotations

import pandas as pd

from downbeat.data.metrics import METRICS
from downbeat.experiment.experiment import Experiment
from downbeat.pictures.scaling import FEWEST_SIZES, METRIC, scaling_numbers
from downbeat.pictures.style import (
    ROW_INCHES,
    WIDTH_INCHES,
    Picture,
    color_of,
    finish,
    first_panels,
    log_axis,
    new_figure,
    positions,
)
from downbeat.tables.summaries import CONFIGURATION, by_operation, describe, plain_cells, synchronization

CAPTION = (
    f"{METRICS[METRIC].meaning[0].upper()}{METRICS[METRIC].meaning[1:]}. Dot: geometric mean over launches of the "
    "launches' medians, between the ends of its 95 % interval; thick: the middle half of the samples of a launch, "
    "thin: 90 %."
)


def draw_latency_lists(experiment: Experiment) -> list[Picture]:
    """Draws the latencies of each operation with fewer than three sizes and one number of processes."""
    cells = plain_cells(experiment)
    if cells["ranks"].nunique() > 1:
        return []
    return [
        latency_list(frame, operation)
        for operation, frame in by_operation(cells)
        # Several algorithms after several synchronizers are a heat map.
        if frame["size"].nunique() < FEWEST_SIZES
        and (frame["algorithm"].nunique() == 1 or synchronization(frame).nunique() == 1)
    ]


def latency_list(frame: pd.DataFrame, operation: str) -> Picture:
    """Draws the cells of one operation, a panel per size and configuration."""
    frame = frame.assign(line=synchronization(frame), panel=describe(frame, [*CONFIGURATION, "size"]))
    numbers = scaling_numbers(frame, "size", METRIC)
    drawn, note = first_panels(numbers)
    panels = list(drawn.groupby("panel", sort=False))
    rows = [len(group) for _, group in panels]
    figure = new_figure(WIDTH_INCHES, sum(rows) * ROW_INCHES + len(rows) * 0.55 + 0.5)
    # The eye compares panels of one size.
    share = drawn["size"].nunique() == 1
    stacked = figure.subplots(len(panels), squeeze=False, sharex=share, gridspec_kw={"height_ratios": rows})[:, 0]
    places = positions(numbers["line"])
    for axes, (panel, group) in zip(stacked, panels, strict=True):
        for row, cell in enumerate(group.to_dict("records")):
            color = color_of(cell["line"], places[cell["line"]])
            axes.plot([cell["p5_us"], cell["p95_us"]], [row, row], color=color, linewidth=1.1, solid_capstyle="butt")
            axes.plot(
                [cell["p25_us"], cell["p75_us"]],
                [row, row],
                color=color,
                linewidth=6,
                alpha=0.35,
                solid_capstyle="butt",
            )
            half = [[cell["median_us"] - cell["low_us"]], [cell["high_us"] - cell["median_us"]]]
            axes.errorbar([cell["median_us"]], [row], xerr=half, fmt="o", color=color, markersize=4.5, capsize=4)
        axes.set_yticks(range(len(group)), group["line"])
        axes.set_ylim(len(group) - 0.4, -0.6)
        log_axis(axes.xaxis)
        finish(axes, "latency [us]" if axes is stacked[-1] else "", "", str(panel))
        axes.grid(visible=False, axis="y")
    named = numbers.rename(columns={"line": "synchronizer", "size": "size_bytes"})
    return Picture(f"latency-{operation}", f"{operation}: latency", CAPTION + note, figure, named)
