"""The ranks of single samples: they synchronize, wait, run the operation, and when they leave.

All is on the global clock (Schuchart 2023, Fig. 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.comparison.summaries import (
    by_operation,
    describe,
    mean_interval,
    plain_cells,
    synchronization,
    value_text,
)
from downbeat.data.exit_patterns import exit_pattern
from downbeat.data.launch_file import open_samples
from downbeat.data.netcdf import NetcdfFile
from downbeat.data.samples import native, read_samples
from downbeat.report.drawing import PHASES, make_picture
from downbeat.report.export import STAMPS
from downbeat.report.panel import MOST_RANKS, Box, Panel, Timeline, lines_of, rank_step
from downbeat.report.style import FIXED, Picture, positions
from downbeat.run.experiment import Experiment, Launch
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.text import MICROSECONDS, bytes_text

if TYPE_CHECKING:
    import xarray as xr

MOST_SYNCHRONIZERS = 6
DELAY_METRIC = "global_time"
# Of the time before the first entry, as a multiple of that after it: a longer one would leave no room for the rest.
MOST_BEFORE = 6
BARS_CAPTION = (
    "Bars of each rank on the global clock: in the synchronizer, waiting there for the common deadline (from the "
    "root's decision on) or for the rank's own delay, and in the operation. 0 is the common start, or the first entry "
    "where there is none. Left: the sample with the median time from the first entry to the last exit. Right: the "
    "longest. Both are of launch {launch}. A bar that touches the left edge began earlier."
)


def sample_bars(file: NetcdfFile, sample: int) -> pd.DataFrame:
    """Returns the bars of one sample.

    Args:
        file: of a launch, open.
        sample: its position in the file.

    Returns:
        A row per rank and phase that takes time: `rank`, `phase` (`PHASES`), `begin_us`, `end_us` after the start.
    """
    sync_entry, entry, exit_, delay = (native(file.variables[name][sample]) for name in STAMPS)
    deadline, slack = (float(file.variables[name][sample]) for name in ("deadline", "slack"))
    start = entry.min() if np.isnan(deadline) else deadline
    # A barrier's rank leaves it, then waits for its own delay; with a deadline it waits from the decision on.
    waits = entry - delay if np.isnan(deadline) else np.full(len(entry), deadline - (0.0 if np.isnan(slack) else slack))
    waits = np.clip(waits, sync_entry, entry)
    rows = []
    for rank in range(len(entry)):
        borders = (sync_entry[rank], waits[rank], entry[rank], exit_[rank])
        for phase, begin, end in zip(PHASES, borders, borders[1:], strict=False):
            if end > begin:
                rows.append((rank, phase, (begin - start) * MICROSECONDS, (end - start) * MICROSECONDS))
    return pd.DataFrame(rows, columns=["rank", "phase", "begin_us", "end_us"])


def chosen_samples(launch: Launch) -> pd.DataFrame:
    """Returns which samples are shown: per operation, of its smallest size, a row per synchronizer.

    Returns:
        `operation`, `size`, `line`, `median` and `worst`, positions in the file.
    """
    cells = launch.cells.assign(line=synchronization(launch.cells))
    cells = cells[cells["valid_count"] > 0]
    cells = cells[cells["size"] == cells.groupby("operation")["size"].transform("min")]
    # The first of several patterns, algorithms: `none` and `default` stand first.
    cells = cells.drop_duplicates(["operation", "line"])
    samples = read_samples(launch.path, [DELAY_METRIC])
    valid, index, time = samples.with_verdict("valid"), samples.cell_index, samples.metric(DELAY_METRIC)
    rows = []
    for cell in cells.to_dict("records"):
        mine = np.flatnonzero(valid & (index == cell["cell"]))
        ordered = mine[np.argsort(time[mine], kind="stable")]
        rows.append(
            (cell["operation"], cell["size"], cell["line"], int(ordered[(len(ordered) - 1) // 2]), int(ordered[-1]))
        )
    return pd.DataFrame(rows, columns=["operation", "size", "line", "median", "worst"])


def draw_timelines(experiment: Experiment) -> list[Picture]:
    """Draws the median and the worst sample after each synchronizer, a picture per operation, of one launch."""
    # The first launch with the most ranks, which shows most.
    launch = max(experiment.launches, key=lambda one: one.ranks)
    pictures = []
    with open_samples(launch.path) as file:
        for operation, samples in by_operation(chosen_samples(launch)):
            # Those that are compared most often first.
            ordered = samples.sort_values("line", key=lambda lines: ~lines.isin(FIXED), kind="stable")
            pictures.append(timeline_picture(launch, file, operation, ordered.head(MOST_SYNCHRONIZERS)))
    return pictures


def timeline_picture(launch: Launch, file: NetcdfFile, operation: str, samples: pd.DataFrame) -> Picture:
    """Draws samples of one operation out of the launch's open file, a row for each synchronizer."""
    frames = [
        sample_bars(file, sample[which]).assign(synchronizer=sample["line"], sample=which)
        for sample in samples.to_dict("records")
        for which in ("median", "worst")
    ]
    numbers = pd.concat(frames, ignore_index=True)[["synchronizer", "sample", "rank", "phase", "begin_us", "end_us"]]
    numbers = numbers[numbers["rank"] % rank_step(launch.ranks) == 0]
    panels = []
    for (line, which), bars in numbers.groupby(["synchronizer", "sample"], sort=False):
        limits = time_limits(numbers[numbers["sample"] == which])
        title = f"{line}, {which}"
        panels.append(Panel([Timeline(bars, launch.ranks)], "time [us]", "rank", title, x_limits=limits))
    size = f" of {bytes_text(samples['size'].iloc[0])} bytes" if samples["size"].iloc[0] else ""
    caption = BARS_CAPTION.replace(
        "{launch}", f"{launch.number} ({launch.library}, {value_text('ranks', launch.ranks)})"
    )
    if len(samples) == MOST_SYNCHRONIZERS:
        caption += f" At most {MOST_SYNCHRONIZERS} synchronizers are shown."
    if launch.ranks > MOST_RANKS:
        caption += f" Every {rank_step(launch.ranks)}th rank is shown."
    title = f"{operation}{size}: what the ranks do in a sample"
    # One axis of time in a column: only so does the eye compare synchronizers.
    return make_picture(f"timelines-{operation}", title, caption, panels, numbers, share_x="col")


