"""How far apart ranks leave a synchronizer: the distribution of the exit skew (Schuchart 2023, section 2.2)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from downbeat.base.text import MICROSECONDS
from downbeat.experiment.experiment import Experiment
from downbeat.experiment.plan import LAUNCH_FACTORS
from downbeat.pictures.style import (
    GRAY,
    ROW_INCHES,
    TEXT_POINTS,
    WIDTH_INCHES,
    Picture,
    color_of,
    finish,
    first_panels,
    log_axis,
    new_figure,
    positions,
)
from downbeat.tables.summaries import describe, plain_cells, synchronization

if TYPE_CHECKING:
    import xarray as xr

QUANTILES = ("p5", "p25", "median", "p75", "p95", "p99")
# A stamp is a reading of a clock with steps of this order; smaller differences mean nothing.
RESOLUTION_US = 1e-3
MEANING = "Time from the first rank's exit from the synchronizer to the last one's (Schuchart 2023, section 2.2): "
BOUND = " Skews left of the gray line are below the clock's limit, twice its largest error bound."


def draw_skews(experiment: Experiment) -> list[Picture]:
    """Draws the exit skew after every synchronizer of an experiment."""
    cells = plain_cells(experiment)
    cells = cells[cells["ranks"] > 1]
    if cells.empty:
        return []
    cells = cells.assign(line=synchronization(cells), panel=describe(cells, LAUNCH_FACTORS))
    columns = {f"exit_skew_{name}": name for name in QUANTILES}
    # Cells of one synchronizer differ in the operation after it, which has not begun when ranks leave.
    numbers = cells.groupby(["panel", "line"], sort=False)[list(columns)].median().rename(columns=columns)
    numbers["bound"] = cells.groupby(["panel", "line"], sort=False)["error_bound"].max()
    caption = (
        "median over launches and cells of each quantile of the launch's samples. Dot: median; thick: the middle "
        "half; thin: 90 %; tick: 99th percentile."
    )
    return [skew_picture(numbers.reset_index(), caption)]


def draw_skew_file(data: xr.Dataset) -> list[Picture]:
    """Draws the exit skews that `downbeat-bench skew` recorded."""
    if "skew_median" not in data:
        return []
    columns = {name: data[f"skew_{name}"].to_numpy() for name in QUANTILES}
    numbers = pd.DataFrame(
        {"panel": "", "line": data["synchronizer"].to_numpy(), **columns, "bound": data["error_bound"].to_numpy()}
    )
    return [
        skew_picture(
            numbers,
            "over the valid samples. Dot: median; thick: the middle half; thin: 90 %; tick: 99th percentile.",
        )
    ]


def skew_picture(numbers: pd.DataFrame, meaning: str) -> Picture:
    """Draws quantiles of exit skews: `panel`, `line`, `QUANTILES` and `bound` in s, a row per synchronizer."""
    numbers = numbers.dropna(subset=["median"]).reset_index(drop=True)
    for name in (*QUANTILES, "bound"):
        numbers[name] *= MICROSECONDS
    drawn, note = first_panels(numbers)
    panels = list(drawn.groupby("panel", sort=False))
    rows = [len(group) for _, group in panels]
    figure = new_figure(WIDTH_INCHES, sum(rows) * ROW_INCHES + len(rows) * 0.35 + 0.6)
    stacked = figure.subplots(len(panels), squeeze=False, sharex=True, gridspec_kw={"height_ratios": rows})[:, 0]
    places = positions(numbers["line"])
    for axes, (panel, group) in zip(stacked, panels, strict=True):
        for row, skew in enumerate(group.to_dict("records")):
            draw_quantiles(axes, row, skew, color_of(skew["line"], places[skew["line"]]))
        if group["bound"].max() > 0:
            axes.axvline(2 * group["bound"].max(), color=GRAY, linewidth=1, linestyle=":")
        axes.set_yticks(range(len(group)), group["line"])
        axes.set_ylim(len(group) - 0.5, -0.5)
        log_axis(axes.xaxis)
        finish(axes, "exit skew [us]" if axes is stacked[-1] else "", "", str(panel))
        axes.grid(visible=False, axis="y")
    named = numbers.rename(columns={"panel": "configuration", "line": "synchronizer", "bound": "bound_us"})
    named = named.rename(columns={name: f"{name}_us" for name in QUANTILES})
    if named["configuration"].nunique() == 1:
        named = named.drop(columns="configuration")
    caption = MEANING + meaning + BOUND + note
    return Picture("exit_skew", "How far apart ranks leave each synchronizer", caption, figure, named)


def draw_quantiles(axes: Axes, row: int, skew: dict[Hashable, Any], color: str) -> None:
    """Draws one distribution as bars along a row."""
    at = {name: max(skew[name], RESOLUTION_US) for name in QUANTILES}
    axes.plot([at["p5"], at["p95"]], [row, row], color=color, linewidth=1.2, solid_capstyle="butt")
    axes.plot([at["p25"], at["p75"]], [row, row], color=color, linewidth=6, solid_capstyle="butt", alpha=0.55)
    axes.plot([at["p99"]], [row], color=color, marker="|", markersize=8)
    axes.plot(
        [at["median"]], [row], color=color, marker="o", markersize=5, markeredgecolor="white", markeredgewidth=0.8
    )
    if np.isfinite(skew["median"]):
        axes.annotate(
            f"{skew['median']:.3g}",
            (at["median"], row),
            xytext=(0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=TEXT_POINTS - 2.5,
            color=GRAY,
        )
