"""The wordings of facts on slow nodes and links."""

from __future__ import annotations

import math

from downbeat.output.facts.locate import (
    AllSlower,
    Certainty,
    FailedPairs,
    MeasuredInGroups,
    NothingSlow,
    NotSteady,
    RankChecks,
    SingleValues,
    SlowLinks,
    Slowness,
    SlowNode,
    TakenProcessors,
    TooFewNodes,
)
from downbeat.output.fields import digits_with_zeros, percent_text, short_time
from downbeat.output.words.wording import long
from downbeat.text import counted, listed

MAX_LINKS = 8  # links in a sentence
PLAIN = 3.0  # larger ratios need no second decimal
# Column of RankStates -> words before the ranks and their values.
QUANTITIES = {
    "loop_seconds": "a loop of fixed work takes",
    "wake_delay": "a sleep of a millisecond is too long by",
    "interruptions_per_s": "interruptions of a busy loop:",
    "clock_rate": "the local clock is off its rate by",
    "clock_residual": "the global clock scatters by",
}


def in_setting(setting: str) -> str:
    """Words a setting within a sentence."""
    return f" in {setting}" if setting else ""


def amount(value: float, is_rate: bool) -> str:
    """Formats a time or a bandwidth."""
    if not is_rate:
        return short_time(value)
    unit, factor = next((each for each in (("GB/s", 1e9), ("MB/s", 1e6)) if value >= each[1]), ("kB/s", 1e3))
    return f"{digits_with_zeros(value / factor)} {unit}"


def times(ratio: float) -> str:
    """Words a ratio."""
    return f"{ratio:.1f} times" if ratio >= PLAIN else f"{ratio:.2f} times"


def name_of(slow: Slowness) -> str:
    """Names the node, link or leaf, with its direction."""
    if len(slow.ends) > 2:
        return f"A leaf ({listed(slow.ends)})"
    if len(slow.ends) == 1:
        return slow.ends[0] + ("", " as sender", " as receiver")[slow.direction]
    ends = slow.ends if slow.direction < 2 else slow.ends[::-1]
    return f"{ends[0]}{' to ' if slow.direction else ' - '}{ends[1]}"


def numbers_of(slow: Slowness) -> str:
    """Words the value of a node, link or leaf, and the value of its peers."""
    value = amount(slow.value, slow.is_rate)
    return f"{value}, {'their' if len(slow.ends) > 2 else 'its'} peers {amount(slow.peers, slow.is_rate)}"


def certainty_text(certainty: Certainty) -> str:
    """Words the probability of a false alarm, and the power."""
    return f"False alarm probability {100 * certainty.false_alarm:.2g} %; {power_text(certainty)}."


def found_of_100(power: float) -> str:
    """Words a power as the number found of 100, rounded down, so that it is not exaggerated; "-" if unknown."""
    return "-" if math.isnan(power) else str(math.floor(100 * power))


def power_text(certainty: Certainty) -> str:
    """Words the power: the share of planted slowdowns that would have been found."""
    if math.isnan(certainty.power):
        return f"{certainty.nodes} nodes are too few to state what would have been found"
    return f"would have found {certainty.planted:g} times in {found_of_100(certainty.power)} of 100"


@long.register
def _(fact: SlowNode) -> str:
    slow = fact.node
    whose = {"pairs": "of its pairs", "rounds": "rounds"}[slow.counted]
    since = f" than in {fact.since}" if fact.since else ""
    verb = "are" if len(slow.ends) > 1 else "is"
    return (
        f"{name_of(slow)} {verb} {'slower' if since else 'slow'}{since}{in_setting(fact.setting)}: {numbers_of(slow)} "
        f"({times(slow.ratio)}); {slow.slow} of {slow.of} {whose}. {certainty_text(fact.certainty)}"
    )


@long.register
def _(fact: SlowLinks) -> str:
    since = f" than in {fact.since}" if fact.since else ""
    verb = "is" if len(fact.links) == 1 else "are"
    shown = [
        f"{name_of(link)} {amount(link.value, link.is_rate)} ({times(link.ratio)})" for link in fact.links[:MAX_LINKS]
    ]
    more = f", and {len(fact.links) - MAX_LINKS} more" if len(fact.links) > MAX_LINKS else ""
    low, high = (amount(edge(link.peers for link in fact.links), fact.links[0].is_rate) for edge in (min, max))
    peers = low if low == high else f"{low} to {high}"
    return (
        f"{counted(len(fact.links), 'link')} {verb} {'slower' if since else 'slow'}{since}{in_setting(fact.setting)}, "
        f"and no node explains {'it' if len(fact.links) == 1 else 'them'}: {', '.join(shown)}{more}; peers {peers}. "
        f"{certainty_text(fact.certainty)}"
    )


