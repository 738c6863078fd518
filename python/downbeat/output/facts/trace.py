"""Facts on recordings of `downbeat trace`: late ranks, waiting, call sites, phases, the recording itself.

A call site is a line of the program that calls a collective; a phase is named by MPI_Pcontrol. Waiting is the time from
the arrival of a rank at a collective to the arrival of the last rank. Shares are of the run, or of a phase.
"""

from __future__ import annotations

from dataclasses import dataclass

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class LateRank:
    """A rank that other ranks wait for."""

    rank: int  # in the job
    share: float  # share of all waiting that it causes
    calls: int  # number of the calls that have most of this waiting
    late_s: float  # median time that a rank waits in such a call


@dataclass(frozen=True)
class WaitingForLateRanks(Fact):
    """The ranks that other ranks wait for, and the time that perfect balance would save."""

    late: tuple[LateRank, ...]  # ranks that cause much more waiting than others
    most: LateRank | None  # the rank that causes most of the waiting, even if not in `late`; None: not shown by clocks
    unassigned: float  # share of the waiting whose cause is unknown, because of the error of the clocks
    waited_s: float  # waiting, mean over ranks
    run_s: float  # duration of the run, or of the phase
    doubtful: tuple[int, ...] = ()  # late ranks that may only have a wrong clock


@dataclass(frozen=True)
class LittleWaiting(Fact):
    """Waiting for late ranks is a negligible share of the time."""

    share: float
    phase: str  # empty: the run


@dataclass(frozen=True)
class LongerBefore(Fact):
    """A late rank took longer than other ranks between two collectives."""

    rank: int  # the late rank
    before: str  # name of the first collective
    after: str  # name of the second collective, at which the rank is late
    takes_s: float  # median time of the rank between the two
    others_s: float  # median time of the other ranks
    inside_s: float | None  # part of `takes_s` in other MPI calls; None: not recorded
    inside_others_s: float | None  # part of `others_s` in other MPI calls; None: not recorded


@dataclass(frozen=True)
class WaitedBefore(LongerBefore):
    """`LongerBefore`, and the difference is in other MPI calls: the rank may have waited for another rank there."""


@dataclass(frozen=True)
class LateBefore(LongerBefore):
    """`LongerBefore`, but the rank took no longer: it left the first collective later than the others."""

    left_s: float  # median time from the others' exit from the first collective to the exit of the rank


@dataclass(frozen=True)
class SiteTime(Fact):
    """The time at a call site."""

    call: str  # name of the MPI function
    site: str  # name of the site: file and line
    inside: str  # phase of the program that the site is in; empty: none
    phase: str  # phase that `share` refers to; empty: the run
    share: float  # share of the time of all ranks
    overlap_s: float | None  # median time from call to wait; None: the call blocks, or unknown
    later: bool  # whether the call does not block; then `share` includes waiting for its completion


@dataclass(frozen=True)
class SiteNotAnalyzed(SiteTime):
    """`SiteTime` of calls whose arrivals are unknown."""

    reason: str  # property of these calls; completes "calls ..."


@dataclass(frozen=True)
class QuickestRank:
    """The rank with the shortest calls in nearly all calls of a site; it arrives last if all ranks leave together."""

    rank: int
    time_s: float  # its median time in a call
    others_s: float  # median time of the other ranks


@dataclass(frozen=True)
class SiteNotResolved(SiteTime):
    """`SiteTime` of calls whose ranks arrive so closely that the error of the clocks hides their order."""

    error_s: float  # error of the clocks
    quickest: QuickestRank | None  # None: no rank is always quickest


@dataclass(frozen=True)
class SiteWaiting(SiteTime):
    """`SiteTime` of calls whose arrivals are known."""

    wait: float  # share of the time at the site that is waiting for late ranks
    wait_low: float  # smallest possible value of `wait`, given the error of the clocks
    wait_high: float  # largest possible value
    last_rank: int  # rank that causes most of the waiting; -1: unknown, or no rank causes much more than others
    last_wait: float  # share of the waiting that this rank causes
    last_calls: float  # share of the calls in which others wait for this rank
    quickest: QuickestRank | None  # only if no rank is known to arrive last


@dataclass(frozen=True)
class OtherSites(Fact):
    """Call sites with little time."""

    sites: int  # number of the sites
    share: float  # their share of the time, in total
    phase: str  # phase that `share` refers to; empty: the run


@dataclass(frozen=True)
class NothingAnalyzed(Fact):
    """No collective was recorded on all of its ranks."""


@dataclass(frozen=True)
class WaitingInMessages(Fact):
    """Much of the run is in point-to-point messages, and one rank spends the least time in them."""

    share: float  # share of the run in point-to-point messages
    rank: int  # rank with the least time
    time_s: float  # its time in messages
    others_s: float  # time of the other ranks in messages


@dataclass(frozen=True)
class TimeInMessages(Fact):
    """Much of the run is in point-to-point messages, but the rank that causes the waiting is unknown."""

    share: float  # share of the run in point-to-point messages
    reason: str  # reason why the rank is unknown


