"""Finds slow nodes and links from the times of all pairs of nodes, and states them as facts.

A setting is one kind of measurement of all pairs, e.g. a message size. A fault is a node or link that is slower than
its peers, or than in a baseline: an earlier measurement. A link is a pair of nodes, in both directions or in one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from downbeat.data.pairs import PairTimes
from downbeat.errors import UsageError
from downbeat.output.facts import Fact
from downbeat.output.facts.locate import (
    AllSlower,
    Certainty,
    FailedPairs,
    NothingSlow,
    NotSteady,
    SingleValues,
    SlowLinks,
    Slowness,
    SlowNode,
    TooFewNodes,
)
from downbeat.statistics.fault_search import locate
from downbeat.statistics.faults import (
    BACKWARD,
    FACTOR,
    FALSE_ALARM,
    MAX_LINKS,
    MAX_RESTLESS,
    MAX_UNJUDGED,
    MIN_NODES,
    PLANTED,
    SPREAD,
    Fault,
    Located,
)
from downbeat.statistics.peers import Deviations, peers_of
from downbeat.tables import Floats

MIN_SHIFT = 1.02  # smallest ratio of all pairs to a baseline that is reported
MANY_FAILED = 3  # a node with this many failed pairs is named


@dataclass(frozen=True)
class Findings:
    """The findings of a setting.

    Attributes:
        times: times of its pairs.
        located: faults, with indices of nodes.
        accused: facts on slow nodes and links, nodes first.
        remarks: facts on the steadiness of the machine and on the power of the search.
        deviations: log of the ratio to peers, or to the baseline; shape (nodes, nodes), NaN if not measured.
    """

    times: PairTimes
    located: Located
    accused: tuple[Fact, ...]
    remarks: tuple[Fact, ...]
    deviations: Floats

    @property
    def unsteady(self) -> bool:
        """True if times vary too much to name a node or link."""
        return not self.located.steady

    @property
    def undecided(self) -> bool:
        """True if something is slow that cannot be named among so few nodes."""
        return any(isinstance(remark, TooFewNodes) and remark.slow for remark in self.remarks)


def find(settings: Sequence[PairTimes], baseline: Sequence[PairTimes] = (), since: str = "") -> list[Findings]:
    """Finds faults in all settings; together they have the false alarm probability `FALSE_ALARM`.

    Args:
        settings: times of pairs in each setting.
        baseline: earlier times of pairs; faults are then pairs that have become slower.
        since: name of the baseline.

    Raises:
        UsageError: there are too few nodes, or a setting has no baseline.
    """
    for times in settings:
        check_nodes(times)
    level = FALSE_ALARM / len(settings)
    earlier = {times.setting: times for times in baseline}
    results = []
    for times in settings:
        if baseline and times.setting not in earlier:
            raise UsageError(f"the baseline has no pairs of '{times.setting}'; it has {', '.join(earlier)}")
        results.append(find_in(times, level, earlier.get(times.setting), since))
    return results


def find_in(times: PairTimes, level: float, earlier: PairTimes | None, since: str) -> Findings:
    """Finds faults in a setting.

    Args:
        times: times of its pairs.
        level: probability of a false alarm.
        earlier: the same setting in the baseline; None without a baseline.
        since: name of the baseline.
    """
    logs, printed = times.log_times(), times.printed()
    expected = np.full(printed.shape, np.nan)
    if earlier:
        baseline_logs, expected = aligned_to(times.names, earlier)
        logs = logs - baseline_logs
    logs = logs[~np.isnan(logs).all(axis=(1, 2))]
    if not len(logs):
        raise UsageError(f"the baseline has none of the pairs{f' of {times.setting!r}' if times.setting else ''}")
    located = locate(logs, times.directed, level)
    against = Deviations.from_peers(printed, peers_of(printed), directed=True)
    if earlier:
        shift = float(np.nanmedian(printed - expected))
        against = Deviations(printed - expected - shift, printed - expected - shift, against.scatter)
    nodes, links = (certainty(times, power) for power in (located.node_power, located.link_power))
    slow, undecided = (
        tuple(slowness(times, printed, against, fault) for fault in faults)
        for faults in (located.faults, located.undecided)
    )
    slow_nodes = [node for node in slow if node.counted == "pairs"]
    slow_links = tuple(link for link in slow if link.counted == "values")
    accused: list[Fact] = [SlowNode(times.setting, since, node, nodes) for node in slow_nodes]
    accused += [SlowLinks(times.setting, since, slow_links, links)] if slow_links else []
    remarks: list[Fact] = [TooFewNodes(times.setting, len(times.names), undecided)] if undecided else []
    if not located.steady:
        remarks.append(not_steady(times, located, bool(accused)))
    elif not accused and not undecided:
        pairs = int(np.count_nonzero(~np.isnan(printed)) // (1 if times.directed else 2))
        remarks.append(NothingSlow(times.setting, since, len(times.names), pairs, located.values, nodes, links))
    if located.links_steady and located.link_power == 0:
        remarks.append(SingleValues(times.setting, located.values))
    if earlier and max(shift, -shift) > math.log(MIN_SHIFT):
        remarks.append(AllSlower(times.setting, since, math.exp(shift)))
    return Findings(times, located, tuple(accused), tuple(remarks), np.fmax(against.sender, against.receiver))


def certainty(times: PairTimes, power: float) -> Certainty:
    """The worth of an accusation."""
    return Certainty(FALSE_ALARM, PLANTED, power, len(times.names))


def check_nodes(times: PairTimes) -> None:
    """Refuses pairs of too few nodes.

    Raises:
        UsageError: there are fewer nodes than a search needs.
    """
    if len(times.names) < MIN_NODES:
        raise UsageError(
            f"there are pairs of {len(times.names)} nodes alone ({', '.join(times.names)}); a slow node cannot be told "
            f"from a slow link with fewer than {MIN_NODES}; measure more pairs"
        )


def aligned_to(names: Sequence[str], earlier: PairTimes) -> tuple[Floats, Floats]:
    """Median log times of a baseline, measured and printed, for the nodes `names` in their order; NaN if missing."""
    index = {name: number for number, name in enumerate(earlier.names)}
    rows = np.array([index.get(name, -1) for name in names])
    pair_known = (rows >= 0) & (rows >= 0)[:, np.newaxis]
    logs = earlier.log_times()
    known = ~np.isnan(logs).all(axis=0)
    medians = np.full(known.shape, np.nan)
    medians[known] = np.nanmedian(logs[:, known], axis=0)
    chosen = np.ix_(rows, rows)
    return np.where(pair_known, medians[chosen], np.nan), np.where(pair_known, earlier.printed()[chosen], np.nan)


def slowness(times: PairTimes, printed: Floats, against: Deviations, fault: Fault) -> Slowness:
    """Describes a fault by the median value of its slow pairs, and that of their peers.

    Args:
        times: times of the setting.
        printed: median log times of pairs.
        against: deviations of these from peers.
        fault: a fault of the setting.
    """
    if fault.kind == "link":
        value, deviation = printed[fault.members], against.link[fault.members]
    else:
        rows = list(fault.members)
        is_receiver = fault.direction == BACKWARD
        values, deviations = (printed.T, against.receiver.T) if is_receiver else (printed, against.sender)
        slow = deviations[rows] > math.log(FACTOR)
        value = float(np.median(values[rows][slow]))
        deviation = value - float(np.median((values - deviations)[rows][slow]))
    sign = -1.0 if times.rate else 1.0
    return Slowness(
        ends=tuple(times.names[node] for node in fault.members),
        direction=fault.direction,
        value=math.exp(sign * value),
        peers=math.exp(sign * (value - deviation)),
        is_rate=times.rate,
        ratio=math.exp(deviation),
        slow=fault.slow,
        of=fault.measured,
        counted="values" if fault.kind == "link" else "pairs",
    )


def not_steady(times: PairTimes, located: Located, named: bool) -> NotSteady:
    """The reasons why the machine is not steady; `named` is True if a node or link is named nevertheless."""
    few_links = located.suspect_links <= MAX_LINKS * len(times.names)
    return NotSteady(
        setting=times.setting,
        nodes=len(times.names),
        suspect_nodes=0 if located.nodes_steady else located.suspect_nodes,
        links=located.links,
        suspect_links=0 if few_links else located.suspect_links,
        restless=located.restless if located.restless > MAX_RESTLESS else 0.0,
        unjudged=located.unjudged if located.unjudged > MAX_UNJUDGED else 0.0,
        spread=SPREAD,
        named=named,
    )


def failed_pairs(settings: Iterable[PairTimes]) -> list[FailedPairs]:
    """The pairs without values; a fact joins the settings with the same failed pairs."""
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for times in settings:
        if times.failed:
            pairs = tuple((times.names[a], times.names[b]) for a, b in times.failed)
            groups.setdefault(pairs, []).append(times.setting)
    facts = []
    for pairs, names in groups.items():
        node, count = Counter(node for pair in pairs for node in pair).most_common(1)[0]
        worst = count >= MANY_FAILED and count > len(pairs) / 3
        facts.append(FailedPairs(tuple(names), pairs, node if worst else "", count if worst else 0))
    return facts
