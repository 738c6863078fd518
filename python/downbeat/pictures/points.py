"""A line of points with their intervals, which most pictures consist of."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from downbeat.pictures.style import look_of

# More markers make a line thick and the page long; intervals are a band then.
MOST_MARKED = 64


def draw_points(axes: Axes, points: pd.DataFrame, columns: tuple[str, str, str, str], label: str, place: int) -> None:
    """Draws a line.

    Args:
        axes: to draw on.
        points: a row per point, in any order.
        columns: the names of abscissa, ordinate, and the lower and upper end of its interval; NaN where there is none.
        label: of the line.
        place: of the line in the palette.
    """
    x, y, low, high = columns
    points = points.sort_values(x)
    look = look_of(place)
    if len(points) > MOST_MARKED:
        look["marker"] = ""
    axes.plot(points[x], points[y], label=label, **look)
    if len(points) > MOST_MARKED:
        axes.fill_between(points[x], points[low], points[high], color=look["color"], alpha=0.2, linewidth=0)
        return
    half = (points[y] - points[low], points[high] - points[y])
    axes.errorbar(points[x], points[y], yerr=half, fmt="none", ecolor=look["color"], capsize=2.5, elinewidth=1)
