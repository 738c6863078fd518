"""Draws panels: the one place where matplotlib is called for lines, bands, boxes, heat maps, dots and timelines."""

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
    MOST_MARKED,
    MOST_PANELS,
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
    """Draws panels, at most `MOST_PANELS`, from left to right; those that are compared share an axis.

    Args:
        name: of the picture.
        title: of the picture.
        caption: what to know of it.
        panels: the data.
        numbers: of all panels; None: a row per point, in the units of the labels.
        columns: of panels; a panel with rows is wide, and alone in its line unless this is said.
        share_x: whether all have the same horizontal axis, or "col", those of a column.
        share_y: whether all have the same vertical axis.
    """
    drawn = tuple(panels[:MOST_PANELS])
    if len(panels) > len(drawn):
        caption += f" The first {len(drawn)} of {len(panels)} panels are drawn; the numbers are of all."
    figure = figure_of(drawn, columns, share_x, share_y)
    narrow = figure_of(drawn, 1, share_x, share_y, NARROW_INCHES)
    return Picture(name, title, caption, figure, numbers_of(panels) if numbers is None else numbers, drawn, narrow)


def figure_of(
    panels: Sequence[Panel], columns: int, share_x: bool | Literal["col"], share_y: bool, width: float = WIDTH_INCHES
) -> Figure:
    """The figure of panels, so many in a row; arguments as of `make_picture`."""
    columns = min(columns, len(panels))
    heights = [
        max(one.inches or (HEIGHT_INCHES - 0.5 if len(panels) == 1 else PANEL_INCHES) for one in row)
        for row in (panels[at : at + columns] for at in range(0, len(panels), columns))
    ]
    figure = new_figure(width, 0.6 + sum(heights))
    grid = figure.subplots(
        len(heights), columns, squeeze=False, sharex=share_x, sharey=share_y, gridspec_kw={"height_ratios": heights}
    )
    places = positions(box.label for panel in panels for box in panel.marks if isinstance(box, Box))
    last = len(panels) - columns
    for number, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
        draw_panel(axes, panel, places, bottom=not (share_x and panel.inches) or number >= last)
    for unused in grid.flat[len(panels) :]:
        unused.remove()
    finish_legend(figure, figure.axes)
    return figure


def draw_panel(axes: Axes, panel: Panel, places: Mapping[str, int], bottom: bool) -> None:
    """Draws one pair of axes; only the lowest of several that share one say what it is."""
    if panel.shade:
        axes.axhspan(*panel.shade, color=GRAY, alpha=0.18, linewidth=0)
    for one in panel.marks:
        if isinstance(one, Line):
            draw_line(axes, one)
        elif isinstance(one, Band):
            color = COLORS[one.color % len(COLORS)]
            name_series(
                axes.fill_between(one.x, one.low, one.high, color=color, alpha=one.alpha, linewidth=0), one.label
            )
        elif isinstance(one, Dots):
            draw_dots(axes, one)
        elif isinstance(one, Timeline):
            draw_bars(axes, one.bars, one.ranks)
    draw_boxes(axes, panel, places)
    if panel.x_at is not None:
        axes.axvline(panel.x_at, color=GRAY, linewidth=1, linestyle=":")
    if panel.y_at is not None:
        axes.axhline(panel.y_at, color=GRAY, linewidth=0.8, zorder=1)  # above the grid
    if panel.notes:
        axes.margins(0.2)
    set_scales(axes, panel)
    finish(axes, panel.x if bottom else "", panel.y, panel.title)
    if not panel.inches:
        axes.tick_params(labelbottom=True, labelleft=True)  # of panels that share axes, too
    if panel.inches:
        axes.grid(visible=False, axis="y")
    for heat in (one for one in panel.marks if isinstance(one, Heat)):
        draw_map(axes, heat)
    write_notes(axes, panel.notes)


