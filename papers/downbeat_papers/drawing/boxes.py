"""Distributions beside each other as boxes with all their outliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.artist import Artist

from downbeat.pictures.picture import Picture
from downbeat.pictures.style import COLORS, WIDTH_INCHES, finish, log_axis, new_figure

PANEL_INCHES = 3.8
BOX_SHARE = 0.8  # of the room of a group that its boxes fill


@dataclass(frozen=True)
class Box:
    """A distribution."""

    group: str  # what stands below it
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
    figure = new_figure(WIDTH_INCHES, stacked * PANEL_INCHES)
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
