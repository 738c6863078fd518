"""One axis for the clocks of several ranks, from the collectives that they took part in.

A collective of all waits for all: no rank leaves before the last one has entered. So for ranks i and
j, and what has to be added to their clocks c: entry_i + c_i <= exit_j + c_j, for every call. Each rank has two
limits, against the last entry and the first exit of all others. The line in the middle of both is the estimate; what
the limits allow is the bound. Duda, Harrus, Haddad and Bernard (ICDCS 1987) did this for pairs of messages.

Clocks are lines within a window. A clock whose rate changes by at most `wander` per second is within wander T^2 / 16
of a line over a window of T seconds; that is added to the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from downbeat.align.calls import Integers
from downbeat.align.matching import Floats, Group

MOST_RATE = 200e-6  # difference of two clocks that keep 100 ppm each
WINDOW = 10.0  # s; longer where there are few calls
FEWEST = 20  # calls in a window


@dataclass(frozen=True)
class Conflict:
    """Calls of two ranks that contradict each other whatever their clocks are, if these are lines.

    Attributes:
        place, other: of the ranks among all; the calls of the first contradict those of most others.
        by_ns: by how much.
        calls: group and number of those that contradict each other most.
    """

    place: int
    other: int
    by_ns: float
    calls: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Window:
    """The clocks in a stretch of time.

    Attributes:
        middle: ns after the origin.
        length: ns.
        offset, rate: of each rank: to be added to its clock at the middle, ns; and per ns. NaN: nothing ties it.
        expected: error of each rank at the middle, ns.
        nodes: times at which the limits are known, ns after the middle; straight lines between them hold, too.
        lower, upper: least and largest error of each rank's estimate at each node, ns.
        conflicts: found.
    """

    middle: float
    length: float
    offset: Floats
    rate: Floats
    expected: Floats
    nodes: Floats
    lower: Floats
    upper: Floats
    conflicts: tuple[Conflict, ...]

    def error(self, place: int, at: Floats) -> Floats:
        """Returns the expected error of a rank's estimate at times after the middle, ns; a line's is least there."""
        error: Floats = self.expected[place] * np.sqrt(1.0 + 12.0 * (at / self.length) ** 2)
        return error

    def bound(self, place: int, at: Floats) -> Floats:
        """Returns how wrong a rank's estimate may be at times after the middle, ns."""
        limit = np.maximum(-self.lower[place], self.upper[place])
        outside = np.maximum(np.maximum(self.nodes[0] - at, at - self.nodes[-1]), 0.0)
        bound: Floats = np.interp(at, self.nodes, limit) + outside * (MOST_RATE + abs(self.rate[place]))
        return bound


class Axis:
    """The clocks of all ranks against that of the first.

    Attributes:
        ranks: of the job, ascending.
        origin: of each rank, ns on its clock: about the same instant on all.
        windows: by time.
    """

    def __init__(self, ranks: Integers, origin: Integers, windows: Sequence[Window]) -> None:
        self.ranks, self.origin, self.windows = ranks, origin, windows

    def correct(self, rank: int, times: Integers) -> tuple[Integers, Floats, Floats]:
        """Returns times of a rank's clock on the first rank's, their bounds and expected errors; all in ns.

        A bound is infinite, and an expected error NaN, where nothing ties the rank to the first one.
        """
        if rank not in self.ranks:
            return times, np.full(len(times), np.inf), np.full(len(times), np.nan)
        place = int(np.searchsorted(self.ranks, rank))
        # Times since 1970 in ns do not fit into a double.
        moved = times + (self.origin[0] - self.origin[place])
        tied = [window for window in self.windows if np.isfinite(window.offset[place])]
        if not tied:
            return moved, np.full(len(times), np.inf), np.full(len(times), np.nan)
        since = (times - self.origin[place]).astype(float)
        middles = np.array([window.middle for window in tied])
        shift, bound, expected = np.zeros(len(times)), np.full(len(times), 0.5), np.zeros(len(times))
        for share, window in zip(np.eye(len(tied)), tied, strict=True):  # neighbors fade into each other
            weight = np.interp(since, middles, share)
            at = since - window.middle
            shift += weight * (window.offset[place] + window.rate[place] * at)
            bound += np.where(weight > 0, weight * np.where(weight > 0, window.bound(place, at), 0.0), 0.0)
            expected += np.where(weight > 0, weight * np.where(weight > 0, window.error(place, at), 0.0), 0.0)
        for window in self.windows:
            if any(conflict.place in (place, 0) for conflict in window.conflicts):
                torn = np.abs(since - window.middle) <= window.length / 2
                bound[torn], expected[torn] = np.inf, np.nan
        return moved + np.rint(shift).astype(np.int64), bound, expected