@dataclass(frozen=True)
class WaitingInPhase(Fact):
    """The waiting in a phase."""

    phase: str  # path of the phase
    share: float  # share of the phase in the run
    collectives: float  # share of the phase that is in collectives
    wait: float  # share of the time in collectives that is waiting for late ranks
    wait_low: float  # smallest possible value of `wait`, given the error of the clocks
    wait_high: float  # largest possible value
    rank: int  # rank that causes most of the waiting
    caused: float  # share of the waiting that this rank causes


@dataclass(frozen=True)
class RunAndAccuracy(Fact):
    """The duration of a run, and the accuracy of arrival times."""

    run_s: float  # duration of the run, or of the phase, mean over ranks
    ranks: int  # number of ranks of the job
    threads: int  # number of threads that called collectives, over all ranks
    phase: str  # empty: the run
    error_s: float | None  # error of a time on the common axis; None: there are no such times
    standard_errors: int  # `error_s` is this number of standard errors; 0: it is the hard bound
    hard_bound_s: float | None  # largest hard bound of an error; None: some error has no bound


@dataclass(frozen=True)
class SharedProcessors(Fact):
    """A host has more ranks than processors."""

    host: str
    ranks: int
    processors: int


@dataclass(frozen=True)
class WaitedForProcessor(Fact):
    """The time that ranks were ready to run but had no processor."""

    mean_s: float  # mean over ranks
    rank: int  # rank with the longest time
    most_s: float  # its time


@dataclass(frozen=True)
class RecordsLeftOut(Fact):
    """Records of calls that are not analyzed."""

    records: int  # number of the records
    reason: str  # property of these calls; completes "calls ..."


@dataclass(frozen=True)
class SampledCalls(Fact):
    """The recording has only a sample of single calls."""

    sampled: int  # number of calls that were recorded on all their ranks
    calls: int  # number of all calls
    error: float | None  # largest error of a share of waiting, with 95 % confidence; None: no share is known
    share: float  # smallest share of the run of a call site that `error` refers to


@dataclass(frozen=True)
class CallsWithoutSite(Fact):
    """Calls whose call site was not recorded, because the recording had no room for it."""

    calls: int  # number of the calls
    seconds: float  # time in them


@dataclass(frozen=True)
class ModuleAbsent(Fact):
    """A module of the program (executable or library) is missing on this machine, or was built again since."""

    module: str  # path
    rebuilt: bool  # whether it was built again


@dataclass(frozen=True)
class RecordingFull(Fact):
    """A recording could not grow."""

    lost: int  # number of records that the sample lacks
    error: int  # errno; 0: none, or unknown
    directory: str  # directory of the recording


@dataclass(frozen=True)
class PhaseNotEnded(Fact):
    """A phase was begun by MPI_Pcontrol but never ended."""

    phase: str  # name
    begins: int  # number of begins
    ranks: int  # number of ranks with a begin


@dataclass(frozen=True)
class PhaseUnbalanced(Fact):
    """A phase whose begins and ends do not match."""

    phase: str  # name
    begins: int  # number of begins
    ends: int  # number of ends, including strays
    cut: int  # number of begins that were ended by the end of the outer phase
    unended: int  # number of begins that were ended by the end of the program
    strays: int  # number of ends without a begin


@dataclass(frozen=True)
class PhaseOnSomeRanks(Fact):
    """A phase was begun on some ranks only."""

    phase: str  # name
    ranks: tuple[int, ...]
    of_ranks: int  # number of all ranks


@dataclass(frozen=True)
class PhasesWithoutRoom(Fact):
    """Calls of MPI_Pcontrol whose phase was not recorded, because the recording had no room for it."""

    calls: int  # number of the calls


@dataclass(frozen=True)
class MixedPhases(Fact):
    """Ranks were in different phases in the same collective call."""

    calls: int  # number of such calls
    rank: int  # a rank in the first such call
    phase: str  # its phase; empty: none
    other_rank: int  # a rank of the same call in another phase
    other_phase: str  # its phase; empty: none


@dataclass(frozen=True)
class RanksNotFinalized(Fact):
    """Ranks ended without MPI_Finalize."""

    ended: int  # number of such ranks
    ranks: int  # number of all ranks


@dataclass(frozen=True)
class RanksWithoutFile(Fact):
    """Ranks wrote no trace file."""

    missing: int  # number of such ranks
    ranks: int  # number of all ranks


@dataclass(frozen=True)
class NothingRecorded(Fact):
    """No collective was recorded."""

    ranks: int  # number of ranks with a trace file
    status: int  # exit status of the launcher


@dataclass(frozen=True)
class RecordedCalls(Fact):
    """The contents of a recording."""

    ranks: int  # number of ranks
    hosts: int  # number of hosts
    calls: int  # number of calls of collectives
    error_s: float | None  # error of the clocks; None: there are no times on a common axis


@dataclass(frozen=True)
class KeptCalls(Fact):
    """The recording keeps only a sample of the calls one by one."""

    kept: int  # number of calls in the sample
