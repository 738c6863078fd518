"""Compares the times of pairs of nodes with the times of peers, for the search of slow nodes and links.

The peers of a node are its k nearest neighbors by the measured times (k = PEERS). A node that is far from all others,
e.g. behind one more switch, has peers that are equally far, so no topology is needed. A deviation is the logarithm of
a time minus the median logarithm of the times of peers: 0 is as fast as the peers, log(2) is twice as slow. The
scatter of the peers is the scaled median absolute deviation of their times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from downbeat.tables import Floats, Ints

PEERS = 6  # neighbors of a node. Chosen by hand; 4 and 8 give the same faults in simulated machines.
MAD_SIGMA = 1.4826  # standard deviation of normal numbers, divided by their median absolute deviation
MIN_SIGMA = 1e-6  # standard deviation of logarithms; smaller values are rounding errors


def quantile(values: Floats, share: float, axis: int) -> Floats:
    """Computes a quantile of the values that are not NaN, the lower of two values; NaN: no value."""
    ordered = np.sort(values, axis=axis)
    counts = np.count_nonzero(~np.isnan(values), axis=axis, keepdims=True)
    index = (share * np.maximum(counts - 1, 0)).astype(np.int64)
    return np.take_along_axis(ordered, index, axis=axis).squeeze(axis)


def median(values: Floats, axis: int) -> Floats:
    """Computes the median of the values that are not NaN; NaN: no value. Faster than np.nanmedian."""
    ordered = np.sort(values, axis=axis)
    counts = np.count_nonzero(~np.isnan(values), axis=axis, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(counts - 1, 0) // 2, axis=axis)
    high = np.take_along_axis(ordered, np.maximum(counts // 2, 0).clip(max=values.shape[axis] - 1), axis=axis)
    return np.asarray((low + high).squeeze(axis) / 2)


def robust_sigma(values: Floats) -> float:
    """Estimates the standard deviation of the values that are not NaN from their median absolute deviation.

    The result is at least MIN_SIGMA, and 1 without values.
    """
    known = values[~np.isnan(values)]
    return max(float(MAD_SIGMA * np.median(np.abs(known - np.median(known)))), MIN_SIGMA) if known.size else 1.0


def peers_of(times: Floats, spare: int = 0) -> Ints:
    """Finds the k nearest neighbors of each node, by the mean log time of both directions; shape (n, k + spare)."""
    nodes = len(times)
    distances = median(np.stack([times, times.T]), axis=0)
    np.fill_diagonal(distances, np.nan)
    return np.argsort(distances, axis=1)[:, : max(1, min(PEERS, nodes - 2)) + spare]  # NaN comes last


@dataclass(frozen=True)
class Deviations:
    """Deviations of pairs from the pairs of peers, shape (n, n) each.

    Attributes:
        sender: log time from i to j minus the median log time from i's peers to j.
        receiver: log time from i to j minus the median log time from i to j's peers.
        scatter: scatter of these times of peers, mean of both.
    """

    sender: Floats
    receiver: Floats
    scatter: Floats

    @classmethod
    def from_peers(cls, times: Floats, peers: Ints, directed: bool) -> Deviations:
        """Compares each log time with those of peers.

        Args:
            times: log times, shape (n, n), from row to column; NaN for a node with itself.
            peers: peers of each node.
            directed: false: the matrix is symmetric, which saves half of the work.
        """
        sender, sender_scatter = compare_rows(times, peers)
        receiver, receiver_scatter = compare_rows(times.T, peers) if directed else (sender, sender_scatter)
        return cls(sender, receiver.T, (sender_scatter + receiver_scatter.T) / 2)

    @property
    def link(self) -> Floats:
        """The deviation that neither end explains: the smaller of `sender` and `receiver`."""
        return np.minimum(self.sender, self.receiver)


def compare_rows(times: Floats, peers: Ints) -> tuple[Floats, Floats]:
    """Subtracts from each row the median row of its peers; also returns the scatter of the rows of the peers."""
    rows_of_peers = times[peers]
    expected = median(rows_of_peers, axis=1)
    return times - expected, MAD_SIGMA * median(np.abs(rows_of_peers - expected[:, np.newaxis]), axis=1)
