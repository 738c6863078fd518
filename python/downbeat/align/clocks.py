"""Aligns traces for `downbeat align`: moves the clock of each rank to one axis, and finds ranks that are late at calls.

The axis is the clock of the first rank. A clock is slewed if its rate is changed for a while, set if its time jumps,
steered if either happens, and free-running otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from downbeat.align.axis import Axis, find_axis
from downbeat.align.calls import SLEW_RATE, Integers, RankTrace
from downbeat.align.matching import ORDERING, TO_ALL, Floats, GroupCalls, match, tied_groups
from downbeat.align.movements import Movement
from downbeat.errors import UsageError
from downbeat.output.facts import Fact
from downbeat.output.facts.alignment import (
    CallsContradict,
    CallsOverlap,
    ClockMoved,
    CommonAxis,
    LastOrClockOff,
    NoBound,
    RankAlone,
    SeparateAxis,
    WideBounds,
)
from downbeat.tables import Ints, Table, Texts, Words, column
from downbeat.text import counted
from downbeat.trace.arrivals import Arrivals, arrivals_of
from downbeat.trace.balance import times_of_ranks
from downbeat.trace.clocks import NS
from downbeat.trace.records import Records

MIN_RANKS = 2  # ranks that can be aligned
STANDARD_ERRORS = 3  # of times; a rank with less lateness is not called late
MIN_CALLS = 10  # calls that `always_last` needs
ALWAYS_LATE = 0.95  # share of the calls in which the rank spends the least time
LONGER = 1.1  # median time of the other ranks in a call, relative to this rank
CLEAR_RATE = 5.0  # standard errors; a rate that differs more from 0 is reported
KNOWN_RATE = 1e-6  # standard error; a rate with a smaller error is always reported
WIDE = 1e-3  # s; smaller bounds are not reported as wide
WIDER = 3.0  # ratio to the bound in the middle of the run; larger bounds are reported as the cost of steered clocks


class RankClocks(Table):
    """The clock of each rank against its axis, at the call with a bound that is closest to the middle of the run."""

    rank: Ints = column("rank in the job")
    host: Texts = column("name of the host; empty: not known")
    axis: Ints = column("rank whose clock is the axis")
    calls: Ints = column("calls that the rank has in common with others", "1")
    offset_s: Floats = column("time of the clock minus time of its axis: positive if the clock is ahead", "s")
    rate: Floats = column(
        "mean rate of the clock against its axis, minus 1; NaN: not known to 1 ppm or to a fifth of it", "1"
    )
    rate_error: Floats = column("standard error of the rate", "1")
    bound_s: Floats = column("largest possible error of the offset; NaN: a call of the rank has none", "s")
    expected_error_s: Floats = column("standard error of the offset", "s")
    largest_bound_s: Floats = column("largest bound of all calls; NaN: a call of the rank has none", "s")
    at_s: Floats = column("time of the call that these numbers are for, after the rank's first call", "s")


@dataclass(frozen=True)
class Aligned:
    """Aligned traces.

    Attributes:
        axes: an axis for each set of ranks that common collectives connect; mostly there is one set, all ranks.
        groups: calls of groups of ranks.
        ranks: the clocks, by rank.
        notes: facts on calls left out, and on problems with calls and clocks.
        movements: clocks that were slewed or set: rank, from_s and to_s after its first call, by_s.
    """

    axes: tuple[Axis, ...]
    groups: tuple[GroupCalls, ...]
    ranks: RankClocks
    notes: tuple[Fact, ...]
    movements: tuple[dict[str, float], ...] = ()

    def correct(self, rank: int, times: Integers) -> tuple[Integers, Floats, Floats]:
        """Converts times of a rank's clock to its axis, with bounds and expected errors, ns; see `Axis.correct`."""
        return self.axis_of(rank).correct(rank, times)

    def axis_of(self, rank: int) -> Axis:
        """Returns the axis of a rank; the first axis if no calls connect the rank to others."""
        return next((axis for axis in self.axes if rank in axis.ranks), self.axes[0])

    @property
    def axis(self) -> CommonAxis:
        """The fact on the axis: the rank whose clock it is, and the clocks for which the bounds hold."""
        first = self.axes[0]
        steered = first.steering is not None
        return CommonAxis(int(first.ranks[0]), steered, SLEW_RATE, float(first.max_rate), float(first.curve) / NS)

    def corrected(self, rank: int, times: Integers) -> Integers:
        """Converts times of a rank's clock to its axis, ns."""
        return self.correct(rank, times)[0]

    @property
    def whole(self) -> bool:
        """True if all ranks are on one axis and have a bound at all times."""
        return len(self.axes) == 1 and not np.isnan(self.ranks.bound_s).any()