def set_scales(axes: Axes, panel: Panel) -> None:
    """Sets limits, scales and ticks, when all is drawn."""
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
        places = sorted({float(x) for one in panel.marks if isinstance(one, Line) for x in one.x})
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(places[:: max(1, -(-len(places) // 8))]))
        axes.xaxis.set_minor_locator(NullLocator())
        text = bytes_text if panel.x_scale == "bytes" else "{:g}".format
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
        if len(places) == 1:
            axes.set_xlim(places[0] / 2, places[0] * 2)


def draw_line(axes: Axes, one: Line) -> None:
    """Draws a line with its intervals."""
    x, y = np.asarray(one.x, dtype=float), np.asarray(one.y, dtype=float)
    many = len(x) > MOST_MARKED
    if isinstance(one.color, str):
        color, style = one.color, "-" if one.style is None else one.style
        marker = NO_MARKER if one.marker is None else one.marker
    else:
        color, turn = COLORS[one.color % len(COLORS)], one.color // len(COLORS)
        # From the second round on the same color has another marker.
        style = DASHES[(one.color + turn) % len(DASHES)] if one.style is None else one.style  # type: ignore[assignment]
        marker = one.color + turn if one.marker is None else one.marker
    (curve,) = axes.plot(
        x,
        y,
        label=one.label or None,
        color=color,
        linestyle="-" if style == "steps" else style or "none",
        drawstyle="steps-post" if style == "steps" else "default",
        marker="" if many or marker == NO_MARKER else MARKERS[marker % len(MARKERS)],
        markersize=4.5,
        linewidth=one.width,
    )
    artists: list[Artist] = [curve]
    if one.low is not None and one.high is not None:
        low, high = np.asarray(one.low, dtype=float), np.asarray(one.high, dtype=float)
        if many:
            artists.append(axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0))
        else:
            # Ends of no interval hide nothing: the point is at one of them then.
            half = (np.maximum(0.0, y - low), np.maximum(0.0, high - y))
            bars = axes.errorbar(x, y, yerr=half, fmt="none", ecolor=color, capsize=2.5, elinewidth=1)
            artists += [artist for group in bars.lines[1:] for artist in group]
    for artist in artists:
        name_series(artist, one.label)


def name_series(artist: Artist, label: str) -> None:
    """Gives an artist an identifier by which a page hides and shows its series."""
    figure = artist.get_figure()
    if label and figure is not None:
        count = len([other for other in figure.findobj(Artist) if str(other.get_gid() or "").startswith("series.")])
        artist.set_gid(f"series.{anchor(label)}.{count}")


LARGEST_DOT = 60.0  # area of a dot, in square points


def draw_dots(axes: Axes, one: Dots) -> None:
    """Draws signed values at points."""
    values = np.asarray(one.values, dtype=float)
    limit = float(np.abs(values).max()) or 1.0
    sizes = np.maximum(LARGEST_DOT * np.abs(values) / limit, 2.0)
    look = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit, "linewidths": 0.2, "edgecolors": "black"}
    dots = axes.scatter(one.x, one.y, s=sizes, c=values, **look)  # type: ignore[arg-type]
    axes.figure.colorbar(dots, ax=axes, label=one.unit)
    axes.set_aspect("equal")


BOX_SHARE = 0.8  # of the room of a group that its boxes fill


def draw_boxes(axes: Axes, panel: Panel, places: Mapping[str, int]) -> None:
    """Draws the boxes of a panel, beside each other by group, or below each other."""
    boxes = [one for one in panel.marks if isinstance(one, Box)]
    if not boxes:
        return
    groups, labels = panel.groups, list(places)
    room = BOX_SHARE / (1 if panel.rows else len(labels))
    for one in boxes:
        beside = 0.0 if panel.rows else (labels.index(one.label) - (len(labels) - 1) / 2) * room
        at = groups.index(one.group) + beside
        color = COLORS[(places[one.label] if one.color is None else one.color) % len(COLORS)]
        (low, high), ends = one.box, one.whiskers

        def put(values: Sequence[float] | np.ndarray, place: float = at, **look: object) -> None:
            across = np.full(len(values), place)
            axes.plot(*((values, across) if panel.rows else (across, values)), **look)  # type: ignore[arg-type]

        put(ends, linewidth=1.2, color=color, solid_capstyle="butt")
        bar = axes.barh if panel.rows else axes.bar
        start = {"left" if panel.rows else "bottom": low}
        bar(at, high - low, 0.55 * room, color=color, alpha=0.5, linewidth=0, label=one.label or None, **start)  # type: ignore[arg-type]
        put(one.points, color=color, linestyle="", marker="|" if panel.rows else ".", markersize=8 if panel.rows else 3)
        put([one.median], color="black", linestyle="", marker="|" if panel.rows else "_", markersize=8)
        for end in one.interval or ():
            put([end], color=color, linestyle="", marker="|", markersize=6)
        if panel.rows and np.isfinite(one.median):
            where = {"xytext": (0, 8), "textcoords": "offset points", "ha": "center", "color": GRAY}
            axes.annotate(f"{one.median:.3g}", (one.median, at), fontsize=TEXT_POINTS - 2.5, **where)  # type: ignore[arg-type]
    if panel.rows:
        axes.margins(x=0.08)  # room for the last mark
        axes.set_yticks(range(len(groups)), groups)
        axes.set_ylim(len(groups) - 0.4, -0.6)
    else:
        axes.set_xticks(range(len(groups)), groups)
        axes.set_xlim(-0.5, len(groups) - 0.5)


# White to dark in one hue: in gray print it is still the order.
HUE = "Blues"
RATIO_HUES = "RdBu"
LEAST_RATIO = 1.1  # smaller differences are pale
DARK_RATIO = 0.85
DARK = 0.71  # of the scale; above it white figures have more contrast than black ones


def draw_map(axes: Axes, heat: Heat) -> None:
    """Draws a matrix."""
    table = heat.values
    values = table.to_numpy(dtype=float)
    spreads = np.full(values.shape, np.nan) if heat.deviations is None else heat.deviations.to_numpy(dtype=float)
    low, high = np.nanmin(values), np.nanmax(values)
    if heat.ratios:
        high = max(high, 1 / low, LEAST_RATIO)
        low = 1 / high
    scale = LogNorm(low, high if high > low else low * 1.01)
    axes.imshow(values, cmap=RATIO_HUES if heat.ratios else HUE, norm=scale, aspect="auto")
    for row, column in heat.framed:
        at = (list(table.columns).index(column) - 0.5, list(table.index).index(row) - 0.5)
        axes.add_patch(Rectangle(at, 1, 1, fill=False, edgecolor="black", linewidth=2, zorder=3, clip_on=False))
    for (row, column), value in np.ndenumerate(values):
        written = f"{value:{heat.form}}" if np.isfinite(value) else "-"
        if np.isfinite(spreads[row, column]):
            written += f"\n\u00b1 {spreads[row, column]:{heat.form}}"
        shade = float(scale(value)) if np.isfinite(value) else 0.0
        dark = np.isfinite(value) and (shade > DARK_RATIO or shade < 1 - DARK_RATIO if heat.ratios else shade > DARK)
        color = "white" if dark else "black"
        axes.text(column, row, written, ha="center", va="center", color=color, fontsize=TEXT_POINTS - 0.5)
    axes.set_yticks(range(len(table.index)), table.index, fontsize=TEXT_POINTS - 0.5)
    axes.set_xticks(range(len(table.columns)), table.columns, fontsize=TEXT_POINTS - 0.5)
    axes.tick_params(axis="x", rotation=40)
    for text in axes.get_xticklabels():
        text.set(ha="right", rotation_mode="anchor")
    axes.tick_params(length=0, labelcolor=GRAY)
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(0.5, len(table.columns) - 1), minor=True)
    axes.set_yticks(np.arange(0.5, len(table.index) - 1), minor=True)
    axes.grid(visible=False)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)