@long.register
def _(fact: NotSteady) -> str:
    reasons = []
    if fact.suspect_nodes:
        reasons.append(f"{fact.suspect_nodes} of {fact.nodes} nodes are slower than their peers")
    if fact.suspect_links:
        reasons.append(f"{fact.suspect_links} of {fact.links} pairs are slower than their peers")
    if fact.unjudged:
        reasons.append(f"the peers of {percent_text(fact.unjudged)} of the pairs differ too much to judge these")
    if fact.restless:
        spread = f"{100 * fact.spread:.2g} %"
        reasons.append(f"values of {percent_text(fact.restless)} of the pairs scatter by more than {spread}")
    named = "no more can be named" if fact.named else "nothing can be named"
    return f"The machine is not steady{in_setting(fact.setting)}: {listed(reasons)}; {named}."


@long.register
def _(fact: NothingSlow) -> str:
    what = f"slower than in {fact.since}" if fact.since else "slow"
    sound = (
        f"No node and no link is {what}{in_setting(fact.setting)}: {counted(fact.nodes, 'node')}, "
        f"{counted(fact.pairs, 'pair')} with {counted(fact.values, 'value')} each. "
    )
    if math.isnan(fact.of_nodes.power):
        return f"{sound}{power_text(fact.of_nodes)}."
    nodes, links = found_of_100(fact.of_nodes.power), found_of_100(fact.of_links.power)
    return f"{sound}Would have found {fact.of_nodes.planted:g} times at {nodes} of 100 nodes and {links} of 100 links."


@long.register
def _(fact: TooFewNodes) -> str:
    few = f"{counted(fact.nodes, 'node')} are too few to tell a slow node, a slow link and a longer way apart"
    if not fact.slow:
        return f"{few}{in_setting(fact.setting)}."
    slow = listed(f"{name_of(each)} {amount(each.value, each.is_rate)} ({times(each.ratio)})" for each in fact.slow)
    return f"{few}; slower than peers{in_setting(fact.setting)}: {slow}."


@long.register
def _(fact: TakenProcessors) -> str:
    ranks = listed(
        f"{percent_text(each.value)} of the processor of {each.rank} (median of the other ranks "
        f"{percent_text(each.median)})"
        for each in fact.ranks
    )
    return f"Other work takes {ranks}."


@long.register
def _(fact: MeasuredInGroups) -> str:
    sizes = f"{fact.largest}" if fact.smallest == fact.largest else f"{fact.smallest} to {fact.largest}"
    return (
        f"{counted(fact.nodes, 'node')} were measured in {fact.groups} groups of {sizes} nodes; links between groups "
        "were not measured."
    )


@long.register
def _(fact: FailedPairs) -> str:
    verb = "has" if len(fact.pairs) == 1 else "have"
    pairs = listed(f"{a} - {b}" for a, b in fact.pairs)
    most = f" {fact.count} of them are with {fact.most}." if fact.most else ""
    return f"{counted(len(fact.pairs), 'pair')} {verb} no value{in_setting(listed(fact.settings))}: {pairs}.{most}"


@long.register
def _(fact: SingleValues) -> str:
    return (
        f"With {counted(fact.values, 'value')} of each pair{in_setting(fact.setting)}, a slow link cannot be told from "
        "a disturbed measurement; nodes are judged. Measure each pair three times or more, or several sizes."
    )


@long.register
def _(fact: AllSlower) -> str:
    return f"The median pair{in_setting(fact.setting)} takes {times(fact.ratio)} its time in {fact.since}."


@long.register
def _(fact: RankChecks) -> str:
    def value(number: float) -> str:
        return {"s": short_time(abs(number)), "1": f"{number * 1e6:.3g} ppm"}.get(fact.unit, f"{number:.3g} per s")

    ranks = listed(f"{each.rank} {value(each.value)} (median {value(each.median)})" for each in fact.ranks)
    return f"By themselves: {QUANTITIES[fact.quantity]} {ranks}."
