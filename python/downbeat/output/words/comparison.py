"""The wordings of facts on comparisons of A and B.

If synchronizers are compared (`readings`), neither is faster: the same call reads lower or higher after one of them. A
history is worded in nights, because such comparisons usually run every night.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from downbeat.output.facts.comparison import (
    NO_VERDICT,
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

MAX_NAMED = 3  # cells that a sentence names; of more cells it has the number
MAX_LISTED = 4  # ranges in a set of sizes; more are summarized
MIN_TIMES = 2.0  # a ratio from here on is worded as "2.0 times", a smaller one in percent
# Verdict that one side is faster -> wording if synchronizers are compared, for one cell and for several.
READ = {"faster": ("reads lower", "read lower"), "slower": ("reads higher", "read higher")}
COMMON = f"a {synchronizer_name(COMMON_START)}"


def side_text(name: str) -> str:
    """The name of A or of B in a sentence: a value of a factor."""
    return COMMON if name == COMMON_START else synchronizer_name(name)


def verdict_text(verdict: str, readings: bool, cells: int = 1) -> str:
    """A verdict on a number of cells; `readings`: whether synchronizers are compared."""
    if not readings or verdict not in READ:
        return verdict
    singular, plural = READ[verdict]
    return singular if cells == 1 else plural


def upper(text: str) -> str:
    """A text with a capital letter, for the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def times(ratio: float) -> str:
    """A ratio with two decimals."""
    return f"{ratio:.2f}"


def interval(ratio: float, low: float, high: float) -> str:
    """A ratio with its interval, e.g. "1.20 (1.10 to 1.31)"."""
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
    """The number of cells with a verdict, and the range of their ratios if they are faster or slower."""
    text = f"{count.cells} {verdict_text(count.verdict, readings, count.cells)}"
    if count.verdict not in READ:
        return text
    low_and_high = dict.fromkeys((times(count.low), times(count.high)))  # one text if they are equal
    return f"{text} (ratio {' to '.join(low_and_high)})"


def against_nights(fact: Conclusion) -> str:
    """Sentence on a comparison with a history: slower and faster cells, then the numbers of other verdicts."""
    nights = f"the {counted(fact.sessions, 'night')} before"
    other_counts = [f"{each.cells} {each.verdict}" for each in fact.counts if each.verdict not in READ]
    clauses: list[str] = []
    for verdict in ("slower", "faster"):
        for count in fact.counts:
            if count.verdict != verdict:
                continue
            # Ratios of rates are inverted: a smaller rate takes longer.
            low, high = (1 / count.high, 1 / count.low) if fact.is_rate else (count.low, count.high)
            cells = "the cell"
            if fact.cells > 1:
                share = "all" if count.cells == fact.cells else f"{count.cells} of"
                cells = f"{share} {counted(fact.cells, 'cell')}"
            begin = f"{verdict} than then" if clauses else f"{upper(verdict)} than {nights}"
            clauses.append(f"{begin} in {cells}: {effect_text(False, verdict, low, high)}")
    if not clauses:
        return f"Neither slower nor faster than {nights}, {counted(fact.cells, 'cell')}: {', '.join(other_counts)}."
    return f"{'; '.join([*clauses, *other_counts])}."


@long.register
def _(fact: FirstNights) -> str:
    nothing = "nothing to compare with yet" if fact.night == 1 else "too few nights to compare with yet"
    return f"Night {fact.night} of {fact.needed}: recorded, {nothing}."


@long.register
def _(fact: OneLaunchEach) -> str:
    ratio = times(fact.ratio) if fact.cells == 1 else interval(fact.ratio, fact.low, fact.high)
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
    is_one_cell = sum(count for _, count in fact.verdicts) == 1
    verdicts = listed(verdict if is_one_cell else f"{count} {verdict}" for verdict, count in fact.verdicts)
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
    return step_text(fact, lambda count: within(count, fact.cells, " open cells"))


@short.register
def _(fact: NextStep) -> str:
    """Begins with the number of undecided cells; does not repeat it in each clause."""
    if fact.between_sessions:
        return long(fact)
    return f"{open_text(fact)}: {step_text(fact, lambda count: within(count, fact.cells))}"


def open_text(fact: NextStep) -> str:
    """The number of undecided cells, and the number of these with special reasons."""
    reasons = [f", {fact.by_holm} by Holm's correction"] if fact.by_holm else []
    reasons += [f", {fact.few_alike} {FEW_ALIKE}"] if fact.few_alike else []
    return f"{fact.cells} undecided{''.join(reasons)}"


