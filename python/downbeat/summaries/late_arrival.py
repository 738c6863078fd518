"""Cells with planned delays, each beside the one without of the same launch (Niethammer 2016, III.D)."""

from __future__ import annotations

import pandas as pd

from downbeat.summaries.cells import NO_PATTERN
from downbeat.summaries.describe import CONFIGURATION

# One operation at one size after one start, with and without a delay.
CELL = [*CONFIGURATION, "operation", "size", "synchronizer", "barrier_algorithm", "timing"]
TIME = "global_time_median"
DELAY = "imbalance_worst_median"


def late_launches(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns the cells with a delay, each beside the one without of the same launch.

    Args:
        cells: rows of `Experiment.cells`.

    Returns:
        `CELL`, `launch`, `pattern`, `place` (of the delay among those of the pattern: multiples of the operation's time
        are other delays in each launch), in s `delay` (achieved), `time` and `time_without` it; `benefit`, `share`.
    """
    keys = [*CELL, "launch"]
    without = cells[cells["pattern"] == NO_PATTERN].drop_duplicates(keys)[[*keys, TIME]]
    late = cells[cells["pattern"] != NO_PATTERN].merge(without.rename(columns={TIME: "time_without"}), on=keys)
    late = late.rename(columns={TIME: "time", DELAY: "delay"})
    late["place"] = late.groupby([*keys, "pattern"])["largest_delay"].rank(method="dense").astype(int)
    hidden = late["time_without"] + late["delay"] - late["time"]
    shorter = late[["time_without", "delay"]].min(axis=1)
    late = late.assign(benefit=hidden / late["time"], share=hidden / shorter.where(shorter > 0))
    return late[[*keys, "pattern", "place", "delay", "time", "time_without", "benefit", "share"]]
