"""Shows the run-time of a call over the time of a launch, while clocks drift apart.

Hunold 2015, Figs 1, 3, 7 and 11. Samples are in the order of measurement; a bin is a number of consecutive samples.

Classes with methods `runs`, `facts` and `pictures` implement `Kind` (figure.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from downbeat.output.blocks import Picture
from downbeat.output.fields import synchronizer_name
from downbeat.report.drawing import make_picture
from downbeat.report.panel import Panel
from downbeat.text import MICROSECONDS

from downbeat_papers.claims import Facts, Measure, Measured
from downbeat_papers.draw import median_line
from downbeat_papers.results import Results
from downbeat_papers.runs import EVERY_PROCESS, FEW_FIT, Run, clock_variables, operation_run
from downbeat_papers.site import Site

# Synchronizes clocks like SKaMPI and NBCBench: every process by itself, and once, without limits of age and error.
ONCE = {"DOWNBEAT_MAX_AGE": "1000", "DOWNBEAT_MAX_ERROR": "1", **EVERY_PROCESS}
FIT_SECONDS = 2.5  # estimated duration of the fit of a drift model
TOO_FEW = "too few samples are valid"
GLOBAL, LOCAL = "global_time", "latency_max"
CAPTION = (
    "Medians of bins of {size} consecutive samples; median over launches, bars: smallest to largest launch. The "
    "paper's bins are means, which one interruption by the system moves. "
)


@dataclass(frozen=True)
class Curve:
    """A line over time: a way to synchronize, measured in a run of its own."""

    label: str  # of the run
    sync: str  # synchronizer of downbeat-bench
    color: int  # position in the palette
    scheme: str = ""  # of the clocks; empty: the default
    metric: str = GLOBAL  # run-time that is drawn


def bins_of_launches(results: Results, label: str, metric: str, size: int) -> list[np.ndarray]:
    """Returns the medians of the bins of each launch, in us; launches without a full bin are left out.

    Args:
        results: the launches.
        label: of the run.
        metric: of samples.
        size: samples of a bin; 0: the samples themselves.
    """
    launches = []
    for data in results.samples(label, (metric,)) if label in results.labels() else ():
        values = data[metric].to_numpy() * MICROSECONDS
        bins = len(values) // (size or 1)
        launches.append(np.median(values[: bins * size].reshape(bins, size), axis=1) if size else values)
    return [medians for medians in launches if len(medians)]


def trend(rows: list[np.ndarray]) -> np.ndarray:
    """Returns the median of the first quarter of each launch's bins, and the rise to the last quarter's median.

    Both in us, as an array of shape (2, launches); launches with fewer than four bins are left out.
    """
    trends = []
    for medians in rows:
        if quarter := len(medians) // 4:
            first = float(np.median(medians[:quarter]))
            trends.append((first, float(np.median(medians[-quarter:])) - first))
    return np.array(trends).reshape(-1, 2).T


@dataclass(frozen=True)
class OverTime:
    """Run-times of a call over time. All attributes are from an entry of `figures/*.toml`."""

    operation: str  # of downbeat-bench
    size: str  # of messages in bytes, as downbeat-bench takes it
    curves: Sequence[dict[str, object]]  # the attributes of each `Curve`
    samples: int  # of each launch
    bin: int  # samples of a bin
    window_us: float  # length of a window, the minimum duration of a sample with synchronizer "window"
    picture: str  # title of the picture
    caption: str  # of the picture, after the sentences on bins
    panels: dict[str, str] = field(default_factory=dict)  # title -> metric of lines without windows; empty: one panel
    attempts: str = ""  # maximum number of attempts per sample; empty: the usual number
    alone: bool = False  # True: one process on each node, as in the paper; False: all nodes are full

    @property
    def lines(self) -> list[Curve]:
        """`curves` as objects."""
        return [Curve(**curve) for curve in self.curves]  # type: ignore[arg-type]

    def runs(self, site: Site) -> tuple[Run, ...]:
        """Returns a run for each curve."""
        usual = site.repetitions(self.samples)
        options = {"sizes": self.size} | ({"max-attempts": self.attempts} if self.attempts else {})
        runs = []
        for curve in self.lines:
            fitted = curve.scheme in ("jk", "hca")
            fit = FIT_SECONDS if fitted else 0.0
            # 30 % more, since windows that a rank misses are repeated.
            windows = 1.3 * usual * self.window_us * 1e-6 if curve.sync.startswith("window") else 0.0
            fewer = f"({FEW_FIT},over=1)" if fitted and site.exact else ""
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
                variables=clock_variables(site) | ONCE | scheme,
                more_seconds=fit + windows,
                ranks_per_node=1 if self.alone else 0,
            )
            runs.append(run)
        return tuple(runs)

    def bin_of(self, site: Site) -> int:
        """Returns the samples of a bin, fewer if the site takes fewer samples than `samples`."""
        return max(1, self.bin * site.repetitions(self.samples) // self.samples)

    def facts(self, results: Results) -> Facts:
        size = self.bin_of(results.site)
        measures: dict[str, Measured] = {}
        for curve in self.lines:
            for metric in (GLOBAL, LOCAL):
                values = [float(np.median(launch)) for launch in bins_of_launches(results, curve.label, metric, 0)]
                measures[f"{metric}.{curve.label}"] = Measure(values, " us", obstacle="" if values else TOO_FEW)
            rows = bins_of_launches(results, curve.label, curve.metric, size)
            first, rise = trend(rows)
            few = "" if len(rise) else TOO_FEW
            note = f"{np.median(first):.3g} us in the first quarter of the run" if len(rise) else ""
            measures[f"rise.{curve.label}"] = Measure(rise / first, " of it", signed=True, obstacle=few, note=note)
            measures[f"rise_in_us.{curve.label}"] = Measure(rise, " us", signed=True, obstacle=few)
            starts = [float(launch[0]) for launch in rows]
            measures[f"start.{curve.label}"] = Measure(starts, " us", obstacle="" if starts else TOO_FEW)
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        size, panels = self.bin_of(results.site), []
        for title, metric in (self.panels or {"": ""}).items():
            lines = []
            for curve in self.lines:
                if curve.label not in results.labels():
                    continue
                # With windows, all panels show the metric of the curve, which is the global run-time.
                shown = metric if metric and not curve.sync.startswith("window") else curve.metric
                rows = bins_of_launches(results, curve.label, shown, size)
                shortest = min(map(len, rows), default=0)
                bins = [[row[index] for row in rows] for index in range(shortest)]
                lines.append(median_line(synchronizer_name(curve.label), np.arange(1, shortest + 1), bins, curve.color))
            panels.append(Panel(lines, f"bin of {size} samples", "run-time [us]", title, "whole"))
        return (make_picture(name, self.picture, CAPTION.format(size=size) + self.caption, panels),)
