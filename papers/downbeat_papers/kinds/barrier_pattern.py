"""Whether ranks leave a barrier in the order of a tree (Niethammer 2016, Fig. 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from downbeat.base.text import MICROSECONDS, drawn_of, evenly
from downbeat.pictures.panel import Line, Panel, make_picture
from downbeat.pictures.style import Picture

from downbeat_papers.claims import Facts, Measure, missing
from downbeat_papers.kinds.cells import Cells
from downbeat_papers.results import BARRIER, Results

FEWEST = 8  # ranks; with fewer a tree's rounds and a line of ranks are nearly one order


def exit_lags(data: xr.Dataset, cell: int) -> np.ndarray:
    """Returns the lag of each rank's exit after the first in us, median over valid samples of a cell."""
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


def tree_less_line(lags: np.ndarray) -> dict[str, Measure] | Measure:
    """Returns how much better exits fit the rounds of either tree than the order of ranks.

    Each launch's lags, shape (launches, ranks), are fitted by the rounds of a tree and the numbers of ranks, both from
    0 to 1.
    """
    ranks = lags.shape[1]
    if ranks < FEWEST:
        return missing(f"a tree of {ranks} ranks has too few rounds to differ from a line; it takes {FEWEST}")
    kept = lags[np.isfinite(lags).all(axis=1)]
    line = np.arange(ranks) / (ranks - 1)
    found = {}
    for name, rounds in release_rounds(ranks).items():
        fit = np.linalg.lstsq(np.stack([rounds / rounds.max(), line, np.ones(ranks)], axis=1), kept.T, rcond=None)[0]
        found[name] = Measure(fit[0] - fit[1], " us", signed=True)
    return found


@dataclass(frozen=True)
class BarrierPattern(Cells):
    """Timelines, and when each rank leaves the barrier, beside the orders of trees."""

    def lags(self, results: Results) -> dict[int, np.ndarray]:
        """Returns lags after MPI_Barrier in us by number of ranks, shape (launches, ranks)."""
        lags = {}
        for label in results.have():
            files = results.datasets(label)
            cell = [str(one) for one in files[0]["synchronizer"].to_numpy()].index(BARRIER)
            lags[results.run(label).ranks] = np.stack([exit_lags(data, cell) for data in files])
        return lags

    def facts(self, results: Results) -> Facts:
        lags = self.lags(results)
        on_cores = [ranks for ranks in lags if not results.site.crowded(ranks)]
        no_cores = missing("there are no ranks with a core each")
        tree = tree_less_line(lags[max(on_cores)]) if on_cores else no_cores
        return Facts({**super().facts(results).measures, "tree_rather_than_line": tree})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        lags, most = self.lags(results), results.site.sample
        caption = (
            "Time after the rank that left first, median over the samples of a launch; points: median launch, bars: "
            "smallest to largest. Beside them the rounds in which binomial trees would release the ranks, scaled "
            f"to the latest of them.{drawn_of(max(lags), most)}"
        )
        panels = [lag_panel(ranks, values, np.array(evenly(range(ranks), most))) for ranks, values in lags.items()]
        pattern = make_picture(f"{name}-pattern", "When each rank leaves the barrier", caption, panels)
        return (*super().pictures(name, results), pattern)


def lag_panel(ranks: int, values: np.ndarray, kept: np.ndarray) -> Panel:
    """Returns lags of launches in us, shape (launches, ranks), and the orders of trees, for some ranks."""
    middle, low, high = (one(values, axis=0) for one in (np.nanmedian, np.nanmin, np.nanmax))
    series = [Line("measured", kept, middle[kept], low[kept], high[kept], 0, "", 0)]
    for position, (name, rounds) in enumerate(release_rounds(ranks).items(), 1):
        scaled = rounds / rounds.max() * middle.max()
        series.append(Line(name, kept, scaled[kept], None, None, position, "", position))
    return Panel(series, "rank", "exit after the first [us]", f"mpi_barrier, {ranks} ranks")
