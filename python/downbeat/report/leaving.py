"""How ranks leave a synchronizer: how far apart, and in what pattern; of experiments and of files of `skew`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.comparison.summaries import NO_PATTERN, describe, mean_interval, plain_cells, synchronization
from downbeat.data.samples import exit_pattern
from downbeat.report.panel import Box, Panel, lines_of, make_picture
from downbeat.report.style import Picture, positions
from downbeat.run.experiment import Experiment
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.text import MICROSECONDS

if TYPE_CHECKING:
    import xarray as xr

QUANTILES = ("p5", "p25", "median", "p75", "p95", "p99")
# A stamp is a reading of a clock with steps of this order; smaller differences mean nothing.
RESOLUTION_US = 1e-3
SKEW_CAPTION = (
    "Time from the first rank's exit from the synchronizer to the last one's (Schuchart 2023, section 2.2): {}. Mark "
    "in the middle: median; thick: the middle half; thin: 90 %; last mark: 99th percentile. Skews left of the gray "
    "line are below the clock's limit, twice its largest error bound."
)
OF_CELLS = "median over launches and cells of each quantile of the launch's samples"


def draw_skews(experiment: Experiment) -> list[Picture]:
    """Draws the exit skew after every synchronizer of an experiment."""
    cells = plain_cells(experiment)
    cells = cells[cells["ranks"] > 1]
    if cells.empty:
        return []
    cells = cells.assign(line=synchronization(cells), panel=describe(cells, LAUNCH_FACTORS))
    columns = {f"exit_skew_{name}": name for name in QUANTILES}
    # Cells of one synchronizer differ in the operation after it, which has not begun when ranks leave.
    groups = cells.groupby(["panel", "line"], sort=False)
    numbers = groups[list(columns)].median().rename(columns=columns).assign(bound=groups["error_bound"].max())
    return [skew_picture(numbers.reset_index(), OF_CELLS)]


def draw_skew_file(data: xr.Dataset) -> list[Picture]:
    """Draws the exit skews that `downbeat-bench skew` recorded."""
    if "skew_median" not in data:
        return []
    columns = {name: data[f"skew_{name}"].to_numpy() for name in QUANTILES}
    lines, bound = data["synchronizer"].to_numpy(), data["error_bound"].to_numpy()
    return [skew_picture(pd.DataFrame({"panel": "", "line": lines, **columns, "bound": bound}), "over valid samples")]


def skew_picture(numbers: pd.DataFrame, meaning: str) -> Picture:
    """Draws quantiles of exit skews: `panel`, `line`, `QUANTILES` and `bound` in s, a row per synchronizer."""
    numbers = numbers.dropna(subset=["median"]).reset_index(drop=True)
    numbers[[*QUANTILES, "bound"]] *= MICROSECONDS
    places, panels = positions(numbers["line"]), []
    for title, group in numbers.groupby("panel", sort=False):
        boxes = []
        for row in group.to_dict("records"):
            p5, p25, median, p75, p95, p99 = (max(row[name], RESOLUTION_US) for name in QUANTILES)
            line = str(row["line"])
            boxes.append(Box(line, "", median, (p25, p75), (p5, p95), [p99], color=places[line]))
        limit = 2 * group["bound"].max() or None
        panels.append(Panel(boxes, "exit skew [us]", "", str(title), "log", x_at=limit, rows=True))
    names = {"panel": "configuration", "line": "synchronizer", "bound": "bound_us"}
    named = numbers.rename(columns=names | {name: f"{name}_us" for name in QUANTILES})
    if named["configuration"].nunique() == 1:
        named = named.drop(columns="configuration")
    title, caption = "How far apart ranks leave each synchronizer", SKEW_CAPTION.format(meaning)
    return make_picture("exit_skew", title, caption, panels, named, columns=1, share_x=True)


FEWEST_RANKS = 3
PATTERN_CAPTION = (
    "Mean time from the first exit of the same sample to the rank's own (Hunold 2015, figure 4), with its 95 % "
    "interval, cut off at 0. One interruption moves a mean far and widens its interval. Where the line rises or falls "
    "over the ranks, they enter the operation one after another."
)


def draw_patterns(experiment: Experiment) -> list[Picture]:
    """Draws when each rank leaves each synchronizer of an experiment; the intervals are over launches."""
    frames = []
    for launch in experiment.launches:
        # Alone, a rank is always the first; of two ranks the exit skew says all.
        if launch.ranks < FEWEST_RANKS:
            continue
        exits = exit_pattern(launch.path)
        exits = exits[(exits["pattern"] == NO_PATTERN) & (exits["computation"] == 0)]
        factors = {name: getattr(launch, name) for name in LAUNCH_FACTORS}
        frames.append(exits.assign(line=synchronization(exits), launch=launch.number, **factors))
    exits = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
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
    return [pattern_picture(pd.DataFrame(rows, columns=["panel", "line", "rank", "exit", "low", "high"]))]


def draw_pattern_file(data: xr.Dataset) -> list[Picture]:
    """Draws when each rank leaves, from a file of `downbeat-bench skew`; the intervals are over samples."""
    if "exit_mean" not in data or data.sizes["rank"] < FEWEST_RANKS:
        return []
    frame = data[["exit_mean", "exit_half"]].to_dataframe().reset_index().dropna(subset=["exit_mean"])
    exits, half = frame["exit_mean"], frame["exit_half"]
    frame = frame.assign(panel="", line=frame["synchronizer"], exit=exits)
    frame = frame.assign(low=(exits - half).clip(lower=0), high=exits + half)
    return [pattern_picture(frame[["panel", "line", "rank", "exit", "low", "high"]])]


def pattern_picture(numbers: pd.DataFrame) -> Picture:
    """Draws exits in s: `panel`, `line` (synchronizer), `rank`, `exit`, `low`, `high`, a row per point."""
    columns = ["exit", "low", "high"]
    numbers = numbers.assign(**{name: numbers[name] * MICROSECONDS for name in columns})
    places = positions(numbers["line"])
    panels = [
        Panel(
            lines_of(group, ("rank", "exit", "low", "high"), places),
            "rank",
            "after the first [us]",
            str(title),
            "whole",
        )
        for title, group in numbers.groupby("panel", sort=False)
    ]
    names = {"panel": "configuration", "line": "synchronizer"} | {name: f"{name}_us" for name in columns}
    title = "When each rank leaves the synchronizer"
    return make_picture("exit_pattern", title, PATTERN_CAPTION, panels, numbers.rename(columns=names), share_y=True)
