"""Matrices with their values written in."""

from __future__ import annotations

import pandas as pd

from downbeat.pictures.heat_map import draw_map
from downbeat.pictures.picture import Picture
from downbeat.pictures.style import WIDTH_INCHES, new_figure

ROW_INCHES = 0.5
FRAME_INCHES = 1.4


def draw_matrix(
    name: str,
    title: str,
    caption: str,
    frame: pd.DataFrame,
    rows: str,
    columns: str,
    deviations: pd.DataFrame | None = None,
) -> Picture:
    """Draws a matrix of positive values, colors on a logarithmic scale.

    Args:
        name: of the picture.
        title: of it.
        caption: of it.
        frame: values in us, a row per row, a column per column; NaN where there is none.
        rows: what the rows are.
        columns: what the columns are.
        deviations: of the values, written beside them; None: none are.
    """
    figure = new_figure(WIDTH_INCHES, FRAME_INCHES + ROW_INCHES * len(frame))
    axes = figure.subplots()
    named = frame.rename(index=lambda one: str(one).replace("_", " "), columns=str)
    draw_map(axes, named, last=True, form=".2f", deviations=deviations)
    axes.set_xlabel(columns)
    axes.set_ylabel(rows)
    numbers = frame.rename(columns=lambda one: f"{one}_us").rename_axis(rows).reset_index()
    if deviations is not None:
        numbers = numbers.assign(**{f"{one}_deviation_us": deviations[one].to_numpy() for one in deviations})
    return Picture(name, title, caption, figure, numbers)
