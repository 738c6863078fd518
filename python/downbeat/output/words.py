"""The wordings of facts: for each a long one, which stands alone, and where it has one a short one for a summary.

A wording is a plain function of the fact. `Line(fact)` of `blocks.py` shows it; JSON has the fact itself.
"""

from __future__ import annotations

import errno
import os
import textwrap
from functools import singledispatch

from downbeat.output.facts import (
    AloneInCells,
    BestScheme,
    CallsContradict,
    CallsOfOneRank,
    CallsOverlap,
    CallsWithoutSite,
    CellWarning,
    ChoicePrice,
    ClockDrift,
    ClockMoved,
    CommonAxis,
    Damage,
    DecidedCells,
    EventsLeftOut,
    ExitSkews,
    Fact,
    FileLeftOut,
    KeptCalls,
    LackOfLaunches,
    LastOrClockOff,
    LateBefore,
    LaunchesForHalf,
    LittleWaiting,
    LongerBefore,
    MatchedByOrder,
    MixedPhases,
    ModuleAbsent,
    NoBound,
    NothingAnalyzed,
    NothingRecorded,
    NotMeasured,
    OnlyRankOfGroup,
    OperationsDiffer,
    OrderNotKnown,
    OtherSites,
    PairDrift,
    PhaseNotEnded,
    PhaseOnSomeRanks,
    PhasesWithoutRoom,
    PhaseUnbalanced,
    QuickestRank,
    RankAlone,
    RanksNotFinalized,
    RanksWithoutFile,
    RanksWithoutPartner,
    RanksWithoutTrace,
    RecordedCalls,
    RecordingFull,
    RecordsLeftOut,
    RepeatedCalls,
    RoundTrips,
    RuleRemoved,
    RulesOutcome,
    RunAndAccuracy,
    SampledCalls,
    SchemeError,
    SeparateAxis,
    SharedClock,
    SharedProcessors,
    SiteNotAnalyzed,
    SiteNotResolved,
    SiteTime,
    SiteWaiting,
    TimeInMessages,
    TuningNote,
    UnconfirmedRules,
    UncountedCells,
    UnprovenRules,
    WaitedBefore,
    WaitedForProcessor,
    WaitingForLateRanks,
    WaitingInMessages,
    WaitingInPhase,
    WideBounds,
)
from downbeat.output.fields import digits, percent_text, short_time, span
from downbeat.text import MICROSECONDS, PERCENT, bytes_text, counted, listed, time_text


@singledispatch
def long(fact: Fact) -> str:
    """The wording of a fact where it stands alone."""
    raise TypeError(f"{type(fact).__name__} has no wording in words.py")


@singledispatch
def short(fact: Fact) -> str:
    """The wording of a fact among others; the long one where no shorter one is registered."""
    return long(fact)


# Clocks.


@long.register
def _(_: SharedClock) -> str:
    return (
        "The schemes cannot be compared: all ranks share one clock, so their offsets are 0 by construction, and the "
        "measured ones are noise. Set DOWNBEAT_SHARE=never, or give every rank a clock of its own with known truth, as "
        "in DOWNBEAT_VALIDATION=offset=1,skew=1e-5,wander=1e-6."
    )


@long.register
def _(fact: BestScheme) -> str:
    best, quickest = fact.best, fact.quickest
    sentences = [
        f"{digits(fact.wait)} s after a synchronization, {best.scheme} is the quickest of the schemes within "
        f"{PERCENT * fact.good:.0f} % of the smallest {fact.kind}: {time_text(best.error)}, after "
        f"{time_text(best.duration)} of synchronizing."
    ]
    if quickest != best:
        sentences.append(f"The quickest of all is {quickest.scheme}: {scheme_numbers(quickest, fact.kind)}.")
    if fact.outside == 0:
        sentences.append("No error exceeded its bound.")
    elif fact.outside is not None:
        sentences.append(f"Bounds do not hold: {PERCENT * fact.outside:.3g} % of the errors of a scheme exceed them.")
    return " ".join(sentences)


