"""Draws the differences between launches, the drift of latency within them, and the clock errors at their end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from downbeat.comparison.summaries import CONFIGURATION, METRIC, described, described_operations, value_text
from downbeat.data.cells import Cells
from downbeat.data.samples import read_samples
from downbeat.output.blocks import Picture
from downbeat.output.fields import synchronizer_name
from downbeat.report.drawing import make_picture
from downbeat.report.panel import NO_MARKER, Band, Line, Panel
from downbeat.report.style import GRAY, positions
from downbeat.run.experiment import Experiment, Launch
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.tables import Floats, Ints, Table, Texts, column, grouped
from downbeat.text import MICROSECONDS, PERCENT, bytes_text

# Differences between launches.

MAX_LAUNCH_LINES = 4  # synchronizers of a panel, side by side at each launch
MAX_CELLS = 8  # panels
LAUNCHES_CAPTION = (
    "Median latency of each launch, with the middle half of its samples, in the cell of each operation{} in which "
    "launches differ most. Where points are farther apart than the bars are long, one launch proves little (Hunold "
    "2014), so intervals are over launches. The table has all cells."
)


class Differences(Table):
    """The deviation between the launches of each cell, and within the launches."""

    cell: Texts = column("operation and configuration")
    size_bytes: Ints = column("message size", "B")
    synchronizer: Texts = column("how the start was made")
    between_launches_percent: Floats = column("standard deviation of log medians between launches", "%")
    within_launches_percent: Floats = column(
        "half of the distance of the quartiles / median, median over launches", "%"
    )
    launches: Ints = column("launches with a median", "1")


def differences(cells: Cells, panels: Texts) -> Differences:
    """Computes the deviations of each cell by panel, size and synchronizer."""
    latency = cells.metric(METRIC)
    keys, rows = [], []
    for key, group in latency.groups(panels, cells.size, cells.started_by):
        logs = np.log(group.median_s[group.median_s > 0])
        with np.errstate(divide="ignore", invalid="ignore"):
            spreads = (group.p75_s - group.p25_s) / 2 / group.median_s
        known = spreads[~np.isnan(spreads)]
        keys.append(key)
        rows.append(
            (
                logs.std(ddof=1) * PERCENT if len(logs) > 1 else np.nan,
                np.median(known) * PERCENT if len(known) else np.nan,
                len(logs),
            )
        )
    names, sizes, lines = (np.array(values, dtype=object) for values in zip(*keys, strict=True))
    between, within, counts = np.array(rows, dtype=float).T
    return Differences(
        cell=names,
        size_bytes=sizes.astype(np.int64),
        synchronizer=lines,
        between_launches_percent=between,
        within_launches_percent=within,
        launches=counts.astype(np.int64),
    )


def draw_launches(experiment: Experiment) -> list[Picture]:
    """Draws the medians of launches, for each operation and configuration in the cell with the largest deviation."""
    cells = experiment.cell_table
    cells = cells[cells.plain]
    if not len(cells):
        return []
    cell_names = described_operations(cells, CONFIGURATION)
    table = differences(cells, cell_names)
    table = table[table.launches > 1]
    if not len(table):
        return []
    largest = [rows[table.between_launches_percent[rows].argmax()] for _, rows in grouped(table.cell)]
    worst = table[np.array(sorted(largest, key=lambda row: -table.between_launches_percent[row])[:MAX_CELLS])]
    starts, latency = cells.started_by, cells.metric(METRIC)
    colors, panels = positions(starts), []
    for name, size, start in zip(worst.cell, worst.size_bytes, worst.synchronizer, strict=True):
        here = (cell_names == name) & (cells.size == size)
        # The synchronizer of the largest deviation, then the first ones of the command line.
        names = list(dict.fromkeys([start, *starts[here]]))[:MAX_LAUNCH_LINES]
        lines = []
        for number, line in enumerate(sorted(names, key=lambda label: colors[label])):
            rows = np.flatnonzero(here & (starts == line))
            rows = rows[np.argsort(cells.launch[rows], kind="stable")]
            at = cells.launch[rows] + (number - (len(names) - 1) / 2) * 0.12
            points = latency[rows]
            median, low, high = (seconds * MICROSECONDS for seconds in (points.median_s, points.p25_s, points.p75_s))
            lines.append(Line(synchronizer_name(line), at, median, low, high, colors[line], style=""))
        size_text = f", {bytes_text(size)} bytes" if size else ""
        panels.append(Panel(lines, "launch", "latency [us]", f"{name}{size_text}", "whole", "log"))
    several = " and configuration" if len({launch.configuration for launch in experiment.launches}) > 1 else ""
    caption = LAUNCHES_CAPTION.format(several)
    return [make_picture("launch_medians", "How launches differ", caption, panels, table.frame())]


# Latency over the time within a launch. The time is cut into bins of equal length.

HISTOGRAM_BINS = 40  # for a launch of median length, at most
MIN_SAMPLES_PER_BIN = 5  # a bin with fewer samples has no point
SAMPLES_PER_BIN = 20  # average for which the number of bins is chosen
MIN_BINS = 5  # with fewer there is no picture
# Factor that puts the last sample into the last bin.
LENGTH_MARGIN = 1 + 1e-9
# Bins that are kept, and time on the axis, as multiples of the median launch.
MAX_RUN_LENGTH, SHOWN_RUN_LENGTH = 4, 1.25
# The axis has at least this range; smaller changes are not drift.
AXIS_LOW, AXIS_HIGH = 0.98, 1.02
AXIS_MARGIN = 1.02  # factor between the data and the end of the axis
SHOWN_QUANTILE = 0.98  # quantile of the bins at the end of the axis
# Minimum share of launches in a bin; with fewer, the median would be that of the long launches.
MIN_LAUNCH_SHARE = 0.5
# Launches with a line; more would be a gray cloud.
MAX_GRAY_LINES = 12
TIME_CAPTION = (
    "Each valid sample's latency is divided by the median of its own cell in the same launch, so that cells can be "
    f"taken together. The launch is cut into spans of time, at most {HISTOGRAM_BINS} for a launch of median length; "
    "the numbers also have the rest of a much longer one, and what is beyond the axis. {} "
    "A line that rises or falls is drift (a clock rate, a governor, a temperature, another job). It affects all cells, "
    "because their blocks are in random order."
)
ONE_LAUNCH = "Blue: medians of the spans."
SEVERAL_LAUNCHES = (
    "Gray: medians of the spans, a line per launch{}. Blue: median over launches, with the middle half of them, "
    "where at least half of them were still measuring."
)


class Bins(Table):
    """The samples of launches, in spans of time of one length."""

    configuration: Texts = column("configuration of the launch; empty if there is only one")
    launch: Ints = column("number of the launch")
    bin: Ints = column("number of the span, from 0")
    time_s: Floats = column("middle of the span, since the first sample", "s")
    relative: Floats = column("latency / median of the cell, median over samples")
    samples: Ints = column("valid samples in the span", "1")


def relative_latencies(launch: Launch) -> tuple[Floats, Floats]:
    """Returns the valid samples of a launch: time since the first, s, and latency divided by the median of the cell."""
    samples = read_samples(launch.path, [METRIC])
    valid = samples.with_verdict("valid")
    begin, latency, cell = (values[valid] for values in (samples.begin, samples.metric(METRIC), samples.cell_index))
    median = launch.cell_table.metric(METRIC).median_s[cell]
    # A median of 0 gives no ratio.
    known = median > 0
    return (begin - begin.min(initial=np.inf))[known], latency[known] / median[known]


def binned(launch: Launch, time: Floats, relative: Floats, width: float, bins: int) -> Bins:
    """Puts samples into bins of `width` s; drops bins with fewer than `MIN_SAMPLES_PER_BIN` samples."""
    numbers = np.minimum((time / width).astype(np.int64), MAX_RUN_LENGTH * bins - 1)
    kept = [number for number in np.unique(numbers) if (numbers == number).sum() >= MIN_SAMPLES_PER_BIN]
    return Bins(
        configuration=np.full(len(kept), "", dtype=object),
        launch=np.full(len(kept), launch.number),
        bin=np.array(kept, dtype=np.int64),
        time_s=(np.array(kept, dtype=float) + 0.5) * width,
        relative=np.array([np.median(relative[numbers == number]) for number in kept], dtype=float),
        samples=np.array([(numbers == number).sum() for number in kept], dtype=np.int64),
    )


def run_times(launches: Sequence[Launch]) -> list[Bins]:
    """Puts the samples of all launches of a configuration into bins of the same width; empty if samples are too few."""
    samples = {launch.number: (launch, *relative_latencies(launch)) for launch in launches}
    bins = min(HISTOGRAM_BINS, max(len(time) for _, time, _ in samples.values()) // SAMPLES_PER_BIN)
    if bins < MIN_BINS:
        return []
    # Not the longest: one interrupted launch would leave the other launches one or two bins.
    length = float(np.median([time.max() for _, time, _ in samples.values() if len(time)]))
    width = length * LENGTH_MARGIN / bins or 1.0
    return [binned(*launch_samples, width, bins) for launch_samples in samples.values()]


def median_and_quartiles(group: Bins) -> tuple[Floats, Floats, Floats, Floats]:
    """Returns by bin: time, median over launches, first quartile, last quartile.

    A bin with too few launches has NaN, so that the line has a gap there.
    """
    launches = len(set(group.launch))
    kept = [
        number
        for number in np.unique(group.bin)
        if len(set(group.launch[group.bin == number])) >= MIN_LAUNCH_SHARE * launches
    ]
    rows = np.full((4, max(kept) - min(kept) + 1), np.nan)
    for number in kept:
        here = group[group.bin == number]
        rows[:, number - min(kept)] = np.median(here.time_s), *np.quantile(here.relative, [0.5, 0.25, 0.75])
    time, middle, first_quarter, last_quarter = rows
    return time, middle, first_quarter, last_quarter


def draw_run_times(experiment: Experiment) -> list[Picture]:
    """Draws relative latencies over the time within launches, a panel per configuration."""
    configurations: dict[tuple[object, ...], list[Launch]] = {}
    for launch in experiment.launches:
        configurations.setdefault(launch.configuration, []).append(launch)
    by_configuration = {key: run_times(launches) for key, launches in configurations.items()}
    by_configuration = {key: bins for key, bins in by_configuration.items() if sum(map(len, bins))}
    if not by_configuration:
        return []
    titles = described(dict(zip(LAUNCH_FACTORS, zip(*by_configuration, strict=True), strict=True)))
    numbers = Bins.joined(
        launch.replaced(configuration=np.full(len(launch), title, dtype=object))
        for title, bins in zip(titles, by_configuration.values(), strict=True)
        for launch in bins
    )
    count, panels = len(set(numbers.launch)), []
    several = count > 1
    # Not the extremes: one interruption would flatten all lines.
    low, high = np.quantile(numbers.relative, [1 - SHOWN_QUANTILE, SHOWN_QUANTILE])
    limits = (min(low / AXIS_MARGIN, AXIS_LOW), max(high * AXIS_MARGIN, AXIS_HIGH))
    for title, group in numbers.groups(numbers.configuration):
        launches = [launch for _, launch in group.groups(group.launch)]
        shown = sorted(launches, key=lambda launch: int(launch.launch[0]))[: MAX_GRAY_LINES if several else 0]
        lines = [
            Line("a launch", launch.time_s, launch.relative, color=GRAY, marker=NO_MARKER, width=0.6)
            for launch in shown
        ]
        time, middle, first_quarter, last_quarter = median_and_quartiles(group)
        label = "median over launches" if several else "the launch"
        # The line has markers, because a bin between two gaps has no line.
        marks: list[Band | Line] = [
            *lines,
            Band(time, first_quarter, last_quarter, 0),
            Line(label, time, middle),
        ]
        longest = np.median([launch.time_s.max() for launch in launches])
        end = min(SHOWN_RUN_LENGTH * longest, 1.05 * group.time_s.max())
        axes = ("time within the launch [s]", "latency / median")
        panels.append(Panel(marks, *axes, title, y_scale="log", x_limits=(-0.03 * end, float(end)), y_limits=limits))
    first = f" (the first {MAX_GRAY_LINES})" if count > MAX_GRAY_LINES else ""
    caption = TIME_CAPTION.format(SEVERAL_LAUNCHES.format(first) if several else ONE_LAUNCH)
    title = "Latency over the time within a launch"
    return [make_picture("run_time", title, caption, panels, numbers.frame(), share_y=True)]


# Clock errors at the end.

MIN_DRAWN_US = 1e-4  # smaller offsets are drawn here; the step of any clock is larger
CHECKS_CAPTION = (
    "When all cells of a launch are complete, rank 0 measures its offset to every other rank once more, "
    "without synchronizing anew (Niethammer 2016, section III.A): the rank that is farthest off, and what the "
    "bounds of the clock and of the measurement allow for it."
)


class Checks(Table):
    """The last check of the clocks of each launch."""

    launch: Texts = column("configuration and number of the launch")
    date: Texts = column("start of the launch")
    offset_us: Floats = column("largest offset to rank 0", "us")
    allowed_us: Floats = column("largest offset that the error bounds of clock and measurement allow", "us")
    ranks_outside: Ints = column("ranks with an offset beyond it", "1")


def draw_checks(experiment: Experiment) -> list[Picture]:
    """Draws the largest clock offset at the end of each launch, and the limit by the error bounds."""
    rows = []
    for launch in experiment.launches:
        context = launch.context
        if "clock_check_offset_s" in context:
            name = [launch.library, value_text("ranks", launch.ranks), launch.environment, launch.variant]
            offset, allowed = (
                float(str(context[f"clock_check_{of}_s"])) * MICROSECONDS for of in ("offset", "allowed")
            )
            outside = int(str(context["clock_check_ranks_outside"]))
            rows.append(
                Checks(
                    launch=np.array([", ".join([*name, str(launch.number)])], dtype=object),
                    date=np.array([str(context["date"])], dtype=object),
                    offset_us=np.array([abs(offset)]),
                    allowed_us=np.array([allowed]),
                    ranks_outside=np.array([outside]),
                )
            )
    if len(rows) < 2:
        return []
    numbers = Checks.joined(rows)
    numbers = numbers[np.argsort(numbers.date, kind="stable")]
    number = np.arange(1, len(numbers) + 1)
    allowed_line = Line("allowed by the bounds", number, numbers.allowed_us, color=GRAY, style="", marker=3)
    lines, is_outside = [allowed_line], numbers.ranks_outside > 0
    for kept, color, label in ((~is_outside, 0, "measured, within the bounds"), (is_outside, 1, "measured, outside")):
        if kept.any():
            shown = np.maximum(numbers.offset_us[kept], MIN_DRAWN_US)
            lines.append(Line(label, number[kept], shown, color=color, style=""))
    panel = Panel(lines, "launch, in order of time", "offset [us]", "", "whole", "log")
    title = "Did the clocks still agree at the end?"
    return [make_picture("clock_checks", title, CHECKS_CAPTION, [panel], numbers.frame())]
