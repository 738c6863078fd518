"""The wordings of facts on comparisons."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from downbeat.output.facts.comparison import (
    Conclusion,
    FirstNights,
    NextStep,
    OneLaunchEach,
    OpenCells,
    OperationVerdicts,
    OtherCells,
    SizeRange,
    SlowLaunches,
    TooFewLaunches,
    Unseen,
    VerdictCount,
    WithinStates,
)
from downbeat.output.fields import COMMON_START, start_text, synchronizer_name
from downbeat.output.words.wording import long, short
from downbeat.statistics.kinds import SLOW_LAUNCHES
from downbeat.statistics.power import AFFORDABLE, EFFECT
from downbeat.statistics.slow_launches import unseen_text
from downbeat.statistics.verdicts import FEW_ALIKE
from downbeat.text import PERCENT, bytes_text, counted, listed

MAX_NAMED = 3  # cells of one reason; of more their number
MAX_LISTED = 4  # runs in a set of sizes
TIMES = 2.0  # from here on a ratio is said in times, below in percent
READ = {"faster": ("reads lower", "read lower"), "slower": ("reads higher", "read higher")}
COMMON = f"a {synchronizer_name(COMMON_START)}"


def side_text(name: str) -> str:
    """A value that is compared, in a sentence."""
    return COMMON if name == COMMON_START else synchronizer_name(name)


def verdict_text(verdict: str, readings: bool, cells: int = 1) -> str:
    """A verdict on a number of cells; of synchronizers neither is faster: the same call reads lower or higher."""
    return READ[verdict][cells != 1] if readings and verdict in READ else verdict


def upper(text: str) -> str:
    """A text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def times(ratio: float) -> str:
    return f"{ratio:.2f}"


def interval(ratio: float, low: float, high: float) -> str:
    return f"{times(ratio)} ({times(low)} to {times(high)})"


@long.register
def _(fact: Conclusion) -> str:
    a, b = side_text(fact.a), side_text(fact.b)
    if fact.sessions:
        return against_nights(fact)
    if math.isnan(fact.ratio):
        counts = ", ".join(count_text(each, fact.readings) for each in fact.counts)
        return f"{upper(b) if b == COMMON else b} against {a}, {counted(fact.cells, 'cell')}: {counts}."
    over = f", over {counted(fact.cells, 'cell')}"
    if fact.readings:
        amount = interval(fact.ratio, fact.low, fact.high)
        return f"{upper(start_text(fact.b))} {fact.metric} reads {amount} times as much as {start_text(fact.a)}{over}."
    if not fact.is_time:
        return f"{fact.metric} of {b} is {interval(fact.ratio, fact.low, fact.high)} times that of {a}{over}."
    if fact.ratio > 1:
        return f"{a} is {interval(fact.ratio, fact.low, fact.high)} times as fast as {b}{over}."
    return f"{b} is {interval(1 / fact.ratio, 1 / fact.high, 1 / fact.low)} times as fast as {a}{over}."


def count_text(count: VerdictCount, readings: bool) -> str:
    """The number of cells with a verdict, and their ratios where they differ."""
    text = f"{count.cells} {verdict_text(count.verdict, readings, count.cells)}"
    if count.verdict not in READ:
        return text
    ends = dict.fromkeys((times(count.low), times(count.high)))
    return f"{text} (ratio {' to '.join(ends)})"


def against_nights(fact: Conclusion) -> str:
    """A night against those before it."""
    before = f"the {counted(fact.sessions, 'night')} before"
    other_counts = [f"{each.cells} {each.verdict}" for each in fact.counts if each.verdict not in READ]
    clauses: list[str] = []
    for verdict, word in (("slower", "Slower"), ("faster", "Faster")):
        for each in fact.counts:
            if each.verdict == verdict:
                times_of = (each.low, each.high) if not fact.is_rate else (1 / each.high, 1 / each.low)
                where = "all" if each.cells == fact.cells > 1 else f"{each.cells} of"
                of = f"{where} {counted(fact.cells, 'cell')}" if fact.cells > 1 else "the cell"
                head = f"{word if not clauses else word.lower()} than {before if not clauses else 'then'} in {of}"
                clauses.append(f"{head}: {effect_text(False, verdict, *times_of)}")
    if not clauses:
        return f"Neither slower nor faster than {before}, {counted(fact.cells, 'cell')}: {', '.join(other_counts)}."
    return f"{'; '.join([*clauses, *other_counts])}."