def scheme_numbers(scheme: SchemeError, kind: str) -> str:
    """The duration and the error of a scheme."""
    return f"{time_text(scheme.duration)}, {kind} {time_text(scheme.error)}"


@long.register
def _(fact: ClockDrift) -> str:
    return f"Over {digits(fact.duration)} s the local clocks drifted apart: {listed(map(pair_drift, fact.pairs))}."


def pair_drift(pair: PairDrift) -> str:
    """The drift of a pair."""
    unsure = ", within the error of the measurement" if pair.within_error else ""
    return (
        f"ranks {pair.pair} by {pair.skew * MICROSECONDS:+.3g} us per s{unsure} (off the line by "
        f"{time_text(pair.residual)} at most; predicted from the first half, wrong by "
        f"{time_text(pair.prediction_error)} at the end)"
    )


@long.register
def _(fact: RoundTrips) -> str:
    pairs = (
        f"ranks {pair.pair}: shortest {time_text(pair.shortest)}, median {time_text(pair.median)}, 99 % below "
        f"{time_text(pair.p99)}"
        for pair in fact.pairs
    )
    return f"Round trips, {counted(fact.samples, 'sample')} of each pair: {listed(pairs)}."


@long.register
def _(fact: ExitSkews) -> str:
    ranks = f" of {fact.ranks} ranks" if fact.ranks else ""
    below = f"below {time_text(fact.limit)} (the clock's limit) after {listed(fact.below)}" if fact.below else ""
    above = listed(
        f"{span(skew.low * MICROSECONDS, skew.high * MICROSECONDS)} us after {skew.synchronizer}" for skew in fact.above
    )
    return f"Median exit skew{ranks}: {'; '.join(filter(None, (below, above)))}."


# Tuning.

LONGEST_REASON = 150  # characters, in a text; JSON has all of them
MOST_CELLS = 3  # that a line names; JSON has all of them


def reason_text(reason: str) -> str:
    """A reason, cut to what a line can hold."""
    return textwrap.shorten(reason, LONGEST_REASON, placeholder=" ...")


@long.register
def _(fact: RulesOutcome) -> str:
    if not fact.rules:
        return f"No rules for {counted(fact.cells, 'cell')}: the library's own choice stays."
    proofs = "; ".join(
        f"{each.cells} {each.verdict}{' by ' if each.verdict == 'proven' else ': '}{reason_text(each.by)}"
        for each in fact.proofs
    )
    rules = f"{counted(fact.rules, 'rule')} for {fact.ruled} of {fact.cells} cells"
    return f"{rules} ({proofs or 'not checked'}); the library's own choice stays in the others."


@long.register
def _(fact: ChoicePrice) -> str:
    chosen = f"Chosen {fact.otherwise}, {counted(fact.cells, 'cell')} would have another algorithm."
    if fact.ratio is None:
        return f"{chosen} Too few launches compare both choices {fact.like}."
    ratio = "{:.3f} ({:.3f} to {:.3f}) times as long".format(*fact.ratio)
    certain = f"in {counted(fact.longer, 'cell')} certainly longer"
    return f"{chosen} Measured anew {fact.like}, those take {ratio} on average, {certain}."


@long.register
def _(fact: NotMeasured) -> str:
    algorithm = f"{fact.collective} on {fact.ranks} ranks by {fact.algorithm}"
    return f"{algorithm} was not measured: {reason_text(fact.reason)}"


@long.register
def _(fact: TuningNote) -> str:
    return fact.remark


@long.register
def _(fact: DecidedCells) -> str:
    share = f"The fastest algorithm is beyond doubt in {fact.decided} of {counted(fact.cells, 'cell')}"
    if fact.enough:
        return f"{share}; {fact.enough} have the {fact.needed} launches that a verdict needs."
    return f"{share}: a verdict needs {fact.needed} launches, and none has more than {fact.most}."