def align_traces(traces: Sequence[RankTrace], wander: float, steered: bool = False) -> Aligned:
    """Aligns traces.

    Args:
        traces: of at least two ranks.
        wander: largest change of a clock's rate, 1/s.
        steered: true: NTP may also slew the clocks.

    Raises:
        UsageError: no two ranks have a collective in common.
    """
    if len(traces) < MIN_RANKS:
        raise UsageError(f"{counted(len(traces), 'rank')} cannot be aligned; give the traces of two ranks or more")
    groups, notes = match(traces)
    known = [group for group in groups if np.isin(group.operation, ORDERING).any()]
    if not known:
        raise UsageError("no two of these ranks have a collective in common; they need an allreduce or a barrier")
    axes = tuple(find_axis(tied, wander, steered) for tied in tied_groups(known))
    rows = [rank_row(axis, known, trace) for trace in traces for axis in axes if trace.rank in axis.ranks]
    alone = [trace for trace in traces if not any(trace.rank in axis.ranks for axis in axes)]
    notes += [RankAlone(trace.rank) for trace in alone]
    first = int(axes[0].ranks[0])
    notes += [SeparateAxis(tuple(axis.ranks.tolist()), first) for axis in axes[1:]]
    unknown = dict.fromkeys((column.name for column in RankClocks.columns()), np.nan)
    rows += [unknown | {"rank": trace.rank, "host": trace.host, "axis": trace.rank, "calls": 0} for trace in alone]
    if steered:
        notes += [fact for axis in axes for fact in clock_movements(axis, traces)]
    table = RankClocks.of_rows(sorted(rows, key=lambda row: row["rank"]))
    if any(map(overlaps, traces)):
        notes.append(CallsOverlap())
    set_apart = {int(axis.ranks[conflict.rank_index]) for axis in axes for conflict in axis.conflicts}
    set_apart |= {int(rank) for axis in axes for rank in axis.ranks[axis.torn.any(axis=1)]}
    known_loose = set_apart.union(trace.rank for trace in alone)
    loose = [rank for rank in table.rank[np.isnan(table.bound_s)].tolist() if rank not in known_loose]
    if loose:
        notes.append(NoBound(tuple(loose), steered))
    if steered:
        notes += wide_bounds(known, wander, table)
    notes += always_last(known)
    moved = [(axis, movement) for axis in axes if axis.steering for movement in axis.steering.movements]
    movements = tuple(
        {"rank": int(axis.ranks[movement.rank_index]), "from_s": begin, "to_s": end, "by_s": movement.by * NS}
        for axis, movement in moved
        for begin, end in [times_of(axis, traces, movement)]
    )
    notes += [fact for axis in axes for fact in contradictions(axis)]
    return Aligned(axes, tuple(known), table, tuple(notes), movements)


def clock_movements(axis: Axis, traces: Sequence[RankTrace]) -> list[Fact]:
    """Reports clocks that were slewed or set."""
    facts: list[Fact] = []
    for movement in axis.steering.movements if axis.steering else ():
        begin, end = times_of(axis, traces, movement)
        inside = (axis.nodes >= movement.begin) & (axis.nodes <= movement.end)
        # The first rank's clock is the axis, so its movement concerns all ranks.
        torn = bool(axis.torn[movement.rank_index or slice(None)][..., inside].any())
        against = int(axis.ranks[0]) if len(axis.ranks) == 2 else None
        facts.append(ClockMoved(int(axis.ranks[movement.rank_index]), against, movement.by * NS, begin, end, torn))
    return facts


