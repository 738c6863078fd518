"""The simplified LogP model of a linear broadcast beside what is measured (Hoefler 2008, section 1.2, Figs 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from downbeat.report.panel import NO_MARKER, Line, Panel
from downbeat.text import PERCENT

from downbeat_papers.claims import Facts, Measure, Measured
from downbeat_papers.evidence import Floats
from downbeat_papers.kinds.cells import Cells, Entry
from downbeat_papers.results import Results

POINTS = 50  # of a curve of the model
LAST, ROOT = "common start, largest over ranks", "common start, rank 0"  # the series that the model describes


@dataclass(frozen=True)
class LogP:
    """Latency L and gap g between two messages, of launches; the overhead o is left out, as in the paper.

    The root of a linear broadcast sends a message to every other rank, g after each other, and those of the next
    broadcast after them.
    """

    latency: Floats
    gap: Floats

    def root(self, ranks: int, calls: Floats | float) -> Floats:
        """Returns when the root leaves the last of some calls in a row, per call: 2 g of one call on four ranks."""
        return np.asarray((calls * (ranks - 1) - 1) * self.gap / calls)

    def last(self, ranks: int, calls: Floats | float) -> Floats:
        """Returns when the last rank leaves it, per call: L + 2 g of one call on four ranks, (8 g + L) / 3 of three."""
        return np.asarray(self.root(ranks, calls) + self.latency / calls)


def fit_model(ranks: int, calls: Floats, times: Floats) -> LogP:
    """Fits a model to times by least squares of relative errors.

    Args:
        ranks: of the broadcast.
        calls: in a row.
        times: when the last rank leaves, per call, shape (launches, calls).
    """
    terms = np.stack([1 / calls, ranks - 1 - 1 / calls], axis=1)
    fits = [np.linalg.lstsq(terms / launch[:, None], np.ones(len(calls)), rcond=None)[0] for launch in times]
    return LogP(*np.array(fits).reshape(-1, 2).T)


def with_curves(measured: Panel, x: Floats, curves: Mapping[str, Floats]) -> Panel:
    """Returns a panel with the model's curves beside the measured ones, by what they are of."""
    lines = [
        Line(f"LogP, {name}", x, y, color=color, style=":", marker=NO_MARKER, width=2.5)
        for color, (name, y) in enumerate(curves.items())
    ]
    return replace(measured, marks=[*measured.marks, *lines])


class Pipelining(Cells):
    """Calls in a row."""

    def times(self, results: Results) -> tuple[Floats, Floats]:
        """Returns numbers of calls, and when the last rank leaves in us, per call, shape (launches, calls)."""
        calls = np.unique(results.launch_cells.calls)
        measures = [self.measured(results, of=LAST, operation="bcast", calls=count) for count in calls]
        columns = (measure.values for measure in measures if isinstance(measure, Measure))
        table = pd.DataFrame(dict(enumerate(columns)))
        return calls.astype(float), table.dropna().to_numpy(float)

    def facts(self, results: Results) -> Facts:
        (calls, times), ranks = self.times(results), results.runs[0].ranks
        model, why = fit_model(ranks, calls, times), results.crowding(ranks)
        of_model = {"L": model.latency, "g": model.gap, "root_by_model": model.root(ranks, 1)}
        of_model |= {"single_by_model": model.last(ranks, 1), "few_by_model": model.last(ranks, 3)}
        measures: dict[str, Measured] = {
            name: Measure(values, " us", signed=True, obstacle=why) for name, values in of_model.items()
        }
        off = [model.last(ranks, count) / measured - 1 for count, measured in zip(calls, times.T, strict=True)]
        measures["model_off_by"] = Measure(PERCENT * np.abs(off).max(axis=0), " %", obstacle=why)
        return Facts({**super().facts(results).measures, **measures})

    def panel(self, results: Results, title: str, where: Entry) -> Panel:
        measured, ranks = super().panel(results, title, where), results.runs[0].ranks
        if where["operation"] != "bcast":  # all that the paper has a model of
            return measured
        calls, times = self.times(results)
        model, along = fit_model(ranks, calls, times), np.geomspace(1, calls.max(), POINTS)
        middle = LogP(*pd.DataFrame([model.latency, model.gap]).median(axis=1).to_numpy()[:, None])
        curves = {LAST: middle.last(ranks, along), ROOT: middle.root(ranks, along)}
        return with_curves(measured, along, {name.partition(", ")[2]: values for name, values in curves.items()})


class ProcessSkew(Cells):
    """Ranks that come late: the message is there after L + (P - 2) g, which is measured without a delay."""

    def panel(self, results: Results, title: str, where: Entry) -> Panel:
        measured = super().panel(results, title, where)
        root, last = measured.lines.values()
        there = float(dict(zip(root.x, root.y, strict=True)).get(0.0, np.nan))
        late = np.linspace(0.0, max(root.x, default=0.0), POINTS)
        return with_curves(measured, late, {root.label: there + late, last.label: np.maximum(there - late, 0.0)})
