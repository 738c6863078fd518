"""Draws the files of `downbeat-bench drift`, `clock` and `rtt`.

The pictures: drift of local clocks, cost and error of synchronization schemes, edges, and round trips. A scheme is a
method of clock synchronization with its parameters; an edge is one comparison of a rank's clock with a partner's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from downbeat.data.clock_files import DriftingPairs, Edges, Schemes, TripPairs
from downbeat.output.blocks import Picture
from downbeat.report.drawing import make_picture
from downbeat.report.panel import NO_MARKER, Dots, Line, Panel
from downbeat.report.style import GRAY
from downbeat.tables import Flags, Floats, Ints, Table, Texts, column, grouped
from downbeat.text import MICROSECONDS

if TYPE_CHECKING:
    import xarray as xr

MAX_POINTS = 1000  # drawn per pair of ranks; a screen has about as many pixels
DRIFT_CAPTION = (
    "Above: clock offset minus the first one, of local clocks that nothing corrects. Below: what a straight "
    "line through it leaves, with the bound of the measurement's error; where that moves beyond the bound, "
    "frequencies wander, and no linear model lasts (Hunold 2015, section 3.3)."
)


class DriftPoints(Table):
    """The offsets of pairs of clocks over time."""

    pair: Texts = column("ranks of the pair")
    time_s: Floats = column("time since the first measurement", "s")
    drift_us: Floats = column("offset minus the first one", "us")
    residual_us: Floats = column("offset minus a straight line", "us")
    bound_us: Floats = column("bound of the error of the offset", "us")


def draw_drift(data: xr.Dataset) -> list[Picture]:
    """Draws the drift between the local clocks of pairs of ranks, from a file of `downbeat-bench drift`."""
    if not {"drift", "residual"} <= set(data.data_vars):
        return []
    pairs, times = DriftingPairs.of(data), data.time.to_numpy().astype(float)
    numbers = DriftPoints.of_tuples(
        (
            pair,
            times[step],
            *(values[row, step] * MICROSECONDS for values in (pairs.drift, pairs.residual, pairs.offset_bound)),
        )
        for row, pair in enumerate(pairs.pair)
        for step in np.flatnonzero(~np.isnan(pairs.drift[row]))
    )
    above, below = [], []
    for number, (pair, line) in enumerate(numbers.groups(numbers.pair)):
        points = line[:: -(-len(line) // MAX_POINTS)]
        time, residual, bound = points.time_s, points.residual_us, points.bound_us
        above.append(Line(f"ranks {pair}", time, points.drift_us, color=number, marker=NO_MARKER))
        below.append(Line("", time, residual, residual - bound, residual + bound, number, marker=NO_MARKER))
    panels = [Panel(above, "", "drift [us]"), Panel(below, "time [s]", "off the line [us]", y_at=0.0)]
    title = "How local clocks drift apart"
    return [make_picture("clock_drift", title, DRIFT_CAPTION, panels, numbers.frame(), columns=1, share_x=True)]


PARETO_CAPTION = (
    "Duration of a synchronization (median over repetitions) against the {}, largest over ranks (median over "
    "repetitions), after the time above each panel. Blue, joined and named: the Pareto front, no other scheme is both "
    "quicker and better (Hunold 2015, figure 10). Gray: the others, named in the numbers."
)


def pareto_front(duration: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Marks the schemes on the Pareto front: any other scheme is worse in one property or equal in both."""
    at_least_as_good = (duration[:, None] >= duration) & (error[:, None] >= error)
    better_in_one = (duration[:, None] > duration) | (error[:, None] > error)
    return np.asarray(~(at_least_as_good & better_in_one).any(axis=1))


class SchemePoints(Table):
    """A row per scheme and time after the synchronization."""

    wait_s: Floats = column("time after the synchronization", "s")
    scheme: Texts = column("scheme with its parameters")
    duration_us: Floats = column("duration of a synchronization", "us")
    error_us: Floats = column("largest error over ranks", "us")
    on_front: Flags = column("whether no other scheme is both quicker and better")