@long.register
def _(fact: LaunchesForHalf) -> str:
    open_cells = f"the other {counted(fact.cells, 'cell')}"
    if not fact.known:
        return f"One launch each: how much launches differ is unknown, and so is how many would decide {open_cells}."
    known = f"if launches differ as in the {counted(fact.known, 'cell')} with two or more"
    if fact.launches is None:
        why = (
            "algorithms differ by less than the margin in more than half of them" if fact.same else "too few are known"
        )
        return f"No number of launches would decide half of {open_cells}, {known}: {why}."
    return f"{fact.launches} launches would decide half of {open_cells}, {known}."


@long.register
def _(fact: AloneInCells) -> str:
    return f"{counted(fact.cells, 'cell')} {'has' if fact.cells == 1 else 'have'} one algorithm alone."


@long.register
def _(fact: UnprovenRules) -> str:
    return (
        f"{counted(fact.rules, 'rule')} for {fact.library} from results of {fact.measured}: not proven on this "
        "machine. Nothing shows that the library obeys them, or what they gain here."
    )


@long.register
def _(fact: LackOfLaunches) -> str:
    if fact.launches < fact.needed:
        return (
            f"{fact.launches} launches cannot decide anything, so all defaults stay; use at least {fact.needed}, "
            "usually 10"
        )
    so = "their defaults stay, untested" if fact.where == "sweep" else "the gain of the rules is unknown there"
    return (
        f"{fact.lacking} of {fact.cells} cells lack launches that count, so {so}; see {fact.where}/*/failed, measure "
        "on an idle machine, or allow a larger --tolerance or --late-ranks (after --)"
    )


@long.register
def _(fact: UncountedCells) -> str:
    more = f" and {len(fact.cells) - MOST_CELLS} more" if len(fact.cells) > MOST_CELLS else ""
    return f"{fact.status} cells do not count ({fact.where}): {'; '.join(fact.cells[:MOST_CELLS])}{more}"


@long.register
def _(fact: RuleRemoved) -> str:
    return (
        f"the rule for {fact.collective} on {fact.ranks} ranks ({fact.sizes}) by {fact.algorithm} was written, "
        f"measured and removed: {fact.reason}; report it to the developers of the library"
    )


@long.register
def _(fact: UnconfirmedRules) -> str:
    withdrawn = f", and {fact.withdrawn} of them are withdrawn" if fact.withdrawn else ""
    return (
        f"{len(fact.unconfirmed)} of {fact.rules} rules gained nothing for certain when they were measured "
        f"anew{withdrawn}: {'; '.join(fact.unconfirmed)}. The luckiest of many algorithms looks better than it is; "
        "tune with more launches or repetitions, or a larger --margin"
    )


@long.register
def _(fact: CellWarning) -> str:
    cell = f"{fact.collective} of {bytes_text(fact.size)} bytes on {fact.ranks} ranks"
    match fact.problem:
        case "wrong default":
            check = f"downbeat-bench {fact.collective} -m {fact.size} --validate"
            return f"{cell} has wrong results by the library's own choice, which no rule replaces; {check} shows them"
        case "not obeyed":
            return f"the rules are not obeyed for {cell}: {fact.by}; do not use them before you know why"
        case "lost":
            return (
                f"{cell} was measured without the rules and in no launch under them; do not use them before you know "
                "why: gain/*/failed has the errors of the launches"
            )
    ratio = "{:.3f} times as long under the rules ({:.3f} to {:.3f})".format(*fact.ratio or ())
    return (
        f"{cell} has {'a' if fact.ruled else 'no'} rule and takes {ratio}; tune again on an idle machine, or leave it "
        "out"
    )


# Arrivals and recordings.


def of_run(phase: str) -> str:
    """The run, or the phase, that shares are of."""
    return f"phase '{phase}'" if phase else "the run"


def wait_text(wait: float, low: float, high: float) -> str:
    """A share of waiting, with its limits where they differ from it."""
    return percent_text(wait) + (f" ({100 * low:.0f} to {100 * high:.0f} %)" if high - low > LIMITS_DIFFER else "")


LIMITS_DIFFER = 0.01


