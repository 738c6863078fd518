"""Facts on the experiments on clocks and synchronizers (downbeat-bench clock, drift, rtt, skew)."""

from __future__ import annotations

from dataclasses import dataclass

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class SharedClock(Fact):
    """All ranks share a clock, so that schemes of clock synchronization cannot be compared."""


@dataclass(frozen=True)
class SchemeError:
    """The accuracy and the cost of a scheme of clock synchronization."""

    scheme: str  # name with parameters
    error: float  # largest error over ranks, s
    duration: float  # duration of a synchronization, s


@dataclass(frozen=True)
class BestScheme(Fact):
    """The quickest of the schemes with nearly the smallest error.

    Attributes:
        wait: time from the synchronization to the check of the errors, s.
        kind: kind of the errors: "true error" or "measured offset".
        good: a scheme is good if its error exceeds the smallest error by at most this share.
        best: the quickest good scheme.
        quickest: the quickest of all schemes.
        outside: share of errors beyond their bounds, largest over schemes; None: unknown.
    """

    wait: float
    kind: str
    good: float
    best: SchemeError
    quickest: SchemeError
    outside: float | None


@dataclass(frozen=True)
class PairDrift:
    """The drift of a pair of clocks.

    Attributes:
        pair: the two ranks, as text.
        skew: slope of a straight line through the offsets, s per s.
        within_error: whether the drift is within the error bounds of the offsets.
        residual: largest distance of an offset from the line, s.
        prediction_error: error of the line at the end, fitted to the first half, s.
    """

    pair: str
    skew: float
    within_error: bool
    residual: float
    prediction_error: float


@dataclass(frozen=True)
class ClockDrift(Fact):
    """The drift of local clocks without correction."""

    duration: float  # of the measurement, s
    pairs: tuple[PairDrift, ...]


@dataclass(frozen=True)
class PairTrips:
    """Round trips of a pair of ranks, s."""

    pair: str  # the two ranks, as text
    shortest: float
    median: float
    p99: float  # 99 % of the round trips are shorter


@dataclass(frozen=True)
class RoundTrips(Fact):
    """Round trips of each pair of ranks."""

    samples: int  # number of round trips of each pair
    pairs: tuple[PairTrips, ...]


@dataclass(frozen=True)
class ExitSkew:
    """Median exit skews after a synchronizer, s: times between the exits of the first and the last rank."""

    synchronizer: str
    low: float  # smallest of several cells
    high: float  # largest


@dataclass(frozen=True)
class ExitSkews(Fact):
    """Median exit skews after each synchronizer.

    Attributes:
        limit: smallest skew that exceeds the error of the clocks, s.
        ranks: number of ranks if several numbers were measured, else 0.
        below: synchronizers whose skews are all below the limit.
        above: the skews after the other synchronizers, sorted by the largest skew.
    """

    limit: float
    ranks: int
    below: tuple[str, ...]
    above: tuple[ExitSkew, ...]