@long.register
def _(fact: FirstNights) -> str:
    nothing = "nothing to compare with yet" if fact.night == 1 else "too few nights to compare with yet"
    return f"Night {fact.night} of {fact.needed}: recorded, {nothing}."


@long.register
def _(fact: OneLaunchEach) -> str:
    ratio = times(fact.ratio) if fact.cells == 1 else f"{times(fact.ratio)} ({times(fact.low)} to {times(fact.high)})"
    return (
        f"{fact.metric} of {side_text(fact.b)} is {ratio} times that of {side_text(fact.a)}, over "
        f"{counted(fact.cells, 'cell')}; one launch each: nothing is known of differences between launches."
    )


@long.register
def _(fact: WithinStates) -> str:
    a, b = side_text(fact.a), side_text(fact.b)
    shares = listed(
        f"{each.state} in {each.in_a} of {each.of_a} launches of {a} and {each.in_b} of {each.of_b} of {b}"
        for each in fact.shares
    )
    within = f"Verdicts are within a state of the machine: {shares or ', '.join(fact.states)}"
    if not fact.verdicts:
        return f"{within}."
    alone = sum(count for _, count in fact.verdicts) == 1
    verdicts = listed(verdict if alone else f"{count} {verdict}" for verdict, count in fact.verdicts)
    return (
        f"{within}; over all launches {b} takes {interval(fact.ratio, fact.low, fact.high)} times as long as {a}: "
        f"{verdicts}."
    )


@long.register
def _(fact: OtherCells) -> str:
    counts = ", ".join(f"{cells} {verdict_text(each, fact.readings, cells)}" for each, cells in fact.counts)
    where = [start_text(fact.start)] if fact.start else []
    where += [f"state {fact.state}"] if fact.state else []
    return f"{', '.join(where) or 'other cells'}: {counts}"


@long.register
def _(fact: Unseen) -> str:
    return unseen_text(fact.launches, fact.span)


@long.register
def _(fact: SlowLaunches) -> str:
    of_b = f" of {fact.of_b}" if fact.of_b != fact.of_a else ""
    counts = f"{side_text(fact.b)} {fact.slow_b}{of_b}, {side_text(fact.a)} {fact.slow_a} of {fact.of_a}"
    return f"{SLOW_LAUNCHES}: {fact.cell}, {counts} (p = {fact.p_value:.2g})"


@long.register
def _(fact: OpenCells) -> str:
    count = len(fact.cells)
    cells = f"{count} cells" if count > MAX_NAMED or (fact.every and count > 1) else ", ".join(fact.cells)
    return f"{fact.verdict}, {fact.reason}: {cells}"


@long.register
def _(fact: NextStep) -> str:
    if fact.between_sessions:
        step = "more launches do not make up for what differs between sessions: measure A and B in one experiment"
        return f"{open_text(fact)}: {step}"
    return step_text(fact, lambda count: within(count, fact.cells, " open cells"), "launch")


@short.register
def _(fact: NextStep) -> str:
    """After the number of open cells, which `compare` says; the option of `run` is with the command."""
    if fact.between_sessions:
        return long(fact)
    return f"{open_text(fact)}: {step_text(fact, lambda count: within(count, fact.cells), 'launch')}"


def open_text(fact: NextStep) -> str:
    """The number of cells that are open, and why."""
    reasons = [f", {fact.by_holm} by Holm's correction"] if fact.by_holm else []
    reasons += [f", {fact.few_alike} {FEW_ALIKE}"] if fact.few_alike else []
    return f"{fact.cells} undecided{''.join(reasons)}"


def within(count: int, cells: int, noun: str = "") -> str:
    """In how many of some open cells: ` in 19 of the 35 open cells`, ` in 19`."""
    if cells == 1:
        return " in the open cell" if noun else ""
    if not noun:
        return f" in {count if count < cells else 'all'}"
    return f" in {f'{count} of the' if count < cells else 'all'} {cells}{noun}"


