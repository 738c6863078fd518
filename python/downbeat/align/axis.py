"""One time axis for the clocks of several ranks, from their common collectives.

A correction is the time that has to be added to a rank's clock to get the axis, the clock of the first rank. In a
synchronizing collective no rank leaves before the last rank has entered. With corrections c, every call gives
entry_i + c_i <= exit_j + c_j for all ranks i and j; Duda, Harrus, Haddad and Bernard (ICDCS 1987) use this for pairs of
messages. These hard limits combine over the whole run, because the rate difference of two clocks is at most `MAX_RATE`
and changes by at most `wander` per second (`bounds.py`).

The estimate assumes in addition that ranks leave a collective at the same time on average: a Kalman smoother tracks the
exits (`clock_filter.py`). The estimate is clipped to the limits; where the exits carry less information than the
limits, it is their middle. Corrections are computed at nodes: the mean time of the calls in each bin of the run, and
both ends of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from downbeat.align.bounds import Conflict, Limits, limits_between, slanted
from downbeat.align.calls import MAX_RATE, STEERED_RATE, Integers
from downbeat.align.clock_filter import ClockFilter, follow
from downbeat.align.matching import Floats, GroupCalls
from downbeat.align.movements import Steering, steering_of

AXIS_WINDOW = 10.0  # s, window that is divided into BINS bins
BINS = 64  # bins per window, or per run if the run is shorter
MAX_BINS = 2048  # bins of a run
SMOOTHED = 5  # nodes of the running mean of deviations from the estimate
LIMIT = 3.0  # standard errors; smaller deviations from the estimate count as noise
MIDDLE = 8.0  # distance of two limits divided by the expected error of their middle


@dataclass(frozen=True)
class Axis:
    """The clocks of all ranks against the clock of the first rank.

    Attributes:
        ranks: ranks in the job, ascending.
        origin: time on each rank's clock, ns; approximately the same instant on all clocks.
        nodes: times on a rank's clock, ns after its origin.
        offset: correction of each rank's clock at each node, ns, linear in between; NaN: no common calls.
        expected: expected error of the offset, ns; NaN: not known.
        lower: lower limit of the correction, ns; -inf: no limit.
        upper: upper limit of the correction, ns; inf: no limit.
        curve: largest second derivative of the correction, halved, 1/ns.
        resolution: of each rank's clock, ns.
        conflicts: contradictions between calls of two ranks.
        steering: steady stretches and movements of the clocks; None: all clocks are free-running.
    """

    ranks: Integers
    origin: Integers
    nodes: Floats
    offset: Floats
    expected: Floats
    lower: Floats
    upper: Floats
    curve: float
    resolution: Floats
    conflicts: tuple[Conflict, ...]
    steering: Steering | None = None

    @property
    def torn(self) -> NDArray[np.bool_]:
        """Flags of ranks and nodes at which no bound holds, because a clock moved faster than the largest slew rate."""
        return np.zeros(self.offset.shape, dtype=bool) if self.steering is None else self.steering.torn

    @property
    def max_rate(self) -> float:
        """Largest difference of two clocks' rates that the bounds allow."""
        return MAX_RATE if self.steering is None else STEERED_RATE

    def correct(self, rank: int, times: Integers) -> tuple[Integers, Floats, Floats]:
        """Converts times of a rank's clock to the first rank's clock, with bounds and expected errors, ns.

        The bound is infinite and the expected error NaN where no calls connect the rank to the first rank.
        """
        index = int(np.searchsorted(self.ranks, rank))
        if rank not in self.ranks or np.isnan(self.offset[index]).any():
            moved = times + (self.origin[0] - self.origin[index]) if rank in self.ranks else times
            return moved, np.full(len(times), np.inf), np.full(len(times), np.nan)
        # Differences of integers first: times since 1970 in ns do not fit into a double.
        since = (times - self.origin[index]).astype(float)
        inside = np.clip(since, self.nodes[0], self.nodes[-1])
        outside = np.abs(since - inside)
        slopes = np.diff(self.offset[index]) / np.diff(self.nodes)
        slope = np.where(since < inside, slopes[0], slopes[-1])
        shift = np.interp(inside, self.nodes, self.offset[index]) + slope * (since - inside)
        sides = [
            limits_between(inside, self.nodes, sign * limit[index], self.bends(index))
            - sign * np.interp(inside, self.nodes, self.offset[index])
            for sign, limit in ((1.0, self.upper), (-1.0, self.lower))
        ]
        bound = np.maximum(*sides) + outside * (self.max_rate + np.abs(slope))
        if self.steering is not None:
            bound += self.steering.hidden(index, since)
        error = limits_between(inside, self.nodes, self.expected[index], 0.0)
        swing = limits_between(inside, self.nodes, np.zeros(len(self.nodes)), self.curve / np.sqrt(3.0))
        # An event may be later than the time of a coarse clock by up to its resolution.
        rounding = (self.resolution[index] - 1.0) / np.sqrt(3.0)
        error = np.sqrt(error**2 + swing**2 + rounding**2 + (outside * MAX_RATE / 4.0) ** 2)
        if index == 0:
            bound, error = np.zeros(len(times)), np.zeros(len(times))
        else:
            bound = bound + self.resolution[index]
        error = np.where(np.isfinite(bound), np.minimum(error, bound), np.nan)
        moved = times + (self.origin[0] - self.origin[index]) + np.rint(shift).astype(np.int64)
        return moved, bound + 0.5, error

    def bends(self, index: int) -> float | Floats:
        """Returns the largest curvature of a rank's clock, or of each interval; see `limits_between`."""
        return self.curve if self.steering is None else self.steering.curves[index]


