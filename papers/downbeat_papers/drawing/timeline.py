"""Single samples as timelines of their ranks: who left the synchronizer when, and what the operation made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from downbeat.data.metrics import METRICS, Stamps
from downbeat.pictures.picture import Picture
from downbeat.pictures.style import WIDTH_INCHES, finish, new_figure
from downbeat.pictures.timelines import BAR_HEIGHT, PHASE_COLORS
from downbeat.sampling import drawn_of, evenly
from downbeat.units import MICROSECONDS

ROW_INCHES = 0.22
FRAME_INCHES = 0.8


@dataclass(frozen=True)
class Timeline:
    """One sample: stamps of its ranks in us, from the first exit of the synchronizer on."""

    title: str
    begin: np.ndarray  # (ranks,), into the synchronizer
    entry: np.ndarray  # (ranks,), out of it and into the operation
    exit: np.ndarray  # (ranks,)

    @property
    def spread(self) -> float:
        """From the first to the last entry."""
        return float(np.ptp(self.entry))


def median_sample(data: xr.Dataset, cell: int, title: str, metric: str) -> Timeline | None:
    """Picks the valid sample of a cell whose metric is the median, lower one of two.

    Args:
        data: a file of samples, from `open_launch`.
        cell: number of the cell.
        title: of the timeline.
        metric: name out of `METRICS`.

    Returns:
        None where no sample is valid.
    """
    kept = data.isel(sample=np.flatnonzero((data["cell_index"].to_numpy() == cell) & (data["valid"].to_numpy() == 1)))
    if kept.sizes["sample"] == 0:
        return None
    entry, exit_, begin = (kept[name].to_numpy().astype(float) for name in ("entry", "exit", "sync_entry"))
    stamps = Stamps(
        entry=entry,
        exit=exit_,
        delay=kept["delay"].to_numpy().astype(float),
        deadline=kept["deadline"].to_numpy().astype(float),
        timed=np.ones(entry.shape[1], bool),
        calls=1,
        observed=0,
    )
    values = METRICS[metric].compute(stamps)
    chosen = int(np.argsort(values, kind="stable")[(len(values) - 1) // 2])
    zero = entry[chosen].min()
    return Timeline(title, *((stamp[chosen] - zero) * MICROSECONDS for stamp in (begin, entry, exit_)))


def draw_timelines(name: str, title: str, caption: str, timelines: Sequence[Timeline], most: int) -> Picture:
    """Draws timelines below each other, a row for each rank; the operation's end decides how far the axes reach.

    Args:
        name: of the picture.
        title: of the picture.
        caption: what is drawn.
        timelines: with any numbers of ranks.
        most: of them so many rows at most; the numbers of the picture have all.
    """
    shown = [evenly(range(len(one.entry)), most) for one in timelines]
    ranks = [len(one) for one in shown]
    largest = max((len(one.entry) for one in timelines), default=0)
    figure = new_figure(WIDTH_INCHES, sum(FRAME_INCHES + ROW_INCHES * count for count in ranks))
    axes = figure.subplots(len(timelines), 1, squeeze=False, gridspec_kw={"height_ratios": ranks}).ravel()
    for place, one, kept in zip(axes, timelines, shown, strict=True):
        rows = np.arange(len(kept))
        length = max(one.exit.max(), 1e-3)
        # Of the synchronizer, as much as the operation is long: who came when is another story.
        start = np.maximum(one.begin, -length)
        for phase, left, right in (("synchronizer", start, one.entry), ("operation", one.entry, one.exit)):
            place.barh(
                rows, (right - left)[kept], left=left[kept], height=BAR_HEIGHT, color=PHASE_COLORS[phase], label=phase
            )
        place.set_xlim(-length, 1.03 * length)
        place.set_ylim(len(rows) - 0.5, -0.5)
        last = one is timelines[-1]
        finish(place, "time after the first rank left the synchronizer [us]" if last else "", "", one.title)
        place.set_yticks(rows, [f"rank {rank}" for rank in kept])
        place.grid(visible=False, axis="y")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
    numbers = pd.concat(
        [
            pd.DataFrame(
                {
                    "timeline": one.title,
                    "rank": np.arange(len(one.entry)),
                    "synchronizer_entry_us": one.begin,
                    "operation_entry_us": one.entry,
                    "operation_exit_us": one.exit,
                }
            )
            for one in timelines
        ],
        ignore_index=True,
    )
    return Picture(name, title, caption + drawn_of(largest, most), figure, numbers)
