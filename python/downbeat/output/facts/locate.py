"""Facts on slow nodes and links, for `downbeat locate`.

A setting is one kind of measurement of all pairs of nodes, in words, e.g. "sendrecv with 4 GPUs a node"; empty: the
only setting. Peers are the nearest nodes, with which a node is compared; the peers of a link are the links of these
nodes. `since` is the name of a baseline, an earlier measurement for comparison; empty: no baseline.
"""

from __future__ import annotations

from dataclasses import dataclass

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class Slowness:
    """A slow node, link or leaf, compared with its peers.

    Attributes:
        ends: names of a node, of the two ends of a link, or of the nodes of a leaf (a group with common peers).
        direction: 0 both or unknown, 1 from the first end, 2 to the first end.
        value: median time, s, or bandwidth, B/s.
        peers: median time or bandwidth of the peers.
        is_rate: true: `value` and `peers` are bandwidths.
        ratio: time divided by the time of the peers.
        slow: number of slow pairs of a node, of slow values of a link, or of fresh rounds in which the node or link was
            slower than all its controls (pairs of peers in the same round).
        of: number of measured pairs, values or rounds.
        counted: unit of `slow` and `of`: "pairs", "values" or "rounds".
    """

    ends: tuple[str, ...]
    direction: int
    value: float
    peers: float
    is_rate: bool
    ratio: float
    slow: int
    of: int
    counted: str


@dataclass(frozen=True)
class Certainty:
    """The certainty of naming slow nodes, or slow links.

    Attributes:
        false_alarm: probability that any node or link of a sound machine is named, in all settings together.
        planted: slowdown for which the power is stated.
        power: share of nodes, or of links, at which this slowdown would have been found; NaN: too few nodes.
        nodes: number of nodes.
    """

    false_alarm: float
    planted: float
    power: float
    nodes: int


@dataclass(frozen=True)
class SlowNode(Fact):
    """A slow node, or the slow nodes of a leaf."""

    setting: str
    since: str
    node: Slowness
    certainty: Certainty


@dataclass(frozen=True)
class SlowLinks(Fact):
    """Slow links that no slow node explains."""

    setting: str
    since: str
    links: tuple[Slowness, ...]
    certainty: Certainty


@dataclass(frozen=True)
class NotSteady(Fact):
    """The machine is not steady, for at least one of four reasons.

    Attributes:
        setting: setting of the pairs.
        nodes: number of nodes.
        suspect_nodes: number of nodes that are slower than their peers; 0: no reason.
        links: number of pairs of nodes without the pairs of named nodes.
        suspect_links: number of pairs that are slower than their peers; 0: no reason.
        restless: share of pairs whose own values scatter by more than `spread`; 0: no reason.
        unjudged: share of pairs whose peers scatter too much to judge the pairs; 0: no reason.
        spread: relative standard deviation.
        named: true: a node or link is named nevertheless.
    """

    setting: str
    nodes: int
    suspect_nodes: int
    links: int
    suspect_links: int
    restless: float
    unjudged: float
    spread: float
    named: bool


@dataclass(frozen=True)
class NothingSlow(Fact):
    """No node and no link is slow; `values`: largest number of values of a pair."""

    setting: str
    since: str
    nodes: int
    pairs: int
    values: int
    of_nodes: Certainty
    of_links: Certainty


@dataclass(frozen=True)
class TooFewNodes(Fact):
    """Nodes and links that are slower than their peers, but cannot be named among so few nodes; empty if none is."""

    setting: str
    nodes: int
    slow: tuple[Slowness, ...]


@dataclass(frozen=True)
class MeasuredInGroups(Fact):
    """Only pairs within groups of nodes were measured. `smallest` and `largest`: numbers of nodes of groups."""

    nodes: int
    groups: int
    smallest: int
    largest: int


@dataclass(frozen=True)
class FailedPairs(Fact):
    """Pairs with a run but no value; `most`: node with many of them, `count`; empty: no such node."""

    settings: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    most: str
    count: int


@dataclass(frozen=True)
class SingleValues(Fact):
    """Most pairs have too few values to tell a slow link from disturbed measurements; only nodes are judged."""

    setting: str
    values: int


@dataclass(frozen=True)
class AllSlower(Fact):
    """All pairs changed; `ratio`: time divided by the time in the baseline, median over pairs."""

    setting: str
    since: str
    ratio: float


@dataclass(frozen=True)
class Outlier:
    """A rank whose value differs from the median of the ranks."""

    rank: str
    value: float
    median: float


@dataclass(frozen=True)
class TakenProcessors(Fact):
    """Ranks whose processor does other work; values: share of its time, medians: share of the other ranks."""

    ranks: tuple[Outlier, ...]


@dataclass(frozen=True)
class RankChecks(Fact):
    """Ranks that differ from the other ranks without communication, in a column of RankStates."""

    quantity: str  # name of the column
    unit: str  # s, 1/s or 1
    ranks: tuple[Outlier, ...]
