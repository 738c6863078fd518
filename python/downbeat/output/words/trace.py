"""The wordings of facts on recordings of `downbeat trace`."""

from __future__ import annotations

import errno
import os

from downbeat.output.facts.trace import (
    CallsWithoutSite,
    KeptCalls,
    LateBefore,
    LittleWaiting,
    LongerBefore,
    MixedPhases,
    ModuleAbsent,
    NothingAnalyzed,
    NothingRecorded,
    OtherSites,
    PhaseNotEnded,
    PhaseOnSomeRanks,
    PhasesWithoutRoom,
    PhaseUnbalanced,
    QuickestRank,
    RanksNotFinalized,
    RanksWithoutFile,
    RecordedCalls,
    RecordingFull,
    RecordsLeftOut,
    RunAndAccuracy,
    SampledCalls,
    SharedProcessors,
    SiteNotAnalyzed,
    SiteNotResolved,
    SiteTime,
    SiteWaiting,
    TimeInMessages,
    WaitedBefore,
    WaitedForProcessor,
    WaitingForLateRanks,
    WaitingInMessages,
    WaitingInPhase,
)
from downbeat.output.fields import percent_text, short_time
from downbeat.output.words.wording import long
from downbeat.text import counted, listed

MAX_EQUAL_LIMITS = 0.01  # limits of a share that differ by more are printed
MIN_UNASSIGNED = 0.1  # share of the waiting; a larger share with unknown cause is mentioned
# Time of the other ranks in other MPI calls, relative to their time between two collectives, from which on it is
# mentioned. Chosen by hand: below it most of their time is the program's own.
MIN_IN_MPI = 0.5
NUMBERS = ("no", "one", "two", "three", "four")  # the number in words, by number


def run_or_phase(phase: str) -> str:
    """The name of the time that shares refer to; `phase` is empty for the run."""
    return f"phase '{phase}'" if phase else "the run"


def wait_text(wait: float, low: float, high: float) -> str:
    """A share of waiting, with its limits if they differ."""
    if high - low > MAX_EQUAL_LIMITS:
        return f"{percent_text(wait)} ({100 * low:.0f} to {100 * high:.0f} %)"
    return percent_text(wait)


@long.register
def _(fact: WaitingForLateRanks) -> str:
    phrases: list[str] = []
    for late in fact.late:
        condition = "if its clock is right, " if late.rank in fact.doubtful else ""
        share = percent_text(late.share) if phrases else f"{percent_text(late.share)} of the waiting for late ranks"
        calls = f"{counted(late.calls, 'call')}, {short_time(late.late_s)} each"
        phrases.append(f"{condition}rank {late.rank} causes {share}: {calls}")
    if not phrases and fact.most:
        most = f"rank {fact.most.rank} causes the largest share of the waiting, {percent_text(fact.most.share)}"
        phrases.append(f"ranks are late in turn, none stands out: {most}")
    if fact.unassigned >= MIN_UNASSIGNED:
        phrases.append(
            f"{percent_text(fact.unassigned)} of the waiting is for ranks that the error of the clocks hides"
        )
    saved = f"{short_time(fact.waited_s)} of {short_time(fact.run_s)}, {percent_text(fact.waited_s / fact.run_s)}"
    return "; ".join([*phrases, f"balance would save up to {saved}"])


@long.register
def _(fact: LittleWaiting) -> str:
    share = percent_text(fact.share)
    return f"waiting for late ranks is {share} of {run_or_phase(fact.phase)}: balance would save next to nothing"


def longer_text(fact: LongerBefore) -> str:
    """Clause on the times of a late rank and of other ranks between two collectives."""
    between = f"between {fact.before} and {fact.after}"
    if fact.before == fact.after:
        between = f"from one {fact.before} to the next"
    return f"{between} rank {fact.rank} takes {short_time(fact.takes_s)}, the others {short_time(fact.others_s)}"


@long.register
def _(fact: LongerBefore) -> str:
    inside = ""
    least = MIN_IN_MPI * fact.others_s
    if fact.inside_s is not None and fact.inside_others_s is not None and fact.inside_others_s >= least:
        times = f"{short_time(fact.inside_s)} and {short_time(fact.inside_others_s)}"
        inside = f", {times} of it in other MPI calls"
    return f"{longer_text(fact)}{inside}"


@long.register
def _(fact: WaitedBefore) -> str:
    more = short_time((fact.inside_s or 0.0) - (fact.inside_others_s or 0.0))
    return (
        f"{longer_text(fact)}; {more} of the difference is in point-to-point and other MPI calls, where it may have "
        "waited for another rank itself"
    )


