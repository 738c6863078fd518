"""Draws the pictures of `downbeat arrivals --report`: time by rank; and for a call site lateness, spread and calls."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm

from downbeat.output.blocks import Picture
from downbeat.report.style import COLORS, GRAY, TEXT_POINTS, finish, log_axis, new_figure, whole_ticks
from downbeat.tables import Ints
from downbeat.text import MICROSECONDS, evenly
from downbeat.trace.arrivals import Arrivals
from downbeat.trace.arrived import Arrived, SiteCalls
from downbeat.trace.balance import PARTS, part_name
from downbeat.trace.calls import LATER

# A stretch is a number of consecutive calls that are drawn together.
MAP_COLUMNS = 120  # maximum number of stretches in the heat map
MAX_DRAWN = 64  # ranks that are drawn; with more ranks, a row is a group of ranks
MAX_CALL_POINTS = 1000  # calls that are drawn as points; more calls are drawn in stretches
STRETCHES = 200  # stretches in the picture of the spread
TIMELINES = 4  # calls that are drawn one by one
MIN_US = 1e-3  # us, smallest lateness on the scale of colors
MAX_SPACED = 24  # bars with space between them; more bars touch
MIN_SHARE = 1e-3  # share of all time; smaller parts of it are not drawn
MAX_RANGE = 1e5  # largest ratio of the ends of the scale of colors
SHAPE_LEVELS = (0.05, 0.5, 0.95)  # quantiles of the lateness


def site_pictures(arrivals: Arrivals, number: int, title: str) -> tuple[Picture, ...]:
    """Draws the pictures of a call site; empty if it has one rank or no whole call.

    Args:
        arrivals: of the run or a phase.
        number: index of the site.
        title: title of the site.
    """
    of_site = arrivals.calls.site == number
    rows, calls = arrivals.rows[arrivals.rows.site == number], arrivals.calls[of_site]
    if arrivals.sites.size[number] < 2 or not len(rows):
        return ()
    position = (np.cumsum(of_site) - 1)[rows.call]
    return (
        lateness_map(rows, position, calls, f"{number + 1}", title),
        spread_over_time(calls, f"{number + 1}", title),
        pattern_shape(rows, f"{number + 1}", title),
        timelines(rows, np.flatnonzero(of_site), calls, f"{number + 1}", title),
    )


PART_COLORS = {
    "computing": "#c8ced6",
    "waiting": COLORS[1],
    "operation": COLORS[0],
    "point_to_point": COLORS[2],
    "other_MPI": COLORS[3],
}


def time_by_rank(arrivals: Arrivals) -> Picture:
    """Draws the time of each rank, divided into computing, waiting and other parts, as a bar per rank."""
    table = arrivals.by_rank.frame()
    only_collectives = not len(arrivals.kinds)
    per_row = int(np.ceil(len(table) / MAX_DRAWN))
    drawn = table.groupby(np.arange(len(table)) // per_row).mean() if per_row > 1 else table
    figure = new_figure(height=min(0.9 + 0.17 * len(drawn), 2.3))  # fits on the first screen
    axes = figure.subplots()
    positions, left = np.arange(len(drawn)), np.zeros(len(drawn))
    thick = 0.8 if len(drawn) <= MAX_SPACED else 1.0
    for name in PARTS:
        times = drawn[name].to_numpy(dtype=float)
        if times.sum() > MIN_SHARE * drawn[list(PARTS)].to_numpy().sum():
            label = part_name(name, only_collectives)
            axes.barh(positions, times, left=left, color=PART_COLORS[name], height=thick, label=label)
            left = left + times
    axes.invert_yaxis()
    finish(axes, "time [s]", "rank")
    axes.grid(visible=False, axis="y")
    ticks = evenly(positions.tolist(), 9 if len(drawn) > 12 else 12)
    axes.set_yticks(ticks, [str(arrivals.by_rank.rank[tick * per_row]) for tick in ticks])
    figure.legend(loc="outside upper left", ncols=len(PARTS), frameon=False, fontsize=TEXT_POINTS, handlelength=1.5)
    groups = f" A bar is the mean of {per_row} ranks." if per_row > 1 else ""
    caption = (
        "Where the time of each rank went, from the begin of the run to its end. Waiting: inside a collective that "
        f"some rank has not reached yet. The rank that waits least is the late one.{groups}"
    )
    return Picture("time-by-rank", "Time by rank", caption, figure, table)


def lateness_map(rows: Arrived, call: Ints, calls: SiteCalls, number: str, title: str) -> Picture:
    """Draws the mean lateness of each rank in each stretch of the run, as a heat map.

    Args:
        rows: of a site.
        call: index in `calls` of each row.
        calls: of the site.
        number: of the site.
        title: of the site.
    """
    began = calls.first.min()
    first = calls.first[call]
    columns = min(MAP_COLUMNS, len(calls))
    order = np.empty(len(calls), dtype=np.int64)
    order[np.argsort(calls.first, kind="stable")] = np.arange(len(calls))
    stretch = order[call] * columns // len(calls)
    per_row = int(np.ceil((rows.comm_rank.max() + 1) / MAX_DRAWN))
    rank = (rows.comm_rank // per_row * per_row).astype(int)
    table = pd.DataFrame({"stretch": stretch, "rank": rank, "time_s": first, "late_us": rows.late * MICROSECONDS})
    numbers = table.groupby(["stretch", "rank"]).mean().reset_index()
    grid = numbers.pivot(index="rank", columns="stretch", values="late_us")
    figure = new_figure()
    axes = figure.subplots()
    # A stretch begins with its first call, so that the map shows pauses between calls.
    starts = pd.Series(first - began).groupby(stretch).min().to_numpy()
    ends = np.append(starts, max(float(calls.first.max() - began), starts[-1] + 1e-9))
    ranks = np.append(grid.index.to_numpy(), grid.index.max() + per_row) - 0.5
    largest = max(float(numbers.late_us.max()), MIN_US)
    error = float(np.median(calls.spread_bound)) * MICROSECONDS
    scale = LogNorm(min(max(error, largest / MAX_RANGE, MIN_US), largest / 2), largest, clip=True)
    image = axes.pcolormesh(ends, ranks, grid.to_numpy(), cmap="Blues", norm=scale, rasterized=True)
    axes.invert_yaxis()
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label("after the first rank [us]", fontsize=TEXT_POINTS)
    log_axis(bar.ax.yaxis)
    bar.ax.tick_params(labelsize=TEXT_POINTS - 0.5, color=GRAY)
    finish(axes, "time since the first call [s]", "rank")
    axes.grid(visible=False)
    whole_ticks(axes.yaxis)
    groups = f" A row is {per_row} ranks." if per_row > 1 else ""
    caption = (
        f"How late each rank comes to {title}, after the first rank of the same call: mean over the calls in a stretch "
        "of the run, on a logarithmic scale from what the clocks can tell apart. Stretches have the same number of "
        f"calls.{groups}"
    )
    return Picture(f"lateness-{number}", f"{title}: who is late when", caption, figure, numbers)


def spread_over_time(calls: SiteCalls, number: str, title: str) -> Picture:
    """Draws the spread of the arrivals over the run with the bound of its error, for each call or for stretches."""
    numbers = pd.DataFrame(
        {
            "time_s": calls.first - calls.first.min(),
            "spread_us": calls.spread * MICROSECONDS,
            "bound_us": calls.spread_bound * MICROSECONDS,
        }
    )
    drawn = "a point per call"
    columns = {"spread_us": "spread of the arrivals"}
    if len(numbers) > MAX_CALL_POINTS:
        stretch = np.arange(len(numbers)) * STRETCHES // len(numbers)
        groups = numbers.sort_values("time_s", ignore_index=True).groupby(stretch)
        numbers = groups[["time_s", "bound_us"]].first()
        for level, name in ((0.5, "median"), (0.95, "95 %"), (1.0, "widest")):
            columns[f"p{100 * level:.0f}_us"] = f"spread of the arrivals, {name}"
            numbers[f"p{100 * level:.0f}_us"] = groups.spread_us.quantile(level)
        columns.pop("spread_us")
        drawn = f"points of {STRETCHES} stretches with the same number of calls"
    figure = new_figure()
    axes = figure.subplots()
    for color, (name, label) in zip((0, 2, 3), columns.items(), strict=False):
        shown = numbers[numbers[name] > 0]
        axes.plot(shown.time_s, shown[name], ".", color=COLORS[color], markersize=3, label=label)
    if (numbers.bound_us > 0).any():
        axes.plot(numbers.time_s, numbers.bound_us, color=COLORS[1], linewidth=1.2, label="bound of its error")
    finish(axes, "time since the first call [s]", "first to last arrival [us]")
    if (numbers[list(columns)] > 0).any(axis=None):
        log_axis(axes.yaxis)
    axes.legend(fontsize=TEXT_POINTS, frameon=False, loc="best")
    caption = (
        f"From the first rank's arrival at {title} to the last one's, {drawn}. Below the bound of the clocks' "
        "error nobody can say who was late."
    )
    return Picture(f"spread-{number}", f"{title}: how far apart ranks arrive", caption, figure, numbers)


def pattern_shape(rows: Arrived, number: str, title: str) -> Picture:
    """Draws the quantiles of each rank's lateness over the calls."""
    quantiles = pd.Series(rows.late).groupby(rows.comm_rank).quantile(np.array(SHAPE_LEVELS)).unstack() * MICROSECONDS
    numbers = pd.DataFrame(
        {
            "rank": quantiles.index.astype(int),
            **{f"p{100 * level:.0f}_us": quantiles[level].to_numpy() for level in SHAPE_LEVELS},
        }
    )
    figure = new_figure()
    axes = figure.subplots()
    low, middle, high = (numbers[f"p{100 * level:.0f}_us"] for level in SHAPE_LEVELS)
    axes.fill_between(
        numbers["rank"], low, high, label="5 to 95 % of the calls", color=COLORS[5], alpha=0.35, linewidth=0
    )
    axes.plot(numbers["rank"], middle, color=COLORS[0], marker="o", markersize=4, label="median")
    finish(axes, "rank", "after the first rank [us]")
    whole_ticks(axes.xaxis)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=TEXT_POINTS, frameon=False, loc="best")
    caption = f"The shape of the arrival pattern at {title}: how late each rank comes after the first of the same call."
    return Picture(f"shape-{number}", f"{title}: the pattern", caption, figure, numbers)


