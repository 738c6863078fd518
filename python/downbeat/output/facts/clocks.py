"""Facts on clocks and on the exits of synchronizers."""

from __future__ import annotations

from dataclasses import dataclass

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class SharedClock(Fact):
    """All ranks share a clock, so that schemes cannot be compared."""


@dataclass(frozen=True)
class SchemeError:
    """A synchronization scheme, with its largest error over ranks and the duration of a synchronization."""

    scheme: str
    error: float  # s
    duration: float  # s


@dataclass(frozen=True)
class BestScheme(Fact):
    """The quickest of the schemes with nearly the smallest errors.

    Attributes:
        wait: time after the synchronization, s.
        kind: of error: "true error" or "measured offset".
        good: schemes count as good within this share of the smallest error.
        best: the quickest of the good ones.
        quickest: of all.
        outside: largest share of errors beyond their bounds; None: not known.
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
        pair: of ranks.
        skew: slope of a straight line through the offsets, s per s.
        within_error: whether no offset moved beyond the bounds of the measurement.
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
    """How local clocks that nothing corrects drift apart; duration in s."""

    duration: float
    pairs: tuple[PairDrift, ...]


@dataclass(frozen=True)
class PairTrips:
    """Round trips of a pair of ranks, s."""

    pair: str
    shortest: float
    median: float
    p99: float


@dataclass(frozen=True)
class RoundTrips(Fact):
    """Round trips of each pair, and the number of samples of each."""

    samples: int
    pairs: tuple[PairTrips, ...]


@dataclass(frozen=True)
class ExitSkew:
    """Median exit skews after a synchronizer, the smallest and the largest of several cells, s."""

    synchronizer: str
    low: float
    high: float


@dataclass(frozen=True)
class ExitSkews(Fact):
    """How far apart ranks leave synchronizers.

    Attributes:
        limit: smaller skews are below the resolution of the clock, s.
        ranks: their number where several were measured, else 0.
        below: synchronizers whose skews are all below the limit.
        above: the others, by their largest skew.
    """

    limit: float
    ranks: int
    below: tuple[str, ...]
    above: tuple[ExitSkew, ...]
