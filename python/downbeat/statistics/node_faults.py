"""Finds slow nodes and leaves from the deviations of pairs from the pairs of peers (peers.py).

The score of a node is the median deviation of its pairs. A node is a suspect if its score exceeds the robust spread of
the scores of all nodes and is at least log(FACTOR), also against nodes that are far from each other. A suspect is
reported if chance does not explain it: were the deviations shuffled over pairs, as in a permutation test, some node
would have a mean as large with at most the given probability. Hoeffding's bound for draws without replacement (1963,
Theorem 4) gives this probability without shuffling.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from downbeat.statistics.distributions import normal_quantile
from downbeat.statistics.faults import (
    BACKWARD,
    BOTH,
    FACTOR,
    FEW_NODES,
    FORWARD,
    LEAF_SUSPECTS,
    MAX_SUSPECTS,
    PLANTED,
    Fault,
)
from downbeat.statistics.peers import MAD_SIGMA, PEERS, Deviations, median, quantile, robust_sigma
from downbeat.tables import Flags, Floats, Ints

FAR = 0.75  # quantile of times that represents pairs of nodes that are far from each other
COMMON_PEERS = PEERS // 2  # peers that two suspects of a leaf have in common
MANY_NODES = 256  # with more nodes, the median absolute deviation is precise enough for a normal quantile
RUNS = 20_000  # simulated machines for the threshold of robust deviations of nodes
EXPONENTS = np.geomspace(0.5, 60.0, 24)  # where Chernoff bounds are minimized


@dataclass(frozen=True)
class NodeFaults:
    """The slow nodes of a machine.

    Attributes:
        faults: nodes and leaves, the slowest first.
        undecided: slow nodes that are not reported because there are fewer than FEW_NODES nodes.
        explained: flags of the nodes of faults and of most undecided ones; a fault of the node explains slow links.
        suspected: flags of suspects.
        steady: few suspects are alone; otherwise only leaves are reported.
        planted_reported: flags of nodes that would have been reported if they had been PLANTED times slower.
    """

    faults: list[Fault]
    undecided: list[Fault]
    explained: Flags
    suspected: Flags
    steady: bool
    planted_reported: Flags


@dataclass(frozen=True)
class NodeScores:
    """The nodes compared with their peers, in one direction or in both; shape (n,) each.

    Attributes:
        score: median deviation of the pairs of each node.
        beyond_far: deviation of each node's slow pairs from pairs of nodes that are far from each other.
        robust: score of each node minus the median score, in robust standard deviations of the scores.
        chance: bound of the probability that some node has a mean as large if deviations are shuffled over pairs.
        planted_reported: flags; true: the node would be suspected and reported if it were PLANTED times slower.
        slow: number of pairs that are slower than the peers by FACTOR.
        pairs: number of measured pairs.
    """

    score: Floats
    beyond_far: Floats
    robust: Floats
    chance: Floats
    planted_reported: Flags
    slow: Ints
    pairs: Ints

    @classmethod
    def of(cls, times: Floats, deviations: Floats, level: float) -> NodeScores:
        """Computes the scores of nodes, the rows of a matrix.

        Args:
            times: log times, shape (n, n).
            deviations: deviations from the times of peers, shape (n, n).
            level: probability of a false alarm.
        """
        planted = math.log(PLANTED)
        pairs = np.count_nonzero(~np.isnan(deviations), axis=1)
        score = np.where(pairs > 0, median(deviations, axis=1), np.nan)
        center, sigma, limit = float(np.nanmedian(score)), robust_sigma(score), node_threshold(len(score), level)
        # From 0 (like the peers) to 1 (slower by FACTOR or more), so that a single pair cannot decide.
        slow, slower = (np.clip(each / math.log(FACTOR), 0.0, 1.0) for each in (deviations, deviations + planted))
        sums, values, counts = generating_sums(slow), max(1, pairs.sum()), np.maximum(pairs, 1)
        chance = shuffled_chance(np.nansum(slow, axis=1) / counts, pairs, sums.sum(axis=0) / values)
        # A planted fault changes the values of both ends of a pair.
        changed = (sums.sum(axis=0) + 2 * (generating_sums(slower) - sums)) / values
        planted_chance = shuffled_chance(np.nansum(slower, axis=1) / counts, pairs, changed)
        # About 0 for a node that is alone in its leaf: all nodes of other leaves are equally far from each other.
        beyond_far = quantile(times - quantile(times, FAR, axis=0), FAR, axis=1)
        suspected = (np.minimum(score, beyond_far) + planted >= math.log(FACTOR)) & (
            (score + planted - center) / sigma > limit
        )
        return cls(
            score=score,
            beyond_far=beyond_far,
            robust=(score - center) / sigma,
            chance=chance,
            planted_reported=suspected & (planted_chance <= level),
            slow=np.count_nonzero(deviations > math.log(FACTOR), axis=1),
            pairs=pairs,
        )

    def suspected(self, level: float) -> Flags:
        """Flags nodes that are slow beyond the spread of the machine, even if chance could explain it."""
        limit = node_threshold(len(self.score), level)
        return np.asarray((np.minimum(self.score, self.beyond_far) >= math.log(FACTOR)) & (self.robust > limit))


@functools.lru_cache
def node_threshold(nodes: int, level: float) -> float:
    """Simulates the limit that the largest robust deviation of `nodes` normal numbers exceeds with probability `level`.

    The median absolute deviation of a few numbers is far from their standard deviation; the Bonferroni quantile of a
    normal distribution would report a node in a tenth of all sound machines of 16 nodes.
    """
    if nodes > MANY_NODES:
        return normal_quantile(1 - level / nodes)
    random = np.random.default_rng(1)
    largest = []
    for _ in range(max(1, math.ceil(RUNS * nodes / 2e6))):  # 16 MB of numbers at a time
        numbers = random.standard_normal((min(RUNS, max(1, int(2e6) // nodes)), nodes))
        numbers -= np.median(numbers, axis=1, keepdims=True)
        largest.append(numbers.max(axis=1) / (MAD_SIGMA * np.median(np.abs(numbers), axis=1)))
    return float(np.quantile(np.concatenate(largest), 1 - level))


def shuffled_chance(means: Floats, counts: Ints, generating: Floats) -> Floats:
    """Bounds the probability, for all nodes together, that a mean of randomly drawn values is as large as each mean.

    Args:
        means: mean of each node, shape (n,).
        counts: number of values of each node, shape (n,).
        generating: mean of exp(t x) over the drawn values at EXPONENTS, shape (exponents,) or (n, exponents).
    """
    exponents = counts[:, np.newaxis] * (np.log(generating) - EXPONENTS * means[:, np.newaxis])
    return np.asarray(np.minimum(1.0, len(means) * np.exp(np.minimum(exponents.min(axis=1), 0.0))))


def generating_sums(values: Floats) -> Floats:
    """Sums exp(t x) over the values x of each row that are not NaN, for t in EXPONENTS; shape (n, exponents)."""
    return np.stack([np.nansum(np.exp(t * values), axis=1) for t in EXPONENTS], axis=1)


def find_node_faults(times: Floats, deviations: Deviations, peers: Ints, directed: bool, level: float) -> NodeFaults:
    """Finds the slow nodes and leaves of a machine.

    Args:
        times: log times with the median 0, shape (n, n), from row to column.
        deviations: deviations of the times from those of peers.
        peers: peers of each node.
        directed: true: senders and receivers are judged separately.
        level: probability of a false alarm in a sound machine.
    """
    sides = {FORWARD: (times, deviations.sender), BACKWARD: (times.T, deviations.receiver.T)}
    sides = sides if directed else {BOTH: sides[FORWARD]}
    level /= len(sides)
    scores = {direction: NodeScores.of(*side, level) for direction, side in sides.items()}
    suspected = {direction: each.suspected(level) for direction, each in scores.items()}
    near = {direction: suspected[direction] & ~far_nodes(scores[direction].score, times, peers) for direction in sides}
    slow = {direction: near[direction] & (scores[direction].chance <= level) for direction in sides}
    groups, steady = suspect_groups(np.logical_or.reduce(list(near.values())), peers)
    faults, explained = [], np.zeros(len(peers), dtype=bool)
    for group in groups:
        if directions := [direction for direction, flags in slow.items() if flags[group].all()]:
            faults.append(fault_of(group, {direction: scores[direction] for direction in directions}))
            explained[group] = True
    undecided: list[Fault] = []
    if len(peers) < FEW_NODES:
        slower_way = np.fmax(times, times.T)
        apart = [node for node in range(len(peers)) if is_apart(slower_way, node)]
        undecided = [fault for fault in faults if fault.members[0] not in apart]
        faults = [fault for fault in faults if fault.members[0] in apart]
        undecided += [apart_fault(scores, node) for node in apart if not explained[node]]
    return NodeFaults(
        faults=sorted(faults, key=lambda fault: -fault.ratio),
        undecided=undecided,
        explained=explained,
        suspected=np.logical_or.reduce(list(suspected.values())),
        steady=steady,
        planted_reported=np.logical_or.reduce([each.planted_reported for each in scores.values()]),
    )


def far_nodes(score: Floats, times: Floats, peers: Ints) -> Flags:
    """Flags nodes that are fast with another slow node, as in a far leaf; two truly slow nodes are slow together."""
    near = float(np.nanmedian(np.take_along_axis(times, peers, axis=1)))
    fast = times < near + score[:, np.newaxis] / 2
    return np.asarray((fast & (score > score[:, np.newaxis] / 2)).any(axis=1))


def suspect_groups(suspected: Flags, peers: Ints) -> tuple[list[list[int]], bool]:
    """Groups suspects: leaves, then single nodes; without single nodes, and false, if the machine is not steady."""
    groups = leaves(np.flatnonzero(suspected), peers)
    alone = suspected.copy()
    alone[[node for group in groups for node in group]] = False
    steady = bool(np.count_nonzero(alone) <= max(1.0, MAX_SUSPECTS * len(peers)))
    return groups + ([[int(node)] for node in np.flatnonzero(alone)] if steady else []), steady


def leaves(suspects: Ints, peers: Ints) -> list[list[int]]:
    """Finds groups of more than LEAF_SUSPECTS suspects that common peers connect, directly or through others."""
    remaining, groups = {int(node) for node in suspects}, []
    near = {node: {node, *map(int, peers[node])} for node in remaining}
    while remaining:
        group = [remaining.pop()]
        for node in group:  # the loop also visits nodes that it appends
            linked = {other for other in remaining if len(near[node] & near[other]) >= COMMON_PEERS}
            remaining -= linked
            group += sorted(linked)
        if len(group) > LEAF_SUSPECTS:
            groups.append(sorted(group))
    return groups


def fault_of(group: list[int], slow: Mapping[int, NodeScores]) -> Fault:
    """Makes the fault of a node or a leaf.

    Args:
        group: indices of the nodes.
        slow: direction -> scores; the directions in which all these nodes are slow.
    """
    worst = max(slow.values(), key=lambda scores: scores.score[group].mean())
    return Fault(
        kind="leaf" if len(group) > 1 else "node",
        members=tuple(group),
        direction=BOTH if len(slow) > 1 else next(iter(slow)),
        ratio=math.exp(float(np.median(worst.score[group]))),
        slow=int(worst.slow[group].sum()),
        measured=int(worst.pairs[group].sum()),
        chance=float(worst.chance[group].max()),
    )


def is_apart(times: Floats, node: int) -> bool:
    """True if all pairs of a node are slower than all pairs without it by FACTOR, so that no link explains them."""
    without = np.delete(np.delete(times, node, axis=0), node, axis=1)
    return bool(np.nanmin(times[node]) >= np.nanmax(without) + math.log(FACTOR))


def apart_fault(scores: Mapping[int, NodeScores], node: int) -> Fault:
    """Makes the fault of a node that `is_apart`, in the direction in which it is slower."""
    direction, worst = max(scores.items(), key=lambda item: item[1].score[node])
    ratio = math.exp(float(worst.score[node]))
    return Fault("node", (node,), direction, ratio, int(worst.slow[node]), int(worst.pairs[node]), 1.0)