@long.register
def _(fact: LateBefore) -> str:
    left = short_time(fact.left_s)
    return f"{longer_text(fact)}, so it was late before: it left the first of them {left} after the others"


def site_text(fact: SiteTime) -> str:
    """Clause on the share of a call site in the run or the phase."""
    inside = f" in phase '{fact.inside}'" if fact.inside else ""
    waiting = " and in waiting for it" if fact.later else ""
    overlap = f", {fact.overlap_s * 1e6:.4g} us later" if fact.overlap_s is not None else ""
    share = f"{percent_text(fact.share)} of {run_or_phase(fact.phase)}"
    return f"{share} is in {fact.call} at {fact.site}{inside}{waiting}{overlap}"


def quickest_text(quickest: QuickestRank | None) -> str:
    """Clause on the rank with the shortest calls; empty for None."""
    if quickest is None:
        return ""
    times = f"{short_time(quickest.time_s)} in each call, the others {short_time(quickest.others_s)}"
    return f"; rank {quickest.rank} spends {times}: so it comes last, if they leave together"


@long.register
def _(fact: SiteNotAnalyzed) -> str:
    return f"{site_text(fact)}; these are calls {fact.reason}, so the late rank is not known"


@long.register
def _(fact: SiteNotResolved) -> str:
    error = f"its ranks come within the error of the clocks, {short_time(fact.error_s)}"
    return f"{site_text(fact)}; {error}: the late rank is not known{quickest_text(fact.quickest)}"


@long.register
def _(fact: SiteWaiting) -> str:
    wait = wait_text(fact.wait, fact.wait_low, fact.wait_high)
    last = ""
    if fact.last_rank >= 0:
        last = f"; rank {fact.last_rank} causes {percent_text(fact.last_wait)} of the waiting"
        last += f", in {percent_text(fact.last_calls)} of the calls"
    shares = f"{wait} of that is waiting for late ranks, {percent_text(1 - fact.wait)} is the operation"
    return f"{site_text(fact)}; {shares}{last}{quickest_text(fact.quickest)}"


@long.register
def _(fact: OtherSites) -> str:
    return (
        f"{counted(fact.sites, 'other call site')}: {percent_text(fact.share)} of {run_or_phase(fact.phase)} together"
    )


@long.register
def _(_: NothingAnalyzed) -> str:
    return "no collective was recorded on all of its ranks: arrivals are not known"


@long.register
def _(fact: WaitingInMessages) -> str:
    times = f"{short_time(fact.time_s)} in them, the others {short_time(fact.others_s)}, with as many calls"
    return (
        f"{percent_text(fact.share)} of the run is in point-to-point messages; rank {fact.rank} spends least, {times}: "
        "the others wait for it, if they need its messages"
    )


@long.register
def _(fact: TimeInMessages) -> str:
    share = percent_text(fact.share)
    return (
        f"{share} of the run is in point-to-point messages; the rank that others wait for is not known: {fact.reason}"
    )


@long.register
def _(fact: WaitingInPhase) -> str:
    return (
        f"phase '{fact.phase}' is {percent_text(fact.share)} of the run, {percent_text(fact.collectives)} of it in "
        f"collectives; {wait_text(fact.wait, fact.wait_low, fact.wait_high)} of that is waiting for late ranks, "
        f"{percent_text(fact.caused)} of it for rank {fact.rank}"
    )


@long.register
def _(fact: RunAndAccuracy) -> str:
    phase = f"phase '{fact.phase}', mean of the ranks: " if fact.phase else ""
    threads = f", {counted(fact.threads, 'thread')}" if fact.threads != fact.ranks else ""
    run = f"{phase}{fact.run_s:.4g} s, {counted(fact.ranks, 'rank')}{threads}"
    if fact.error_s is None:
        return f"{run}; no time is known on a common axis"
    kind = "hard bound"
    if fact.standard_errors:
        hard = short_time(fact.hard_bound_s) if fact.hard_bound_s is not None else "none at some calls"
        kind = f"{NUMBERS[fact.standard_errors]} standard errors; hard bound {hard}"
    return f"{run}; who came last is judged to +-{short_time(fact.error_s)} ({kind})"


@long.register
def _(fact: SharedProcessors) -> str:
    return (
        f"{fact.ranks} ranks share {counted(fact.processors, 'processor')} on {fact.host}: when one runs, others "
        "cannot, so arrivals, waiting and operations are the scheduler's, too"
    )


