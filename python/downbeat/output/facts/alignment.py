"""Facts on traces of several ranks that `downbeat align` puts on one axis of time. Rates of clocks are plain numbers.

A group is a communicator, by its name in the traces. Calls of several ranks that are the same collective match.
"""

from __future__ import annotations

from dataclasses import dataclass

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class GroupFact(Fact):
    """The base of facts on the calls of a group."""

    group: str  # its name


@dataclass(frozen=True)
class OnlyRankOfGroup(GroupFact):
    """Only one rank has calls of a group."""

    rank: int
    calls: int  # number of its calls


@dataclass(frozen=True)
class RanksWithoutTrace(GroupFact):
    """Ranks of a group have no trace, so that waiting for them counts as time of the operation."""

    ranks: tuple[int, ...]


@dataclass(frozen=True)
class OperationsDiffer(GroupFact):
    """Some calls are different operations on different ranks."""

    calls: int  # number of such calls
    first: int  # number of the first such call in the group
    operations: tuple[str, ...]  # of the first such call


@dataclass(frozen=True)
class CallsOfOneRank(GroupFact):
    """Some calls are only in the trace of one rank."""

    calls: int  # number of such calls


@dataclass(frozen=True)
class RanksWithoutPartner(GroupFact):
    """No call of some ranks matches a call of another rank."""

    ranks: tuple[int, ...]


@dataclass(frozen=True)
class RepeatedCalls(GroupFact):
    """A rank has some calls twice."""

    rank: int
    calls: int  # number of such calls


@dataclass(frozen=True)
class MatchedByOrder(GroupFact):
    """Calls of a rank have no sequence numbers; their order shows which calls of another rank they match."""

    rank: int
    reference: int  # the other rank
    shift: int  # number of calls by which the rank begins later; negative: earlier
    lost: int  # later calls that match no call


@dataclass(frozen=True)
class OrderNotKnown(GroupFact):
    """Calls of some ranks have no sequence numbers, and several orders of them fit the calls of `reference` equally."""

    ranks: tuple[int, ...]
    reference: int  # a rank


@dataclass(frozen=True)
class FileLeftOut(Fact):
    """A file is left out, because it is not a trace."""

    reason: str


@dataclass(frozen=True)
class EventsLeftOut(Fact):
    """Events of one kind in trace files are left out."""

    file: str  # path of the first file that has such events
    more_files: int  # number of other files that have such events
    events: int  # number of such events in all files
    kind: str  # description of the events, a plural


@dataclass(frozen=True)
class CommonAxis(Fact):
    """The axis of time, and the assumptions about clocks under which error bounds hold."""

    rank: int  # rank whose clock is the axis
    steered: bool  # whether clocks may be steered: slewed by up to `slew_rate`
    slew_rate: float  # largest rate at which NTP slews a clock
    most_rate: float  # largest difference of the rates of two clocks that are not steered
    wander: float  # largest change of the rate of such a clock, 1/s


@dataclass(frozen=True)
class RankAlone(Fact):
    """A rank has no collective with another rank."""

    rank: int


@dataclass(frozen=True)
class SeparateAxis(Fact):
    """No collective connects some ranks with the first rank; their axis is separate, the clock of `ranks[0]`."""

    ranks: tuple[int, ...]
    first: int  # the first rank of all


@dataclass(frozen=True)
class CallsOverlap(Fact):
    """Calls of a rank overlap, so that their shares of the run may add up to more than 100 %."""


@dataclass(frozen=True)
class NoBound(Fact):
    """The errors of some ranks have no bound."""

    ranks: tuple[int, ...]
    steered: bool  # whether clocks may be steered


@dataclass(frozen=True)
class ClockMoved(Fact):
    """A clock was set or slewed: it moved by more than its rate explains."""

    rank: int  # rank with the clock
    against: int | None  # the other rank, if there are only two, so that either clock may have moved; else None
    by_s: float  # movement
    from_s: float  # begin of the movement, after the rank's first call
    to_s: float  # its end, after the rank's first call
    torn: bool  # whether errors have no bound during the movement


@dataclass(frozen=True)
class WideBounds(Fact):
    """Error bounds are wide only because clocks may be steered."""

    largest_s: float  # largest bound
    steady_s: float  # largest bound if clocks are not steered


@dataclass(frozen=True)
class LastOrClockOff(GroupFact):
    """A rank always spends the least time in calls: it arrives last, or its clock is off; error bounds allow both."""

    operation: str  # of the calls
    rank: int  # the rank with the shortest calls
    time_s: float  # its median time in a call
    others_s: float  # median time of the other ranks in a call


@dataclass(frozen=True)
class CallsContradict(Fact):
    """Calls of two ranks contradict each other: no clocks within the assumptions explain their times."""

    rank: int  # one of the ranks
    other: int  # the other rank
    calls: tuple[tuple[str, int], ...]  # group and number of each call; empty: unknown
    by_s: float  # size of the contradiction
    most_rate: float  # largest allowed difference of the rates of two clocks
