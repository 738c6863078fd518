"""Latencies of operations: against size and processes, as lists, as maps, beside a common start; overlap; delays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from downbeat.comparison.summaries import (
    CONFIGURATION,
    DEFINITIONS,
    PANELS,
    all_overlaps,
    by_operation,
    describe,
    describe_each,
    geometric_means,
    late_launches,
    launch_ratios,
    mean_interval,
    measured_cells,
    plain_cells,
    positive_interval,
    summarize_groups,
    synchronization,
)
from downbeat.data.metrics import METRICS
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


# Barrier / common start.

RATIO = "barrier_ratio"
RATIO_CAPTION = (
    "Latency after the synchronizer / latency after harmonize (delta in Schuchart 2023, section 6.1), median of "
    "each launch, paired by launch: geometric mean with its 95 % interval. Above 1 the operation reads higher "
    f"after the synchronizer than from a common start, below 1 lower. The gray band is 1 +- {MARGIN:.0%}."
)


def shown_ratios(numbers: pd.DataFrame) -> tuple[float, float]:
    """Returns the range of the axis: all ratios, and the intervals of those that can have a verdict."""
    firm = numbers[numbers["launches"] >= FEWEST_LAUNCHES]
    low = pd.concat([numbers["ratio"], firm["low"]]).min()
    high = pd.concat([numbers["ratio"], firm["high"]]).max()
    return min(low, 1 / (1 + 2 * MARGIN)) / 1.02, max(high, 1 + 2 * MARGIN) * 1.02


def draw_ratios(experiment: Experiment) -> list[Picture]:
    """Draws the ratio against size: a panel per operation and configuration, a line per synchronizer."""
    ratios = launch_ratios(plain_cells(experiment))
    if ratios.empty:
        return []
    ratios = ratios.assign(line=synchronization(ratios), panel=describe_each(ratios, "operation", CONFIGURATION))
    numbers = summarize_groups(ratios, ("panel", "line", "size"), "ratio").rename(columns={"estimate": "ratio"})
    places, limits = positions(numbers["line"]), shown_ratios(numbers)
    panels = []
    for title, group in by_panel(numbers.assign(at=numbers["size"].clip(lower=1))):
        x, scale = (SIZE_LABEL, "bytes") if (group["size"] > 0).any() else ("no message", "none")
        lines = lines_of(group, ("at", "ratio", "low", "high"), places)
        shade = (1 / (1 + MARGIN), 1 + MARGIN)
        panels.append(Panel(lines, x, "ratio", title, scale, "log", y_limits=limits, y_at=1.0, shade=shade))
    named = numbers.rename(columns={"line": "synchronizer", "size": "size_bytes"})
    return [make_picture(RATIO, "Effect of the barrier on the latency", RATIO_CAPTION, panels, named, share_y=True)]


# Against size and processes, and as a list.

BANDS = (("p5", "p95", 0.10), ("p25", "p75", 0.20))  # quantiles within a launch, and how dark
SHOWN_STATISTICS = ("mean", "p5", "p25", "p75", "p95")
# With more lines, bands hide each other.
MOST_BANDS = 3
FEWEST_SIZES = 3
SCALING_CAPTION = f"{MEANING} Points: geometric mean over launches of the launches' medians, with its 95 % interval."
SHADES = " The bands hold the middle half and 90 % of the samples of a launch, the small crosses are means."


def draw_sizes(experiment: Experiment) -> list[Picture]:
    """Draws latency against size, a picture for each operation that was measured with at least three sizes."""
    return [
        scaling_picture(frame, "size", f"latency_by_size-{operation}", f"{operation}: latency against size")
        for operation, frame in by_operation(plain_cells(experiment))
        if frame["size"].nunique() >= FEWEST_SIZES
    ]


def draw_processes(experiment: Experiment) -> list[Picture]:
    """Draws latency against processes, a picture for each operation that was measured with several numbers of them."""
    return [
        scaling_picture(frame, "ranks", f"latency_by_processes-{operation}", f"{operation}: latency against processes")
        for operation, frame in by_operation(plain_cells(experiment))
        if frame["ranks"].nunique() > 1
    ]


def scaling_picture(frame: pd.DataFrame, x: str, name: str, title: str) -> Picture:
    """Draws the latency of one operation against `size` or `ranks`: a line per synchronizer."""
    factors = [*(factor for factor in CONFIGURATION if factor != "ranks"), "ranks" if x == "size" else "size"]
    numbers = scaling_numbers(frame.assign(line=synchronization(frame), panel=describe(frame, factors)), x)
    places = positions(numbers["line"])
    with_bands = len(places) <= MOST_BANDS
    axes, scale = (SIZE_LABEL, "bytes") if x == "size" else ("processes", "positions")
    panels = []
    for panel, group in by_panel(numbers.assign(at=numbers[x].clip(lower=1))):
        marks: list[Band | Line] = []
        for line, points in group.sort_values("at").groupby("line", sort=False) if with_bands else ():
            color = places[str(line)]
            marks += [Band(points["at"], points[f"{a}_us"], points[f"{b}_us"], color, dark) for a, b, dark in BANDS]
            marks.append(Line("", points["at"], points["mean_us"], color=color, style="", marker=6))
        marks += lines_of(group, ("at", "median_us", "low_us", "high_us"), places)
        panels.append(Panel(marks, axes, f"{METRICS[METRIC].label} [us]", panel, scale, "log"))
    caption = SCALING_CAPTION + (SHADES if with_bands else "")
    named = numbers.rename(columns={"line": "synchronizer", "size": "size_bytes"})
    return make_picture(name, title, caption, panels, named, share_x=x == "size", share_y=True)


def scaling_numbers(frame: pd.DataFrame, x: str) -> pd.DataFrame:
    """Returns the numbers drawn, a row per point, in us; of a frame with `panel` and `line`."""
    by: Sequence[str] = ("panel", "line", x)
    numbers = summarize_groups(frame, by, f"{METRIC}_median")
    numbers[["estimate", "low", "high"]] *= MICROSECONDS
    numbers = numbers.rename(columns={"estimate": "median_us", "low": "low_us", "high": "high_us"})
    means = geometric_means(frame, by, [f"{METRIC}_{statistic}" for statistic in SHOWN_STATISTICS]) * MICROSECONDS
    numbers[[f"{statistic}_us" for statistic in SHOWN_STATISTICS]] = means.to_numpy()
    return numbers


LIST_CAPTION = (
    f"{MEANING} Mark: geometric mean over launches of the launches' medians, between the ends of its 95 % interval; "
    "thick: the middle half of the samples of a launch, thin: 90 %."
)


def draw_latency_lists(experiment: Experiment) -> list[Picture]:
    """Draws the latencies of each operation with fewer than three sizes and one number of processes."""
    cells = plain_cells(experiment)
    if cells["ranks"].nunique() > 1:
        return []
    return [
        latency_list(frame, operation)
        for operation, frame in by_operation(cells)
        # Several algorithms after several synchronizers are a heat map.
        if frame["size"].nunique() < FEWEST_SIZES
        and (frame["algorithm"].nunique() == 1 or synchronization(frame).nunique() == 1)
    ]


def latency_list(frame: pd.DataFrame, operation: str) -> Picture:
    """Draws the cells of one operation, a panel per size and configuration."""
    frame = frame.assign(line=synchronization(frame), panel=describe(frame, [*CONFIGURATION, "size"]))
    numbers = scaling_numbers(frame, "size")
    places = positions(numbers["line"])

    def boxes(group: pd.DataFrame) -> list[Box]:
        return [
            Box(
                row["line"],
                "",
                row["median_us"],
                (row["p25_us"], row["p75_us"]),
                (row["p5_us"], row["p95_us"]),
                interval=(row["low_us"], row["high_us"]),
                color=places[row["line"]],
            )
            for row in group.to_dict("records")
        ]

    panels = [
        Panel(boxes(group), "latency [us]", "", title, x_scale="log", rows=True) for title, group in by_panel(numbers)
    ]
    named = numbers.rename(columns={"line": "synchronizer", "size": "size_bytes"})
    # The eye compares panels of one size.
    share = numbers["size"].nunique() == 1
    title = f"{operation}: latency"
    return make_picture(f"latency-{operation}", title, LIST_CAPTION, panels, named, columns=1, share_x=share)


# Algorithms against synchronizers.

MAP_CAPTION = (
    "Latency [us], mean over ranks: geometric mean over launches of the launches' medians (as Schuchart 2023, "
    "figure 2). A row is one algorithm: only the synchronizer makes its values differ. Darker is higher; "
    "each map has its own scale."
)


def draw_heat_maps(experiment: Experiment) -> list[Picture]:
    """Draws a map for each operation that was measured with several algorithms after several synchronizers."""
    pictures = []
    for operation, frame in by_operation(plain_cells(experiment)):
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
    "achieved: geometric mean over launches of medians, with its 95 % interval. Upper gray line: the delay just "
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