def time_limits(bars: pd.DataFrame) -> tuple[float, float] | None:
    """Returns where an axis that samples share begins and ends, us; None where no operation takes time."""
    begin, end = bars["begin_us"].min(), bars["end_us"].max()
    entry = bars.loc[bars["phase"] == "operation", "begin_us"].min()
    if not end > entry:
        return None
    left = max(begin - 0.03 * (end - begin), entry - MOST_BEFORE * (end - entry))
    return left, end + 0.03 * (end - left)


SKEW_QUANTILES = ("p5", "p25", "median", "p75", "p95", "p99")
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
    columns = {f"exit_skew_{name}": name for name in SKEW_QUANTILES}
    # Cells of one synchronizer differ in the operation after it, which has not begun when ranks leave.
    groups = cells.groupby(["panel", "line"], sort=False)
    numbers = groups[list(columns)].median().rename(columns=columns).assign(bound=groups["error_bound"].max())
    return [skew_picture(numbers.reset_index(), OF_CELLS)]


def draw_skew_file(data: xr.Dataset) -> list[Picture]:
    """Draws the exit skews that `downbeat-bench skew` recorded."""
    if "skew_median" not in data:
        return []
    columns = {name: data[f"skew_{name}"].to_numpy() for name in SKEW_QUANTILES}
    lines, bound = data["synchronizer"].to_numpy(), data["error_bound"].to_numpy()
    return [skew_picture(pd.DataFrame({"panel": "", "line": lines, **columns, "bound": bound}), "over valid samples")]


def skew_picture(numbers: pd.DataFrame, meaning: str) -> Picture:
    """Draws quantiles of exit skews: `panel`, `line`, `SKEW_QUANTILES` and `bound` in s, a row per synchronizer."""
    numbers = numbers.dropna(subset=["median"]).reset_index(drop=True)
    numbers[[*SKEW_QUANTILES, "bound"]] *= MICROSECONDS
    places, panels = positions(numbers["line"]), []
    for title, group in numbers.groupby("panel", sort=False):
        boxes = []
        for row in group.to_dict("records"):
            p5, p25, median, p75, p95, p99 = (max(row[name], RESOLUTION_US) for name in SKEW_QUANTILES)
            line = str(row["line"])
            boxes.append(Box(line, "", median, (p25, p75), (p5, p95), [p99], color=places[line]))
        limit = 2 * group["bound"].max() or None
        panels.append(Panel(boxes, "exit skew [us]", "", str(title), "log", x_at=limit, rows=True))
    names = {"panel": "configuration", "line": "synchronizer", "bound": "bound_us"}
    named = numbers.rename(columns=names | {name: f"{name}_us" for name in SKEW_QUANTILES})
    if named["configuration"].nunique() == 1:
        named = named.drop(columns="configuration")
    title, caption = "How far apart ranks leave each synchronizer", SKEW_CAPTION.format(meaning)
    return make_picture("exit_skew", title, caption, panels, named, columns=1, share_x=True)


FEWEST_SKEW_RANKS = 3
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
        if launch.ranks < FEWEST_SKEW_RANKS:
            continue
        of_launch = exit_pattern(launch.path)
        factors = {name: getattr(launch, name) for name in LAUNCH_FACTORS}
        frame = of_launch[of_launch.plain].frame().rename(columns={"started_by": "line", "exit_s": "exit"})
        frames.append(frame.assign(launch=launch.number, **factors))
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
    if "exit_mean" not in data or data.sizes["rank"] < FEWEST_SKEW_RANKS:
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
