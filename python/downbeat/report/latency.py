"""Latencies of operations: against size and processes, as lists, as maps, beside a common start; overlap; delays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from downbeat.comparison.summaries import (
    CONFIGURATION,
    DEFINITIONS,
    PANELS,
    REFERENCE,
    all_overlaps,
    by_operation,
    describe,
    late_launches,
    mean_interval,
    measured_cells,
    plain_cells,
    positive_interval,
    summarize_groups,
    synchronization,
    typical_values,
)
from downbeat.data.cells import STATE
from downbeat.data.metrics import METRICS
from downbeat.report.compared import STARTS, Contrast, cell_name, contrast_of, in_main_state, starts_of
from downbeat.report.drawing import make_picture
from downbeat.report.panel import NO_MARKER, Band, Box, Heat, Line, Panel, lines_of
from downbeat.report.style import GRAY, Picture, positions
from downbeat.run.experiment import Experiment
from downbeat.statistics.verdicts import FEWEST_LAUNCHES, MARGIN
from downbeat.text import MICROSECONDS, PERCENT

METRIC = "latency_avg"
MEANING = f"{METRICS[METRIC].meaning[0].upper()}{METRICS[METRIC].meaning[1:]}."
SIZE_LABEL = "message size [bytes]"


def by_panel(numbers: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Returns the rows of each panel, with its title."""
    for title, group in numbers.groupby("panel", sort=False):
        yield str(title), group


# What is compared, against size.

RATIO_CAPTION = (
    "{}: median latency of each launch, the typical ratio with its 95 % interval. Above 1 the first of "
    f"both takes longer. The gray band is 1 +- {MARGIN:.0%}.{{}}"
)
DELTA = " Paired by launch: delta in Schuchart 2023, section 6.1."
OTHER_STATES = " Other states of the machine are in the numbers alone."
FEWEST_SIZES = 3  # of an operation that is drawn against size; others are rows of one panel
MOST_LISTED = 40  # rows of a panel


def shown_ratios(numbers: pd.DataFrame) -> tuple[float, float]:
    """Returns the range of the axis: all ratios, and the intervals of those that can have a verdict."""
    firm = numbers[numbers["launches"] >= FEWEST_LAUNCHES]
    low = pd.concat([numbers["ratio"], firm["low"]]).min()
    high = pd.concat([numbers["ratio"], firm["high"]]).max()
    return min(low, 1 / (1 + 2 * MARGIN)) / 1.02, max(high, 1 + 2 * MARGIN) * 1.02


def against_size(frame: pd.DataFrame) -> pd.Series[bool]:
    """Returns which rows are of operations that have enough sizes to be drawn against them."""
    return frame.groupby("operation")["size"].transform("nunique") >= FEWEST_SIZES


def cell_names(numbers: pd.DataFrame) -> list[str]:
    """Returns what rows of a list are called: panel, and size where the operation has several."""
    several = numbers.groupby("panel")["size"].transform("nunique") > 1
    return [
        cell_name(panel, size) if many else str(panel)
        for panel, size, many in zip(numbers["panel"], numbers["size"], several, strict=True)
    ]


def draw_contrast(experiment: Experiment) -> list[Picture]:
    """Draws what is compared: latencies of all sides in one panel, then ratios."""
    contrast = contrast_of(experiment)
    return [*latency_pictures(contrast), *ratio_pictures(contrast)]


def draw_starts(experiment: Experiment) -> list[Picture]:
    """Draws barrier / common start, where something else is compared first."""
    contrast = contrast_of(experiment)
    return ratio_pictures(starts_of(experiment)) if contrast.factor != STARTS else []


