"""Finds slow links, pairs of nodes, from the deviations of their values from the links of peers (peers.py).

A link is a suspect if its median deviation exceeds log(FACTOR) and the scatter of its peers, with a Bonferroni
correction over all links. A suspect is reported if nearly all of its values are slow, and more of them than chance
explains: in sound links, slow values appear at the rate of isolated slow values, independent of each other (binomial
distribution). The margin of a link is its deviation minus the limit for suspects. Links of slow nodes are explained by
their node (node_faults.py) and are not judged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from downbeat.statistics.distributions import binomial_tails, normal_quantile
from downbeat.statistics.faults import BOTH, FACTOR, FORWARD, SPREAD, Fault
from downbeat.statistics.peers import MAD_SIGMA, Deviations, median, robust_sigma
from downbeat.tables import Flags, Floats, Ints

PERSISTENT = 0.75  # share of a slow link's values that are slow
RATIOS = (FACTOR, 2.0, 4.0)  # limits beyond which values count as slow; few isolated values exceed the larger limits
SLOW_DEVIATION = 3.0  # robust standard deviations beyond which a single value is slow


@dataclass(frozen=True)
class LinkScores:
    """Links compared with the links of the peers of their ends.

    Attributes:
        judged: flags of measured links that no slow node explains, shape (n, n).
        deviation: median deviation of each link, shape (n, n); NaN: not judged.
        limit: a suspect has a larger deviation, shape (n, n).
        single: deviation of each value, shape (values, n, n); NaN: not judged or not measured.
        scatter: a slow value has a larger deviation, shape (values, n, n).
    """

    judged: Flags
    deviation: Floats
    limit: Floats
    single: Floats
    scatter: Floats

    @classmethod
    def of(
        cls, times: Floats, deviations: Deviations, peers: Ints, judged: Flags, directed: bool, level: float
    ) -> LinkScores:
        """Computes the scores of links.

        Args:
            times: log times, shape (values, n, n).
            deviations: deviations of the median times from those of peers.
            peers: peers of each node.
            judged: links that no slow node explains, shape (n, n); of undirected links, the upper triangle.
            directed: whether the two directions of a pair have values of their own.
            level: probability of a false alarm.
        """
        deviation = np.where(judged, deviations.link, np.nan)
        scatter = np.fmax(deviations.scatter, robust_sigma(deviation))
        bonferroni = level / max(1, int(np.count_nonzero(judged)))
        limit = np.maximum(math.log(FACTOR), normal_quantile(1 - bonferroni) * scatter)
        single, scatters = np.full(times.shape, np.nan), np.full(times.shape, np.nan)
        for number, matrix in enumerate(times):
            of_value = Deviations.from_peers(matrix, peers, directed)
            single[number] = np.where(judged, of_value.link, np.nan)
            scatters[number] = SLOW_DEVIATION * np.fmax(of_value.scatter, robust_sigma(single[number]))
        return cls(judged, deviation, limit, single, scatters)

    @property
    def values(self) -> Ints:
        """Number of values of each link."""
        return np.asarray(np.count_nonzero(~np.isnan(self.single), axis=0))

    @property
    def margins(self) -> Floats:
        """Deviation of each link minus the limit for suspects; NaN: not judged."""
        return self.deviation - self.limit

    @property
    def restless(self) -> Flags:
        """Flags links whose values have a robust standard deviation beyond SPREAD."""
        residuals = np.abs(self.single - median(self.single, axis=0))
        return np.asarray(MAD_SIGMA * median(residuals, axis=0) > SPREAD)

    def slow(self, ratio: float = FACTOR, shift: float = 0.0) -> Ints:
        """Counts, for each link, the values beyond a ratio and the scatter of peers, after adding a shift."""
        limits = np.maximum(math.log(ratio), self.scatter)
        return np.asarray(np.count_nonzero(self.single + shift > limits, axis=0))

    def chances(self, shift: float = 0.0) -> Floats:
        """Computes the probability that any link has as many slow values by chance, with Bonferroni over all tests.

        The rate of slow values is that of links in which they are isolated. The probability is 1 for links in which
        fewer than PERSISTENT of the values are slow.

        Args:
            shift: log of a slowdown that is added to a link, but not to the others.
        """
        values, smallest = self.values, np.ones(self.deviation.shape)
        tests = len(RATIOS) * max(1, int(np.count_nonzero(self.judged)))
        for ratio in RATIOS:
            slow, shifted = self.slow(ratio), self.slow(ratio, shift)
            isolated = self.judged & (slow < PERSISTENT * values)
            rate = (slow[isolated].sum() + 1) / (values[isolated].sum() + 2)
            chance = tests * binomial_tails(int(values.max()), float(rate))[values, shifted]
            persistent = (shifted >= PERSISTENT * values) & (values > 0)
            smallest = np.where(persistent, np.minimum(smallest, chance), smallest)
        return smallest

    def reported(self, level: float, shift: float = 0.0) -> Flags:
        """Flags suspects that chance does not explain; `shift` is added to each link in turn."""
        return np.asarray((self.deviation + shift > self.limit) & (self.chances(shift) <= level))


def link_faults(links: LinkScores, reported: Flags, directed: bool) -> list[Fault]:
    """Makes the faults of slow links, the slowest first; both directions of a link are one fault if both are slow.

    Args:
        links: the scores of links, a row for each link or direction.
        reported: links that are slow, shape (links,).
        directed: the scores are of directions.

    Returns:
        A fault for each slow link.
    """
    faults = []
    slow, values = links.slow(), links.values
    for a, b in np.argwhere(reported):
        both_ways = reported[b, a]
        if both_ways and a > b:
            continue
        ways = ([a, b], [b, a]) if both_ways else ([a], [b])
        faults.append(
            Fault(
                kind="link",
                members=(int(a), int(b)),
                direction=FORWARD if directed and not both_ways else BOTH,
                ratio=math.exp(links.deviation[ways].max()),
                slow=int(slow[ways].sum()),
                measured=int(values[ways].sum()),
            )
        )
    return sorted(faults, key=lambda fault: -fault.ratio)
