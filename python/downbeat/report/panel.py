"""Pictures as data: panels of lines, bands, boxes, heat and timelines, and the figure that they become."""

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
NO_MARKER = -1
MAX_RANKS = 32  # of a timeline; of more, some stand for all


@dataclass(frozen=True)
class Line:
    """Values at positions, in the units of the axes.

    With more than `MOST_MARKED` positions it has no markers, and intervals are a band.
    """

    label: str  # in the legend; empty: none
    x: Numbers
    y: Numbers
    low: Numbers | None = None  # ends of the intervals
    high: Numbers | None = None
    color: int | str = 0  # place in the palette, or a color
    style: str | None = None  # "": points alone; "steps": steps between positions; None: dashes by the color
    marker: int | None = None  # place among the markers, or `NO_MARKER`; None: by the color
    width: float = 1.5


@dataclass(frozen=True)
class Band:
    """The area between two lines."""

    x: Numbers
    low: Numbers
    high: Numbers
    color: int
    alpha: float = 0.2
    label: str = ""  # of the line that it belongs to


@dataclass(frozen=True)
class Box:
    """A distribution: its median, a box around it, whiskers, and points of its own."""

    group: str  # its place on the axis, in words
    label: str  # what its color means; empty: no entry in the legend
    median: float
    box: tuple[float, float]  # the middle half
    whiskers: tuple[float, float]
    points: Sequence[float] | np.ndarray = ()
    interval: tuple[float, float] | None = None  # of the median
    color: int | None = None  # place in the palette; None: by its label
    count: int = 0  # of the values; 0: not known


@dataclass(frozen=True)
class Heat:
    """A matrix with its values written in, colors on a logarithmic scale; NaN: a dash."""

    values: pd.DataFrame
    deviations: pd.DataFrame | None = None  # beside the values
    form: str = ".3g"
    framed: Sequence[tuple[str, str]] = ()  # index and column of values with a frame
    ratios: bool = False  # to 1, which is white; above it blue, below red


@dataclass(frozen=True)
class Dots:
    """Signed values at points: size and color say how far from 0 they are."""

    x: Numbers
    y: Numbers
    values: Numbers
    unit: str  # with the quantity


@dataclass(frozen=True)
class Timeline:
    """Bars of the ranks of one sample: `rank`, `phase` out of `PHASES`, `begin_us`, `end_us`."""

    bars: pd.DataFrame
    ranks: int


Mark: TypeAlias = Line | Band | Box | Heat | Dots | Timeline


@dataclass(frozen=True)
class Panel:
    """A pair of axes.

    Scales are "linear", "log", "whole" (numbers), "bytes" and "positions" (logarithmic, a tick for each position), or
    "none" (no ticks).
    """

    marks: Sequence[Mark]
    x: str = ""  # labels
    y: str = ""
    title: str = ""
    x_scale: str = "linear"
    y_scale: str = "linear"
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    x_at: float | None = None  # a thin dotted line
    y_at: float | None = None  # a thin line
    shade: tuple[float, float] | None = None  # a gray band along the axis
    notes: Sequence[tuple[float, float, str]] = ()  # x, y, text beside a point
    rows: bool = False  # boxes lie, one below the other

    @property
    def lines(self) -> dict[str, Line]:
        """The lines by their labels."""
        return {line.label: line for line in self.marks if isinstance(line, Line)}

    @property
    def groups(self) -> list[str]:
        """The groups of boxes, in order."""
        return list(dict.fromkeys(box.group for box in self.marks if isinstance(box, Box)))

    @property
    def empty(self) -> list[str]:
        """The names of lines, boxes and elements of a matrix that have no value; of a panel without marks its title."""
        names = [] if self.marks else [self.title or self.y]
        for mark in self.marks:
            if isinstance(mark, Line) and not np.isfinite(np.asarray(mark.y, float)).any():
                names.append(mark.label)
            elif isinstance(mark, Box) and not np.isfinite(mark.median):
                names.append(f"{mark.label}, {mark.group}")
            elif isinstance(mark, Heat):
                lost = mark.values.isna()
                names += [f"{row}, {column}" for column in lost for row in lost.index[lost[column]]]
        return names

    @property
    def inches(self) -> float:
        """The height of a panel with rows; 0: as all panels."""
        for mark in self.marks:
            if isinstance(mark, Heat):
                lines = 1 if mark.deviations is None else 1.6
                return 0.45 + 1.3 * lines * ROW_INCHES * len(mark.values)
            if isinstance(mark, Timeline):
                return 0.62 + 0.17 * -(-mark.ranks // rank_step(mark.ranks))
        return 0.5 + ROW_INCHES * len(self.groups) if self.rows else 0.0


def box_of(group: str, label: str, values: Numbers) -> Box:
    """Returns quartiles and median, whiskers to 1.5 times the box, every value beyond as a point (Tukey 1977).

    NaN does not count; without a value, all are NaN.
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
    """The lines of points, each sorted by position, in the order of the first positions.

    Args:
        names: of the line of each point.
        x: abscissas.
        y: ordinates.
        low: lower ends of their intervals; NaN without an interval.
        high: upper ends.
        colors: numbers in the palette, by line; None: in the order of the lines.
    """
    colors = colors or positions(map(str, names))
    order = np.argsort(x, kind="stable")
    return [
        Line(synchronizer_name(name), x[rows], y[rows], low[rows], high[rows], colors[str(name)])
        for name, group in grouped(names[order])
        for rows in [order[group]]
    ]


# Size of a note, in points.
NOTE_HEIGHT, NOTE_WIDTH = 9.0, 55.0


def rank_step(ranks: int) -> int:
    """The number of ranks per displayed rank."""
    return -(-ranks // MAX_RANKS)
