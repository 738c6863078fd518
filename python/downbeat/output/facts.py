"""Facts: numbers and names that a sentence is made of, computed once from tables. `words.py` has their wordings.

Rooms compute facts of their subject and need not know how they read. Times are in s, shares and ratios plain numbers.
"""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Fact:
    """The base of facts; a subclass is a frozen dataclass of values that JSON has."""

    @classmethod
    def name(cls) -> str:
        """The name in JSON."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def record(self) -> dict[str, object]:
        """The fact for JSON: its name and its fields."""
        return {"fact": self.name(), **dataclasses.asdict(self)}


def known(value: float) -> float | None:
    """A number of a table for a fact, None for NaN: facts with the same numbers are equal."""
    return None if math.isnan(value) else float(value)


# Clocks.


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


# Tuning. A cell is a collective on a number of ranks, at a message size in bytes; a rule is an algorithm for a range of
# sizes, "8-31" bytes or "all".


@dataclass(frozen=True)
class CellProofs:
    """Cells with the same proof: "proven", "cannot tell" or "failed", by a measure or for a reason."""

    verdict: str
    by: str
    cells: int


@dataclass(frozen=True)
class RulesOutcome(Fact):
    """The rules of a tuning: their number, all cells, those that a rule is for, and the proofs of these."""

    rules: int
    cells: int
    ruled: int
    proofs: tuple[CellProofs, ...]


@dataclass(frozen=True)
class ChoicePrice(Fact):
    """The price of choices from another measurement.

    Attributes:
        otherwise: the other measurement: "after MPI_Barrier".
        like: that in which both choices are compared: "from a common start".
        cells: in which the other measurement leads to another choice.
        longer: of these, cells in which its choice takes longer.
        ratio: time of its choices over that of the choices made, with its interval; None: not measured.
    """

    otherwise: str
    like: str
    cells: int
    longer: int
    ratio: tuple[float, float, float] | None


@dataclass(frozen=True)
class NotMeasured(Fact):
    """An algorithm that the sweep left out."""

    collective: str
    ranks: int
    algorithm: str
    reason: str


@dataclass(frozen=True)
class TuningWarning(Fact):
    """The base of facts that users must know before they rely on rules."""


@dataclass(frozen=True)
class TuningNote(TuningWarning):
    """A remark of a form of rules, or of the statistics of launches."""

    remark: str


@dataclass(frozen=True)
class DecidedCells(Fact):
    """The cells of results whose fastest algorithm is beyond doubt.

    Attributes:
        cells: with two algorithms or more.
        decided: of these.
        enough: cells with the launches that a verdict needs.
        needed: launches that it needs.
        most: launches of the cell that has most.
    """

    cells: int
    decided: int
    enough: int
    needed: int
    most: int


@dataclass(frozen=True)
class LaunchesForHalf(Fact):
    """The launches that would decide half of the cells that are not decided.

    Attributes:
        cells: that are not decided.
        known: cells in which the deviation between launches is known.
        launches: that would decide half of the cells; None: no number does, or it is unknown.
        same: whether it is known that no number of launches does, since algorithms differ by less than the margin.
    """

    cells: int
    known: int
    launches: int | None
    same: bool


@dataclass(frozen=True)
class AloneInCells(Fact):
    """Cells of results with one algorithm alone."""

    cells: int


@dataclass(frozen=True)
class UnprovenRules(TuningWarning):
    """Rules from results of other tools: their number, the library in the results, the library on this machine."""

    rules: int
    measured: str
    library: str


@dataclass(frozen=True)
class LackOfLaunches(TuningWarning):
    """Cells of a measurement, "sweep" or "gain", that lack the launches that a verdict needs."""

    where: str
    lacking: int
    cells: int
    launches: int
    needed: int


@dataclass(frozen=True)
class UncountedCells(TuningWarning):
    """Cells of a measurement that do not count, by their status; each with its launches."""

    where: str
    status: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class RuleRemoved(TuningWarning):
    """A rule that was written and measured, and removed because of wrong results."""

    collective: str
    ranks: int
    sizes: str
    algorithm: str
    reason: str


@dataclass(frozen=True)
class UnconfirmedRules(TuningWarning):
    """Rules whose gain launches that had no part in the choice do not confirm; some of them are withdrawn."""

    rules: int
    unconfirmed: tuple[str, ...]
    withdrawn: int


CellProblem = Literal["wrong default", "not obeyed", "slower", "lost"]


@dataclass(frozen=True)
class CellWarning(TuningWarning):
    """A cell that speaks against the rules, or against the library.

    Attributes:
        problem: "wrong default": the library's own choice has wrong results; "not obeyed": another algorithm runs than
            the rules name; "slower" under the rules; "lost": not measured in any launch under the rules.
        ruled: whether the rules name an algorithm for it.
        by: the measure that shows that the rules are not obeyed.
        ratio: time under the rules over that without, with its interval, where it is slower.
    """

    collective: str
    ranks: int
    size: int
    problem: CellProblem
    ruled: bool
    by: str = ""
    ratio: tuple[float, float, float] | None = None


# Arrivals and recordings.


@dataclass(frozen=True)
class LateRank:
    """A rank that others wait for."""

    rank: int  # in the job
    share: float  # of all waiting, that it causes
    calls: int  # those that have most of this waiting
    late_s: float  # how long a rank waits in one of them, median


@dataclass(frozen=True)
class WaitingForLateRanks(Fact):
    """Whom ranks wait for, and the most that balance would save."""

    late: tuple[LateRank, ...]  # ranks that stand out
    # the rank that causes most waiting, whether it stands out or not; None: the clocks do not show any
    most: LateRank | None
    unassigned: float  # share of the waiting whose cause is within the error of the clocks
    waited_s: float  # mean of the ranks
    run_s: float  # the run, or the phase
    # late ranks whose clock limits leave open whether they come last or the clock is off
    doubtful: tuple[int, ...] = ()


@dataclass(frozen=True)
class LittleWaiting(Fact):
    """Waiting for late ranks is not worth looking at: its share of the run, or of a phase."""

    share: float
    phase: str


@dataclass(frozen=True)
class LongerBefore(Fact):
    """What a late rank did between two collectives, and the others: it took longer."""

    rank: int  # the late rank
    before: str  # the collective at which the time begins
    after: str  # the collective to which it comes late
    takes_s: float  # its time, median
    others_s: float  # the same of the others
    inside_s: float | None  # part of `takes_s` in other MPI calls; None: not recorded
    inside_others_s: float | None  # likewise of `others_s`


@dataclass(frozen=True)
class WaitedBefore(LongerBefore):
    """The same, where the difference is in other MPI calls: the rank may have waited for another one."""


@dataclass(frozen=True)
class LateBefore(LongerBefore):
    """The same, where the rank takes no longer, but left the first collective late, by `left_s`."""

    left_s: float


@dataclass(frozen=True)
class SiteTime(Fact):
    """Time at a call site."""

    call: str  # the operation as MPI calls it
    site: str  # its name
    inside: str  # the phase of the program that the site is in; empty: none
    phase: str  # the phase that `share` is of; empty: the run
    share: float  # of the time of all ranks
    overlap_s: float | None  # between call and wait, median; None: of a blocking call, or not known
    later: bool  # whether the call does not block, so that waiting for it counts


@dataclass(frozen=True)
class SiteNotAnalyzed(SiteTime):
    """The same of calls whose arrivals are not known, with the reason."""

    reason: str


@dataclass(frozen=True)
class QuickestRank:
    """The rank that spends the least time in nearly all calls of a site, its time and that of the others, medians."""

    rank: int
    time_s: float
    others_s: float


@dataclass(frozen=True)
class SiteNotResolved(SiteTime):
    """The same of calls whose ranks come within the error of the clocks."""

    error_s: float
    quickest: QuickestRank | None


@dataclass(frozen=True)
class SiteWaiting(SiteTime):
    """The same of calls that are analyzed."""

    wait: float  # share of the time that is waiting for late ranks
    wait_low: float  # least value of it
    wait_high: float  # largest value
    last_rank: int  # the rank that causes most of the waiting; -1: not known, or it does not stand out
    last_wait: float  # share of the waiting that it causes
    last_calls: float  # share of the calls in which others wait for it
    quickest: QuickestRank | None  # where no rank is known to come last


@dataclass(frozen=True)
class OtherSites(Fact):
    """Call sites with little time: how many, and their share of the run, or of a phase."""

    sites: int
    share: float
    phase: str


@dataclass(frozen=True)
class NothingAnalyzed(Fact):
    """No collective was recorded on all of its ranks."""


@dataclass(frozen=True)
class WaitingInMessages(Fact):
    """The share of point-to-point messages in the run, and the rank that spends least time in them, and the others."""

    share: float
    rank: int
    time_s: float
    others_s: float


@dataclass(frozen=True)
class TimeInMessages(Fact):
    """The share of point-to-point messages in the run, and why the rank that ranks wait for is not known."""

    share: float
    reason: str


@dataclass(frozen=True)
class WaitingInPhase(Fact):
    """Waiting in a phase."""

    phase: str  # its path
    share: float  # of the run
    collectives: float  # share of the phase that is in collectives
    wait: float  # share of that which is waiting for late ranks
    wait_low: float  # least value of it
    wait_high: float  # largest value
    rank: int  # that causes most of it
    caused: float  # share of the waiting that it causes


@dataclass(frozen=True)
class RunAndAccuracy(Fact):
    """The length of a run, and how well it is known who came last."""

    run_s: float  # the run, or the phase: the mean of the ranks
    ranks: int  # of the job
    threads: int  # of all ranks that called collectives
    phase: str  # empty: the run
    error_s: float | None  # of a time on the common axis; None: there is no time
    standard_errors: int  # how many of them that is; 0: it is the hard bound
    hard_bound_s: float | None  # the largest; None: a time has none


@dataclass(frozen=True)
class SharedProcessors(Fact):
    """A host has more ranks than processors."""

    host: str
    ranks: int
    processors: int


@dataclass(frozen=True)
class WaitedForProcessor(Fact):
    """How long ranks were ready to run, but had no processor: mean, and the rank with most."""

    mean_s: float
    rank: int
    most_s: float


@dataclass(frozen=True)
class RecordsLeftOut(Fact):
    """Records of calls that are not analyzed, by reason."""

    records: int
    reason: str


@dataclass(frozen=True)
class SampledCalls(Fact):
    """Single calls are a sample."""

    sampled: int  # calls that were recorded whole
    calls: int  # all calls
    error: float | None  # largest error of a share of waiting, 95 %; None: no share is known
    share: float  # of the run from which a call site counts for `error`


@dataclass(frozen=True)
class CallsWithoutSite(Fact):
    """Calls that had no room for their call site, and the time in them."""

    calls: int
    seconds: float


@dataclass(frozen=True)
class ModuleAbsent(Fact):
    """A module is not here as it was recorded: it is not here at all, or was built again."""

    module: str
    rebuilt: bool


@dataclass(frozen=True)
class RecordingFull(Fact):
    """A recording had no room."""

    lost: int  # records that the sample lacks
    error: int  # number of the system's error; 0: none, or not known
    directory: str  # that it was written to


@dataclass(frozen=True)
class PhaseNotEnded(Fact):
    """A name of MPI_Pcontrol that was begun and never ended."""

    phase: str
    begins: int
    ranks: int


@dataclass(frozen=True)
class PhaseUnbalanced(Fact):
    """A phase whose begins and ends do not match."""

    phase: str  # its name
    begins: int  # of it
    ends: int  # of it, with strays
    cut: int  # begins that the end of the phase around it ended
    unended: int  # begins that the end of the program ended
    strays: int  # ends without a begin


@dataclass(frozen=True)
class PhaseOnSomeRanks(Fact):
    """A phase that was begun on some ranks only."""

    phase: str
    ranks: tuple[int, ...]
    of_ranks: int


@dataclass(frozen=True)
class PhasesWithoutRoom(Fact):
    """Calls of MPI_Pcontrol that had no room for their phase."""

    calls: int


@dataclass(frozen=True)
class MixedPhases(Fact):
    """Calls to which ranks came in different phases, with two ranks of the first of them; "": no phase."""

    calls: int
    rank: int
    phase: str
    other_rank: int
    other_phase: str


@dataclass(frozen=True)
class RanksNotFinalized(Fact):
    """Ranks that ended without MPI_Finalize."""

    ended: int
    ranks: int


@dataclass(frozen=True)
class RanksWithoutFile(Fact):
    """Ranks that left no file."""

    missing: int
    ranks: int


@dataclass(frozen=True)
class NothingRecorded(Fact):
    """No collective was recorded; the launcher's status, 0 of a program without collectives."""

    ranks: int
    status: int


@dataclass(frozen=True)
class RecordedCalls(Fact):
    """What was recorded: ranks, hosts, calls of collectives, and the error of their times; None: there are no times."""

    ranks: int
    hosts: int
    calls: int
    error_s: float | None


@dataclass(frozen=True)
class KeptCalls(Fact):
    """Calls that are kept one by one, where this is a sample."""

    kept: int


# Traces on one axis. Rates are plain numbers.


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


# Results of other tools.


@dataclass(frozen=True)
class Damage(Fact):
    """Something wrong in a file of another tool.

    Attributes:
        file: its path.
        line: the first such line, from 1; 0 for the whole file.
        what: in plain words, with a noun in the plural: "numbers that cannot be read".
        count: how often.
        files: number of files that have it, `file` is the first.
    """

    file: str
    line: int
    what: str
    count: int
    files: int = 1
