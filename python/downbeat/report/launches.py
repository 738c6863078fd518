"""Launches: how they differ, what time does within them, and whether their clocks agreed at the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from downbeat.comparison.summaries import (
    CONFIGURATION,
    describe,
    describe_each,
    plain_cells,
    synchronization,
    value_text,
)
from downbeat.data.samples import read_samples
from downbeat.report.drawing import make_picture
from downbeat.report.panel import NO_MARKER, Band, Line, Panel
from downbeat.report.style import GRAY, Picture, positions
from downbeat.run.experiment import Experiment, Launch
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.text import MICROSECONDS, PERCENT, bytes_text

METRIC = "latency_avg"

# How launches differ.

# More lines, side by side at each launch, cannot be distinguished.
MOST_LAUNCH_LINES = 4
MOST_CELLS = 8
LAUNCHES_CAPTION = (
    "Median latency of each launch, with the middle half of its samples, in the cell of each operation{} in which "
    "launches differ most. Where points are farther apart than the bars are long, one launch proves little (Hunold "
    "2014), so intervals are over launches. The table has all cells."
)


def deviations(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns how much launches differ, a row per cell: standard deviation of log medians between launches, in percent.

    Beside it is the spread within a launch: half of the distance of the quartiles / median, median over launches.
    """
    median = cells[f"{METRIC}_median"]
    spread = (cells[f"{METRIC}_p75"] - cells[f"{METRIC}_p25"]) / 2 / median
    groups = cells.assign(log=np.log(median.where(median > 0)), spread=spread).groupby(
        ["panel", "size", "line"], sort=False
    )
    columns = {
        "between_launches_percent": groups["log"].std() * PERCENT,
        "within_launches_percent": groups["spread"].median() * PERCENT,
        "launches": groups["log"].count(),
    }
    return pd.DataFrame(columns).reset_index()


def draw_launches(experiment: Experiment) -> list[Picture]:
    """Draws the medians of all launches, of the cell of each operation and configuration in which they differ most."""
    cells = plain_cells(experiment)
    cells = cells.assign(line=synchronization(cells), panel=describe_each(cells, "operation", CONFIGURATION))
    table = deviations(cells)
    table = table[table["launches"] > 1]
    if table.empty:
        return []
    worst = table.loc[table.groupby("panel")["between_launches_percent"].idxmax()]
    worst = worst.sort_values("between_launches_percent", ascending=False).head(MOST_CELLS)
    places, panels = positions(cells["line"]), []
    for chosen in worst.to_dict("records"):
        group = cells[(cells["panel"] == chosen["panel"]) & (cells["size"] == chosen["size"])]
        # The one that differs most, and the first ones on the command line.
        names = list(dict.fromkeys([chosen["line"], *group["line"]]))[:MOST_LAUNCH_LINES]
        lines = []
        for number, name in enumerate(sorted(names, key=lambda one: places[one])):
            points = group[group["line"] == name].sort_values("launch")
            at = points["launch"] + (number - (len(names) - 1) / 2) * 0.12
            median, low, high = (points[f"{METRIC}_{of}"] * MICROSECONDS for of in ("median", "p25", "p75"))
            lines.append(Line(name, at, median, low, high, places[name], style=""))
        size = f", {bytes_text(chosen['size'])} bytes" if chosen["size"] else ""
        panels.append(Panel(lines, "launch", "latency [us]", f"{chosen['panel']}{size}", "whole", "log"))
    several = " and configuration" if any(cells[name].nunique() > 1 for name in LAUNCH_FACTORS) else ""
    numbers = table.rename(columns={"panel": "cell", "line": "synchronizer", "size": "size_bytes"})
    caption = LAUNCHES_CAPTION.format(several)
    return [make_picture("launch_medians", "How launches differ", caption, panels, numbers)]


# Time within launches.

