"""Recorded arrivals as files that `--pattern trace(file=...)` replays: every call, or a few that stand for all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.errors import UsageError
from downbeat.files import write_text
from downbeat.text import MICROSECONDS
from downbeat.trace.arrivals import Arrivals

MOST_LINES = 100  # of a file; of more calls it has representatives
REPRESENTATIVES = 8
SEED = 1

Floats = NDArray[np.float64]


def delays_of(arrivals: Arrivals, site: int) -> Floats:
    """The lateness of each process at each call of a site, shape (call, rank in the communicator), s."""
    rows = arrivals.rows[arrivals.rows.site == site].frame("call", "comm_rank", "late")
    return rows.pivot_table(index="call", columns="comm_rank", values="late", aggfunc="first").to_numpy(dtype=float)


def represent(delays: Floats, count: int = REPRESENTATIVES) -> tuple[Floats, NDArray[np.intp]]:
    """Representative calls, and the number of calls that each represents.

    Calls are grouped by k-means of the logarithms of their delays (so that a few long ones do not hide the rest), and
    each group is represented by the recorded call that is nearest to its middle: no pattern is made up.

    Args:
        delays: shape (call, rank), in s.
        count: most representatives.
    """
    scale = max(float(np.median(delays[delays > 0])) if (delays > 0).any() else 1.0, 1e-9)
    features = np.log1p(delays / scale)
    kinds = np.unique(features, axis=0)
    if len(kinds) <= count:
        _, first, number = np.unique(features, axis=0, return_index=True, return_counts=True)
        return delays[first], number
    middles, group = k_means(features, count)
    chosen, weights = [], []
    for number in np.unique(group):
        members = np.flatnonzero(group == number)
        apart = ((features[members] - middles[number]) ** 2).sum(axis=1)
        chosen.append(members[apart.argmin()])
        weights.append(len(members))
    order = np.argsort(weights)[::-1]
    return delays[np.array(chosen)[order]], np.array(weights)[order]


def k_means(features: Floats, count: int) -> tuple[Floats, NDArray[np.intp]]:
    """k-means++ (Arthur and Vassilvitskii 2007): centers of `count` clusters, and the cluster of each row."""

    def apart(middles: Floats) -> Floats:  # squares of distances, shape (middle, row)
        return np.stack([((features - middle) ** 2).sum(axis=1) for middle in middles])

    rng = np.random.default_rng(SEED)
    middles = features[rng.integers(len(features), size=1)]
    while len(middles) < count:
        nearest = apart(middles).min(axis=0)
        chosen = rng.choice(len(features), p=nearest / nearest.sum())
        middles = np.vstack([middles, features[chosen]])
    for _ in range(10):
        group = apart(middles).argmin(axis=0)
        for number in np.unique(group):
            middles[number] = features[group == number].mean(axis=0)
    return middles, apart(middles).argmin(axis=0)


def export_text(arrivals: Arrivals, site: int) -> str:
    """Returns the content of a file for `trace(file=...)`: a line per call, seconds, one per rank.

    Raises:
        UsageError: there is no such site, or it is not of all ranks.
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
    if len(delays) <= MOST_LINES:
        lines += [pattern_line(call) for call in delays]
    else:
        chosen, weights = represent(delays)
        lines.append("# Recorded calls that stand for all, repeated as often as these occur.")
        lines += [pattern_line(chosen[which]) for which in mixed(weights)]
    return "\n".join([*lines, ""])


def mixed(weights: NDArray[np.intp]) -> list[int]:
    """Returns `MOST_LINES` numbers of representatives, or a few more: by weight, and well mixed from the first on."""
    times = np.maximum(1, np.round(MOST_LINES * weights / weights.sum())).astype(int)
    positions = [((number + 0.5) / count, which) for which, count in enumerate(times) for number in range(count)]
    return [which for _, which in sorted(positions)]


def pattern_line(call: Floats) -> str:
    """Returns a call as a line, to the nanosecond."""
    return " ".join(f"{delay:.9f}" for delay in call)


def write_export(arrivals: Arrivals, site: int, path: Path) -> None:
    """Writes the arrivals at a site for `trace(file=...)`.

    Raises:
        UsageError: those of `export_text`.
    """
    write_text(path, export_text(arrivals, site))


def patterns_frame(arrivals: Arrivals, site: int) -> pd.DataFrame:
    """Returns the representatives of a site: `calls`, and the delay of each rank in us."""
    chosen, weights = represent(delays_of(arrivals, site))
    frame = pd.DataFrame(chosen * MICROSECONDS, columns=[f"rank_{rank}_us" for rank in range(chosen.shape[1])])
    frame.insert(0, "calls", weights)
    return frame
