"""Builds lines of medians over launches, and timelines of single samples, for the papers' figures.

A sample is one call of an operation on all ranks. A cell is an operation with a size, an algorithm and a synchronizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from downbeat.report.panel import Line, Numbers, Panel, Timeline
from downbeat.text import MICROSECONDS


def median_line(label: str, x: Numbers, launches: Sequence[Numbers], color: int) -> Line:
    """Returns the line of medians over launches, with bars from the smallest to the largest, at each position.

    Args:
        label: of the line.
        x: the positions.
        launches: for each position the values of its launches; empty where no launch has a valid sample.
        color: index in the palette.
    """
    rows = [pd.Series(np.asarray(values, float)) for values in launches]  # an empty one gives NaN
    middle, low, high = ([float(getattr(row, summary)()) for row in rows] for summary in ("median", "min", "max"))
    return Line(label, x, middle, low, high, color)


@dataclass(frozen=True)
class Sample:
    """A sample: times of its ranks after the first exit from the synchronizer, us, shape (ranks,) each."""

    begin: np.ndarray  # entry into the synchronizer
    entry: np.ndarray  # exit from the synchronizer and entry into the operation
    exit: np.ndarray  # exit from the operation

    @property
    def spread(self) -> float:
        """Time from the first to the last entry, us."""
        return float(np.ptp(self.entry))

    @property
    def mean(self) -> float:
        """Time in the operation, mean over ranks, us."""
        return float((self.exit - self.entry).mean())

    def panel(self, title: str) -> Panel:
        """Draws the timeline of the sample; of the synchronizer, only as much time as the operation takes."""
        length = max(float(self.exit.max()), 1e-3)  # at least 1 ns, so that the axis has a length
        start, ranks = np.maximum(self.begin, -length), np.arange(len(self.entry))
        bars = pd.concat(
            pd.DataFrame({"rank": ranks, "phase": phase, "begin_us": begin, "end_us": end})
            for phase, begin, end in (("synchronizer", start, self.entry), ("operation", self.entry, self.exit))
        )
        label = "time after the first rank left the synchronizer [us]"
        return Panel([Timeline(bars, len(ranks))], label, "rank", title, x_limits=(-length, 1.03 * length))


def median_sample(data: xr.Dataset, cell: int, metric: str) -> Sample | None:
    """Returns the valid sample of a cell with the median of a metric, or None if no sample is valid.

    Of an even number of samples, the lower one of the two in the middle.
    """
    valid = data.isel(sample=np.flatnonzero((data.cell_index.to_numpy() == cell) & (data.valid.to_numpy() == 1)))
    if valid.sample.size == 0:
        return None
    entry, exit_, begin = (valid[name].to_numpy().astype(float) for name in ("entry", "exit", "sync_entry"))
    values = valid[metric].to_numpy()
    chosen = int(np.argsort(values, kind="stable")[(len(values) - 1) // 2])
    first_entry = entry[chosen].min()
    return Sample(*((stamp[chosen] - first_entry) * MICROSECONDS for stamp in (begin, entry, exit_)))