def step_text(fact: NextStep, where: Callable[[int], str], noun: str) -> str:
    """What more launches would show."""
    effect = f"{PERCENT * (EFFECT - 1):.0f} %"
    if 2 * fact.far > fact.cells:
        return (
            f"a quieter machine (downbeat doctor): more than {AFFORDABLE} launches would show {effect}{where(fact.far)}"
        )
    more = fact.needed > fact.launches
    first = f"{'' if more else 'these '}{counted(fact.needed, noun)} would show {effect}{where(fact.shown)}; "
    first = first if more or fact.shown == fact.cells else ""
    most = f"over {AFFORDABLE}" if fact.beyond else f"{fact.equal:.0f}"
    some = f" in {fact.beyond}" if 0 < fact.beyond < fact.cells else ""
    return f"{first}equality within {PERCENT * fact.margin:g} % takes {most}{'' if first else ' launches'}{some}"


@long.register
def _(fact: TooFewLaunches) -> str:
    if fact.so_far:
        return f"--launches {fact.launches}: too few that can be compared so far"
    return f"--launches {fact.launches} or more, which verdicts need"


@long.register
def _(fact: OperationVerdicts) -> str:
    return "; ".join(range_text(each, fact) for each in fact.ranges)


@short.register
def _(fact: OperationVerdicts) -> str:
    """Of open sizes no more than that there are some."""
    still_open = [each for each in fact.ranges if each.verdict not in ("faster", "slower", "equivalent")]
    if sum(len(each.indices) for each in still_open) < 2:
        return long(fact)
    decided = [range_text(each, fact) for each in fact.ranges if each not in still_open]
    return "; ".join([*decided, "undecided elsewhere" if decided else "undecided"])


def range_text(each: SizeRange, fact: OperationVerdicts) -> str:
    """Sizes with one verdict, and what it is."""
    sizes = sizes_text(each.indices, fact.sizes)
    if each.verdict in READ:
        text = effect_text(fact.readings, each.verdict, each.low, each.high)
    elif each.verdict == "equivalent":
        text = f"within {PERCENT * fact.margin:g} %"
    elif each.verdict == "undecided" and not each.reason.startswith("no verdict"):
        text = f"undecided{f': {each.reason}' if each.reason else ''}"
    else:
        text = each.reason
    return f"{sizes}: {text}" if sizes else text


def sizes_text(indices: Sequence[int], sizes: Sequence[int]) -> str:
    """A set of sizes, by their indices among all that were measured: `8 to 256, 4K`; empty without a size."""
    if not any(sizes):
        return ""
    runs = [list(run) for _, run in itertools.groupby(enumerate(indices), lambda pair: pair[1] - pair[0])]
    if len(runs) > MAX_LISTED:
        return f"{len(indices)} sizes from {bytes_text(sizes[indices[0]])} to {bytes_text(sizes[indices[-1]])}"
    return ", ".join(" to ".join(dict.fromkeys(bytes_text(sizes[run[end][1]]) for end in (0, -1))) for run in runs)


def effect_text(readings: bool, verdict: str, low: float, high: float) -> str:
    """A difference, from the smallest to the largest of some ratios B / A with one verdict."""
    slower = verdict == "slower"
    ends = (low, high) if slower else (1 / high, 1 / low)
    in_times = ends[1] >= TIMES
    if in_times:
        amount = f"{ends_text(ends)} times"
    else:
        amount = f"{ends_text(sorted(abs(PERCENT * (ratio - 1)) for ratio in (low, high)))} %"
    if readings:
        return f"{amount} too {'high' if slower else 'low'}"
    return f"{amount} {('as long' if slower else 'as fast') if in_times else ('longer' if slower else 'shorter')}"


def ends_text(values: Sequence[float]) -> str:
    """Two numbers as a range: `14 to 19`."""
    return " to ".join(dict.fromkeys(f"{value:.1f}" if value < 9.95 else f"{value:.0f}" for value in values))
