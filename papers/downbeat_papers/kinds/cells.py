"""Figures whose measures are columns of cells: the entries in `figures/*.toml` say all that is measured and drawn.

Beside them are those whose claims take more than columns: the matrix of reductions and barriers, and two libraries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from downbeat.output.blocks import Picture
from downbeat.report.drawing import make_picture
from downbeat.report.panel import Heat, Line, Panel, box_of
from downbeat.text import MICROSECONDS, bytes_text

from downbeat_papers.claims import NOT_MEASURED, Facts, Found, Measure, Measured, missing, undecided
from downbeat_papers.draw import Sample, median_line, median_sample
from downbeat_papers.evidence import Evidence, Floats, Undecidable, every, factor_of, half, halves, some
from downbeat_papers.results import (
    BARRIER,
    HARMONIZE,
    LATENCY,
    MEDIAN,
    SAME_MESSAGE,
    Results,
    cells_where,
    launch_values,
    mean_and_deviation,
    median_and_range,
)
from downbeat_papers.runs import Run, declared_runs
from downbeat_papers.site import MPICH, Site

Entry = Mapping[str, Any]


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
        lines: `title`, `caption`, `x` (a column of cells, times `scale`), `axes` (as of `Panel`), and the columns that
            choose the cells of `panels` and `series`.
        timelines: `title`, `caption`, the `text` of each cell whose variable `by` has one of the `values`, which have
            names, and the `metric` whose median sample is drawn. Texts may have {value}, {ranks} and {one}, a timeline.
    """

    run: Entry = field(default_factory=dict)
    usual: Entry = field(default_factory=dict)
    measures: Entry = field(default_factory=dict)
    lines: Entry = field(default_factory=dict)
    timelines: Entry = field(default_factory=dict)

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
            return self.measured(results, **self.lines["series"][of], **where)
        if "column" not in where:
            return {place: self.measured(results, place, **entry) for place, entry in where.items()}
        if where.get("ranks") == "node":
            where["ranks"] = results.site.node
        obstacle = results.crowding(where.pop("crowded", where.get("ranks", 1)))
        if each_run:
            runs = [results.run(label) for label in results.have()]
            return {run.ranks: self.measured(results, label=run.label, crowded=run.ranks, **where) for run in runs}
        values = launch_values(results.cells, **self.cell(results, where))
        return Measure(values * MICROSECONDS, " us", obstacle=obstacle)

    def ratios(self, results: Results, pairs: Iterable[str], where: Entry) -> Measured:
        """Returns the ratio of each two of some series, which are named by the first word of their labels."""
        own = {label.partition(" ")[0]: entry for label, entry in self.lines["series"].items()}
        times = {name: launch_values(results.cells, **self.cell(results, {**own[name], **where})) for name in pairs}
        there = combinations([name for name, values in times.items() if len(values)], 2)
        found = {f"{one} / {other}": Measure(times[one] / times[other]) for one, other in there}
        return found or missing("too few samples are valid")

    def cell(self, results: Results, where: Entry) -> dict[str, Any]:
        """Returns the columns that choose a cell."""
        last = str(results.runs[0].ranks - 1)

        def filled(value: object) -> object:
            if isinstance(value, list):
                return [filled(one) for one in value]
            return value.replace("{last}", last) if isinstance(value, str) else value

        return {name: filled(value) for name, value in {**self.usual, **where}.items()}

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        drawn = []
        if self.lines:
            panels = [self.panel(results, title, where) for title, where in self.lines["panels"].items()]
            drawn.append(make_picture(name, self.lines["title"], self.lines["caption"], panels))
        if self.timelines:
            samples = self.median_samples(results)
            panels = [one.panel(text) if one else Panel([], title=text) for text, one in samples]
            title, caption = self.timelines["title"], self.timelines["caption"]
            drawn.append(make_picture(name, title, caption, panels, columns=1))
        return tuple(drawn)

    def panel(self, results: Results, title: str, where: Entry) -> Panel:
        """Returns lines over a column of cells, in us; bars reach from the smallest to the largest launch."""
        cells, x, scale = results.cells, self.lines["x"], self.lines.get("scale", 1)
        lines: list[Line] = []
        for label, entry in self.lines["series"].items():
            cell = self.cell(results, {**where, **entry})
            column = cell.pop("column")
            places = np.unique(cells_where(cells, cell)[x].to_numpy())
            launches = [launch_values(cells, column, **cell, **{x: place}) * MICROSECONDS for place in places]
            lines.append(median_line(label, [place * scale for place in places], launches, len(lines)))
        return Panel(lines, title=title, **self.lines["axes"])

    def median_samples(self, results: Results) -> list[tuple[str, Sample | None]]:
        """Returns the sample with the median metric of some cells of each run, in the first launch, with its title."""
        by, metric, lines = self.timelines["by"], self.timelines.get("metric", "latency_avg"), []
        for label in results.have():
            data, ranks = results.datasets(label)[0], results.run(label).ranks
            for value, words in self.timelines["values"].items():
                line = median_sample(data, cell_where(data, by, value), metric)
                text = self.timelines["text"] if line else "{value}, {ranks} ranks"
                lines.append((text.format(value=words, one=line, ranks=ranks), line))
        return lines


