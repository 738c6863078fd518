"""Comparisons of clocks between partners: how far each is from what all of them agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from downbeat.base.text import MICROSECONDS
from downbeat.pictures.style import Picture, finish, new_figure, whole_ticks

if TYPE_CHECKING:
    import xarray as xr

LARGEST = 60.0  # area of a dot, in square points
CAPTION = (
    "Each dot is a comparison of a rank's clock with a partner's: how far the partner's clock is ahead of what all "
    "comparisons agree on. Path asymmetry and noise scatter over all dots. A route that is longer one way is a pair "
    "of large dots; a bad adapter or host is a row and a column of them."
)


def draw_edges(data: xr.Dataset) -> list[Picture]:
    """Draws the comparisons that `downbeat-bench clock` recorded of schemes with partners."""
    if "edge_residual" not in data:
        return []
    names = [f"edge_{name}" for name in ("scheme", "rank", "partner", "residual")]
    numbers = data[names].to_dataframe().reset_index(drop=True)
    numbers["residual_us"] = numbers.pop("edge_residual") * MICROSECONDS
    schemes = list(numbers.groupby("edge_scheme"))
    figure = new_figure(height=4.6 * len(schemes))
    for axes, (scheme, group) in zip(figure.subplots(len(schemes), squeeze=False)[:, 0], schemes, strict=True):
        sizes = group["residual_us"].abs()
        limit = sizes.max() or 1.0
        dots = axes.scatter(
            group["edge_rank"],
            group["edge_partner"],
            s=np.maximum(LARGEST * sizes / limit, 2.0),
            c=group["residual_us"],
            cmap="RdBu_r",
            vmin=-limit,
            vmax=limit,
            linewidths=0.2,
            edgecolors="black",
        )
        figure.colorbar(dots, ax=axes, label="residual [us]")
        axes.set_aspect("equal")
        whole_ticks(axes.xaxis)
        whole_ticks(axes.yaxis)
        finish(axes, "rank", "partner", str(scheme))
    return [Picture("clock_edges", "Which paths disagree with all others?", CAPTION, figure, numbers)]