def times_of(axis: Axis, traces: Sequence[RankTrace], movement: Movement) -> tuple[float, float]:
    """Returns begin and end of a movement, s after the rank's first call."""
    rank = int(axis.ranks[movement.rank_index])
    trace = next(trace for trace in traces if trace.rank == rank)
    first = min(int(calls.entry.min()) for calls in trace.calls if len(calls.entry)) - int(
        axis.origin[movement.rank_index]
    )
    return (movement.begin - first) * NS, (movement.end - first) * NS


def wide_bounds(groups: Sequence[GroupCalls], wander: float, table: RankClocks) -> list[Fact]:
    """Reports the largest bound if it is wide only because clocks may be steered; else returns an empty list."""
    wide, middle = (float(np.fmax.reduce(bounds)) for bounds in (table.largest_bound_s, table.bound_s))
    if not wide > max(WIDER * middle, WIDE):
        return []
    steady = [find_axis(tied, wander) for tied in tied_groups(groups)]
    if any(axis.conflicts for axis in steady):
        return []
    largest = 0.0
    for axis in steady:
        for rank in axis.ranks[1:].tolist():
            times = np.concatenate([calls_of(group, rank) for group in groups])
            largest = max(largest, float(axis.correct(rank, times)[1].max()) * NS)
    if not largest < wide / WIDER:
        return []
    return [WideBounds(wide, largest)]


