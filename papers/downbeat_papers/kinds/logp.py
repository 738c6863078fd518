"""Compares measured broadcasts with the simplified LogP model of a linear broadcast.

Hoefler 2008, section 1.2, Figs 1 and 2.

Classes with methods `runs`, `facts` and `pictures` implement `Kind` (figure.py).
"""

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

POINTS = 50  # points of a curve of the model
LAST, ROOT = "common start, largest over ranks", "common start, rank 0"  # labels of the series that the model predicts


@dataclass(frozen=True)
class LogP:
    """The model with latency L and gap g between two messages, fitted to each launch.

    The overhead o is left out, as in the paper. The root of a linear broadcast sends a message to every other rank, one
    after another at intervals of g; the messages of the next broadcast follow at the same interval.
    """

    latency: Floats  # us, by launch
    gap: Floats  # us, by launch

    def root(self, ranks: int, calls: Floats | float) -> Floats:
        """Returns the time until the root leaves the last of `calls` broadcasts in a row, divided by `calls`.

        E.g. 2 g for one call on four ranks.
        """
        return np.asarray((calls * (ranks - 1) - 1) * self.gap / calls)

    def last(self, ranks: int, calls: Floats | float) -> Floats:
        """Returns the time until the last rank leaves the last of `calls` broadcasts in a row, divided by `calls`.

        E.g. 2 g + L for one call on four ranks, and (8 g + L) / 3 for three calls.
        """
        return np.asarray(self.root(ranks, calls) + self.latency / calls)


def fit_model(ranks: int, calls: Floats, times: Floats) -> LogP:
    """Fits the model to times by least squares of relative errors.

    Args:
        ranks: of the broadcast.
        calls: numbers of calls in a row.
        times: times until the last rank leaves, per call, us, shape (launches, calls).
    """
    terms = np.stack([1 / calls, ranks - 1 - 1 / calls], axis=1)
    fits = [np.linalg.lstsq(terms / launch[:, None], np.ones(len(calls)), rcond=None)[0] for launch in times]
    return LogP(*np.array(fits).reshape(-1, 2).T)


def with_curves(measured: Panel, x: Floats, curves: Mapping[str, Floats]) -> Panel:
    """Adds curves of the model to a panel.

    Args:
        measured: the panel with measured lines.
        x: positions of the curves' points.
        curves: name -> values; curves have the colors of the measured lines in the same order.
    """
    lines = [
        Line(f"LogP, {name}", x, y, color=color, style=":", marker=NO_MARKER, width=2.5)
        for color, (name, y) in enumerate(curves.items())
    ]
    return replace(measured, marks=[*measured.marks, *lines])


class Pipelining(Cells):
    """Broadcasts in a row; a sample times several together.

    Adds the model to `Cells`: its numbers, fitted to the largest times over ranks, and its curves beside measured ones.
    """

    def times(self, results: Results) -> tuple[Floats, Floats]:
        """Returns the numbers of calls, and the times until the last rank leaves, as in `fit_model`.

        Launches that lack a number of calls are left out.
        """
        calls = np.unique(results.launch_cells.calls)
        measures = [self.measured(results, of=LAST, operation="bcast", calls=count) for count in calls]
        # All are of type Measure, because `of` and the values choose one cell.
        columns = (measure.values for measure in measures if isinstance(measure, Measure))
        table = pd.DataFrame(dict(enumerate(columns)))
        return calls.astype(float), table.dropna().to_numpy(float)

    def facts(self, results: Results) -> Facts:
        (calls, times), ranks = self.times(results), results.runs[0].ranks
        model, obstacle = fit_model(ranks, calls, times), results.crowding(ranks)
        model_values = {"L": model.latency, "g": model.gap, "root_by_model": model.root(ranks, 1)}
        model_values |= {"single_by_model": model.last(ranks, 1), "few_by_model": model.last(ranks, 3)}
        measures: dict[str, Measured] = {
            name: Measure(values, " us", signed=True, obstacle=obstacle) for name, values in model_values.items()
        }
        errors = [model.last(ranks, count) / measured - 1 for count, measured in zip(calls, times.T, strict=True)]
        measures["model_off_by"] = Measure(PERCENT * np.abs(errors).max(axis=0), " %", obstacle=obstacle)
        return Facts({**super().facts(results).measures, **measures})

    def panel(self, results: Results, title: str, where: Entry) -> Panel:
        measured, ranks = super().panel(results, title, where), results.runs[0].ranks
        if where["operation"] != "bcast":  # the paper models only the broadcast
            return measured
        calls, times = self.times(results)
        model, x = fit_model(ranks, calls, times), np.geomspace(1, calls.max(), POINTS)
        # Arrays of length 1, for the functions of LogP.
        median_model = LogP(*pd.DataFrame([model.latency, model.gap]).median(axis=1).to_numpy()[:, None])
        curves = {LAST: median_model.last(ranks, x), ROOT: median_model.root(ranks, x)}
        return with_curves(measured, x, {name.partition(", ")[2]: values for name, values in curves.items()})


class ProcessSkew(Cells):
    """Broadcasts with a late rank: the message arrives after L + (P - 2) g, which is the time without a delay.

    The series are the time of the last rank when the root is late, which rises by the delay, and when the last rank is
    late itself, which falls by the delay, since the message comes while it is late. They have this order in the entry.
    """

    def panel(self, results: Results, title: str, where: Entry) -> Panel:
        measured = super().panel(results, title, where)
        root_late, last_late = measured.lines.values()
        # Time until the message arrives without a delay; NaN if it was not measured.
        arrival = float(dict(zip(root_late.x, root_late.y, strict=True)).get(0.0, np.nan))
        delays = np.linspace(0.0, max(root_late.x, default=0.0), POINTS)
        curves = {root_late.label: arrival + delays, last_late.label: np.maximum(arrival - delays, 0.0)}
        return with_curves(measured, delays, curves)
