"""Finds slow nodes and links in a file of `downbeat-bench pairs`.

The program measures all pairs of nodes within groups (the tournament), and measures suspects again in fresh rounds,
each time with controls: pairs of other nodes. A suspect is named if its fresh rounds confirm it. A leaf is a set of
near nodes, e.g. behind a switch.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from downbeat.data.pair_file import CONTROL, FRESH, SUSPECT, Looks, PairGroup, RankStates
from downbeat.data.pairs import PairTimes
from downbeat.locate.findings import Findings, certainty, find_in, not_steady
from downbeat.output.facts import Fact
from downbeat.output.facts.locate import (
    MeasuredInGroups,
    NothingSlow,
    Outlier,
    RankChecks,
    SlowLinks,
    Slowness,
    SlowNode,
    TakenProcessors,
    TooFewNodes,
)
from downbeat.statistics.faults import (
    FALSE_ALARM,
    FEW_NODES,
    LEAF_SUSPECTS,
    MAX_LINKS,
    MAX_SUSPECTS,
    MAX_UNJUDGED,
    MIN_NODES,
    PLANTED,
    Located,
)
from downbeat.statistics.fresh import Rounds, confirmed, confirming_power
from downbeat.statistics.node_faults import is_apart, leaves, node_threshold
from downbeat.statistics.peers import peers_of, robust_sigma
from downbeat.tables import Floats, Ints

NODE_ROUNDS, LINK_ROUNDS = 24, 10  # fresh rounds of a suspect, as downbeat-bench makes them
DIRECTED = 0.8  # share of the additional time in one direction from which the direction is named
# Column of RankStates -> smallest distance from the median of the ranks, relative to it, at which a rank is named.
MIN_DEVIATION = {"loop_seconds": 0.05, "wake_delay": 1.0, "interruptions_per_s": 1.0}
MIN_RATE_ERROR = 100e-6  # of a clock that is named; crystals are within 50 ppm of each other


def find_live(groups: Sequence[PairGroup]) -> list[Findings]:
    """Finds faults in each group of a file; all groups together have the false alarm probability `FALSE_ALARM`.

    The states of ranks, which belong to no group, are in the findings of the first group.
    """
    taken, checks = taken_processors(groups[0]), rank_checks(groups[0])
    rounds = [[rounds_of(group.looks, number) for number in range(len(group.suspects))] for group in groups]
    is_confirmed = confirmed([times for of_group in rounds for times, _ in of_group])
    flags = np.split(is_confirmed, np.cumsum([len(of_group) for of_group in rounds])[:-1])
    findings = []
    for number, (group, of_group, flags_of_group) in enumerate(zip(groups, rounds, flags, strict=True)):
        slow = [
            slowness(group, suspect, times, looks)
            for suspect, (times, looks), flag in zip(group.suspects, of_group, flags_of_group, strict=True)
            if flag
        ]
        findings.append(find_in_group(group, slow, FALSE_ALARM / len(groups), [] if number else taken))
    sizes = [len(group.names) for group in groups]
    if len(groups) > 1:
        checks = [MeasuredInGroups(sum(sizes), len(groups), min(sizes), max(sizes)), *checks]
        findings = with_common_remark(findings)
    findings[0] = dataclasses.replace(findings[0], remarks=(*findings[0].remarks, *checks))
    return findings


def find_in_group(group: PairGroup, slow: list[Slowness], level: float, taken: list[Fact]) -> Findings:
    """Finds faults in a group of nodes.

    Args:
        group: the group.
        slow: its suspects that fresh rounds confirm; they replace the verdicts of the tournament.
        level: probability of a false alarm.
        taken: facts on ranks whose processor other work takes.
    """
    times = group.tournament()
    nodes = len(group.names)
    if nodes < MIN_NODES:
        located = Located.unknown(nodes)
        return Findings(times, located, tuple(taken), (TooFewNodes(times.setting, nodes, ()),), located.deviations)
    findings = find_in(times, level, None, "")
    printed = times.printed()
    single = [suspect[0] for suspect in group.suspects if len(suspect) == 1]
    links = max(len(group.suspects), group.suspects_found) - len(single)
    leaf_nodes = [
        [group.names[node] for node in leaf] for leaf in leaves(np.array(single, dtype=np.int64), peers_of(printed))
    ]
    in_leaves = {name for names in leaf_nodes for name in names}
    nodes_steady = len(single) - len(in_leaves) <= max(1.0, MAX_SUSPECTS * nodes)
    links_steady = nodes_steady and links <= MAX_LINKS * nodes
    slow_nodes = [node for node in slow if len(node.ends) == 1 and (nodes_steady or node.ends[0] in in_leaves)]
    slow_links = tuple(link for link in slow if len(link.ends) == 2)  # fresh rounds decide, also with many suspects
    undecided: tuple[Slowness, ...] = ()
    if nodes < FEW_NODES:
        medians = medians_of(group)
        certain = [node for node in slow_nodes if is_apart(medians, group.names.index(node.ends[0]))]
        undecided = (*(node for node in slow_nodes if node not in certain), *slow_links)
        slow_nodes, slow_links = certain, ()
    powers = live_powers(group, times, findings.located)
    of_nodes, of_links = (certainty(times, power) for power in powers)
    accused: list[Fact] = [
        *taken,
        *(SlowNode(times.setting, "", node, of_nodes) for node in with_leaves(slow_nodes, leaf_nodes)),
        *([SlowLinks(times.setting, "", slow_links, of_links)] if slow_links else []),
    ]
    located = dataclasses.replace(
        findings.located,
        suspect_nodes=len(single),
        suspect_links=links,
        nodes_steady=nodes_steady,
        links_steady=links_steady and findings.located.unjudged <= MAX_UNJUDGED,
        node_power=powers[0],
        link_power=powers[1],
    )
    remarks: list[Fact] = []
    if undecided:
        remarks.append(TooFewNodes(times.setting, nodes, undecided))
    if not located.steady:
        remarks.append(not_steady(times, located, bool(accused)))
    elif not accused and not remarks:
        pairs = int(np.count_nonzero(~np.isnan(printed)) // 2)
        remarks.append(NothingSlow(times.setting, "", nodes, pairs, located.values, of_nodes, of_links))
    return dataclasses.replace(findings, located=located, accused=tuple(accused), remarks=tuple(remarks))


def with_common_remark(findings: list[Findings]) -> list[Findings]:
    """Replaces the remarks that nothing is slow in a group by one remark on all such groups, in the first of them."""
    quiet = [remark for each in findings for remark in each.remarks if isinstance(remark, NothingSlow)]
    common: list[Fact] = []
    if quiet:
        node_power, link_power = (
            float(np.mean([certainty.power for certainty in certainties]))
            for certainties in ([fact.of_nodes for fact in quiet], [fact.of_links for fact in quiet])
        )
        nodes = sum(fact.nodes for fact in quiet)
        common = [
            dataclasses.replace(
                quiet[0],
                setting="" if len(quiet) == len(findings) else f"{len(quiet)} of {len(findings)} groups",
                nodes=nodes,
                pairs=sum(fact.pairs for fact in quiet),
                of_nodes=dataclasses.replace(quiet[0].of_nodes, power=node_power, nodes=nodes),
                of_links=dataclasses.replace(quiet[0].of_links, power=link_power, nodes=nodes),
            )
        ]
    results = []
    for each in findings:
        remarks = tuple(remark for remark in each.remarks if not isinstance(remark, NothingSlow))
        if len(remarks) < len(each.remarks):
            remarks, common = (*common, *remarks), []
        results.append(dataclasses.replace(each, remarks=remarks))
    return results


def medians_of(group: PairGroup) -> Floats:
    """Median log time of each pair over all looks, shape (n, n); NaN where it was not measured."""
    looks = group.looks
    medians = np.full((len(group.names), len(group.names)), np.nan)
    for a, b in zip(*np.triu_indices(len(medians), 1), strict=True):
        seconds = looks.both[(looks.a == a) & (looks.b == b) & (looks.both > 0)]
        if len(seconds):
            medians[a, b] = medians[b, a] = np.log(np.median(seconds))
    return medians


def live_powers(group: PairGroup, times: PairTimes, located: Located) -> tuple[float, float]:
    """The probability that a node, and that a link, is suspected and confirmed if it is PLANTED times slower.

    With too many suspects, only the slowest have fresh rounds: a link must then be slower than the last of these.
    """
    if len(group.names) < FEW_NODES:
        return math.nan, math.nan
    margins = located.link_margins
    looked_at = [margins[suspect] for suspect in group.suspects if len(suspect) == 2]
    last = min(looked_at, default=0.0) if group.suspects_found > len(group.suspects) else 0.0
    suspected = np.mean(margins[~np.isnan(margins)] + math.log(PLANTED) > max(0.0, last))
    noise = noise_of(times.log_times())
    spread = located.deviations[~np.isnan(located.deviations)]
    of_nodes, of_links = (confirming_power(noise, spread, rounds) for rounds in (NODE_ROUNDS, LINK_ROUNDS))
    return located.node_power * of_nodes, float(suspected) * of_links


def rounds_of(looks: Looks, suspect: int) -> tuple[Rounds, Looks]:
    """Returns the fresh rounds of a suspect, and the looks at the suspect in these rounds.

    A look at the suspect is followed by looks at its controls; at most two of them count.
    """
    rows = looks[np.flatnonzero((looks.suspect == suspect) & (looks.passed == FRESH))]
    first = np.flatnonzero(rows.role == SUSPECT)
    ends = np.append(first, len(rows))[1:]
    controls = np.full((len(first), 2), np.nan)
    for number, (begin, end) in enumerate(zip(first, ends, strict=True)):
        controls_after = [row for row in range(begin + 1, end) if rows.role[row] == CONTROL and rows.both[row] > 0][:2]
        controls[number, : len(controls_after)] = np.log(rows.both[controls_after])
    complete = (rows.both[first] > 0) & ~np.isnan(controls).all(axis=1)
    return Rounds(np.log(rows.both[first][complete]), controls[complete]), rows[first[complete]]


def slowness(group: PairGroup, suspect: tuple[int, ...], rounds: Rounds, looks: Looks) -> Slowness:
    """Describes a confirmed suspect by its median time and that of its controls.

    Args:
        group: the group of the suspect.
        suspect: indices of a node, or of the ends of a link.
        rounds: its fresh rounds.
        looks: the looks at the suspect in these rounds.
    """
    value, peers = (math.exp(float(np.median(logs))) for logs in (rounds.times, np.nanmean(rounds.controls, axis=1)))
    from_first = looks.a == suspect[0]
    out = np.where(from_first, looks.seconds_ab, looks.seconds_ba)
    back = np.where(from_first, looks.seconds_ba, looks.seconds_ab)
    beyond_mean = float(np.median(out - back)) / 2  # time out of the first end minus the mean time of both ways
    direction = 0  # both directions
    if abs(beyond_mean) >= DIRECTED * (value - peers):
        direction = 1 if beyond_mean > 0 else 2  # out of the first end, or into it
    return Slowness(
        ends=tuple(group.names[end] for end in suspect),
        direction=direction,
        value=value,
        peers=peers,
        is_rate=False,
        ratio=math.exp(rounds.ratio),
        slow=rounds.slower,
        of=len(rounds.times),
        counted="rounds",
    )


def with_leaves(nodes: list[Slowness], leaf_nodes: list[list[str]]) -> list[Slowness]:
    """Merges slow nodes of the same leaf to a slow leaf; leaves come first.

    Args:
        nodes: slow nodes.
        leaf_nodes: names of the suspects of each leaf.
    """
    single, merged = {node.ends[0]: node for node in nodes}, []
    for names in leaf_nodes:
        members = [single.pop(name) for name in names if name in single]
        if len(members) > LEAF_SUSPECTS:
            median = sorted(members, key=lambda node: node.ratio)[len(members) // 2]
            merged.append(dataclasses.replace(median, ends=tuple(node.ends[0] for node in members)))
        else:
            single |= {node.ends[0]: node for node in members}
    return merged + sorted(single.values(), key=lambda node: -node.ratio)


def noise_of(logs: Floats) -> Floats:
    """Deviations of single log times, from the differences between the two values of each pair."""
    if len(logs) < 2:
        return np.zeros(1)
    differences = (logs[0] - logs[1]).ravel()
    known = differences[~np.isnan(differences)]
    return (known - np.median(known)) / math.sqrt(2) if known.size else np.zeros(1)


def taken_processors(group: PairGroup) -> list[Fact]:
    """Ranks that other work leaves PLANTED times less of their processor than the median of the other ranks."""
    free = 1 - group.states.taken_share
    known = np.flatnonzero(~np.isnan(free))
    ranks = []
    for rank in known if known.size > 1 else ():
        typical = float(np.median(free[known[known != rank]]))
        if free[rank] * PLANTED < typical:
            ranks.append(Outlier(group.ranks[rank], float(1 - free[rank]), 1 - typical))
    return [TakenProcessors(tuple(ranks))] if ranks else []


def rank_checks(group: PairGroup) -> list[Fact]:
    """Ranks that deviate from the other ranks: slow, often interrupted, or with a clock at a wrong rate."""
    facts: list[Fact] = []
    for column in RankStates.columns():
        if column.name not in {*MIN_DEVIATION, "clock_rate"}:
            continue
        values: Floats = getattr(group.states, column.name)
        known = np.flatnonzero(~np.isnan(values))
        if known.size < MIN_NODES:
            continue
        median = float(np.median(values[known]))
        distance = np.abs(values - median) if column.name == "clock_rate" else values - median
        smallest = MIN_RATE_ERROR if column.name == "clock_rate" else MIN_DEVIATION[column.name] * abs(median)
        limit = max(smallest, node_threshold(len(known), FALSE_ALARM) * robust_sigma(values))
        beyond: Ints = known[distance[known] > limit]
        ranks = tuple(Outlier(group.ranks[rank], float(values[rank]), median) for rank in beyond)
        if ranks:
            facts.append(RankChecks(column.name, column.unit, ranks))
    return facts
