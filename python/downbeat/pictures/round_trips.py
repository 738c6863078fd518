"""Round trips between pairs of ranks: how often each time occurred (Hoefler 2008, figure 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.base.text import MICROSECONDS
from downbeat.pictures.style import Picture, color_of, finish, new_panels

if TYPE_CHECKING:
    import xarray as xr

CAPTION = (
    "Histograms of the round trips of each pair, up to their 99th percentile (as Hoefler 2008, figure 4). An "
    "estimator of offsets that looks for the shortest round trip is the better the more often short ones occur."
)


def draw_round_trips(data: xr.Dataset) -> list[Picture]:
    """Draws the histograms that `downbeat-bench rtt` made, a panel per pair."""
    if not {"rtt_median", "histogram_left"} <= set(data.data_vars):
        return []
    frame = data[["histogram_left", "histogram_count"]].to_dataframe().reset_index()
    width = data["histogram_width"].to_series()
    numbers = pd.DataFrame(
        {
            "pair": frame["pair"].astype(str),
            "from_us": frame["histogram_left"] * MICROSECONDS,
            "width_us": frame["pair"].map(width) * MICROSECONDS,
            "round_trips": frame["histogram_count"],
        }
    ).dropna()
    numbers = numbers[numbers["width_us"] > 0]
    figure, panels = new_panels(numbers["pair"].nunique())
    for axes, (pair, bars) in zip(panels, numbers.groupby("pair", sort=False), strict=True):
        edges = np.append(bars["from_us"], bars["from_us"].iloc[-1] + bars["width_us"].iloc[-1])
        axes.stairs(bars["round_trips"], edges, fill=True, color=color_of("", 0), alpha=0.8)
        finish(axes, "round trip [us]", "round trips", f"ranks {pair}")
    return [Picture("round_trips", "How long a round trip takes", CAPTION, figure, numbers)]
