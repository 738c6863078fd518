"""Changes over time: the run-time of a call while clocks drift apart, and the offsets of clocks.

Hunold 2015, Figs 1, 3, 6, 7 and 11; Hoefler 2008, Fig. 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from downbeat.report.drawing import make_picture
from downbeat.report.panel import Line, Panel
from downbeat.report.style import Picture
from downbeat.run.simulation import start_seconds
from downbeat.text import MICROSECONDS, evenly

from downbeat_papers.claims import Facts, Measure, Measured, between
from downbeat_papers.draw import median_line
from downbeat_papers.results import Results, clocks_seen, nodes_seen
from downbeat_papers.runs import EACH, SIMULATED_FIT, Run, made, operation_run
from downbeat_papers.site import Site

# As SKaMPI and NBCBench: every process by itself and once, however long it takes.
ONCE = {"DOWNBEAT_MAX_AGE": "1000", "DOWNBEAT_MAX_ERROR": "1", **EACH}
FIT_SECONDS = 2.5  # that the fit of a drift model takes, roughly
TOO_FEW = "too few samples are valid"
GLOBAL, LOCAL = "global_time", "latency_max"
CAPTION = (
    "Medians of bins of {size} consecutive samples; median over launches, bars: smallest to largest launch. The "
    "paper's bins are means, which one interruption by the system moves. "
)


@dataclass(frozen=True)
class Curve:
    """A line over time: one way to synchronize, in a run of its own."""

    label: str  # of the run
    sync: str  # synchronizer of downbeat-bench
    color: int  # position in the palette
    scheme: str = ""  # of the clocks; empty: the default
    metric: str = GLOBAL  # run-time that is drawn


def bins_of_launches(results: Results, label: str, metric: str, size: int) -> list[np.ndarray]:
    """Returns for each launch the medians of its bins of so many consecutive samples, in us; 0: samples as they are."""
    launches = []
    for data in results.samples(label, (metric,)) if label in results.have() else ():
        values = data[metric].to_numpy() * MICROSECONDS
        bins = len(values) // (size or 1)
        launches.append(np.median(values[: bins * size].reshape(bins, size), axis=1) if size else values)
    return [medians for medians in launches if len(medians)]


def trend(rows: list[np.ndarray]) -> np.ndarray:
    """Returns the first quarter of each launch's bins and by how much the last is above it, in us: (2, launches)."""
    found = []
    for medians in rows:
        if quarter := len(medians) // 4:
            first = float(np.median(medians[:quarter]))
            found.append((first, float(np.median(medians[-quarter:])) - first))
    return np.array(found).reshape(-1, 2).T


