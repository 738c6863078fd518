"""Exports the recorded arrival delays of a call site as a file for `--pattern trace(file=...)` of downbeat-bench.

Longer recordings are replaced by representative calls, repeated in proportion to the calls that they represent.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.errors import UsageError
from downbeat.text import MICROSECONDS
from downbeat.trace.arrivals import Arrivals

MAX_LINES = 100  # lines of a file; more calls are replaced by representative calls
REPRESENTATIVES = 8  # maximum number of representative calls
SEED = 1

Floats = NDArray[np.float64]


def delays_of(arrivals: Arrivals, site: int) -> Floats:
    """Returns the lateness of each process at each call of a site, shape (call, rank in the communicator), s.

    There are no gaps, since only calls that all processes recorded are analyzed.
    """
    rows = arrivals.rows[arrivals.rows.site == site].frame("call", "comm_rank", "late")
    return rows.pivot_table(index="call", columns="comm_rank", values="late", aggfunc="first").to_numpy(dtype=float)


def represent(delays: Floats, count: int = REPRESENTATIVES) -> tuple[Floats, NDArray[np.intp]]:
    """Chooses representative calls, and counts the calls that each represents.

    Calls are grouped by k-means of the logarithms of their delays (so that a few long ones do not hide the rest), and
    each group is represented by the recorded call that is nearest to its middle, so every pattern was recorded.

    Args:
        delays: shape (call, rank), in s.
        count: maximum number of representatives.
    """
    scale = max(float(np.median(delays[delays > 0])) if (delays > 0).any() else 1.0, 1e-9)
    features = np.log1p(delays / scale)
    kinds = np.unique(features, axis=0)
    if len(kinds) <= count:
        _, first, counts = np.unique(features, axis=0, return_index=True, return_counts=True)
        return delays[first], counts
    middles, group = k_means(features, count)
    chosen, weights = [], []
    for cluster in np.unique(group):
        members = np.flatnonzero(group == cluster)
        distances = ((features[members] - middles[cluster]) ** 2).sum(axis=1)
        chosen.append(members[distances.argmin()])
        weights.append(len(members))
    order = np.argsort(weights)[::-1]
    return delays[np.array(chosen)[order]], np.array(weights)[order]


def k_means(features: Floats, count: int) -> tuple[Floats, NDArray[np.intp]]:
    """Finds the centers of `count` clusters and the cluster of each row: k-means++ (Arthur and Vassilvitskii 2007)."""

    def squared_distances(middles: Floats) -> Floats:  # shape (middle, row)
        return np.stack([((features - middle) ** 2).sum(axis=1) for middle in middles])

    rng = np.random.default_rng(SEED)
    middles = features[rng.integers(len(features), size=1)]
    while len(middles) < count:
        nearest = squared_distances(middles).min(axis=0)
        chosen = rng.choice(len(features), p=nearest / nearest.sum())
        middles = np.vstack([middles, features[chosen]])
    for _ in range(10):
        group = squared_distances(middles).argmin(axis=0)
        for cluster in np.unique(group):
            middles[cluster] = features[group == cluster].mean(axis=0)
    return middles, squared_distances(middles).argmin(axis=0)


def export_text(arrivals: Arrivals, site: int) -> str:
    """Returns the content of a file for `trace(file=...)`: a line per call with the delay of each rank, s.

    Raises:
        UsageError: there is no such site.
    """
    if not 0 <= site < len(arrivals.sites):
        raise UsageError(f"there is no call site {site + 1}; the table has 1 to {len(arrivals.sites)}")
    sites = arrivals.sites
    delays = delays_of(arrivals, site)
    lines = [
        f"# Arrivals at {sites.operation[site]}, {sites.name[site]}: "
        f"{len(delays)} calls of {sites.size[site]:.0f} ranks.",
        f"# Seconds after the first rank, a line per call; errors up to {sites.bound[site]:.2g} s.",
    ]
    if len(delays) <= MAX_LINES:
        calls = delays
    else:
        chosen, weights = represent(delays)
        lines.append("# Recorded calls that stand for all, repeated as often as these occur.")
        calls = chosen[repetitions(weights)]
    lines += [" ".join(f"{delay:.9f}" for delay in call) for call in calls]
    return "\n".join([*lines, ""])


def repetitions(weights: NDArray[np.intp]) -> list[int]:
    """Repeats the indexes of representatives by weight, evenly mixed: `MAX_LINES` indexes, or a few more."""
    counts = np.maximum(1, np.round(MAX_LINES * weights / weights.sum())).astype(int)
    positions = [((repeat + 0.5) / count, index) for index, count in enumerate(counts) for repeat in range(count)]
    return [index for _, index in sorted(positions)]


def patterns_frame(arrivals: Arrivals, site: int) -> pd.DataFrame:
    """Returns the representatives of a site: the number of `calls` that each represents, and each rank's delay, us."""
    chosen, weights = represent(delays_of(arrivals, site))
    frame = pd.DataFrame(chosen * MICROSECONDS, columns=[f"rank_{rank}_us" for rank in range(chosen.shape[1])])
    frame.insert(0, "calls", weights)
    return frame