def ratio_pictures(contrast: Contrast) -> list[Picture]:
    """Draws the ratios of the sides to the first: against size, a panel per operation, then the other operations."""
    ratios = contrast.ratios.dropna(subset=["ratio"])
    if not ratios["main"].any():
        return []
    label, places = contrast.ratio_label, positions(contrast.sides)
    name = "barrier" if contrast.factor == STARTS else contrast.factor
    remarks = DELTA * (contrast.sides[0] == REFERENCE) + OTHER_STATES * (not ratios["main"].all())
    caption = RATIO_CAPTION.format(label[0].upper() + label[1:], remarks)
    look: dict[str, Any] = {"y_at": 1.0, "shade": (1 / (1 + MARGIN), 1 + MARGIN)}
    look["y_limits"] = shown_ratios(ratios[ratios["main"]])
    panels = [
        Panel(lines_of(group, ("at", "ratio", "low", "high"), places), SIZE_LABEL, label, title, "bytes", "log", **look)
        for title, group in by_panel(
            ratios[ratios["main"] & against_size(ratios)].assign(at=lambda one: one["size"].clip(lower=1))
        )
    ]
    listed = ratios[ratios["main"] & ~against_size(ratios)]
    rows = [
        Box(
            cell if contrast.sides[2:] == () else f"{cell}: {row['line']}",
            "",
            row["ratio"],
            (row["low"], row["high"]),
            (row["low"], row["high"]),
            color=places[row["line"]],
        )
        for cell, row in zip(cell_names(listed), listed.to_dict("records"), strict=True)
    ][:MOST_LISTED]
    numbers = ratios.rename(columns={"panel": "cell", "line": contrast.factor, "size": "size_bytes"})
    numbers = numbers.drop(columns=["main", "operation"])
    found = []
    if panels:
        found.append(make_picture(f"{name}_ratio", f"Latency: {label}", caption, panels, numbers, share_y=True))
    if rows:
        lone = [Panel(rows, label, "", x_scale="log", x_at=1.0, rows=True)]
        title = f"Latency: {label}{', of the other operations' if panels else ''}"
        found.append(
            make_picture(f"{name}_ratio{'-others' if panels else ''}", title, caption, lone, numbers, columns=1)
        )
    return found


# Against size and processes, and as a list.

BANDS = (("p5", "p95", 0.10), ("p25", "p75", 0.20))  # quantiles within a launch, and how dark
SHOWN_STATISTICS = ("mean", "p5", "p25", "p75", "p95")
# With more lines, bands hide each other.
MOST_BANDS = 3
SCALING_CAPTION = f"{MEANING} Points: the typical launch's median, with its 95 % interval."
SHADES = " The bands hold the middle half and 90 % of the samples of a launch."
LIST_CAPTION = (
    f"{MEANING} Mark: the typical launch's median, between the ends of its 95 % interval; "
    "thick: the middle half of the samples of a launch, thin: 90 %."
)
LATENCY_LABEL = f"{METRICS[METRIC].label} [us]"


def latency_pictures(contrast: Contrast) -> list[Picture]:
    """Draws latencies: against size, a panel per operation, a line per side; then operations with fewer sizes."""
    if contrast.cells.empty:
        return []
    cells = contrast.cells
    numbers = scaling_numbers(cells, ("panel", "line", "operation", "size", STATE, "main"))
    places = positions(contrast.sides)
    remarks = OTHER_STATES * (not numbers["main"].all())
    named = numbers.rename(columns={"panel": "cell", "line": contrast.factor, "size": "size_bytes"})
    named = named.drop(columns=["main", "operation"])
    sized = against_size(numbers)
    found = []
    if sized.any():
        panels = scaling_panels(numbers[numbers["main"] & sized], "size", places)
        shades = SHADES if len(places) <= MOST_BANDS else ""
        title, caption = "Latency against size", SCALING_CAPTION + shades + remarks
        found.append(make_picture("latency_by_size", title, caption, panels, named[sized], share_x=True, share_y=True))
    listed = numbers[numbers["main"] & ~sized]
    # Of several numbers of processes there is a picture against these.
    if len(listed) and cells["ranks"].nunique() == 1:
        alone = len(contrast.sides) == 1
        rows = [
            Box(
                cell if alone else f"{cell}: {row['line']}",
                "",
                row["median_us"],
                (row["p25_us"], row["p75_us"]),
                (row["p5_us"], row["p95_us"]),
                interval=(row["low_us"], row["high_us"]),
                color=places[row["line"]],
            )
            for cell, row in zip(cell_names(listed), listed.to_dict("records"), strict=True)
        ][:MOST_LISTED]
        panel = Panel(rows, LATENCY_LABEL, "", x_scale="log", rows=True)
        title = "Latency of the other operations" if sized.any() else "Latency"
        found.append(make_picture("latency", title, LIST_CAPTION + remarks, [panel], named[~sized], columns=1))
    return found


def scaling_panels(numbers: pd.DataFrame, x: str, places: Mapping[str, int]) -> list[Panel]:
    """Returns a panel per `panel` with a line per `line` of `scaling_numbers`, against `size` or `ranks`."""
    axes, scale = (SIZE_LABEL, "bytes") if x == "size" else ("processes", "positions")
    panels = []
    for panel, group in by_panel(numbers.assign(at=numbers[x].clip(lower=1))):
        marks: list[Band | Line] = []
        for line, points in group.sort_values("at").groupby("line", sort=False) if len(places) <= MOST_BANDS else ():
            color = places[str(line)]
            marks += [Band(points["at"], points[f"{a}_us"], points[f"{b}_us"], color, dark) for a, b, dark in BANDS]
        marks += lines_of(group, ("at", "median_us", "low_us", "high_us"), places)
        panels.append(Panel(marks, axes, LATENCY_LABEL, panel, scale, "log"))
    return panels