@dataclass(frozen=True)
class Stretch:
    """The calls of a group in a window, as floating-point times after its middle; inf: puts no limit on anybody.

    Attributes:
        group: of the calls.
        columns: of the group's ranks, among all.
        rows: of the group's calls.
        arrival: entries, ns; NaN: the rank has no such call.
        entry, exit: ns; whose entry or exit limits nobody has -inf or inf.
    """

    group: Group
    columns: Integers
    rows: Integers
    arrival: Floats
    entry: Floats
    exit: Floats


class Limits:
    """Two sides between which the correction of each column's clock lies: points (time, limit), few for each.

    Attributes:
        at: 2 x BINS x columns, ns after the middle: of the lower limits, of the upper ones.
        limit: likewise, ns; -inf and inf where there is none.
        call: likewise, which: number of the stretch << 40 | row.
    """

    BINS = 64  # in a window, each with its tightest limit: a limit that is left out weakens a bound, no more

    def __init__(self, columns: int) -> None:
        shape = (2, self.BINS, columns)
        self.at, self.call = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        self.limit = np.stack([np.full(shape[1:], -np.inf), np.full(shape[1:], np.inf)])

    def add(self, side: int, first: int, at: Floats, limit: Floats, columns: Integers, edges: Integers) -> None:
        """Adds limits, a row per call.

        Args:
            side: 0: lower, 1: upper ones.
            first: what `call` of the first row is.
            at: ns.
            limit: ns.
            columns: of them.
            edges: first row of each bin, and the number of rows.
        """
        pick = (np.argmax, np.argmin)[side]
        for place in np.flatnonzero(np.diff(edges)):
            begin, end = edges[place], edges[place + 1]
            row = begin + pick(limit[begin:end], axis=0)
            value = limit[row, np.arange(len(columns))]
            old = self.limit[side, place, columns]
            better = value < old if side else value > old
            where = columns[better]
            self.limit[side, place, where] = value[better]
            self.at[side, place, where] = at[row[better], np.flatnonzero(better)]
            self.call[side, place, where] = first + row[better]

    def reach(self, side: int, rate: Floats) -> Floats:
        """Returns the value at time 0 of the line of each rate that touches a side from within; inf: no limits."""
        lines = self.limit[side] - rate * self.at[side]
        reached: Floats = lines.min(axis=0) if side else lines.max(axis=0)
        return reached

    def moved(self, offset: float) -> Limits:
        """Returns the same limits with time 0 moved."""
        other = Limits(0)
        other.at, other.limit, other.call = self.at - offset, self.limit, self.call
        return other


def best_rate(limits: Limits, weights: Floats, most: Floats) -> Floats:
    """Returns the rates that maximize what is left between the sides at time 0, by golden section: it is concave.

    Args:
        limits: of the columns.
        weights: 2 x columns: how much a side counts.
        most: of each column, largest rate.
    """
    weights = np.where(np.isfinite(limits.limit).any(axis=1), weights, 0.0)

    def left(rate: Floats) -> Floats:
        sides = [np.where(weights[side] > 0, limits.reach(side, rate), 0.0) for side in (0, 1)]
        total: Floats = weights[1] * sides[1] - weights[0] * sides[0]
        return total

    ratio = (np.sqrt(5.0) - 1.0) / 2.0
    low, high = -most, most
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = left(a), left(b)
    for _ in range(45):
        up = at_a < at_b
        low, high = np.where(up, a, low), np.where(up, high, b)
        a, b = np.where(up, b, high - ratio * (high - low)), np.where(up, low + ratio * (high - low), a)
        new = left(np.where(up, b, a))
        at_a, at_b = np.where(up, at_b, new), np.where(up, new, at_a)
    middle: Floats = (low + high) / 2.0
    return middle


