"""Converts times of a system clock to the host's counter (e.g. the TSC), from samples of both, for timebase.py.

Between two samples the frequency of the clock may change, and the clock may be slewed or set. The model assumes that
the frequency stays within the usual values of the intervals before and after, and that the clock is slewed or set in
one direction only. So both samples show the total movement, and at no time is the clock moved by more. In the first and
the last interval, the values of one side are missing; they are taken as the mirror image of the other side's at the
interval's rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEADY = 1e-3  # largest rate error without a slew: oscillators up to 300 ppm, frequency corrections up to 500 ppm
NEVER_MOVED = "monotonic_raw"  # the clock that is neither slewed nor set
WINDOW = 4  # intervals on each side that define the usual values
MIN_STEP_NS = 10_000.0  # smaller movements are not reported


@dataclass(frozen=True)
class CounterTimes:
    """The counter at the instants at which a clock showed given times.

    Attributes:
        at: estimate, ns of the counter since the first sample.
        low: lower limit of the counter, ns.
        high: upper limit of the counter, ns.
        extra: error at the estimate from readings and wander, ns; infinite outside of the samples.
        variance: variance of the error at the estimate, without errors of the counter, ns^2.
    """

    at: Floats
    low: Floats
    high: Floats
    extra: Floats
    variance: Floats


@dataclass(frozen=True)
class Step:
    """A movement of a clock, set or slewed, between two samples.

    Attributes:
        sample: index of the earlier sample.
        by_ns: movement, ns; positive: forward.
        error_ns: error of the movement, ns.
    """

    sample: int
    by_ns: float
    error_ns: float


class LocalClock:
    """A system clock of a host against its counter."""

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
        """Estimates rate and movements of the clock in each interval between samples.

        Args:
            shown: time of the clock at each sample, ns; at least two samples.
            ticks: counter at each sample.
            half_width: uncertainty of the counter at each sample, ticks.
            tick: approximate length of a tick, ns.
            wander: largest change at once of an oscillator's rate.
            ramp: largest additional change of the rate per ns, 1/ns.
            moved: true: the clock may be slewed or set.
        """
        self.shown = shown
        self.tick = tick
        self.origin = int(ticks[0])
        self.x: Floats = (ticks - self.origin).astype(np.float64) * tick
        self.width = half_width * tick + 1.0  # clocks count whole ns
        self.length = np.diff(self.x)
        self.slope = np.diff(self.shown) / self.length  # mean rate of the clock in each interval
        self.wander = wander + ramp * self.length / 4  # for a chord, see `Timebase.axis`
        self.ramp = ramp
        self.moved = moved
        steady = np.abs(self.slope - 1) <= STEADY
        lowest, highest = usual_limits(self.slope, steady, (1 - STEADY / 2, 1 + STEADY / 2))
        reading_error = (self.width[:-1] + self.width[1:]) / self.length  # of the rate
        self.usual = (lowest + highest) / 2  # usual rate around each interval
        spread = (highest - lowest) / 2
        rate_error = spread + reading_error + usual_limits(reading_error, steady, (0.0, 0.0))[1]
        if not moved:
            self.usual, spread, rate_error = self.slope.copy(), np.zeros_like(self.slope), np.zeros_like(self.slope)
        self.steady = steady | (not moved)
        self.by = (self.slope - self.usual) * self.length  # movement of the clock in each interval, ns
        self.slack = rate_error * self.length  # error of the movement, ns
        self.likely = np.abs(self.by) + spread * self.length  # size of the movement that is expected at most, ns
        # Limits of the movement at any time within the interval, ns.
        self.least = np.minimum(0.0, self.by - self.slack) - self.slack
        self.most = np.maximum(0.0, self.by + self.slack) + self.slack

    def steps(self) -> list[Step]:
        """Returns the intervals in which the clock was set, or slewed fast."""
        large = np.abs(self.by) > np.maximum(MIN_STEP_NS, 4 * self.slack)
        return [Step(int(i), float(self.by[i]), float(self.slack[i])) for i in np.flatnonzero(large)]

    def counter(self, at: Floats) -> NDArray[np.int64]:
        """Converts ns since the first sample to ticks of the counter."""
        ticks: NDArray[np.int64] = np.rint(at / self.tick).astype(np.int64) + self.origin
        return ticks

    def place(self, times: NDArray[np.int64]) -> CounterTimes:
        """Finds the counter at the instants at which the clock showed these times, ns, over all possible intervals."""
        known = CandidateTimes(times.shape)
        # Between intervals that are not steady, the clock rises, so only the interval with the time and its neighbors
        # can contain it. An interval that is not steady may contain any time.
        ends = np.flatnonzero(~self.steady)
        begin = 0
        for end in [*ends, len(self.slope)]:
            if end > begin:
                inside = np.searchsorted(self.shown[begin : end + 1], times, side="right") - 1
                nearest = np.clip(inside, 0, end - begin - 1) + begin
                for neighbor in (0, -1, 1):
                    which = nearest + neighbor
                    self.add_interval(known, times, np.clip(which, begin, end - 1), (which >= begin) & (which < end))
            if end < len(self.slope):
                self.add_interval(known, times, np.full(times.shape, end), np.ones(times.shape, dtype=bool))
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
        return CounterTimes(at, low, high, np.where(outside & self.moved, np.inf, extra), variance)

    def add_interval(
        self, known: CandidateTimes, times: NDArray[np.int64], which: NDArray[np.intp], there: NDArray[np.bool_]
    ) -> None:
        """Adds the instants of an interval at which the clock can have shown each time.

        Args:
            known: instants so far; changed.
            times: ns.
            which: interval of each time.
            there: flags of the times for which the interval exists.
        """
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
        """Extrapolates the counter before the first or after the last sample at the usual rate, ns."""
        first = (times - self.shown[0]) / self.usual[0]
        last = self.x[-1] + (times - self.shown[-1]) / self.usual[-1]
        at: Floats = np.where(times < self.shown[0], first, last)
        return at


@dataclass
class CandidateTimes:
    """Instants from the intervals that were added so far, with the fields of `CounterTimes`."""

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        self.at = np.full(self.shape, np.nan)
        self.low = np.full(self.shape, np.inf)
        self.high = np.full(self.shape, -np.inf)
        self.extra = np.zeros(self.shape)
        self.variance = np.full(self.shape, np.nan)


def usual_limits(values: Floats, steady: NDArray[np.bool_], alone: tuple[float, float]) -> tuple[Floats, Floats]:
    """Returns both ends of the usual values around each interval: medians of the intervals before and after.

    Args:
        values: value of each interval.
        steady: flags of the intervals whose values count.
        alone: both ends for an interval without any other.
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
        mirrored = [2 * values - limit for limit in limits[other]]
        limits[missing] = [
            np.where(np.isnan(limit) & steady, mirror, limit)
            for limit, mirror in zip(limits[missing], mirrored, strict=True)
        ]
    no_neighbor = np.isnan(limits).all(axis=0)
    limits = [np.where(no_neighbor, alone[number >= 2], limit) for number, limit in enumerate(limits)]
    return np.nanmin(limits, axis=0), np.nanmax(limits, axis=0)