def find_axis(groups: Sequence[GroupCalls], wander: float, steered: bool = False) -> Axis:
    """Estimates the clocks of all ranks of the groups against the clock of the first rank.

    Args:
        groups: calls of groups of ranks that share ranks (see `tied_groups`).
        wander: largest change of a clock's rate that the bounds allow, 1/s.
        steered: true: the bounds also hold for clocks that are slewed by up to `SLEW_RATE`.
    """
    ranks = np.unique(np.concatenate([group.ranks for group in groups]))
    origin = rough_origins(groups, ranks)
    resolution = np.array([clock_resolution(groups, rank) for rank in ranks], dtype=float)
    rank_indexes = [np.searchsorted(ranks, group.ranks) for group in groups]
    # Half of the largest second derivative of the difference of two clocks.
    curve = wander * 1e-9
    entries, exits = [], []
    for group, indexes in zip(groups, rank_indexes, strict=True):
        entries.append(np.where(group.missing, np.nan, (group.entry - origin[indexes]).astype(float)))
        exits.append(np.where(group.missing, np.nan, (group.exit - origin[indexes]).astype(float)))
    first_exits = [np.nanmin(times, axis=1) for times in exits]
    call_times = np.concatenate(first_exits)
    first, duration = float(call_times.min()), float(np.ptp(call_times))
    span = max(duration / MAX_BINS, min(AXIS_WINDOW * 1e9, duration) / BINS, 1.0)
    # Bins of equal length; those without calls are dropped, and the others numbered.
    cells = [np.floor((times - first) / span).astype(np.int64) for times in first_exits]
    with_calls, cell = np.unique(np.concatenate(cells), return_inverse=True)
    middle = np.bincount(cell, call_times - first) / np.bincount(cell) + first
    bins = [np.searchsorted(with_calls, numbers) for numbers in cells]
    begin = min(float(np.nanmin(times)) for times in entries)
    end = max(float(np.nanmax(times)) for times in exits)
    nodes = np.concatenate([[min(begin, middle[0] - span)], middle, [max(end, middle[-1] + span)]])
    clock_filter = ClockFilter(groups, rank_indexes, exits, bins, nodes, resolution, curve)
    # Cuts: nodes at which a clock may have been set, so that the filter begins anew there. Torn nodes, a subset, also
    # give no limits, and no limit extends over them.
    cuts = np.zeros((len(ranks), len(nodes)), dtype=bool)
    base = clock_filter.estimate(cuts)[0]
    steering = None
    if steered:
        backward = [shown_twice(groups, rank_indexes, entries, exits, rank) for rank in range(len(ranks))]
        for _ in range(2):  # a movement of one clock shifts the estimates of its peers
            steering = steering_of(clock_filter.shown, backward, nodes, resolution, curve)
            for rank, departed in steering.departed.items():
                cuts[rank, steering.courses[rank].node[departed]] = True
            cuts |= steering.torn
            if not cuts.any():
                break
            base = along_courses(clock_filter.estimate(cuts)[0], nodes, cuts, steering)
    limits = Limits(groups, rank_indexes, entries, exits, bins, nodes, np.nan_to_num(base), resolution, curve, steering)
    lower, upper, torn, conflicts = limits.settle()
    # measured: flags of the ranks whose offsets exits determine
    if (torn & ~cuts).any():
        cuts |= torn
        value, expected, measured = clock_filter.estimate(cuts)
    else:  # the last estimate, before courses replaced parts of it
        value, expected, measured = clock_filter.latest
    if steering is not None:
        value = along_courses(value, nodes, cuts, steering)
    # Where exits carry less information than the limits, use the middle of the limits. If some ranks are not measured
    # by exits, and the limits of free-running clocks have no conflict, no clock needs to be steered: then these limits,
    # which are narrower, give the middles.
    with np.errstate(invalid="ignore"):
        middles, room = (lower + upper) / 2.0, upper - lower
        bounded = np.isfinite(room)
        if steering is not None and (~measured[1:]).any():
            steady_lower, steady_upper, _, steady_conflicts = Limits(
                groups, rank_indexes, entries, exits, bins, nodes, np.nan_to_num(base), resolution, curve
            ).settle()
            if not steady_conflicts:
                middles, room = (steady_lower + steady_upper) / 2.0, np.minimum(room, steady_upper - steady_lower)
                bounded &= np.isfinite(room)
    imprecise = ~measured | (np.median(np.where(bounded, expected - room / MIDDLE, -1.0), axis=1) > 0)
    noise = np.where(bounded, room / MIDDLE, np.inf) ** 2
    smooth = follow(nodes, curve, np.where(bounded, middles, np.nan), noise, cuts)[0]
    tied = bounded.any(axis=1) & ~np.isnan(smooth).any(axis=1)
    value[imprecise & tied] = smooth[imprecise & tied]
    # The limits respect the largest rate, so clipped offsets respect it, too.
    value = flattened(value, nodes, torn, MAX_RATE if steering is None else STEERED_RATE)
    value = np.clip(value, np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper))
    expected = np.where(
        (imprecise & tied)[:, None], room / MIDDLE, np.minimum(expected, np.where(bounded, room, np.inf))
    )
    if steering is not None:
        expected = widened(expected, value, nodes, steering)
    value[0] = expected[0] = lower[0] = upper[0] = 0.0
    return Axis(ranks, origin, nodes, value, expected, lower, upper, curve, resolution, conflicts, steering)


