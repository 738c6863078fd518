"""Draws single samples as timelines of their ranks, and the exits of ranks from synchronizers.

In a sample each rank synchronizes, waits for the common start or its delay, and runs the operation. All times are on
the global clock (Schuchart 2023, Fig. 1). The exit skew is the time from the first to the last rank's exit from a
synchronizer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.comparison.summaries import described, described_cells, mean_interval, value_text
from downbeat.data.clock_files import SynchronizerSkews
from downbeat.data.exit_patterns import exit_pattern
from downbeat.data.launch_file import open_samples
from downbeat.data.netcdf import NetcdfFile
from downbeat.data.samples import native, read_samples
from downbeat.output.blocks import Picture
from downbeat.output.fields import synchronizer_name
from downbeat.report.drawing import PHASES, make_picture
from downbeat.report.export import STAMPS
from downbeat.report.panel import MAX_RANKS, Box, Panel, Timeline, lines_of, rank_step
from downbeat.report.rows import by_operation
from downbeat.report.style import FIXED, positions
from downbeat.run.experiment import Experiment, Launch
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.tables import Floats, Ints, Table, Texts, column, grouped
from downbeat.text import MICROSECONDS, bytes_text

if TYPE_CHECKING:
    import xarray as xr

MAX_SYNCHRONIZERS = 6  # rows of a picture of timelines
DELAY_METRIC = "global_time"  # chooses the median and the longest sample
# Time shown before the first entry, relative to the time after it; the operation needs room.
MAX_TIME_BEFORE_ENTRY = 6
# Timelines of a column share their axis, unless the longest is more than this times as long: the shorter one would be
# invisible.
MAX_LENGTH_RATIO = 20
BARS_CAPTION = (
    "Bars of each rank on the global clock: in the synchronizer, waiting there for the common deadline (from the "
    "root's decision on) or for the rank's own delay, and in the operation. 0 is the common start, or the first entry "
    "where there is none. Left: the sample with the median time from the first entry to the last exit. Right: the "
    "longest. Both are of launch {launch}. A bar that touches the left edge began earlier. Panels "
    "of a column have the same axis unless their samples differ by more than a factor of {longer}."
)


class Bars(Table):
    """The phases of the ranks of samples; a phase without duration has no row."""

    synchronizer: Texts = column("how the start was made")
    sample: Texts = column("median or worst")
    rank: Ints = column("rank")
    phase: Texts = column("one of PHASES")
    begin_us: Floats = column("begin, after the start of the sample", "us")
    end_us: Floats = column("end, after the start of the sample", "us")


def sample_bars(file: NetcdfFile, sample: int, line: str, which: str) -> Bars:
    """Returns the bars of one sample.

    Args:
        file: the open file of a launch.
        sample: index of the sample in the file.
        line: its synchronizer.
        which: its label, median or worst.
    """
    sync_entry, entry, exit_, delay = (native(file.variables[name][sample]) for name in STAMPS)
    deadline, slack = (float(file.variables[name][sample]) for name in ("deadline", "slack"))
    start = entry.min() if np.isnan(deadline) else deadline
    # After a barrier a rank waits for its own delay. With a deadline, it waits from the moment when the root set it.
    waits = entry - delay if np.isnan(deadline) else np.full(len(entry), deadline - (0.0 if np.isnan(slack) else slack))
    waits = np.clip(waits, sync_entry, entry)
    rows = []
    for rank in range(len(entry)):
        borders = (sync_entry[rank], waits[rank], entry[rank], exit_[rank])
        for phase, begin, end in zip(PHASES, borders, borders[1:], strict=False):
            if end > begin:
                rows.append((line, which, rank, phase, (begin - start) * MICROSECONDS, (end - start) * MICROSECONDS))
    return Bars.of_tuples(rows)


class Chosen(Table):
    """The cells with a timeline: the smallest size of each operation, after each synchronizer."""

    operation: Texts = column("operation")
    size: Ints = column("message size", "B")
    line: Texts = column("how the start was made")
    median: Ints = column("index in the file of the sample with the median time")
    worst: Ints = column("index in the file of the sample with the longest time")


def chosen_samples(launch: Launch) -> Chosen:
    """Chooses the samples of a launch for the timelines."""
    cells = launch.cell_table
    starts = cells.started_by
    samples = read_samples(launch.path, [DELAY_METRIC])
    valid, index, time = samples.with_verdict("valid"), samples.cell_index, samples.metric(DELAY_METRIC)
    rows: dict[tuple[str, str], tuple[object, ...]] = {}
    for operation, group in grouped(cells.operation):
        measured = group[cells.valid_count[group] > 0]
        for cell in measured[cells.size[measured] == cells.size[measured].min(initial=np.iinfo(np.int64).max)]:
            here = np.flatnonzero(valid & (index == cell))
            ordered = here[np.argsort(time[here], kind="stable")]
            middle = int(ordered[(len(ordered) - 1) // 2])
            # Of several patterns and algorithms, take the first: files start with `none` and `default`.
            row = (operation, cells.size[cell], starts[cell], middle, int(ordered[-1]))
            rows.setdefault((operation, starts[cell]), row)
    return Chosen.of_tuples(list(rows.values()))


def draw_timelines(experiment: Experiment) -> list[Picture]:
    """Draws the median and the worst sample after each synchronizer: one picture per operation, of one launch.

    The launch is the first with the largest number of ranks.
    """
    launch = max(experiment.launches, key=lambda launch: launch.ranks)
    pictures = []
    chosen = chosen_samples(launch)
    with open_samples(launch.path) as file:
        for operation, rows in by_operation(chosen.operation):
            samples = chosen[rows]
            # The usual synchronizers first.
            order = np.argsort(~np.isin(samples.line, list(FIXED)), kind="stable")
            pictures.append(timeline_picture(launch, file, operation, samples[order[:MAX_SYNCHRONIZERS]]))
    return pictures


def timeline_picture(launch: Launch, file: NetcdfFile, operation: str, samples: Chosen) -> Picture:
    """Draws samples of one operation from the open file of the launch, a row per synchronizer."""
    numbers = Bars.joined(
        sample_bars(file, position, line, which)
        for line, *positions_of in zip(samples.line, samples.median, samples.worst, strict=True)
        for position, which in zip(positions_of, ("median", "worst"), strict=True)
    )
    numbers = numbers[numbers.rank % rank_step(launch.ranks) == 0]
    panels = []
    for (line, which), bars in numbers.groups(numbers.synchronizer, numbers.sample):
        column = numbers[numbers.sample == which]
        limits = time_limits(column if length(column) < MAX_LENGTH_RATIO * length(bars) else bars)
        title = f"{synchronizer_name(line)}, {which}"
        panels.append(Panel([Timeline(bars.frame(), launch.ranks)], "time [us]", "rank", title, x_limits=limits))
    size = f" of {bytes_text(samples.size[0])} bytes" if samples.size[0] else ""
    described = f"{launch.number} ({launch.library}, {value_text('ranks', launch.ranks)})"
    caption = BARS_CAPTION.format(launch=described, longer=MAX_LENGTH_RATIO)
    if len(samples) == MAX_SYNCHRONIZERS:
        caption += f" At most {MAX_SYNCHRONIZERS} synchronizers are shown."
    if launch.ranks > MAX_RANKS:
        caption += f" Every {rank_step(launch.ranks)}th rank is shown."
    title = f"{operation}{size}: what the ranks do in a sample"
    return make_picture(f"timelines-{operation}", title, caption, panels, numbers.frame())


def length(bars: Bars) -> float:
    """Returns the time from the first entry into the operation to the last exit, us."""
    operation = bars.phase == "operation"
    return float(bars.end_us[operation].max(initial=0.0) - bars.begin_us[operation].min(initial=0.0))


def time_limits(bars: Bars) -> tuple[float, float] | None:
    """Returns the limits of the shared time axis of samples, us; None if no operation takes time."""
    begin, end = float(bars.begin_us.min()), float(bars.end_us.max())
    entry = float(bars.begin_us[bars.phase == "operation"].min(initial=np.inf))
    if not end > entry:
        return None
    left = max(begin - 0.03 * (end - begin), entry - MAX_TIME_BEFORE_ENTRY * (end - entry))
    return left, end + 0.03 * (end - left)


# Clocks have steps of about this length; smaller skews are drawn as this one.
RESOLUTION_US = 1e-3
SKEW_CAPTION = (
    "Time from the first rank's exit from the synchronizer to the last one's (Schuchart 2023, section 2.2): {}. Mark "
    "in the middle: median; thick: the middle half; thin: 90 %; last mark: 99th percentile. Skews left of the gray "
    "line are below the clock's limit, twice its largest error bound."
)
OF_CELLS = "median over launches and cells of each quantile of the launch's samples"


class Skews(Table):
    """Quantiles of the exit skew after each synchronizer."""

    configuration: Texts = column("library, ranks, environment and variant, those that vary")
    synchronizer: Texts = column("how the start was made")
    p5_us: Floats = column("5 % of the samples are below", "us")
    p25_us: Floats = column("25 % of the samples are below", "us")
    median_us: Floats = column("median", "us")
    p75_us: Floats = column("75 % of the samples are below", "us")
    p95_us: Floats = column("95 % of the samples are below", "us")
    p99_us: Floats = column("99 % of the samples are below", "us")
    bound_us: Floats = column("largest error bound of the clock", "us")


def draw_skews(experiment: Experiment) -> list[Picture]:
    """Draws quantiles of the exit skew after every synchronizer of an experiment."""
    cells = experiment.cell_table
    cells = cells[cells.plain & (cells.ranks > 1)]
    if not len(cells):
        return []
    skews = cells.metric("exit_skew")
    rows = []
    # Pool the cells of a synchronizer: their operations begin only after the exit.
    for key, group in grouped(described_cells(cells, LAUNCH_FACTORS), cells.started_by):
        of = skews[group]
        quantiles = (of.p5_s, of.p25_s, of.median_s, of.p75_s, of.p95_s, of.p99_s)
        medians = [float(pd.Series(quantile).median()) for quantile in quantiles]
        bound = float(pd.Series(cells.error_bound[group]).max())
        rows.append((*key, *(seconds * MICROSECONDS for seconds in (*medians, bound))))
    return [skew_picture(Skews.of_tuples(rows), OF_CELLS)]


def draw_skew_file(data: xr.Dataset) -> list[Picture]:
    """Draws quantiles of the exit skew from a file of `downbeat-bench skew`."""
    if "skew_median" not in data:
        return []
    of = SynchronizerSkews.of(data)
    times = (of.skew_p5, of.skew_p25, of.skew_median, of.skew_p75, of.skew_p95, of.skew_p99, of.error_bound)
    columns = [seconds * MICROSECONDS for seconds in times]
    rows = [("", *row) for row in zip(of.synchronizer, *columns, strict=True)]
    return [skew_picture(Skews.of_tuples(rows), "over valid samples")]


def skew_picture(numbers: Skews, meaning: str) -> Picture:
    """Draws quantiles of exit skews as boxes; `meaning` completes the caption."""
    numbers = numbers[~np.isnan(numbers.median_us)]
    colors, panels = positions(numbers.synchronizer), []
    for title, group in numbers.groups(numbers.configuration):
        quantiles = (group.p5_us, group.p25_us, group.median_us, group.p75_us, group.p95_us, group.p99_us)
        drawn = np.maximum(quantiles, RESOLUTION_US).T
        boxes = [
            Box(synchronizer_name(line), "", median, (p25, p75), (p5, p95), [p99], color=colors[line])
            for line, (p5, p25, median, p75, p95, p99) in zip(group.synchronizer, drawn.tolist(), strict=True)
        ]
        limit = 2 * float(group.bound_us.max()) or None
        panels.append(Panel(boxes, "exit skew [us]", "", title, "log", x_at=limit, rows=True))
    named = numbers.frame()
    if len(set(numbers.configuration)) == 1:
        named = named.drop(columns="configuration")
    title, caption = "How far apart ranks leave each synchronizer", SKEW_CAPTION.format(meaning)
    return make_picture("exit_skew", title, caption, panels, named, columns=1, share_x=True)


MIN_SKEW_RANKS = 3  # for a pattern of exits; with two ranks, the exit skew shows all
PATTERN_CAPTION = (
    "Mean time from the first exit of the same sample to the rank's own (Hunold 2015, figure 4), with its 95 % "
    "interval, cut off at 0. One interruption moves a mean far and widens its interval. Where the line rises or falls "
    "over the ranks, they enter the operation one after another."
)


class Pattern(Table):
    """Mean time from the first exit to the exit of each rank, by synchronizer."""

    configuration: Texts = column("library, ranks, environment and variant, those that vary")
    synchronizer: Texts = column("how the start was made")
    rank: Ints = column("rank")
    exit_us: Floats = column("mean time from the first exit to the rank's", "us")
    low_us: Floats = column("lower end of its 95 % interval", "us")
    high_us: Floats = column("upper end of its 95 % interval", "us")


def draw_patterns(experiment: Experiment) -> list[Picture]:
    """Draws the mean exit of each rank from each synchronizer; the intervals are over launches."""
    means: dict[tuple[object, ...], list[float]] = {}
    configurations: dict[tuple[object, ...], None] = {}
    for launch in experiment.launches:
        if launch.ranks < MIN_SKEW_RANKS:
            continue
        exits = exit_pattern(launch.path)
        # Pool the cells of a synchronizer: a launch counts as one value.
        for (line, rank), group in exits[exits.plain].groups(exits.started_by[exits.plain], exits.rank[exits.plain]):
            configurations[launch.configuration] = None
            means.setdefault((launch.configuration, line, rank), []).append(float(group.exit_s.mean()))
    if not means:
        return []
    titles = described(dict(zip(LAUNCH_FACTORS, zip(*configurations, strict=True), strict=True)))
    names = dict(zip(configurations, titles, strict=True))
    rows = []
    for (configuration, line, rank), values in means.items():
        interval = mean_interval(values)
        # No rank leaves before the first.
        ends = (interval.estimate, float(np.maximum(0.0, interval.low)), interval.high)
        rows.append((names[configuration], line, rank, *(end * MICROSECONDS for end in ends)))  # type: ignore[index]
    return [pattern_picture(Pattern.of_tuples(rows))]


def draw_pattern_file(data: xr.Dataset) -> list[Picture]:
    """Draws the mean exit of each rank from a file of `downbeat-bench skew`; the intervals are over samples."""
    if "exit_mean" not in data or data.sizes["rank"] < MIN_SKEW_RANKS:
        return []
    of = SynchronizerSkews.of(data)
    mean, half = of.exit_mean * MICROSECONDS, of.exit_half * MICROSECONDS
    points = [(line, rank) for line, rank in np.ndindex(mean.shape) if not np.isnan(mean[line, rank])]
    rows = [
        ("", of.synchronizer[at[0]], at[1], mean[at], np.maximum(mean[at] - half[at], 0.0), mean[at] + half[at])
        for at in points
    ]
    return [pattern_picture(Pattern.of_tuples(rows))]


def pattern_picture(numbers: Pattern) -> Picture:
    """Draws mean exits against ranks, a line per synchronizer."""
    colors = positions(numbers.synchronizer)
    panels = [
        Panel(
            lines_of(group.synchronizer, group.rank, group.exit_us, group.low_us, group.high_us, colors),
            "rank",
            "after the first [us]",
            title,
            "whole",
        )
        for title, group in numbers.groups(numbers.configuration)
    ]
    title = "When each rank leaves the synchronizer"
    return make_picture("exit_pattern", title, PATTERN_CAPTION, panels, numbers.frame(), share_y=True)
