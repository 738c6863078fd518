"""Simulates downbeat-bench pairs: it measures all pairs of nodes and looks again at suspects, pairs that seem slow.

A look is a measurement of a pair. A fresh round looks at a suspect and then at controls, pairs of peers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from downbeat.data.pair_file import Looks, PairGroup, RankStates
from downbeat.statistics.distributions import normal_quantile
from downbeat.statistics.faults import FACTOR, FALSE_ALARM, MIN_NODES
from downbeat.statistics.peers import MAD_SIGMA, median, peers_of
from downbeat.tables import Floats

from tests.statistics.machines import LEAF

# Constants of downbeat-bench (bench/src/rules).
MAX_CONFIRMED, PAIRINGS, FRESH_ROUNDS = 24, 12, 10
FEW_SCORES, LARGE_RATIO = 16, 1.5
SECOND_LOOK, FRESH = 2, 3  # values of Looks.passed


def names_of(nodes: int) -> list[str]:
    """Makes names of nodes."""
    return [f"node{number:03}" for number in range(nodes)]


@dataclass
class Bench:
    """A run of downbeat-bench pairs on a simulated machine.

    Attributes:
        base: log times without noise, shape (nodes, nodes), from row to column.
        random: generator of random numbers.
        noise: standard deviation of the logarithm of a time.
        outliers: share of times that are 2 to 8 times larger.
        jobs: true: other jobs double the times of a leaf in a third of the rounds.
        rows: looks so far; columns of Looks without round, alone and size.
    """

    base: Floats
    random: np.random.Generator
    noise: float = 0.01
    outliers: float = 0.01
    jobs: bool = False
    rows: list[tuple[float, ...]] = field(default_factory=list)

    def measured(self, a: np.ndarray, b: np.ndarray) -> tuple[Floats, Floats]:
        """Draws times of pairs in both directions, s; an outlier is in both."""
        slow = self.random.random(len(a)) < self.outliers
        shared = np.where(slow, self.random.uniform(2, 8, len(a)), 1.0)
        if self.jobs:
            busy = self.random.integers(-(-len(self.base) // LEAF), size=len(a))
            touched = ((a // LEAF == busy) | (b // LEAF == busy)) & (self.random.random(len(a)) < 1 / 3)
            shared = np.where(touched, 2 * shared, shared)
        ab, ba = (
            2e-6 * shared * np.exp(self.base[ends] + self.random.normal(0, self.noise, len(a)))
            for ends in ((a, b), (b, a))
        )
        return ab, ba

    def tournament(self) -> Floats:
        """Measures all pairs twice; returns the smaller log time of each pair, of both directions together."""
        nodes = len(self.base)
        a, b = np.triu_indices(nodes, 1)
        smaller = np.full((nodes, nodes), np.nan)
        for number in (0, 1):
            ab, ba = self.measured(a, b)
            self.rows += zip(a, b, np.full(len(a), number), np.zeros(len(a)), np.full(len(a), -1), ab, ba, strict=True)
            smaller[a, b] = smaller[b, a] = np.fmin(smaller[a, b], np.log(ab + ba))
        return smaller

    def suspects(self, times: Floats) -> list[tuple[int, ...]]:
        """Finds suspects: nodes, then links, the slowest first, by robust deviations from peers."""
        near = peers_of(times)
        scores = median(times, axis=1)
        scores = scores - median(scores[near], axis=1)
        nodes = [int(node) for node in np.flatnonzero(scores > limit_of(scores)).tolist()]
        rows = times[:, near]  # of each node, to the peers of each
        rows[np.arange(len(times))[:, np.newaxis, np.newaxis] == near] = np.nan
        links = times - median(np.concatenate([rows, rows.transpose(1, 0, 2)], axis=2), axis=2)
        links[nodes] = links[:, nodes] = np.nan
        links = np.where(np.triu(np.ones_like(links), 1) > 0, links, np.nan)
        slow = np.argwhere(links > limit_of(links[~np.isnan(links)]))
        slow = slow[np.argsort(-links[slow[:, 0], slow[:, 1]])]
        return [*((node,) for node in nodes), *(tuple(map(int, link)) for link in slow)]

    def look(self, a: int, b: int, passed: int, role: int, suspect: int) -> float:
        """Measures a pair again; the log time of both directions."""
        low, high = min(a, b), max(a, b)
        ab, ba = self.measured(np.array([low]), np.array([high]))
        self.rows.append((low, high, passed, role, suspect, ab[0], ba[0]))
        return float(np.log(ab[0] + ba[0]))

    def confirm(self, suspects: list[tuple[int, ...]], times: Floats) -> None:
        """Measures fresh rounds of the suspects that are also slow at a second look."""
        near = peers_of(times)
        confirmed = 0
        for number, suspect in enumerate(suspects):
            looks = []
            for _ in range(3 if len(suspect) == 1 else 1):
                a, b = self.ends(suspect)
                looks.append(self.look(a, b, SECOND_LOOK, 1, number) - np.nanmedian(times[near[a], b]))
            if np.median(looks) < np.log(FACTOR) or confirmed == MAX_CONFIRMED:
                continue
            confirmed += 1
            for _ in range(2 * PAIRINGS if len(suspect) == 1 else FRESH_ROUNDS):
                a, b = self.ends(suspect)
                self.look(a, b, FRESH, 1, number)
                controls = [int(peer) for peer in near[a] if peer != b]
                if len(suspect) == 1:
                    pairs = [(control, b) for control in controls[:2]]
                else:
                    pairs = [(controls[0], b), (a, next(int(peer) for peer in near[b] if peer != a))]
                for ends in pairs:
                    self.look(*ends, FRESH, 2, number)

    def ends(self, suspect: tuple[int, ...]) -> tuple[int, int]:
        """Chooses the pair to look at: the ends of a link, or a node and a random other node."""
        if len(suspect) == 2:
            return suspect[0], suspect[1]
        other = int(self.random.integers(len(self.base) - 1))
        return suspect[0], other + (other >= suspect[0])

    def run(self, **of_ranks: Floats) -> PairGroup:
        """Runs the experiment; `of_ranks`: columns of RankStates, NaN if missing."""
        times = self.tournament()
        suspects = self.suspects(times) if len(self.base) >= MIN_NODES else []
        found, suspects = len(suspects), suspects[: max(MAX_CONFIRMED, len(self.base) // 4)]
        self.confirm(suspects, times)
        a, b, passed, role, suspect, ab, ba = (np.array(each) for each in zip(*self.rows, strict=True))
        integers = {"a": a, "b": b, "passed": passed, "role": role, "suspect": suspect}
        looks = Looks(
            round=np.zeros(len(a), dtype=np.int64),
            **{name: values.astype(np.int64) for name, values in integers.items()},
            alone=np.zeros(len(a), dtype=bool),
            size=np.full(len(a), 8),
            seconds_ab=ab,
            seconds_ba=ba,
        )
        unknown = np.full(len(self.base), np.nan)
        states = RankStates(**{each.name: of_ranks.get(each.name, unknown) for each in RankStates.columns()})
        names = tuple(names_of(len(self.base)))
        return PairGroup(names, looks, tuple(suspects), found, names, states)


def limit_of(scores: Floats) -> float:
    """Computes the score beyond which a node or link is a suspect."""
    center = np.median(scores)
    z = normal_quantile(1 - FALSE_ALARM / len(scores))
    limit = max(float(np.log(FACTOR)), float(center + z * MAD_SIGMA * np.median(np.abs(scores - center))))
    return limit if len(scores) >= FEW_SCORES else min(limit, float(np.log(LARGE_RATIO)))
