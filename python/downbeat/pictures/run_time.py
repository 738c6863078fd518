"""Run-time over the time within a launch, in bins: drift made visible."""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat.experiment.experiment import Experiment, Launch
from downbeat.experiment.plan import LAUNCH_FACTORS
from downbeat.pictures.describe import describe
from downbeat.pictures.picture import Picture
from downbeat.pictures.style import COLOURS, GREY, finish, finish_legend, log_axis, new_panels

BINS = 40
METRIC = "latency_avg"
# A bin with fewer samples says more of chance than of time.
FEWEST = 5
# With more launches than these, a line for each is a grey cloud that only makes the page long.
MOST_LINES = 12
CAPTION = (
    "Each valid sample's latency is divided by the median of its own cell in the same launch, so that cells can be "
    f"taken together; the launch is cut into spans of time, {BINS} of the longest launch. Grey: medians of the "
    "spans, a line per launch{lines}. Blue: median over launches, with the middle half of them. A line that rises "
    "or falls is drift (a clock rate, a governor, a temperature, another job), and all cells have part of it, for "
    "their blocks are in random order."
)


def relative_latencies(launch: Launch) -> pd.DataFrame:
    """Returns the valid samples of a launch: `time_s` since the first, `relative`, latency / median of the cell."""
    data = launch.samples([METRIC])
    valid = data["verdict"].to_numpy() == 0
    begin, latency, cell = (data[name].to_numpy()[valid] for name in ("begin", METRIC, "cell_index"))
    median = launch.cells[f"{METRIC}_median"].to_numpy()[cell]
    time = begin - begin.min() if len(begin) else begin
    # What takes no time has no ratio.
    return pd.DataFrame({"time_s": time, "relative": latency / np.where(median > 0, median, np.nan)}).dropna()


def binned(samples: pd.DataFrame, width: float) -> pd.DataFrame:
    """Returns samples in bins of a width in s.

    Returns:
        A row per bin with at least `FEWEST` samples: `bin`, `time_s` (its middle), `relative` (median), `samples`.
    """
    groups = samples["relative"].groupby((samples["time_s"] / width).astype(int).clip(upper=BINS - 1).rename("bin"))
    result = groups.agg(relative="median", samples="count").reset_index()
    result.insert(1, "time_s", (result["bin"] + 0.5) * width)
    return result[result["samples"] >= FEWEST]


def run_times(launches: list[Launch]) -> pd.DataFrame:
    """Returns the binned samples of launches of one configuration, bins of the same width for all, with `launch`."""
    samples = [relative_latencies(launch) for launch in launches]
    width = max([float(frame["time_s"].max()) for frame in samples if len(frame)], default=1.0) / BINS or 1.0
    return pd.concat(
        [binned(frame, width).assign(launch=launch.number) for launch, frame in zip(launches, samples, strict=True)]
    )


def draw_run_times(experiment: Experiment) -> list[Picture]:
    """Draws relative latencies over the time within launches, a panel per configuration."""
    configurations: dict[tuple[str, int, str], list[Launch]] = {}
    for launch in experiment.launches:
        configurations.setdefault((launch.library, launch.ranks, launch.environment), []).append(launch)
    frames = [
        run_times(launches).assign(library=library, ranks=ranks, environment=environment)
        for (library, ranks, environment), launches in configurations.items()
    ]
    numbers = pd.concat(frames, ignore_index=True)
    if numbers.empty:
        return []
    numbers["panel"] = describe(numbers, LAUNCH_FACTORS)
    figure, panels = new_panels(numbers["panel"].nunique())
    for axes, (panel, part) in zip(panels, numbers.groupby("panel", sort=False), strict=True):
        for _, line in list(part.groupby("launch"))[:MOST_LINES]:
            axes.plot(line["time_s"], line["relative"], color=GREY, linewidth=0.6, alpha=0.6, label="a launch")
        bins = part.groupby("bin")
        time = bins["time_s"].median()
        low, middle, high = (bins["relative"].quantile(share) for share in (0.25, 0.5, 0.75))
        axes.fill_between(time, low, high, color=COLOURS[0], alpha=0.2, linewidth=0)
        axes.plot(time, middle, color=COLOURS[0], linewidth=1.8, label="all launches")
        log_axis(axes.yaxis)
        finish(axes, "time within the launch [s]", "latency / median", str(panel))
    finish_legend(figure, panels)
    lines = f" (the first {MOST_LINES})" if numbers["launch"].nunique() > MOST_LINES else ""
    order = ["panel", "launch", "bin", "time_s", "relative", "samples"]
    return [
        Picture(
            "run_time",
            "Latency over the time within a launch",
            CAPTION.replace("{lines}", lines),
            figure,
            numbers[order].rename(columns={"panel": "configuration"}),
        )
    ]