HISTOGRAM_BINS = 40
# A bin with fewer samples shows chance rather than time; bins are made for four times as many.
FEWEST_DRAWN = 5
SAMPLES_PER_BIN = 20
FEWEST_BINS = 5
# So that the last sample is in the last bin.
ROOM = 1 + 1e-9
# Longest run drawn, and shown on the axis, as a multiple of the median launch's bins.
LONGEST, SHOWN = 4, 1.25
# Least range of the axis; smaller changes are not drift.
LEAST_LOW, LEAST_HIGH = 0.98, 1.02
AXIS_MARGIN = 1.02  # a factor, beyond the data
MOST_SHOWN = 0.98  # quantile of the bins that the axis reaches to
# Least share of launches in a bin; below it, the median is that of the long launches.
LEAST_SHARE = 0.5
# With more launches than these, a line for each is a gray cloud that only makes the page long.
MOST_GRAY = 12
TIME_CAPTION = (
    "Each valid sample's latency is divided by the median of its own cell in the same launch, so that cells can be "
    f"taken together. The launch is cut into spans of time, at most {HISTOGRAM_BINS} for a launch of median length; "
    "the numbers also have the rest of a much longer one, and what is beyond the axis. {} "
    "A line that rises or falls is drift (a clock rate, a governor, a temperature, another job). It affects all cells, "
    "because their blocks are in random order."
)
ONE_LAUNCH = "Blue: medians of the spans."
SEVERAL_LAUNCHES = (
    "Gray: medians of the spans, a line per launch{}. Blue: median over launches, with the middle half of them, "
    "where at least half of them were still measuring."
)


def relative_latencies(launch: Launch) -> pd.DataFrame:
    """Returns the valid samples of a launch: `time_s` since the first, `relative`, latency / median of the cell."""
    samples = read_samples(launch.path, [METRIC])
    valid = samples.with_verdict("valid")
    begin, latency, cell = (each[valid] for each in (samples.begin, samples.metric(METRIC), samples.cell_index))
    median = launch.cells[f"{METRIC}_median"].to_numpy()[cell]
    time = begin - begin.min() if len(begin) else begin
    # An operation that takes no time has no ratio.
    return pd.DataFrame({"time_s": time, "relative": latency / np.where(median > 0, median, np.nan)}).dropna()


def binned(samples: pd.DataFrame, width: float, bins: int) -> pd.DataFrame:
    """Returns samples in bins of a width in s.

    Returns:
        A row per bin with at least `FEWEST_DRAWN` samples: `bin`, `time_s` (middle), `relative` (median), `samples`.
    """
    places = (samples["time_s"] / width).astype(int).clip(upper=LONGEST * bins - 1).rename("bin")
    result = samples["relative"].groupby(places).agg(relative="median", samples="count").reset_index()
    result.insert(1, "time_s", (result["bin"] + 0.5) * width)
    return result[result["samples"] >= FEWEST_DRAWN]


