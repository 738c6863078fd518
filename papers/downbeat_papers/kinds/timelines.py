"""Single samples as timelines: who left the synchronizer when, and what the operation made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from downbeat.base.text import MICROSECONDS, drawn_of, evenly
from downbeat.pictures.style import Picture

from downbeat_papers.claims import Facts, Measure, Measured, missing
from downbeat_papers.draw import Panel, Series, draw_panels, draw_timelines, median_sample
from downbeat_papers.results import BARRIER, LATENCY, Results, launch_values
from downbeat_papers.runs import Run, operation_run
from downbeat_papers.site import OPEN_MPI, Site


def draw_median_samples(
    name: str,
    title: str,
    caption: str,
    results: Results,
    titles: Mapping[str, str],
    variable: str = "synchronizer",
    metric: str = "latency_avg",
) -> tuple[Picture, ...]:
    """Draws the sample with the median metric of each cell of each run, in the first launch.

    Args:
        name: of the picture.
        title: of the picture.
        caption: of the picture.
        results: launches.
        titles: of timelines, by the value of a variable of cells; may have {one} (the timeline) and {ranks} in braces.
        variable: of cells.
        metric: whose median sample is drawn.
    """
    lines = []
    for label in results.have():
        data = results.datasets(label)[0]
        names = [str(one) for one in data[variable].to_numpy()]
        for value, words in titles.items():
            line = median_sample(data, names.index(value), metric) if value in names else None
            if line is not None:
                lines.append((words.format(one=line, ranks=results.run(label).ranks), line))
    return (draw_timelines(name, title, caption, lines, results.site.sample),)


SMALL_REDUCE = "reduce(type=int8)"


@dataclass(frozen=True)
class ReduceAfterBarriers:
    """A reduction after two barrier algorithms of Open MPI."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        library = site.first_of(OPEN_MPI)
        if not library:
            return ()
        options = {"sizes": "1", "barrier-algorithm": "linear,double_ring"}
        return tuple(
            operation_run(
                site, f"n{ranks}", library, ranks, [SMALL_REDUCE], usual=200, sync=BARRIER, options=options, factors=2
            )
            for ranks in dict.fromkeys((site.node, site.most))
        )

    def facts(self, results: Results) -> Facts:
        def after(algorithm: str) -> dict[int, Measure]:
            return {
                (ranks := results.run(label).ranks): Measure(
                    launch_values(results.cells, LATENCY, label=label, barrier_algorithm=algorithm) * MICROSECONDS,
                    " us",
                    obstacle=results.crowding(ranks),
                )
                for label in results.have()
            }

        return Facts({name: after(name) for name in ("linear", "double_ring")})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        words = "barrier {}, {{ranks}} ranks: mean time in the reduction {{one.mean:.2f}} us"
        return draw_median_samples(
            name,
            "A reduction of 1 byte after two barrier algorithms",
            "One sample of the first launch for each barrier algorithm: that with the median latency. The "
            "synchronizer's bars end where ranks leave the barrier, which is the arrival pattern of the reduction.",
            results,
            {algorithm: words.format(algorithm) for algorithm in ("linear", "double_ring")},
            "barrier_algorithm",
        )


LEAD_MS = 1
JUDGED = "harmonize"  # verdicts are on samples after it
BY_CLOCK = f"roundtime(lead={LEAD_MS}ms)"
LISTINGS = {BARRIER: "MPI_Barrier (Listing 1)", BY_CLOCK: "roundtime (Listing 2)"}  # the paper's two ways
SYNCHRONIZERS = {JUDGED: JUDGED} | LISTINGS
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


def tree_less_line(lags: np.ndarray) -> dict[str, Measure] | Measure:
    """Returns by how much exits follow the rounds of either tree, more than one rank after another.

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
class Starts:
    """How ranks leave synchronizers.

    Attributes:
        shown: synchronizers that are drawn.
        picture: its title.
        pattern: whether exits are held against the orders of trees.
    """

    shown: tuple[str, ...]
    picture: str
    pattern: bool = False

    def runs(self, site: Site) -> tuple[Run, ...]:
        sync = ",".join(SYNCHRONIZERS)
        return tuple(
            operation_run(
                site, f"n{ranks}", site.main(), ranks, ["bcast"], usual=200, sync=sync, options={"sizes": "8"}
            )
            for ranks in dict.fromkeys((site.node, site.most))
        )

    def lags(self, results: Results) -> dict[int, np.ndarray]:
        """Returns lags after MPI_Barrier in us by number of ranks, shape (launches, ranks)."""
        lags = {}
        for label in results.have():
            files = results.datasets(label)
            cell = [str(one) for one in files[0]["synchronizer"].to_numpy()].index(BARRIER)
            lags[results.run(label).ranks] = np.stack([exit_lags(data, cell) for data in files])
        return lags

    def facts(self, results: Results) -> Facts:
        measures: dict[str, Measured] = {}
        if self.pattern:
            lags = self.lags(results)
            on_cores = [ranks for ranks in lags if not results.site.crowded(ranks)]
            no_cores = missing("there are no ranks with a core each")
            measures["tree_rather_than_line"] = tree_less_line(lags[max(on_cores)]) if on_cores else no_cores
        node = results.site.node
        for name, synchronizer in (("barrier", BARRIER), ("by_clock", BY_CLOCK), ("harmonize", JUDGED)):
            skews = launch_values(results.cells, "exit_skew_median", synchronizer=synchronizer, ranks=node)
            measures[name] = Measure(skews * MICROSECONDS, " us", obstacle=results.crowding(node))
        return Facts(measures, {"node": node})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        timelines = draw_median_samples(
            name,
            self.picture,
            "One sample of the first launch for each timeline, that with the median exit skew; the operation is a "
            "broadcast of 8 bytes. Stamps are on the global clock; the paper's timelines also show the calls of the "
            "timer.",
            results,
            {one: f"{SYNCHRONIZERS[one]}, {{ranks}} ranks: exits {{one.spread:.3g}} us apart" for one in self.shown},
            metric="exit_skew",
        )
        if not self.pattern:
            return timelines
        lags, most = self.lags(results), results.site.sample
        pattern = draw_panels(
            f"{name}-pattern",
            "When each rank leaves the barrier",
            "Time after the rank that left first, median over the samples of a launch; points: median launch, bars: "
            "smallest to largest. Beside them the rounds in which binomial trees would release the ranks, scaled "
            f"to the latest of them.{drawn_of(max(lags), most)}",
            [lag_panel(ranks, values, np.array(evenly(range(ranks), most))) for ranks, values in lags.items()],
        )
        return (*timelines, pattern)


def lag_panel(ranks: int, values: np.ndarray, kept: np.ndarray) -> Panel:
    """Returns lags of launches in us, shape (launches, ranks), and the orders of trees, for some ranks."""
    middle, low, high = (one(values, axis=0) for one in (np.nanmedian, np.nanmin, np.nanmax))
    series = [Series("measured", kept, middle[kept], low[kept], high[kept], 0, "", 0)]
    for position, (name, rounds) in enumerate(release_rounds(ranks).items(), 1):
        scaled = rounds / rounds.max() * middle.max()
        series.append(Series(name, kept, scaled[kept], None, None, position, "", position))
    return Panel(series, "rank", "exit after the first [us]", f"mpi_barrier, {ranks} ranks")
