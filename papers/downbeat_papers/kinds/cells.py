"""Figures whose measures are columns of cells: the entries in `figures/*.toml` say all that is measured and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from downbeat.base.text import MICROSECONDS
from downbeat.pictures.panel import Line, Panel, make_picture
from downbeat.pictures.style import Picture

from downbeat_papers.claims import Facts, Measure, Measured
from downbeat_papers.draw import Sample, median_line, median_sample
from downbeat_papers.results import Results, cells_where, launch_values
from downbeat_papers.runs import Run, declared_runs
from downbeat_papers.site import Site

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Cells:
    """Operations in one or several runs.

    Cells are chosen by columns of `Results.cells`; {last} is the last rank.

    Attributes:
        run: what `declared_runs` takes.
        usual: columns that all cells share.
        measures: by name, a `column` in s of the cell with the given columns, or that of a series `of` the lines;
            without either, series by place. `ranks` may be "node"; `each_run` measures every run, by number of ranks.
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

    def measured(self, results: Results, of: str = "", each_run: bool = False, **where: Any) -> Measured:  # noqa: ANN401
        """Returns a measure in us."""
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
            drawn.append(make_picture(name, self.lines["title"], self.lines["caption"], self.panels(results)))
        if self.timelines:
            title, caption = self.timelines["title"], self.timelines["caption"]
            panels = [one.panel(words) for words, one in self.median_samples(results)]
            drawn.append(make_picture(name, title, caption, panels, columns=1))
        return tuple(drawn)

    def panels(self, results: Results) -> list[Panel]:
        """Returns lines over a column of cells, in us; bars reach from the smallest to the largest launch."""
        cells, x, scale = results.cells, self.lines["x"], self.lines.get("scale", 1)

        def line(position: int, label: str, where: Entry) -> Line:
            cell = self.cell(results, where)
            column = cell.pop("column")
            places = np.unique(cells_where(cells, cell)[x].to_numpy())
            launches = [launch_values(cells, column, **cell, **{x: place}) * MICROSECONDS for place in places]
            return median_line(label, [place * scale for place in places], launches, position)

        drawn = []
        for title, where in self.lines["panels"].items():
            lines = [line(at, label, where | one) for at, (label, one) in enumerate(self.lines["series"].items())]
            drawn.append(Panel([one for one in lines if len(one.x)], title=title, **self.lines["axes"]))
        return drawn

    def median_samples(self, results: Results) -> list[tuple[str, Sample]]:
        """Returns the sample with the median metric of some cells of each run, in the first launch."""
        by, metric, lines = self.timelines["by"], self.timelines.get("metric", "latency_avg"), []
        for label in results.have():
            data = results.datasets(label)[0]
            names = [str(one) for one in data[by].to_numpy()]
            for value, words in self.timelines["values"].items():
                line = median_sample(data, names.index(value), metric) if value in names else None
                if line is not None:
                    text = self.timelines["text"].format(value=words, one=line, ranks=results.run(label).ranks)
                    lines.append((text, line))
        return lines
