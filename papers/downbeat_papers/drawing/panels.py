"""Panels of lines beside each other, which is what most figures of the papers are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import matplotlib.axes
import numpy as np
import pandas as pd
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from downbeat.pictures.picture import Picture
from downbeat.pictures.style import COLORS, GRAY, MARKERS, WIDTH_INCHES, finish, log_axis, new_figure
from downbeat.units import bytes_text

PANEL_INCHES = 3.6
LEGEND_LINE_INCHES = 0.2
LEGEND_CHARACTERS = 84  # in a row of the legend, beside its lines
MOST_TICKS = 10
Numbers: TypeAlias = Sequence[float] | np.ndarray | pd.Series


@dataclass(frozen=True)
class Series:
    """A line: values at positions, in the units of the axes.

    Attributes:
        label: for the legend; empty: the line has no entry.
        x: positions.
        y: values.
        low: lower ends of the bars; None: no bars.
        high: upper ends.
        color: position in the palette, or any color.
        style: of the line, "" for none, "steps" for steps between positions.
        marker: position among the markers; None: none.
    """

    label: str
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    color: int | str = 0
    style: str = "-"
    marker: int | None = None


@dataclass(frozen=True)
class Panel:
    """A pair of axes."""

    series: Sequence[Series]
    x: str  # label
    y: str
    title: str = ""
    log_x: bool = False  # powers of two, a tick at each position
    log_y: bool = False
    bytes_x: bool = False  # sizes: ticks as 64K
    line_at: float | None = None  # a thin horizontal line
    marks: Sequence[tuple[float, float, str]] = field(default_factory=tuple)  # x, y, text beside a point
    decades_x: bool = False  # logarithmic, ticks at powers of ten


def draw_panels(name: str, title: str, caption: str, panels: Sequence[Panel]) -> Picture:
    """Draws panels from left to right, two in a row, with one legend below."""
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    entries = {one.label: one for panel in panels for one in panel.series if one.label}
    longest = max(map(len, entries), default=1)
    in_a_row = max(1, min(3, LEGEND_CHARACTERS // longest))
    legend_rows = -(-len(entries) // in_a_row) if len(entries) > 1 else 0
    figure = new_figure(WIDTH_INCHES, PANEL_INCHES * rows + LEGEND_LINE_INCHES * legend_rows)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for place, panel in zip(axes, panels, strict=False):
        draw_panel(place, panel)
    for place in axes[len(panels) :]:
        place.remove()
    if legend_rows:
        handles = {
            text: handle
            for place in figure.axes
            for handle, text in zip(*place.get_legend_handles_labels(), strict=True)
        }
        figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=in_a_row, fontsize=8)
    return Picture(name, title, caption, figure, numbers_of(panels))


def draw_panel(axes: matplotlib.axes.Axes, panel: Panel) -> None:
    """Draws one pair of axes."""
    for one in panel.series:
        color = one.color if isinstance(one.color, str) else COLORS[one.color % len(COLORS)]
        look: dict[str, Any] = {
            "color": color,
            "marker": "" if one.marker is None else MARKERS[one.marker % len(MARKERS)],
            "markersize": 4.5,
            "linewidth": 1.4,
            "label": one.label or None,
        }
        x, y = np.asarray(one.x, float), np.asarray(one.y, float)
        if one.style == "steps":
            axes.step(x, y, where="post", **look)
        else:
            axes.plot(x, y, linestyle=one.style or "none", **look)
        if one.low is not None and one.high is not None:
            axes.vlines(x, np.asarray(one.low, float), np.asarray(one.high, float), color=color, linewidth=0.9)
    if panel.line_at is not None:
        axes.axhline(panel.line_at, color=GRAY, linewidth=0.8, zorder=0)
    for x_place, y_place, text in panel.marks:
        axes.annotate(text, (x_place, y_place), xytext=(4, 3), textcoords="offset points", fontsize=6)
    if panel.marks:
        axes.margins(x=0.2)  # room for the last text
    if panel.log_x:
        label_positions(axes, panel)
    elif panel.decades_x:
        axes.set_xscale("log")
    elif all(float(x).is_integer() for one in panel.series for x in one.x):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))  # ranks, bins
    if panel.log_y:
        log_axis(axes.yaxis)
    finish(axes, panel.x, panel.y, panel.title)


def label_positions(axes: matplotlib.axes.Axes, panel: Panel) -> None:
    """Makes the horizontal axis one of powers of two, with ticks where there are values."""
    axes.set_xscale("log", base=2)
    places = sorted({float(x) for one in panel.series for x in one.x})
    step = -(-len(places) // MOST_TICKS) if places else 1
    axes.xaxis.set_major_locator(FixedLocator(places[::step]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: bytes_text(value) if panel.bytes_x else f"{value:g}"))
    if len(places) == 1:
        axes.set_xlim(places[0] / 2, places[0] * 2)


def numbers_of(panels: Sequence[Panel]) -> pd.DataFrame:
    """Returns what is drawn, a row per point; units are those of the labels of the axes."""
    frames = []
    for panel in panels:
        for one in panel.series:
            columns: dict[str, object] = {}
            if len(panels) > 1:
                columns["panel"] = panel.title
            columns |= {"series": one.label, panel.x: np.asarray(one.x), panel.y: np.asarray(one.y)}
            if one.low is not None and one.high is not None:
                columns |= {"low": np.asarray(one.low), "high": np.asarray(one.high)}
            frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
