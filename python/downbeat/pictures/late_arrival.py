"""The cost of a late rank: global time against the delay, and how much of it is hidden (Niethammer 2016, III.D)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat.base.text import MICROSECONDS
from downbeat.experiment.experiment import Experiment
from downbeat.pictures.style import (
    GRAY,
    PANEL_INCHES,
    TEXT_POINTS,
    Picture,
    draw_points,
    finish,
    finish_legend,
    first_panels,
    log_axis,
    new_figure,
    new_panels,
    positions,
)
from downbeat.tables.summaries import (
    CONFIGURATION,
    by_operation,
    describe,
    late_launches,
    mean_interval,
    measured_cells,
    positive_interval,
    synchronization,
)

CURVES_CAPTION = (
    "Global time, from the first entry to the last exit (Niethammer 2016, Eq. 4), against the delay as it was "
    "achieved: geometric mean over launches of medians, with its 95 % interval. Upper gray line: the delay just "
    "adds to the time without one; lower: the shorter of both is hidden completely."
)
BENEFIT_CAPTION = (
    "Left: overlap benefit, (t0 + delay - t) / t, with t and t0 the global times with and without delay "
    "(Niethammer 2016, Eq. 5). Right: the hidden share, (t0 + delay - t) / the shorter of t0 and delay: 1 if all "
    "of it is hidden, 0 if the delay just adds, below 0 if it costs more than itself. Mean over launches, with its "
    "95 % interval."
)


def late_numbers(late: pd.DataFrame) -> pd.DataFrame:
    """Returns a row per `panel`, `pattern` and delay, over launches, times in us."""
    rows = []
    for (panel, pattern, _), group in late.groupby(["panel", "pattern", "place"], sort=False):
        time, benefit, share = (
            positive_interval(group["time"]),
            mean_interval(group["benefit"]),
            mean_interval(group["share"]),
        )
        rows.append(
            {
                "panel": panel,
                "pattern": pattern,
                "delay_us": float(group["delay"].mean()) * MICROSECONDS,
                "global_time_us": time.estimate * MICROSECONDS,
                "low_us": time.low * MICROSECONDS,
                "high_us": time.high * MICROSECONDS,
                "without_delay_us": positive_interval(group["time_without"]).estimate * MICROSECONDS,
                "benefit": benefit.estimate,
                "benefit_low": benefit.low,
                "benefit_high": benefit.high,
                "share": share.estimate,
                "share_low": share.low,
                "share_high": share.high,
                "launches": len(group),
            }
        )
    return pd.DataFrame(rows)


def draw_late_arrival(experiment: Experiment) -> list[Picture]:
    """Draws, for each operation that was measured with delays, global time and overlap against the delay."""
    late = late_launches(measured_cells(experiment))
    pictures = []
    for operation, frame in by_operation(late):
        line = synchronization(frame)
        panel = describe(frame.assign(line=line), ["line", *CONFIGURATION, "size"])
        numbers = late_numbers(frame.assign(panel=panel))
        pictures.append(curves(numbers, operation))
        pictures.append(benefits(numbers, operation))
    return pictures


def curves(numbers: pd.DataFrame, operation: str) -> Picture:
    """Draws global times against delays."""
    lines = positions(numbers["pattern"])
    drawn, note = first_panels(numbers)
    figure, panels = new_panels(drawn["panel"].nunique())
    for axes, (panel, group) in zip(panels, drawn.groupby("panel", sort=False), strict=True):
        delays = np.geomspace(group["delay_us"].min() / 2, group["delay_us"].max(), 50)
        alone = float(group["without_delay_us"].mean())
        axes.plot(delays, delays + alone, color=GRAY, linewidth=0.9, linestyle="--")
        axes.plot(delays, np.maximum(delays, alone), color=GRAY, linewidth=0.9, linestyle="--")
        for pattern, points in group.groupby("pattern", sort=False):
            columns = ("delay_us", "global_time_us", "low_us", "high_us")
            draw_points(axes, points, columns, str(pattern), lines[str(pattern)])
        log_axis(axes.xaxis)
        log_axis(axes.yaxis)
        finish(axes, "delay [us]", "global time [us]", str(panel))
    finish_legend(figure, panels)
    shown = ["panel", "pattern", "delay_us", "global_time_us", "low_us", "high_us", "without_delay_us", "launches"]
    return Picture(
        f"late_arrival-{operation}", f"{operation}: what a delay costs", CURVES_CAPTION + note, figure, numbers[shown]
    )


def benefits(numbers: pd.DataFrame, operation: str) -> Picture:
    """Draws benefit and hidden share against delays, a row for each panel."""
    lines = positions(numbers["pattern"])
    drawn, note = first_panels(numbers)
    panels = list(drawn.groupby("panel", sort=False))
    figure = new_figure(height=0.5 + PANEL_INCHES * 0.9 * len(panels))
    grid = figure.subplots(len(panels), 2, squeeze=False)
    for position, (row, (panel, group)) in enumerate(zip(grid, panels, strict=True)):
        for axes, name in zip(row, ("benefit", "share"), strict=True):
            axes.axhline(0, color=GRAY, linewidth=0.8)
            for pattern, points in group.groupby("pattern", sort=False):
                columns = ("delay_us", name, f"{name}_low", f"{name}_high")
                draw_points(axes, points, columns, str(pattern), lines[str(pattern)])
            log_axis(axes.xaxis)
            finish(
                axes,
                "delay [us]" if position == len(panels) - 1 else "",
                "benefit" if name == "benefit" else "hidden share",
                "",
            )
        row[0].set_title(str(panel), fontsize=TEXT_POINTS, loc="left")
    finish_legend(figure, list(grid.flat))
    shown = [
        "panel",
        "pattern",
        "delay_us",
        *(f"{a}{b}" for a in ("benefit", "share") for b in ("", "_low", "_high")),
    ]
    return Picture(
        f"overlap_benefit-{operation}",
        f"{operation}: how much of a delay is hidden",
        BENEFIT_CAPTION + note,
        figure,
        numbers[shown],
    )
