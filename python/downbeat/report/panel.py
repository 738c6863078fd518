"""The content of pictures as data: panels (a pair of axes each) of marks, such as lines, bands, boxes and heat maps.

`drawing.py` draws them with matplotlib; tests and notebooks read the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.output.fields import synchronizer_name
from downbeat.report.style import ROW_INCHES, positions
from downbeat.tables import Floats, Texts, grouped

Numbers: TypeAlias = "Sequence[float] | np.ndarray | pd.Series[float]"
NO_MARKER = -1  # as `Line.marker`
MAX_RANKS = 32  # rows of a timeline; with more ranks, only every n-th is drawn


@dataclass(frozen=True)
class Line:
    """Values at positions, in the units of the axes.

    A line with more than `style.MAX_MARKED` positions has no markers; its intervals are drawn as a band.
    """

    label: str  # in the legend; empty: no entry
    x: Numbers
    y: Numbers
    low: Numbers | None = None  # ends of the intervals
    high: Numbers | None = None
    color: int | str = 0  # index in the palette, or a color
    style: str | None = None  # "": points only; "steps": steps between positions; None: dashes by the color
    marker: int | None = None  # index among the markers, or `NO_MARKER`; None: by the color
    width: float = 1.5


@dataclass(frozen=True)
class Band:
    """The area between two lines."""

    x: Numbers
    low: Numbers
    high: Numbers
    color: int
    alpha: float = 0.2
    label: str = ""  # of its line; a page hides both together


@dataclass(frozen=True)
class Box:
    """A distribution: its median, a box, whiskers, and single points."""

    group: str  # label of its position on the axis
    label: str  # meaning of its color; empty: no entry in the legend
    median: float
    box: tuple[float, float]  # ends of the middle half
    whiskers: tuple[float, float]
    points: Sequence[float] | np.ndarray = ()  # values that are drawn one by one
    interval: tuple[float, float] | None = None  # of the median
    color: int | None = None  # index in the palette; None: by its label
    count: int = 0  # number of values; 0: not known


@dataclass(frozen=True)
class Heat:
    """A matrix with its values written in, colors on a logarithmic scale; NaN: a dash."""

    values: pd.DataFrame
    deviations: pd.DataFrame | None = None  # written below the values
    form: str = ".3g"  # format of the values
    framed: Sequence[tuple[str, str]] = ()  # index and column of values with a frame
    ratios: bool = False  # True: values are ratios; 1 is white, larger ones blue, smaller ones red


@dataclass(frozen=True)
class Dots:
    """Signed values at points; size and color show the distance from 0."""

    x: Numbers
    y: Numbers
    values: Numbers
    unit: str  # label of the color scale: quantity and unit


@dataclass(frozen=True)
class Timeline:
    """Bars of the ranks of one sample: `rank`, `phase` out of `PHASES`, `begin_us`, `end_us`."""

    bars: pd.DataFrame
    ranks: int


Mark: TypeAlias = Line | Band | Box | Heat | Dots | Timeline


@dataclass(frozen=True)
class Panel:
    """A pair of axes with its marks.

    A scale is "linear", "log", "whole" (ticks at whole numbers), "none" (no ticks), or for x "bytes" or "positions"
    (logarithmic, with a tick at each position).
    """

    marks: Sequence[Mark]
    x: str = ""  # label of the horizontal axis
    y: str = ""  # label of the vertical axis
    title: str = ""
    x_scale: str = "linear"
    y_scale: str = "linear"
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    x_at: float | None = None  # position of a dotted vertical line
    y_at: float | None = None  # position of a horizontal line
    shade: tuple[float, float] | None = None  # y limits of a gray band
    notes: Sequence[tuple[float, float, str]] = ()  # x, y, text beside a point
    rows: bool = False  # True: boxes are horizontal, one below the other

    @property
    def lines(self) -> dict[str, Line]:
        """Label -> line."""
        return {line.label: line for line in self.marks if isinstance(line, Line)}

    @property
    def groups(self) -> list[str]:
        """The groups of boxes, in order."""
        return list(dict.fromkeys(box.group for box in self.marks if isinstance(box, Box)))

    @property
    def empty(self) -> list[str]:
        """The names of marks and of elements of heat maps without a value; the title of a panel without marks."""
        names = [] if self.marks else [self.title or self.y]
        for mark in self.marks:
            if isinstance(mark, Line) and not np.isfinite(np.asarray(mark.y, float)).any():
                names.append(mark.label)
            elif isinstance(mark, Box) and not np.isfinite(mark.median):
                names.append(f"{mark.label}, {mark.group}")
            elif isinstance(mark, Heat):
                missing = mark.values.isna()
                names += [f"{row}, {column}" for column in missing for row in missing.index[missing[column]]]
        return names

    @property
    def inches(self) -> float:
        """The height of a heat map, a timeline or a panel with rows; 0: the usual height."""
        for mark in self.marks:
            if isinstance(mark, Heat):
                lines = 1 if mark.deviations is None else 1.6
                return 0.45 + 1.3 * lines * ROW_INCHES * len(mark.values)
            if isinstance(mark, Timeline):
                return 0.62 + 0.17 * -(-mark.ranks // rank_step(mark.ranks))
        return 0.5 + ROW_INCHES * len(self.groups) if self.rows else 0.0


def box_of(group: str, label: str, values: Numbers) -> Box:
    """Makes a box of quartiles and median, whiskers up to 1.5 box lengths, and points beyond these (Tukey 1977).

    Ignores NaN. Without a value all numbers of the box are NaN.
    """
    kept = np.asarray(values, dtype=float)
    kept = kept[~np.isnan(kept)]
    if not kept.size:
        return Box(group, label, np.nan, (np.nan, np.nan), (np.nan, np.nan))
    low, median, high = map(float, np.percentile(kept, [25, 50, 75]))
    near = kept[np.abs(kept - np.clip(kept, low, high)) <= 1.5 * (high - low)]
    ends = (min(low, float(near.min())), max(high, float(near.max())))
    points = kept[(kept < ends[0]) | (kept > ends[1])]
    return Box(group, label, median, (low, high), ends, points, count=len(kept))


def lines_of(
    names: Texts, x: NDArray[Any], y: Floats, low: Floats, high: Floats, colors: Mapping[str, int] | None = None
) -> list[Line]:
    """Makes lines from points, each sorted by position; the lines are in the order of their first positions.

    Args:
        names: the synchronizer or other name of the line of each point.
        x: abscissas.
        y: ordinates.
        low: lower ends of their intervals; NaN without an interval.
        high: upper ends of their intervals.
        colors: line -> index in the palette; None: in the order of the lines.
    """
    colors = colors or positions(map(str, names))
    order = np.argsort(x, kind="stable")
    return [
        Line(synchronizer_name(name), x[rows], y[rows], low[rows], high[rows], colors[str(name)])
        for name, group in grouped(names[order])
        for rows in [order[group]]
    ]


# Size of a note in points; notes closer than this are moved apart.
NOTE_HEIGHT, NOTE_WIDTH = 9.0, 55.0


def rank_step(ranks: int) -> int:
    """Returns the number of ranks per displayed rank."""
    return -(-ranks // MAX_RANKS)
