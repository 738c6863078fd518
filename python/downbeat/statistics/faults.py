"""Defines the faults of a machine, the result of a search for them, and the limits of the search.

A link is a pair of nodes. A leaf is a group of more than LEAF_SUSPECTS slow nodes with common peers, e.g. the nodes
behind a switch. A suspect is a node or link that is slower than its peers beyond the robust spread of the machine; a
fault is a suspect that chance does not explain. Too many suspects mean that the machine is not steady: its times differ
for reasons other than single slow nodes and links, and nothing is reported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from downbeat.statistics.peers import PEERS
from downbeat.tables import Floats

# Smallest slowdown that is reported. Chosen by hand, above the spread of nodes and links of sound machines.
FACTOR = 1.2
FALSE_ALARM = 0.01  # default probability that a sound machine has any reported fault
PLANTED = 1.5  # slowdown for which the power, the probability of a report, is stated
MAX_SUSPECTS = 1 / 8  # suspected nodes per node; with more, the machine is not steady
MAX_LINKS = 1 / 2  # suspected links per node; with more, the machine is not steady
MAX_UNJUDGED = 1 / 4  # share of links whose peers scatter too much to notice PLANTED; with more, no link is reported
SPREAD = 0.05  # robust standard deviation of a link's values; with a larger one it is restless. Chosen by hand.
MAX_RESTLESS = 1 / 4  # share of restless links; with more, the machine is not steady
LEAF_SUSPECTS = 8  # suspects with common peers; more of them are reported as a leaf
MIN_NODES = 4  # with fewer nodes, no node has two peers
FEW_NODES = PEERS + 2  # with fewer nodes, a node does not have PEERS peers beside the other end of a pair

BOTH, FORWARD, BACKWARD = 0, 1, 2  # directions: both or unknown, from the first node, to the first node

Kind = Literal["node", "link", "leaf"]


@dataclass(frozen=True)
class Fault:
    """A slow node, link or leaf.

    Attributes:
        kind: kind of the fault.
        members: indices of nodes: a node, the two ends of a link, or the nodes of a leaf.
        direction: BOTH, FORWARD or BACKWARD.
        ratio: time divided by the time of the peers.
        slow: number of pairs (of a node) or values (of a link) that are slower than the peers by FACTOR.
        measured: number of measured pairs (of a node) or values (of a link).
    """

    kind: Kind
    members: tuple[int, ...]
    direction: int
    ratio: float
    slow: int
    measured: int


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
        node_power: share of nodes that would have been reported if they had been PLANTED times slower; 0 if the machine
            is not steady; NaN with fewer than FEW_NODES nodes.
        link_power: share of links that would have been reported, like `node_power`.
        link_margins: deviation of each sound link minus the limit for suspects, shape (n, n); NaN: not a sound link.
        values: number of values of a pair, largest over pairs.
        deviations: deviation of each pair from the pairs of peers, the larger of both ends, shape (n, n), from row to
            column; NaN: not measured.
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
    deviations: Floats

    @classmethod
    def unknown(cls, nodes: int) -> Located:
        """Makes the result for fewer than MIN_NODES nodes, which have no peers."""
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
            deviations=missing,
        )

    @property
    def steady(self) -> bool:
        """True if the times of pairs repeat, and few pairs deviate from the pairs of their peers."""
        return self.nodes_steady and self.links_steady and self.restless <= MAX_RESTLESS