def within(count: int, cells: int, noun: str = "") -> str:
    """A number of open cells in a clause: " in 19 of the 35 open cells"; without `noun` " in 19"."""
    if cells == 1:
        return " in the open cell" if noun else ""
    if not noun:
        return f" in {count if count < cells else 'all'}"
    share = f"{count} of the" if count < cells else "all"
    return f" in {share} {cells}{noun}"


def step_text(fact: NextStep, where: Callable[[int], str]) -> str:
    """Clauses on the results of more launches.

    Args:
        fact: the fact.
        where: makes the text for a number of open cells (`within`).
    """
    effect = f"{PERCENT * (EFFECT - 1):.0f} %"
    # More launches are no advice if most cells need too many.
    if 2 * fact.far > fact.cells:
        return (
            f"a quieter machine (downbeat doctor): more than {AFFORDABLE} launches would show {effect}{where(fact.far)}"
        )
    needs_more = fact.needed > fact.launches
    difference = ""
    # If the present launches show a difference in some cells only, the text has just the launches that equality takes.
    if needs_more or fact.shown == fact.cells:
        these = "" if needs_more else "these "
        difference = f"{these}{counted(fact.needed, 'launch')} would show {effect}{where(fact.shown)}; "
    launches = f"over {AFFORDABLE}" if fact.beyond else f"{fact.equal:.0f}"
    unit = "" if difference else " launches"  # not twice in a sentence
    cells = f" in {fact.beyond}" if 0 < fact.beyond < fact.cells else ""
    return f"{difference}equality within {PERCENT * fact.margin:g} % takes {launches}{unit}{cells}"


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
    """Does not list open sizes if there are several."""
    open_ranges = [each for each in fact.ranges if each.verdict not in (*READ, "equivalent")]
    if sum(len(each.indices) for each in open_ranges) < 2:
        return long(fact)
    decided = [range_text(each, fact) for each in fact.ranges if each not in open_ranges]
    return "; ".join([*decided, "undecided elsewhere" if decided else "undecided"])


def range_text(each: SizeRange, fact: OperationVerdicts) -> str:
    """Clause on sizes with one verdict: the sizes, then the size of the effect or the reason."""
    sizes = sizes_text(each.indices, fact.sizes)
    if each.verdict in READ:
        text = effect_text(fact.readings, each.verdict, each.low, each.high)
    elif each.verdict == "equivalent":
        text = f"within {PERCENT * fact.margin:g} %"
    elif each.verdict == "undecided" and not each.reason.startswith(NO_VERDICT):
        text = f"undecided: {each.reason}" if each.reason else "undecided"
    else:
        text = each.reason
    return f"{sizes}: {text}" if sizes else text


def sizes_text(indices: Sequence[int], sizes: Sequence[int]) -> str:
    """A set of sizes as text: "8 to 256, 4K"; empty if the operation has no sizes.

    Args:
        indices: indices of the set in `sizes`, ascending.
        sizes: all measured sizes, bytes.
    """
    if not any(sizes):
        return ""
    ranges: list[list[int]] = []  # first and last index of neighboring sizes
    for index in indices:
        if ranges and index == ranges[-1][1] + 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    if len(ranges) > MAX_LISTED:
        return f"{len(indices)} sizes from {bytes_text(sizes[indices[0]])} to {bytes_text(sizes[indices[-1]])}"
    return ", ".join(" to ".join(bytes_text(sizes[index]) for index in dict.fromkeys(ends)) for ends in ranges)


def effect_text(readings: bool, verdict: str, low: float, high: float) -> str:
    """The size of a difference, e.g. "14 to 19 % longer" or "2.1 times as fast".

    Args:
        readings: whether synchronizers are compared.
        verdict: "faster" or "slower".
        low: smallest of some ratios B / A with this verdict.
        high: largest of these ratios.
    """
    is_slower = verdict == "slower"
    factors = (low, high) if is_slower else (1 / high, 1 / low)
    in_times = factors[1] >= MIN_TIMES
    if in_times:
        amount = f"{ends_text(factors)} times"
    else:
        amount = f"{ends_text(sorted(abs(PERCENT * (ratio - 1)) for ratio in (low, high)))} %"
    if readings:
        return f"{amount} too {'high' if is_slower else 'low'}"
    if in_times:
        return f"{amount} {'as long' if is_slower else 'as fast'}"
    return f"{amount} {'longer' if is_slower else 'shorter'}"


def ends_text(values: Sequence[float]) -> str:
    """Two numbers as a range, "14 to 19", or as one number if their texts are equal."""
    return " to ".join(dict.fromkeys(f"{value:.1f}" if value < 9.95 else f"{value:.0f}" for value in values))