# With more bars, every second, third, ... rank is shown.
BAR_HEIGHT = 0.72  # of the distance of two ranks
PHASES = ("synchronizer", "wait", "operation")
# In gray print they are middle, light, and dark.
PHASE_COLORS = {"synchronizer": COLORS[4], "wait": "#dfe5ea", "operation": COLORS[0]}


def draw_bars(axes: Axes, bars: pd.DataFrame, ranks: int) -> None:
    """Draws the bars of one sample."""
    step = rank_step(ranks)
    shown = bars[bars["rank"] % step == 0]
    for phase, group in shown.groupby("phase", sort=False):
        begin, end, middle = (group[name].to_numpy(float) for name in ("begin_us", "end_us", "rank"))
        low, high = middle / step - BAR_HEIGHT / 2, middle / step + BAR_HEIGHT / 2
        corners = np.stack([[begin, low], [end, low], [end, high], [begin, high]]).transpose(2, 0, 1)
        # All in one, for a patch of its own for each takes most of the time of a page.
        color = PHASE_COLORS[str(phase)]
        axes.add_collection(PolyCollection(list(corners), facecolors=color, edgecolors="none", label=str(phase)))
    axes.autoscale_view()
    axes.axvline(0, color=GRAY, linewidth=0.8, linestyle=":")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    places = np.arange(0, -(-ranks // step), max(1, -(-ranks // step) // 8))
    axes.set_yticks(places, [str(place * step) for place in places])
    axes.set_ylim((ranks - 1) // step + 0.6, -0.6)


def write_notes(axes: Axes, notes: Sequence[tuple[float, float, str]]) -> None:
    """Writes texts beside points, one above the other where points lie close."""
    placed: list[tuple[float, float]] = []
    for x, y, text in sorted(notes, key=lambda note: note[1]):
        left, bottom = axes.transData.transform((x, y)) * 72 / axes.figure.dpi
        above = bottom + 4
        for other_left, other in placed:
            if abs(other_left - left) < NOTE_WIDTH and abs(other - above) < NOTE_HEIGHT:
                above = other + NOTE_HEIGHT
        placed.append((left, above))
        where = {"xytext": (5, above - bottom), "textcoords": "offset points"}
        axes.annotate(text, (x, y), fontsize=TEXT_POINTS - 2, color=GRAY, **where)  # type: ignore[arg-type]


def numbers_of(panels: Sequence[Panel]) -> pd.DataFrame:
    """Returns the numbers drawn, a row per point or box; units are those of the labels of the axes."""
    frames = []
    for panel in panels:
        where: dict[str, str] = {"panel": panel.title} if len(panels) > 1 else {}
        for one in panel.marks:
            if isinstance(one, Line):
                columns: dict[str, object] = {
                    **where,
                    "series": one.label,
                    panel.x: np.asarray(one.x),
                    panel.y: np.asarray(one.y),
                }
                if one.low is not None and one.high is not None:
                    columns |= {"low": np.asarray(one.low), "high": np.asarray(one.high)}
                frames.append(pd.DataFrame(columns))
            elif isinstance(one, Box):
                every = [*one.points, *one.whiskers]
                ends = {
                    "min": min(every),
                    "p25": one.box[0],
                    "median": one.median,
                    "p75": one.box[1],
                    "max": max(every),
                }
                row = {**where, panel.x: one.group, "of": one.label, "unit": panel.y, "values": one.count, **ends}
                frames.append(pd.DataFrame([row]))
            elif isinstance(one, Timeline):
                frames.append(one.bars.assign(**where))
            elif isinstance(one, Heat):
                part = one.values.rename_axis(panel.y or None)
                if one.deviations is not None:
                    part = part.join(one.deviations.add_suffix(" deviation"))
                frames.append(part.reset_index().assign(**where))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
