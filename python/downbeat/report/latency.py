"""Draws the latency of operations: against size and processes, as lists and heat maps, and ratios of two sides.

Also draws overlap with computation, and the effect of late ranks. `line` (a side of the comparison, or a synchronizer)
and `panel` (operation and other factors that vary) name each cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from downbeat.comparison.summaries import (
    CONFIGURATION,
    DEFINITIONS,
    METRIC,
    PANELS,
    described,
    described_cells,
    mean_interval,
    plain_cells,
    positive_interval,
)
from downbeat.data.cells import STATE, Cells
from downbeat.data.metrics import METRICS
from downbeat.data.states import in_main_state
from downbeat.output.blocks import Picture
from downbeat.output.fields import COMMON_START, synchronizer_name
from downbeat.report.compared import (
    STARTS,
    Contrast,
    Ratios,
    cell_name,
    contrast_of,
    starts_of,
)
from downbeat.report.drawing import make_picture
from downbeat.report.panel import NO_MARKER, Band, Box, Heat, Line, Panel, lines_of
from downbeat.report.rows import (
    LateCells,
    Latencies,
    ShownCells,
    by_operation,
    late_cells,
    latencies,
    overlapping,
    shown,
)
from downbeat.report.style import GRAY, positions
from downbeat.run.experiment import Experiment
from downbeat.statistics.verdicts import MARGIN, MIN_LAUNCHES
from downbeat.tables import Flags, Floats, Ints, Table, Texts, column, grouped
from downbeat.text import MICROSECONDS, PERCENT

MEANING = f"{METRICS[METRIC].meaning[0].upper()}{METRICS[METRIC].meaning[1:]}."
SIZE_LABEL = "message size [bytes]"


# Ratios to the first side.

RATIO_CAPTION = (
    "{}: median latency of each launch, the typical ratio with its 95 % interval. Above 1, {}. "
    f"The gray band is 1 +- {MARGIN:.0%}.{{}}"
)
DELTA = " Paired by launch: delta in Schuchart 2023, section 6.1."
MIN_SIZES = 3  # operations with fewer sizes are listed as rows of one panel
MAX_LISTED = 40  # rows of such a panel
AXIS_ROOM = 1.02  # factor between the last point and the end of the axis


def shown_ratios(numbers: Ratios) -> tuple[float, float]:
    """Returns the limits of the axis: all ratios, and the intervals of ratios with enough launches for a verdict."""
    with_verdict = numbers[numbers.launches >= MIN_LAUNCHES]
    low = float(np.nanmin([*numbers.ratio, *with_verdict.low]))
    high = float(np.nanmax([*numbers.ratio, *with_verdict.high]))
    # At least twice the gray band, so that it is seen as a band.
    return min(low, 1 / (1 + 2 * MARGIN)) / AXIS_ROOM, max(high, 1 + 2 * MARGIN) * AXIS_ROOM


def against_size(rows: Ratios | Latencies) -> Flags:
    """Marks the rows of operations that have at least `MIN_SIZES` sizes."""
    sized = np.zeros(len(rows), dtype=bool)
    for _, group in grouped(rows.operation):
        sized[group] = len(set(rows.size[group])) >= MIN_SIZES
    return sized


def cell_names(rows: Ratios | Latencies) -> list[str]:
    """Returns the names of listed rows: panel, and size if the panel has several."""
    sizes = {panel: len(set(group.size)) for panel, group in rows.groups(rows.panel)}
    pairs = zip(rows.panel, rows.size, strict=True)
    return [cell_name(panel, size) if sizes[panel] > 1 else str(panel) for panel, size in pairs]


def at_least_one(sizes: Ints) -> Ints:
    """Moves size 0 (no message) to 1, because the axis is logarithmic."""
    return np.maximum(sizes, 1)


def draw_contrast(experiment: Experiment) -> list[Picture]:
    """Draws the comparison of the report: latencies of all sides, then ratios to the first side."""
    contrast = contrast_of(experiment)
    return [*latency_pictures(contrast), *ratio_pictures(contrast)]


def draw_starts(experiment: Experiment) -> list[Picture]:
    """Draws barrier / common start, unless `draw_contrast` does."""
    contrast = contrast_of(experiment)
    return ratio_pictures(starts_of(experiment)) if contrast.factor != STARTS else []


def ratio_pictures(contrast: Contrast) -> list[Picture]:
    """Draws ratios to the first side: against size, a panel per operation; then operations with few sizes."""
    ratios = contrast.ratios[~np.isnan(contrast.ratios.ratio)]
    if not len(ratios):
        return []
    label, colors = contrast.ratio_label, positions(contrast.sides)
    name = "barrier" if contrast.factor == STARTS else contrast.factor
    remarks = DELTA * (contrast.sides[0] == COMMON_START)
    first = label.partition(" / ")[0]
    above = f"operations take longer {first}" if first.startswith("after ") else f"{first} takes longer"
    caption = RATIO_CAPTION.format(label[0].upper() + label[1:], above, remarks)
    look: dict[str, Any] = {"y_at": 1.0, "shade": (1 / (1 + MARGIN), 1 + MARGIN)}
    look["y_limits"] = shown_ratios(ratios)
    sized = ratios[against_size(ratios)]
    panels = [
        Panel(
            lines_of(group.line, at_least_one(group.size), group.ratio, group.low, group.high, colors),
            SIZE_LABEL,
            label,
            title,
            "bytes",
            "log",
            **look,
        )
        for title, group in sized.groups(sized.panel)
    ]
    listed = ratios[~against_size(ratios)]
    points = zip(cell_names(listed), listed.line, listed.ratio, listed.low, listed.high, strict=True)
    rows = [
        Box(
            cell if len(contrast.sides) <= 2 else f"{cell}: {synchronizer_name(line)}",
            "",
            ratio,
            (ratio, ratio),  # no thick bar, which is the middle half of samples in other pictures
            (low, high),
            color=colors[line],
        )
        for cell, line, ratio, low, high in points
    ][:MAX_LISTED]
    numbers = ratios.frame().rename(columns={"panel": "cell", "line": contrast.factor, "size": "size_bytes"})
    numbers = numbers.drop(columns=["operation"])
    pictures = []
    if panels:
        pictures.append(make_picture(f"{name}_ratio", f"Latency: {label}", caption, panels, numbers, share_y=True))
    if rows:
        list_panels = [Panel(rows, label, "", x_scale="log", x_at=1.0, rows=True)]
        title = f"Latency: {label}{', of the other operations' if panels else ''}"
        pictures.append(
            make_picture(f"{name}_ratio{'-others' if panels else ''}", title, caption, list_panels, numbers, columns=1)
        )
    return pictures


# Latency against size and processes, and as a list.

BANDS = (0.10, 0.20)  # opacity of the bands of 90 % and of the middle half of the samples of a launch
MAX_BANDS = 3  # lines with bands; with more, bands would hide each other
SCALING_CAPTION = f"{MEANING} Points: the typical launch's median, with its 95 % interval."
SHADES = " The bands hold the middle half and 90 % of the samples of a launch."
LIST_CAPTION = (
    f"{MEANING} Mark: the typical launch's median, between the ends of its 95 % interval; "
    "thick: the middle half of the samples of a launch, thin: 90 %."
)
LATENCY_LABEL = f"{METRICS[METRIC].label} [us]"


def latency_pictures(contrast: Contrast) -> list[Picture]:
    """Draws latencies: against size, a panel per operation; then a list of operations with few sizes."""
    if not len(contrast.cells):
        return []
    numbers = latencies(contrast.cells, METRIC)
    colors = positions(contrast.sides)
    named = numbers.named(panel="cell", line=contrast.factor, size="size_bytes")
    sized = against_size(numbers)
    pictures = []
    if sized.any():
        drawn = numbers[sized]
        panels = scaling_panels(drawn, at_least_one(drawn.size), (SIZE_LABEL, "bytes"), colors)
        shades = SHADES if len(colors) <= MAX_BANDS else ""
        title, caption = "Latency against size", SCALING_CAPTION + shades
        pictures.append(
            make_picture("latency_by_size", title, caption, panels, named[sized], share_x=True, share_y=True)
        )
    listed = numbers[~sized]
    # With several numbers of ranks, draw_processes draws these operations.
    if len(listed) and len(set(contrast.cells.ranks)) == 1:
        has_one_side = len(contrast.sides) == 1
        rows = [
            Box(
                cell if has_one_side else f"{cell}: {synchronizer_name(latency.line[0])}",
                "",
                latency.median_us[0],
                (latency.p25_us[0], latency.p75_us[0]),
                (latency.p5_us[0], latency.p95_us[0]),
                interval=(latency.low_us[0], latency.high_us[0]),
                color=colors[latency.line[0]],
            )
            for cell, row in zip(cell_names(listed), range(len(listed)), strict=True)
            for latency in [listed[row : row + 1]]
        ][:MAX_LISTED]
        panel = Panel(rows, LATENCY_LABEL, "", x_scale="log", rows=True)
        title = "Latency of the other operations" if sized.any() else "Latency"
        pictures.append(make_picture("latency", title, LIST_CAPTION, [panel], named[~sized], columns=1))
    return pictures


def scaling_panels(numbers: Latencies, x: Ints, axis: tuple[str, str], colors: Mapping[str, int]) -> list[Panel]:
    """Draws medians and bands at positions x: a panel per `panel`, a line per `line`.

    Args:
        numbers: the latencies.
        x: position of each row.
        axis: label and scale of the horizontal axis.
        colors: line -> index in the palette; with more than `MAX_BANDS` lines there are no bands.
    """
    panels = []
    for panel, rows in grouped(numbers.panel):
        ordered = rows[np.argsort(x[rows], kind="stable")]
        group, at = numbers[ordered], x[ordered]
        marks: list[Band | Line] = []
        for line, points in grouped(group.line) if len(colors) <= MAX_BANDS else ():
            color, of = colors[line], group[points]
            bands = ((of.p5_us, of.p95_us), (of.p25_us, of.p75_us))
            marks += [
                Band(at[points], *ends, color, dark, synchronizer_name(line))
                for ends, dark in zip(bands, BANDS, strict=True)
            ]
        marks += lines_of(group.line, at, group.median_us, group.low_us, group.high_us, colors)
        panels.append(Panel(marks, axis[0], LATENCY_LABEL, panel, axis[1], "log"))
    return panels


def draw_processes(experiment: Experiment) -> list[Picture]:
    """Draws latency against the number of ranks, a picture per operation that was measured with several."""
    factors = [*(factor for factor in CONFIGURATION if factor not in ("ranks", STATE)), "size"]
    cells, pictures = plain_cells(experiment), []
    cells = cells[in_main_state(cells)]
    for operation, here in by_operation(cells.operation):
        rows = cells[here]
        if len(set(rows.ranks)) > 1:
            numbers = latencies(shown(rows, rows.started_by, described_cells(rows, factors)), METRIC)
            colors = positions(numbers.line)
            panels = scaling_panels(numbers, numbers.ranks, ("processes", "positions"), colors)
            caption = SCALING_CAPTION + (SHADES if len(colors) <= MAX_BANDS else "")
            named = numbers.named(panel="panel", line="synchronizer", ranks="ranks")
            name, title = f"latency_by_processes-{operation}", f"{operation}: latency against processes"
            pictures.append(make_picture(name, title, caption, panels, named, share_y=True))
    return pictures


# Algorithms against synchronizers.

MAP_CAPTION = (
    "Latency [us], mean over ranks: the typical launch's median (Schuchart 2023, figure 2, has "
    "means). A row is one algorithm: only the synchronizer makes its values differ. Darker is higher; "
    "each map has its own scale."
)


def draw_heat_maps(experiment: Experiment) -> list[Picture]:
    """Draws a heat map for each operation that was measured with several algorithms after several synchronizers."""
    pictures = []
    cells = plain_cells(experiment)
    for operation, here in by_operation(cells.operation):
        rows = cells[here]
        starts = rows.started_by
        if len(set(rows.algorithm)) > 1 and len(set(starts)) > 1:
            pictures.append(heat_map(shown(rows, starts, described_cells(rows, PANELS)), operation))
    return pictures


def heat_map(cells: ShownCells, operation: str) -> Picture:
    """Draws a heat map per `panel`: the latency of each algorithm (row) after each `line` (column)."""
    numbers = latencies(cells, METRIC)
    panels = []
    for title, group in numbers.groups(numbers.panel):
        table = pd.Series(group.median_us, [group.algorithm, group.line]).unstack()
        table = table.reindex(index=list(dict.fromkeys(group.algorithm)), columns=list(dict.fromkeys(group.line)))
        panels.append(Panel([Heat(table.rename(columns=synchronizer_name))], title=title))
    named = numbers.named(panel="panel", algorithm="algorithm", line="synchronizer")
    named = named.rename(columns={"median_us": "latency_us"}).loc[:, :"launches"]
    title = f"{operation}: algorithms after synchronizers"
    return make_picture(f"heat_map-{operation}", title, MAP_CAPTION, panels, named, columns=1)


# Overlap with computation (docs/operations.md).

# Limits of the axis. One interruption can cause an overlap of -5000 %, which would make all other points one line.
MIN_PERCENT, MAX_PERCENT = -110.0, 110.0
OVERLAP_CAPTION = (
    "Share of the operation that was hidden behind computation, or of the computation where that is shorter, by "
    "the definitions of OSU and IMB, which cut off at 0, and from the common start to the last exit, which does "
    "not: below 0 both slow each other down (docs/operations.md). Mean over launches, with its 95 % interval; "
    "values beyond the axis are in the numbers."
)


class Overlaps(Table):
    """The overlap of each cell over launches."""

    panel: Texts = column("start and configuration")
    size_bytes: Ints = column("message size", "B")
    definition: Texts = column("definition of the overlap: OSU, IMB, or from the common start")
    overlap_percent: Floats = column("mean over launches", "%")
    low_percent: Floats = column("lower end of its 95 % interval", "%")
    high_percent: Floats = column("upper end of its 95 % interval", "%")


def draw_computation_overlap(experiment: Experiment) -> list[Picture]:
    """Draws overlap against size, a picture for each operation that was measured with computation."""
    cells = overlapping(experiment.cell_table)
    return [overlap_picture(cells[rows], operation) for operation, rows in by_operation(cells.operation)]


def overlap_picture(cells: Cells, operation: str) -> Picture:
    """Draws the overlap of one operation by three definitions, a panel per synchronizer and configuration."""
    factors = {"line": cells.started_by} | {name: getattr(cells, name) for name in CONFIGURATION}
    rows = []
    for key, group in cells.groups(described(factors), cells.size):
        for name, definition in DEFINITIONS.items():
            interval = mean_interval(getattr(group, name))
            shares = (interval.estimate, interval.low, interval.high)
            rows.append((*key, definition, *(PERCENT * share for share in shares)))
    numbers = Overlaps.of_tuples(rows)
    values = np.array([numbers.overlap_percent, numbers.low_percent, numbers.high_percent])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    limits = (max(low - 5, MIN_PERCENT), min(high + 5, MAX_PERCENT))
    panels = [
        Panel(
            lines_of(
                group.definition,
                at_least_one(group.size_bytes),
                group.overlap_percent,
                group.low_percent,
                group.high_percent,
            ),
            SIZE_LABEL,
            "overlap [%]",
            title,
            "bytes",
            y_limits=limits,
            y_at=0.0,
        )
        for title, group in numbers.groups(numbers.panel)
    ]
    title, numbers_shown = f"{operation}: overlap with computation", numbers.frame()
    name = f"computation_overlap-{operation}"
    return make_picture(name, title, OVERLAP_CAPTION, panels, numbers_shown, share_y=True)


# Late ranks (Niethammer 2016, III.D).

DELAY_CAPTION = (
    "Global time, from the first entry to the last exit (Niethammer 2016, Eq. 4), against the delay as it was "
    "achieved: the typical launch's median, with its 95 % interval. Upper gray line: the delay just "
    "adds to the time without one; lower: the shorter of both is hidden completely."
)
BENEFIT_CAPTION = (
    "Left: overlap benefit, (t0 + delay - t) / t, with t and t0 the global times with and without delay "
    "(Niethammer 2016, Eq. 5). Right: the hidden share, (t0 + delay - t) / the shorter of t0 and delay: 1 if all "
    "of it is hidden, 0 if the delay just adds, below 0 if it costs more than itself. Mean over launches, with its "
    "95 % interval."
)
TIMES = ["panel", "pattern", "delay_us", "global_time_us", "low_us", "high_us", "without_delay_us", "launches"]
SHARES = ["panel", "pattern", "delay_us", "benefit", "benefit_low", "benefit_high", "share", "share_low", "share_high"]


class Delays(Table):
    """Cells with a late rank, over launches."""

    panel: Texts = column("start, configuration and size")
    pattern: Texts = column("arrival pattern")
    delay_us: Floats = column("mean of the measured delay", "us")
    global_time_us: Floats = column("typical launch's global time", "us")
    low_us: Floats = column("lower end of its 95 % interval", "us")
    high_us: Floats = column("upper end of its 95 % interval", "us")
    without_delay_us: Floats = column("typical launch's global time without the delay", "us")
    benefit: Floats = column("mean overlap benefit")
    benefit_low: Floats = column("lower end of its 95 % interval")
    benefit_high: Floats = column("upper end of its 95 % interval")
    share: Floats = column("mean hidden share")
    share_low: Floats = column("lower end of its 95 % interval")
    share_high: Floats = column("upper end of its 95 % interval")
    launches: Ints = column("launches", "1")


def delays_of(late: LateCells) -> Delays:
    """Summarizes cells with late ranks over launches."""
    rows = []
    for (panel, pattern, _), group in late.groups(late.name, late.pattern, late.delay_number):
        time, without = positive_interval(group.time_s), positive_interval(group.time_without_s)
        times = (float(group.delay_s.mean()), time.estimate, time.low, time.high, without.estimate)
        overlaps = map(mean_interval, (group.benefit, group.share))
        ends = [end for interval in overlaps for end in (interval.estimate, interval.low, interval.high)]
        rows.append((panel, pattern, *(seconds * MICROSECONDS for seconds in times), *ends, len(group)))
    return Delays.of_tuples(rows)


def draw_late_arrival(experiment: Experiment) -> list[Picture]:
    """Draws global time and hidden share against the delay, for each operation that was measured with late ranks."""
    pictures = []
    cells = experiment.cell_table
    late = late_cells(cells[cells.measured])
    for operation, here in by_operation(late.operation):
        numbers = delays_of(late[here])
        colors = positions(numbers.pattern)
        times, shares = [], []
        for title, group in numbers.groups(numbers.panel):
            delay = group.delay_us
            delays = np.geomspace(delay.min() / 2, delay.max(), 50)
            alone = float(group.without_delay_us.mean())
            bounds = [
                Line("", delays, bound, color=GRAY, style="--", marker=NO_MARKER, width=0.9)
                for bound in (delays + alone, np.maximum(delays, alone))
            ]
            marks = [
                *bounds,
                *lines_of(group.pattern, delay, group.global_time_us, group.low_us, group.high_us, colors),
            ]
            times.append(Panel(marks, "delay [us]", "global time [us]", title, "log", "log"))
            benefit = lines_of(group.pattern, delay, group.benefit, group.benefit_low, group.benefit_high, colors)
            hidden = lines_of(group.pattern, delay, group.share, group.share_low, group.share_high, colors)
            shares.append(Panel(benefit, "delay [us]", "benefit", title, "log", y_at=0.0))
            shares.append(Panel(hidden, "delay [us]", "hidden share", "", "log", y_at=0.0))
        frame = numbers.frame()
        cost, saved = f"{operation}: what a delay costs", f"{operation}: how much of a delay is hidden"
        pictures += [
            make_picture(f"late_arrival-{operation}", cost, DELAY_CAPTION, times, frame[TIMES]),
            make_picture(f"overlap_benefit-{operation}", saved, BENEFIT_CAPTION, shares, frame[SHARES]),
        ]
    return pictures
