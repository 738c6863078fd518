"""In which order ranks leave a barrier, and what that does: to the operation after it, and to delays that are to help.

Schuchart 2023, Fig. 1; Hunold 2015, Fig. 4; Niethammer 2016, Fig. 2 and section III.B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from downbeat.output.blocks import Picture
from downbeat.output.fields import BARRIER
from downbeat.report.drawing import make_picture
from downbeat.report.panel import Line, Panel, box_of
from downbeat.statistics.distributions import t_quantile
from downbeat.text import MICROSECONDS, drawn_of, evenly

from downbeat_papers.claims import NOT_MEASURED, Facts, Measure, Measured, each, missing
from downbeat_papers.draw import median_line
from downbeat_papers.evidence import Floats
from downbeat_papers.kinds.cells import Cells, cell_where
from downbeat_papers.kinds.over_time import FIT_SECONDS, ONCE
from downbeat_papers.results import NoSamplesError, Results
from downbeat_papers.runs import Run, declared_runs, made
from downbeat_papers.site import Site


def stamps(data: xr.Dataset, name: str, by: str = "", value: str = "") -> Floats:
    """Returns stamps of valid samples in us, shape (calls, ranks), of the cell whose variable `by` has a value."""
    kept = data.valid.to_numpy() == 1
    if by:
        kept = kept & (data.cell_index.to_numpy() == cell_where(data, by, value))
    return np.asarray(data[name].to_numpy()[kept] * MICROSECONDS, float)


def after_the_first(exits: Floats) -> Floats:
    """Returns when each rank leaves after the first one, shape (calls, ranks)."""
    return np.asarray(exits - exits.min(axis=1, keepdims=True))


def medians_of_calls(rows: Sequence[Floats]) -> Floats:
    """Returns the median over the calls of each launch, shape (launches, ranks); NaN of one without a call."""
    return np.stack([np.median(calls, axis=0) if len(calls) else np.full(calls.shape[1], np.nan) for calls in rows])


RING = ("barrier_algorithm", "double_ring")
FEWEST_IN_RING = 4  # ranks; of fewer the root is all of the first half
AFTER_THE_ROOT, LEAVES, TAKES = "after_the_root", "{}_half_leaves", "{}_half_takes"


def ring_measures(launches: Sequence[tuple[Floats, Floats]]) -> dict[str, Measured]:
    """Returns when ranks leave the barrier after the root does, and how long the reduction after it takes them.

    Args:
        launches: entry and exit of the reduction in us, each of shape (calls, ranks).
    """
    late = medians_of_calls([entry - entry[:, :1] for entry, _ in launches])
    takes = medians_of_calls([end - entry for entry, end in launches])
    half = late.shape[1] // 2
    early = {rank: late[:, rank] for rank in range(1, half)}
    measures: dict[str, Measured] = {AFTER_THE_ROOT: each(early, " us", "rank {}", signed=True)}
    for name, ranks in (("first", slice(1, half)), ("second", slice(half, None))):
        measures[LEAVES.format(name)] = Measure(late[:, ranks].mean(axis=1), " us", signed=True)
        measures[TAKES.format(name)] = Measure(takes[:, ranks].mean(axis=1), " us")
    return measures


@dataclass(frozen=True)
class RingPattern(Cells):
    """A reduction in the order in which a double ring releases its ranks (Schuchart 2023, Fig. 1)."""

    def facts(self, results: Results) -> Facts:
        run = next(run for run in results.runs if run.ranks == results.site.node)
        files = results.datasets(run.label) if run.label in results.have() else []
        few = f"the first half of {run.ranks} ranks is the root alone" if run.ranks < FEWEST_IN_RING else ""
        why = results.crowding(run.ranks) or few or ("" if files else NOT_MEASURED)
        names = (AFTER_THE_ROOT, *(text.format(half) for text in (LEAVES, TAKES) for half in ("first", "second")))
        of_the_ring: dict[str, Measured] = dict.fromkeys(names, missing(why))
        if not why:
            of_the_ring = ring_measures([(stamps(data, "entry", *RING), stamps(data, "exit", *RING)) for data in files])
        return Facts({**super().facts(results).measures, **of_the_ring})


FEWEST = 8  # ranks; with fewer a tree's rounds and a line of ranks are nearly one order


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
    """Returns the coefficients of the rounds of either tree less that of the order of ranks, in us.

    Each launch's lags, shape (launches, ranks), are fitted by the rounds of a tree and the numbers of ranks, both from
    0 to 1.
    """
    ranks = lags.shape[1]
    if ranks < FEWEST:
        return missing(f"a tree of {ranks} ranks has too few rounds to differ from a line; it takes {FEWEST}")
    kept = lags[np.isfinite(lags).all(axis=1)]
    line = np.arange(ranks) / (ranks - 1)
    by_tree = {}
    for name, rounds in release_rounds(ranks).items():
        fit = np.linalg.lstsq(np.stack([rounds / rounds.max(), line, np.ones(ranks)], axis=1), kept.T, rcond=None)[0]
        by_tree[name] = Measure(fit[0] - fit[1], " us", signed=True)
    return by_tree


def with_delays(exits: Floats) -> tuple[Floats, Floats]:
    """Returns the second half of some exits from a barrier, and what delays make of them that the first half suggests.

    Each rank waits, as Niethammer 2016 does it (III.B, III.D), for as many whole us as it left before the last one in
    the mean: until gettimeofday, which counts us, has advanced by so many. All are in us, shape (calls, ranks).
    """
    learned, later = np.split(exits, [len(exits) // 2])
    late = after_the_first(learned).mean(axis=0)
    delays = np.round(late.max() - late)
    return later, np.where(delays > 0, np.floor(later) + delays, later)


@dataclass(frozen=True)
class BarrierPattern(Cells):
    """Timelines, and when each rank leaves the barrier, beside the orders of trees (Niethammer 2016, Fig. 2)."""

    def exits(self, results: Results) -> dict[int, list[Floats]]:
        """Returns exits from MPI_Barrier in us by number of ranks, a launch each, shape (calls, ranks)."""
        return {
            results.run(label).ranks: [
                stamps(data, "entry", "synchronizer", BARRIER) for data in results.datasets(label)
            ]
            for label in results.have()
        }

    def skews(self, launches: Sequence[Floats]) -> list[tuple[Floats, Floats]]:
        """Returns the skew of each call in us, as it is and with delays, of launches with two calls or more."""
        pairs = [with_delays(exits) for exits in launches if len(exits) > 1]
        return [(np.ptp(plain, axis=1), np.ptp(delayed, axis=1)) for plain, delayed in pairs]

    def facts(self, results: Results) -> Facts:
        exits = self.exits(results)
        on_cores = [ranks for ranks in exits if not results.site.crowded(ranks)]
        nothing = missing(NOT_MEASURED if on_cores else "there are no ranks with a core each")
        measures: dict[str, Measured] = dict.fromkeys(("tree_rather_than_line", "skew", "skew_with_delays"), nothing)
        if on_cores:
            launches = exits[max(on_cores)]
            skews = self.skews(launches)
            same = all(np.array_equal(*pair) for pair in skews)
            flat = "ranks leave less than a microsecond apart, the step of the delays, so that there are none"
            measures["tree_rather_than_line"] = tree_less_line(medians_of_calls(list(map(after_the_first, launches))))
            for name, calls in zip(("skew", "skew_with_delays"), zip(*skews, strict=True), strict=True):
                medians = [float(np.median(skew)) for skew in calls]
                measures[name] = Measure(medians, " us", obstacle=flat if same else "")
        return Facts({**super().facts(results).measures, **measures})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        exits, most = self.exits(results), results.site.sample
        caption = (
            "Time after the rank that left first, median over the samples of a launch; points: median launch, bars: "
            "smallest to largest. Beside them the rounds in which binomial trees would release the ranks, scaled "
            f"to the latest of them.{drawn_of(max(exits), most)} Last, the skew of the second half of the calls, as it "
            "is and computed with delays: each rank waits for as many us as it left before the last one in the mean of "
            "the first half."
        )
        panels, boxes = [], []
        for ranks, launches in exits.items():
            kept = np.array(evenly(range(ranks), most))
            lags = medians_of_calls(list(map(after_the_first, launches)))
            measured = median_line("measured", kept, list(lags[:, kept].T), 0)
            marks = [replace(measured, style="")]
            for color, (tree, rounds) in enumerate(release_rounds(ranks).items(), 1):
                scaled = rounds[kept] / rounds.max() * np.max(measured.y)
                marks.append(Line(tree, kept, scaled, color=color, style=""))
            panels.append(Panel(marks, "rank", "exit after the first [us]", f"mpi_barrier, {ranks} ranks", "whole"))
            skews = self.skews(launches)
            for side, label in enumerate(("as it is", "with delays")):
                boxes.append(box_of(f"{ranks} ranks", label, np.concatenate([[], *(pair[side] for pair in skews)])))
        panels.append(Panel(boxes, "", "exit skew [us]", "compensated by delays"))
        pattern = make_picture(f"{name}-pattern", "When each rank leaves the barrier", caption, panels)
        return (*super().pictures(name, results), pattern)


BESIDE = 0.15  # ranks, by which points of one rank are apart


def mean_and_half(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the mean over rows, and half of its 95 % t interval; 0 of a single row."""
    count = len(rows)
    if count < 2:
        return rows.mean(axis=0), np.zeros(rows.shape[1])
    return rows.mean(axis=0), t_quantile(count - 1, 0.975) * rows.std(axis=0, ddof=1) / np.sqrt(count)


