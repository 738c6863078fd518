"""Finds the slow nodes and links of a machine in times of pairs of nodes, for `downbeat locate`.

The times are compared with the times of peers (peers.py); first slow nodes are found (node_faults.py), then slow links
that no slow node explains (link_faults.py). The probability of a false alarm in a sound machine is split: half for
nodes, half for links.
"""

from __future__ import annotations

import math

import numpy as np

from downbeat.statistics.faults import FALSE_ALARM, FEW_NODES, MAX_LINKS, MAX_UNJUDGED, PLANTED, Located
from downbeat.statistics.link_faults import LinkScores, link_faults
from downbeat.statistics.node_faults import find_node_faults
from downbeat.statistics.peers import Deviations, peers_of, quantile
from downbeat.tables import Flags, Floats


def locate(times: Floats, directed: bool = False, level: float = FALSE_ALARM) -> Located:
    """Finds the slow nodes and links of a machine.

    Args:
        times: log times, shape (values, n, n), from row to column; NaN: not measured. The values of a pair are from
            several sizes, launches or repetitions. Undirected times are symmetric.
        directed: true: the two directions of a pair have separate values.
        level: upper limit of the probability of a false alarm in a sound machine.
    """
    times = times - np.nanmedian(times, axis=(1, 2), keepdims=True)
    combined = quantile(times, 0.5, axis=0)  # of two values the smaller: an outlier is larger
    peers = peers_of(combined)
    deviations = Deviations.from_peers(combined, peers, directed)
    nodes = find_node_faults(combined, deviations, peers, directed, level / 2)
    judged = ~np.isnan(deviations.link) & ~(nodes.explained[:, np.newaxis] | nodes.explained)
    if not directed:
        judged &= np.triu(np.ones_like(judged), 1)
    links = LinkScores.of(times, deviations, peers, judged, directed, level / 2)
    suspect_links = int(np.count_nonzero(links.margins > 0))
    reported = links.reported(level / 2)
    sound = judged & ~reported
    few = len(peers) < FEW_NODES
    unjudged = 0.0 if few else share(links.limit > math.log(PLANTED), judged)
    links_steady = suspect_links <= MAX_LINKS * len(peers) and unjudged <= MAX_UNJUDGED
    slow_links = link_faults(links, reported, directed) if links_steady else []
    node_power = share(nodes.planted_reported, ~nodes.explained) if nodes.steady else 0.0
    link_power = share(links.reported(level / 2, math.log(PLANTED)), sound) if links_steady else 0.0
    return Located(
        faults=(*nodes.faults, *(() if few else slow_links)),
        undecided=(*nodes.undecided, *(slow_links if few else ())),
        suspect_nodes=int(np.count_nonzero(nodes.suspected)),
        suspect_links=suspect_links,
        links=int(np.count_nonzero(judged)),
        unjudged=unjudged,
        restless=share(links.restless, sound),
        nodes_steady=nodes.steady,
        links_steady=links_steady,
        node_power=math.nan if few else node_power,
        link_power=math.nan if few else link_power,
        link_margins=np.where(sound, links.margins, np.nan),
        values=int(links.values.max(initial=0)),
        deviations=np.fmax(deviations.sender, deviations.receiver),
    )


def share(flags: Flags, among: Flags) -> float:
    """Computes the share of set flags among chosen elements; 0 if none is chosen."""
    return int(np.count_nonzero(flags & among)) / max(1, int(np.count_nonzero(among)))
