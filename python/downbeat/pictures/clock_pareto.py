"""Synchronization schemes: how long each takes against how far off the clocks are then (Hunold 2015, figure 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from downbeat.base.text import MICROSECONDS
from downbeat.pictures.style import COLORS, GRAY, TEXT_POINTS, Picture, finish, log_axis, new_figure

if TYPE_CHECKING:
    import xarray as xr

POINTS_PER_INCH = 72.0
# Size of a scheme's name, in points.
LABEL_HEIGHT = 9.0
LABEL_WIDTH = 55.0
CAPTION = (
    "Duration of a synchronization (median over repetitions) against the {error}, largest over ranks (median over "
    "repetitions), after the time above each panel. Filled and joined: the Pareto front, no other scheme is both "
    "quicker and better (Hunold 2015, figure 10)."
)


def pareto_front(duration: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Returns which schemes are on the front: none is at least as quick and as good, and better in one of both."""
    quicker = (duration[:, None] >= duration) & (error[:, None] >= error)
    better = (duration[:, None] > duration) | (error[:, None] > error)
    return np.asarray(~(quicker & better).any(axis=1))


def draw_pareto(data: xr.Dataset) -> list[Picture]:
    """Draws what `downbeat-bench clock` measured, a panel per time after the synchronization."""
    if not {"duration_median", "offset_max"} <= set(data.data_vars):
        return []
    kind, error = ("true error", "true_max") if "true_max" in data else ("measured offset", "offset_max")
    frames = []
    for wait in data["wait"].to_numpy().astype(float):
        seen = data.sel(wait=wait)
        frame = pd.DataFrame(
            {
                "wait_s": wait,
                "scheme": seen["scheme"].to_numpy(),
                "duration_us": seen["duration_median"].to_numpy() * MICROSECONDS,
                "error_us": seen[error].to_numpy() * MICROSECONDS,
            }
        ).dropna()
        frames.append(
            frame.assign(on_front=pareto_front(frame["duration_us"].to_numpy(), frame["error_us"].to_numpy()))
        )
    numbers = pd.concat(frames, ignore_index=True)
    waits = list(numbers.groupby("wait_s"))
    figure = new_figure(height=3.6 * len(waits))
    for axes, (wait, group) in zip(figure.subplots(len(waits), squeeze=False)[:, 0], waits, strict=True):
        draw_panel(axes, group)
        finish(axes, "duration [us]", f"{kind} [us]", f"after {float(str(wait)):g} s" if wait else "at once")
    return [
        Picture(
            "clock_pareto",
            "Which synchronization scheme?",
            CAPTION.replace("{error}", kind),
            figure,
            numbers,
        )
    ]


def draw_panel(axes: Axes, group: pd.DataFrame) -> None:
    """Draws the schemes at one time after the synchronization."""
    front = group[group["on_front"]].sort_values("duration_us")
    rest = group[~group["on_front"]]
    axes.plot(rest["duration_us"], rest["error_us"], linestyle="", marker="o", markerfacecolor="white", color=GRAY)
    axes.plot(front["duration_us"], front["error_us"], color=COLORS[0], marker="o", linewidth=1.2)
    log_axis(axes.xaxis)
    log_axis(axes.yaxis)
    axes.margins(x=0.15, y=0.25)
    name_points(axes, group)


def name_points(axes: Axes, group: pd.DataFrame) -> None:
    """Writes the schemes beside their points, one above the other where points lie close."""
    placed: list[tuple[float, float]] = []
    for point in group.sort_values("error_us").to_dict("records"):
        at = (point["duration_us"], point["error_us"])
        x, y = axes.transData.transform(at) * POINTS_PER_INCH / axes.figure.dpi
        text = y + 4
        for other_x, other_y in placed:
            if abs(other_x - x) < LABEL_WIDTH and abs(other_y - text) < LABEL_HEIGHT:
                text = other_y + LABEL_HEIGHT
        placed.append((x, text))
        axes.annotate(
            point["scheme"],
            at,
            xytext=(5, text - y),
            textcoords="offset points",
            fontsize=TEXT_POINTS - 1.5,
            color=COLORS[0] if point["on_front"] else GRAY,
        )
