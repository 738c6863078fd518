"""The wordings of facts on traces of several ranks on one axis of time."""

from __future__ import annotations

from downbeat.output.facts.alignment import (
    CallsContradict,
    CallsOfOneRank,
    CallsOverlap,
    ClockMoved,
    CommonAxis,
    EventsLeftOut,
    FileLeftOut,
    LastOrClockOff,
    MatchedByOrder,
    NoBound,
    OnlyRankOfGroup,
    OperationsDiffer,
    OrderNotKnown,
    RankAlone,
    RanksWithoutPartner,
    RanksWithoutTrace,
    RepeatedCalls,
    SeparateAxis,
    WideBounds,
)
from downbeat.output.fields import short_time
from downbeat.output.words.wording import long
from downbeat.text import counted, listed


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
    if fact.steered:
        clocks = (
            f"that NTP slews by up to {fact.slew_rate * 1e6:.0f} ppm; faster movements are named where "
            "ends of calls show them"
        )
    else:
        clocks = (
            f"that nobody steers: rates differ by up to {fact.most_rate * 1e6:.0f} ppm and change by up to "
            f"{fact.wander:.1g} per s"
        )
    return f"the axis is the clock of rank {fact.rank}; bounds hold for clocks {clocks}"


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
    reasons = "calls limit the clock from one side only, or not always"
    if fact.steered:
        reasons += ", or do not show whether it was steered (--steady-clocks assumes that it was not)"
    return f"rank {listed(fact.ranks)}: no bound: {reasons}"


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
