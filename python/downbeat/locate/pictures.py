"""Draws heat maps of the times of all pairs of nodes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm

from downbeat.locate.findings import Findings
from downbeat.output.blocks import Picture, anchor
from downbeat.report.style import TEXT_POINTS, finish, new_figure
from downbeat.text import evenly

# Limits of the log2 of the ratio at the end of the color scale; deviations below the first are pale.
MIN_SCALE, MAX_SCALE = 0.5, 3.0
MAX_LABELS = 32  # names of nodes along an axis


def heat_map(findings: Findings) -> Picture:
    """Draws the ratio of the time of each pair to that of its peers; rows send, columns receive."""
    names, setting = findings.times.names, findings.times.setting
    ratios = findings.deviations / np.log(2)
    known = ratios[~np.isnan(ratios)]
    scale = min(MAX_SCALE, max(MIN_SCALE, float(np.abs(known).max(initial=0.0))))
    figure = new_figure(height=6.0)
    axes = figure.subplots()
    image = axes.imshow(ratios, cmap="RdBu_r", norm=TwoSlopeNorm(0.0, -scale, scale), interpolation="nearest")
    shown = evenly(range(len(names)), MAX_LABELS)
    axes.set_xticks(shown, [names[node] for node in shown], rotation=90)
    axes.set_yticks(shown, [names[node] for node in shown])
    finish(axes, "to", "from")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    ticks = np.linspace(-scale, scale, 5)
    bar = figure.colorbar(image, ax=axes, ticks=ticks, shrink=0.7)
    bar.ax.set_yticklabels([f"{2**tick:.2g}" for tick in ticks], fontsize=TEXT_POINTS - 0.5)
    bar.set_label("times the peers' time", fontsize=TEXT_POINTS)
    rows, columns = np.nonzero(~np.isnan(ratios))
    numbers = pd.DataFrame(
        {
            "from": np.array(names, dtype=object)[rows],
            "to": np.array(names, dtype=object)[columns],
            "ratio": 2.0 ** ratios[rows, columns],
        }
    )
    caption = (
        "Time of each pair over that of its peers, the six nearest nodes of its ends: red is slower. A slow node is a "
        "red row and column, a slow link a red point at each side of the diagonal. White: as the peers, or not "
        "measured."
    )
    return Picture(
        f"pairs-{anchor(setting)}".rstrip("-"), f"Pairs in {setting}" if setting else "Pairs", caption, figure, numbers
    )