@long.register
def _(fact: WaitingForLateRanks) -> str:
    phrases = [
        f"{'if its clock is right, ' if each.rank in fact.doubtful else ''}rank {each.rank} causes "
        f"{percent_text(each.share)}{'' if number else ' of the waiting for late ranks'}: "
        f"{counted(each.calls, 'call')}, {short_time(each.late_s)} each"
        for number, each in enumerate(fact.late)
    ]
    if not phrases and fact.most:
        most = f"rank {fact.most.rank} causes the largest share of the waiting, {percent_text(fact.most.share)}"
        phrases.append(f"ranks are late in turn, none stands out: {most}")
    if fact.unassigned >= UNASSIGNED:
        phrases.append(
            f"{percent_text(fact.unassigned)} of the waiting is for ranks that the error of the clocks hides"
        )
    saved = f"{short_time(fact.waited_s)} of {short_time(fact.run_s)}, {percent_text(fact.waited_s / fact.run_s)}"
    return "; ".join([*phrases, f"balance would save up to {saved}"])


UNASSIGNED = 0.1  # of the waiting, from which it is mentioned


@long.register
def _(fact: LittleWaiting) -> str:
    share = percent_text(fact.share)
    return f"waiting for late ranks is {share} of {of_run(fact.phase)}: balance would save next to nothing"


def longer_text(fact: LongerBefore) -> str:
    """The time of a late rank between two collectives, and that of the others."""
    between = f"between {fact.before} and {fact.after}"
    if fact.before == fact.after:
        between = f"from one {fact.before} to the next"
    return f"{between} rank {fact.rank} takes {short_time(fact.takes_s)}, the others {short_time(fact.others_s)}"


@long.register
def _(fact: LongerBefore) -> str:
    inside = ""
    if fact.inside_s is not None and fact.inside_others_s is not None and fact.inside_others_s >= fact.others_s / 2:
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
    """The share of a call site in the run."""
    inside = f" in phase '{fact.inside}'" if fact.inside else ""
    waiting = " and in waiting for it" if fact.later else ""
    overlap = f", {fact.overlap_s * 1e6:.4g} us later" if fact.overlap_s is not None else ""
    share = f"{percent_text(fact.share)} of {of_run(fact.phase)}"
    return f"{share} is in {fact.call} at {fact.site}{inside}{waiting}{overlap}"


def quickest_text(quickest: QuickestRank | None) -> str:
    """The rank that comes last by the time in the calls; empty if none stands out."""
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
    return f"{counted(fact.sites, 'other call site')}: {percent_text(fact.share)} of {of_run(fact.phase)} together"


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


NUMBERS = ("no", "one", "two", "three", "four")


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


# What helps a recording that does not grow, by errno.
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
    what = f"the sample lacks {fact.lost} records for lack of room" if fact.lost else "a recording could not grow"
    help_text = ROOM.get(fact.error, f"its file was lost: {os.strerror(fact.error)}")
    return f"{what}; {help_text.format(fact.directory)}"


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


# Traces on one axis.


@long.register
def _(fact: OnlyRankOfGroup) -> str:
    return f"group {fact.group}: only rank {fact.rank} has calls of it ({fact.calls})"


@long.register
def _(fact: RanksWithoutTrace) -> str:
    return f"group {fact.group}: no trace of rank {listed(fact.ranks)}; waiting for it counts as the operation"


@long.register
def _(fact: OperationsDiffer) -> str:
    calls, operations = counted(fact.calls, "call"), ", ".join(fact.operations)
    return f"group {fact.group}: {calls} with different operations, first call {fact.first}: {operations}"


@long.register
def _(fact: CallsOfOneRank) -> str:
    return f"group {fact.group}: {counted(fact.calls, 'call')} of one rank only"


@long.register
def _(fact: RanksWithoutPartner) -> str:
    return f"group {fact.group}: no call of rank {listed(fact.ranks)} is a call of another rank"


@long.register
def _(fact: RepeatedCalls) -> str:
    return f"group {fact.group}: rank {fact.rank} has {counted(fact.calls, 'call')} twice"


@long.register
def _(fact: MatchedByOrder) -> str:
    begins = f"begins with rank {fact.reference}"
    if fact.shift:
        later = "later" if fact.shift > 0 else "earlier"
        begins = f"begins {counted(abs(fact.shift), 'call')} {later} than rank {fact.reference}"
    lost = f"; {counted(fact.lost, 'call')} after that have no partner" if fact.lost else ""
    return f"group {fact.group}: without sequence numbers, rank {fact.rank} {begins}: there ends of calls agree{lost}"


