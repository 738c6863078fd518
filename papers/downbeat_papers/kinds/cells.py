"""Figures whose measures are columns of cells: the entries in `figures/*.toml` say all that is measured and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from downbeat.base.text import MICROSECONDS
from downbeat.pictures.style import Picture

from downbeat_papers.claims import Facts, Measure, Measured
from downbeat_papers.draw import Panel, Series, draw_panels, draw_timelines, median_sample, median_series
from downbeat_papers.results import Results, cells_where, launch_values
from downbeat_papers.runs import Run, declared_runs
from downbeat_papers.site import Site

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Cells:
    """Operations in one or several runs.

    What a cell is, is given by columns of `Results.cells`; {last} is the last rank.

    Attributes:
        run: what `declared_runs` takes.
        usual: what all cells are that are measured or drawn.
        measures: by name, a `column` in s and what the cell is, or that of a series `of` the lines; without either,
            series by place. `ranks` may be "node"; `each_run` has the runs' numbers of ranks as places.
        lines: `title`, `caption`, `x` (a column of cells, times `scale`), `axes` (as of `Panel`), and `panels` and
            `series` with their part of what the cell is.
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

    def measured(self, results: Results, of: str = "", each_run: bool = False, **where: Any) -> Measured:  # noqa: ANN401
        """Returns a measure in us."""
        if of:
            return self.measured(results, **self.lines["series"][of], **where)
        if "column" not in where:
            return {place: self.measured(results, place, **entry) for place, entry in where.items()}
        if where.get("ranks") == "node":
            where["ranks"] = results.site.node
        obstacle = results.crowding(where["ranks"]) if "ranks" in where else ""
        if each_run:
            runs = [results.run(label) for label in results.have()]
            return {
                run.ranks: self.value(results, results.crowding(run.ranks), label=run.label, **where) for run in runs
            }
        return self.value(results, obstacle, **where)

    def value(self, results: Results, obstacle: str = "", **where: Any) -> Measure:  # noqa: ANN401
        values = launch_values(results.cells, **self.cell(results, where))
        return Measure(values * MICROSECONDS, " us", obstacle=obstacle)

    def cell(self, results: Results, where: Entry) -> dict[str, Any]:
        """Returns what a cell is."""
        last = str(results.runs[0].ranks - 1)

        def filled(value: object) -> object:
            if isinstance(value, list):
                return [filled(one) for one in value]
            return value.replace("{last}", last) if isinstance(value, str) else value

        return {name: filled(value) for name, value in {**self.usual, **where}.items()}

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        drawn = [self.draw_lines(name, results, **self.lines)] if self.lines else []
        return (*drawn, *([draw_median_samples(name, results, **self.timelines)] if self.timelines else []))

    def draw_lines(
        self,
        name: str,
        results: Results,
        title: str,
        caption: str,
        x: str,
        axes: Entry,
        panels: Entry,
        series: Entry,
        scale: float = 1,
    ) -> Picture:
        """Draws lines over a column of cells, in us; bars reach from the smallest to the largest launch."""
        cells = results.cells

        def line(position: int, label: str, where: Entry) -> Series:
            cell = self.cell(results, where)
            column = cell.pop("column")
            places = sorted(cells_where(cells, cell)[x].unique())
            launches = [launch_values(cells, column, **cell, **{x: place}) * MICROSECONDS for place in places]
            return median_series(label, [place * scale for place in places], launches, position)

        drawn = []
        for panel, where in panels.items():
            lines = [line(position, label, where | one) for position, (label, one) in enumerate(series.items())]
            drawn.append(Panel([one for one in lines if len(one.x)], title=panel, **axes))
        return draw_panels(name, title, caption, drawn)


def draw_median_samples(
    name: str,
    results: Results,
    title: str,
    caption: str,
    by: str,
    text: str,
    values: Entry,
    metric: str = "latency_avg",
) -> Picture:
    """Draws the sample with the median metric of some cells of each run, in the first launch."""
    lines = []
    for label in results.have():
        data = results.datasets(label)[0]
        names = [str(one) for one in data[by].to_numpy()]
        for value, words in values.items():
            line = median_sample(data, names.index(value), metric) if value in names else None
            if line is not None:
                lines.append((text.format(value=words, one=line, ranks=results.run(label).ranks), line))
    return draw_timelines(name, title, caption, lines, results.site.sample)
