"""A system clock of a host against the host's counter, from samples.

Between two samples the clock may get another frequency, and be slewed or set. Its frequency is assumed to stay
within what most of the intervals before and after show, and to be slewed or set in one direction only. So it moves
by N in all, which both samples show, and at no time by more. A set clock is the same with a large N. In the first and
the last interval one side is missing: it is taken to be as far on the other side of the interval's own rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEADY = 1e-3  # largest rate of a clock that nobody slews: oscillators to 300 ppm, frequency corrections to 500 ppm
NEVER_MOVED = "monotonic_raw"  # neither slewed nor set
WINDOW = 4  # intervals on each side, which show the usual values
LEAST_STEP_NS = 10_000.0


@dataclass(frozen=True)
class Place:
    """The counter when a clock showed a time.

    Attributes:
        at: estimate, ns of the counter since the first sample.
        low, high: it was between these.
        extra: what readings and wander add to the error at the estimate, ns; infinite outside of the samples.
        variance: of the error at the estimate, ns squared, without what the counter adds.
    """

    at: Floats
    low: Floats
    high: Floats
    extra: Floats
    variance: Floats


@dataclass(frozen=True)
class Step:
    """A clock was set or slewed between two samples.

    Attributes:
        sample: the one before.
        by_ns: by how much it moved.
        error_ns: of that.
    """

    sample: int
    by_ns: float
    error_ns: float


class LocalClock:
    """A system clock of a host."""

    def __init__(
        self,
        shown: NDArray[np.int64],
        ticks: NDArray[np.int64],
        half_width: NDArray[np.int64],
        tick: float,
        wander: float,
        ramp: float,
        moved: bool,
    ) -> None:
        """Takes the samples of a clock, at least two.

        Args:
            shown: by the clock, ns, ...
            ticks: ... when the counter was there, ...
            half_width: ... with this uncertainty, ticks.
            tick: ns of the counter, about.
            wander: by which the rate of an oscillator may change at once.
            ramp: and per ns on top.
            moved: whether the clock may be slewed or set.
        """
        self.shown = shown
        self.tick = tick
        self.origin = int(ticks[0])
        self.x: Floats = (ticks - self.origin).astype(np.float64) * tick
        self.width = half_width * tick + 1.0  # clocks count whole ns
        self.length = np.diff(self.x)
        self.slope = np.diff(self.shown) / self.length
        self.wander = wander + ramp * self.length / 4  # for a chord, as in `Timebase`
        self.ramp = ramp
        self.moved = moved
        steady = np.abs(self.slope - 1) <= STEADY
        lowest, highest = usual_limits(self.slope, steady, (1 - STEADY / 2, 1 + STEADY / 2))
        rough = (self.width[:-1] + self.width[1:]) / self.length
        self.usual = (lowest + highest) / 2
        spread = (highest - lowest) / 2
        unsure = spread + rough + usual_limits(rough, steady, (0.0, 0.0))[1]
        if not moved:
            self.usual, spread, unsure = self.slope.copy(), np.zeros_like(self.slope), np.zeros_like(self.slope)
        self.steady = steady | (not moved)
        self.by = (self.slope - self.usual) * self.length
        self.slack = unsure * self.length
        self.likely = np.abs(self.by) + spread * self.length
        self.least = np.minimum(0.0, self.by - self.slack) - self.slack
        self.most = np.maximum(0.0, self.by + self.slack) + self.slack

    def steps(self) -> list[Step]:
        """Returns where the clock was set, or slewed fast."""
        large = np.abs(self.by) > np.maximum(LEAST_STEP_NS, 4 * self.slack)
        return [Step(int(i), float(self.by[i]), float(self.slack[i])) for i in np.flatnonzero(large)]

    def counter(self, at: Floats) -> NDArray[np.int64]:
        """Returns ticks of the counter for ns since its first sample."""
        ticks: NDArray[np.int64] = np.rint(at / self.tick).astype(np.int64) + self.origin
        return ticks

    def place(self, times: NDArray[np.int64]) -> Place:
        """The counter when the clock showed these times, over all possible intervals between samples."""
        known = KnownPlaces(times.shape)
        ends = np.flatnonzero(~self.steady)
        begin = 0
        for end in [*ends, len(self.slope)]:
            if end > begin:
                inside = np.searchsorted(self.shown[begin : end + 1], times, side="right") - 1
                nearest = np.clip(inside, 0, end - begin - 1) + begin
                for neighbor in (0, -1, 1):
                    which = nearest + neighbor
                    self.look(known, times, np.clip(which, begin, end - 1), (which >= begin) & (which < end))
            if end < len(self.slope):
                self.look(known, times, np.full(times.shape, end), np.ones(times.shape, dtype=bool))
            begin = end + 1
        outside = np.isinf(known.low)
        with np.errstate(invalid="ignore"):  # outside, low and high are infinite
            at = np.where(np.isnan(known.at), (known.low + known.high) / 2, known.at)
        if outside.any():
            at = np.where(outside, self.beyond(times), at)
        low, high = np.where(outside, at, known.low), np.where(outside, at, known.high)
        known.variance = np.where(np.isnan(known.variance), (high - low) ** 2 / 12, known.variance)
        away = np.maximum(0.0, np.maximum(-at, at - self.x[-1]))
        end = np.where(at < 0, 0, len(self.slope) - 1)
        rough = 2 * self.width.max() / self.length[end]
        extra = np.where(
            outside, self.width.max() + away * (rough + self.wander[end] + self.ramp * away / 2), known.extra
        )
        variance = np.where(outside, self.width.max() ** 2 / 3, known.variance)
        return Place(at, low, high, np.where(outside & self.moved, np.inf, extra), variance)

    def look(
        self, known: KnownPlaces, times: NDArray[np.int64], which: NDArray[np.intp], there: NDArray[np.bool_]
    ) -> None:
        """Adds where in an interval the clock can have shown a time."""
        since = (times - self.shown[which]).astype(float)
        length, width = self.length[which], np.maximum(self.width[which], self.width[which + 1])
        low = (since - self.most[which]) / self.usual[which]
        high = (since - self.least[which]) / self.usual[which]
        there = there & (high >= -width) & (low <= length + width)
        low, high = np.clip(low, 0.0, length), np.clip(high, 0.0, length)
        rising = self.slope[which] > 0
        chord = np.clip(np.where(rising, since / np.where(rising, self.slope[which], 1.0), (low + high) / 2), low, high)
        share = chord / length
        extra = width + 2 * self.wander[which] * share * (1 - share) * length
        natural = there & rising & (since >= 0) & (times <= self.shown[which + 1]) & np.isnan(known.at)
        known.at = np.where(natural, self.x[which] + chord, known.at)
        known.low = np.where(there, np.minimum(known.low, self.x[which] + low), known.low)
        known.high = np.where(there, np.maximum(known.high, self.x[which] + high), known.high)
        known.extra = np.where(there, np.maximum(known.extra, extra), known.extra)
        variance = width**2 / 3 + np.minimum(self.likely[which] ** 2 / 3, (high - low) ** 2 / 12)
        known.variance = np.where(natural, variance, known.variance)

    def beyond(self, times: NDArray[np.int64]) -> Floats:
        """Returns where the counter was before the first sample or after the last, at the rate that was usual there."""
        first = (times - self.shown[0]) / self.usual[0]
        last = self.x[-1] + (times - self.shown[-1]) / self.usual[-1]
        at: Floats = np.where(times < self.shown[0], first, last)
        return at


@dataclass
class KnownPlaces:
    """The places known so far."""

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        self.at = np.full(self.shape, np.nan)
        self.low = np.full(self.shape, np.inf)
        self.high = np.full(self.shape, -np.inf)
        self.extra = np.zeros(self.shape)
        self.variance = np.full(self.shape, np.nan)


def usual_limits(values: Floats, steady: NDArray[np.bool_], alone: tuple[float, float]) -> tuple[Floats, Floats]:
    """Returns the usual limits around each interval: of the medians of those before and after.

    Args:
        values: of each interval.
        steady: whether the value of an interval counts.
        alone: the limits for one without any other.
    """
    known = np.flatnonzero(steady)
    numbers = np.arange(len(values))[:, None]
    steps = np.arange(WINDOW)
    limits = []
    for indexes in (np.searchsorted(known, numbers) - 1 - steps, np.searchsorted(known, numbers, side="right") + steps):
        there = (indexes >= 0) & (indexes < len(known))
        taken = np.full(indexes.shape, np.inf)
        taken[there] = values[known[indexes[there]]]
        taken.sort(axis=1)
        count = there.sum(axis=1)
        for middle in (np.maximum(0, count - 1) // 2, count // 2):
            median = taken[numbers[:, 0], np.minimum(middle, WINDOW - 1)]
            limits.append(np.where(count > 0, median, np.nan))
    for missing, other in ((slice(0, 2), slice(2, 4)), (slice(2, 4), slice(0, 2))):
        mirrored = [2 * values - each for each in limits[other]]
        limits[missing] = [
            np.where(np.isnan(each) & steady, there, each)
            for each, there in zip(limits[missing], mirrored, strict=True)
        ]
    none = np.isnan(limits).all(axis=0)
    limits = [np.where(none, alone[number >= 2], each) for number, each in enumerate(limits)]
    return np.nanmin(limits, axis=0), np.nanmax(limits, axis=0)
