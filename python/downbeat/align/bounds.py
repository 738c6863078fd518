"""Hard limits of each clock over a run, and contradictory calls.

The rate of a free-running clock changes slowly: a limit at one time holds at other times, relaxed by the largest
curvature. A clock that NTP disciplines may be slewed at any time, so a limit extends only by the largest rate, which is
much weaker; along stretches in which the exits show a steady course the curvature bound applies again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from downbeat.align.calls import MAX_RATE, STEERED_RATE, Integers
from downbeat.align.matching import Floats, GroupCalls
from downbeat.align.movements import Steering, Stretch

CLOCK_ROUNDING = 2.0  # ns; smaller contradictions may come from rounding
# Number of bins with a limit. A clock with at least this number counts as not set before its first limit, or after its
# last one.
MANY = 24
SETTLED_NS = 1.0  # limits are settled when a round of their propagation tightens none by this amount


@dataclass(frozen=True)
class Conflict:
    """Calls of two ranks that contradict each other for all clocks within the largest rate.

    Attributes:
        rank_index: index of the rank whose calls contradict the calls of most ranks.
        other: index of the rank that it contradicts most.
        by_ns: size of the contradiction, ns.
        calls: group and number of the calls with the largest contradiction.
    """

    rank_index: int
    other: int
    by_ns: float
    calls: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Points:
    """The tightest limit in each bin for each rank: the limit nearest to the rank's rough offset.

    Lower limits are negated and become upper limits.

    Attributes:
        at: time of the limit on the rank's clock, ns, shape (bin, rank).
        limit: largest correction at this time, ns; inf: none.
        call: the call that gives the limit: group << 40 | row.
    """

    at: Floats
    limit: Floats
    call: Integers


@dataclass(frozen=True)
class BinnedCalls:
    """The calls of a group, sorted by bin. Arrays have a row per call and a column per rank, if nothing else is stated.

    Attributes:
        indexes: for each column, the index of its rank among all ranks.
        order: for each row, the row of the call in the group.
        bins: the bins that have calls, ascending.
        first: for each of these bins, its first row.
        entry: entries that precede exits on other ranks, ns after each rank's origin; NaN: no limit comes from it.
        leave: exits that follow entries on other ranks, in the same form.
        rough_at_entry: rough offset of the rank at the entry, ns.
        rough_at_exit: rough offset of the rank at the exit, ns.
        hidden_at_entry: largest undetected excursion of the rank's clock at the entry, ns; 0 for free-running clocks.
        hidden_at_exit: the excursion at the exit, ns.
    """

    indexes: Integers
    order: Integers
    bins: Integers
    first: Integers
    entry: Floats
    leave: Floats
    rough_at_entry: Floats
    rough_at_exit: Floats
    hidden_at_entry: Floats
    hidden_at_exit: Floats


def limits_between(at: Floats, nodes: Floats, values: Floats, curve: float | Floats) -> Floats:
    """Interpolates upper limits between nodes, for a function f with |f''| <= 2 curve.

    Args:
        at: times, ns, within the nodes or NaN.
        nodes: ns.
        values: limits at the nodes, ns; inf: none.
        curve: 1/ns, of all intervals or of each; inf: the clock may be steered in the interval, and be set once.
    """
    left = np.clip(np.searchsorted(nodes, at, side="right") - 1, 0, len(nodes) - 2)
    before, after = at - nodes[left], nodes[left + 1] - at
    share = before / (before + after)
    finite = np.where(np.isfinite(values), values, 0.0)
    bend = np.asarray(curve) if np.ndim(curve) == 0 else np.asarray(curve)[left]
    steered = np.isinf(bend)
    result: Floats = finite[left] * (1.0 - share) + finite[left + 1] * share
    result = result + np.where(steered, 0.0, bend) * before * after
    if steered.any():
        tent = np.maximum(finite[left] + STEERED_RATE * before, finite[left + 1] + STEERED_RATE * after)
        result = np.where(steered, tent, result)
    if not np.isfinite(values).all():
        unknown = ~np.isfinite(values)
        result = np.where(unknown[left] & (share < 1.0) | unknown[left + 1] & (share > 0.0), np.inf, result)
    return result


def smallest_elsewhere(values: Floats) -> Floats:
    """Returns, for each element, the smallest value in the other columns of its row."""
    chosen = np.argmin(values, axis=1)[:, None]
    first = np.take_along_axis(values, chosen, axis=1)
    remaining = values.copy()
    np.put_along_axis(remaining, chosen, np.inf, axis=1)
    smallest: Floats = np.where(np.arange(values.shape[1]) == chosen, remaining.min(axis=1)[:, None], first)
    return smallest


def reach(at: Floats, limit: Floats, nodes: Floats, curve: float, rate: float = MAX_RATE) -> Floats:
    """Computes the upper limits at the nodes that limits at other times imply; inf: no limit.

    The rate is at most `rate`, so a limit extends to other times and weakens linearly. If the second derivative is at
    least -2 curve, the offset plus curve t^2 is convex and lies below the chords between its limits: the lower convex
    hull (monotone chain) gives the tightest limits.
    """
    known = np.isfinite(limit)
    if not known.any():
        return np.full(len(nodes), np.inf)
    times, values = np.concatenate([at[known], nodes]), np.concatenate([limit[known], np.full(len(nodes), np.inf)])
    order = np.argsort(times, kind="stable")
    # The largest rate gives each node a finite limit, which the hull needs.
    times, values = times[order], slanted(times[order], values[order], rate)
    middle = times[len(times) // 2]
    x, y = times - middle, values + curve * (times - middle) ** 2
    hull: list[int] = []
    xs, ys = x.tolist(), y.tolist()
    for k in range(len(xs)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (ys[b] - ys[a]) * (xs[k] - xs[a]) < (ys[k] - ys[a]) * (xs[b] - xs[a]):
                break
            hull.pop()
        if hull and xs[hull[-1]] == xs[k]:
            ys[hull[-1]] = min(ys[hull[-1]], ys[k])
            continue
        hull.append(k)
    away = nodes - middle
    limits = np.interp(away, x[hull], np.array(ys)[hull]) - curve * away**2
    return slanted(nodes, limits, rate)  # limits that the hull tightened tighten their neighbors


def slanted(at: Floats, values: Floats, rate: float = MAX_RATE) -> Floats:
    """Tightens upper limits at ascending times so that neighbors differ by at most the largest rate."""
    result: Floats = np.minimum(*both_ways(at, values, rate))
    return result


def both_ways(at: Floats, values: Floats, rate: float) -> tuple[Floats, Floats]:
    """Returns upper limits at ascending times from the limits at or before each time, and from those at or after it."""
    ahead = np.minimum.accumulate(values - rate * at) + rate * at
    behind = np.minimum.accumulate((values + rate * at)[::-1])[::-1] - rate * at
    return ahead, behind


def steered_reach(at: Floats, limit: Floats, nodes: Floats, stretches: Sequence[Stretch], single: bool) -> Floats:
    """Computes upper limits at the nodes for a clock that may be steered except along some stretches.

    Args:
        at: times of the limits, ns.
        limit: ns; inf: none.
        nodes: ns.
        stretches: stretches of steady course, as indexes of these nodes.
        single: true: the clock may be set once outside of the stretches, so the weaker limit of both sides holds.
    """
    known = np.isfinite(limit)
    limits = np.full(len(nodes), np.inf)
    for stretch in stretches:
        span = slice(stretch.begin, stretch.end)
        near = known & (at >= nodes[stretch.begin]) & (at <= nodes[stretch.end - 1])
        along = reach(at[near], limit[near], nodes[span], stretch.curve, STEERED_RATE) + stretch.margin
        limits[span] = np.minimum(limits[span], along)
    times = np.concatenate([at[known], nodes])
    order = np.argsort(times, kind="stable")
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    values = np.concatenate([limit[known], limits])[order]
    ahead, behind = (side[position[-len(nodes) :]] for side in both_ways(times[order], values, STEERED_RATE))
    if not single:
        return np.asarray(np.minimum(np.minimum(ahead, behind), limits))
    if known.sum() >= MANY:
        ahead, behind = np.where(np.isinf(ahead), behind, ahead), np.where(np.isinf(behind), ahead, behind)
    return np.asarray(np.minimum(np.maximum(ahead, behind), limits))


class Limits:
    """Limits on all clocks from the calls of all ranks: no exit precedes an entry that it depends on.

    Attributes:
        groups: calls of groups of ranks.
        nodes: times of the limits, ns.
        curve: largest second derivative of the difference of two clocks, halved, 1/ns.
        ranks: number of ranks.
        steering: detected movements of the clocks; None: all clocks are free-running.
        reference: index of the rank whose offset is zero in the current sweep.
        single: true: a clock may be set once between stretches of steady course (see `steered_reach`).
        torn: flags of ranks and nodes; true: no limit comes from the node, and no limit extends over it.
        calls: calls of each group, by bin.
    """

    def __init__(
        self,
        groups: Sequence[GroupCalls],
        rank_indexes: Sequence[Integers],
        entries: Sequence[Floats],
        exits: Sequence[Floats],
        bins: Sequence[Integers],
        nodes: Floats,
        base: Floats,
        resolution: Floats,
        curve: float,
        steering: Steering | None = None,
    ) -> None:
        """Sorts the calls of each group by bin, and interpolates the rough offsets at their entries and exits.

        Args:
            groups: calls of groups of ranks.
            rank_indexes: for each group, the index of its ranks among all ranks.
            entries: for each group, the entries into its calls, ns after each rank's origin; NaN: no such call.
            exits: for each group, the exits from its calls, in the same form.
            bins: for each group, the bin of each call.
            nodes: ns; a node in each bin and one at each end.
            resolution: of each rank's clock, ns.
            curve: largest second derivative of the difference of two clocks, halved, 1/ns.
            base: rough offsets of each rank at each node; the limit closest to them is the tightest of its bin.
            steering: detected movements of the clocks; None: all clocks are free-running.
        """
        self.groups, self.nodes, self.curve, self.ranks = groups, nodes, curve, len(base)
        self.steering, self.reference, self.single = steering, 0, False
        self.torn = np.zeros(base.shape, dtype=bool) if steering is None else steering.torn.copy()
        self.calls: list[BinnedCalls] = []
        for number, group in enumerate(groups):
            indexes = rank_indexes[number]
            precede, follow = group.before()  # flags of entries and of exits
            order = np.argsort(bins[number], kind="stable")
            bin_of = bins[number][order]
            first = np.flatnonzero(np.diff(bin_of, prepend=-1))
            # A time stamp may precede its event by the clock's resolution.
            entry = np.where(precede, np.maximum(entries[number] - resolution[indexes], nodes[0]), np.nan)[order]
            leave = np.where(follow, exits[number] + resolution[indexes], np.nan)[order]
            leave = np.minimum(leave, nodes[-1])
            hidden = [np.zeros(entry.shape)] * 2
            if steering is not None:
                hidden = [
                    np.stack([steering.hidden(rank, times[:, i]) for i, rank in enumerate(indexes)], axis=1)
                    for times in (entry, leave)
                ]
            rough = [
                np.stack([np.interp(times[:, i], nodes, base[index]) for i, index in enumerate(indexes)], axis=1)
                for times in (entry, leave)
            ]
            self.calls.append(BinnedCalls(indexes, order, bin_of[first], first, entry, leave, *rough, *hidden))

    def points(self, lower: Floats, upper: Floats, only: int | None = None) -> tuple[Points, Points]:
        """Finds the tightest upper and lower limit of each rank in each bin, from the limits of its peers.

        The tightest limit is the one nearest to the rough offset, because limits at different times are not comparable.

        Args:
            lower: lower limits of all ranks at the nodes.
            upper: upper limits of all ranks at the nodes.
            only: index of a rank; only its calls limit the clocks of its peers; None: the calls of all ranks do.
        """
        shape = (len(self.nodes) - 2, self.ranks)
        results = []
        for side, bound in ((1.0, upper), (-1.0, -lower)):  # lower limits are negated and become upper limits
            at, limit, distance = np.zeros(shape), np.full(shape, np.inf), np.full(shape, np.inf)
            call = np.zeros(shape, dtype=np.int64)
            for number, group in enumerate(self.calls):
                # A rank's entry precedes its peers' exits: an upper limit. Its exit follows their entries: a lower one.
                if side > 0:
                    peer_times, local_times, rough = group.leave, group.entry, group.rough_at_entry
                    peer_hidden, local_hidden = group.hidden_at_exit, group.hidden_at_entry
                else:
                    peer_times, local_times, rough = group.entry, group.leave, group.rough_at_exit
                    peer_hidden, local_hidden = group.hidden_at_entry, group.hidden_at_exit
                known = np.full(peer_times.shape, np.inf)
                for i, index in enumerate(group.indexes):
                    if (only is None or index == only) and np.isfinite(bound[index]).any():
                        known[:, i] = side * peer_times[:, i] + limits_between(
                            peer_times[:, i], self.nodes, bound[index], self.bends(index)
                        )
                        # Offsets are against the reference, whose clock therefore has no excursion.
                        known[:, i] += peer_hidden[:, i] if index != self.reference else 0.0
                known = np.where(np.isnan(known), np.inf, known)
                room = np.where(
                    np.isfinite(local_times), smallest_elsewhere(known) - side * local_times + local_hidden, np.inf
                )
                from_rough = np.where(np.isfinite(room), room - side * rough, np.inf)
                least = np.minimum.reduceat(from_rough, group.first, axis=0)
                counts = np.diff(group.first, append=len(from_rough))
                tightest = from_rough == np.repeat(least, counts, axis=0)
                row = np.where(tightest, np.arange(len(from_rough))[:, None], len(from_rough))
                row = np.minimum.reduceat(row, group.first, axis=0)
                where = np.ix_(group.bins, group.indexes)
                better = least < distance[where]
                values = (np.take_along_axis(array, row, axis=0) for array in (room, local_times))
                for target, new in zip(
                    (limit, at, distance, call), (*values, least, number << 40 | group.order[row]), strict=True
                ):
                    target[where] = np.where(better, new, target[where])
            results.append(Points(at, limit, call))
        return results[0], results[1]

    def reached(self, points: Points, rank: int, torn: NDArray[np.bool_]) -> Floats:
        """Returns the upper limits of a rank at the nodes; each stretch between torn nodes uses only its own bins."""
        limits = np.full(len(self.nodes), np.inf)
        edges = np.flatnonzero(np.diff(torn, prepend=True, append=True))
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            bins = slice(max(begin - 1, 0), end - 1)  # node k is in bin k - 1; the first and last node are in no bin
            at, limit, nodes = points.at[bins, rank], points.limit[bins, rank], self.nodes[begin:end]
            if self.steering is None:
                limits[begin:end] = reach(at, limit, nodes, self.curve)
            else:
                # Stretches are against the first rank's clock.
                stretches = self.steering.within(rank, int(begin), int(end)) if self.reference == 0 else []
                limits[begin:end] = steered_reach(at, limit, nodes, stretches, self.single)
        return limits

    def bends(self, rank: int) -> float | Floats:
        """Returns the largest curvature of a rank's clock against the reference; see `limits_between`.

        Curvatures of steered clocks are known against the first rank's clock only; against another they are infinite.
        """
        if self.steering is None or rank == self.reference:
            return self.curve
        return self.steering.curves[rank] if self.reference == 0 else np.full(len(self.nodes) - 1, np.inf)

    def sweep(self, reference: int, barred: Sequence[int]) -> tuple[Floats, Floats]:
        """Computes the limits of each rank's clock against a reference clock.

        Limits propagate from rank to rank until they no longer change: Bellman-Ford shortest paths over all ranks.

        Args:
            reference: index of the rank whose offset is zero.
            barred: indexes of ranks whose calls are ignored.
        """
        shape = (self.ranks, len(self.nodes))
        self.reference = reference
        lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
        lower[reference] = upper[reference] = 0.0
        silent = np.isin(np.arange(self.ranks), barred)[:, None]
        # A limit passes through at most all ranks, one in each round; the loop normally ends earlier.
        for _ in range(self.ranks + 2):
            sides = self.points(np.where(silent, -np.inf, lower), np.where(silent, np.inf, upper))
            change = 0.0
            for rank in range(self.ranks):
                if rank == reference:
                    continue
                for limits, points, sign in ((upper, sides[0], 1.0), (lower, sides[1], -1.0)):
                    new = np.minimum(sign * limits[rank], self.reached(points, rank, self.torn[rank]))
                    with np.errstate(invalid="ignore"):
                        change = max(change, float(np.nan_to_num(sign * limits[rank] - new, posinf=np.inf).max()))
                    limits[rank] = sign * new
            contradicted = (lower - upper > CLOCK_ROUNDING).any(axis=1) & ~silent[:, 0]
            if change < SETTLED_NS or contradicted.any():
                break
        return lower, upper

    def settle(self) -> tuple[Floats, Floats, NDArray[np.bool_], tuple[Conflict, ...]]:
        """Computes the limits of all ranks against the first rank, the torn nodes, and the conflicts.

        Ranks whose calls contradict those of most peers are removed one by one. The clock of such a rank may be
        consistent in stretches, between which it was set. The fewest stretches are built from the left and from the
        right; the clock is torn where both partitions differ.
        """
        conflicts: list[Conflict] = []
        barred: list[int] = []
        reference = 0
        while True:
            lower, upper = self.sweep(reference, barred)
            with np.errstate(invalid="ignore"):
                room = (upper - lower).min(axis=1)
            room[barred] = np.inf
            if room.min() >= -CLOCK_ROUNDING or len(barred) >= self.ranks - 1:
                break
            conflict = self.conflict(int(np.argmin(room)), -float(room.min()), barred)
            conflicts.append(conflict)
            barred.append(conflict.rank_index)
            if conflict.rank_index == reference and len(barred) < self.ranks:
                reference = next(rank for rank in range(self.ranks) if rank not in barred)
        if not barred and self.steering is None:
            return lower, upper, self.torn, ()
        for rank in barred:
            # Compare with the limits of all ranks. If the first rank's clock is torn, all are: it is the axis.
            self.torn[rank] |= self.tears(self.points(lower, upper), rank)
        if 0 in barred:
            self.torn |= self.torn[0]
        self.single = self.steering is not None
        # A clock that may be steered in some interval, and may be set once there, needs another sweep.
        if barred or (self.steering is not None and np.isinf(self.steering.curves).any()):
            lower, upper = self.sweep(0, [rank for rank in barred if rank])
        crossed = lower > upper + CLOCK_ROUNDING
        self.torn |= crossed
        lower, upper = np.where(self.torn, -np.inf, lower), np.where(self.torn, np.inf, upper)
        return lower, upper, self.torn, tuple(conflicts)

    def tears(self, sides: tuple[Points, Points], rank: int) -> NDArray[np.bool_]:
        """Flags the nodes around which a rank's clock was set.

        Args:
            sides: upper and lower limits, from `points`.
            rank: index of the rank.
        """
        bins = len(self.nodes) - 2

        def holds(edge: int, onward: int, count: int) -> bool:
            begin, end = sorted((edge, edge + onward * count))
            stretch = np.ones(bins + 2, dtype=bool)
            stretch[begin + 1 : end + 1] = False
            upper, lower = (self.reached(side, rank, stretch) for side in sides)
            inside = slice(begin + 1, end + 1)
            return bool((-lower[inside] <= upper[inside] + CLOCK_ROUNDING).all())

        right, left = [0], [bins]
        while right[-1] < bins:  # each stretch is as long as its limits are consistent
            begin = right[-1]
            right.append(begin + furthest(partial(holds, begin, 1), bins - begin))
        while left[-1] > 0:
            end = left[-1]
            left.append(end - furthest(partial(holds, end, -1), end))
        torn = np.zeros(bins + 2, dtype=bool)
        # Both partitions have the fewest stretches, so their inner edges form pairs; rounding may leave one over.
        # Edge k is between the bins k - 1 and k, which have the nodes k and k + 1.
        for begin, end in zip(sorted(left)[1:-1], right[1:-1], strict=False):
            torn[min(begin, end) : max(begin, end) + 2] = True
        torn[0], torn[-1] = torn[1], torn[-2]
        return torn

    def conflict(self, rank: int, by_ns: float, barred: Sequence[int]) -> Conflict:
        """Finds the rank whose calls contradict those of most peers, and its conflict.

        Args:
            rank: the rank with the largest contradiction, if no pair of ranks contradicts.
            by_ns: size of that contradiction, ns.
            barred: ranks that were removed before.
        """
        shape = (self.ranks, len(self.nodes))
        rate = MAX_RATE if self.steering is None else STEERED_RATE
        room = np.full((self.ranks, self.ranks), np.inf)
        evidence = {}
        for source in range(self.ranks):
            alone = np.full(shape, np.inf)
            alone[source] = 0.0
            self.reference = source  # until the next sweep
            sides = self.points(-alone, alone, source)
            for other in range(self.ranks):
                if other != source and source not in barred and other not in barred:
                    upper, lower = (self.reached(side, other, self.torn[other]) for side in sides)
                    with np.errstate(invalid="ignore"):
                        gap = np.nan_to_num(upper + lower, nan=np.inf)  # lower limits are negated; < 0: contradiction
                    room[source, other] = gap.min()
                    evidence[source, other] = sides, int(np.argmin(gap))
        contradicted = (room < -CLOCK_ROUNDING).sum(axis=1)
        if not contradicted.any():  # only a cycle of three or more ranks contradicts
            return Conflict(max(rank, 1), 0, by_ns, ())  # the first rank stays, because it is the axis of the result
        index = int(np.argmax(contradicted))
        if contradicted[index] < 2:  # a pair: the higher index is removed, so that the first rank stays
            index = max(index, int(np.argmin(room[index])))
        other = int(np.argmin(room[index]))
        (sides, node), calls = evidence[index, other], []
        for side in sides:
            away = np.abs(side.at[:, other] - self.nodes[node])
            call = int(side.call[np.argmin(side.limit[:, other] + rate * away), other])
            group = self.groups[call >> 40]
            calls.append((group.name, int(group.number[call & (1 << 40) - 1])))
        return Conflict(index, other, -float(room[index, other]), tuple(dict.fromkeys(calls)))


def furthest(holds: Callable[[int], bool], limit: int) -> int:
    """Finds the largest number from 1 to `limit` up to which a monotone predicate holds: galloping, binary search."""
    low, high = 1, 2
    while high <= limit and holds(high):
        low, high = high, 2 * high
    high = min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