def draw_pareto(data: xr.Dataset) -> list[Picture]:
    """Draws error against duration of schemes from a file of `downbeat-bench clock`, a panel per waiting time."""
    if not {"duration_median", "offset_max"} <= set(data.data_vars):
        return []
    schemes = Schemes.of(data)
    kind, errors = schemes.errors
    groups, panels = [], []
    for at, wait in enumerate(data.wait.to_numpy().astype(float)):
        x, y = schemes.duration_median * MICROSECONDS, errors[:, at] * MICROSECONDS
        known = ~np.isnan(x) & ~np.isnan(y)
        x, y, names = x[known], y[known], schemes.scheme[known]
        front = pareto_front(x, y)
        group = SchemePoints.of_tuples(zip([wait] * len(x), names, x, y, front, strict=True))
        shown = np.flatnonzero(front)[np.argsort(x[front], kind="stable")]
        lines = [
            Line("", x[~front], y[~front], color=GRAY, style="", marker=0),
            Line("", x[shown], y[shown]),
        ]
        notes = list(zip(x[front], y[front], names[front], strict=True))
        title = f"after {wait:g} s" if wait else "at once"
        panels.append(Panel(lines, "duration [us]", f"{kind} [us]", title, "log", "log", notes=notes))
        groups.append(group)
    numbers, caption = SchemePoints.joined(groups).frame(), PARETO_CAPTION.format(kind)
    return [make_picture("clock_pareto", "Which synchronization scheme?", caption, panels, numbers, columns=1)]


EDGES_CAPTION = (
    "Each dot is a comparison of a rank's clock with a partner's: how far the partner's clock is ahead of what all "
    "comparisons agree on. Path asymmetry and noise scatter over all dots. A route that is longer one way is a pair "
    "of large dots; a bad adapter or host is a row and a column of them."
)


def draw_edges(data: xr.Dataset) -> list[Picture]:
    """Draws the residuals of edges from a file of `downbeat-bench clock`; only schemes with partners have edges."""
    if "edge_residual" not in data:
        return []
    dimension = str(data.edge_residual.dims[0])
    edges = Edges.of(data.rename({dimension: "edge"}).assign_coords(edge=np.arange(data.sizes[dimension])))
    residuals = edges.edge_residual * MICROSECONDS
    numbers = edges.frame().drop(columns=["edge", "edge_residual"]).assign(residual_us=residuals)
    panels = [
        Panel(
            [Dots(edges.edge_rank[rows], edges.edge_partner[rows], residuals[rows], "residual [us]")],
            "rank",
            "partner",
            str(scheme),
            "whole",
            "whole",
        )
        for scheme, rows in sorted(grouped(edges.edge_scheme), key=lambda item: str(item[0]))
    ]
    title = "Which paths disagree with all others?"
    return [make_picture("clock_edges", title, EDGES_CAPTION, panels, numbers, columns=1)]


TRIPS_CAPTION = (
    "Histograms of the round trips of each pair, up to their 99th percentile (as Hoefler 2008, figure 4). An "
    "estimator of offsets that looks for the shortest round trip is the better the more often short ones occur."
)


class Bins(Table):
    """Histograms of round trips."""

    pair: Texts = column("ranks of the pair")
    from_us: Floats = column("left end of the bin", "us")
    width_us: Floats = column("width of the bin", "us")
    round_trips: Ints = column("round trips in the bin", "1")


def draw_round_trips(data: xr.Dataset) -> list[Picture]:
    """Draws the histograms of a file of `downbeat-bench rtt`, a panel per pair."""
    if not {"rtt_median", "histogram_left"} <= set(data.data_vars):
        return []
    pairs = TripPairs.of(data)
    lefts, widths = pairs.histogram_left * MICROSECONDS, pairs.histogram_width * MICROSECONDS
    numbers = Bins.of_tuples(
        (pair, lefts[row, bin_], widths[row], pairs.histogram_count[row, bin_])
        for row, pair in enumerate(pairs.pair)
        for bin_ in np.flatnonzero(~np.isnan(lefts[row]) & ~np.isnan(pairs.histogram_count[row]) & (widths[row] > 0))
    )
    panels = []
    for pair, bars in numbers.groups(numbers.pair):
        edges = np.append(bars.from_us, bars.from_us[-1] + bars.width_us[-1])
        steps = Line("", edges, np.append(bars.round_trips, 0), style="steps", marker=NO_MARKER)
        panels.append(Panel([steps], "round trip [us]", "round trips", f"ranks {pair}"))
    title = "How long a round trip takes"
    return [make_picture("round_trips", title, TRIPS_CAPTION, panels, numbers.frame())]
