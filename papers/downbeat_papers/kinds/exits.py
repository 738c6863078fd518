"""Measures the order in which ranks leave a barrier, and its effects.

Figures show the effect on the operation after the barrier, and on delays that should compensate the skew. Schuchart
2023, Fig. 1; Hunold 2015, Fig. 4; Niethammer 2016, Fig. 2 and section III.B.

Classes with methods `runs`, `facts` and `pictures` implement `Kind` (figure.py).
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

from downbeat_papers.claims import NOT_MEASURED, Facts, Measure, Measured, measures_by_position, missing
from downbeat_papers.draw import median_line
from downbeat_papers.evidence import Floats
from downbeat_papers.kinds.cells import Cells, cell_where
from downbeat_papers.kinds.over_time import FIT_SECONDS, ONCE
from downbeat_papers.results import NoSamplesError, Results
from downbeat_papers.runs import Run, clock_variables, declared_runs
from downbeat_papers.site import Site


def stamps(data: xr.Dataset, name: str, by: str = "", value: str = "") -> Floats:
    """Returns time stamps of valid samples in us, shape (calls, ranks).

    Args:
        data: a launch.
        name: of the variable with the stamps.
        by: variable of cells; empty: all cells.
        value: of `by`, which chooses the cell.
    """
    chosen = data.valid.to_numpy() == 1
    if by:
        chosen = chosen & (data.cell_index.to_numpy() == cell_where(data, by, value))
    return np.asarray(data[name].to_numpy()[chosen] * MICROSECONDS, float)


def after_the_first(exits: Floats) -> Floats:
    """Returns the times from the first exit of a call to the exit of each rank, shape (calls, ranks)."""
    return np.asarray(exits - exits.min(axis=1, keepdims=True))


def medians_of_calls(launches: Sequence[Floats]) -> Floats:
    """Returns the median over the calls of each launch, shape (launches, ranks); NaN for a launch without calls."""
    return np.stack([np.median(calls, axis=0) if len(calls) else np.full(calls.shape[1], np.nan) for calls in launches])


RING = ("barrier_algorithm", "double_ring")  # variable and value that choose the cell
MIN_RANKS_OF_RING = 4  # with fewer ranks, the root is the only rank of the first half
# Names of measures; {} is "first" or "second".
AFTER_THE_ROOT, LEAVES, TAKES = "after_the_root", "{}_half_leaves", "{}_half_takes"


def ring_measures(launches: Sequence[tuple[Floats, Floats]]) -> dict[str, Measured]:
    """Returns the exits of ranks from the barrier after the root's, and the duration of the reduction after it.

    Args:
        launches: entry and exit of the reduction in us, each of shape (calls, ranks).
    """
    lags = medians_of_calls([entry - entry[:, :1] for entry, _ in launches])
    durations = medians_of_calls([end - entry for entry, end in launches])
    half = lags.shape[1] // 2
    first_half = {rank: lags[:, rank] for rank in range(1, half)}
    measures: dict[str, Measured] = {AFTER_THE_ROOT: measures_by_position(first_half, " us", "rank {}", signed=True)}
    for name, ranks in (("first", slice(1, half)), ("second", slice(half, None))):
        measures[LEAVES.format(name)] = Measure(lags[:, ranks].mean(axis=1), " us", signed=True)
        measures[TAKES.format(name)] = Measure(durations[:, ranks].mean(axis=1), " us")
    return measures


@dataclass(frozen=True)
class RingPattern(Cells):
    """A reduction after a barrier whose algorithm, a double ring, releases ranks in order (Schuchart 2023, Fig. 1)."""

    def facts(self, results: Results) -> Facts:
        run = next(run for run in results.runs if run.ranks == results.site.node)
        files = results.datasets(run.label) if run.label in results.labels() else []
        few = f"the first half of {run.ranks} ranks is the root alone" if run.ranks < MIN_RANKS_OF_RING else ""
        obstacle = results.crowding(run.ranks) or few or ("" if files else NOT_MEASURED)
        names = (AFTER_THE_ROOT, *(text.format(half) for text in (LEAVES, TAKES) for half in ("first", "second")))
        measures: dict[str, Measured] = dict.fromkeys(names, missing(obstacle))
        if not obstacle:
            measures = ring_measures([(stamps(data, "entry", *RING), stamps(data, "exit", *RING)) for data in files])
        return Facts({**super().facts(results).measures, **measures})


MIN_RANKS_OF_TREE = 8  # with fewer ranks, the order of a tree is nearly the order of rank numbers


def release_rounds(ranks: int) -> dict[str, np.ndarray]:
    """Returns order of a binomial tree with root 0 -> the round in which the tree releases each rank.

    A parent releases its children one per round: the farthest one (by rank number) first, or the nearest one first.
    """
    numbers = range(1, ranks)
    rounds = (ranks - 1).bit_length()
    # The distance of a rank from its parent is its lowest bit if the farthest is first, else its highest bit.
    farthest = [rounds - ((rank & -rank).bit_length() - 1) for rank in numbers]
    nearest = [rank.bit_length() for rank in numbers]
    return {
        "binomial tree, farthest first": np.array([0, *farthest], float),
        "binomial tree, nearest first": np.array([0, *nearest], float),
    }


def tree_less_line(lags: np.ndarray) -> dict[str, Measure] | Measure:
    """Returns for each tree how much better it explains the order of exits than the order of rank numbers, in us.

    The lags of a launch are fitted by the sum of two terms: the release rounds of the tree and the rank numbers, both
    scaled to 0 to 1. The measure is the coefficient of the first less that of the second.

    Args:
        lags: exits after the first one, us, shape (launches, ranks); launches with NaN are left out.
    """
    ranks = lags.shape[1]
    if ranks < MIN_RANKS_OF_TREE:
        few = f"a tree of {ranks} ranks has too few rounds to differ from a line; it takes {MIN_RANKS_OF_TREE}"
        return missing(few)
    complete = lags[np.isfinite(lags).all(axis=1)]
    line = np.arange(ranks) / (ranks - 1)
    by_tree = {}
    for name, rounds in release_rounds(ranks).items():
        terms = np.stack([rounds / rounds.max(), line, np.ones(ranks)], axis=1)
        coefficients = np.linalg.lstsq(terms, complete.T, rcond=None)[0]
        by_tree[name] = Measure(coefficients[0] - coefficients[1], " us", signed=True)
    return by_tree


def with_delays(exits: Floats) -> tuple[Floats, Floats]:
    """Returns the second half of the exits from a barrier as they are, and with delays that compensate the skew.

    The delay of a rank is the mean time from its exit to the last rank's in the first half of the calls, in whole us.
    Like in Niethammer 2016 (III.B, III.D), a rank waits until gettimeofday, which counts us, has advanced by the delay.
    All times are in us, shape (calls, ranks).
    """
    first_half, second_half = np.split(exits, [len(exits) // 2])
    lags = after_the_first(first_half).mean(axis=0)
    delays = np.round(lags.max() - lags)
    return second_half, np.where(delays > 0, np.floor(second_half) + delays, second_half)


@dataclass(frozen=True)
class BarrierPattern(Cells):
    """Timelines, and the exit of each rank from the barrier beside the orders of trees (Niethammer 2016, Fig. 2)."""

    def exits(self, results: Results) -> dict[int, list[Floats]]:
        """Returns number of ranks -> exits from MPI_Barrier of each launch, us, shape (calls, ranks)."""
        return {
            results.run(label).ranks: [
                stamps(data, "entry", "synchronizer", BARRIER) for data in results.datasets(label)
            ]
            for label in results.labels()
        }

    def skews(self, launches: Sequence[Floats]) -> list[tuple[Floats, Floats]]:
        """Returns the skews of calls as they are and with delays, us, of each launch with two calls or more."""
        pairs = [with_delays(exits) for exits in launches if len(exits) > 1]
        return [(np.ptp(plain, axis=1), np.ptp(delayed, axis=1)) for plain, delayed in pairs]

    def facts(self, results: Results) -> Facts:
        exits = self.exits(results)
        on_cores = [ranks for ranks in exits if not results.site.crowded(ranks)]
        not_measured = missing(NOT_MEASURED if on_cores else "there are no ranks with a core each")
        names = ("tree_rather_than_line", "skew", "skew_with_delays")
        measures: dict[str, Measured] = dict.fromkeys(names, not_measured)
        if on_cores:
            launches = exits[max(on_cores)]
            skews = self.skews(launches)
            no_delays = all(np.array_equal(plain, delayed) for plain, delayed in skews)
            flat = "ranks leave less than a microsecond apart, the step of the delays, so that there are none"
            measures["tree_rather_than_line"] = tree_less_line(medians_of_calls(list(map(after_the_first, launches))))
            for name, calls in zip(("skew", "skew_with_delays"), zip(*skews, strict=True), strict=True):
                medians = [float(np.median(skew)) for skew in calls]
                measures[name] = Measure(medians, " us", obstacle=flat if no_delays else "")
        return Facts({**super().facts(results).measures, **measures})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        exits, max_drawn = self.exits(results), results.site.sample
        caption = (
            "Time after the rank that left first, median over the samples of a launch; points: median launch, bars: "
            "smallest to largest. Beside them the rounds in which binomial trees would release the ranks, scaled "
            f"to the latest of them.{drawn_of(max(exits), max_drawn)} Last, the skew of the second half of the calls, "
            "as it is and computed with delays: each rank waits for as many us as it left before the last one in the "
            "mean of the first half."
        )
        panels, boxes = [], []
        for ranks, launches in exits.items():
            drawn = np.array(evenly(range(ranks), max_drawn))
            lags = medians_of_calls(list(map(after_the_first, launches)))
            measured = median_line("measured", drawn, list(lags[:, drawn].T), 0)
            marks = [replace(measured, style="")]
            for color, (tree, rounds) in enumerate(release_rounds(ranks).items(), 1):
                scaled = rounds[drawn] / rounds.max() * np.max(measured.y)
                marks.append(Line(tree, drawn, scaled, color=color, style=""))
            panels.append(Panel(marks, "rank", "exit after the first [us]", f"mpi_barrier, {ranks} ranks", "whole"))
            skews = self.skews(launches)
            plain, delayed = np.concatenate([[], *(pair[0] for pair in skews)]), [pair[1] for pair in skews]
            boxes.append(box_of(f"{ranks} ranks", "as it is", plain))
            boxes.append(box_of(f"{ranks} ranks", "with delays", np.concatenate([[], *delayed])))
        panels.append(Panel(boxes, "", "exit skew [us]", "compensated by delays"))
        pattern = make_picture(f"{name}-pattern", "When each rank leaves the barrier", caption, panels)
        return (*super().pictures(name, results), pattern)


POINT_DISTANCE = 0.15  # horizontal distance between the points of a rank, in ranks


def mean_and_half(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the mean over rows, and half of the length of its 95 % t interval; 0 with a single row."""
    count = len(rows)
    if count < 2:
        return rows.mean(axis=0), np.zeros(rows.shape[1])
    return rows.mean(axis=0), t_quantile(count - 1, 0.975) * rows.std(axis=0, ddof=1) / np.sqrt(count)