def cell_where(data: xr.Dataset, by: str, value: str) -> int:
    """Returns the number of the first cell whose variable has a value; -1, which no sample has: there is none."""
    names = [str(one) for one in data[by].to_numpy()]
    return names.index(value) if value in names else -1


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
        launches = self.matrices(results.cells)
        ranks = results.runs[0].ranks
        crowding = results.crowding(ranks)
        measures: dict[str, Measured] = {
            **dict.fromkeys(("most_over_barriers", "median_over_algorithms"), missing("too few launches measured all")),
            "order": self.order(launches),
        }
        if len(launches) > 1 and np.isfinite(launches).all():
            measures |= self.as_much(launches)
        if crowding or ranks == 2:
            measures = {name: undecided(one, crowding or SAME_MESSAGE) for name, one in measures.items()}
        rows = {name: self.barrier_effect(launches, name, crowding) for name in self.paper}
        words = {name: {"row": name.replace("_", " "), "factor": f"{self.factor(name):.1f}"} for name in self.paper}
        return Facts({"changed_by_barriers": rows, **measures}, words)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        cell = ("algorithm", "synchronizer", "barrier_algorithm")
        means = mean_and_deviation(results.cells, cell, LATENCY)
        medians = median_and_range(results.cells, cell, MEDIAN)
        title = f"Latency of reductions of 4 bytes after barriers, {results.runs[0].ranks} ranks [us]"
        more = "The column harmonize is not in the paper: what the algorithms take from a common start."
        more += results.site.remarks["matrix"]
        of_means = (
            "As in the paper what OSU's benchmarks report, the mean over ranks of means over calls; mean and standard "
            f"deviation over launches. {more}"
        )
        of_medians = f"Median over launches of the launches' medians of the mean over ranks. {more}"
        axes = ("barrier algorithm", "reduce algorithm")
        mean = Heat(self.matrix(means, "mean"), self.matrix(means, "deviation"), ".2f")
        median = Heat(self.matrix(medians, "median"), form=".2f")
        return (
            make_picture(name, title, of_means, [Panel([mean], *axes)]),
            make_picture(f"{name}-medians", f"{title}: medians", of_medians, [Panel([median], *axes)]),
        )

    def factor(self, name: str) -> float:
        """Returns the factor between barriers that the paper reports for an algorithm."""
        return max(self.paper[name]) / min(self.paper[name])

    def matrix(self, table: pd.DataFrame, column: str) -> pd.DataFrame:
        """Returns a column by reduce algorithm and by barrier, the common start last."""
        names = table["barrier_algorithm"].where(table["synchronizer"] == BARRIER, HARMONIZE)
        wide = table.assign(barrier=names).pivot(index="algorithm", columns="barrier", values=column)
        wide = wide.reindex(index=list(self.paper), columns=[*self.columns, HARMONIZE])
        return wide.rename(index=lambda one: one.replace("_", " "), columns=lambda one: one.replace("_", " "))

    def matrices(self, cells: pd.DataFrame) -> Floats:
        """Returns the latencies of each launch after MPI_Barrier, shape (launches, reduce and barrier algorithms).

        In s; NaN where a launch has no valid sample of a cell.
        """
        part = cells[cells["synchronizer"] == BARRIER]
        whole = pd.MultiIndex.from_product((self.paper, self.columns), names=("algorithm", "barrier_algorithm"))
        wide = part.pivot_table(index="launch", columns=["algorithm", "barrier_algorithm"], values=LATENCY)
        table: Floats = wide.reindex(columns=whole).to_numpy(dtype=float)
        return table.reshape(-1, len(self.paper), len(self.columns))

    def barrier_effect(self, launches: Floats, name: str, crowding: str) -> Found:
        """Judges whether the barrier changes an algorithm's apparent time by half of the paper's factor.

        The largest of several times is larger than the smallest even where they differ by noise alone. So all pairs
        of barriers are tested, and the claim pays for their number.
        """
        row = launches[:, list(self.paper).index(name)]
        measured = np.flatnonzero(~np.isnan(row).all(axis=0)) if len(row) else np.array([], int)
        if len(measured) < 2:
            return Found(Undecidable(NOT_MEASURED), NOT_MEASURED)
        means = {self.columns[one]: float(np.exp(np.nanmean(np.log(row[:, one])))) for one in measured}
        slow, fast = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
        border, pairs = half(self.factor(name)), permutations(measured, 2)
        evidence = some(factor_of(row[:, one] / row[:, other]).above(border) for one, other in pairs)
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
        places: list[Evidence] = []
        for one, other in combinations(range(len(self.paper)), 2):
            ratios = [factor_of(np.exp(logs[:, one, j] - logs[:, other, j])) for j in range(len(self.columns))]
            above, below = [ratio.above(1.0) for ratio in ratios], [ratio.below(1.0) for ratio in ratios]
            places += [every((above[i], below[j])) for i, j in permutations(range(len(ratios)), 2)]
        means = pd.DataFrame(np.nanmean(logs, axis=0), index=list(self.paper), columns=list(self.columns))
        fastest = ", ".join(f"{fastest} after {name}" for name, fastest in means.idxmin().items())
        return Found(some(places), f"fastest is {fastest}")


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
        small = results.cells[results.cells["size"] <= self.up_to]
        logs = small.assign(log=np.log(small["latency_max_median"]))
        means = logs.pivot_table(index="launch", columns=["synchronizer", "library"], values="log").dropna()
        needed = missing("two MPI libraries are needed")
        measures: dict[str, Measured] = {"shift_of_one": needed, "shift_of_the_other": needed}
        own, theirs = self.barriers
        # Within a launch both barriers are measured; launches of two libraries are not paired.
        if means.shape[1] == 4 and not means.empty:
            for name, (library, label) in zip(measures, results.site.two_libraries.items(), strict=True):
                measures[name] = Measure(np.exp(means[theirs, library] - means[own, library]), note=label)
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        there = {results.run(label).library for label in results.have()}
        labels = {library: label for library, label in results.site.two_libraries.items() if library in there}
        # The paper's base is MVAPICH.
        base = next((library for library in labels if library in MPICH), list(labels)[-1])
        cells, panels = results.cells, []
        for synchronizer, title in self.barriers.items():
            part = cells[cells["synchronizer"] == synchronizer]
            medians = median_and_range(part, ("library", "size"), "latency_max_median", 1.0)
            normal = medians[medians["library"] == base].set_index("size")["median"]
            boxes = [
                box_of(bytes_text(size), label, rows["latency_max_median"] / normal.get(size, np.nan))
                for size in sorted(part["size"].unique())
                for library, label in labels.items()
                for rows in [part[(part["library"] == library) & (part["size"] == size)]]
            ]
            panels.append(Panel(boxes, "message size [bytes]", "normalized run-time", title))
        caption = (
            f"Medians of the launches (largest latency over ranks), divided by the median over launches of "
            f"{labels[base]} at the same size and after the same barrier; in the paper by MVAPICH's."
        )
        title = "Run-time of MPI_Bcast under two libraries, normalized"
        return (make_picture(name, title, caption, panels, share_y=True),)