@dataclass(frozen=True)
class OverTime:
    """Run-times of a call over time."""

    operation: str  # with `size`, in bytes as downbeat-bench takes them
    size: str  # of messages
    curves: Sequence[dict[str, object]]  # the attributes of each `Curve`
    samples: int  # of each launch
    bin: int  # samples of a bin
    window_us: float  # how long a sample takes at least in windows
    picture: str  # its title
    caption: str  # of the picture, after the note on bins
    panels: dict[str, str] = field(default_factory=dict)  # metric after the barrier by title; none: a single panel
    attempts: str = ""  # the most per sample; empty: the usual number
    alone: bool = False  # one process on each node, as in the paper; else all nodes are full

    @property
    def lines(self) -> list[Curve]:
        return [Curve(**one) for one in self.curves]  # type: ignore[arg-type]

    def runs(self, site: Site) -> tuple[Run, ...]:
        """Returns a run for each curve; windows that are missed are tried again."""
        usual = site.repetitions(self.samples)
        options = {"sizes": self.size} | ({"max-attempts": self.attempts} if self.attempts else {})
        runs = []
        for curve in self.lines:
            fitted = curve.scheme in ("jk", "hca")
            fit = FIT_SECONDS if fitted else 0.0
            windows = 1.3 * usual * self.window_us * 1e-6 if curve.sync.startswith("window") else 0.0
            fewer = f"({SIMULATED_FIT},over=1)" if fitted and site.simulated else ""
            scheme = {"DOWNBEAT_SYNC": f"{curve.scheme}{fewer}"} if curve.scheme else {}
            run = operation_run(
                site,
                curve.label,
                site.main(),
                site.alone if self.alone else site.full,
                [self.operation],
                usual=usual,
                sync=curve.sync,
                options=options,
                variables=made(site) | ONCE | scheme,
                more_seconds=fit + windows,
                ranks_per_node=1 if self.alone else 0,
            )
            runs.append(run)
        return tuple(runs)

    def bin_of(self, site: Site) -> int:
        """Returns the size of bins, smaller where few samples were taken."""
        return max(1, self.bin * site.repetitions(self.samples) // self.samples)

    def facts(self, results: Results) -> Facts:
        size = self.bin_of(results.site)
        measures: dict[str, Measured] = {}
        for curve in self.lines:
            for metric in (GLOBAL, LOCAL):
                values = [float(np.median(one)) for one in bins_of_launches(results, curve.label, metric, 0)]
                measures[f"{metric}.{curve.label}"] = Measure(values, " us", obstacle="" if values else TOO_FEW)
            rows = bins_of_launches(results, curve.label, curve.metric, size)
            first, rise = trend(rows)
            few = "" if len(rise) else TOO_FEW
            note = f"{np.median(first):.3g} us in the first quarter of the run" if len(rise) else ""
            # From the first to the last of the first quarter.
            measures[f"rise.{curve.label}"] = Measure(rise / first, " of it", signed=True, obstacle=few, note=note)
            measures[f"rise_in_us.{curve.label}"] = Measure(rise, " us", signed=True, obstacle=few)
            starts = [float(one[0]) for one in rows]
            measures[f"start.{curve.label}"] = Measure(starts, " us", obstacle="" if starts else TOO_FEW)
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        size, panels = self.bin_of(results.site), []
        for title, metric in (self.panels or {"": ""}).items():
            lines = []
            for curve in (one for one in self.lines if one.label in results.have()):
                # In windows the run-time is global everywhere.
                shown = metric if metric and not curve.sync.startswith("window") else curve.metric
                rows = bins_of_launches(results, curve.label, shown, size)
                shortest = min(map(len, rows), default=0)
                launches = [[row[at] for row in rows] for at in range(shortest)]
                lines.append(median_line(curve.label, np.arange(1, shortest + 1), launches, curve.color))
            panels.append(Panel(lines, f"bin of {size} samples", "run-time [us]", title, "whole"))
        return (make_picture(name, self.picture, CAPTION.format(size=size) + self.caption, panels),)


DRIFT_SECONDS, DRIFT_INTERVAL = 20.0, 0.25  # s
MOST_OFFSETS = 2000  # of a pair; of longer drifts fewer per second
PAIRS = 6  # of a reference host with others, in the paper
SCALES = {"us": MICROSECONDS, "ns": 1e9}


# Whose clocks launches compared; why that says nothing about real clocks' drift; and the words of a caption.
MADE = ("the drift that is seen was made", "The clocks are the validation clock's: nothing but their drift is made.")
ONE = ("all ranks are on one node and read one clock", "All ranks are on one node and read one clock.")


def clocks_of(files: Sequence[xr.Dataset]) -> tuple[str, str]:
    """Returns the obstacle, empty if there is none, and the words of a caption."""
    seen = {clocks_seen(data) for data in files}
    if "made" in seen:
        return MADE
    return ONE if "one" in seen else ("", f"The clocks are those of {max(map(nodes_seen, files))} nodes, as they are.")


@dataclass(frozen=True)
class Drift:
    """Clock offsets of pairs over time."""

    picture: str  # its title
    caption: str  # before the note on clocks
    panels: Sequence[Sequence[str]]  # as variable, unit, label of the axis, and title

    def watched(self, site: Site) -> float:
        return 1.0 if site.quick else site.seconds or DRIFT_SECONDS

    def runs(self, site: Site) -> tuple[Run, ...]:
        ranks = site.apart
        partners = evenly(range(1, ranks), min(site.sample, PAIRS))
        seconds = self.watched(site)
        return (
            Run(
                "drift",
                site.main(),
                ranks,
                ("drift",),
                {
                    "pairs": ",".join(f"0:{rank}" for rank in partners),
                    "duration": f"{seconds:g}",
                    "interval": f"{max(DRIFT_INTERVAL, seconds / MOST_OFFSETS):g}",
                },
                seconds=start_seconds(ranks) + seconds,
                variables=made(site),
                # One launch with made clocks is enough; real clocks are judged.
                most_launches=1 if site.made_clocks else 0,
                ranks_per_node=site.spread(ranks),
            ),
        )

    def facts(self, results: Results) -> Facts:
        files = results.datasets("drift")
        whose, _ = clocks_of(files)

        def largest(variable: str, scale: float = 1.0) -> np.ndarray:
            """Returns the largest absolute value of each launch, over pairs and time."""
            return np.array([float(np.abs(data[variable].to_numpy()).max()) * scale for data in files])

        drift = largest("drift", MICROSECONDS)
        trips = np.array([float(np.median(data["rtt"])) * MICROSECONDS for data in files])
        bound = float(np.median([float(np.median(data["offset_bound"])) for data in files])) * MICROSECONDS
        hidden = f"the drift is smaller than the error of an offset, {bound:.3g} us at most"
        shapeless = whose or ("" if drift.max() > bound else hidden)
        seconds = float(files[0]["duration"].max())
        measures: dict[str, Measured] = {
            "drift": Measure(drift, " us", obstacle=whose),
            "round_trip": Measure(trips, " us"),
            "distance_from_a_line": Measure(largest("residual", MICROSECONDS), " us", obstacle=shapeless),
        }
        if all("residual_ppm" in data for data in files):
            half = (files[0]["skew_high"] - files[0]["skew_low"]).to_numpy() / 2 * 1e6
            made_straight = "the drift of these clocks is made, and made nearly a line"
            straight = made_straight if whose == MADE[0] else whose
            measures |= {
                "error_with_a_line": Measure(largest("residual_ppm"), " ppm", signed=True, obstacle=straight),
                "error_without": Measure(largest("drift_ppm"), " ppm", signed=True),
                "r_squared": Measure(
                    files[0]["r_squared"].to_numpy(),
                    note=f"slopes known within {between(half)} ppm (95 % intervals), {seconds:.0f} s",
                ),
            }
        return Facts(measures, {"seconds": f"{seconds:.0f}"})

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        files = results.datasets("drift")
        pairs = results.runs[0].options["pairs"].split(",")
        first, panels = files[0].reindex(pair=pairs), []
        for variable, unit, label, title in self.panels:
            values = first[variable].to_numpy() * SCALES[unit]
            lines = [
                Line(f"rank {pair.partition(':')[2]}", first["time"].to_numpy(), values[color], color=color)
                for color, pair in enumerate(pairs)
            ]
            panels.append(Panel(lines, "time [s]", f"{label} [{unit}]", title))
        return (make_picture(name, self.picture, f"{self.caption} {clocks_of(files)[1]}", panels),)