@dataclass(frozen=True)
class ExitPattern(Cells):
    """The exit of each rank from MPI_Barrier, in calls that begin with windows on clocks that HCA synchronized once."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        variables = clock_variables(site) | ONCE | {"DOWNBEAT_SYNC": "hca"}
        return declared_runs(site, **self.run, variables=variables, more_seconds=FIT_SECONDS)

    def exits(self, results: Results) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Returns label of the library -> mean exits after the first and half of their intervals.

        Both are in us, shape (launches, ranks); launches with fewer than two valid calls are left out.
        """
        exits = {}
        for label in results.labels():
            lags = [after_the_first(stamps(data, "exit")) for data in results.datasets(label)]
            launches = [mean_and_half(calls) for calls in lags if len(calls) > 1]
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
            # The paper shows a single launch; this is the one with the median spread.
            chosen = int(np.argsort(np.ptp(means, axis=1))[len(means) // 2])
            ranks = np.array(results.site.sampled(range(means.shape[1])))
            series_of = {"one launch": (means[chosen], halves[chosen]), "all launches": mean_and_half(means)}
            series = []
            for index, (label, (mean, half)) in enumerate(series_of.items()):
                low = np.maximum(0.0, mean - half)  # no rank leaves before the first one
                middle, low, high = (values[ranks] for values in (mean, low, mean + half))
                series.append(Line(label, ranks + POINT_DISTANCE * index, middle, low, high, index, "", index))
            panels.append(Panel(series, "rank", "exit after the first [us]", library, "whole"))
        titles = [results.site.two_libraries[label] for label in results.labels()]
        panels += [Panel([], title=title) for title in titles if title not in {panel.title for panel in panels}]
        caption = (
            f"Mean over {results.site.repetitions(self.run['usual'])} calls of the time after the first rank's exit. "
            "Calls begin with windows of 100 us, on clocks that HCA synchronized once, as in the paper. Bars are 95 % "
            "intervals of the mean, cut off at 0. One launch, as in the paper: the one with the middle spread; its bar "
            "knows the deviation between calls. All launches: mean of their means; its bar knows that of launches."
            + drawn_of(results.runs[0].ranks, results.site.sample)
        )
        return (make_picture(name, "When each rank leaves MPI_Barrier", caption, panels),)
