"""Finds slow nodes and links in pairwise times, for `downbeat locate`: compares each with its peers.

The peers of a node are its nearest nodes by the measured times, so that a node far from the others is compared with
nodes that are equally far; no topology is needed. A link is a pair of nodes; a leaf is a group of nodes with common
peers, e.g. behind a switch. A fault must exceed the robust spread of the machine (Bonferroni over all tests), be slower
than its peers by FACTOR, and be improbable by chance; the probability of a false alarm in a sound machine is bounded:

- A node: were the same deviations shuffled over pairs, as in a permutation test, some node would have a mean as large
  with at most this probability. It is bounded as Hoeffding (1963, Theorem 4) bounds draws without replacement.
- A link: slow values appear in pairs at the rate of isolated slow values, independent of each other; a link is slow in
  nearly all of its values. Links of slow nodes are explained by their node.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from downbeat.statistics.distributions import normal_quantile
from downbeat.tables import Flags, Floats, Ints

PEERS = 6  # peers of a node. Chosen by hand; 4 and 8 give the same faults in simulated machines.
FACTOR = (
    1.2  # smallest slowdown that is reported. Chosen by hand, above the spread of nodes and links of sound machines.
)
FALSE_ALARM = 0.01  # default probability that a sound machine has any reported fault
PLANTED = 1.5  # slowdown for which the power, the probability of a report, is stated
MAX_SUSPECTS = 1 / 8  # suspected nodes per node; with more, "the machine is not steady"
MAX_LINKS = 1 / 2  # suspected links per node; with more, "the machine is not steady"
FAR = 0.75  # quantile of times that represents pairs of nodes that are far from each other
MAX_UNJUDGED = 1 / 4  # share of links whose peers scatter too much to notice PLANTED; with more, no link is reported
SPREAD = 0.05  # robust standard deviation of a link's values; with a larger one it is restless. Chosen by hand.
MAX_RESTLESS = 1 / 4  # share of restless links; with more, "the machine is not steady"
LEAF_SUSPECTS = 8  # suspects with common peers; more of them are reported as a leaf
COMMON_PEERS = PEERS // 2  # peers that two suspects of a leaf have in common
MIN_NODES = 4  # with fewer nodes, no node has two peers
FEW_NODES = PEERS + 2  # with fewer nodes, a node does not have PEERS peers beside the other end of a pair
PERSISTENT = 0.75  # share of a slow link's values that are slow
RATIOS = (FACTOR, 2.0, 4.0)  # limits beyond which values count as slow; few isolated values exceed the larger limits
SLOW_DEVIATION = 3.0  # robust standard deviations beyond which a single value is slow
MAD_SIGMA = 1.4826  # standard deviation of normal numbers, divided by their median absolute deviation
MIN_SIGMA = 1e-6  # standard deviation of logarithms; smaller values are rounding errors
MANY_NODES = 256  # with more nodes, the median absolute deviation is precise enough
RUNS = 20_000  # simulated machines for the threshold of robust deviations of nodes
EXPONENTS = np.geomspace(0.5, 60.0, 24)  # where Chernoff bounds are minimized

Kind = Literal["node", "link", "leaf"]


@dataclass(frozen=True)
class Fault:
    """A slow node, link or leaf.

    Attributes:
        kind: kind of the fault.
        members: indices of nodes: a node, the two ends of a link, or the nodes of a leaf.
        direction: 0: both, or not distinguished; 1: from the first member; 2: to the first member.
        ratio: time divided by the time of the peers.
        slow: number of pairs (of a node) or values (of a link) that are slower than the peers by FACTOR.
        pairs: number of all these pairs or values.
        chance: probability that a sound machine has a deviation this strong anywhere, at most 1.
    """

    kind: Kind
    members: tuple[int, ...]
    direction: int
    ratio: float
    slow: int
    pairs: int
    chance: float


@dataclass(frozen=True)
class Located:
    """The faults of a machine, and the power: the share of planted faults that would have been reported.

    Attributes:
        faults: nodes and leaves, then links; each by slowdown, largest first.
        undecided: slow nodes and links that are not reported because there are fewer than FEW_NODES nodes.
        suspect_nodes: number of suspected nodes, reported or not.
        suspect_links: number of suspected links, without links of reported nodes.
        links: number of measured links, without links of reported nodes.
        unjudged: share of links whose peers scatter too much to notice a slowdown of PLANTED; 0 with fewer than
            FEW_NODES nodes.
        restless: share of links whose values scatter by more than SPREAD relative to their peers.
        nodes_steady: the machine is steady enough to report nodes.
        links_steady: the machine is steady enough to report links.
        node_power: share of nodes that would have been reported if they had been PLANTED times slower; NaN with fewer
            than FEW_NODES nodes.
        link_power: share of links, likewise.
        link_margins: deviation of each sound link minus the limit for suspects, shape (n, n); NaN: not a sound link.
        values: number of values of a pair, largest over pairs.
        false_alarm: upper limit of the probability that a sound machine has any reported fault.
        deviations: log times against peers, shape (n, n), from row to column; NaN where not measured.
    """

    faults: tuple[Fault, ...]
    undecided: tuple[Fault, ...]
    suspect_nodes: int
    suspect_links: int
    links: int
    unjudged: float
    restless: float
    nodes_steady: bool
    links_steady: bool
    node_power: float
    link_power: float
    link_margins: Floats
    values: int
    false_alarm: float
    deviations: Floats

    @classmethod
    def unknown(cls, nodes: int) -> Located:
        """Of so few nodes that none has peers."""
        missing = np.full((nodes, nodes), np.nan)
        return cls(
            faults=(),
            undecided=(),
            suspect_nodes=0,
            suspect_links=0,
            links=nodes * (nodes - 1) // 2,
            unjudged=0.0,
            restless=0.0,
            nodes_steady=True,
            links_steady=True,
            node_power=math.nan,
            link_power=math.nan,
            link_margins=missing,
            values=0,
            false_alarm=FALSE_ALARM,
            deviations=missing,
        )

    @property
    def steady(self) -> bool:
        """True if the times of pairs repeat, and few pairs deviate from the pairs of their peers."""
        return self.nodes_steady and self.links_steady and self.restless <= MAX_RESTLESS


def quantile(values: Floats, share: float, axis: int) -> Floats:
    """Returns a quantile of the values that are not NaN, the lower of two values; NaN: no value."""
    ordered = np.sort(values, axis=axis)
    counts = np.count_nonzero(~np.isnan(values), axis=axis, keepdims=True)
    picked = (share * np.maximum(counts - 1, 0)).astype(np.int64)
    return np.take_along_axis(ordered, picked, axis=axis).squeeze(axis)


def middle(values: Floats, axis: int) -> Floats:
    """Returns the median of the values that are not NaN; NaN: no value. Faster than np.nanmedian."""
    ordered = np.sort(values, axis=axis)
    counts = np.count_nonzero(~np.isnan(values), axis=axis, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(counts - 1, 0) // 2, axis=axis)
    high = np.take_along_axis(ordered, np.maximum(counts // 2, 0).clip(max=values.shape[axis] - 1), axis=axis)
    return np.asarray((low + high).squeeze(axis) / 2)


def count(flags: Flags) -> int:
    """Counts the flags that are set."""
    return int(np.count_nonzero(flags))


def sigma_of(values: Floats) -> float:
    """Returns a robust standard deviation of values that are not NaN: scaled median absolute deviation; 1: no value."""
    known = values[~np.isnan(values)]
    return max(float(MAD_SIGMA * np.median(np.abs(known - np.median(known)))), MIN_SIGMA) if known.size else 1.0


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
    for _ in range(max(1, math.ceil(RUNS * nodes / 2e6))):
        numbers = random.standard_normal((min(RUNS, max(1, int(2e6) // nodes)), nodes))
        numbers -= np.median(numbers, axis=1, keepdims=True)
        largest.append(numbers.max(axis=1) / (MAD_SIGMA * np.median(np.abs(numbers), axis=1)))
    return float(np.quantile(np.concatenate(largest), 1 - level))


def peers_of(times: Floats) -> Ints:
    """Returns the nearest nodes of each node, by the mean time of both directions, shape (n, peers)."""
    nodes = len(times)
    near = middle(np.stack([times, times.T]), axis=0)
    np.fill_diagonal(near, np.nan)
    return np.argsort(near, axis=1)[:, : max(1, min(PEERS, nodes - 2))]  # NaN comes last


@dataclass(frozen=True)
class Against:
    """Log times relative to the times of peers, shape (n, n) each.

    Attributes:
        sender: time from i to j minus the median time from i's peers to j.
        receiver: time from i to j minus the median time from i to j's peers.
        scatter: robust standard deviation among these times of peers.
    """

    sender: Floats
    receiver: Floats
    scatter: Floats

    @classmethod
    def peers(cls, times: Floats, peers: Ints, directed: bool) -> Against:
        """Compares each time with the times of peers; the time of a node with itself must be NaN."""
        sender, by_sender = against_rows(times, peers)
        receiver, by_receiver = against_rows(times.T, peers) if directed else (sender, by_sender)
        return cls(sender, receiver.T, (by_sender + by_receiver.T) / 2)

    @property
    def link(self) -> Floats:
        """The deviation that neither end explains: the smaller of `sender` and `receiver`."""
        return np.minimum(self.sender, self.receiver)


def against_rows(times: Floats, peers: Ints) -> tuple[Floats, Floats]:
    """Returns each row minus the median of its peers' rows, and the scatter of the peers' rows."""
    of_peers = times[peers]
    expected = middle(of_peers, axis=1)
    return times - expected, MAD_SIGMA * middle(np.abs(of_peers - expected[:, np.newaxis]), axis=1)


def slowness(deviations: Floats) -> Floats:
    """Maps deviations to 0 (like the peers) to 1 (slower by FACTOR or more), so that a single pair cannot decide."""
    return np.clip(deviations / math.log(FACTOR), 0.0, 1.0)


def shuffled_chance(means: Floats, counts: Ints, generating: Floats) -> Floats:
    """Bounds the probability, for all nodes together, that a mean of randomly drawn values is as large as each mean.

    Args:
        means: mean of each node, shape (n,).
        counts: number of values of each node, shape (n,).
        generating: mean of exp(t x) over the drawn values at EXPONENTS, shape (exponents,) or (n, exponents).
    """
    exponents = counts[:, np.newaxis] * (np.log(generating) - EXPONENTS * means[:, np.newaxis])
    return np.asarray(np.minimum(1.0, len(means) * np.exp(np.minimum(exponents.min(axis=1), 0.0))))


def generating_sums(slow: Floats) -> Floats:
    """Returns sums of exp(t x) over each row at EXPONENTS, without NaN, shape (n, exponents)."""
    return np.stack([np.nansum(np.exp(t * slow), axis=1) for t in EXPONENTS], axis=1)


@dataclass(frozen=True)
class NodeScores:
    """Nodes compared with their peers, in one direction or in both.

    Attributes:
        score: median deviation of the pairs of each node, shape (n,).
        beyond: deviation of each node's slow pairs from pairs of nodes that are far from each other.
        robust: score of each node in robust standard deviations over nodes.
        chance: bound of the probability that some node has a mean as large if deviations are shuffled over pairs.
        would: flags; true: the node would be suspected and confirmed if it were PLANTED times slower.
        slow: number of slow pairs of each node.
        pairs: number of pairs of each node.
    """

    score: Floats
    beyond: Floats
    robust: Floats
    chance: Floats
    would: Flags
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
        nodes, planted = len(deviations), math.log(PLANTED)
        pairs = np.count_nonzero(~np.isnan(deviations), axis=1)
        score = np.where(pairs > 0, middle(deviations, axis=1), np.nan)
        center, sigma, limit = float(np.nanmedian(score)), sigma_of(score), node_threshold(nodes, level)
        slow, slower = slowness(deviations), slowness(deviations + planted)
        sums, values, counts = generating_sums(slow), max(1, pairs.sum()), np.maximum(pairs, 1)
        chance = shuffled_chance(np.nansum(slow, axis=1) / counts, pairs, sums.sum(axis=0) / values)
        # A planted fault changes the values of both ends of a pair.
        changed = (sums.sum(axis=0) + 2 * (generating_sums(slower) - sums)) / values
        planted_chance = shuffled_chance(np.nansum(slower, axis=1) / counts, pairs, changed)
        beyond = beyond_far(times)
        would = (np.minimum(score, beyond) + planted >= math.log(FACTOR)) & ((score + planted - center) / sigma > limit)
        return cls(
            score=score,
            beyond=beyond,
            robust=(score - center) / sigma,
            chance=chance,
            would=would & (planted_chance <= level),
            slow=np.count_nonzero(deviations > math.log(FACTOR), axis=1),
            pairs=pairs,
        )

    def suspected(self, level: float) -> Flags:
        """Flags nodes that are slow beyond the spread of the machine, even if chance could explain it."""
        limit = node_threshold(len(self.score), level)
        return np.asarray((np.minimum(self.score, self.beyond) >= math.log(FACTOR)) & (self.robust > limit))


def beyond_far(times: Floats) -> Floats:
    """Returns the deviation of each node's (row's) slower pairs from the pairs of all nodes with the same partners.

    It is about 0 for a node that is alone in its leaf: all nodes of other leaves are equally far from each other.
    """
    return quantile(times - quantile(times, FAR, axis=0), FAR, axis=1)


def chance_of_slow(values: int, rate: float) -> Floats:
    """Returns tails of binomial distributions: [n, k] is the probability of at least k slow values among n values."""
    tails = np.zeros((values + 1, values + 1))
    for number in range(values + 1):
        masses = [math.comb(number, k) * rate**k * (1 - rate) ** (number - k) for k in range(number + 1)]
        tails[number, : number + 1] = np.minimum(np.cumsum(masses[::-1])[::-1], 1.0)
    return tails


@dataclass(frozen=True)
class LinkScores:
    """Links compared with the links of the peers of their ends, shape (n, n) each; NaN, 0 or false: not judged."""

    deviation: Floats
    limit: Floats  # a suspected link has a larger deviation
    judged: Flags  # measured links that no slow node explains
    single: Floats  # deviation of each value, shape (values, n, n)
    scatter: Floats  # a slow value has a larger deviation, shape (values, n, n)

    @classmethod
    def of(
        cls, times: Floats, combined: Against, peers: Ints, judged: Flags, directed: bool, level: float
    ) -> LinkScores:
        """Computes the scores of links.

        Args:
            times: log times, shape (values, n, n).
            combined: median times relative to peers.
            peers: peers of each node.
            judged: links that no slow node explains, shape (n, n); of undirected links, the upper triangle.
            directed: whether the two directions of a pair have values of their own.
            level: probability of a false alarm.
        """
        links = max(1, count(judged))
        deviation = np.where(judged, combined.link, np.nan)
        scatter = np.fmax(combined.scatter, sigma_of(deviation))
        limit = np.maximum(math.log(FACTOR), normal_quantile(1 - level / links) * scatter)
        single, scatters = np.full(times.shape, np.nan), np.full(times.shape, np.nan)
        for number, each in enumerate(times):
            against = Against.peers(each, peers, directed)
            single[number] = np.where(judged, against.link, np.nan)
            scatters[number] = SLOW_DEVIATION * np.fmax(against.scatter, sigma_of(single[number]))
        return cls(deviation, limit, judged, single, scatters)

    @property
    def values(self) -> Ints:
        """The number of values of each link."""
        return np.asarray(np.count_nonzero(~np.isnan(self.single), axis=0))

    @property
    def spread(self) -> Floats:
        """Robust standard deviation of the values of each link."""
        return MAD_SIGMA * middle(np.abs(self.single - middle(self.single, axis=0)), axis=0)

    def slow(self, ratio: float = FACTOR, shift: float = 0.0) -> Ints:
        """Counts, for each link, the values beyond a ratio and the scatter of peers, after adding a shift."""
        limits = np.maximum(math.log(ratio), self.scatter)
        return np.asarray(np.count_nonzero(self.single + shift > limits, axis=0))

    def chances(self, shift: float = 0.0) -> Floats:
        """Returns the probability that any link has this number of slow values by chance; `shift` as in `slow`.

        The rate of slow values is that of links with few slow values. The result is 1 for links with fewer slow values
        than PERSISTENT of all.
        """
        values, smallest = self.values, np.ones(self.deviation.shape)
        tests = len(RATIOS) * max(1, count(self.judged))
        for ratio in RATIOS:
            slow, shifted = self.slow(ratio), self.slow(ratio, shift)
            isolated = self.judged & (slow < PERSISTENT * values)
            rate = (slow[isolated].sum() + 1) / (values[isolated].sum() + 2)
            chance = tests * chance_of_slow(int(values.max()), float(rate))[values, shifted]
            persistent = (shifted >= PERSISTENT * values) & (values > 0)
            smallest = np.where(persistent, np.minimum(smallest, chance), smallest)
        return smallest


def locate(times: Floats, directed: bool = False, level: float = FALSE_ALARM) -> Located:
    """Finds the slow nodes and links of a machine.

    Args:
        times: log times, shape (values, n, n), from row to column; NaN: not measured. The values of a pair are from
            several sizes, launches or repetitions. Undirected times are symmetric.
        directed: true: the two directions of a pair have separate values.
        level: upper limit of the probability of a false alarm in a sound machine.
    """
    times = times - np.nanmedian(times, axis=(1, 2), keepdims=True)
    nodes = times.shape[1]
    combined = quantile(times, 0.5, axis=0)  # of two values the smaller: an outlier is larger
    peers = peers_of(combined)
    against = Against.peers(combined, peers, directed)
    measured = ~np.isnan(against.link)
    # Half of the level for nodes, half for links.
    sides = {1: (combined, against.sender), 2: (combined.T, against.receiver.T)}
    sides = sides if directed else {0: sides[1]}
    node_level, link_level = level / 2 / len(sides), level / 2
    scores = {direction: NodeScores.of(*side, node_level) for direction, side in sides.items()}
    suspects = np.logical_or.reduce([each.suspected(node_level) for each in scores.values()])
    faults, named, steady = node_faults(scores, combined, peers, node_level)
    judged = measured & ~(named[:, np.newaxis] | named)
    if not directed:
        judged &= np.triu(np.ones_like(judged), 1)
    links = LinkScores.of(times, against, peers, judged, directed, link_level)
    beyond = links.deviation > links.limit
    confirmed = beyond & (links.chances() <= link_level)
    few = nodes < FEW_NODES
    unjudged = 0.0 if few else count(judged & (links.limit > math.log(PLANTED))) / max(1, count(judged))
    links_steady = count(beyond) <= MAX_LINKS * nodes and unjudged <= MAX_UNJUDGED
    would = (links.deviation + math.log(PLANTED) > links.limit) & (links.chances(math.log(PLANTED)) <= link_level)
    node_would = np.logical_or.reduce([each.would for each in scores.values()])
    sound = judged & ~confirmed
    slow_links = link_faults(links, confirmed, directed) if links_steady else []
    uncertain: list[Fault] = []
    if few:
        both_ways = np.fmax(combined, combined.T)
        apart = [node for node in range(nodes) if is_apart(both_ways, node)]
        uncertain = [fault for fault in faults if fault.members[0] not in apart]
        faults = [fault for fault in faults if fault not in uncertain]
        uncertain += [apart_fault(scores, node) for node in apart if not named[node]]
    return Located(
        faults=(*faults, *(() if few else slow_links)),
        undecided=(*uncertain, *(slow_links if few else ())),
        suspect_nodes=count(suspects),
        suspect_links=count(beyond),
        links=count(judged),
        unjudged=unjudged,
        restless=count((links.spread > SPREAD) & sound) / max(1, count(sound)),
        nodes_steady=steady,
        links_steady=links_steady,
        node_power=math.nan if few else count(node_would & ~named) / max(1, count(~named)) if steady else 0.0,
        link_power=math.nan if few else count(would & sound) / max(1, count(sound)) if links_steady else 0.0,
        link_margins=np.where(sound, links.deviation - links.limit, np.nan),
        values=int(links.values.max(initial=0)),
        false_alarm=level,
        deviations=np.fmax(against.sender, against.receiver),
    )


def node_faults(
    scores: Mapping[int, NodeScores], times: Floats, peers: Ints, level: float
) -> tuple[list[Fault], Flags, bool]:
    """Returns the slow nodes and leaves, flags of their nodes, and true if the machine is steady enough.

    Args:
        scores: direction (as in `Fault`) -> scores.
        times: log times with the median 0.
        peers: peers of each node.
        level: probability of a false alarm in each direction.
    """
    suspected = {
        direction: each.suspected(level) & ~far_groups(each.score, times, peers) for direction, each in scores.items()
    }
    accused = {direction: suspected[direction] & (each.chance <= level) for direction, each in scores.items()}
    suspects = np.logical_or.reduce(list(suspected.values()))
    groups = leaves(np.flatnonzero(suspects), peers)
    alone = suspects.copy()
    alone[[node for group in groups for node in group]] = False
    steady = count(alone) <= max(1.0, MAX_SUSPECTS * len(peers))
    groups += [[int(node)] for node in np.flatnonzero(alone)] if steady else []
    faults, named = [], np.zeros(len(peers), dtype=bool)
    for group in groups:
        directions = [direction for direction, flags in accused.items() if flags[group].all()]
        if not directions:
            continue
        worst = max((scores[direction] for direction in directions), key=lambda each: each.score[group].mean())
        ratio = math.exp(float(np.median(worst.score[group])))
        slow, pairs = int(worst.slow[group].sum()), int(worst.pairs[group].sum())
        kind: Kind = "leaf" if len(group) > 1 else "node"
        direction = 0 if len(directions) > 1 else directions[0]
        faults.append(Fault(kind, tuple(group), direction, ratio, slow, pairs, float(worst.chance[group].max())))
        named[group] = True
    return sorted(faults, key=lambda fault: -fault.ratio), named, steady


def is_apart(times: Floats, node: int) -> bool:
    """Whether all pairs of a node are slower than all pairs without it by FACTOR, so that no link explains them."""
    without = np.delete(np.delete(times, node, axis=0), node, axis=1)
    return bool(np.nanmin(times[node]) >= np.nanmax(without) + math.log(FACTOR))


def apart_fault(scores: Mapping[int, NodeScores], node: int) -> Fault:
    """A node that `is_apart`, in the direction in which it is slower."""
    direction, worst = max(scores.items(), key=lambda item: item[1].score[node])
    ratio = math.exp(float(worst.score[node]))
    return Fault("node", (node,), direction, ratio, int(worst.slow[node]), int(worst.pairs[node]), 1.0)


def far_groups(score: Floats, times: Floats, peers: Ints) -> Flags:
    """Flags nodes that are fast with another slow node, as in a far leaf; two truly slow nodes are slow together."""
    near = float(np.nanmedian(np.take_along_axis(times, peers, axis=1)))
    quick = times < near + score[:, np.newaxis] / 2
    return np.asarray((quick & (score > score[:, np.newaxis] / 2)).any(axis=1))


def leaves(suspects: Ints, peers: Ints) -> list[list[int]]:
    """Returns groups of more than LEAF_SUSPECTS suspects that common peers connect, directly or through others."""
    remaining, groups = {int(node) for node in suspects}, []
    near = {node: {node, *map(int, peers[node])} for node in remaining}
    while remaining:
        group = [remaining.pop()]
        for node in group:
            linked = {other for other in remaining if len(near[node] & near[other]) >= COMMON_PEERS}
            remaining -= linked
            group += sorted(linked)
        if len(group) > LEAF_SUSPECTS:
            groups.append(sorted(group))
    return groups


def link_faults(links: LinkScores, confirmed: Flags, directed: bool) -> list[Fault]:
    """Returns the slow links, the slowest first; both directions of a link are one fault if both are slow."""
    faults = []
    chances, counts, values = links.chances(), links.slow(), links.values
    for a, b in np.argwhere(confirmed):
        if confirmed[b, a] and a > b:
            continue
        ways = ([a, b], [b, a]) if confirmed[b, a] else ([a], [b])
        faults.append(
            Fault(
                kind="link",
                members=(int(a), int(b)),
                direction=int(directed and not confirmed[b, a]),
                ratio=math.exp(links.deviation[ways].max()),
                slow=int(counts[ways].sum()),
                pairs=int(values[ways].sum()),
                chance=float(chances[ways].max()),
            )
        )
    return sorted(faults, key=lambda fault: -fault.ratio)
