"""Detects changes of a clock from the exits of collectives: slews, sets, and rate changes.

A change-point test at several scales: around each instant a line is fitted to the window before and to the window
after. A jump or a change of slope beyond noise and curvature is a change point. Windows of a longer scale exclude the
change points of shorter scales. Nodes are the times at which clocks are estimated (see axis.py). A course is the
measured offset of a clock at the nodes; a stretch is a range of nodes without a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from downbeat.align.calls import STEERED_RATE, Integers
from downbeat.align.matching import Floats

SCALES = (2, 3, 6, 12, 24)  # window lengths on each side of an instant, nodes
SURPRISE = 5.0  # standard errors of a change point; normal noise exceeds it once in a few runs of 3e5 tests
HIDDEN = 3.0  # standard errors of a node; windows of 24 nodes may miss a smaller movement
MIN_NODES = 12  # nodes of a course
MIN_STEADY = 6  # nodes of a stretch
MILD_CURVE = 1e-14  # 1/ns, a rate change of 1e-5 per s: frequency steps of NTP count as curvature
WIDE = 5  # nodes of a running median, which tolerates two outliers
CLIP = 3.0  # standard errors; a node farther from the running median is an outlier
MAX_SHORT = 4  # intervals between nodes; a deviation of at most this length is a movement at any rate
SLEWED = 20e-6  # difference from the usual rate that counts as a slew
ALIKE = 0.3  # relative difference of two movements up to which they may have one cause


@dataclass(frozen=True)
class Course:
    """Measured offset of a clock against the other clocks at the nodes that have calls.

    Attributes:
        node: indexes of the nodes.
        at: mean time of the exits at each node, ns.
        value: offset, ns: time of the other clocks minus time of this clock; rises if this clock is set back.
        error: standard error of the offset from the scatter of exits, ns.
    """

    node: Integers
    at: Floats
    value: Floats
    error: Floats


@dataclass(frozen=True)
class Stretch:
    """Consecutive nodes along which no change of a clock is detected.

    Attributes:
        begin: index of the first node.
        end: index after the last node.
        curve: largest second derivative, halved, 1/ns.
        margin: largest movement that the scatter of exits may hide, ns.
    """

    begin: int
    end: int
    curve: float
    margin: float


@dataclass(frozen=True)
class Movement:
    """A clock was slewed or set.

    Attributes:
        rank_index: index of the rank.
        begin: begin of the movement on its clock, ns after its origin.
        end: end of the movement on its clock, ns after its origin.
        by: movement against the first rank's clock, ns; positive: forward.
        error: standard error of `by`, ns.
    """

    rank_index: int
    begin: float
    end: float
    by: float
    error: float


@dataclass(frozen=True)
class Steering:
    """Steady stretches and detected movements of clocks that may be steered, against the first rank's clock.

    Attributes:
        courses: rank -> course; ranks with few calls have none.
        departed: rank -> flags of the nodes of its course; true: the clock left its free course. The node has a change
            beyond the curvature bound of a free-running clock, or is torn.
        stretches: stretches of each rank.
        curves: largest curvature of each rank and interval between nodes; inf: the clock may be steered there.
        torn: flags of ranks and nodes; true: unusable, since the clock moved too fast for a slew or was set back.
        exits: times of the exits of each rank's course, ns, ascending.
        movements: movements of all clocks.
    """

    courses: dict[int, Course]
    departed: dict[int, NDArray[np.bool_]]
    stretches: tuple[tuple[Stretch, ...], ...]
    curves: Floats
    torn: NDArray[np.bool_]
    exits: tuple[Floats, ...]
    movements: tuple[Movement, ...]

    def hidden(self, rank: int, times: Floats) -> Floats:
        """Returns the largest undetected excursion of a clock, ns.

        The excursion is the largest rate of slewed clocks (STEERED_RATE) times the time from the nearest exit.
        """
        exits = self.exits[rank]
        if not len(exits):
            return np.zeros(times.shape)
        after = np.searchsorted(exits, times)
        away = np.minimum(
            np.abs(times - exits[np.maximum(after - 1, 0)]), np.abs(times - exits[np.minimum(after, len(exits) - 1)])
        )
        excursions: Floats = STEERED_RATE * away
        return excursions

    def within(self, rank: int, begin: int, end: int) -> list[Stretch]:
        """Returns the stretches of a rank within a range of nodes; indexes count from the begin of the range."""
        clipped = [
            replace(stretch, begin=max(stretch.begin, begin) - begin, end=min(stretch.end, end) - begin)
            for stretch in self.stretches[rank]
        ]
        return [stretch for stretch in clipped if stretch.end - stretch.begin > 1]


def steering_of(
    shown: dict[int, tuple[Floats, Floats]],
    backward: Sequence[Sequence[tuple[float, float]]],
    nodes: Floats,
    resolution: Floats,
    curve: float,
) -> Steering:
    """Detects the steady stretches and the movements of each clock.

    Args:
        shown: rank -> times of exits and the offsets that they measure, ns.
        backward: for each rank, intervals that its clock showed twice because it was set back, ns.
        nodes: ns.
        resolution: of each rank's clock, ns.
        curve: largest curvature of a free-running clock, 1/ns.
    """
    ranks = len(resolution)
    curves, torn = np.full((ranks, len(nodes) - 1), np.inf), np.zeros((ranks, len(nodes)), dtype=bool)
    curves[0] = curve
    middles = (nodes[1:] + nodes[:-1]) / 2.0
    courses, changed, movements = {}, {}, []
    stretches: list[tuple[Stretch, ...]] = [()] * ranks
    exits: list[Floats] = [np.zeros(0)] * ranks
    for rank in range(ranks):
        # Offsets are against the first rank's clock, so that all ranks lose the time at which it was set back.
        for first, last in (*backward[rank], *(backward[0] if rank else ())):
            begin, end = np.searchsorted(nodes, [first, last])
            torn[rank, max(begin - 1, 0) : end + 1] = True
    for rank, (at, value) in shown.items():
        if len(at) < MIN_NODES:
            continue
        node = np.clip(np.searchsorted(middles, at), 1, len(nodes) - 2)
        # Standard deviation of the difference of two readings of a clock with this resolution, and 1 ns for rounding.
        floor = float(resolution[rank] / np.sqrt(6.0)) + 1.0
        course = course_of(at, value, node, floor)
        if len(course.at) < MIN_NODES:
            continue
        # Strict changes exceed the curvature of a free-running clock; mild changes exceed MILD_CURVE, so that frequency
        # steps of NTP are none.
        strict = moved(course, curve, torn[rank, course.node])
        mild = moved(course, MILD_CURVE, torn[rank, course.node]) if strict.any() else strict
        jump = np.abs(np.diff(course.value))
        fast = jump > STEERED_RATE * np.diff(course.at) + SURPRISE * (course.error[1:] + course.error[:-1])
        for k in np.flatnonzero(fast & mild[1:] & mild[:-1]).tolist():
            first, last = course.node[k], course.node[k + 1]
            # A clock that is set back by `back` shows times twice: up to `back` before `first` and after `last`.
            back = max(course.value[k + 1] - course.value[k], 0.0)
            earliest, latest = nodes[first] - back, nodes[last] + back
            first = min(first, int(np.searchsorted(nodes, earliest)))
            last = max(last, int(np.searchsorted(nodes, latest)))
            # searchsorted returns the node after the earliest time; the node before it is torn, too.
            torn[rank, max(first - (back > 0), 0) : last + 1] = True
        mild |= torn[rank, course.node]
        strict |= mild
        courses[rank], changed[rank], exits[rank] = course, strict, np.sort(at)
        along = [
            *still(course, mild, MILD_CURVE if strict.any() else curve),
            *(still(course, strict, curve) if strict.any() else ()),
        ]
        stretches[rank] = tuple(along)
        for stretch in along:
            # Strict stretches come last and overwrite mild stretches, whose bound is larger.
            curves[rank, stretch.begin : stretch.end - 1] = stretch.curve
        movements += movements_of(rank, course, strict)
    attributed = by_reference(movements, len(courses))
    return Steering(courses, changed, tuple(stretches), curves, torn, tuple(exits), attributed)


def still(course: Course, changed: NDArray[np.bool_], curve: float) -> list[Stretch]:
    """Returns the stretches between detected changes.

    Args:
        course: of the clock.
        changed: flags of its nodes; true: a change.
        curve: curvature bound of the stretches, 1/ns.
    """
    edges = np.flatnonzero(np.diff(changed, prepend=True, append=True))
    return [
        Stretch(
            int(course.node[begin]),
            int(course.node[end - 1]) + 1,
            curve,
            HIDDEN * float(np.quantile(course.error[begin:end], 0.9)),
        )
        for begin, end in zip(edges[::2], edges[1::2], strict=True)
        if end - begin >= MIN_STEADY
    ]


def movements_of(rank: int, course: Course, changed: NDArray[np.bool_]) -> list[Movement]:
    """Finds the movements of a clock, without mere changes of its rate.

    Args:
        rank: index of the rank.
        course: of the clock.
        changed: flags of its nodes; true: a change.
    """
    ends = np.flatnonzero(np.diff(changed, prepend=True, append=True))  # begin and end of each piece without a change
    pieces = [(int(a), int(b) - 1) for a, b in zip(ends[::2], ends[1::2], strict=True) if b - a > 1]
    if not pieces or not changed.any():
        return []
    slopes = [(course.value[b] - course.value[a]) / (course.at[b] - course.at[a]) for a, b in pieces]
    usual = slopes[int(np.argmax([course.at[b] - course.at[a] for a, b in pieces]))]
    deviation = course.value - usual * course.at
    away = changed.copy()
    for (a, b), slope in zip(pieces, slopes, strict=True):
        away[a : b + 1] |= abs(slope - usual) > SLEWED
    movements = []
    edges = np.flatnonzero(np.diff(away, prepend=False, append=False))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        first, last = max(begin - 1, 0), min(end, len(deviation) - 1)
        by, error = float(deviation[last] - deviation[first]), float(np.hypot(course.error[last], course.error[first]))
        # A movement is short, or faster than half of a slew; other deviations are a drift.
        quick = last - first <= MAX_SHORT or abs(by) > SLEWED / 2 * (course.at[last] - course.at[first])
        if abs(by) > SURPRISE * error and quick:
            # The offset falls when the clock moves forward.
            movements.append(Movement(rank, float(course.at[first]), float(course.at[last]), -by, error))
    return movements


def by_reference(movements: Sequence[Movement], ranks: int) -> tuple[Movement, ...]:
    """Attributes movements by consensus: if most clocks move alike, the first rank's clock moved the other way.

    Args:
        movements: movements of all clocks, against the first rank's clock.
        ranks: number of ranks with a course.
    """
    remaining, result = list(movements), []
    while remaining:
        first = remaining[0]
        alike = [
            movement
            for movement in remaining
            # They overlap in time, and have the same size up to the error.
            if movement.begin <= first.end
            and first.begin <= movement.end
            and abs(movement.by - first.by) <= ALIKE * abs(first.by) + SURPRISE * (movement.error + first.error)
        ]
        indexes = {movement.rank_index for movement in alike}
        if ranks > 1 and len(indexes) > ranks / 2 and len(indexes) > 1:
            result.append(
                replace(
                    min(alike, key=lambda movement: movement.error),
                    rank_index=0,
                    by=-float(np.median([movement.by for movement in alike])),
                )
            )
        else:
            result += alike
        remaining = [movement for movement in remaining if movement not in alike]
    return tuple(sorted(result, key=lambda movement: (movement.rank_index, movement.begin)))


def course_of(at: Floats, value: Floats, node: Integers, floor: float) -> Course:
    """Computes the course of a clock: medians of the offsets at each node.

    Args:
        at: time of each exit, ns.
        value: offset that each exit measures, ns.
        node: index of the node of each exit.
        floor: lower bound of the standard deviation of a single offset, ns.
    """
    order = np.lexsort((value, node))
    nodes, first, count = np.unique(node[order], return_index=True, return_counts=True)
    low, high = order[first + (count - 1) // 2], order[first + count // 2]
    middle = (value[low] + value[high]) / 2.0
    when = np.bincount(node, at)[nodes] / count
    time = np.argsort(at, kind="stable")
    # Differences of neighbors cancel slow movements. Exits may be correlated, so the scatter of nodes counts as well.
    of_exits = scatter_of(at[time], value[time], np.ones(len(at)))
    scatter = max(of_exits, scatter_of(when, middle, count.astype(float)), floor)
    error = scatter / np.sqrt(count) * np.where(count > 2, 1.25, 1.0)  # a median has 1.25 times the error of a mean
    wide = (
        np.lib.stride_tricks.sliding_window_view(np.pad(middle, WIDE // 2, mode="reflect"), WIDE)
        if len(middle) > WIDE
        else None
    )
    if wide is not None:
        near = np.median(wide, axis=1)
        inner = slice(WIDE // 2, len(middle) - WIDE // 2)
        middle[inner] = np.clip(middle, near - CLIP * error, near + CLIP * error)[inner]
    return Course(nodes, when, middle, error)


def scatter_of(at: Floats, value: Floats, count: Floats) -> float:
    """Estimates the scatter of single values, ns: median absolute residual from the line through both neighbors.

    Args:
        at: ascending times, ns.
        value: medians of values at these times, ns.
        count: number of values of each median.
    """
    if len(at) < 4:
        return 0.0
    length = np.maximum(at[2:] - at[:-2], 1e-9)
    share = (at[1:-1] - at[:-2]) / length
    residuals = value[1:-1] - value[:-2] - share * (value[2:] - value[:-2])
    residuals /= np.sqrt(1.0 / count[1:-1] + share**2 / count[2:] + (1.0 - share) ** 2 / count[:-2])
    return 1.4826 * float(np.median(np.abs(residuals)))


def moved(course: Course, curve: float, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Flags the nodes of a course at which a change exceeds a curvature bound.

    Args:
        course: of at least two nodes.
        curve: largest second derivative, halved, 1/ns.
        known: flags of changes that are already known.
    """
    flags = known.copy()
    for scale in SCALES:
        for _ in range(len(flags)):  # each round flags at least one more node
            surprise = surprises(course, curve, scale, flags)
            peak = int(np.argmax(surprise))
            if surprise[peak] < SURPRISE:
                break
            # All peaks at once; each extends to where the statistic falls to half of its maximum.
            high = surprise >= SURPRISE
            edges = np.flatnonzero(np.diff(high, prepend=False, append=False))
            for begin, end in zip(edges[::2], edges[1::2], strict=True):
                top = surprise[begin:end].max()
                kept = np.flatnonzero(surprise[begin:end] >= max(top / 2.0, SURPRISE)) + begin
                best = int(np.argmax(surprise[begin:end])) + begin
                left = right = best
                while left - 1 in kept:
                    left -= 1
                while right + 1 in kept:
                    right += 1
                flags[left : right + 2] = True  # instant k is between the nodes k and k + 1
    return flags