def rank_row(axis: Axis, groups: Sequence[GroupCalls], trace: RankTrace) -> dict[str, Any]:
    """Returns the row of a rank in RankClocks."""
    times = np.sort(np.concatenate([calls_of(group, trace.rank) for group in groups]))
    moved, bound, expected = axis.correct(trace.rank, times)
    finite = np.isfinite(bound)
    first, last = times[0], times[-1]
    # All numbers are of one call: the call with a bound that is closest to the middle of the run.
    away = np.where(finite, np.abs(times - (first + (last - first) // 2)), np.iinfo(np.int64).max)
    at = int(np.argmin(away))
    duration = int(last - first) or np.nan
    rate = int(last - first) / (int(moved[-1] - moved[0]) or np.nan) - 1.0
    # The rate is the slope between both ends, so their errors add up. If they are anticorrelated, the error in the
    # middle is far smaller and the error of the slope is larger.
    variance = float(expected[0] ** 2 + expected[-1] ** 2)
    rate_error = float(np.sqrt(variance + max(variance - 4.0 * float(expected[at]) ** 2, 0.0))) / duration
    known = bool(finite.any())
    return {
        "rank": trace.rank,
        "host": trace.host,
        "axis": int(axis.ranks[0]),
        "calls": len(moved),
        "offset_s": int(times[at] - moved[at]) * NS if known else np.nan,
        "rate": rate if known and rate_error < max(KNOWN_RATE, abs(rate) / CLEAR_RATE) else np.nan,
        "rate_error": rate_error,
        "bound_s": float(bound[at]) * NS if finite.all() else np.nan,
        "expected_error_s": float(expected[at]) * NS if known else np.nan,
        "largest_bound_s": float(bound.max()) * NS if finite.all() else np.nan,
        "at_s": float(times[at] - first) * NS if known else np.nan,
    }


def always_last(groups: Sequence[GroupCalls]) -> list[Fact]:
    """Reports, for each group and operation, a rank that spends less time than all others in nearly all calls.

    Either this rank arrives last, or its clock is off. The time in a call needs only the rank's clock.
    """
    facts: list[Fact] = []
    for group in groups:
        for operation in np.unique(group.operation[np.isin(group.operation, TO_ALL)]):
            rows = (group.operation == operation) & ~group.missing.any(axis=1)
            spent = (group.exit - group.entry)[rows]
            if len(spent) < MIN_CALLS or group.unsure.any():
                continue
            fewest = int(np.argmin(np.median(spent, axis=0)))
            least, other_times = spent[:, fewest], np.delete(spent, fewest, axis=1)
            times = float(np.median(least)), float(np.median(other_times))
            if (least < other_times.min(axis=1)).mean() >= ALWAYS_LATE and times[1] >= LONGER * times[0]:
                rank = int(group.ranks[fewest])
                facts.append(LastOrClockOff(group.name, str(operation), rank, times[0] * NS, times[1] * NS))
    return facts


def overlaps(trace: RankTrace) -> bool:
    """Returns true if two calls of a rank overlap, like nonblocking calls."""
    none = np.empty(0, dtype=np.int64)
    entry, end = (
        np.concatenate([none, *(getattr(calls, name) for calls in trace.calls)]) for name in ("entry", "exit")
    )
    order = np.argsort(entry)
    return bool((np.maximum.accumulate(end[order])[:-1] > entry[order][1:]).any())


def calls_of(group: GroupCalls, rank: int) -> Integers:
    """Returns the entries of a rank into the calls of a group, ns on its clock."""
    column = np.flatnonzero(group.ranks == rank)
    return group.entry[:, column][~group.missing[:, column]]


def contradictions(axis: Axis) -> list[Fact]:
    """Reports calls that contradict each other."""
    return [
        CallsContradict(
            int(axis.ranks[conflict.rank_index]),
            int(axis.ranks[conflict.other]),
            tuple((name, int(number)) for name, number in conflict.calls),
            conflict.by_ns * NS,
            axis.max_rate,
        )
        for conflict in axis.conflicts
    ]


def late_or_slow(aligned: Aligned) -> Arrivals:
    """Analyzes the arrivals at the calls of all groups on the common axis, as `downbeat arrivals` does for recordings.

    The hard bound is about as large as the fastest call and would leave every short call undecided. So the bound of
    times is at most `STANDARD_ERRORS` expected errors.
    """
    records = Records.joined(
        records_of(aligned, group, column) for group in aligned.groups for column in range(len(group.ranks))
    )
    start = records.entry.min()
    entry, end = ((times - start) * NS for times in (records.entry, records.exit))
    records = records.replaced(entry=entry, exit=end, returned=end)[np.isfinite(records.bound)]
    run = float(end.max())
    arrivals = arrivals_of(records, run, len(aligned.ranks))
    by_rank = times_of_ranks(arrivals.rows, arrivals.calls, arrivals.sites, run, arrivals.kinds)
    return replace(arrivals, by_rank=by_rank)


def records_of(aligned: Aligned, group: GroupCalls, column: int) -> Records:
    """Returns the calls of a rank as records of libdownbeat-preload; times are ns after the origin of the axis."""
    there, rank = ~group.missing[:, column], int(group.ranks[column])
    origin = int(aligned.axis_of(int(group.ranks[0])).origin[0])  # axes may be days apart
    entry, hard, error = aligned.correct(rank, group.entry[there, column])
    end, _, at_end = aligned.correct(rank, group.exit[there, column])
    size, root = group.size[there], group.root[there]
    root_column = np.where(root < 0, np.nan, np.searchsorted(group.ranks, root))
    count = len(entry)

    def repeated(word: str) -> Words:
        return Words.from_codes(np.zeros(count, dtype=np.int8), categories=pd.Index([word], dtype=object))

    return Records(
        rank=np.full(count, rank),
        operation=Words(group.operation[there].astype(object)),
        kind=repeated("collective"),
        communicator=repeated(group.name),
        size=np.full(count, float(len(group.ranks))),
        comm_rank=np.full(count, float(column)),
        sequence=group.number[there],
        round=np.zeros(count, dtype=np.int64),
        bytes=np.where(size < 0, np.nan, size),
        root=root_column,
        entry=(entry - origin).astype(float),
        returned=(end - origin).astype(float),
        waited=np.full(count, np.nan),
        exit=(end - origin).astype(float),
        bound=np.minimum(hard, STANDARD_ERRORS * np.fmax(error, at_end)) * NS,
        elsewhere=np.full(count, np.nan),
        module=repeated(group.name),
        offset=np.zeros(count, dtype=np.int64),
        symbol=repeated(f"group {group.name}"),
        group=np.full(count, -1),
        is_root=root_column == column,
        beyond=np.zeros(count, dtype=np.int64),
        thread=np.zeros(count, dtype=np.int64),
        together=np.ones(count, dtype=np.int64),
        row=np.zeros(count, dtype=np.int64),
        phase=repeated(""),
        complete=np.ones(count, dtype=bool),
    )