def draw_processes(experiment: Experiment) -> list[Picture]:
    """Draws latency against processes, a picture for each operation that was measured with several numbers of them."""
    factors = [*(factor for factor in CONFIGURATION if factor not in ("ranks", STATE)), "size"]
    cells, found = plain_cells(experiment), []
    for operation, rows in by_operation(cells[in_main_state(cells)]):
        if rows["ranks"].nunique() > 1:
            frame = rows.assign(line=synchronization(rows), panel=describe(rows, factors))
            numbers = scaling_numbers(frame, ("panel", "line", "ranks"))
            places = positions(numbers["line"])
            panels = scaling_panels(numbers, "ranks", places)
            caption = SCALING_CAPTION + (SHADES if len(places) <= MOST_BANDS else "")
            named = numbers.rename(columns={"line": "synchronizer"})
            name, title = f"latency_by_processes-{operation}", f"{operation}: latency against processes"
            found.append(make_picture(name, title, caption, panels, named, share_y=True))
    return found


def scaling_numbers(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Returns the numbers drawn, a row per group, in us."""
    numbers = summarize_groups(frame, by, f"{METRIC}_median")
    numbers[["estimate", "low", "high"]] *= MICROSECONDS
    numbers = numbers.rename(columns={"estimate": "median_us", "low": "low_us", "high": "high_us"})
    means = typical_values(frame, by, [f"{METRIC}_{statistic}" for statistic in SHOWN_STATISTICS]) * MICROSECONDS
    numbers[[f"{statistic}_us" for statistic in SHOWN_STATISTICS]] = means.to_numpy()
    return numbers


# Algorithms against synchronizers.

MAP_CAPTION = (
    "Latency [us], mean over ranks: the typical launch's median (Schuchart 2023, figure 2, has "
    "means). A row is one algorithm: only the synchronizer makes its values differ. Darker is higher; "
    "each map has its own scale."
)


def draw_heat_maps(experiment: Experiment) -> list[Picture]:
    """Draws a map for each operation that was measured with several algorithms after several synchronizers."""
    pictures = []
    cells = plain_cells(experiment)
    for operation, frame in by_operation(cells[in_main_state(cells)]):
        columns = synchronization(frame)
        if frame["algorithm"].nunique() > 1 and columns.nunique() > 1:
            pictures.append(heat_map(frame.assign(column=columns, panel=describe(frame, PANELS)), operation))
    return pictures


def heat_map(frame: pd.DataFrame, operation: str) -> Picture:
    """Draws the latency of each `algorithm` after each `column`, a map per `panel`."""
    numbers = summarize_groups(frame, ("panel", "algorithm", "column"), f"{METRIC}_median")
    numbers[["estimate", "low", "high"]] *= MICROSECONDS
    panels = []
    for title, group in by_panel(numbers):
        table = group.pivot(index="algorithm", columns="column", values="estimate")
        table = table.reindex(index=group["algorithm"].unique(), columns=group["column"].unique())
        panels.append(Panel([Heat(table)], title=title))
    named = {"column": "synchronizer", "estimate": "latency_us", "low": "low_us", "high": "high_us"}
    title = f"{operation}: algorithms after synchronizers"
    return make_picture(f"heat_map-{operation}", title, MAP_CAPTION, panels, numbers.rename(columns=named), columns=1)


# Overlap with computation (docs/operations.md).

# A single interruption can make -5000 % of an overlap, beside which nothing else is seen.
LOWEST_PERCENT, HIGHEST_PERCENT = -110.0, 110.0
OVERLAP_CAPTION = (
    "Share of the operation that was hidden behind computation, or of the computation where that is shorter, by "
    "the definitions of OSU and IMB, which cut off at 0, and from the common start to the last exit, which does "
    "not: below 0 both slow each other down (docs/operations.md). Mean over launches, with its 95 % interval; "
    "values beyond the axis are in the numbers."
)


def draw_computation_overlap(experiment: Experiment) -> list[Picture]:
    """Draws overlap against size, a picture for each operation that was measured with computation."""
    frame = all_overlaps(experiment)
    return [] if frame.empty else [overlap_picture(group, operation) for operation, group in by_operation(frame)]


def overlap_picture(frame: pd.DataFrame, operation: str) -> Picture:
    """Draws the three figures of one operation, a panel per synchronizer and configuration."""
    frame = frame.assign(panel=describe(frame.assign(line=synchronization(frame)), ["line", *CONFIGURATION]))
    rows = []
    for (panel, size), group in frame.groupby(["panel", "size"], sort=False):
        for name, definition in DEFINITIONS.items():
            interval = mean_interval(group[name])
            shares = (interval.estimate, interval.low, interval.high)
            rows.append((panel, size, definition, *(PERCENT * share for share in shares)))
    columns = ["panel", "size_bytes", "definition", "overlap_percent", "low_percent", "high_percent"]
    numbers = pd.DataFrame(rows, columns=columns)
    values = numbers[columns[3:]].to_numpy(dtype=float)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    limits = (max(low - 5, LOWEST_PERCENT), min(high + 5, HIGHEST_PERCENT))
    panels = [
        Panel(
            lines_of(group, ("at", *columns[3:]), by="definition"),  # type: ignore[arg-type]
            SIZE_LABEL,
            "overlap [%]",
            title,
            "bytes",
            y_limits=limits,
            y_at=0.0,
        )
        for title, group in by_panel(numbers.assign(at=numbers["size_bytes"].clip(lower=1)))
    ]
    title = f"{operation}: overlap with computation"
    return make_picture(f"computation_overlap-{operation}", title, OVERLAP_CAPTION, panels, numbers, share_y=True)


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
TIME = ("delay_us", "global_time_us", "low_us", "high_us")
SHARES = {"benefit": "benefit", "share": "hidden share"}


def late_numbers(late: pd.DataFrame) -> pd.DataFrame:
    """Returns a row per `panel`, `pattern` and delay, over launches, times in us."""
    rows = []
    for (panel, pattern, _), group in late.groupby(["panel", "pattern", "place"], sort=False):
        time, without = (positive_interval(group[name]) for name in ("time", "time_without"))
        times = [float(group["delay"].mean()), time.estimate, time.low, time.high, without.estimate]
        names = [*TIME, "without_delay_us"]
        row = {"panel": panel, "pattern": pattern, **dict(zip(names, np.array(times) * MICROSECONDS, strict=True))}
        for name in SHARES:
            one = mean_interval(group[name])
            row |= {name: one.estimate, f"{name}_low": one.low, f"{name}_high": one.high}
        rows.append(row | {"launches": len(group)})
    return pd.DataFrame(rows)


def draw_late_arrival(experiment: Experiment) -> list[Picture]:
    """Draws, for each operation that was measured with delays, global time and overlap against the delay."""
    pictures = []
    for operation, frame in by_operation(late_launches(measured_cells(experiment))):
        named = frame.assign(line=synchronization(frame))
        numbers = late_numbers(frame.assign(panel=describe(named, ["line", *CONFIGURATION, "size"])))
        places = positions(numbers["pattern"])
        times, shares = [], []
        for title, group in by_panel(numbers):
            delays = np.geomspace(group["delay_us"].min() / 2, group["delay_us"].max(), 50)
            alone = float(group["without_delay_us"].mean())
            bounds = [
                Line("", delays, one, color=GRAY, style="--", marker=NO_MARKER, width=0.9)
                for one in (delays + alone, np.maximum(delays, alone))
            ]
            marks = [*bounds, *lines_of(group, TIME, places, "pattern")]
            times.append(Panel(marks, "delay [us]", "global time [us]", title, "log", "log"))
            for name, words in SHARES.items():
                lines = lines_of(group, ("delay_us", name, f"{name}_low", f"{name}_high"), places, "pattern")
                shares.append(Panel(lines, "delay [us]", words, title if name == "benefit" else "", "log", y_at=0.0))
        of_times = numbers[["panel", "pattern", *TIME, "without_delay_us", "launches"]]
        ends = [f"{name}{end}" for name in SHARES for end in ("", "_low", "_high")]
        of_shares = numbers[["panel", "pattern", "delay_us", *ends]]
        cost, hidden = f"{operation}: what a delay costs", f"{operation}: how much of a delay is hidden"
        pictures += [
            make_picture(f"late_arrival-{operation}", cost, DELAY_CAPTION, times, of_times),
            make_picture(f"overlap_benefit-{operation}", hidden, BENEFIT_CAPTION, shares, of_shares),
        ]
    return pictures
