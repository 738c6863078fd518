"""Draws and measures figures whose numbers are columns of cells (`Results.cells`), as entries in `figures/*.toml` say.

Subclasses have claims that need more than columns: the matrix of reductions and barriers, and two libraries.

Classes with methods `runs`, `facts` and `pictures` implement `Kind` (figure.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from downbeat.output.blocks import Picture
from downbeat.output.fields import BARRIER, COMMON_START
from downbeat.report.drawing import make_picture
from downbeat.report.panel import Heat, Line, Panel, box_of
from downbeat.text import MICROSECONDS, bytes_text

from downbeat_papers.claims import NOT_MEASURED, Facts, Measure, Measured, Outcome, missing, undecided
from downbeat_papers.draw import Sample, median_line, median_sample
from downbeat_papers.evidence import Evidence, Floats, Undecidable, every, factor_of, half, halves, some
from downbeat_papers.results import (
    LATENCY,
    MEDIAN,
    SAME_MESSAGE,
    LaunchCells,
    Results,
    launch_values,
    medians_and_ranges,
)
from downbeat_papers.runs import Run, declared_runs
from downbeat_papers.site import MPICH, Site

Entry = Mapping[str, Any]
LARGEST = "latency_max_median"  # median over calls of the largest latency over ranks


@dataclass(frozen=True)
class Lines:
    """A picture of lines over a column of cells, as an entry of `figures/*.toml` declares it.

    Attributes:
        title: of the picture.
        caption: of the picture.
        x: the column of cells on the horizontal axis.
        panels: title of the panel -> values of columns that choose its cells.
        series: label of the line -> values of columns that choose its cells, and `column`, the drawn statistic.
        axes: arguments of `Panel`.
        scale: factor for `x`.
    """

    title: str
    caption: str
    x: str
    panels: Mapping[str, Entry]
    series: Mapping[str, Entry]
    axes: Entry
    scale: float = 1


@dataclass(frozen=True)
class Timelines:
    """A picture with a timeline of a single sample per cell, as an entry of `figures/*.toml` declares it.

    Attributes:
        title: of the picture.
        caption: of the picture.
        text: title of each timeline; may contain {value}, {ranks} and {one}, a `Sample`.
        by: a variable of cells in the file of a launch.
        values: value of that variable -> its name in the title; a timeline for each.
        metric: the sample with the median of this metric is drawn.
    """

    title: str
    caption: str
    text: str
    by: str
    values: Mapping[str, str]
    metric: str = "latency_avg"


@dataclass(frozen=True)
class Cells:
    """A figure on operations in one or several runs. All attributes are from an entry of `figures/*.toml`.

    Cells are chosen by values of columns of `Results.cells`; in values, {last} is the number of the last rank.

    Attributes:
        run: arguments of `declared_runs`.
        usual: values of columns that all cells share.
        measures: name of the measure -> arguments of `measured`.
        lines: attributes of `Lines`; empty: no picture of lines.
        timelines: attributes of `Timelines`; empty: no picture of timelines.
    """

    run: Entry = field(default_factory=dict)
    usual: Entry = field(default_factory=dict)
    measures: Entry = field(default_factory=dict)
    lines: Entry = field(default_factory=dict)
    timelines: Entry = field(default_factory=dict)

    @cached_property
    def drawn_lines(self) -> Lines:
        return Lines(**self.lines)

    @cached_property
    def drawn_timelines(self) -> Timelines:
        return Timelines(**self.timelines)

    def runs(self, site: Site) -> tuple[Run, ...]:
        return declared_runs(site, **self.run)

    def facts(self, results: Results) -> Facts:
        return Facts({name: self.measured(results, **entry) for name, entry in self.measures.items()})

    def measured(
        self,
        results: Results,
        of: str = "",
        each_run: bool = False,
        pairs: Iterable[str] = (),
        **where: Any,  # noqa: ANN401
    ) -> Measured:
        """Returns a measure in us, or several by name.

        In this order: ratios of the series in `pairs`; the measure of the series `of`; without a column, a measure for
        each series; with `each_run`, a measure for each run; else the measure of the cell.

        Args:
            results: the launches.
            of: label of a series of the lines, whose values of columns are added to `where`.
            each_run: True: measures each run, by number of ranks.
            pairs: names of series; the measure is their ratios, two by two.
            where: values of columns that choose the cell, and `column`, the statistic, in s. Ranks "node" are
                `Site.node`. `crowded` is the number of ranks that may share cores; without it, this is `ranks`; without
                both it is 1, i.e. the measure has no obstacle. Without `column` and `of`: label of a series -> further
                arguments, measured by label.
        """
        if pairs:
            return self.ratios(results, pairs, where)  # without an obstacle
        if of:
            return self.measured(results, **self.drawn_lines.series[of], **where)
        if "column" not in where:
            return {series: self.measured(results, series, **entry) for series, entry in where.items()}
        if where.get("ranks") == "node":
            where |= {"ranks": results.site.node}
        obstacle = results.crowding(where.pop("crowded", where.get("ranks", 1)))
        if each_run:
            runs = [results.run(label) for label in results.labels()]
            return {run.ranks: self.measured(results, label=run.label, crowded=run.ranks, **where) for run in runs}
        values = launch_values(results.launch_cells, **self.cell(results, where))
        return Measure(values * MICROSECONDS, " us", obstacle=obstacle)

    def ratios(self, results: Results, pairs: Iterable[str], where: Entry) -> Measured:
        """Returns the ratio of each pair of series; `pairs` names series by the first word of their labels."""
        series = {label.partition(" ")[0]: entry for label, entry in self.drawn_lines.series.items()}
        cells = results.launch_cells
        times = {name: launch_values(cells, **self.cell(results, {**series[name], **where})) for name in pairs}
        combined = combinations([name for name, values in times.items() if len(values)], 2)
        ratios = {f"{left} / {right}": Measure(times[left] / times[right]) for left, right in combined}
        return ratios or missing("too few samples are valid")

    def cell(self, results: Results, where: Entry) -> dict[str, Any]:
        """Returns the values of columns that choose a cell: `usual` and `where`, with {last} replaced."""
        last = str(results.runs[0].ranks - 1)

        def filled(value: object) -> object:
            if isinstance(value, list):
                return [filled(element) for element in value]
            return value.replace("{last}", last) if isinstance(value, str) else value

        return {name: filled(value) for name, value in {**self.usual, **where}.items()}

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        drawn = []
        if self.lines:
            lines = self.drawn_lines
            panels = [self.panel(results, title, where) for title, where in lines.panels.items()]
            drawn.append(make_picture(name, lines.title, lines.caption, panels))
        if self.timelines:
            timelines = self.drawn_timelines
            samples = self.median_samples(results)
            panels = [sample.panel(text) if sample else Panel([], title=text) for text, sample in samples]
            drawn.append(make_picture(name, timelines.title, timelines.caption, panels, columns=1))
        return tuple(drawn)

    def panel(self, results: Results, title: str, where: Entry) -> Panel:
        """Returns the panel of the cells that `where` chooses, in us; bars: smallest to largest launch."""
        cells, declared = results.launch_cells, self.drawn_lines
        lines: list[Line] = []
        for label, entry in declared.series.items():
            cell = self.cell(results, {**where, **entry})
            column = cell.pop("column")
            positions = np.unique(getattr(cells.where(cell), declared.x))
            launches = [launch_values(cells, column, **cell, **{declared.x: x}) * MICROSECONDS for x in positions]
            lines.append(median_line(label, [x * declared.scale for x in positions], launches, len(lines)))
        return Panel(lines, title=title, **declared.axes)

    def median_samples(self, results: Results) -> list[tuple[str, Sample | None]]:
        """Returns the titles and samples of the timelines of each run, from its first launch; None: no valid sample."""
        timelines, samples = self.drawn_timelines, []
        for label in results.labels():
            data, ranks = results.datasets(label)[0], results.run(label).ranks
            for value, words in timelines.values.items():
                sample = median_sample(data, cell_where(data, timelines.by, value), timelines.metric)
                text = timelines.text if sample else "{value}, {ranks} ranks"
                samples.append((text.format(value=words, one=sample, ranks=ranks), sample))
        return samples


def cell_where(data: xr.Dataset, by: str, value: str) -> int:
    """Returns the number of the first cell whose variable has a value; -1 if no cell has it."""
    names = [str(name) for name in data[by].to_numpy()]
    return names.index(value) if value in names else -1


def spaced(name: str) -> str:
    """Returns the name of an algorithm in words, for labels."""
    return name.replace("_", " ")


@dataclass(frozen=True)
class ReduceMatrix(Cells):
    """Latencies of reduce algorithms after barriers (Schuchart 2023, Fig. 2).

    Attributes:
        columns: algorithms of MPI_Barrier.
        paper: algorithm of MPI_Reduce -> the paper's latencies after each barrier, us.
    """

    columns: tuple[str, ...] = ()
    paper: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def facts(self, results: Results) -> Facts:
        launches = self.matrices(results.launch_cells)
        ranks = results.runs[0].ranks
        crowding = results.crowding(ranks)
        measures: dict[str, Measured] = {
            **dict.fromkeys(("most_over_barriers", "median_over_algorithms"), missing("too few launches measured all")),
            "order": self.order(launches),
        }
        if len(launches) > 1 and np.isfinite(launches).all():
            measures |= self.effects(launches)
        if crowding or ranks == 2:  # with two ranks, all algorithms send the same message
            measures = {name: undecided(measure, crowding or SAME_MESSAGE) for name, measure in measures.items()}
        rows = {name: self.barrier_effect(launches, name, crowding) for name in self.paper}
        words = {name: {"row": spaced(name), "factor": f"{self.factor(name):.1f}"} for name in self.paper}
        return Facts({"changed_by_barriers": rows, **measures}, words)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        title = f"Latency of reductions of 4 bytes after barriers, {results.runs[0].ranks} ranks [us]"
        remark = "The column harmonize is not in the paper: what the algorithms take from a common start."
        remark += results.site.remark_on_matrix
        caption_of_means = (
            "As in the paper what OSU's benchmarks report, the mean over ranks of means over calls; mean and standard "
            f"deviation over launches. {remark}"
        )
        caption_of_medians = f"Median over launches of the launches' medians of the mean over ranks. {remark}"
        axes = ("barrier algorithm", "reduce algorithm")
        cells = results.launch_cells
        mean, median = self.heat(cells, LATENCY, "mean", "std"), self.heat(cells, MEDIAN, "median")
        return (
            make_picture(name, title, caption_of_means, [Panel([mean], *axes)]),
            make_picture(f"{name}-medians", f"{title}: medians", caption_of_medians, [Panel([median], *axes)]),
        )

    def factor(self, name: str) -> float:
        """Returns the factor between barriers that the paper reports for an algorithm."""
        return max(self.paper[name]) / min(self.paper[name])

    def heat(self, cells: LaunchCells, statistic: str, middle: str, deviation: str = "") -> Heat:
        """Returns the heat map of a statistic in us, by reduce algorithm and barrier, with the common start last.

        Args:
            cells: of all launches.
            statistic: column of cells, in s.
            middle: pandas' name of the average over launches, "mean" or "median".
            deviation: pandas' name of the deviation over launches, e.g. "std"; empty: none.
        """
        starts = np.where(cells.synchronizer == BARRIER, cells.barrier_algorithm, COMMON_START)
        launches = pd.Series(cells.values(statistic)).groupby([cells.algorithm, starts])

        def table(summary: str) -> Any:  # noqa: ANN401, as Heat takes it
            wide = launches.agg(summary).mul(MICROSECONDS).unstack()
            wide = wide.reindex(index=list(self.paper), columns=[*self.columns, COMMON_START])
            return wide.rename(index=spaced, columns=spaced)

        return Heat(table(middle), table(deviation) if deviation else None, ".2f")

    def matrices(self, cells: LaunchCells) -> Floats:
        """Returns the latencies after MPI_Barrier in s, shape (launches, reduce algorithms, barrier algorithms).

        NaN where a launch has no valid sample of a cell.
        """
        cells = cells[cells.synchronizer == BARRIER]
        launches, reductions, barriers = np.unique(cells.launch).tolist(), list(self.paper), list(self.columns)
        table = np.full((len(launches), len(reductions), len(barriers)), np.nan)
        times = cells.values(LATENCY)
        for time, launch, reduction, barrier in zip(
            times, cells.launch, cells.algorithm, cells.barrier_algorithm, strict=True
        ):
            if reduction in reductions and barrier in barriers:
                table[launches.index(launch), reductions.index(reduction), barriers.index(barrier)] = time
        return table

    def barrier_effect(self, launches: Floats, name: str, crowding: str) -> Outcome:
        """Judges the claim that the barrier changes a reduce algorithm's time by half of the paper's factor.

        The largest of several times exceeds the smallest by noise alone. So all pairs of barriers are tested, and
        `some` corrects for their number.

        Args:
            launches: latencies, as in `matrices`.
            name: of the reduce algorithm.
            crowding: the obstacle; empty: none.
        """
        row = launches[:, list(self.paper).index(name)]
        measured = np.flatnonzero(~np.isnan(row).all(axis=0)) if len(row) else np.array([], int)
        if len(measured) < 2:
            return Outcome(Undecidable(NOT_MEASURED), NOT_MEASURED)
        means = {self.columns[barrier]: float(np.exp(np.nanmean(np.log(row[:, barrier])))) for barrier in measured}
        slow, fast = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
        border, pairs = half(self.factor(name)), permutations(measured, 2)
        evidence = some(factor_of(row[:, barrier] / row[:, other]).above(border) for barrier, other in pairs)
        here = f"{means[slow] / means[fast]:.2f}, {slow} / {fast}"
        return Outcome(Undecidable(crowding) if crowding else evidence, here)

    def effects(self, launches: Floats) -> dict[str, Measured]:
        """Returns two measures: the factor between barriers, and the factor between algorithms.

        One half of the launches chooses the algorithm that the barrier changes most, its slowest and its fastest
        barrier, and after each barrier the slowest and the fastest algorithm. The other half measures the factors.
        """
        choosing, judging = halves(np.log(launches))
        means = choosing.mean(axis=0)
        changed = int(np.ptp(means, axis=1).argmax())
        over_barriers = judging[:, changed, means[changed].argmax()] - judging[:, changed, means[changed].argmin()]
        columns = range(len(self.columns))
        over_algorithms = judging[:, means.argmax(axis=0), columns] - judging[:, means.argmin(axis=0), columns]
        note = f"the barrier changes {list(self.paper)[changed]} most"
        return {
            "most_over_barriers": Measure(np.exp(over_barriers), note=note),
            "median_over_algorithms": Measure(np.exp(np.median(over_algorithms, axis=1))),
        }

    def order(self, launches: Floats) -> Outcome:
        """Judges the claim that the order of two reduce algorithms depends on the barrier."""
        logs = np.log(launches)
        orders: list[Evidence] = []
        for algorithm, other in combinations(range(len(self.paper)), 2):
            ratios = [factor_of(np.exp(logs[:, algorithm, j] - logs[:, other, j])) for j in range(len(self.columns))]
            above, below = [ratio.above(1.0) for ratio in ratios], [ratio.below(1.0) for ratio in ratios]
            orders += [every((above[i], below[j])) for i, j in permutations(range(len(ratios)), 2)]
        means = pd.DataFrame(np.nanmean(logs, axis=0), index=list(self.paper), columns=list(self.columns))
        fastest = ", ".join(f"{fastest} after {name}" for name, fastest in means.idxmin().items())
        return Outcome(some(orders), f"fastest is {fastest}")


@dataclass(frozen=True)
class TwoLibraries(Cells):
    """Two libraries compared after an external barrier and after their own (Hunold 2015, Fig. 5).

    Attributes:
        barriers: synchronizer -> title of its panel: first the benchmark's own barrier, then the library's.
        up_to: message size in bytes up to which the paper reports no clear winner.
    """

    barriers: Mapping[str, str] = field(default_factory=dict)
    up_to: int = 0

    def facts(self, results: Results) -> Facts:
        cells = results.launch_cells
        small = cells[cells.size <= self.up_to]
        logs = pd.Series(np.log(small.values(LARGEST)))
        means = logs.groupby([small.launch, small.synchronizer, small.library]).mean().unstack([1, 2]).dropna()
        needed = missing("two MPI libraries are needed")
        measures: dict[str, Measured] = {"shift_of_one": needed, "shift_of_the_other": needed}
        external, internal = self.barriers  # in the order of the entry
        # A launch measures both barriers, so they are compared within it; launches of two libraries are not paired.
        if means.shape[1] == 4 and not means.empty:
            for name, (library, label) in zip(measures, results.site.two_libraries.items(), strict=True):
                shift = means[internal, library] - means[external, library]
                measures |= {name: Measure(np.exp(shift), note=label)}
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        measured = {results.run(label).library for label in results.labels()}
        labels = {library: label for library, label in results.site.two_libraries.items() if library in measured}
        # The paper divides by the run-time of MVAPICH, which derives from MPICH.
        base = next((library for library in labels if library in MPICH), list(labels)[-1])
        cells, panels = results.launch_cells, []
        for synchronizer, title in self.barriers.items():
            after = cells[cells.synchronizer == synchronizer]
            of_base = after[after.library == base]
            medians = medians_and_ranges(of_base.size, of_base.values(LARGEST), 1.0)
            base_times = dict(zip(medians.x, medians.middle, strict=True))
            boxes = [
                box_of(bytes_text(size), label, times / base_times.get(size, np.nan))
                for size in np.unique(after.size).tolist()
                for library, label in labels.items()
                for times in [after[(after.library == library) & (after.size == size)].values(LARGEST)]
            ]
            panels.append(Panel(boxes, "message size [bytes]", "normalized run-time", title))
        caption = (
            f"Medians of the launches (largest latency over ranks), divided by the median over launches of "
            f"{labels[base]} at the same size and after the same barrier; in the paper by MVAPICH's."
        )
        title = "Run-time of MPI_Bcast under two libraries, normalized"
        return (make_picture(name, title, caption, panels, share_y=True),)
