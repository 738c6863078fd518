"""Facts on recordings: late ranks, waiting, call sites, phases, the recording itself."""

from __future__ import annotations

from dataclasses import dataclass

from downbeat.output.facts import Fact


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
