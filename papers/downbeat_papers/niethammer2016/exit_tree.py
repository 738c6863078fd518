"""Figure 2's pattern: in what order ranks leave a barrier, held against the orders in which trees release them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from downbeat_papers.drawing.panels import Panel, Series
from downbeat_papers.evidence import Evidence, Undecidable, mean_of, some
from downbeat.sampling import evenly
from downbeat.units import MICROSECONDS

FEWEST = 8  # ranks; with fewer a tree's rounds and a line of ranks are nearly one order


def exit_lags(data: xr.Dataset, cell: int) -> np.ndarray:
    """Returns by how many us each rank leaves the synchronizer after the first, median over valid samples of a cell."""
    rows = (data["cell_index"].to_numpy() == cell) & (data["valid"].to_numpy() == 1)
    entry = data["entry"].to_numpy()[rows]
    if not len(entry):
        return np.full(entry.shape[1], np.nan)
    return np.asarray(np.median(entry - entry.min(axis=1, keepdims=True), axis=0) * MICROSECONDS)


def release_rounds(ranks: int) -> dict[str, np.ndarray]:
    """Returns in which round a binomial tree with root 0 releases each rank, farthest children first or nearest."""
    numbers = range(1, ranks)
    rounds = (ranks - 1).bit_length()
    farthest = [rounds - ((rank & -rank).bit_length() - 1) for rank in numbers]
    nearest = [rank.bit_length() for rank in numbers]
    return {
        "binomial tree, farthest first": np.array([0, *farthest], float),
        "binomial tree, nearest first": np.array([0, *nearest], float),
    }


def tree_rather_than_line(lags: np.ndarray) -> Evidence | Undecidable:
    """Returns what is said of the claim that exits follow the rounds of a tree, rather than one rank after another.

    Each launch's lags are fitted by the rounds of a tree and the numbers of ranks, both from 0 to 1; the tree's part
    has to be larger. The claim may be true of either tree.

    Args:
        lags: in us, shape (launches, ranks).
    """
    ranks = lags.shape[1]
    if ranks < FEWEST:
        return Undecidable(f"a tree of {ranks} ranks has too few rounds to differ from a line; it takes {FEWEST}")
    kept = lags[np.isfinite(lags).all(axis=1)]
    line = np.arange(ranks) / (ranks - 1)
    parts = []
    for rounds in release_rounds(ranks).values():
        fit = np.linalg.lstsq(np.stack([rounds / rounds.max(), line, np.ones(ranks)], axis=1), kept.T, rcond=None)[0]
        parts.append(mean_of(fit[0] - fit[1], " us").above(0.0))
    return some(parts)


def lag_panels(lags: Mapping[int, np.ndarray], most: int) -> list[Panel]:
    """Returns a panel per number of ranks: lags of launches in us, and the orders of trees.

    Args:
        lags: shape (launches, ranks).
        most: ranks that are drawn.
    """
    panels = []
    for ranks, values in lags.items():
        kept = np.array(evenly(range(ranks), most))
        middle, low, high = (one(values, axis=0) for one in (np.nanmedian, np.nanmin, np.nanmax))
        series = [
            Series("measured", kept, middle[kept], low[kept], high[kept], 0, "", 0),
            *(
                Series(name, kept, (rounds / rounds.max() * middle.max())[kept], None, None, position, "", position)
                for position, (name, rounds) in enumerate(release_rounds(ranks).items(), 1)
            ),
        ]
        panels.append(Panel(series, "rank", "exit after the first [us]", f"mpi_barrier, {ranks} ranks"))
    return panels
