"""Clock offset over time: local clocks that drift apart, and the global clock checked at the end of each launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.base.text import MICROSECONDS
from downbeat.experiment.experiment import Experiment
from downbeat.pictures.style import (
    COLORS,
    GRAY,
    Picture,
    finish,
    finish_legend,
    log_axis,
    look_of,
    new_figure,
    whole_ticks,
)
from downbeat.tables.summaries import value_text

if TYPE_CHECKING:
    import xarray as xr

# Per pair; a screen has no more columns.
MOST_POINTS = 1000
# Below this, which is less than a step of any clock, an offset is drawn as if it were this.
SMALLEST_US = 1e-4


def draw_drift(data: xr.Dataset) -> list[Picture]:
    """Draws what `downbeat-bench drift` recorded: how far the local clocks of pairs of ranks drifted apart."""
    if not {"drift", "residual"} <= set(data.data_vars):
        return []
    frame = data[["drift", "residual", "offset_bound"]].to_dataframe().reset_index().dropna(subset=["drift"])
    numbers = pd.DataFrame(
        {
            "pair": frame["pair"].astype(str),
            "time_s": frame["time"],
            "drift_us": frame["drift"] * MICROSECONDS,
            "residual_us": frame["residual"] * MICROSECONDS,
            "bound_us": frame["offset_bound"] * MICROSECONDS,
        }
    )
    figure = new_figure(height=4.6)
    above, below = figure.subplots(2, sharex=True)
    for place, (pair, line) in enumerate(numbers.groupby("pair", sort=False)):
        points = line.iloc[:: -(-len(line) // MOST_POINTS)]
        look = look_of(place) | {"marker": ""}
        above.plot(points["time_s"], points["drift_us"], label=f"ranks {pair}", **look)
        below.fill_between(
            points["time_s"],
            points["residual_us"] - points["bound_us"],
            points["residual_us"] + points["bound_us"],
            color=look["color"],
            alpha=0.15,
            linewidth=0,
        )
        below.plot(points["time_s"], points["residual_us"], **look)
    below.axhline(0, color=GRAY, linewidth=0.8)
    finish(above, "", "drift [us]")
    finish(below, "time [s]", "off the line [us]")
    finish_legend(figure, [above])
    caption = (
        "Above: clock offset minus the first one, of local clocks that nothing corrects. Below: what a straight "
        "line through it leaves, with the bound of the measurement's error; where that moves beyond the bound, "
        "frequencies wander, and no linear model lasts (Hunold 2015, section 3.3)."
    )
    return [Picture("clock_drift", "How local clocks drift apart", caption, figure, numbers)]


def draw_checks(experiment: Experiment) -> list[Picture]:
    """Draws how far off clocks were at the end of each launch, against what the bounds allow."""
    rows = []
    for launch in experiment.launches:
        context = launch.context
        if "clock_check_offset_s" in context:
            ranks = value_text("ranks", launch.ranks)
            rows.append(
                {
                    "launch": f"{launch.library}, {ranks}, {launch.environment}, {launch.variant}, {launch.number}",
                    "date": str(context["date"]),
                    "offset_us": abs(float(str(context["clock_check_offset_s"]))) * MICROSECONDS,
                    "allowed_us": float(str(context["clock_check_allowed_s"])) * MICROSECONDS,
                    "ranks_outside": int(str(context["clock_check_ranks_outside"])),
                }
            )
    if len(rows) < 2:
        return []
    numbers = pd.DataFrame(rows).sort_values("date", kind="stable").reset_index(drop=True)
    figure = new_figure(height=2.8)
    axes = figure.subplots()
    place = np.arange(1, len(numbers) + 1)
    axes.plot(
        place, numbers["allowed_us"], color=GRAY, linestyle="", marker="_", markersize=9, label="allowed by the bounds"
    )
    for outside, color, marker, label in (
        (False, COLORS[0], "o", "measured, within the bounds"),
        (True, COLORS[1], "X", "measured, outside"),
    ):
        chosen = (numbers["ranks_outside"] > 0) == outside
        if chosen.any():
            offsets = numbers["offset_us"][chosen].clip(lower=SMALLEST_US)
            axes.plot(place[chosen], offsets, color=color, linestyle="", marker=marker, markersize=5, label=label)
    log_axis(axes.yaxis)
    whole_ticks(axes.xaxis)
    finish(axes, "launch, in order of time", "offset [us]")
    finish_legend(figure, [axes])
    caption = (
        "When all cells of a launch are complete, rank 0 measures its offset to every other rank once more, "
        "without synchronizing anew (Niethammer 2016, section III.A): the rank that is farthest off, and what the "
        "bounds of the clock and of the measurement allow for it."
    )
    return [Picture("clock_checks", "Did the clocks still agree at the end?", caption, figure, numbers)]