def others(values: Floats, side: int) -> Floats:
    """Returns of each row and column the largest (side 0) or smallest value of the other columns."""
    worst = np.inf if side else -np.inf
    pick, best = ((np.argmax, np.max), (np.argmin, np.min))[side]
    chosen = pick(values, axis=1)[:, None]
    first = np.take_along_axis(values, chosen, axis=1)
    rest = values.copy()
    np.put_along_axis(rest, chosen, worst, axis=1)
    found: Floats = np.where(np.arange(values.shape[1]) == chosen, best(rest, axis=1)[:, None], first)
    return found


class Clocks:
    """The estimate in one window.

    Attributes:
        offset, rate: of each rank, see `Window`; NaN: not placed.
    """

    ROUNDS = 300
    SETTLED = 0.2  # ns
    DAMPING = 0.6
    CALIBRATED = 1.5  # so that 68 % of true errors are within the expected one (test_align_axis.py)

    def __init__(self, stretches: Sequence[Stretch], ranks: int, length: float, resolution: Floats) -> None:
        self.stretches, self.ranks, self.length, self.resolution = stretches, ranks, length, resolution
        self.offset, self.rate = np.full(ranks, np.nan), np.full(ranks, np.nan)
        self.barred = np.zeros(ranks, dtype=bool)
        bins = np.linspace(-length / 2, length / 2, Limits.BINS + 1)[1:-1]
        self.edges = []
        for stretch in stretches:
            middle = np.where(np.isfinite(stretch.exit), stretch.exit, np.inf).min(axis=1)
            self.edges.append(np.array([0, *np.searchsorted(np.maximum.accumulate(middle), bins), len(middle)]))

    def correction(self, columns: Integers, at: Floats) -> Floats:
        """Returns what to add to times of some ranks, ns."""
        values: Floats = self.offset[columns] + self.rate[columns] * np.where(np.isfinite(at), at, 0.0)
        return values

    def limits(self, side_errors: tuple[Floats, Floats] | None = None, nodes: Floats | None = None) -> Limits:
        """Returns what all placed ranks say of each rank's correction, placed or not.

        Args:
            side_errors: least and largest error of each rank at the nodes; None: none.
            nodes: ns after the middle.
        """
        limits = Limits(self.ranks)
        for number, stretch in enumerate(self.stretches):
            columns = stretch.columns
            for side, (theirs, mine) in enumerate(((stretch.entry, stretch.exit), (stretch.exit, stretch.entry))):
                known = self.correction(columns, theirs)
                if side_errors is not None and nodes is not None:
                    known = known + np.stack(
                        [np.interp(theirs[:, i], nodes, side_errors[side][c]) for i, c in enumerate(columns)], axis=1
                    )
                worst = np.inf if side else -np.inf
                limit = others(np.where(np.isfinite(known), theirs + known, worst), side) - np.where(
                    np.isfinite(mine), mine, -worst
                )
                limit = np.where(np.isfinite(mine), limit, worst)
                at = np.where(np.isfinite(mine), mine, 0.0)
                limits.add(side, number << 40, at, limit, columns, self.edges[number])
        return limits

    def place(self, reference: int) -> None:
        """Places ranks one after the other, from the reference on: each against those that are placed."""
        self.offset[:] = self.rate[:] = np.nan
        self.offset[reference] = self.rate[reference] = 0.0
        while True:
            found = self.fit(self.limits(), 0.0)
            new = np.isnan(self.offset) & np.isfinite(found[0]) & ~self.barred
            if not new.any():
                return
            self.offset[new], self.rate[new] = found[0][new], found[1][new]

    def fit(self, limits: Limits, usual: float) -> tuple[Floats, Floats, Floats]:
        """Returns offset, rate and width of the room between the limits, of each rank.

        A rank with limits on one side only is placed at half of the usual width from it.
        """
        rate = best_rate(limits, np.ones((2, self.ranks)), np.full(self.ranks, MOST_RATE))
        low, high = limits.reach(0, rate), limits.reach(1, rate)
        low, high = np.where(np.isinf(low), high - usual, low), np.where(np.isinf(high), low + usual, high)
        known = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(known, low, np.nan), np.where(known, high, np.nan)
        return (low + high) / 2.0, rate, high - low

    def conflict(self, width: Floats) -> Conflict:
        """Returns the conflict of the rank whose calls contradict those of most others."""
        pairs = [self.against(place) for place in range(self.ranks)]
        widths = np.array([self.fit(limits, 0.0)[2] for limits in pairs])
        widths[:, np.isnan(self.offset)] = widths[np.isnan(self.offset)] = np.nan
        contradicted = (widths < 0).sum(axis=1)
        place = int(np.argmax(contradicted)) if contradicted.any() else 1 + int(np.nanargmin(width[1:]))
        if contradicted.max() < 2:  # between two, take the one that is not the reference
            place = max(place, int(np.nanargmin(widths[place]))) if contradicted.any() else place
        other = int(np.nanargmin(widths[place])) if contradicted.any() else 0
        limits = pairs[place]
        rate = best_rate(limits, np.ones((2, self.ranks)), np.full(self.ranks, MOST_RATE))
        calls = []
        for side, pick in enumerate((np.argmax, np.argmin)):
            row = pick((limits.limit[side] - rate * limits.at[side])[:, other])
            call = int(limits.call[side, row, other])
            stretch = self.stretches[call >> 40]
            calls.append((stretch.group.name, int(stretch.group.number[stretch.rows[call & (1 << 40) - 1]])))
        by_ns = -float(widths[place, other] if contradicted.any() else width[place])
        return Conflict(place, other, by_ns, tuple(dict.fromkeys(calls)))

    def against(self, place: int) -> Limits:
        """Returns what a rank's calls say of its clock against each other rank's, as that runs."""
        limits = Limits(self.ranks)
        for number, stretch in enumerate(self.stretches):
            for mine in np.flatnonzero(stretch.columns == place):
                for side, (theirs, own) in enumerate(((stretch.entry, stretch.exit), (stretch.exit, stretch.entry))):
                    worst, at = np.inf if side else -np.inf, own[:, [mine]]
                    known = np.isfinite(theirs) & np.isfinite(at)
                    limit = np.where(known, theirs - np.where(np.isfinite(at), at, 0.0), worst)
                    limit[:, mine] = worst
                    limits.add(side, number << 40, np.where(known, at, 0.0), limit, stretch.columns, self.edges[number])
        return limits

    def settle(self, reference: int) -> tuple[Floats, Floats]:
        """Moves all ranks between their limits until they rest. Returns widths and expected errors, ns."""
        usual, width = 0.0, np.zeros(self.ranks)
        placed = np.isfinite(self.offset)
        for _ in range(self.ROUNDS):
            offset, rate, width = self.fit(self.limits(), usual)
            usual = float(np.nanmedian(width[placed])) if np.isfinite(width[placed]).any() else 0.0
            step, turn = offset - self.offset, rate - self.rate
            # The reference rests: all others move against it.
            step, turn = step - np.nan_to_num(step[reference]), turn - turn[reference]
            self.offset[placed] += self.DAMPING * np.nan_to_num(step[placed])
            self.rate[placed] += self.DAMPING * turn[placed]
            moved = (np.abs(step) + np.abs(turn) * self.length / 2)[placed]
            if not (moved >= self.SETTLED).any():
                break
        return np.where(placed, width, np.nan), self.expected(self.limits(), reference)

    def apart(self) -> Floats:
        """Returns how far each rank keeps from being the last one, or from not being it, in all calls, ns.

        The middle between the limits of a rank that is late by m or more in every call is m / 2 too early, and shows it
        late by m / 2 or more. Whether that is its clock or the rank, no call shows.
        """
        nearest = np.full((2, self.ranks), np.inf)
        for stretch in self.stretches:
            columns = stretch.columns
            arrival = stretch.arrival + self.correction(columns, stretch.arrival)
            known = np.isfinite(arrival)
            source, sink = np.isfinite(stretch.entry) & known, np.isfinite(stretch.exit) & known
            latest = others(np.where(source, arrival, -np.inf), 0)
            waiting = np.maximum(latest, others(np.where(sink, arrival, np.inf), 1))
            mine = np.where(known, arrival, 0.0)
            after = np.where(sink & np.isfinite(latest), np.maximum(mine - latest, 0.0), np.inf).min(axis=0)
            before = np.where(source & np.isfinite(waiting), np.maximum(waiting - mine, 0.0), np.inf).min(axis=0)
            nearest[:, columns] = np.minimum(nearest[:, columns], (after, before))
        total: Floats = nearest.sum(axis=0)
        return total

    def scatter(self, limits: Limits, side: int) -> Floats:
        """Returns how far apart the tightest limits of a side are, ns; inf if there are too few to say."""
        room = limits.limit[side] - self.rate * limits.at[side]
        room = np.sort(room if side else -room, axis=0)[:4]
        with np.errstate(invalid="ignore"):
            apart: Floats = np.where(np.isfinite(room[3]), (room[3] - room[0]) / 3.0, np.inf)
        return apart

    def expected(self, limits: Limits, reference: int) -> Floats:
        """Returns the standard error of each estimate at the middle, ns, from how the tightest limits scatter."""
        scatter = np.hypot(self.scatter(limits, 0), self.scatter(limits, 1))
        total: Floats = np.hypot(self.CALIBRATED * scatter, self.resolution / np.sqrt(6.0)) + self.apart()
        total[reference] = 0.0
        return total

    def bounds(self, reference: int, nodes: Floats, slack: float) -> tuple[Floats, Floats]:
        """Returns the least and the largest error of each rank at the nodes, ns, against the reference.

        Each rank's limits hold if those of all others do: the sweeps are shortest paths between all of them.

        Args:
            reference: its error is 0.
            nodes: ns after the middle.
            slack: ns: by how much two clocks differ from lines, and the resolution of times.
        """
        lower, upper = np.full((self.ranks, len(nodes)), -np.inf), np.full((self.ranks, len(nodes)), np.inf)
        lower[reference] = upper[reference] = 0.0
        most = MOST_RATE + np.abs(np.nan_to_num(self.rate))
        for _ in range(self.ranks + 2):
            limits = self.limits((lower, upper), nodes)
            limits.limit = limits.limit - np.nan_to_num(self.offset) - np.nan_to_num(self.rate) * limits.at
            before = lower.copy(), upper.copy()
            for place, node in enumerate(nodes):
                here = limits.moved(node)
                for side, (mine, sign) in enumerate(((lower, -1.0), (upper, 1.0))):
                    weights = np.zeros((2, self.ranks))
                    weights[side] = 1.0
                    best = here.reach(side, best_rate(here, weights, most)) + sign * slack
                    mine[:, place] = np.where(sign * best < sign * mine[:, place], best, mine[:, place])
            lower[reference] = upper[reference] = 0.0
            with np.errstate(invalid="ignore"):
                change = max(
                    np.nanmax(np.abs(a - b)) if np.isfinite(a).any() else 0.0
                    for a, b in zip(before, (lower, upper), strict=True)
                )
            if change < 1.0:
                break
        return lower, upper


