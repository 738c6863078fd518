"""Matrices with their values written in."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm

from downbeat.pictures.picture import Picture
from downbeat.pictures.style import WIDTH_INCHES, new_figure

ROW_INCHES = 0.5
FRAME_INCHES = 1.4
DARK = 0.6  # share of the colours from which on writing is white


def draw_matrix(name: str, title: str, caption: str, frame: pd.DataFrame, rows: str, columns: str) -> Picture:
    """Draws a matrix of positive values, colours on a logarithmic scale.

    Args:
        name: of the picture.
        title: of it.
        caption: of it.
        frame: values in us, a row per row, a column per column; NaN where there is none.
        rows: what the rows are.
        columns: what the columns are.
    """
    figure = new_figure(WIDTH_INCHES, FRAME_INCHES + ROW_INCHES * len(frame))
    axes = figure.subplots()
    values = frame.to_numpy(float)
    norm = LogNorm(np.nanmin(values), max(np.nanmax(values), 1.001 * np.nanmin(values)))
    axes.imshow(values, cmap="Blues", norm=norm, aspect="auto")
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            value = values[row, column]
            text = "-" if np.isnan(value) else f"{value:.2f}"
            dark = not np.isnan(value) and float(norm(value)) > DARK
            axes.text(column, row, text, ha="center", va="center", fontsize=9, color="white" if dark else "black")
    axes.set_xticks(range(len(frame.columns)), [str(one).replace("_", "\n") for one in frame.columns], fontsize=8)
    axes.set_yticks(range(len(frame)), [str(one).replace("_", " ") for one in frame.index], fontsize=8)
    axes.set_xlabel(columns)
    axes.set_ylabel(rows)
    numbers = frame.rename(columns=lambda one: f"{one}_us").rename_axis(rows).reset_index()
    return Picture(name, title, caption, figure, numbers)
