"""The wordings of facts on experiments."""

from __future__ import annotations

import math
import re

from downbeat.output.facts.experiment import (
    Algorithms,
    Caution,
    Described,
    FewerLaunches,
    HiddenDelays,
    Latencies,
    LeftOut,
    MachineStates,
    MoreAlgorithms,
    NotOk,
    Overlaps,
    Rejected,
    Remark,
    Resemble,
    RunSummary,
)
from downbeat.output.fields import format_percent, span, start_text, synchronizer_name
from downbeat.output.words.comparison import MAX_NAMED, side_text, times
from downbeat.output.words.wording import long
from downbeat.text import PERCENT, counted, duration_text, listed


@long.register
def _(fact: Algorithms) -> str:
    if not fact.from_common_start:
        lowest = listed(
            f"{each.algorithm} {start_text(each.start)} in {counted(each.cases, 'case')}" for each in fact.lowest
        )
        return f"{fact.operation}: lowest latency: {lowest}. Measure from a common start to see which is the fastest."
    lowest = listed(f"{each.algorithm} in {each.cases}" for each in fact.lowest)
    sentence = (
        f"{fact.operation}: lowest latency from a common start, {counted(fact.cases, 'case')}: {lowest}; significantly "
        f"below every other in {fact.sure}."
    )
    if not fact.deceived:
        return f"{sentence} The same algorithm is lowest after every other synchronizer."
    deceived = listed(f"{side_text(start)} in {counted(cases, 'case')}" for start, cases in fact.deceived)
    significant = f"in {fact.harmed} of these it is significantly slower from a common start"
    return f"{sentence} Another algorithm is lowest after {deceived}; {significant}."


@long.register
def _(fact: MoreAlgorithms) -> str:
    return f"The algorithms of {counted(fact.operations, 'more operation')} are in their pictures."


@long.register
def _(fact: Latencies) -> str:
    ranges = []
    for each in fact.operations:
        if math.isnan(each.interval_high):
            remark = f"over {counted(each.cells, 'cell')}"
        else:
            remark = f"(95 % interval {span(each.interval_low, each.interval_high)})"
        ranges.append(f"{each.operation} {span(each.low, each.high)} us {remark}")
    return f"Latencies {start_text(fact.start)}: {listed(ranges)}."


@long.register
def _(fact: HiddenDelays) -> str:
    ranges = [
        f"{each.operation} {times(each.low)} to {times(each.high)} (delays of {span(*delays)} us, "
        f"{counted(each.cells, 'cell')})"
        for each, delays in fact.operations
    ]
    return (
        f"Hidden share of a late start, mean over launches: {listed(ranges)}. At 1 the shorter of operation and delay "
        "is hidden completely; at 0 the whole delay is added."
    )


@long.register
def _(fact: Overlaps) -> str:
    ranges = [
        f"{each.operation} {PERCENT * each.low:.3g} % to {PERCENT * each.high:.3g} % ({counted(each.cells, 'cell')})"
        for each in fact.operations
    ]
    return (
        "Hidden share of the operation or the computation, whichever is shorter, median over launches: "
        f"{listed(ranges)}. Below 0 they slow each other down."
    )


@long.register
def _(fact: RunSummary) -> str:
    ranks = f"{', '.join(map(str, fact.ranks))} {'rank' if fact.ranks == (1,) else 'ranks'}"
    where = ", ".join(fact.libraries)
    if fact.platform:
        platform, *parameters = fact.platform.split(", ")
        where = f"simulated on {platform}{', ...)' if parameters else ''}"
    configurations = f" of {fact.configurations} configurations" if fact.configurations > 1 else ""
    within_span = f" within {duration_text(fact.span)}" if fact.span > 0 else ""
    return f"{ranks}, {where}, {counted(fact.launches, 'launch')}{configurations}{within_span}"


@long.register
def _(fact: MachineStates) -> str:
    launches = listed(f"{state} in {counted(count, 'launch')}" for state, count in fact.launches)
    return f"several states of the machine, by a round trip: {launches}"


@long.register
def _(fact: LeftOut) -> str:
    more = f" and {len(fact.cells) - MAX_NAMED} more" if len(fact.cells) > MAX_NAMED else ""
    cells = f"{', '.join(fact.cells[:MAX_NAMED])}{more}"
    where = f"{counted(fact.launches, 'launch')}, not counted"
    if fact.status == "state changed":
        return f"the state of the machine changed in {cells} ({where}): more, shorter launches (-r)"
    if fact.status == "wrong":
        return f"wrong results of {cells} ({where}): do not use the operation; -- --validate repeats it"
    return f"{fact.status}: {cells} ({where}): a quieter machine, or -- --max-attempts"


@long.register
def _(fact: Resemble) -> str:
    line = re.sub(r" \([^)]*\)", "", fact.line).partition(":")[
        0
    ]  # the beginning; downbeat compare prints the whole line
    return f"{line}: spread launches over a longer time (--over)"


@long.register
def _(fact: Described) -> str:
    duration = duration_text(fact.span)
    return f"these {fact.launches} launches describe {duration} of this machine; for latencies that hold tomorrow:"


@long.register
def _(fact: Remark) -> str:
    return fact.remark


@long.register
def _(fact: Rejected) -> str:
    shares = ", ".join(f"{format_percent(share)} % with {synchronizer_name(name)}" for name, share in fact.shares)
    return f"rejected, because ranks did not start together, and repeated: up to {shares}"


@long.register
def _(fact: NotOk) -> str:
    return f"{fact.status}: {', '.join(fact.cells)}"


@long.register
def _(fact: FewerLaunches) -> str:
    return f"in {fact.launches} launches only: {', '.join(fact.cells)}"


@long.register
def _(fact: Caution) -> str:
    return f"{counted(fact.warnings, 'warning')} below"