def find_axis(groups: Sequence[Group], wander: float) -> Axis:
    """Returns the clocks of all ranks of the groups against that of the first.

    Args:
        groups: of calls.
        wander: largest change of a clock's rate, 1/s; the bounds hold for it.
    """
    ranks = np.unique(np.concatenate([group.ranks for group in groups]))
    origin = rough_origins(groups, ranks)
    resolution = np.array([clock_resolution(groups, rank) for rank in ranks], dtype=float)
    columns = [np.searchsorted(ranks, group.ranks) for group in groups]
    arrivals, entries, exits = [], [], []
    for group, mine in zip(groups, columns, strict=True):
        sources, sinks = group.before()
        arrivals.append(np.where(group.missing, np.nan, (group.entry - origin[mine]).astype(float)))
        entries.append(np.where(sources, arrivals[-1], -np.inf))
        exits.append(np.where(sinks, (group.exit - origin[mine]).astype(float), np.inf))
    when = [np.where(np.isfinite(one), one, np.inf).min(axis=1) for one in exits]
    every = np.sort(np.concatenate(when))
    every = every[np.isfinite(every)]
    duration = float(every[-1] - every[0])
    calls = max(1, len(every))
    length = min(max(WINDOW * 1e9, duration * FEWEST / calls), max(duration, 1.0))
    count = max(1, round(2 * duration / length) - 1) if duration > length else 1
    middles = every[0] + length / 2 + np.linspace(0.0, max(0.0, duration - length), count)
    windows = []
    for middle in middles:
        stretches = []
        for group, mine, arrival, entry, end, at in zip(groups, columns, arrivals, entries, exits, when, strict=True):
            rows = np.flatnonzero(np.abs(at - middle) <= length / 2 * (1 + 1e-9))
            rows = rows[np.argsort(at[rows], kind="stable")]
            if len(rows):
                stretches.append(
                    Stretch(group, mine, rows, arrival[rows] - middle, entry[rows] - middle, end[rows] - middle)
                )
        windows.append(find_window(stretches, float(middle), length, len(ranks), resolution, wander))
    return Axis(ranks, origin, windows)


