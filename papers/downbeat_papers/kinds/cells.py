"""Figures whose measures are columns of cells: the entries in `figures/*.toml` say all that is measured and drawn.

Beside them are those whose claims take more than columns: the matrix of reductions and barriers, and two libraries.
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

from downbeat_papers.claims import NOT_MEASURED, Facts, Found, Measure, Measured, missing, undecided
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
    """Lines over a field of cells.

    Attributes:
        title: of the picture.
        caption: of the picture.
        x: a field of cells.
        panels: by title, the fields that choose cells.
        series: by label, fields that choose cells, and the `column` of the values.
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
    """Timelines of single samples.

    Attributes:
        title: of the picture.
        caption: of the picture.
        text: above each; may have {value}, {ranks} and {one}, a `Sample`.
        by: a variable of the cells in a file.
        values: those of it that are drawn, with their names.
        metric: the sample with its median is drawn.
    """

    title: str
    caption: str
    text: str
    by: str
    values: Mapping[str, str]
    metric: str = "latency_avg"


@dataclass(frozen=True)
class Cells:
    """Operations in one or several runs.

    Cells are chosen by columns of `Results.cells`; {last} is the last rank.

    Attributes:
        run: arguments of `declared_runs`.
        usual: columns that all cells share.
        measures: by name, a `column` in s of the cell with the given columns, or that of a series `of` the lines;
            without either, series by place. `ranks` may be "node"; `each_run` measures every run, by number of ranks;
            `pairs` are the ratios of series, two by two.
        lines: the fields of `Lines`; none: no picture of lines.
        timelines: the fields of `Timelines`; none: no picture of timelines.
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
        """Returns a measure in us."""
        if pairs:
            return self.ratios(results, pairs, where)
        if of:
            return self.measured(results, **self.drawn_lines.series[of], **where)
        if "column" not in where:
            return {position: self.measured(results, position, **entry) for position, entry in where.items()}
        if where.get("ranks") == "node":
            where |= {"ranks": results.site.node}
        obstacle = results.crowding(where.pop("crowded", where.get("ranks", 1)))
        if each_run:
            runs = [results.run(label) for label in results.have()]
            return {run.ranks: self.measured(results, label=run.label, crowded=run.ranks, **where) for run in runs}
        values = launch_values(results.launch_cells, **self.cell(results, where))
        return Measure(values * MICROSECONDS, " us", obstacle=obstacle)

    def ratios(self, results: Results, pairs: Iterable[str], where: Entry) -> Measured:
        """Returns the ratio of each two of some series, which are named by the first word of their labels."""
        series = {label.partition(" ")[0]: entry for label, entry in self.drawn_lines.series.items()}
        cells = results.launch_cells
        times = {name: launch_values(cells, **self.cell(results, {**series[name], **where})) for name in pairs}
        measured = combinations([name for name, values in times.items() if len(values)], 2)
        ratios = {f"{left} / {right}": Measure(times[left] / times[right]) for left, right in measured}
        return ratios or missing("too few samples are valid")

    def cell(self, results: Results, where: Entry) -> dict[str, Any]:
        """Returns the columns that choose a cell."""
        last = str(results.runs[0].ranks - 1)

        def filled(value: object) -> object:
            if isinstance(value, list):
                return [filled(each) for each in value]
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
        """Returns lines over a column of cells, in us; bars reach from the smallest to the largest launch."""
        cells, declared = results.launch_cells, self.drawn_lines
        lines: list[Line] = []
        for label, entry in declared.series.items():
            cell = self.cell(results, {**where, **entry})
            column = cell.pop("column")
            positions = np.unique(getattr(cells.where(cell), declared.x))
            launches = [launch_values(cells, column, **cell, **{declared.x: at}) * MICROSECONDS for at in positions]
            lines.append(median_line(label, [at * declared.scale for at in positions], launches, len(lines)))
        return Panel(lines, title=title, **declared.axes)

    def median_samples(self, results: Results) -> list[tuple[str, Sample | None]]:
        """Returns the sample with the median metric of some cells of each run, in the first launch, with its title."""
        timelines, samples = self.drawn_timelines, []
        for label in results.have():
            data, ranks = results.datasets(label)[0], results.run(label).ranks
            for value, words in timelines.values.items():
                sample = median_sample(data, cell_where(data, timelines.by, value), timelines.metric)
                text = timelines.text if sample else "{value}, {ranks} ranks"
                samples.append((text.format(value=words, one=sample, ranks=ranks), sample))
        return samples


def cell_where(data: xr.Dataset, by: str, value: str) -> int:
    """Returns the number of the first cell whose variable has a value; -1 if no cell has it."""
    names = [str(each) for each in data[by].to_numpy()]
    return names.index(value) if value in names else -1


def spaced(name: str) -> str:
    return name.replace("_", " ")


@dataclass(frozen=True)
class ReduceMatrix(Cells):
    """Latencies of reduce algorithms after barriers (Schuchart 2023, Fig. 2).

    Attributes:
        columns: the barriers.
        paper: the paper's numbers in us, by the reduce algorithm.
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
            measures |= self.as_much(launches)
        if crowding or ranks == 2:
            measures = {name: undecided(each, crowding or SAME_MESSAGE) for name, each in measures.items()}
        rows = {name: self.barrier_effect(launches, name, crowding) for name in self.paper}
        words = {name: {"row": spaced(name), "factor": f"{self.factor(name):.1f}"} for name in self.paper}
        return Facts({"changed_by_barriers": rows, **measures}, words)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        title = f"Latency of reductions of 4 bytes after barriers, {results.runs[0].ranks} ranks [us]"
        more = "The column harmonize is not in the paper: what the algorithms take from a common start."
        more += results.site.remark_on_matrix
        of_means = (
            "As in the paper what OSU's benchmarks report, the mean over ranks of means over calls; mean and standard "
            f"deviation over launches. {more}"
        )
        of_medians = f"Median over launches of the launches' medians of the mean over ranks. {more}"
        axes = ("barrier algorithm", "reduce algorithm")
        cells = results.launch_cells
        mean, median = self.heat(cells, LATENCY, "mean", "std"), self.heat(cells, MEDIAN, "median")
        return (
            make_picture(name, title, of_means, [Panel([mean], *axes)]),
            make_picture(f"{name}-medians", f"{title}: medians", of_medians, [Panel([median], *axes)]),
        )

    def factor(self, name: str) -> float:
        """Returns the factor between barriers that the paper reports for an algorithm."""
        return max(self.paper[name]) / min(self.paper[name])

    def heat(self, cells: LaunchCells, statistic: str, middle: str, deviation: str = "") -> Heat:
        """Returns a statistic in us by reduce algorithm and by barrier, the common start last.

        Args:
            cells: of all launches.
            statistic: of a cell.
            middle: over launches, as pandas names it.
            deviation: over launches, likewise; empty: none.
        """
        starts = np.where(cells.synchronizer == BARRIER, cells.barrier_algorithm, COMMON_START)
        launches = pd.Series(cells.values(statistic)).groupby([cells.algorithm, starts])

        def table(summary: str) -> Any:  # noqa: ANN401, as Heat takes it
            wide = launches.agg(summary).mul(MICROSECONDS).unstack()
            wide = wide.reindex(index=list(self.paper), columns=[*self.columns, COMMON_START])
            return wide.rename(index=spaced, columns=spaced)

        return Heat(table(middle), table(deviation) if deviation else None, ".2f")

    def matrices(self, cells: LaunchCells) -> Floats:
        """Returns the latencies of each launch after MPI_Barrier, shape (launches, reduce and barrier algorithms).

        In s; NaN where a launch has no valid sample of a cell.
        """
        cells = cells[cells.synchronizer == BARRIER]
        launches, times = np.unique(cells.launch), cells.values(LATENCY)
        axes = [launches.tolist(), list(self.paper), list(self.columns)]
        table = np.full([len(axis) for axis in axes], np.nan)
        for time, *key in zip(times, cells.launch, cells.algorithm, cells.barrier_algorithm, strict=True):
            if all(value in axis for value, axis in zip(key, axes, strict=True)):
                table[tuple(axis.index(value) for value, axis in zip(key, axes, strict=True))] = time
        return table

    def barrier_effect(self, launches: Floats, name: str, crowding: str) -> Found:
        """Judges whether the barrier changes an algorithm's apparent time by half of the paper's factor.

        The largest of several times is larger than the smallest even where they differ by noise alone. So all pairs
        of barriers are tested, and the claim pays for their number.
        """
        row = launches[:, list(self.paper).index(name)]
        measured = np.flatnonzero(~np.isnan(row).all(axis=0)) if len(row) else np.array([], int)
        if len(measured) < 2:
            return Found(Undecidable(NOT_MEASURED), NOT_MEASURED)
        means = {self.columns[barrier]: float(np.exp(np.nanmean(np.log(row[:, barrier])))) for barrier in measured}
        slow, fast = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
        border, pairs = half(self.factor(name)), permutations(measured, 2)
        evidence = some(factor_of(row[:, barrier] / row[:, other]).above(border) for barrier, other in pairs)
        here = f"{means[slow] / means[fast]:.2f}, {slow} / {fast}"
        return Found(Undecidable(crowding) if crowding else evidence, here)

    def as_much(self, launches: Floats) -> dict[str, Measured]:
        """Returns the factors between barriers and between algorithms.

        Half of the launches choose: the algorithm that the barrier changes most, with its slowest and its fastest
        barrier, and the slowest and the fastest algorithm after each barrier. The other half judge.
        """
        choosing, judging = halves(np.log(launches))
        means = choosing.mean(axis=0)
        changed = int(np.ptp(means, axis=1).argmax())
        most = judging[:, changed, means[changed].argmax()] - judging[:, changed, means[changed].argmin()]
        columns = range(len(self.columns))
        each = judging[:, means.argmax(axis=0), columns] - judging[:, means.argmin(axis=0), columns]
        return {
            "most_over_barriers": Measure(np.exp(most), note=f"the barrier changes {list(self.paper)[changed]} most"),
            "median_over_algorithms": Measure(np.exp(np.median(each, axis=1))),
        }

    def order(self, launches: Floats) -> Found:
        """Judges whether the order of two algorithms depends on the barrier."""
        logs = np.log(launches)
        orders: list[Evidence] = []
        for algorithm, other in combinations(range(len(self.paper)), 2):
            ratios = [factor_of(np.exp(logs[:, algorithm, j] - logs[:, other, j])) for j in range(len(self.columns))]
            above, below = [ratio.above(1.0) for ratio in ratios], [ratio.below(1.0) for ratio in ratios]
            orders += [every((above[i], below[j])) for i, j in permutations(range(len(ratios)), 2)]
        means = pd.DataFrame(np.nanmean(logs, axis=0), index=list(self.paper), columns=list(self.columns))
        fastest = ", ".join(f"{fastest} after {name}" for name, fastest in means.idxmin().items())
        return Found(some(orders), f"fastest is {fastest}")


