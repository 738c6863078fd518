"""Finds slow nodes and links in a file of `downbeat-bench pairs`.

The program measures all pairs of nodes (the tournament) and looks again at suspects in fresh rounds, each time with
controls: pairs of other nodes. A suspect is named if its fresh rounds confirm it. A leaf is a group of near nodes.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from downbeat.data.pair_file import CONTROL, FRESH, SUSPECT, Looks, PairFile, RankStates
from downbeat.data.pairs import PairTimes
from downbeat.locate.findings import Findings, certainty, find_in, not_steady
from downbeat.output.facts import Fact
from downbeat.output.facts.locate import (
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


def find_live(measured: PairFile) -> Findings:
    """Finds faults in a file; fresh rounds replace the verdicts of the tournament."""
    times = measured.tournament()
    nodes = len(measured.names)
    taken = taken_processors(measured)
    if nodes < MIN_NODES:
        located = Located.unknown(nodes)
        few = TooFewNodes("", nodes, ())
        return Findings(times, located, tuple(taken), (few, *rank_checks(measured)), located.deviations)
    findings = find_in(times, FALSE_ALARM, None, "")
    printed = times.printed()
    single = [suspect[0] for suspect in measured.suspects if len(suspect) == 1]
    links = max(len(measured.suspects), measured.suspects_found) - len(single)
    groups = leaves(np.array(single, dtype=np.int64), peers_of(printed))
    in_leaves = {measured.names[node] for group in groups for node in group}
    nodes_steady = len(single) - len(in_leaves) <= max(1.0, MAX_SUSPECTS * nodes)
    links_steady = nodes_steady and links <= MAX_LINKS * nodes
    slow = confirmed_suspects(measured)
    slow_nodes = [node for node in slow if len(node.ends) == 1 and (nodes_steady or node.ends[0] in in_leaves)]
    slow_links = tuple(link for link in slow if len(link.ends) == 2)  # fresh rounds decide, also beside many suspects
    undecided: tuple[Slowness, ...] = ()
    if nodes < FEW_NODES:
        medians = medians_of(measured)
        certain = [node for node in slow_nodes if is_apart(medians, measured.names.index(node.ends[0]))]
        undecided = (*(node for node in slow_nodes if node not in certain), *slow_links)
        slow_nodes, slow_links = certain, ()
    powers = live_powers(measured, times, findings.located)
    of_nodes, of_links = (certainty(times, power) for power in powers)
    leaves_and_nodes = with_leaves(slow_nodes, [[measured.names[node] for node in group] for group in groups])
    accused: list[Fact] = taken
    accused += [SlowNode("", "", node, of_nodes) for node in leaves_and_nodes]
    accused += [SlowLinks("", "", slow_links, of_links)] if slow_links else []
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
        remarks.append(TooFewNodes("", nodes, undecided))
    if not located.steady:
        remarks.append(not_steady(times, located, bool(accused)))
    elif not accused and not remarks:
        pairs = int(np.count_nonzero(~np.isnan(printed)) // 2)
        remarks.append(NothingSlow("", "", nodes, pairs, located.values, of_nodes, of_links))
    remarks += rank_checks(measured)
    return dataclasses.replace(findings, located=located, accused=tuple(accused), remarks=tuple(remarks))


def confirmed_suspects(measured: PairFile) -> list[Slowness]:
    """The suspects that fresh rounds confirm, with their times."""
    rounds = [rounds_of(measured.looks, number, FRESH) for number in range(len(measured.suspects))]
    is_confirmed = confirmed([times for times, _ in rounds])
    return [
        slowness(measured, suspect, *rounds_and_looks)
        for suspect, rounds_and_looks, flag in zip(measured.suspects, rounds, is_confirmed, strict=True)
        if flag
    ]


def medians_of(measured: PairFile) -> Floats:
    """Median log time of each pair over all looks, shape (n, n); NaN where it was not measured."""
    looks = measured.looks
    medians = np.full((len(measured.names), len(measured.names)), np.nan)
    for a, b in zip(*np.triu_indices(len(medians), 1), strict=True):
        seconds = looks.both[(looks.a == a) & (looks.b == b) & (looks.both > 0)]
        if len(seconds):
            medians[a, b] = medians[b, a] = np.log(np.median(seconds))
    return medians


def live_powers(measured: PairFile, times: PairTimes, located: Located) -> tuple[float, float]:
    """The probability that a node, and that a link, is suspected and confirmed if it is PLANTED times slower.

    With too many suspects only the slowest have fresh rounds: a link must then be slower than the last of these.
    """
    if len(measured.names) < FEW_NODES:
        return math.nan, math.nan
    margins = located.link_margins
    looked_at = [margins[suspect] for suspect in measured.suspects if len(suspect) == 2]
    last = min(looked_at, default=0.0) if measured.suspects_found > len(measured.suspects) else 0.0
    suspected = np.mean(margins[~np.isnan(margins)] + math.log(PLANTED) > max(0.0, last))
    noise = noise_of(times.log_times())
    spread = located.deviations[~np.isnan(located.deviations)]
    of_nodes, of_links = (confirming_power(noise, spread, rounds) for rounds in (NODE_ROUNDS, LINK_ROUNDS))
    return located.node_power * of_nodes, float(suspected) * of_links


def rounds_of(looks: Looks, suspect: int, passed: int) -> tuple[Rounds, Looks]:
    """Returns the rounds of a suspect, log times with those of up to two controls; and its looks in these rounds."""
    rows = looks[np.flatnonzero((looks.suspect == suspect) & (looks.passed == passed))]
    first = np.flatnonzero(rows.role == SUSPECT)
    ends = np.append(first, len(rows))[1:]
    controls = np.full((len(first), 2), np.nan)
    for number, (begin, end) in enumerate(zip(first, ends, strict=True)):
        controls_after = [row for row in range(begin + 1, end) if rows.role[row] == CONTROL and rows.both[row] > 0][:2]
        controls[number, : len(controls_after)] = np.log(rows.both[controls_after])
    complete = (rows.both[first] > 0) & ~np.isnan(controls).all(axis=1)
    return Rounds(np.log(rows.both[first][complete]), controls[complete]), rows[first[complete]]


def slowness(measured: PairFile, suspect: tuple[int, ...], rounds: Rounds, looks: Looks) -> Slowness:
    """Describes a confirmed suspect by its median time and that of its controls.

    Args:
        measured: the file.
        suspect: indices of a node, or of the ends of a link.
        rounds: the fresh rounds.
        looks: the looks at the suspect in these rounds.
    """
    value, peers = (math.exp(float(np.median(logs))) for logs in (rounds.times, np.nanmean(rounds.controls, axis=1)))
    from_first = looks.a == suspect[0]
    out = np.where(from_first, looks.seconds_ab, looks.seconds_ba)
    back = np.where(from_first, looks.seconds_ba, looks.seconds_ab)
    beyond_mean = float(np.median(out - back)) / 2  # additional time of the way out
    direction = 0  # both directions
    if abs(beyond_mean) >= DIRECTED * (value - peers):
        direction = 1 if beyond_mean > 0 else 2  # out of the first end, or into it
    return Slowness(
        ends=tuple(measured.names[end] for end in suspect),
        direction=direction,
        value=value,
        peers=peers,
        is_rate=False,
        ratio=math.exp(rounds.ratio),
        slow=rounds.slower,
        of=len(rounds.times),
        counted="rounds",
    )


def with_leaves(nodes: list[Slowness], groups: list[list[str]]) -> list[Slowness]:
    """Merges slow nodes of the same group (names of nodes) to a slow leaf; leaves come first."""
    single, merged = {node.ends[0]: node for node in nodes}, []
    for group in groups:
        members = [single.pop(name) for name in group if name in single]
        if len(members) > LEAF_SUSPECTS:
            middle = sorted(members, key=lambda node: node.ratio)[len(members) // 2]
            merged.append(dataclasses.replace(middle, ends=tuple(node.ends[0] for node in members)))
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


def taken_processors(measured: PairFile) -> list[Fact]:
    """Ranks that other work leaves PLANTED times less of their processor than the median of the other ranks."""
    free = 1 - measured.states.taken_share
    known = np.flatnonzero(~np.isnan(free))
    ranks = []
    for rank in known if known.size > 1 else ():
        of_others = float(np.median(free[known[known != rank]]))
        if free[rank] * PLANTED < of_others:
            ranks.append(Outlier(measured.ranks[rank], float(1 - free[rank]), 1 - of_others))
    return [TakenProcessors(tuple(ranks))] if ranks else []


def rank_checks(measured: PairFile) -> list[Fact]:
    """Ranks that deviate from the other ranks: slow, often interrupted, or with a clock at a wrong rate."""
    facts: list[Fact] = []
    for column in RankStates.columns():
        if column.name not in {*MIN_DEVIATION, "clock_rate"}:
            continue
        values: Floats = getattr(measured.states, column.name)
        known = np.flatnonzero(~np.isnan(values))
        if known.size < MIN_NODES:
            continue
        middle = float(np.median(values[known]))
        distance = np.abs(values - middle) if column.name == "clock_rate" else values - middle
        least = MIN_RATE_ERROR if column.name == "clock_rate" else MIN_DEVIATION[column.name] * abs(middle)
        limit = max(least, node_threshold(len(known), FALSE_ALARM) * robust_sigma(values))
        beyond: Ints = known[distance[known] > limit]
        ranks = tuple(Outlier(measured.ranks[rank], float(values[rank]), middle) for rank in beyond)
        if ranks:
            facts.append(RankChecks(column.name, column.unit, ranks))
    return facts
