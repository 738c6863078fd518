"""Drawing for the papers' figures: panels of lines, boxes, matrices, and timelines of single samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import matplotlib.axes
import numpy as np
import pandas as pd
import xarray as xr
from downbeat.base.text import MICROSECONDS, bytes_text, drawn_of, evenly
from downbeat.data.metrics import METRICS, Stamps
from downbeat.pictures.heat_map import draw_map
from downbeat.pictures.style import COLORS, GRAY, MARKERS, WIDTH_INCHES, Picture, finish, log_axis, new_figure
from downbeat.pictures.timelines import BAR_HEIGHT, PHASE_COLORS
from matplotlib.artist import Artist
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

PANEL_INCHES = 3.6
LEGEND_LINE_INCHES = 0.2
LEGEND_CHARACTERS = 84  # in a row of the legend, beside its lines
MOST_TICKS = 6  # of a panel, so that 64K and 256K do not touch
Numbers: TypeAlias = Sequence[float] | np.ndarray | pd.Series


@dataclass(frozen=True)
class Series:
    """A line: values at positions, in the units of the axes."""

    label: str  # for the legend; empty: the line has no entry
    x: Numbers  # positions
    y: Numbers  # values
    low: Numbers | None = None  # lower ends of the bars; None: no bars
    high: Numbers | None = None  # upper ends
    color: int | str = 0  # position in the palette, or any color
    style: str = "-"  # of the line, "" for none, "steps" for steps between positions
    marker: int | None = None  # position among the markers; None: none


def median_series(label: str, x: Numbers, launches: Sequence[Numbers], position: int) -> Series:
    """Returns the line of medians over launches, with bars from the smallest to the largest, at each position."""
    rows = [pd.Series(np.asarray(one, float)) for one in launches]  # empty where no launch has a valid sample
    middle, low, high = ([float(getattr(row, of)()) for row in rows] for of in ("median", "min", "max"))
    return Series(label, x, middle, low, high, color=position, marker=position)


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
        axes.axhline(panel.line_at, color=GRAY, linewidth=0.8, zorder=1)  # above the grid
    for x_place, y_place, text in panel.marks:
        axes.annotate(text, (x_place, y_place), xytext=(4, 3), textcoords="offset points", fontsize=6)
    if panel.marks:
        axes.margins(x=0.2)  # room for the last text
    if panel.log_x:
        label_positions(axes, panel)
    elif panel.decades_x:
        axes.set_xscale("log")
    elif any(all(float(x).is_integer() for x in one.x) for one in panel.series):
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


BOXES_INCHES = 3.8
BOX_SHARE = 0.8  # of the room of a group that its boxes fill


@dataclass(frozen=True)
class Box:
    """A distribution."""

    group: str  # the label below it
    label: str  # of its color
    values: np.ndarray


@dataclass(frozen=True)
class BoxPanel:
    """A pair of axes with groups of boxes."""

    boxes: Sequence[Box]
    x: str
    y: str
    title: str = ""
    log_y: bool = False


def draw_boxes(name: str, title: str, caption: str, panels: Sequence[BoxPanel]) -> Picture:
    """Draws groups of boxes: quartiles and median, whiskers to 1.5 times the box, every value beyond as a point."""
    stacked = 2 if len(panels) == 4 else 1  # four titles do not fit beside each other
    figure = new_figure(WIDTH_INCHES, stacked * BOXES_INCHES)
    in_row = len(panels) // stacked
    axes = figure.subplots(stacked, in_row, squeeze=False, sharey=len(panels) > 1).ravel()
    labels = list(dict.fromkeys(box.label for panel in panels for box in panel.boxes))
    handles: dict[str, Artist] = {}
    rows = []
    for position, (place, panel) in enumerate(zip(axes, panels, strict=True)):
        groups = list(dict.fromkeys(box.group for box in panel.boxes))
        room = BOX_SHARE / len(labels)
        for box in panel.boxes:
            number = labels.index(box.label)
            at = groups.index(box.group) + (number - (len(labels) - 1) / 2) * room
            color = COLORS[number % len(COLORS)]
            drawn = place.boxplot(
                [box.values],
                positions=[at],
                widths=0.8 * room,
                patch_artist=True,
                boxprops={"facecolor": color, "alpha": 0.5, "edgecolor": color},
                medianprops={"color": "black"},
                whiskerprops={"color": color},
                capprops={"color": color},
                flierprops={"marker": ".", "markersize": 3, "markeredgecolor": color},
            )
            handles.setdefault(box.label, drawn["boxes"][0])
            quantiles = np.percentile(box.values, [0, 25, 50, 75, 100])
            where = {"panel": panel.title} if len(panels) > 1 else {}
            summary = dict(zip(("min", "p25", "median", "p75", "max"), quantiles, strict=True))
            rows.append({**where, panel.x: box.group, "of": box.label, "values": len(box.values), **summary})
        place.set_xticks(range(len(groups)), groups)
        place.set_xlim(-0.5, len(groups) - 0.5)
        if panel.log_y:
            log_axis(place.yaxis)
        beside = panels[position - 1].y if position % in_row else ""
        finish(place, panel.x, "" if panel.y == beside else panel.y, panel.title)
        place.grid(visible=False, axis="x")
    if len(labels) > 1:
        figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=4, fontsize=8)
    return Picture(name, title, caption, figure, pd.DataFrame(rows))


MATRIX_ROW_INCHES = 0.5
MATRIX_INCHES = 1.4


def draw_matrix(
    name: str,
    title: str,
    caption: str,
    frame: pd.DataFrame,
    rows: str,
    columns: str,
    deviations: pd.DataFrame | None = None,
) -> Picture:
    """Draws a matrix of positive values in us, colors on a logarithmic scale; deviations are written beside them."""
    figure = new_figure(WIDTH_INCHES, MATRIX_INCHES + MATRIX_ROW_INCHES * len(frame))
    axes = figure.subplots()
    named = frame.set_axis(frame.columns.str.replace("_", " "), axis=1).set_axis(frame.index.str.replace("_", " "))
    draw_map(axes, named, last=True, form=".2f", deviations=deviations)
    axes.set_xlabel(f"{columns} (values in us)")
    axes.set_ylabel(rows)
    numbers = frame.rename(columns=lambda one: f"{one}_us").rename_axis(rows).reset_index()
    if deviations is not None:
        numbers = numbers.assign(**{f"{one}_deviation_us": deviations[one].to_numpy() for one in deviations})
    return Picture(name, title, caption, figure, numbers)


ROW_INCHES = 0.22
FRAME_INCHES = 0.8


@dataclass(frozen=True)
class Timeline:
    """One sample: stamps of its ranks in us, from the first exit of the synchronizer on, each of shape (ranks,)."""

    begin: np.ndarray  # into the synchronizer
    entry: np.ndarray  # out of it and into the operation
    exit: np.ndarray

    @property
    def spread(self) -> float:
        """From the first to the last entry."""
        return float(np.ptp(self.entry))

    @property
    def mean(self) -> float:
        """Time in the operation, mean over ranks."""
        return float((self.exit - self.entry).mean())


def median_sample(data: xr.Dataset, cell: int, metric: str) -> Timeline | None:
    """Picks the valid sample of a cell whose metric is the median, lower one of two; None where no sample is valid."""
    kept = data.isel(sample=np.flatnonzero((data["cell_index"].to_numpy() == cell) & (data["valid"].to_numpy() == 1)))
    if kept.sizes["sample"] == 0:
        return None
    entry, exit_, begin = (kept[name].to_numpy().astype(float) for name in ("entry", "exit", "sync_entry"))
    stamps = Stamps(
        entry=entry,
        exit=exit_,
        delay=kept["delay"].to_numpy().astype(float),
        deadline=kept["deadline"].to_numpy().astype(float),
        timed=np.ones(entry.shape[1], bool),
        calls=1,
        observed=0,
    )
    values = METRICS[metric].compute(stamps)
    chosen = int(np.argsort(values, kind="stable")[(len(values) - 1) // 2])
    zero = entry[chosen].min()
    return Timeline(*((stamp[chosen] - zero) * MICROSECONDS for stamp in (begin, entry, exit_)))


def draw_timelines(
    name: str, title: str, caption: str, timelines: Sequence[tuple[str, Timeline]], most: int
) -> Picture:
    """Draws timelines with their titles below each other, as long as the operation is.

    Each has a row for each rank, at most so many; the numbers of the picture have all.
    """
    shown = [evenly(range(len(one.entry)), most) for _, one in timelines]
    heights = [len(one) for one in shown]
    largest = max((len(one.entry) for _, one in timelines), default=0)
    figure = new_figure(WIDTH_INCHES, sum(FRAME_INCHES + ROW_INCHES * count for count in heights))
    axes = figure.subplots(len(timelines), 1, squeeze=False, gridspec_kw={"height_ratios": heights}).ravel()
    for place, (words, one), kept in zip(axes, timelines, shown, strict=True):
        rows = np.arange(len(kept))
        length = max(one.exit.max(), 1e-3)
        # The synchronizer is shown for as long as the operation takes; when ranks arrived is another question.
        start = np.maximum(one.begin, -length)
        for phase, left, right in (("synchronizer", start, one.entry), ("operation", one.entry, one.exit)):
            place.barh(
                rows, (right - left)[kept], left=left[kept], height=BAR_HEIGHT, color=PHASE_COLORS[phase], label=phase
            )
        place.set_xlim(-length, 1.03 * length)
        place.set_ylim(len(rows) - 0.5, -0.5)
        last = place is axes[-1]
        finish(place, "time after the first rank left the synchronizer [us]" if last else "", "", words)
        place.set_yticks(rows, [f"rank {rank}" for rank in kept])
        place.grid(visible=False, axis="y")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
    numbers = [
        pd.DataFrame(
            {
                "timeline": words,
                "rank": np.arange(len(one.entry)),
                "synchronizer_entry_us": one.begin,
                "operation_entry_us": one.entry,
                "operation_exit_us": one.exit,
            }
        )
        for words, one in timelines
    ]
    return Picture(name, title, caption + drawn_of(largest, most), figure, pd.concat(numbers, ignore_index=True))
