"""Run-time over the time within a launch, in bins: drift made visible."""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat.data.samples import read_samples
from downbeat.experiment.experiment import Experiment, Launch
from downbeat.experiment.plan import LAUNCH_FACTORS
from downbeat.pictures.style import COLORS, GRAY, Picture, finish, finish_legend, first_panels, log_axis, new_panels
from downbeat.tables.summaries import describe

BINS = 40
METRIC = "latency_avg"
# A bin with fewer samples shows chance rather than time; bins are made for four times as many.
FEWEST = 5
SAMPLES_PER_BIN = 20
FEWEST_BINS = 5
# So that the last sample is in the last bin.
ROOM = 1 + 1e-9
# Longest run drawn, and shown on the axis, as a multiple of the median launch's bins.
LONGEST, SHOWN = 4, 1.25
# Least range of the axis; smaller changes are not drift.
LEAST_LOW, LEAST_HIGH = 0.98, 1.02
MARGIN = 1.02  # a factor, beyond what is drawn
# Least share of launches in a bin; below it, the median is that of the long launches.
LEAST_SHARE = 0.5
# With more launches than these, a line for each is a gray cloud that only makes the page long.
MOST_LINES = 12
CAPTION = (
    "Each valid sample's latency is divided by the median of its own cell in the same launch, so that cells can be "
    f"taken together. The launch is cut into spans of time, at most {BINS} for a launch of median length; the numbers "
    "also have the rest of a much longer one. {lines} "
    "A line that rises or falls is drift (a clock rate, a governor, a temperature, another job). It affects all cells, "
    "because their blocks are in random order."
)
ONE_LAUNCH = "Blue: medians of the spans."
SEVERAL_LAUNCHES = (
    "Gray: medians of the spans, a line per launch{first}. Blue: median over launches, with the middle half of them, "
    "where at least half of them were still measuring."
)


def relative_latencies(launch: Launch) -> pd.DataFrame:
    """Returns the valid samples of a launch: `time_s` since the first, `relative`, latency / median of the cell."""
    samples = read_samples(launch.path, [METRIC])
    valid = samples.with_verdict("valid")
    begin, latency, cell = (samples[name][valid] for name in ("begin", METRIC, "cell_index"))
    median = launch.cells[f"{METRIC}_median"].to_numpy()[cell]
    time = begin - begin.min() if len(begin) else begin
    # An operation that takes no time has no ratio.
    return pd.DataFrame({"time_s": time, "relative": latency / np.where(median > 0, median, np.nan)}).dropna()


def binned(samples: pd.DataFrame, width: float, bins: int) -> pd.DataFrame:
    """Returns samples in bins of a width in s.

    Returns:
        A row per bin with at least `FEWEST` samples: `bin`, `time_s` (its middle), `relative` (median), `samples`.
    """
    groups = samples["relative"].groupby(
        (samples["time_s"] / width).astype(int).clip(upper=LONGEST * bins - 1).rename("bin")
    )
    result = groups.agg(relative="median", samples="count").reset_index()
    result.insert(1, "time_s", (result["bin"] + 0.5) * width)
    return result[result["samples"] >= FEWEST]


def run_times(launches: list[Launch]) -> pd.DataFrame:
    """Returns the binned samples of launches of one configuration, bins of the same width for all, with `launch`."""
    samples = [relative_latencies(launch) for launch in launches]
    bins = min(BINS, max(map(len, samples)) // SAMPLES_PER_BIN)
    if bins < FEWEST_BINS:
        return pd.DataFrame(columns=["bin", "time_s", "relative", "samples", "launch"])
    # By the longest, one launch that was interrupted would leave a bin or two to all the others.
    length = float(np.median([frame["time_s"].max() for frame in samples if len(frame)]))
    width = length * ROOM / bins or 1.0
    return pd.concat(
        [
            binned(frame, width, bins).assign(launch=launch.number)
            for launch, frame in zip(launches, samples, strict=True)
        ]
    )


def with_gaps(line: pd.DataFrame) -> pd.DataFrame:
    """Returns a line with rows of NaN for the bins that it lacks, so that nothing is drawn across them."""
    line = line.set_index("bin")
    return line.reindex(range(int(line.index.min()), int(line.index.max()) + 1))


def median_and_quartiles(group: pd.DataFrame) -> pd.DataFrame:
    """Returns the median over launches and the middle half of them, `relative`, `low`, `high`, a row per bin."""
    bins = group.groupby("bin")
    result = pd.DataFrame(
        {
            "time_s": bins["time_s"].median(),
            "relative": bins["relative"].median(),
            "low": bins["relative"].quantile(0.25),
            "high": bins["relative"].quantile(0.75),
        }
    )
    return result[bins["launch"].nunique() >= LEAST_SHARE * group["launch"].nunique()].reset_index()


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
    drawn, note = first_panels(numbers)
    figure, panels = new_panels(drawn["panel"].nunique(), share_y=True)
    several = numbers["launch"].nunique() > 1
    for axes, (panel, group) in zip(panels, drawn.groupby("panel", sort=False), strict=True):
        for _, line in list(group.groupby("launch"))[: MOST_LINES if several else 0]:
            axes.plot(line["time_s"], line["relative"], color=GRAY, linewidth=0.6, alpha=0.6, label="a launch")
        middle = with_gaps(median_and_quartiles(group))
        axes.fill_between(middle["time_s"], middle["low"], middle["high"], color=COLORS[0], alpha=0.2, linewidth=0)
        # Markers, for a bin between two gaps has no line.
        axes.plot(
            middle["time_s"],
            middle["relative"],
            color=COLORS[0],
            linewidth=1.8,
            marker="o",
            markersize=2.5,
            label="median over launches" if several else "the launch",
        )
        end = SHOWN * float(group.groupby("launch")["time_s"].max().median())
        axes.set_xlim(-0.03 * end, min(end, axes.get_xlim()[1]))
        # Not of the axis: its margin below is linear, and reaches below 0 if one latency is a hundred times the median.
        low, high = drawn["relative"].min(), drawn["relative"].max()
        axes.set_ylim(min(low / MARGIN, LEAST_LOW), max(high * MARGIN, LEAST_HIGH))
        log_axis(axes.yaxis)
        finish(axes, "time within the launch [s]", "latency / median", str(panel))
    finish_legend(figure, panels)
    first = f" (the first {MOST_LINES})" if numbers["launch"].nunique() > MOST_LINES else ""
    lines = SEVERAL_LAUNCHES.replace("{first}", first) if several else ONE_LAUNCH
    order = ["panel", "launch", "bin", "time_s", "relative", "samples"]
    return [
        Picture(
            "run_time",
            "Latency over the time within a launch",
            CAPTION.replace("{lines}", lines) + note,
            figure,
            numbers[order].rename(columns={"panel": "configuration"}),
        )
    ]