def along_courses(values: Floats, nodes: Floats, cuts: NDArray[np.bool_], steering: Steering) -> Floats:
    """Replaces offsets at cut nodes by the measured courses of the clocks (movements.py), which are not smoothed.

    The filter's smoothing would round off the movements.
    """
    result = values.copy()
    for rank, course in steering.courses.items():
        cut = cuts[rank] & (nodes >= course.at[0]) & (nodes <= course.at[-1])
        result[rank, cut] = np.interp(nodes[cut], course.at, course.value)
    return result


def widened(expected: Floats, values: Floats, nodes: Floats, steering: Steering) -> Floats:
    """Increases expected errors by the deviations of the measured courses from the estimate that exceed noise.

    Where a clock left its free course, the increase is at least half of the neighboring steps of the course.
    """
    result = expected.copy()
    for rank, course in steering.courses.items():
        residuals = course.value - np.interp(course.at, nodes, values[rank])
        count = min(len(residuals), SMOOTHED)
        kernel = np.ones(count) / count
        weight = np.convolve(np.ones(len(residuals)), kernel, mode="same")
        middle = np.convolve(residuals, kernel, mode="same") / weight
        error = np.sqrt(np.convolve(course.error**2, kernel, mode="same") / weight / count)
        more = np.where(np.abs(middle) > LIMIT * error, np.abs(middle), 0.0)
        departed = steering.departed[rank]
        steps = np.abs(np.diff(course.value, prepend=course.value[0], append=course.value[-1]))
        more = np.where(departed, np.maximum(more, np.maximum(steps[1:], steps[:-1]) / 2.0), more)
        result[rank] = np.hypot(result[rank], np.interp(nodes, course.at, more))
    return result