@dataclass(frozen=True)
class ExitPattern(Cells):
    """When each rank leaves MPI_Barrier, which begins with a window on clocks that HCA synchronized once."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        variables = made(site) | ONCE | {"DOWNBEAT_SYNC": "hca"}
        return declared_runs(site, **self.run, variables=variables, more_seconds=FIT_SECONDS)

    def exits(self, results: Results) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Returns mean exits and half their intervals in us, both (launches, ranks), by the label of the library."""
        exits = {}
        for label in results.have():
            late = [after_the_first(stamps(data, "exit")) for data in results.datasets(label)]
            launches = [mean_and_half(calls) for calls in late if len(calls) > 1]
            if launches:
                means, halves = (np.stack(values) for values in zip(*launches, strict=True))
                exits[results.site.two_libraries[label]] = means, halves
        if not exits:
            raise NoSamplesError("no launch has two valid calls")
        return exits

    def facts(self, results: Results) -> Facts:
        exits = self.exits(results)
        spreads = [Measure(np.ptp(means, axis=1), " us", note=name) for name, (means, _) in exits.items()]
        first, other = [*spreads, missing("two MPI libraries with valid calls are needed")][:2]
        return Facts({"spread_of_one": first, "spread_of_the_other": other})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        panels = []
        for library, (means, halves) in self.exits(results).items():
            # One launch, as in the paper: the middle one.
            chosen = int(np.argsort(np.ptp(means, axis=1))[len(means) // 2])
            ranks = np.array(results.site.sampled(range(means.shape[1])))
            series_of = {"one launch": (means[chosen], halves[chosen]), "all launches": mean_and_half(means)}
            series = []
            for at, (label, (mean, half)) in enumerate(series_of.items()):
                low = np.maximum(0.0, mean - half)  # nobody leaves before the first
                middle, low, high = (values[ranks] for values in (mean, low, mean + half))
                series.append(Line(label, ranks + BESIDE * at, middle, low, high, at, "", at))
            panels.append(Panel(series, "rank", "exit after the first [us]", library, "whole"))
        titles = [results.site.two_libraries[label] for label in results.have()]
        panels += [Panel([], title=title) for title in titles if title not in {panel.title for panel in panels}]
        caption = (
            f"Mean over {results.site.repetitions(self.run['usual'])} calls of the time after the first rank's exit. "
            "Calls begin with windows of 100 us, on clocks that HCA synchronized once, as in the paper. Bars are 95 % "
            "intervals of the mean, cut off at 0. One launch, as in the paper: the one with the middle spread; its bar "
            "knows the deviation between calls. All launches: mean of their means; its bar knows that of launches."
            + drawn_of(results.runs[0].ranks, results.site.sample)
        )
        return (make_picture(name, "When each rank leaves MPI_Barrier", caption, panels),)
