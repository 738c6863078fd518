"""Finds slow nodes and links from the times of all pairs of nodes, and states them as facts, for `downbeat locate`.

A setting is one kind of measurement of all pairs, e.g. sendrecv with 4 GPUs a node. A fault is a node or link that is
slower than its peers, the nearest nodes; with a baseline, an earlier measurement of the same setting, slower than in
the baseline. A link is a pair of nodes, in both directions or in one. A leaf is a group of many slow nodes with common
peers. Log times are natural logarithms; a deviation is the log time of a pair minus that of its peers or its baseline.
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

MIN_SHIFT = 1.02  # smallest ratio of the median pair to its baseline that is reported
MIN_FAILED = 3  # a node with this many failed pairs, and a third of all failed pairs, is named


@dataclass(frozen=True)
class Findings:
    """The findings of a setting.

    Attributes:
        times: times of the pairs in this setting.
        located: faults, with indices of nodes.
        accused: facts on slow nodes and links, nodes first.
        remarks: facts on the steadiness of the machine and on the power of the search.
        deviations: deviations of pairs, the larger of both ends, shape (nodes, nodes), from row to column; NaN: not
            measured.
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
        baseline: earlier times of pairs, with the same settings; faults are then nodes and links that became slower.
        since: name of the baseline.

    Raises:
        UsageError: there are too few nodes, or a setting has no baseline.
    """
    for times in settings:
        if len(times.names) < MIN_NODES:
            raise UsageError(
                f"there are pairs of {len(times.names)} nodes alone ({', '.join(times.names)}); a slow node cannot be "
                f"told from a slow link with fewer than {MIN_NODES}; measure more pairs"
            )
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
    logs, medians = times.log_times(), times.printed()
    baseline_medians = np.full(medians.shape, np.nan)
    if earlier:
        baseline_logs, baseline_medians = medians_of_baseline(times.names, earlier)
        logs = logs - baseline_logs
    logs = logs[~np.isnan(logs).all(axis=(1, 2))]
    if not len(logs):
        raise UsageError(f"the baseline has none of the pairs{f' of {times.setting!r}' if times.setting else ''}")
    located = locate(logs, times.directed, level)
    deviations = Deviations.from_peers(medians, peers_of(medians), directed=True)
    if earlier:
        shift = float(np.nanmedian(medians - baseline_medians))
        changes = medians - baseline_medians - shift
        deviations = Deviations(changes, changes, deviations.scatter)
    nodes, links = (certainty(times, power) for power in (located.node_power, located.link_power))
    slow, undecided = (
        tuple(describe(fault, times, medians, deviations) for fault in faults)
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
        pairs = int(np.count_nonzero(~np.isnan(medians)) // (1 if times.directed else 2))
        remarks.append(NothingSlow(times.setting, since, len(times.names), pairs, located.values, nodes, links))
    if located.links_steady and located.link_power == 0:
        remarks.append(SingleValues(times.setting, located.values))
    if earlier and abs(shift) > math.log(MIN_SHIFT):
        remarks.append(AllSlower(times.setting, since, math.exp(shift)))
    return Findings(times, located, tuple(accused), tuple(remarks), np.fmax(deviations.sender, deviations.receiver))


def certainty(times: PairTimes, power: float) -> Certainty:
    """States the certainty of accusations; `power`: share of planted faults that would have been found."""
    return Certainty(FALSE_ALARM, PLANTED, power, len(times.names))


def medians_of_baseline(names: Sequence[str], earlier: PairTimes) -> tuple[Floats, Floats]:
    """Computes the median log time of each pair in a baseline, and that of its printed values.

    Args:
        names: names of the nodes of the rows and columns to return; NaN: the baseline lacks the pair.
        earlier: the baseline.
    """
    index = {name: number for number, name in enumerate(earlier.names)}
    rows = np.array([index.get(name, -1) for name in names])
    pair_known = (rows >= 0) & (rows >= 0)[:, np.newaxis]
    logs = earlier.log_times()
    known = ~np.isnan(logs).all(axis=0)
    medians = np.full(known.shape, np.nan)
    medians[known] = np.nanmedian(logs[:, known], axis=0)
    chosen = np.ix_(rows, rows)
    return np.where(pair_known, medians[chosen], np.nan), np.where(pair_known, earlier.printed()[chosen], np.nan)


def describe(fault: Fault, times: PairTimes, medians: Floats, deviations: Deviations) -> Slowness:
    """Describes a fault by the median printed value of its slow pairs, and that of their peers.

    Args:
        fault: a fault of the setting.
        times: times of the setting.
        medians: median log of the printed values of each pair.
        deviations: deviations of these medians.
    """
    if fault.kind == "link":
        value, deviation = medians[fault.members], deviations.link[fault.members]
    else:
        rows = list(fault.members)
        as_sender, as_receiver = (medians, deviations.sender), (medians.T, deviations.receiver.T)
        values, of_values = as_receiver if fault.direction == BACKWARD else as_sender
        slow = of_values[rows] > math.log(FACTOR)
        value = float(np.median(values[rows][slow]))
        deviation = value - float(np.median((values - of_values)[rows][slow]))
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
    """States why the machine is not steady; `named`: a node or link is named nevertheless."""
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
    """States the pairs without values; a fact joins the settings with the same failed pairs."""
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for times in settings:
        if times.failed:
            pairs = tuple((times.names[a], times.names[b]) for a, b in times.failed)
            groups.setdefault(pairs, []).append(times.setting)
    facts = []
    for pairs, names in groups.items():
        node, count = Counter(node for pair in pairs for node in pair).most_common(1)[0]
        has_many = count >= MIN_FAILED and count > len(pairs) / 3
        facts.append(FailedPairs(tuple(names), pairs, node if has_many else "", count if has_many else 0))
    return facts
