"""How far a nonblocking operation goes on while the processor computes, by three definitions (docs/overlap.md)."""

from __future__ import annotations

import pandas as pd

from downbeat.base.text import PERCENT
from downbeat.experiment.experiment import Experiment
from downbeat.pictures.style import (
    GRAY,
    Picture,
    draw_points,
    finish,
    finish_legend,
    first_panels,
    new_panels,
    size_axis,
)
from downbeat.tables.summaries import (
    CONFIGURATION,
    DEFINITIONS,
    all_overlaps,
    by_operation,
    describe,
    mean_interval,
    synchronization,
)

# A single interruption can make -5000 % of an overlap, beside which nothing else is seen.
LOWEST_PERCENT, HIGHEST_PERCENT = -110, 110
CAPTION = (
    "Share of the operation that was hidden behind computation, or of the computation where that is shorter, by "
    "the definitions of OSU and IMB, which cut off at 0, and from the common start to the last exit, which does "
    "not: below 0 both slow each other down (docs/overlap.md). Mean over launches, with its 95 % interval; "
    "values beyond the axis are in the numbers."
)


def draw_computation_overlap(experiment: Experiment) -> list[Picture]:
    """Draws overlap against size, a picture for each operation that was measured with computation."""
    frame = all_overlaps(experiment)
    if frame.empty:
        return []
    return [overlap_picture(group, operation) for operation, group in by_operation(frame)]


def overlap_picture(frame: pd.DataFrame, operation: str) -> Picture:
    """Draws the three figures of one operation, a panel per synchronizer and configuration."""
    frame = frame.assign(panel=describe(frame.assign(line=synchronization(frame)), ["line", *CONFIGURATION]))
    rows = []
    for (panel, size), group in frame.groupby(["panel", "size"], sort=False):
        for name, definition in DEFINITIONS.items():
            interval = mean_interval(group[name])
            rows.append(
                (panel, size, definition, *(PERCENT * x for x in (interval.estimate, interval.low, interval.high)))
            )
    numbers = pd.DataFrame(
        rows, columns=["panel", "size_bytes", "definition", "overlap_percent", "low_percent", "high_percent"]
    )
    drawn, note = first_panels(numbers)
    figure, panels = new_panels(drawn["panel"].nunique(), share_y=True)
    for axes, (panel, group) in zip(panels, drawn.groupby("panel", sort=False), strict=True):
        axes.axhline(0, color=GRAY, linewidth=0.8)
        placed = group.assign(at=group["size_bytes"].clip(lower=1))
        for place, (label, points) in enumerate(placed.groupby("definition", sort=False)):
            columns = ("at", "overlap_percent", "low_percent", "high_percent")
            draw_points(axes, points, columns, str(label), place)
        size_axis(axes.xaxis, placed["at"])
        low, high = axes.get_ylim()
        axes.set_ylim(max(low, LOWEST_PERCENT), min(high, HIGHEST_PERCENT))
        finish(axes, "message size [bytes]", "overlap [%]", str(panel))
    finish_legend(figure, panels)
    return Picture(
        f"computation_overlap-{operation}", f"{operation}: overlap with computation", CAPTION + note, figure, numbers
    )
