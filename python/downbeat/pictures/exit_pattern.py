"""In what pattern ranks leave a synchronizer: each rank's exit after the first (Hunold 2015, figure 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.base.text import MICROSECONDS
from downbeat.data.samples import exit_pattern
from downbeat.experiment.experiment import Experiment
from downbeat.experiment.plan import LAUNCH_FACTORS
from downbeat.pictures.style import (
    Picture,
    draw_points,
    finish,
    finish_legend,
    first_panels,
    new_panels,
    positions,
    whole_ticks,
)
from downbeat.tables.summaries import NO_PATTERN, describe, mean_interval, synchronization

if TYPE_CHECKING:
    import xarray as xr

TITLE = "When each rank leaves the synchronizer"
FEWEST_RANKS = 3
CAPTION = (
    "Mean time from the first exit of the same sample to the rank's own (Hunold 2015, figure 4), with its 95 % "
    "interval, cut off at 0. One interruption moves a mean far and widens its interval. Where the line rises or falls "
    "over the ranks, they enter the operation one after another."
)


def draw_patterns(experiment: Experiment) -> list[Picture]:
    """Draws when each rank leaves each synchronizer of an experiment; the intervals are over launches."""
    # Alone, a rank is always the first; of two ranks the exit skew says all.
    shown = [launch for launch in experiment.launches if launch.ranks >= FEWEST_RANKS]
    if not shown:
        return []
    frames = []
    for launch in shown:
        exits = exit_pattern(launch.path)
        exits = exits[(exits["pattern"] == NO_PATTERN) & (exits["computation"] == 0)]
        exits = exits.assign(line=synchronization(exits), launch=launch.number)
        frames.append(exits.assign(**{name: getattr(launch, name) for name in LAUNCH_FACTORS}))
    exits = pd.concat(frames, ignore_index=True)
    if exits.empty:
        return []
    exits["panel"] = describe(exits, LAUNCH_FACTORS)
    # The operation after the synchronizer does not matter to it: a launch has one number.
    launches = exits.groupby(["panel", "line", "rank", "launch"], sort=False)["exit"].mean().reset_index()
    rows = []
    for key, group in launches.groupby(["panel", "line", "rank"], sort=False):
        interval = mean_interval(group["exit"])
        # Nobody leaves before the first.
        rows.append((*key, interval.estimate, float(np.maximum(0.0, interval.low)), interval.high))
    numbers = pd.DataFrame(rows, columns=["panel", "line", "rank", "exit", "low", "high"])
    return [pattern_picture(numbers)]


def draw_pattern_file(data: xr.Dataset) -> list[Picture]:
    """Draws when each rank leaves, from a file of `downbeat-bench skew`; the intervals are over samples."""
    if "exit_mean" not in data or data.sizes["rank"] < FEWEST_RANKS:
        return []
    numbers = data[["exit_mean", "exit_half"]].to_dataframe().reset_index().dropna(subset=["exit_mean"])
    numbers = numbers.rename(columns={"synchronizer": "line", "exit_mean": "exit"})
    numbers = numbers.assign(
        panel="",
        low=(numbers["exit"] - numbers["exit_half"]).clip(lower=0),
        high=numbers["exit"] + numbers["exit_half"],
    )
    return [pattern_picture(numbers[["panel", "line", "rank", "exit", "low", "high"]])]


def pattern_picture(numbers: pd.DataFrame) -> Picture:
    """Draws exits in s: `panel`, `line` (synchronizer), `rank`, `exit`, `low`, `high`, a row per point."""
    for name in ("exit", "low", "high"):
        numbers[name] *= MICROSECONDS
    lines = positions(numbers["line"])
    drawn, note = first_panels(numbers)
    figure, panels = new_panels(drawn["panel"].nunique(), share_y=True)
    for axes, (panel, group) in zip(panels, drawn.groupby("panel", sort=False), strict=True):
        for line, points in group.groupby("line", sort=False):
            draw_points(axes, points, ("rank", "exit", "low", "high"), str(line), lines[str(line)])
        top = axes.get_ylim()[1]
        axes.set_ylim(-0.03 * top, top)
        whole_ticks(axes.xaxis)
        finish(axes, "rank", "after the first [us]", str(panel))
    finish_legend(figure, panels)
    named = numbers.rename(
        columns={
            "panel": "configuration",
            "line": "synchronizer",
            "exit": "exit_us",
            "low": "low_us",
            "high": "high_us",
        }
    )
    return Picture("exit_pattern", TITLE, CAPTION + note, figure, named)
