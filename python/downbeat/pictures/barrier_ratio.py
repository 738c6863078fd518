"""The effect of the synchronizer on the latency: barrier / common start (delta in Schuchart 2023, section 6.1)."""

from __future__ import annotations

import pandas as pd

from downbeat.experiment.experiment import Experiment
from downbeat.pictures.style import (
    GRAY,
    Picture,
    draw_points,
    finish,
    finish_legend,
    first_panels,
    log_axis,
    new_panels,
    positions,
    size_axis,
)
from downbeat.statistics.verdicts import FEWEST_LAUNCHES, MARGIN
from downbeat.tables.summaries import (
    CONFIGURATION,
    describe_each,
    launch_ratios,
    plain_cells,
    summarize,
    synchronization,
)

NAME = "barrier_ratio"


def shown_ratios(numbers: pd.DataFrame) -> tuple[float, float]:
    """Returns the range of the axis: all ratios, and the intervals of those that can have a verdict."""
    firm = numbers[numbers["launches"] >= FEWEST_LAUNCHES]
    low = pd.concat([numbers["ratio"], firm["low"]]).min()
    high = pd.concat([numbers["ratio"], firm["high"]]).max()
    return min(low, 1 / (1 + 2 * MARGIN)) / 1.02, max(high, 1 + 2 * MARGIN) * 1.02


def draw_ratios(experiment: Experiment) -> list[Picture]:
    """Draws the ratio against size: a panel per operation and configuration, a line per synchronizer."""
    ratios = launch_ratios(plain_cells(experiment))
    if ratios.empty:
        return []
    ratios = ratios.assign(line=synchronization(ratios), panel=describe_each(ratios, "operation", CONFIGURATION))
    numbers = summarize(ratios, ("panel", "line", "size"), "ratio").rename(columns={"estimate": "ratio"})
    lines = positions(numbers["line"])
    drawn, note = first_panels(numbers)
    figure, panels = new_panels(drawn["panel"].nunique(), share_y=True)
    for axes, (panel, group) in zip(panels, drawn.groupby("panel", sort=False), strict=True):
        axes.axhspan(1 / (1 + MARGIN), 1 + MARGIN, color=GRAY, alpha=0.18, linewidth=0)
        axes.axhline(1, color=GRAY, linewidth=0.8)
        for line, points in group.assign(at=group["size"].clip(lower=1)).groupby("line", sort=False):
            draw_points(axes, points, ("at", "ratio", "low", "high"), str(line), lines[str(line)])
        if (group["size"] > 0).any():
            size_axis(axes.xaxis, group["size"].clip(lower=1))
        else:
            axes.set_xticks([])
        axes.set_ylim(shown_ratios(drawn))
        log_axis(axes.yaxis)
        finish(axes, "message size [bytes]" if (group["size"] > 0).any() else "no message", "ratio", str(panel))
    finish_legend(figure, panels)
    caption = (
        "Latency after the synchronizer / latency after harmonize (delta in Schuchart 2023, section 6.1), median of "
        "each launch, paired by launch: geometric mean with its 95 % interval. Above 1 the operation reads higher "
        f"after the synchronizer than from a common start, below 1 lower. The gray band is 1 +- {MARGIN:.0%}.{note}"
    )
    return [
        Picture(
            NAME,
            "Effect of the barrier on the latency",
            caption,
            figure,
            numbers.rename(columns={"line": "synchronizer", "size": "size_bytes"}),
        )
    ]