def shown_twice(
    groups: Sequence[GroupCalls],
    rank_indexes: Sequence[Integers],
    entries: Sequence[Floats],
    exits: Sequence[Floats],
    rank: int,
) -> list[tuple[float, float]]:
    """Finds intervals that a rank's clock showed twice because it was set back, from exits in the wrong order, ns."""
    intervals = []
    for group, indexes, entry, leave in zip(groups, rank_indexes, entries, exits, strict=True):
        for column in np.flatnonzero(indexes == rank):
            there = np.flatnonzero(~group.missing[:, column] & (group.missing.sum(axis=1) < len(indexes) - 1))
            if len(there) < 2:
                continue
            other_exits = np.delete(leave[there], column, axis=1)
            with np.errstate(invalid="ignore"):
                passed = np.nanmedian(np.diff(other_exits, axis=0), axis=1)
            steps = np.diff(leave[there, column])
            spent = (leave - entry)[there, column]
            # The clock went back by more than the later call lasted: its entry, too, is before the earlier exit.
            for k in np.flatnonzero((steps < 0) & (passed > 0) & (passed - steps > spent[1:])):
                back = float(passed[k] - steps[k])
                before, after = float(leave[there[k], column]), float(entry[there[k + 1], column])
                intervals.append((min(after, before - back), max(before, after + back)))
    return intervals


def flattened(values: Floats, nodes: Floats, torn: NDArray[np.bool_], rate: float) -> Floats:
    """Limits the slope of offsets to the largest rate: the middle of the closest curves above and below.

    Args:
        values: offsets of each rank at the nodes, ns.
        nodes: ns.
        torn: flags of ranks and nodes; the slope between a torn node and another node is not limited.
        rate: the largest rate.
    """
    result = values.copy()
    for row, flags in zip(result, torn, strict=True):
        edges = np.flatnonzero(np.diff(flags)) + 1
        for stretch, at in zip(np.split(row, edges), np.split(nodes, edges), strict=True):  # views of the row
            stretch[:] = (slanted(at, stretch, rate) - slanted(at, -stretch, rate)) / 2.0
    return result


def rough_origins(groups: Sequence[GroupCalls], ranks: Integers) -> Integers:
    """Returns the time of approximately the same instant on each rank's clock, ns, from exits of common calls."""
    origin = np.zeros(len(ranks), dtype=np.int64)
    known = np.zeros(len(ranks), dtype=bool)
    first = next(group for group in groups if ranks[0] in group.ranks)
    column = int(np.searchsorted(first.ranks, ranks[0]))
    origin[0], known[0] = first.exit[np.argmin(first.missing[:, column]), column], True
    while True:
        before = int(known.sum())
        for group in groups:
            columns = np.searchsorted(ranks, group.ranks)
            for reference in np.flatnonzero(known[columns])[:1]:
                shared = ~group.missing & ~group.missing[:, [reference]]
                for new in np.flatnonzero(~known[columns] & shared.any(axis=0)):
                    differences = group.exit[shared[:, new], new] - group.exit[shared[:, new], reference]
                    median = int(np.sort(differences)[len(differences) // 2])
                    origin[columns[new]] = origin[columns[reference]] + median
                    known[columns[new]] = True
        if int(known.sum()) == before:
            return np.where(known, origin, origin[0])  # without common calls: no shift against the first rank


def clock_resolution(groups: Sequence[GroupCalls], rank: int) -> int:
    """Returns the greatest common divisor of the differences of a rank's time stamps, ns, at most 1 ms."""
    divisor = 0
    for group in groups:
        column = np.flatnonzero(group.ranks == rank)
        there = ~group.missing[:, column]
        for times in (group.entry[:, column][there], group.exit[:, column][there]):
            if len(times):
                divisor = int(np.gcd(divisor, np.gcd.reduce(times - times[0])))
    return min(max(divisor, 1), 1_000_000)