def run_times(launches: Sequence[Launch]) -> pd.DataFrame:
    """Returns the binned samples of launches of one configuration, bins of the same width for all, with `launch`."""
    samples = {launch.number: relative_latencies(launch) for launch in launches}
    bins = min(HISTOGRAM_BINS, max(map(len, samples.values())) // SAMPLES_PER_BIN)
    if bins < FEWEST_BINS:
        return pd.DataFrame(columns=["bin", "time_s", "relative", "samples", "launch"])
    # By the longest, one launch that was interrupted would leave a bin or two to all the others.
    length = float(np.median([frame["time_s"].max() for frame in samples.values() if len(frame)]))
    width = length * ROOM / bins or 1.0
    return pd.concat([binned(frame, width, bins).assign(launch=number) for number, frame in samples.items()])


def median_and_quartiles(group: pd.DataFrame) -> pd.DataFrame:
    """Returns the median over launches and the middle half of them, `relative`, `low`, `high`, a row per bin.

    Rows of NaN stand for bins that lack samples, so that nothing is drawn across them.
    """
    bins = group.groupby("bin")
    relative = bins["relative"]
    columns = {"relative": relative.median(), "low": relative.quantile(0.25), "high": relative.quantile(0.75)}
    result = pd.DataFrame({"time_s": bins["time_s"].median(), **columns})
    result = result[bins["launch"].nunique() >= LEAST_SHARE * group["launch"].nunique()]
    return result.reindex(range(int(result.index.min()), int(result.index.max()) + 1))


def draw_run_times(experiment: Experiment) -> list[Picture]:
    """Draws relative latencies over the time within launches, a panel per configuration."""
    configurations: dict[tuple[object, ...], list[Launch]] = {}
    for launch in experiment.launches:
        configurations.setdefault(launch.configuration, []).append(launch)
    frames = [
        run_times(launches).assign(**{name: getattr(launches[0], name) for name in LAUNCH_FACTORS})
        for launches in configurations.values()
    ]
    numbers = pd.concat(frames, ignore_index=True)
    if numbers.empty:
        return []
    numbers["panel"] = describe(numbers, LAUNCH_FACTORS)
    count, panels = numbers["launch"].nunique(), []
    several = count > 1
    # One interruption would flatten all the others.
    low, high = numbers["relative"].quantile([1 - MOST_SHOWN, MOST_SHOWN])
    limits = (min(low / AXIS_MARGIN, LEAST_LOW), max(high * AXIS_MARGIN, LEAST_HIGH))
    for title, group in numbers.groupby("panel", sort=False):
        own = [one for _, one in group.groupby("launch")][: MOST_GRAY if several else 0]
        look = {"color": GRAY, "marker": NO_MARKER, "width": 0.6}
        lines = [Line("a launch", one["time_s"], one["relative"], **look) for one in own]  # type: ignore[arg-type]
        middle = median_and_quartiles(group)
        time, label = middle["time_s"], "median over launches" if several else "the launch"
        # Markers, for a bin between two gaps has no line.
        marks: list[Band | Line] = [
            *lines,
            Band(time, middle["low"], middle["high"], 0),
            Line(label, time, middle["relative"]),
        ]
        end = min(SHOWN * group.groupby("launch")["time_s"].max().median(), 1.05 * group["time_s"].max())
        axes = ("time within the launch [s]", "latency / median")
        panels.append(
            Panel(marks, *axes, str(title), y_scale="log", x_limits=(-0.03 * end, float(end)), y_limits=limits)
        )
    first = f" (the first {MOST_GRAY})" if count > MOST_GRAY else ""
    caption = TIME_CAPTION.format(SEVERAL_LAUNCHES.format(first) if several else ONE_LAUNCH)
    order = ["panel", "launch", "bin", "time_s", "relative", "samples"]
    named = numbers[order].rename(columns={"panel": "configuration"})
    return [make_picture("run_time", "Latency over the time within a launch", caption, panels, named, share_y=True)]


# The clocks at the end.

# Below this, which is less than a step of any clock, an offset is drawn as if it were this.
SMALLEST_US = 1e-4
CHECKS_CAPTION = (
    "When all cells of a launch are complete, rank 0 measures its offset to every other rank once more, "
    "without synchronizing anew (Niethammer 2016, section III.A): the rank that is farthest off, and what the "
    "bounds of the clock and of the measurement allow for it."
)


def draw_checks(experiment: Experiment) -> list[Picture]:
    """Draws how far off clocks were at the end of each launch, against what the bounds allow."""
    rows = []
    for launch in experiment.launches:
        context = launch.context
        if "clock_check_offset_s" in context:
            name = [launch.library, value_text("ranks", launch.ranks), launch.environment, launch.variant]
            offset, allowed = (
                float(str(context[f"clock_check_{of}_s"])) * MICROSECONDS for of in ("offset", "allowed")
            )
            outside = int(str(context["clock_check_ranks_outside"]))
            rows.append((", ".join([*name, str(launch.number)]), str(context["date"]), abs(offset), allowed, outside))
    if len(rows) < 2:
        return []
    numbers = pd.DataFrame(rows, columns=["launch", "date", "offset_us", "allowed_us", "ranks_outside"])
    numbers = numbers.sort_values("date", kind="stable").reset_index(drop=True)
    place = np.arange(1, len(numbers) + 1)
    allowed_line = Line("allowed by the bounds", place, numbers["allowed_us"], color=GRAY, style="", marker=3)
    lines, outside_ = [allowed_line], numbers["ranks_outside"] > 0
    for kept, color, label in ((~outside_, 0, "measured, within the bounds"), (outside_, 1, "measured, outside")):
        if kept.any():
            lines.append(
                Line(label, place[kept], numbers["offset_us"][kept].clip(lower=SMALLEST_US), color=color, style="")
            )
    panel = Panel(lines, "launch, in order of time", "offset [us]", "", "whole", "log")
    return [make_picture("clock_checks", "Did the clocks still agree at the end?", CHECKS_CAPTION, [panel], numbers)]
