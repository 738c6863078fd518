"""Latency against message size, and against processes: the center, its interval, and how samples spread around it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from downbeat.base.text import MICROSECONDS
from downbeat.data.metrics import METRICS
from downbeat.experiment.experiment import Experiment
from downbeat.pictures.style import (
    Picture,
    draw_points,
    finish,
    finish_legend,
    first_panels,
    log_axis,
    look_of,
    new_panels,
    positions,
    size_axis,
)
from downbeat.tables.summaries import (
    CONFIGURATION,
    by_operation,
    describe,
    geometric_means,
    plain_cells,
    summarize,
    synchronization,
)

METRIC = "latency_avg"
BANDS = (("p5", "p95", 0.10), ("p25", "p75", 0.20))  # quantiles within a launch, and how dark
STATISTICS = ("mean", "p5", "p25", "p75", "p95")
# With more lines, bands hide each other.
MOST_BANDS = 3
FEWEST_SIZES = 3


def draw_sizes(experiment: Experiment) -> list[Picture]:
    """Draws latency against size, a picture for each operation that was measured with at least three sizes."""
    return [
        scaling_picture(frame, "size", METRIC, f"latency_by_size-{operation}", f"{operation}: latency against size")
        for operation, frame in by_operation(plain_cells(experiment))
        if frame["size"].nunique() >= FEWEST_SIZES
    ]


def draw_processes(experiment: Experiment) -> list[Picture]:
    """Draws latency against processes, a picture for each operation that was measured with several numbers of them."""
    return [
        scaling_picture(
            frame, "ranks", METRIC, f"latency_by_processes-{operation}", f"{operation}: latency against processes"
        )
        for operation, frame in by_operation(plain_cells(experiment))
        if frame["ranks"].nunique() > 1
    ]


def scaling_picture(frame: pd.DataFrame, x: str, metric: str, name: str, title: str) -> Picture:
    """Draws a metric against `size` or `ranks`: a line per synchronizer, a panel per configuration.

    Args:
        frame: rows of `Experiment.cells`, of one operation.
        x: the factor along the horizontal axis; the other one distinguishes panels.
        metric: out of `METRICS`.
        name: of the picture.
        title: of the picture.
    """
    other = "ranks" if x == "size" else "size"
    frame = frame.assign(
        line=synchronization(frame),
        panel=describe(frame, [*(factor for factor in CONFIGURATION if factor != "ranks"), other]),
    )
    numbers = scaling_numbers(frame, x, metric)
    lines = positions(numbers["line"])
    with_bands = len(lines) <= MOST_BANDS
    drawn, note = first_panels(numbers)
    figure, panels = new_panels(drawn["panel"].nunique(), share_x=x == "size", share_y=True)
    for axes, (panel, group) in zip(panels, drawn.groupby("panel", sort=False), strict=True):
        for line, points in group.groupby("line", sort=False):
            draw_line(axes, points.sort_values(x), x, str(line), lines[str(line)], with_bands)
        if x == "size":
            size_axis(axes.xaxis, drawn[x])
        else:
            axes.set_xticks(sorted(group[x].unique()))
        log_axis(axes.yaxis)
        finish(
            axes, "message size [bytes]" if x == "size" else "processes", f"{METRICS[metric].label} [us]", str(panel)
        )
    finish_legend(figure, panels)
    shades = (
        " The bands hold the middle half and 90 % of the samples of a launch, the small crosses are means."
        if with_bands
        else ""
    )
    caption = (
        f"{METRICS[metric].meaning[0].upper()}{METRICS[metric].meaning[1:]}. Points: geometric mean over launches "
        f"of the launches' medians, with its 95 % interval.{shades}{note}"
    )
    return Picture(name, title, caption, figure, numbers.rename(columns={"line": "synchronizer", "size": "size_bytes"}))


def draw_line(axes: Axes, points: pd.DataFrame, x: str, label: str, place: int, with_bands: bool) -> None:
    """Draws one synchronizer in one panel."""
    look = look_of(place)
    if with_bands:
        for low, high, shade in BANDS:
            axes.fill_between(
                points[x], points[f"{low}_us"], points[f"{high}_us"], color=look["color"], alpha=shade, linewidth=0
            )
        axes.plot(
            points[x], points["mean_us"], linestyle="", marker="x", markersize=3.5, color=look["color"], alpha=0.7
        )
    draw_points(axes, points, (x, "median_us", "low_us", "high_us"), label, place)


def scaling_numbers(frame: pd.DataFrame, x: str, metric: str) -> pd.DataFrame:
    """Returns what is drawn, a row per point, in us; of a frame with `panel` and `line`."""
    by: Sequence[str] = ("panel", "line", x)
    numbers = summarize(frame, by, f"{metric}_median")
    for column in ("estimate", "low", "high"):
        numbers[column] *= MICROSECONDS
    numbers = numbers.rename(columns={"estimate": "median_us", "low": "low_us", "high": "high_us"})
    means = geometric_means(frame, by, [f"{metric}_{statistic}" for statistic in STATISTICS]) * MICROSECONDS
    numbers[[f"{statistic}_us" for statistic in STATISTICS]] = means.to_numpy()
    return numbers
