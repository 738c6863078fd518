"""Files about clocks: how they drift, which scheme synchronizes them best, who disagrees, and how long trips take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.report.drawing import make_picture
from downbeat.report.panel import NO_MARKER, Dots, Line, Panel
from downbeat.report.style import GRAY, Picture
from downbeat.text import MICROSECONDS

if TYPE_CHECKING:
    import xarray as xr

# Per pair; a screen has no more columns.
MOST_POINTS = 1000
DRIFT_CAPTION = (
    "Above: clock offset minus the first one, of local clocks that nothing corrects. Below: what a straight "
    "line through it leaves, with the bound of the measurement's error; where that moves beyond the bound, "
    "frequencies wander, and no linear model lasts (Hunold 2015, section 3.3)."
)


def draw_drift(data: xr.Dataset) -> list[Picture]:
    """Draws what `downbeat-bench drift` recorded: how far the local clocks of pairs of ranks drifted apart."""
    if not {"drift", "residual"} <= set(data.data_vars):
        return []
    frame = data[["drift", "residual", "offset_bound"]].to_dataframe().reset_index().dropna(subset=["drift"])
    columns = {"drift_us": "drift", "residual_us": "residual", "bound_us": "offset_bound"}
    numbers = pd.DataFrame({"pair": frame["pair"].astype(str), "time_s": frame["time"]})
    numbers = numbers.assign(**{name: frame[of] * MICROSECONDS for name, of in columns.items()})
    above, below = [], []
    for place, (pair, line) in enumerate(numbers.groupby("pair", sort=False)):
        points = line.iloc[:: -(-len(line) // MOST_POINTS)]
        time, rest, bound = points["time_s"], points["residual_us"], points["bound_us"]
        above.append(Line(f"ranks {pair}", time, points["drift_us"], color=place, marker=NO_MARKER))
        below.append(Line("", time, rest, rest - bound, rest + bound, place, marker=NO_MARKER))
    panels = [Panel(above, "", "drift [us]"), Panel(below, "time [s]", "off the line [us]", y_at=0.0)]
    title = "How local clocks drift apart"
    return [make_picture("clock_drift", title, DRIFT_CAPTION, panels, numbers, columns=1, share_x=True)]


PARETO_CAPTION = (
    "Duration of a synchronization (median over repetitions) against the {}, largest over ranks (median over "
    "repetitions), after the time above each panel. Blue and joined: the Pareto front, no other scheme is both "
    "quicker and better (Hunold 2015, figure 10)."
)


def pareto_front(duration: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Returns which schemes are on the front: none is at least as quick and as good, and better in one of both."""
    quicker = (duration[:, None] >= duration) & (error[:, None] >= error)
    better = (duration[:, None] > duration) | (error[:, None] > error)
    return np.asarray(~(quicker & better).any(axis=1))


def draw_pareto(data: xr.Dataset) -> list[Picture]:
    """Draws what `downbeat-bench clock` measured, a panel per time after the synchronization."""
    if not {"duration_median", "offset_max"} <= set(data.data_vars):
        return []
    kind, error = ("true error", "true_max") if "true_max" in data else ("measured offset", "offset_max")
    frames, panels = [], []
    for wait in data["wait"].to_numpy().astype(float):
        seen = data.sel(wait=wait)
        durations, errors = (seen[name].to_numpy() * MICROSECONDS for name in ("duration_median", error))
        columns = {"scheme": seen["scheme"].to_numpy(), "duration_us": durations, "error_us": errors}
        group = pd.DataFrame({"wait_s": wait, **columns}).dropna()
        x, y = (group[name].to_numpy() for name in ("duration_us", "error_us"))
        group = group.assign(on_front=pareto_front(x, y))
        front, rest = group[group["on_front"]].sort_values("duration_us"), group[~group["on_front"]]
        lines = [
            Line("", rest["duration_us"], rest["error_us"], color=GRAY, style="", marker=0),
            Line("", front["duration_us"], front["error_us"]),
        ]
        notes = list(zip(x, y, group["scheme"], strict=True))
        title = f"after {wait:g} s" if wait else "at once"
        panels.append(Panel(lines, "duration [us]", f"{kind} [us]", title, "log", "log", notes=notes))
        frames.append(group)
    numbers, caption = pd.concat(frames, ignore_index=True), PARETO_CAPTION.format(kind)
    return [make_picture("clock_pareto", "Which synchronization scheme?", caption, panels, numbers, columns=1)]


EDGES_CAPTION = (
    "Each dot is a comparison of a rank's clock with a partner's: how far the partner's clock is ahead of what all "
    "comparisons agree on. Path asymmetry and noise scatter over all dots. A route that is longer one way is a pair "
    "of large dots; a bad adapter or host is a row and a column of them."
)


def draw_edges(data: xr.Dataset) -> list[Picture]:
    """Draws the comparisons that `downbeat-bench clock` recorded of schemes with partners."""
    if "edge_residual" not in data:
        return []
    names = [f"edge_{name}" for name in ("scheme", "rank", "partner", "residual")]
    numbers = data[names].to_dataframe().reset_index(drop=True)
    numbers["residual_us"] = numbers.pop("edge_residual") * MICROSECONDS
    panels = [
        Panel(
            [Dots(group["edge_rank"], group["edge_partner"], group["residual_us"], "residual [us]")],
            "rank",
            "partner",
            str(scheme),
            "whole",
            "whole",
        )
        for scheme, group in numbers.groupby("edge_scheme")
    ]
    title = "Which paths disagree with all others?"
    return [make_picture("clock_edges", title, EDGES_CAPTION, panels, numbers, columns=1)]


TRIPS_CAPTION = (
    "Histograms of the round trips of each pair, up to their 99th percentile (as Hoefler 2008, figure 4). An "
    "estimator of offsets that looks for the shortest round trip is the better the more often short ones occur."
)


def draw_round_trips(data: xr.Dataset) -> list[Picture]:
    """Draws the histograms that `downbeat-bench rtt` made, a panel per pair."""
    if not {"rtt_median", "histogram_left"} <= set(data.data_vars):
        return []
    frame = data[["histogram_left", "histogram_count"]].to_dataframe().reset_index()
    width = frame["pair"].map(data["histogram_width"].to_series()) * MICROSECONDS
    left = frame["histogram_left"] * MICROSECONDS
    columns = {"pair": frame["pair"].astype(str), "from_us": left, "width_us": width}
    numbers = pd.DataFrame({**columns, "round_trips": frame["histogram_count"]}).dropna()
    numbers = numbers[numbers["width_us"] > 0]
    panels = []
    for pair, bars in numbers.groupby("pair", sort=False):
        edges = np.append(bars["from_us"], bars["from_us"].iloc[-1] + bars["width_us"].iloc[-1])
        steps = Line("", edges, np.append(bars["round_trips"], 0), style="steps", marker=NO_MARKER)
        panels.append(Panel([steps], "round trip [us]", "round trips", f"ranks {pair}"))
    return [make_picture("round_trips", "How long a round trip takes", TRIPS_CAPTION, panels, numbers)]