def find_window(
    stretches: Sequence[Stretch], middle: float, length: float, ranks: int, resolution: Floats, wander: float
) -> Window:
    """Returns the clocks in a window. Ranks whose calls contradict the others' are left out of it."""
    clocks = Clocks(stretches, ranks, length, resolution)
    conflicts = []
    while True:
        clocks.place(0)
        width, expected = clocks.settle(0)
        if not (width < -2.0 * resolution.max()).any() or clocks.barred[1:].all():
            break
        conflict = clocks.conflict(width)
        conflicts.append(conflict)
        clocks.barred[1:] |= conflict.place == 0 or np.arange(1, ranks) == conflict.place
    # A rank may have waited since before the window.
    times = [stretch.arrival[np.isfinite(stretch.arrival)] for stretch in stretches]
    times += [stretch.exit[np.isfinite(stretch.exit)] for stretch in stretches]
    seen = np.concatenate([*times, (-length / 2, length / 2)])
    nodes = np.linspace(seen.min(), seen.max(), 9)
    # A curve whose second derivative is at most w is within w T^2 / 16 of a line; here are two such clocks, twice.
    lower, upper = clocks.bounds(
        0, nodes, 4.0 * wander * ((nodes[-1] - nodes[0]) * 1e-9) ** 2 / 16 * 1e9 + 2.0 * resolution.max()
    )
    return Window(middle, length, clocks.offset, clocks.rate, expected, nodes, lower, upper, tuple(conflicts))