@dataclass(frozen=True)
class TwoLibraries(Cells):
    """Two libraries compared after an external barrier and after their own (Hunold 2015, Fig. 5).

    Attributes:
        barriers: titles of panels by the synchronizer: the benchmark's own barrier, and the library's.
        up_to: bytes, up to which the paper sees no clear winner.
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
        external, internal = self.barriers
        # Within a launch both barriers are measured; launches of two libraries are not paired.
        if means.shape[1] == 4 and not means.empty:
            for name, (library, label) in zip(measures, results.site.two_libraries.items(), strict=True):
                shift = means[internal, library] - means[external, library]
                measures |= {name: Measure(np.exp(shift), note=label)}
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        there = {results.run(label).library for label in results.have()}
        labels = {library: label for library, label in results.site.two_libraries.items() if library in there}
        # The paper's base is MVAPICH.
        base = next((library for library in labels if library in MPICH), list(labels)[-1])
        cells, panels = results.launch_cells, []
        for synchronizer, title in self.barriers.items():
            after = cells[cells.synchronizer == synchronizer]
            of_base = after[after.library == base]
            medians = medians_and_ranges(of_base.size, of_base.values(LARGEST), 1.0)
            normal = dict(zip(medians.x, medians.middle, strict=True))
            boxes = [
                box_of(bytes_text(size), label, times / normal.get(size, np.nan))
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
