"""Defines times of pairs of nodes, from logs of other tools (pair_results.py) or `downbeat-bench pairs` (pair_file.py).

A setting is one kind of measurement of all pairs, e.g. sendrecv with 4 GPUs a node. Log times are natural logarithms.
"""

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
    direction: Ints = column("0 both or unknown, 1 from a to b, 2 from b to a", "1")
    size: Ints = column("size of the message", "B")
    value: Floats = column("time; for bandwidths, size divided by bandwidth", "s")
    launch: Ints = column("number among the launches of the pair, from 0", "1")
    alone: Flags = column("true if no other pair was measured at the same time")


@dataclass(frozen=True)
class PairTimes:
    """The pairs of a machine under one setting.

    Attributes:
        setting: in words, e.g. "sendrecv with 4 GPUs a node"; empty: the only setting.
        names: names of nodes, or of ranks.
        pairs: times of the pairs; `a` and `b` are indices of names.
        rate: true: values are printed as bandwidths.
        failed: pairs with a run but no value, indices of names.
    """

    setting: str
    names: tuple[str, ...]
    pairs: Pairs
    rate: bool = False
    failed: tuple[tuple[int, int], ...] = ()

    @property
    def directed(self) -> bool:
        """True if the two directions of pairs were measured separately."""
        return bool((self.pairs.direction != BOTH).any())

    def log_times(self) -> Floats:
        """Returns log times, shape (values, nodes, nodes), from row to column; NaN: not measured.

        There is a matrix for each size, launch and repetition. Undirected times are in both triangles of a matrix.
        """
        pairs, nodes = self.pairs, len(self.names)
        backward = pairs.direction == BACKWARD
        sender, receiver = np.where(backward, pairs.b, pairs.a), np.where(backward, pairs.a, pairs.b)
        frame = pairs.frame("size", "launch").assign(sender=sender, receiver=receiver)
        frame["repetition"] = frame.groupby(["sender", "receiver", "size", "launch"]).cumcount()
        matrix = frame.groupby(["size", "launch", "repetition"]).ngroup().to_numpy()
        times = np.full((int(matrix.max(initial=-1)) + 1, nodes, nodes), np.nan)
        times[matrix, sender, receiver] = np.log(pairs.value)
        undirected = pairs.direction == BOTH
        times[matrix[undirected], receiver[undirected], sender[undirected]] = np.log(pairs.value[undirected])
        return times

    def printed(self) -> Floats:
        """Returns the median log of the printed values of each pair, shape (nodes, nodes); NaN: not measured.

        Printed values are times in s, or bandwidths in B/s; for bandwidths this is the log of the inverse, s/B.
        """
        pairs = self.pairs
        printed = pairs.replaced(value=pairs.value / np.maximum(pairs.size, 1)) if self.rate else pairs
        times = PairTimes(self.setting, self.names, printed).log_times()
        known = ~np.isnan(times).all(axis=0)
        medians = np.full(known.shape, np.nan)
        medians[known] = np.nanmedian(times[:, known], axis=0)
        return medians
