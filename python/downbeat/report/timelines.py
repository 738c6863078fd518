"""The ranks of a sample: they synchronize, wait, run the operation; on the global clock (Schuchart 2023, Fig. 1)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat.comparison.summaries import by_operation, synchronization, value_text
from downbeat.data.launch_file import open_samples
from downbeat.data.netcdf import NetcdfFile
from downbeat.data.samples import native, read_samples
from downbeat.report.panel import MOST_RANKS, PHASES, Panel, Timeline, make_picture, rank_step
from downbeat.report.style import FIXED, Picture
from downbeat.run.experiment import Experiment, Launch
from downbeat.text import MICROSECONDS, bytes_text

MOST_SYNCHRONIZERS = 6
METRIC = "global_time"
# Of the time before the first entry, as a multiple of that after it: a longer one would leave no room for the rest.
MOST_BEFORE = 6
STAMPS = ("sync_entry", "entry", "exit", "delay")
CAPTION = (
    "Bars of each rank on the global clock: in the synchronizer, waiting there for the common deadline (from the "
    "root's decision on) or for the rank's own delay, and in the operation. 0 is the common start, or the first entry "
    "where there is none. Left: the sample with the median time from the first entry to the last exit. Right: the "
    "longest. Both are of launch {launch}. A bar that touches the left edge began earlier."
)


def sample_bars(file: NetcdfFile, sample: int) -> pd.DataFrame:
    """Returns the bars of one sample.

    Args:
        file: of a launch, open.
        sample: its position in the file.

    Returns:
        A row per rank and phase that takes time: `rank`, `phase` (`PHASES`), `begin_us`, `end_us` after the start.
    """
    sync_entry, entry, exit_, delay = (native(file.variables[name][sample]) for name in STAMPS)
    deadline, slack = (float(file.variables[name][sample]) for name in ("deadline", "slack"))
    start = entry.min() if np.isnan(deadline) else deadline
    # A barrier's rank leaves it, then waits for its own delay; with a deadline it waits from the decision on.
    waits = entry - delay if np.isnan(deadline) else np.full(len(entry), deadline - (0.0 if np.isnan(slack) else slack))
    waits = np.clip(waits, sync_entry, entry)
    rows = []
    for rank in range(len(entry)):
        borders = (sync_entry[rank], waits[rank], entry[rank], exit_[rank])
        for phase, begin, end in zip(PHASES, borders, borders[1:], strict=False):
            if end > begin:
                rows.append((rank, phase, (begin - start) * MICROSECONDS, (end - start) * MICROSECONDS))
    return pd.DataFrame(rows, columns=["rank", "phase", "begin_us", "end_us"])


def chosen_samples(launch: Launch) -> pd.DataFrame:
    """Returns which samples are shown: per operation, of its smallest size, a row per synchronizer.

    Returns:
        `operation`, `size`, `line`, `median` and `worst`, positions in the file.
    """
    cells = launch.cells.assign(line=synchronization(launch.cells))
    cells = cells[cells["valid_count"] > 0]
    cells = cells[cells["size"] == cells.groupby("operation")["size"].transform("min")]
    # The first of several patterns, algorithms: `none` and `default` stand first.
    cells = cells.drop_duplicates(["operation", "line"])
    samples = read_samples(launch.path, [METRIC])
    valid, index, time = samples.with_verdict("valid"), samples["cell_index"], samples[METRIC]
    rows = []
    for cell in cells.to_dict("records"):
        mine = np.flatnonzero(valid & (index == cell["cell"]))
        ordered = mine[np.argsort(time[mine], kind="stable")]
        rows.append(
            (cell["operation"], cell["size"], cell["line"], int(ordered[(len(ordered) - 1) // 2]), int(ordered[-1]))
        )
    return pd.DataFrame(rows, columns=["operation", "size", "line", "median", "worst"])


def draw_timelines(experiment: Experiment) -> list[Picture]:
    """Draws the median and the worst sample after each synchronizer, a picture per operation, of one launch."""
    # The first launch with the most ranks, which shows most.
    launch = max(experiment.launches, key=lambda one: one.ranks)
    pictures = []
    with open_samples(launch.path) as file:
        for operation, samples in by_operation(chosen_samples(launch)):
            # Those that are compared most often first.
            ordered = samples.sort_values("line", key=lambda lines: ~lines.isin(FIXED), kind="stable")
            pictures.append(timeline_picture(launch, file, operation, ordered.head(MOST_SYNCHRONIZERS)))
    return pictures


def timeline_picture(launch: Launch, file: NetcdfFile, operation: str, samples: pd.DataFrame) -> Picture:
    """Draws samples of one operation out of the launch's open file, a row for each synchronizer."""
    frames = [
        sample_bars(file, sample[which]).assign(synchronizer=sample["line"], sample=which)
        for sample in samples.to_dict("records")
        for which in ("median", "worst")
    ]
    numbers = pd.concat(frames, ignore_index=True)[["synchronizer", "sample", "rank", "phase", "begin_us", "end_us"]]
    numbers = numbers[numbers["rank"] % rank_step(launch.ranks) == 0]
    panels = []
    for (line, which), bars in numbers.groupby(["synchronizer", "sample"], sort=False):
        limits = time_limits(numbers[numbers["sample"] == which])
        title = f"{line}, {which}"
        panels.append(Panel([Timeline(bars, launch.ranks)], "time [us]", "rank", title, x_limits=limits))
    size = f" of {bytes_text(samples['size'].iloc[0])} bytes" if samples["size"].iloc[0] else ""
    caption = CAPTION.replace("{launch}", f"{launch.number} ({launch.library}, {value_text('ranks', launch.ranks)})")
    if len(samples) == MOST_SYNCHRONIZERS:
        caption += f" At most {MOST_SYNCHRONIZERS} synchronizers are shown."
    if launch.ranks > MOST_RANKS:
        caption += f" Every {rank_step(launch.ranks)}th rank is shown."
    title = f"{operation}{size}: what the ranks do in a sample"
    # One axis of time in a column: only so does the eye compare synchronizers.
    return make_picture(f"timelines-{operation}", title, caption, panels, numbers, share_x="col")


def time_limits(bars: pd.DataFrame) -> tuple[float, float] | None:
    """Returns where an axis that samples share begins and ends, us; None where no operation takes time."""
    begin, end = bars["begin_us"].min(), bars["end_us"].max()
    entry = bars.loc[bars["phase"] == "operation", "begin_us"].min()
    if not end > entry:
        return None
    left = max(begin - 0.03 * (end - begin), entry - MOST_BEFORE * (end - entry))
    return left, end + 0.03 * (end - left)
