"""The delay overlap benefit (Eq. 5) of each delayed cell, and how large it could be."""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat_papers.niethammer2016.late_arrival import delay_us
from downbeat.units import MICROSECONDS, PERCENT

ALIKE = ["ranks", "synchronizer", "operation", "size", "launch"]  # of a cell with a delay and that without
CELL = ["operation", "size", "delay", "ranks"]


def benefit_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Computes benefits, in per cent.

    Args:
        cells: those of `Results.cells`.

    Returns:
        A row per launch and cell with a delay: `ALIKE`, `delay` and `t0` in us, and
        `equation_5`: (t0 + delay - t) / t, of the smallest global times and the delay that was asked for;
        `by_stamps`: (t0 - u) / t with u the smallest time from the last entry to the last exit. That is Eq. 5 with the
        delay that each sample really had, so that a rank that comes late in addition to the delayed one is no benefit;
        `ceiling`: the benefit that is left of all that is hidden, t = max(t0, delay).
    """
    cells = cells.assign(delay=delay_us(cells), t=cells["global_time_min"] * MICROSECONDS)
    without = cells.loc[cells["delay"] == 0, [*ALIKE, "t"]].rename(columns={"t": "t0"})
    table = cells[cells["delay"] > 0].merge(without, on=ALIKE)
    t0, t, delay = table["t0"], table["t"], table["delay"]
    table["equation_5"] = PERCENT * (t0 + delay - t) / t
    table["by_stamps"] = PERCENT * table["overlap_benefit_min"]
    table["ceiling"] = PERCENT * np.minimum(t0, delay) / np.maximum(t0, delay)
    return table[[*ALIKE, "delay", "t0", "equation_5", "by_stamps", "ceiling"]]