@long.register
def _(fact: WaitedForProcessor) -> str:
    return (
        f"ranks were ready to run but waited {fact.mean_s:.2g} s for a processor, rank {fact.rank} {fact.most_s:.2g} "
        "s, in MPI_Init and MPI_Finalize, too; times in calls contain it"
    )


@long.register
def _(fact: RecordsLeftOut) -> str:
    return f"left out: {fact.records} records of calls {fact.reason}"


@long.register
def _(fact: SampledCalls) -> str:
    within = "the share of waiting is not known"
    if fact.error is not None:
        sites = f"95 %, call sites from {percent_text(fact.share)} of the run"
        within = f"the share of waiting is within {100 * fact.error:.2g} points ({sites})"
    sample = f"single calls are a sample, {fact.sampled:,} of {fact.calls:,}"
    return f"{sample}; calls and shares of the run are of all, {within}"


@long.register
def _(fact: CallsWithoutSite) -> str:
    return f"{fact.calls} calls, {fact.seconds:.4g} s, had no room for their call site: a full disk?"


@long.register
def _(fact: ModuleAbsent) -> str:
    if fact.rebuilt:
        return f"'{fact.module}' was built again since, so the lines of its calls are not known"
    return f"'{fact.module}' is not here; run downbeat arrivals where it is for the lines of its calls"


# errno -> remedy for a recording that cannot grow; {}: its directory. The 16th is MEMORY_SHARE of
# preload/src/protected_file.c.
ROOM = {
    0: "free space in '{}', or raise --records",
    errno.ENOSPC: "free space in '{}'",
    errno.EDQUOT: "free space in '{}'",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.ENOMEM: "raise the limit of address space (ulimit -v), of which a recording takes a 16th",
    errno.EAGAIN: "raise the limit of locked memory (ulimit -l)",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
}


@long.register
def _(fact: RecordingFull) -> str:
    effect = f"the sample lacks {fact.lost} records for lack of room" if fact.lost else "a recording could not grow"
    remedy = ROOM.get(fact.error, f"its file was lost: {os.strerror(fact.error)}")
    return f"{effect}; {remedy.format(fact.directory)}"


@long.register
def _(fact: PhaseNotEnded) -> str:
    return (
        f"MPI_Pcontrol(1, '{fact.phase}') came {counted(fact.begins, 'time')} on {counted(fact.ranks, 'rank')} and no "
        f"MPI_Pcontrol(-1, '{fact.phase}'): it is no phase, but may be what a call without a name passes by chance"
    )


@long.register
def _(fact: PhaseUnbalanced) -> str:
    return (
        f"phase '{fact.phase}' has {counted(fact.begins, 'begin')} and {counted(fact.ends, 'end')}: {fact.cut} begins "
        f"were ended by the end of the phase around it, {fact.unended} by the end of the program, {fact.strays} ends "
        "came without a begin"
    )


@long.register
def _(fact: PhaseOnSomeRanks) -> str:
    ranks = listed(fact.ranks)
    return f"phase '{fact.phase}' was begun on {len(fact.ranks)} of {fact.of_ranks} ranks only: {ranks}"


@long.register
def _(fact: PhasesWithoutRoom) -> str:
    return f"{fact.calls} calls of MPI_Pcontrol had no room for their phase: too many names, or a full disk"


@long.register
def _(fact: MixedPhases) -> str:
    phase, other = (f"'{name}'" if name else "no phase" for name in (fact.phase, fact.other_phase))
    return (
        f"in {counted(fact.calls, 'call')} ranks are in different phases, e.g. rank {fact.rank} in {phase}, rank "
        f"{fact.other_rank} in {other}: a call counts to the phase of its lowest rank"
    )


@long.register
def _(fact: RanksNotFinalized) -> str:
    return f"{fact.ended} of {fact.ranks} ranks ended without MPI_Finalize; what they recorded is there"


@long.register
def _(fact: RanksWithoutFile) -> str:
    return f"{fact.missing} of {fact.ranks} ranks left no file"


@long.register
def _(fact: NothingRecorded) -> str:
    status = f" with status {fact.status}" if fact.status else ""
    return f"the program ended{status} before any collective: there is nothing to show"


@long.register
def _(fact: RecordedCalls) -> str:
    error = f", clock within {short_time(fact.error_s)}" if fact.error_s is not None else ""
    return f"{counted(fact.ranks, 'rank')}, {counted(fact.calls, 'call')} of collectives{error}"


@long.register
def _(fact: KeptCalls) -> str:
    return f"all calls are added up; {fact.kept} of them are kept one by one, as a sample"
