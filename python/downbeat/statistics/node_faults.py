"""Finds slow nodes and leaves from the deviations of pairs from the pairs of peers (peers.py).

The score of a node is the median deviation of its pairs. A node is a suspect if its score exceeds the robust spread of
the scores of all nodes and is at least log(FACTOR), also against nodes that are far from each other. A suspect is
reported if chance does not explain it: were the deviations shuffled over pairs, as in a permutation test, some node
would have a mean as large with at most the given probability. Hoeffding's bound for draws without replacement (1963,
Theorem 4) gives this probability without shuffling. A far node, e.g. of a distant leaf, is slow with most nodes, but
not with other far nodes; it is no suspect. A planted fault is a simulated slowdown, for the power of the search.
"""

from __future__ import annotations

import dataclasses
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
from downbeat.statistics.peers import MAD_SIGMA, PEERS, Deviations, median, peers_of, quantile, robust_sigma
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
        explained: flags of nodes whose fault explains slow links: of faults, and of undecided ones unless chance
            explains these.
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
    """The nodes compared with their peers, in one direction or in both; rows are nodes.

    Attributes:
        score: median deviation of the pairs of each node, shape (n,).
        slow: number of pairs that are slower than the peers by FACTOR, shape (n,).
        pairs: number of measured pairs, shape (n,).
        slowness: mean slowness of the pairs, shape (n,). The slowness of a pair is 0 if it is like its peers, 1 if it
            is slower by FACTOR or more, so that a single pair cannot decide.
        sums: sums of exp(t x) over the slowness x of the pairs, for t in EXPONENTS; shape (n, exponents).
    """

    score: Floats
    slow: Ints
    pairs: Ints
    slowness: Floats
    sums: Floats

    @classmethod
    def of(cls, deviations: Floats) -> NodeScores:
        """Computes the scores of nodes, the rows of a matrix of deviations from the times of peers."""
        pairs = np.count_nonzero(~np.isnan(deviations), axis=1)
        slowness = np.clip(deviations / math.log(FACTOR), 0.0, 1.0)
        return cls(
            score=np.where(pairs > 0, median(deviations, axis=1), np.nan),
            slow=np.count_nonzero(deviations > math.log(FACTOR), axis=1),
            pairs=pairs,
            slowness=np.nansum(slowness, axis=1) / np.maximum(pairs, 1),
            sums=np.stack([np.nansum(np.exp(t * slowness), axis=1) for t in EXPONENTS], axis=1),
        )

    def with_rows(self, rows: Ints, other: NodeScores) -> NodeScores:
        """Replaces the scores of nodes; `other` has them in the order of `rows`."""
        changed = {field.name: getattr(self, field.name).copy() for field in dataclasses.fields(self)}
        for name, values in changed.items():
            values[rows] = getattr(other, name)
        return NodeScores(**changed)

    def outliers(self, beyond_far: Floats, level: float) -> Flags:
        """Flags nodes that are slow beyond the spread of the machine, even if chance could explain it."""
        robust = (self.score - np.nanmedian(self.score)) / robust_sigma(self.score)
        slow = np.minimum(self.score, beyond_far) >= math.log(FACTOR)
        return np.asarray(slow & (robust > node_threshold(len(self.score), level)))

    @functools.cached_property
    def chance(self) -> Floats:
        """Bounds the probability that some node has a mean slowness as large if deviations are shuffled over pairs."""
        return shuffled_chance(self.slowness, self.pairs, self.sums.sum(axis=0) / max(1, self.pairs.sum()))


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


def beyond_far(times: Floats, planted: float = 0.0) -> Floats:
    """Computes the deviation of the slow pairs of each node from pairs of nodes that are far from each other.

    It is about 0 for a node that is alone in its leaf: all nodes of other leaves are equally far from each other.

    Args:
        times: log times, shape (n, n).
        planted: log slowdown that is added to the times of each node in turn.
    """
    ordered = np.sort(times, axis=0)
    last = np.maximum(np.count_nonzero(~np.isnan(times), axis=0) - 1, 0)
    columns, index = np.arange(len(times)), (FAR * last).astype(np.int64)
    far, next_far = ordered[index, columns], ordered[np.minimum(index + 1, last), columns]
    # A planted time moves up in the order of its column; if it passes the quantile, the quantile moves up, too.
    quantiles = np.where(times <= far, np.clip(times + planted, far, next_far), far) if planted else far
    return quantile(times + planted - quantiles, FAR, axis=1)