@long.register
def _(fact: OrderNotKnown) -> str:
    return (
        f"group {fact.group}: calls of rank {listed(fact.ranks)} cannot be matched to those of rank "
        f"{fact.reference}: there are no sequence numbers, and no order has ends that agree clearly better than "
        "others; the first ones are taken as the same, without a bound; sequence numbers, or files with more common "
        "steps, would decide"
    )


@long.register
def _(fact: FileLeftOut) -> str:
    return f"left out: {fact.reason}"


@long.register
def _(fact: EventsLeftOut) -> str:
    more = f" and {counted(fact.more_files, 'more file')}" if fact.more_files else ""
    return f"'{fact.file}'{more}: {fact.events} {fact.kind}"


@long.register
def _(fact: CommonAxis) -> str:
    domain = (
        f"that NTP slews by up to {fact.slew_rate * 1e6:.0f} ppm; faster movements are named where "
        "ends of calls show them"
        if fact.steered
        else f"that nobody steers: rates differ by up to {fact.most_rate * 1e6:.0f} ppm and change by up to "
        f"{fact.wander:.1g} per s"
    )
    return f"the axis is the clock of rank {fact.rank}; bounds hold for clocks {domain}"


@long.register
def _(fact: RankAlone) -> str:
    return f"rank {fact.rank}: has no collective with another rank"


@long.register
def _(fact: SeparateAxis) -> str:
    return (
        f"rank {listed(fact.ranks)}: no collective ties them to rank {fact.first}; they are on an axis of their "
        f"own, the clock of rank {fact.ranks[0]}"
    )


@long.register
def _(_: CallsOverlap) -> str:
    return "calls of a rank overlap: their shares of the run may add up to more than 100 %"


@long.register
def _(fact: NoBound) -> str:
    steered = (
        ", or do not show whether it was steered (--steady-clocks assumes that it was not)" if fact.steered else ""
    )
    return f"rank {listed(fact.ranks)}: no bound: calls limit the clock from one side only, or not always{steered}"


@long.register
def _(fact: ClockMoved) -> str:
    against = f" against rank {fact.against}'s" if fact.against is not None else ""
    bound = "no bound there" if fact.torn else "errors there have that"
    return (
        f"rank {fact.rank}'s clock moved by {fact.by_s * 1e6:,.4g} us{against} between {fact.from_s:.6g} s and "
        f"{fact.to_s:.6g} s after its first call: it was slewed or set; {bound}"
    )


@long.register
def _(fact: WideBounds) -> str:
    return (
        f"the largest bound, {short_time(fact.largest_s)}, is as wide as NTP may slew a clock where calls are far "
        f"apart; if nobody steers these clocks, --steady-clocks gives {short_time(fact.steady_s)}"
    )


@long.register
def _(fact: LastOrClockOff) -> str:
    return (
        f"group {fact.group}, {fact.operation}: rank {fact.rank} comes last or its clock is off: limits on the clocks "
        f"allow both. It spends {short_time(fact.time_s)} in each call, the others {short_time(fact.others_s)}: so it "
        "comes last, if they leave together"
    )


@long.register
def _(fact: CallsContradict) -> str:
    calls = " and ".join(f"call {number} of {name}" for name, number in fact.calls) or "calls"
    return (
        f"rank {fact.rank} against rank {fact.other}: {calls} contradict each other by {fact.by_s * 1e6:.3g} us: they "
        f"do not belong together, a clock was set, or rates differ by more than {fact.most_rate * 1e6:.0f} ppm; no "
        "bound there"
    )


@long.register
def _(fact: Damage) -> str:
    first = f"{fact.file}:{fact.line}" if fact.line else fact.file
    where = f" in {counted(fact.files, 'file')}, first" if fact.files > 1 else ", first" if fact.count > 1 else ","
    return f"{fact.what}: {fact.count}{where} {first}"