def timelines(rows: Arrived, labels: Ints, calls: SiteCalls, number: str, title: str) -> Picture:
    """Draws single calls: the call with the median spread, and the calls with the widest spreads.

    Args:
        rows: of a site.
        labels: index of each of `calls` in the calls of the run.
        calls: of the site.
        number: of the site.
        title: of the site.
    """
    order = labels[np.argsort(calls.spread, kind="stable")]
    chosen = list(dict.fromkeys([order[len(order) // 2], *order[::-1][: TIMELINES - 1]]))
    frames = []
    blocking = not rows.kind.isin(LATER).any()
    figure = new_figure(height=1.0 + 1.5 * len(chosen))
    for position, (axes, call) in enumerate(zip(np.atleast_1d(figure.subplots(len(chosen))), chosen, strict=True)):
        call_rows = rows[rows.call == call]
        per_row = int(np.ceil(len(call_rows) / MAX_DRAWN))
        call_rows = call_rows[np.unique([*range(0, len(call_rows), per_row), int(call_rows.entry.argmax())])]
        begin = float(call_rows.entry.min())
        ranks = call_rows.comm_rank
        entry, returned, waited, end = (
            (times - begin) * MICROSECONDS
            for times in (call_rows.entry, call_rows.returned, call_rows.waited, call_rows.exit)
        )
        starts, waits = entry if blocking else waited, call_rows.wait * call_rows.together.clip(min=1) * MICROSECONDS
        axes.barh(ranks, waits, left=starts, color=COLORS[5], height=0.7, label="waits for late ranks")
        axes.barh(ranks, end - starts - waits, left=starts + waits, color=COLORS[0], height=0.7, label="operation")
        if not blocking:
            axes.barh(ranks, returned - entry, left=entry, color=COLORS[0], height=0.7)
        axes.invert_yaxis()
        label = "median spread" if position == 0 else f"widest spread, {position}"
        finish(axes, "after the first arrival [us]" if call == chosen[-1] else "", "rank", f"call {call + 1}: {label}")
        whole_ticks(axes.yaxis)
        drawn = {
            "call": call + 1,
            "rank": ranks,
            "entry_us": entry,
            "wait_us": waits,
            "time_us": call_rows.time * MICROSECONDS,
            "exit_us": end,
        }
        frames.append(pd.DataFrame(drawn))
    handles, texts = axes.get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside upper left", ncols=2, frameon=False, fontsize=TEXT_POINTS)
    caption = f"Single calls of {title}: from arrival to exit on each rank. The light part is waiting."
    if per_row > 1:
        caption += f" One in {per_row} ranks is drawn, and the last to arrive."
    if not blocking:
        caption += " Between call and wait, where nothing is drawn, the program computes."
    return Picture(f"calls-{number}", f"{title}: single calls", caption, figure, pd.concat(frames, ignore_index=True))
