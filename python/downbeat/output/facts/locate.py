"""Facts on slow nodes and links."""

from __future__ import annotations

from dataclasses import dataclass

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class Slowness:
    """A node or link against its peers.

    Attributes:
        ends: names: of a node, of the two ends of a link, or of the nodes of a leaf.
        direction: 0 both or unknown, 1 from the first end, 2 to the first end.
        value: s, or B/s if `is_rate`.
        peers: the same of its peers.
        is_rate: whether values are bandwidths.
        ratio: time over that of its peers.
        slow: slow pairs of a node, slow values of a link, or rounds in which it was slower than all its controls.
        of: their number.
        counted: what `slow` counts: "pairs", "values" or "rounds".
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
    """What an accusation is worth.

    Attributes:
        false_alarm: probability that a sound machine has any accusation, of all settings together.
        planted: slowdown of the power.
        power: share of nodes, or of links, at which such a slowdown would have been found; NaN: too few nodes.
        nodes: their number.
    """

    false_alarm: float
    planted: float
    power: float
    nodes: int


@dataclass(frozen=True)
class SlowNode(Fact):
    """A slow node, or several of a leaf. `since`: name of a baseline that it is compared with, or empty."""

    setting: str
    since: str
    node: Slowness
    certainty: Certainty


@dataclass(frozen=True)
class SlowLinks(Fact):
    """Slow links that no node explains. `since` as in SlowNode."""

    setting: str
    since: str
    links: tuple[Slowness, ...]
    certainty: Certainty


@dataclass(frozen=True)
class NotSteady(Fact):
    """The machine is not steady.

    Attributes:
        setting: of the pairs.
        nodes: number of nodes.
        suspect_nodes: too many of them, or 0.
        links: number of pairs without those of named nodes.
        suspect_links: too many of them, or 0.
        restless: share of pairs whose own values scatter by `spread`, or 0 if it is small.
        unjudged: share of pairs whose peers scatter too much, or 0 if it is small.
        spread: limit of `restless`.
        named: whether a node or link is named nevertheless.
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
    """No node and no link is slow. `values`: per pair; `since` as in SlowNode."""

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
class FailedPairs(Fact):
    """Pairs without a value although there was a run; `most`: node with most of them, if it has three or more."""

    settings: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    most: str
    count: int


@dataclass(frozen=True)
class SingleValues(Fact):
    """Most pairs have too few values to tell a slow link from disturbed measurements; nodes are judged."""

    setting: str
    values: int


@dataclass(frozen=True)
class AllSlower(Fact):
    """The median over pairs of time over that of the baseline."""

    setting: str
    since: str
    ratio: float


@dataclass(frozen=True)
class Outlier:
    """A rank beyond the others: its value and the median of all."""

    rank: str
    value: float
    median: float


@dataclass(frozen=True)
class TakenProcessors(Fact):
    """Ranks whose processor other work takes: the share of its time, and the median of the other ranks."""

    ranks: tuple[Outlier, ...]


@dataclass(frozen=True)
class RankChecks(Fact):
    """Ranks that are beyond the others by themselves. `quantity`: name of the variable; `unit`: s, 1/s or 1."""

    quantity: str
    unit: str
    ranks: tuple[Outlier, ...]
