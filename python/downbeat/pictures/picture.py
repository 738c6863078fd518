"""A picture: drawn, explained, and with its numbers."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A picture for a page.

    Attributes:
        name: that of the file that draws it, with its subject: "size_scaling-bcast"; unique on a page, where it is an
            anchor.
        title: what is seen.
        caption: how to read it, and where its definition comes from; plain text.
        figure: made without pyplot, so that nothing is global; `downbeat.pictures.style` has sizes and colors.
        numbers: what is drawn, a row per point; units in the names of the columns ("latency_us").
    """

    name: str
    title: str
    caption: str
    figure: Figure
    numbers: pd.DataFrame
