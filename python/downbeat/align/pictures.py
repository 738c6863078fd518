"""Draws the pictures of `downbeat align`: clocks over the run, and calls on the ranks' clocks and on one axis."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from downbeat.align.calls import Integers
from downbeat.align.clocks import Aligned
from downbeat.align.matching import TO_ALL, Floats, GroupCalls
from downbeat.output.blocks import Picture
from downbeat.report.drawing import PHASE_COLORS, draw_bars
from downbeat.report.panel import rank_step
from downbeat.report.style import COLORS, TEXT_POINTS, finish, finish_legend, log_axis, look_of, new_figure
from downbeat.trace.clocks import NS

CURVE_POINTS = 200  # points of a clock's curve
MAX_CLOCKS = 12  # clocks that are drawn
SHOWN_CALLS = 4  # calls that are drawn before and after the alignment
THIN = 200  # ratio of an axis to a bar; thinner bars are drawn as strokes, to be visible


def clocks_over_time(aligned: Aligned) -> Picture | None:
    """Draws the drift of each clock against the axis, its bound and its expected error; None: no clock is known."""
    frames = []
    for rank in aligned.ranks.rank:
        times = entry_times(aligned, int(rank))
        # The axis is the clock of its first rank, so that rank has no drift.
        if len(times) < 2 or rank == aligned.axis_of(int(rank)).ranks[0]:
            continue
        instants = np.linspace(0, int(times.max() - times.min()), CURVE_POINTS).astype(np.int64) + times.min()
        corrected, bound, expected = aligned.correct(int(rank), instants)
        ahead = instants - corrected
        frames.append(
            pd.DataFrame(
                {
                    "rank": rank,
                    "time_s": (instants - instants[0]) * NS,
                    "drift_us": (ahead - ahead[0]) / 1e3,
                    "bound_us": np.where(np.isfinite(bound), bound, np.nan) / 1e3,
                    "expected_error_us": expected / 1e3,
                }
            )
        )
    if not frames or not any(frame.expected_error_us.notna().any() for frame in frames):
        return None
    figure = new_figure(height=5.2)
    panels = figure.subplots(2, 1, sharex=True)
    for index, clock in enumerate(frames[:MAX_CLOCKS]):
        look = look_of(index) | {"marker": ""}
        panels[0].plot(clock.time_s, clock.drift_us, label=f"rank {clock['rank'].iloc[0]}", **look)
        panels[1].plot(clock.time_s, clock.bound_us, **look)
        panels[1].plot(clock.time_s, clock.expected_error_us, **look | {"linewidth": 0.8})
    finish(panels[0], "", "drift [us]", "how far each clock got ahead of the axis since the rank's first call")
    finish(panels[1], "time since the rank's first call [s]", "error [us]", "bound (thick) and expected error (thin)")
    log_axis(panels[1].yaxis)
    finish_legend(figure, panels)
    more = f" The first {MAX_CLOCKS} of {len(frames)} are drawn." if len(frames) > MAX_CLOCKS else ""
    caption = (
        "How each clock runs against the axis, from 0 at its first call: a straight line is a constant rate. Below, "
        f"how wrong a stamp may be (bound) and is by expectation. Where a line is missing, nothing is known.{more}"
    )
    return Picture("clocks", "Clocks over the run", caption, figure, pd.concat(frames, ignore_index=True))


def entry_times(aligned: Aligned, rank: int) -> Integers:
    """Returns the entries of a rank into all its calls, ns on its clock."""
    entries = [np.empty(0, dtype=np.int64)]  # concatenate needs an array even without groups
    for group in aligned.groups:
        column = group.ranks == rank
        entries.append(group.entry[:, column][~group.missing[:, column]])
    return np.concatenate(entries)


def calls_to_show(aligned: Aligned) -> tuple[GroupCalls, Integers] | None:
    """Chooses calls of the largest group in the middle of the run in which every rank waits for every rank.

    Returns the group and the rows of the calls; None: there are no such calls.
    """
    candidates = []
    for group in aligned.groups:
        complete = np.isin(group.operation, TO_ALL) & ~group.missing.any(axis=1)
        # In calls without data, ranks need not wait for each other; in a barrier they do.
        rows = np.flatnonzero(complete & ((group.size != 0) | (group.operation == "barrier")))
        if len(rows):
            first = max(0, min(len(rows) // 2, len(rows) - SHOWN_CALLS))
            candidates.append((len(group.ranks), len(rows), group, rows[first : first + SHOWN_CALLS]))
    # The group with the most ranks; of equal groups, the one with the most calls.
    return max(candidates, key=lambda candidate: candidate[:2])[2:] if candidates else None


def before_and_after(aligned: Aligned, group: GroupCalls, rows: Integers) -> Picture:
    """Draws calls in which every rank waits for every rank: on the ranks' clocks, and on one axis, where waiting shows.

    Args:
        aligned: the clocks.
        group: group of the calls; all ranks have them.
        rows: rows of the calls in the group.
    """
    local_times = [(group.entry[rows, column], group.exit[rows, column]) for column in range(len(group.ranks))]
    axis_times = [
        (aligned.corrected(rank, entry), aligned.corrected(rank, end))
        for rank, (entry, end) in zip(group.ranks.tolist(), local_times, strict=True)
    ]
    figure = new_figure(height=4.8)
    frames = []
    for axes, stamps, clock, title in zip(
        figure.subplots(2, 1),
        (local_times, axis_times),
        ("own", "axis"),
        ("each on its own clock: who is late?", "on one axis: all wait until the last one has come"),
        strict=True,
    ):
        begins, ends = (np.array(times) for times in zip(*stamps, strict=True))
        first = int(begins.min())
        entry, end = (begins - first) / 1e3, (ends - first) / 1e3  # times since 1970 in ns do not fit into a double
        # Only the common axis shows waiting: until the last rank has entered, but within the call.
        waited = np.clip(entry.max(axis=0), entry, end) if clock == "axis" else entry
        numbers = bars_of(group, rows, entry, waited, end)
        frames.append(numbers.assign(clock=clock))
        unit = draw_calls(axes, group, numbers)
        finish(axes, f"time [{unit}]", "rank", title)
        axes.grid(visible=False, axis="y")
    figure.legend(
        handles=[Patch(color=PHASE_COLORS[phase], label=phase) for phase in ("wait", "operation")],
        loc="outside upper left",
        ncols=2,
        frameon=False,
        fontsize=TEXT_POINTS,
    )
    named = sorted(set(group.operation[rows].tolist()))
    caption = (
        f"{len(rows)} calls in the middle of the run, {', '.join(named)} of group {group.name}. Above as the files "
        "have them, below as they are on the axis: in the light part a rank waits for the last one."
    )
    numbers = pd.concat(frames, ignore_index=True)[["clock", "call", "rank", "phase", "begin_us", "end_us"]]
    return Picture("before-and-after", "Calls before and after", caption, figure, numbers)


def bars_of(group: GroupCalls, rows: Integers, entry: Floats, waited: Floats, end: Floats) -> pd.DataFrame:
    """Returns a frame with a row per call, rank and phase, times in us; the arguments have the shape (rank, call)."""
    columns, calls = (indices.ravel() for indices in np.indices(entry.shape))
    shared = {"call": group.number[rows][calls], "rank": group.ranks[columns], "place": columns}
    return pd.concat(
        [
            pd.DataFrame({**shared, "phase": phase, "begin_us": begin.ravel(), "end_us": stop.ravel()})
            for phase, begin, stop in (("wait", entry, waited), ("operation", waited, end))
        ],
        ignore_index=True,
    )


def draw_calls(axes: Axes, group: GroupCalls, numbers: pd.DataFrame) -> str:
    """Draws calls as bars, or as strokes if bars would be too thin to see; returns the unit of time."""
    step = rank_step(len(group.ranks))
    length = numbers.end_us.max()
    unit, factor = next((choice for choice in (("s", 1e6), ("ms", 1e3)) if length >= 2 * choice[1]), ("us", 1.0))
    drawn = numbers[numbers.place % step == 0]
    drawn = drawn.assign(rank=drawn.place)  # draw_bars places a bar by column `rank`, here the index in the group
    drawn[["begin_us", "end_us"]] /= factor
    draw_bars(axes, drawn, len(group.ranks))
    if length > THIN * (numbers.end_us - numbers.begin_us).max():
        axes.plot(drawn.begin_us, drawn.place / step, "|", color=COLORS[0], markersize=9, markeredgewidth=1.5)
    axes.autoscale(axis="x")
    ticks = axes.get_yticks()
    axes.set_yticks(ticks, [str(group.ranks[int(tick) * step]) for tick in ticks])
    return unit