def planted_reported(times: Floats, deviations: Floats, scores: NodeScores, level: float) -> Flags:
    """Flags nodes that would be reported if they were PLANTED times slower, each in turn.

    A slower node also changes the spread of all scores, and is no longer a peer of other nodes.

    Args:
        times: log times, shape (n, n); the nodes are rows.
        deviations: deviations from the times of peers, shape (n, n).
        scores: scores of these deviations.
        level: probability of a false alarm.
    """
    nodes, planted = len(times), math.log(PLANTED)
    beyond, neighbors = beyond_far(times, planted), peers_of(times, spare=1)
    reported = np.zeros(nodes, dtype=bool)
    for node in range(nodes):
        changed = scores
        rows = np.flatnonzero((neighbors[:, :-1] == node).any(axis=1))
        if len(rows) and nodes <= MANY_NODES:  # else these few rows do not change the spread
            peers = neighbors[rows][neighbors[rows] != node].reshape(len(rows), -1)
            changed = scores.with_rows(rows, NodeScores.of(times[rows] - median(times[peers], axis=1)))
        changed = changed.with_rows(np.array([node]), NodeScores.of(deviations[[node]] + planted))
        reported[node] = changed.outliers(beyond, level)[node] and changed.chance[node] <= level
    return reported


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
    scores = {direction: NodeScores.of(side[1]) for direction, side in sides.items()}
    suspected = {direction: scores[direction].outliers(beyond_far(side[0]), level) for direction, side in sides.items()}
    not_far = {d: suspected[d] & ~far_nodes(scores[d].score, times, peers) for d in sides}
    reported = {d: not_far[d] & (scores[d].chance <= level) for d in sides}
    groups, steady = suspect_groups(np.logical_or.reduce(list(not_far.values())), peers)
    faults, explained = [], np.zeros(len(peers), dtype=bool)
    for group in groups:
        if directions := [direction for direction, flags in reported.items() if flags[group].all()]:
            faults.append(fault_of(group, {direction: scores[direction] for direction in directions}))
            explained[group] = True
    undecided: list[Fault] = []
    if len(peers) < FEW_NODES:
        slower_way = np.fmax(times, times.T)
        apart = [node for node in range(len(peers)) if is_apart(slower_way, node)]
        undecided = [fault for fault in faults if fault.members[0] not in apart]
        faults = [fault for fault in faults if fault.members[0] in apart]
        for node in apart:
            if not explained[node]:
                direction = max(scores, key=lambda direction: scores[direction].score[node])
                undecided.append(fault_of([node], {direction: scores[direction]}))
    return NodeFaults(
        faults=sorted(faults, key=lambda fault: -fault.ratio),
        undecided=undecided,
        explained=explained,
        suspected=np.logical_or.reduce(list(suspected.values())),
        steady=steady,
        planted_reported=np.logical_or.reduce([planted_reported(*sides[d], scores[d], level) for d in sides]),
    )


def far_nodes(score: Floats, times: Floats, peers: Ints) -> Flags:
    """Flags nodes that are fast with another slow node, like in a far leaf; two truly slow nodes are slow together."""
    near = float(np.nanmedian(np.take_along_axis(times, peers, axis=1)))
    fast = times < near + score[:, np.newaxis] / 2
    return np.asarray((fast & (score > score[:, np.newaxis] / 2)).any(axis=1))


def suspect_groups(suspected: Flags, peers: Ints) -> tuple[list[list[int]], bool]:
    """Groups suspects: leaves, then single nodes.

    Returns:
        The groups, without single nodes if these are too many; true if they are not too many.
    """
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
    )


def is_apart(times: Floats, node: int) -> bool:
    """True if all pairs of a node are slower than all pairs without it by FACTOR, so that no link explains them."""
    without = np.delete(np.delete(times, node, axis=0), node, axis=1)
    return bool(np.nanmin(times[node]) >= np.nanmax(without) + math.log(FACTOR))
