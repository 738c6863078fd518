"""Draws panels (`panel.py`) with matplotlib: lines, bands, boxes, heat maps, dots and timelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from downbeat.output.blocks import Picture, anchor
from downbeat.report.panel import (
    NO_MARKER,
    NOTE_HEIGHT,
    NOTE_WIDTH,
    Band,
    Box,
    Dots,
    Heat,
    Line,
    Panel,
    Timeline,
    rank_step,
)
from downbeat.report.style import (
    COLORS,
    DASHES,
    GRAY,
    HEIGHT_INCHES,
    MARKERS,
    MAX_MARKED,
    MAX_PANELS,
    NARROW_INCHES,
    PANEL_INCHES,
    TEXT_POINTS,
    WIDTH_INCHES,
    finish,
    finish_legend,
    log_axis,
    new_figure,
    positions,
    whole_ticks,
)
from downbeat.text import bytes_text


def make_picture(
    name: str,
    title: str,
    caption: str,
    panels: Sequence[Panel],
    numbers: pd.DataFrame | None = None,
    columns: int = 2,
    share_x: bool | Literal["col"] = False,
    share_y: bool = False,
) -> Picture:
    """Draws at most `MAX_PANELS` panels, row by row, once for a page and once for a phone.

    Args:
        name: of the picture.
        title: of the picture.
        caption: text below it.
        panels: the data.
        numbers: table of all panels below the picture; None: a row per point, in the units of the axis labels.
        columns: panels per row.
        share_x: True: all panels have the same horizontal axis; "col": the panels of a column have.
        share_y: True: all panels have the same vertical axis.
    """
    drawn = tuple(panels[:MAX_PANELS])
    if len(panels) > len(drawn):
        caption += f" The first {len(drawn)} of {len(panels)} panels are drawn; the numbers are of all."
    figure = figure_of(drawn, columns, share_x, share_y)
    narrow = figure_of(drawn, 1, share_x, share_y, NARROW_INCHES)
    return Picture(name, title, caption, figure, numbers_of(panels) if numbers is None else numbers, drawn, narrow)


def figure_of(
    panels: Sequence[Panel], columns: int, share_x: bool | Literal["col"], share_y: bool, width: float = WIDTH_INCHES
) -> Figure:
    """Draws a figure of panels; `columns`, `share_x` and `share_y` are arguments of `make_picture`."""
    columns = min(columns, len(panels))
    heights = [
        max(panel.inches or (HEIGHT_INCHES - 0.5 if len(panels) == 1 else PANEL_INCHES) for panel in row)
        for row in (panels[at : at + columns] for at in range(0, len(panels), columns))
    ]
    figure = new_figure(width, 0.6 + sum(heights))
    grid = figure.subplots(
        len(heights), columns, squeeze=False, sharex=share_x, sharey=share_y, gridspec_kw={"height_ratios": heights}
    )
    colors = positions(box.label for panel in panels for box in panel.marks if isinstance(box, Box))
    last = len(panels) - columns
    for number, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
        draw_panel(axes, panel, colors, bottom=not (share_x and panel.inches) or number >= last)
    for unused in grid.flat[len(panels) :]:
        unused.remove()
    finish_legend(figure, figure.axes)
    return figure


def draw_panel(axes: Axes, panel: Panel, colors: Mapping[str, int], bottom: bool) -> None:
    """Draws a panel; `bottom` is False if a panel below labels the shared horizontal axis.

    `colors`: label of a box -> index in the palette.
    """
    if panel.shade:
        axes.axhspan(*panel.shade, color=GRAY, alpha=0.18, linewidth=0)
    for mark in panel.marks:
        if isinstance(mark, Line):
            draw_line(axes, mark)
        elif isinstance(mark, Band):
            color = COLORS[mark.color % len(COLORS)]
            name_series(
                axes.fill_between(mark.x, mark.low, mark.high, color=color, alpha=mark.alpha, linewidth=0), mark.label
            )
        elif isinstance(mark, Dots):
            draw_dots(axes, mark)
        elif isinstance(mark, Timeline):
            draw_bars(axes, mark.bars, mark.ranks)
    draw_boxes(axes, panel, colors)
    if panel.x_at is not None:
        axes.axvline(panel.x_at, color=GRAY, linewidth=1, linestyle=":")
    if panel.y_at is not None:
        axes.axhline(panel.y_at, color=GRAY, linewidth=0.8, zorder=1)  # above the grid
    if panel.notes:
        axes.margins(0.2)
    set_scales(axes, panel)
    finish(axes, panel.x if bottom else "", panel.y, panel.title)
    if not panel.inches:
        axes.tick_params(labelbottom=True, labelleft=True)  # matplotlib hides them on shared axes
    if panel.inches:
        axes.grid(visible=False, axis="y")
    for heat in (mark for mark in panel.marks if isinstance(mark, Heat)):
        draw_map(axes, heat)
    write_notes(axes, panel.notes)


def set_scales(axes: Axes, panel: Panel) -> None:
    """Sets limits, scales and ticks. Call after all marks are drawn."""
    if panel.x_limits:
        axes.set_xlim(panel.x_limits)
    if panel.y_limits:
        axes.set_ylim(panel.y_limits)
    for axis, scale in ((axes.xaxis, panel.x_scale), (axes.yaxis, panel.y_scale)):
        if scale == "log":
            log_axis(axis)
        elif scale == "whole":
            whole_ticks(axis)
        elif scale == "none":
            axis.set_ticks([])
    if panel.x_scale in ("bytes", "positions"):
        ticks = sorted({float(x) for mark in panel.marks if isinstance(mark, Line) for x in mark.x})
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(ticks[:: max(1, -(-len(ticks) // 8))]))
        axes.xaxis.set_minor_locator(NullLocator())
        text = bytes_text if panel.x_scale == "bytes" else "{:g}".format
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
        if len(ticks) == 1:
            axes.set_xlim(ticks[0] / 2, ticks[0] * 2)


def draw_line(axes: Axes, line: Line) -> None:
    """Draws a line with its intervals: bars, or a band if it has many positions."""
    x, y = np.asarray(line.x, dtype=float), np.asarray(line.y, dtype=float)
    has_band = len(x) > MAX_MARKED
    if isinstance(line.color, str):
        color, style = line.color, "-" if line.style is None else line.style
        marker = NO_MARKER if line.marker is None else line.marker
    else:
        color, turn = COLORS[line.color % len(COLORS)], line.color // len(COLORS)
        # From the second round on the same color has another marker.
        style = DASHES[(line.color + turn) % len(DASHES)] if line.style is None else line.style  # type: ignore[assignment]
        marker = line.color + turn if line.marker is None else line.marker
    (curve,) = axes.plot(
        x,
        y,
        label=line.label or None,
        color=color,
        linestyle="-" if style == "steps" else style or "none",
        drawstyle="steps-post" if style == "steps" else "default",
        marker="" if has_band or marker == NO_MARKER else MARKERS[marker % len(MARKERS)],
        markersize=4.5,
        linewidth=line.width,
    )
    artists: list[Artist] = [curve]
    if line.low is not None and line.high is not None:
        low, high = np.asarray(line.low, dtype=float), np.asarray(line.high, dtype=float)
        if has_band:
            artists.append(axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0))
        else:
            # matplotlib refuses negative lengths: a point outside its interval has no bar on that side.
            half = (np.maximum(0.0, y - low), np.maximum(0.0, high - y))
            bars = axes.errorbar(x, y, yerr=half, fmt="none", ecolor=color, capsize=2.5, elinewidth=1)
            artists += [artist for group in bars.lines[1:] for artist in group]
    for artist in artists:
        name_series(artist, line.label)


def name_series(artist: Artist, label: str) -> None:
    """Gives an artist an identifier; the page uses it to hide and show its series."""
    figure = artist.get_figure()
    if label and figure is not None:
        count = len([named for named in figure.findobj(Artist) if str(named.get_gid() or "").startswith("series.")])
        artist.set_gid(f"series.{anchor(label)}.{count}")


MAX_DOT_AREA = 60.0  # square points


def draw_dots(axes: Axes, points: Dots) -> None:
    """Draws signed values at points, with a color scale that is symmetric about 0."""
    values = np.asarray(points.values, dtype=float)
    limit = float(np.abs(values).max()) or 1.0
    sizes = np.maximum(MAX_DOT_AREA * np.abs(values) / limit, 2.0)
    look = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit, "linewidths": 0.2, "edgecolors": "black"}
    dots = axes.scatter(points.x, points.y, s=sizes, c=values, **look)  # type: ignore[arg-type]
    axes.figure.colorbar(dots, ax=axes, label=points.unit)
    axes.set_aspect("equal")


BOX_SHARE = 0.8  # share of the distance of two groups that the boxes of a group fill


def draw_boxes(axes: Axes, panel: Panel, colors: Mapping[str, int]) -> None:
    """Draws the boxes of a panel: horizontally, one below the other, or vertically, side by side."""
    boxes = [box for box in panel.marks if isinstance(box, Box)]
    if not boxes:
        return
    groups, labels = panel.groups, list(colors)
    box_width = BOX_SHARE / (1 if panel.rows else len(labels))
    for box in boxes:
        shift = 0.0 if panel.rows else (labels.index(box.label) - (len(labels) - 1) / 2) * box_width
        at = groups.index(box.group) + shift
        color = COLORS[(colors[box.label] if box.color is None else box.color) % len(COLORS)]
        (low, high), ends = box.box, box.whiskers

        def put(values: Sequence[float] | np.ndarray, position: float = at, **look: object) -> None:
            across = np.full(len(values), position)
            axes.plot(*((values, across) if panel.rows else (across, values)), **look)  # type: ignore[arg-type]

        put(ends, linewidth=1.2, color=color, solid_capstyle="butt")
        bar = axes.barh if panel.rows else axes.bar
        start = {"left" if panel.rows else "bottom": low}
        bar(at, high - low, 0.55 * box_width, color=color, alpha=0.5, linewidth=0, label=box.label or None, **start)  # type: ignore[arg-type]
        put(box.points, color=color, linestyle="", marker="|" if panel.rows else ".", markersize=8 if panel.rows else 3)
        put([box.median], color="black", linestyle="", marker="|" if panel.rows else "_", markersize=8)
        for end in box.interval or ():
            put([end], color=color, linestyle="", marker="|", markersize=6)
        if panel.rows and np.isfinite(box.median):
            where = {"xytext": (0, 8), "textcoords": "offset points", "ha": "center", "color": GRAY}
            axes.annotate(f"{box.median:.3g}", (box.median, at), fontsize=TEXT_POINTS - 2.5, **where)  # type: ignore[arg-type]
    if panel.rows:
        axes.margins(x=0.08)  # room for the last mark
        axes.set_yticks(range(len(groups)), groups)
        axes.set_ylim(len(groups) - 0.4, -0.6)
    else:
        axes.set_xticks(range(len(groups)), groups)
        axes.set_xlim(-0.5, len(groups) - 0.5)


# Light to dark in one hue, so that gray print keeps the order.
HUE = "Blues"
RATIO_HUES = "RdBu"
MIN_COLOR_RATIO = 1.1  # the full color is at least this ratio, so smaller differences are pale
# Positions on the color scale (0 to 1) beyond which white digits have more contrast than black ones.
DARK_RATIO = 0.85  # of ratios, and 1 - 0.85 at the other end
DARK = 0.71  # of other values


def draw_map(axes: Axes, heat: Heat) -> None:
    """Draws a heat map with its values as text."""
    table = heat.values
    values = table.to_numpy(dtype=float)
    spreads = np.full(values.shape, np.nan) if heat.deviations is None else heat.deviations.to_numpy(dtype=float)
    low, high = np.nanmin(values), np.nanmax(values)
    if heat.ratios:
        high = max(high, 1 / low, MIN_COLOR_RATIO)
        low = 1 / high
    scale = LogNorm(low, high if high > low else low * 1.01)
    axes.imshow(values, cmap=RATIO_HUES if heat.ratios else HUE, norm=scale, aspect="auto")
    for row, column in heat.framed:
        at = (list(table.columns).index(column) - 0.5, list(table.index).index(row) - 0.5)
        axes.add_patch(Rectangle(at, 1, 1, fill=False, edgecolor="black", linewidth=2, zorder=3, clip_on=False))
    for (row, column), value in np.ndenumerate(values):
        text = f"{value:{heat.form}}" if np.isfinite(value) else "-"
        if np.isfinite(spreads[row, column]):
            text += f"\n\u00b1 {spreads[row, column]:{heat.form}}"
        shade = float(scale(value)) if np.isfinite(value) else 0.0
        dark = np.isfinite(value) and (shade > DARK_RATIO or shade < 1 - DARK_RATIO if heat.ratios else shade > DARK)
        color = "white" if dark else "black"
        axes.text(column, row, text, ha="center", va="center", color=color, fontsize=TEXT_POINTS - 0.5)
    axes.set_yticks(range(len(table.index)), table.index, fontsize=TEXT_POINTS - 0.5)
    axes.set_xticks(range(len(table.columns)), table.columns, fontsize=TEXT_POINTS - 0.5)
    axes.tick_params(axis="x", rotation=40)
    for label in axes.get_xticklabels():
        label.set(ha="right", rotation_mode="anchor")
    axes.tick_params(length=0, labelcolor=GRAY)
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(0.5, len(table.columns) - 1), minor=True)
    axes.set_yticks(np.arange(0.5, len(table.index) - 1), minor=True)
    axes.grid(visible=False)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)


BAR_HEIGHT = 0.72  # share of the distance of two ranks
PHASES = ("synchronizer", "wait", "operation")
# In gray print: medium, light, dark.
PHASE_COLORS = {"synchronizer": COLORS[4], "wait": "#dfe5ea", "operation": COLORS[0]}


def draw_bars(axes: Axes, bars: pd.DataFrame, ranks: int) -> None:
    """Draws the bars of one sample; with more than `MAX_RANKS` ranks only every n-th rank (`rank_step`)."""
    step = rank_step(ranks)
    shown = bars[bars["rank"] % step == 0]
    for phase, group in shown.groupby("phase", sort=False):
        begin, end, middle = (group[name].to_numpy(float) for name in ("begin_us", "end_us", "rank"))
        low, high = middle / step - BAR_HEIGHT / 2, middle / step + BAR_HEIGHT / 2
        corners = np.stack([[begin, low], [end, low], [end, high], [begin, high]]).transpose(2, 0, 1)
        # One collection is much faster than a patch per bar.
        color = PHASE_COLORS[str(phase)]
        axes.add_collection(PolyCollection(list(corners), facecolors=color, edgecolors="none", label=str(phase)))
    axes.autoscale_view()
    axes.axvline(0, color=GRAY, linewidth=0.8, linestyle=":")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    ticks = np.arange(0, -(-ranks // step), max(1, -(-ranks // step) // 8))
    axes.set_yticks(ticks, [str(tick * step) for tick in ticks])
    axes.set_ylim((ranks - 1) // step + 0.6, -0.6)


def write_notes(axes: Axes, notes: Sequence[tuple[float, float, str]]) -> None:
    """Writes texts beside points; moves a text up if it would cover another one."""
    placed: list[tuple[float, float]] = []
    for x, y, text in sorted(notes, key=lambda note: note[1]):
        left, bottom = axes.transData.transform((x, y)) * 72 / axes.figure.dpi
        above = bottom + 4
        for other_left, other_above in placed:
            if abs(other_left - left) < NOTE_WIDTH and abs(other_above - above) < NOTE_HEIGHT:
                above = other_above + NOTE_HEIGHT
        placed.append((left, above))
        where = {"xytext": (5, above - bottom), "textcoords": "offset points"}
        axes.annotate(text, (x, y), fontsize=TEXT_POINTS - 2, color=GRAY, **where)  # type: ignore[arg-type]


def numbers_of(panels: Sequence[Panel]) -> pd.DataFrame:
    """Returns the numbers of panels as a frame, a row per point or box, in the units of the axis labels."""
    frames = []
    for panel in panels:
        where: dict[str, str] = {"panel": panel.title} if len(panels) > 1 else {}
        for mark in panel.marks:
            if isinstance(mark, Line):
                columns: dict[str, object] = {
                    **where,
                    "series": mark.label,
                    panel.x: np.asarray(mark.x),
                    panel.y: np.asarray(mark.y),
                }
                if mark.low is not None and mark.high is not None:
                    columns |= {"low": np.asarray(mark.low), "high": np.asarray(mark.high)}
                frames.append(pd.DataFrame(columns))
            elif isinstance(mark, Box):
                values = [*mark.points, *mark.whiskers]
                ends = {
                    "min": min(values),
                    "p25": mark.box[0],
                    "median": mark.median,
                    "p75": mark.box[1],
                    "max": max(values),
                }
                row = {**where, panel.x: mark.group, "of": mark.label, "unit": panel.y, "values": mark.count, **ends}
                frames.append(pd.DataFrame([row]))
            elif isinstance(mark, Timeline):
                frames.append(mark.bars.assign(**where))
            elif isinstance(mark, Heat):
                table = mark.values.rename_axis(panel.y or None)
                if mark.deviations is not None:
                    table = table.join(mark.deviations.add_suffix(" deviation"))
                frames.append(table.reset_index().assign(**where))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
