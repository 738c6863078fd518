"""The style of all pictures: colors that the color-blind can distinguish, sizes that fit a phone, legible axes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

# Positions of a line with markers. With more, markers would hide the line; intervals are then a band.
MAX_MARKED = 64
WIDTH_INCHES = 6.6
NARROW_INCHES = 4.4  # width on a phone, one panel per row
HEIGHT_INCHES = 3.9
PANEL_INCHES = 2.6  # height of a panel, if there are several
# Panels of a picture. More would make a page of megabytes.
MAX_PANELS = 12
ROW_INCHES = 0.27  # height of a row of a list

# Okabe and Ito 2008, without yellow, which is lost on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# In gray print, markers and dashes distinguish lines.
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (3, 1)), (0, (8, 2)), (0, (1, 2)))
# Palette indices of the two usual synchronizers, so that they look the same in all pictures.
FIXED = {"mpi_barrier": 1, "harmonize": 0}
GRAY = "#57606a"
GRID = "#dde2e7"
TEXT_POINTS = 9.0
TITLE_CHARACTERS = 88  # of a title over the whole width


def new_figure(width: float = WIDTH_INCHES, height: float = HEIGHT_INCHES) -> Figure:
    """Creates an empty figure without pyplot, which would keep it in memory."""
    return Figure(figsize=(width, height), layout="constrained")


def positions(names: Iterable[str]) -> dict[str, int]:
    """Assigns each name an index in the palette: the fixed index, or the next free one."""
    numbers: dict[str, int] = {}
    names = list(dict.fromkeys(names))
    reserved = {FIXED[name] for name in names if name in FIXED}
    free = (number for number in range(len(names) + len(FIXED)) if number not in reserved)
    for name in names:
        numbers[name] = FIXED[name] if name in FIXED else next(free)
    return numbers


def look_of(position: int) -> dict[str, Any]:
    """Returns the arguments of `Axes.plot` (color, marker, dashes) for an index in the palette."""
    # From the second round on the same color has another marker.
    turn = position // len(COLORS)
    return {
        "color": COLORS[position % len(COLORS)],
        "marker": MARKERS[(position + turn) % len(MARKERS)],
        "linestyle": DASHES[(position + turn) % len(DASHES)],
        "markersize": 4.5,
        "linewidth": 1.5,
    }


def finish(axes: Axes, x: str, y: str, title: str = "") -> None:
    """Labels axes, and sets grid, ticks and spines to the common style."""
    axes.set_xlabel(x, fontsize=TEXT_POINTS)
    axes.set_ylabel(y, fontsize=TEXT_POINTS)
    if title:
        grid = axes.get_subplotspec()
        columns = grid.get_gridspec().ncols if grid else 1
        share = axes.figure.get_figwidth() / WIDTH_INCHES / columns  # type: ignore[union-attr]
        title = textwrap.fill(title, int(TITLE_CHARACTERS * share))
        axes.set_title(title, fontsize=TEXT_POINTS, loc="left", color="#1b1f24")
    axes.tick_params(labelsize=TEXT_POINTS - 0.5, color=GRAY, length=3)
    axes.tick_params(which="minor", length=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GRAY)
    axes.grid(visible=True, color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)


def finish_legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """Puts one legend above all panels, if any mark has a label."""
    handles = {
        label: handle
        for panel in panels
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
        if not label.startswith("_")
    }
    if not handles:
        return
    # The longest label limits the number of columns.
    line_characters = 80 * figure.get_figwidth() / WIDTH_INCHES
    columns = max(1, min(len(handles), int(line_characters / (max(map(len, handles)) + 7))))
    # matplotlib fills a legend by columns; this order reads by rows.
    names = [name for column in range(columns) for name in list(handles)[column::columns]]
    figure.legend(
        [handles[name] for name in names],
        names,
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        fontsize=TEXT_POINTS,
        handlelength=2.6,
        borderaxespad=0.0,
    )


def set_log(axis: Axis) -> None:
    """Sets the scale of an axis to logarithmic."""
    axes = axis.axes
    (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")


def log_axis(axis: Axis) -> None:
    """Makes an axis logarithmic, with ticks in plain numbers; call it when all is drawn."""
    set_log(axis)
    low, high = sorted(axis.get_view_interval())
    decades = np.log10(high / low) if low > 0 else np.inf  # margins of earlier lines may reach below 0
    if decades < 0.7:
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    else:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.2 else (1.0,), numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def whole_ticks(axis: Axis) -> None:
    """Lets an axis of ranks, processes or launches have ticks at whole numbers only."""
    axis.set_major_locator(MaxNLocator(nbins=8, integer=True))