def rough_origins(groups: Sequence[Group], ranks: Integers) -> Integers:
    """Returns of each rank about the same instant on its clock, ns: an exit from a call, from the first rank on."""
    origin = np.zeros(len(ranks), dtype=np.int64)
    known = np.zeros(len(ranks), dtype=bool)
    first = next(group for group in groups if ranks[0] in group.ranks)
    column = int(np.searchsorted(first.ranks, ranks[0]))
    origin[0], known[0] = first.exit[np.argmin(first.missing[:, column]), column], True
    while True:
        before = int(known.sum())
        for group in groups:
            columns = np.searchsorted(ranks, group.ranks)
            for mine in np.flatnonzero(known[columns])[:1]:
                shared = ~group.missing & ~group.missing[:, [mine]]
                for new in np.flatnonzero(~known[columns] & shared.any(axis=0)):
                    apart = group.exit[shared[:, new], new] - group.exit[shared[:, new], mine]
                    origin[columns[new]] = origin[columns[mine]] + int(np.sort(apart)[len(apart) // 2])
                    known[columns[new]] = True
        if int(known.sum()) == before:
            return np.where(known, origin, origin[0])  # the times of others stay as they are


def clock_resolution(groups: Sequence[Group], rank: int) -> int:
    """Returns the largest number of ns that all times of a rank's clock are multiples of, at most 1 ms."""
    found = 0
    for group in groups:
        column = np.flatnonzero(group.ranks == rank)
        there = ~group.missing[:, column]
        for times in (group.entry[:, column][there], group.exit[:, column][there]):
            if len(times):
                found = int(np.gcd(found, np.gcd.reduce(times - times[0])))
    return min(max(found, 1), 1_000_000)