def surprises(course: Course, curve: float, scale: int, known: NDArray[np.bool_]) -> Floats:
    """Tests for a jump or change of slope between each node and the next: size in standard errors; 0: undecided.

    Args:
        course: of the clock.
        curve: curvature bound, 1/ns.
        scale: length of the windows on both sides, nodes.
        known: flags of nodes with a change; windows that include one are undecided.
    """
    count = len(course.at)
    time = (course.at - course.at[0]) * 1e-9  # s
    base = np.median(course.value)
    weight = course.error**-2.0
    sums = [
        np.concatenate([[0.0], np.cumsum(terms)])
        for terms in (
            weight,
            weight * time,
            weight * time**2,
            weight * (course.value - base),
            weight * time * (course.value - base),
            known,
        )
    ]
    boundary = np.arange(1, count)
    sides = []
    usable = np.ones(count - 1, dtype=bool)
    for first, last in ((boundary - scale, boundary), (boundary, boundary + scale)):
        begin, end = np.maximum(first, 0), np.minimum(last, count)
        weights, times, squares, values, products, changes = (total[end] - total[begin] for total in sums)
        usable &= changes == 0
        mean_time, mean_value = times / weights, values / weights
        spread = np.maximum(squares - times * mean_time, 0.0)  # weighted squares of times from their mean, s^2/ns^2
        single = (end - begin < 2) | (spread <= 0.0)  # a line needs two nodes
        slope = np.where(single, 0.0, (products - times * mean_value) / np.where(single, 1.0, spread))  # ns/s
        length = (time[end - 1] - time[begin]) * 1e9  # ns
        sides.append((weights, mean_time, mean_value, spread, single, slope, length))
    at = (time[boundary - 1] + time[boundary]) / 2.0
    left_weight, left_time, left_value, left_spread, left_single, left_slope, left_length = sides[0]
    right_weight, right_time, right_value, right_spread, right_single, right_slope, right_length = sides[1]
    any_single = left_single | right_single
    # A side of one node takes the slope of the other side.
    left_slope, right_slope = (
        np.where(left_single, right_slope, left_slope),
        np.where(right_single, left_slope, right_slope),
    )
    jump = right_value + right_slope * (at - right_time) - left_value - left_slope * (at - left_time)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Squared distance over which the line of one side is extended to the only node of the other side, s^2.
        distance = (right_time - left_time) ** 2
        variance = 1.0 / left_weight + 1.0 / right_weight
        both_lines = (at - left_time) ** 2 / left_spread + (at - right_time) ** 2 / right_spread
        one_line = np.where(left_single, distance / right_spread, distance / left_spread)
        variance += np.where(any_single, one_line, both_lines)
        bend = np.where(any_single, 0.0, right_slope - left_slope)
        bend_error = np.sqrt(np.where(any_single, 1.0, 1.0 / left_spread + 1.0 / right_spread))
    gap = (time[boundary] - time[boundary - 1]) * 1e9
    # Distance of a parabola from the line fitted to a window of it, half a gap beyond the window; if a side has a
    # single node, there is no line, and the distance is over the whole window and gap.
    room = curve * (((left_length + gap / 2) ** 2 + (right_length + gap / 2) ** 2) / 2.0 + gap**2 / 4.0)
    room = np.where(any_single, curve * (left_length + right_length + gap) ** 2, room)
    # Change of the slope of the parabola over both windows, ns/s.
    turn = 2.0 * curve * (left_length + right_length + gap) * 1e9
    usable &= ~(left_single & right_single) & np.isfinite(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.maximum((np.abs(jump) - room) / np.sqrt(variance), (np.abs(bend) - turn) / bend_error)
    result: Floats = np.where(usable, np.nan_to_num(size), 0.0)
    return result
