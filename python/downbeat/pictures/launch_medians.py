"""How launches differ: the median of each, and how far its samples spread (Hunold 2014: more than within a launch)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat.base.text import MICROSECONDS, PERCENT, bytes_text
from downbeat.experiment.experiment import Experiment
from downbeat.experiment.plan import LAUNCH_FACTORS
from downbeat.pictures.style import (
    Picture,
    finish,
    finish_legend,
    log_axis,
    look_of,
    new_panels,
    positions,
    whole_ticks,
)
from downbeat.tables.summaries import CONFIGURATION, describe_each, plain_cells, synchronization

METRIC = "latency_avg"
# More lines, side by side at each launch, cannot be distinguished.
MOST_LINES = 4
MOST_PANELS = 8


def deviations(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns how much launches differ, a row per cell: standard deviation of log medians between launches, in percent.

    Beside it is the spread within a launch: half of the distance of the quartiles / median, median over launches.
    """
    spread = (cells[f"{METRIC}_p75"] - cells[f"{METRIC}_p25"]) / 2 / cells[f"{METRIC}_median"]
    cells = cells.assign(log=np.log(cells[f"{METRIC}_median"].where(cells[f"{METRIC}_median"] > 0)), spread=spread)
    groups = cells.groupby(["panel", "size", "line"], sort=False)
    return pd.DataFrame(
        {
            "between_launches_percent": groups["log"].std() * PERCENT,
            "within_launches_percent": groups["spread"].median() * PERCENT,
            "launches": groups["log"].count(),
        }
    ).reset_index()


def draw_launches(experiment: Experiment) -> list[Picture]:
    """Draws the medians of all launches, of the cell of each operation and configuration in which they differ most."""
    cells = plain_cells(experiment)
    cells = cells.assign(line=synchronization(cells), panel=describe_each(cells, "operation", CONFIGURATION))
    table = deviations(cells)
    table = table[table["launches"] > 1]
    if table.empty:
        return []
    worst = table.loc[table.groupby("panel")["between_launches_percent"].idxmax()]
    worst = worst.sort_values("between_launches_percent", ascending=False).head(MOST_PANELS)
    lines = positions(cells["line"])
    figure, panels = new_panels(len(worst))
    for axes, chosen in zip(panels, worst.to_dict("records"), strict=True):
        group = cells[(cells["panel"] == chosen["panel"]) & (cells["size"] == chosen["size"])]
        # The one that differs most, and the first ones on the command line.
        names = list(dict.fromkeys([chosen["line"], *group["line"]]))[:MOST_LINES]
        for place, line in enumerate(sorted(names, key=lambda name: lines[name])):
            points = group[group["line"] == line].sort_values("launch")
            at = points["launch"] + (place - (len(names) - 1) / 2) * 0.12
            median, low, high = (points[f"{METRIC}_{name}"] * MICROSECONDS for name in ("median", "p25", "p75"))
            look = look_of(lines[line]) | {"linestyle": ""}
            axes.errorbar(
                at,
                median,
                yerr=(median - low, high - median),
                fmt="none",
                ecolor=look["color"],
                elinewidth=2,
                alpha=0.45,
            )
            axes.plot(at, median, label=line, **look)
        whole_ticks(axes.xaxis)
        log_axis(axes.yaxis)
        size = f", {bytes_text(chosen['size'])} bytes" if chosen["size"] else ""
        finish(axes, "launch", "latency [us]", f"{chosen['panel']}{size}")
    finish_legend(figure, panels)
    several = " and configuration" if any(cells[name].nunique() > 1 for name in LAUNCH_FACTORS) else ""
    caption = (
        "Median latency of each launch, with the middle half of its samples, in the cell of each "
        f"operation{several} in which launches differ most. Where points are farther apart than the bars are long, "
        "one launch proves little (Hunold 2014), so intervals are over launches. The table has all cells."
    )
    return [
        Picture(
            "launch_medians",
            "How launches differ",
            caption,
            figure,
            table.rename(columns={"panel": "cell", "line": "synchronizer", "size": "size_bytes"}),
        )
    ]
