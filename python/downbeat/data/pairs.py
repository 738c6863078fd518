"""Times of pairs of nodes, from logs of other tools or from `downbeat-bench pairs`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from downbeat.statistics.faults import BACKWARD, BOTH
from downbeat.tables import Flags, Floats, Ints, Table, column


class Pairs(Table):
    """A row for each value of a pair."""

    round: Ints = column("round in which the pair was measured; of logs 0", "1")
    a: Ints = column("index of the first node", "1")
    b: Ints = column("index of the second node", "1")
    direction: Ints = column("0 both, 1 from a to b, 2 from b to a", "1")
    size: Ints = column("size of the message", "B")
    value: Floats = column("time; of a bandwidth, size over bandwidth", "s")
    launch: Ints = column("number among the launches of the pair, from 0", "1")
    alone: Flags = column("whether no other pair was measured at the same time")


@dataclass(frozen=True)
class PairTimes:
    """The pairs of a machine under one setting.

    Attributes:
        setting: in words: "sendrecv, 4 GPUs a node"; empty if there is only one.
        names: of nodes, or of ranks.
        pairs: their times.
        rate: whether values are printed as bandwidths.
        failed: pairs that gave no value, indices of nodes.
    """

    setting: str
    names: tuple[str, ...]
    pairs: Pairs
    rate: bool = False
    failed: tuple[tuple[int, int], ...] = ()

    @property
    def directed(self) -> bool:
        """Whether the two directions of pairs were measured apart."""
        return bool((self.pairs.direction != BOTH).any())

    def log_times(self) -> Floats:
        """Logarithms of times, shape (values, nodes, nodes), from row to column; NaN where not measured.

        Values of a pair are those of different sizes, launches and repetitions, each in a matrix of its own.
        """
        pairs, nodes = self.pairs, len(self.names)
        back = pairs.direction == BACKWARD
        sender, receiver = np.where(back, pairs.b, pairs.a), np.where(back, pairs.a, pairs.b)
        frame = pairs.frame("size", "launch").assign(sender=sender, receiver=receiver)
        frame["repetition"] = frame.groupby(["sender", "receiver", "size", "launch"]).cumcount()
        matrix = frame.groupby(["size", "launch", "repetition"]).ngroup().to_numpy()
        times = np.full((int(matrix.max(initial=-1)) + 1, nodes, nodes), np.nan)
        times[matrix, sender, receiver] = np.log(pairs.value)
        undirected = pairs.direction == BOTH
        times[matrix[undirected], receiver[undirected], sender[undirected]] = np.log(pairs.value[undirected])
        return times

    def printed(self) -> Floats:
        """Logarithms of the printed values, their medians per pair: s, or s/B for bandwidths; shape (nodes, nodes)."""
        pairs = self.pairs
        shown = pairs.replaced(value=pairs.value / np.maximum(pairs.size, 1)) if self.rate else pairs
        times = PairTimes(self.setting, self.names, shown).log_times()
        known = ~np.isnan(times).all(axis=0)
        medians = np.full(known.shape, np.nan)
        medians[known] = np.nanmedian(times[:, known], axis=0)
        return medians
