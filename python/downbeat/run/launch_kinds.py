"""Two modes of launches, and correlated launches: intervals over launches know of neither."""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat.data.cells import countable
from downbeat.data.launch_file import IMPLIED
from downbeat.run.experiment import FACTORS
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.statistics.modes import FALSE_ALARMS, correlation, two_modes
from downbeat.text import microseconds

IN_STATE = (*LAUNCH_FACTORS, "state")


def launch_lines(cells: pd.DataFrame, column: str, pairs: bool = False) -> list[str]:
    """Returns a line for cells whose launches have two modes, and one for configurations whose launches are in a row.

    Args:
        cells: of launches: `FACTORS`, `launch`, `status` and the column.
        column: that holds the numbers, s.
        pairs: whether launches count in pairs, from whose ratios cancels what passes from launch to launch.
    """
    counted = cells[countable(cells) & (cells[column] > 0) & np.isfinite(cells[column])]
    named = [name for name in FACTORS if name in ("operation", "size") or counted[name].nunique() > 1]
    named = [name for name in named if name not in IMPLIED]
    modes = []
    for key, values in counted.groupby(named, sort=False)[column]:
        found = two_modes(values)
        if found:
            texts = [f"{microseconds(float(np.median(mode)))} us in {len(mode)}" for mode in found]
            modes.append(f"{' '.join(map(str, key))} ({', '.join(texts)})")
    lines = []
    if modes:
        lines.append(
            "launches come in two modes, and an interval holds only for as many of each as there were (by chance in "
            f"{FALSE_ALARMS:.0%} of cells): {', '.join(modes)}"
        )
    for key, rows in counted.groupby(list(IN_STATE), sort=False) if not pairs else ():
        found_correlation = correlation(launch_series(rows, column))
        if found_correlation:
            which = [str(value) for name, value in zip(IN_STATE, key, strict=True) if counted[name].nunique() > 1]
            lines.append(
                f"launches{' of ' if which else ''}{', '.join(which)} resemble the one before (correlation "
                f"{found_correlation:.1f}; by chance in 5 %): intervals over launches are too narrow"
            )
    return lines


def launch_series(cells: pd.DataFrame, column: str) -> pd.Series[float]:
    """Returns by how much each launch is above the mean of its cells, of logarithms, in the order of launches."""
    logs = np.log(cells[column])
    factors = [cells[name] for name in FACTORS if name not in IMPLIED]
    deviations = logs - logs.groupby(factors).transform("mean")
    series: pd.Series[float] = deviations.groupby(cells["launch"]).mean()
    return series
