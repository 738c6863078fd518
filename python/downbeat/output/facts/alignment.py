"""Facts on traces on one axis. Rates are plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

from downbeat.output.facts import Fact


# Rates are plain numbers.
@dataclass(frozen=True)
class GroupFact(Fact):
    """A fact about the calls of a group, with its name."""

    group: str


@dataclass(frozen=True)
class OnlyRankOfGroup(GroupFact):
    """Only one rank has calls of a group."""

    rank: int
    calls: int


@dataclass(frozen=True)
class RanksWithoutTrace(GroupFact):
    """Ranks of a group that have no trace; waiting for them counts as the operation."""

    ranks: tuple[int, ...]


@dataclass(frozen=True)
class OperationsDiffer(GroupFact):
    """Calls that are different operations on different ranks, with the first of them."""

    calls: int
    first: int
    operations: tuple[str, ...]


@dataclass(frozen=True)
class CallsOfOneRank(GroupFact):
    """Calls that only one rank has."""

    calls: int


@dataclass(frozen=True)
class RanksWithoutPartner(GroupFact):
    """Ranks none of whose calls is a call of another rank."""

    ranks: tuple[int, ...]


@dataclass(frozen=True)
class RepeatedCalls(GroupFact):
    """Calls that a rank has twice."""

    rank: int
    calls: int


@dataclass(frozen=True)
class MatchedByOrder(GroupFact):
    """Calls without sequence numbers that match others by their order."""

    rank: int  # of the calls
    reference: int  # the rank whose calls they match
    shift: int  # calls by which the rank begins later; negative: earlier
    lost: int  # calls after that without a partner


@dataclass(frozen=True)
class OrderNotKnown(GroupFact):
    """Ranks whose calls match those of `reference` in no order that is clearly better than others."""

    ranks: tuple[int, ...]
    reference: int


@dataclass(frozen=True)
class FileLeftOut(Fact):
    """A file that is no trace, with the reason."""

    reason: str


@dataclass(frozen=True)
class EventsLeftOut(Fact):
    """Events of one kind that are left out, with the first file that has them."""

    file: str  # its path
    more_files: int  # that have such events, too
    events: int  # of all of them
    kind: str  # what they are, as a plural


@dataclass(frozen=True)
class CommonAxis(Fact):
    """The axis, and the clocks for which bounds hold."""

    rank: int  # whose clock the axis is
    steered: bool  # whether clocks may be slewed, by up to `slew_rate`
    slew_rate: float  # of NTP
    most_rate: float  # largest difference of two rates
    wander: float  # largest change of a rate, 1/s


@dataclass(frozen=True)
class RankAlone(Fact):
    """A rank that has no collective with another one."""

    rank: int


@dataclass(frozen=True)
class SeparateAxis(Fact):
    """Ranks that no collective ties to the first one: they are on an axis of their own, the clock of their first."""

    ranks: tuple[int, ...]
    first: int


@dataclass(frozen=True)
class CallsOverlap(Fact):
    """Calls of a rank overlap, so that their shares of the run may add up to more than 100 %."""


@dataclass(frozen=True)
class NoBound(Fact):
    """Ranks that have no bound, and whether clocks may be steered."""

    ranks: tuple[int, ...]
    steered: bool


@dataclass(frozen=True)
class ClockMoved(Fact):
    """A clock that moved otherwise than by its rate."""

    rank: int  # whose clock it is
    against: int | None  # the other of two ranks, as no third one shows which of them moved; None: there are more
    by_s: float  # movement
    from_s: float  # when, after the rank's first call
    to_s: float  # when, after the rank's first call
    torn: bool  # whether there is no bound there


@dataclass(frozen=True)
class WideBounds(Fact):
    """Bounds that are wide only because clocks may be steered: the largest, and that of steady clocks."""

    largest_s: float
    steady_s: float


@dataclass(frozen=True)
class LastOrClockOff(GroupFact):
    """A rank that always spends the least time: it comes last, or its clock is off, and limits on clocks allow both."""

    operation: str  # of the calls
    rank: int  # that spends the least time
    time_s: float  # in each call, median
    others_s: float  # the same of the others


@dataclass(frozen=True)
class CallsContradict(Fact):
    """Calls of two ranks that contradict each other."""

    rank: int  # the ranks
    other: int  # the ranks
    calls: tuple[tuple[str, int], ...]  # group and number of each call; empty: not known
    by_s: float  # contradiction
    most_rate: float  # largest difference of two rates that is allowed
