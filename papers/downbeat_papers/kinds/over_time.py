"""Run-time of a call while the clocks drift apart (Hunold 2015, Figs 1, 3, 7 and 11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from downbeat.base.text import MICROSECONDS
from downbeat.pictures.style import Picture

from downbeat_papers.claims import Facts, Measure, Measured, missing
from downbeat_papers.draw import Panel, Series, draw_panels
from downbeat_papers.results import Results
from downbeat_papers.runs import Run, made, operation_run
from downbeat_papers.site import Site

# As SKaMPI and NBCBench: synchronized once, however long it takes.
ONCE = {"DOWNBEAT_MAX_AGE": "1000", "DOWNBEAT_MAX_ERROR": "1"}
FIT_SECONDS = 2.5  # that the fit of a drift model takes, roughly
TOO_FEW = "too few samples are valid"
GLOBAL, LOCAL = "global_time", "latency_max"
CAPTION = (
    "Medians of bins of {size} consecutive samples; median over launches, bars: smallest to largest launch. The "
    "paper's bins are means, which one interruption by the system moves. "
)


@dataclass(frozen=True)
class Curve:
    """A line over time: one way to synchronize, in a run of its own.

    Attributes:
        label: of the run.
        sync: synchronizer of downbeat-bench.
        scheme: of the clocks; empty: the default.
        color: position in the palette.
        metric: run-time that is drawn.
    """

    label: str
    sync: str
    color: int
    scheme: str = ""
    metric: str = GLOBAL


def bins_of_launches(results: Results, label: str, metric: str, size: int) -> list[np.ndarray]:
    """Returns for each launch the medians of its bins of consecutive samples, in us, in order."""
    launches = []
    for data in results.samples(label, (metric,)):
        values = data[metric].to_numpy() * MICROSECONDS
        bins = len(values) // size
        launches.append(np.median(values[: bins * size].reshape(bins, size), axis=1))
    return [medians for medians in launches if len(medians)]


def binned(results: Results, label: str, metric: str, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns medians of bins of consecutive samples, in us: over launches the median, smallest and largest."""
    rows = bins_of_launches(results, label, metric, size)
    if not rows:
        return np.empty(0), np.empty(0), np.empty(0)
    shortest = min(map(len, rows))
    table = np.stack([row[:shortest] for row in rows])
    return np.median(table, axis=0), table.min(axis=0), table.max(axis=0)


def trend(results: Results, label: str, metric: str, size: int) -> np.ndarray:
    """Returns the first quarter of each launch's bins and by how much the last is above it, in us: (2, launches)."""
    found = []
    for medians in bins_of_launches(results, label, metric, size):
        if len(medians) >= 4:
            quarter = len(medians) // 4
            first = float(np.median(medians[:quarter]))
            found.append((first, float(np.median(medians[-quarter:])) - first))
    return np.array(found).reshape(-1, 2).T


def launch_medians(results: Results, label: str, metric: str) -> Measure:
    """Returns the median over samples of each launch, in us."""
    if label not in results.have():
        return missing(TOO_FEW)
    launches = (data[metric].to_numpy() * MICROSECONDS for data in results.samples(label, (metric,)))
    medians = [float(np.median(values)) for values in launches if len(values)]
    return Measure(medians, " us") if medians else missing(TOO_FEW)


@dataclass(frozen=True)
class OverTime:
    """Run-times of a call over time.

    Attributes:
        operation: with `size`, in bytes as downbeat-bench takes them.
        size: of messages.
        curves: the attributes of each `Curve`.
        samples: of each launch.
        bin: samples of a bin.
        window_us: how long a sample takes at least in windows.
        picture: its title.
        caption: of the picture, after what is said of bins.
        panels: metric after the barrier by title; none: a single panel.
        attempts: the most per sample; empty: the usual number.
    """

    operation: str
    size: str
    curves: Sequence[dict[str, object]]
    samples: int
    bin: int
    window_us: float
    picture: str
    caption: str
    panels: dict[str, str] = field(default_factory=dict)
    attempts: str = ""

    @property
    def lines(self) -> list[Curve]:
        return [Curve(**one) for one in self.curves]  # type: ignore[arg-type]

    def runs(self, site: Site) -> tuple[Run, ...]:
        return tuple(self.run(site, curve) for curve in self.lines)

    def run(self, site: Site, curve: Curve) -> Run:
        """Returns the run of a curve; windows that are missed are tried again."""
        usual = site.repetitions(self.samples)
        fit = FIT_SECONDS if curve.scheme in ("jk", "hca") else 0.0
        windows = 1.3 * usual * self.window_us * 1e-6 if curve.sync.startswith("window") else 0.0
        options = {"sizes": self.size} | ({"max-attempts": self.attempts} if self.attempts else {})
        return operation_run(
            site,
            curve.label,
            site.main(),
            site.full,
            [self.operation],
            usual=usual,
            sync=curve.sync,
            options=options,
            variables=made(site) | ONCE | ({"DOWNBEAT_SYNC": curve.scheme} if curve.scheme else {}),
            more_seconds=fit + windows,
        )

    def bin_of(self, site: Site) -> int:
        """Returns the size of bins, smaller where few samples were taken."""
        return max(1, self.bin * site.repetitions(self.samples) // self.samples)

    def facts(self, results: Results) -> Facts:
        size = self.bin_of(results.site)
        measures: dict[str, Measured] = {}
        for curve in self.lines:
            label = curve.label
            for metric in (GLOBAL, LOCAL):
                measures[f"{metric}.{label}"] = launch_medians(results, label, metric)
            if label not in results.have():
                measures |= {f"start.{label}": missing(TOO_FEW), f"rise_in_us.{label}": missing(TOO_FEW)}
                continue
            first, rise = trend(results, label, curve.metric, size)
            few = "" if len(rise) else TOO_FEW
            note = f"{np.median(first):.3g} us in the first quarter of the run" if len(rise) else ""
            # Of the first quarter, from the first to the last.
            measures[f"rise.{label}"] = Measure(rise / first, " of it", signed=True, obstacle=few, note=note)
            measures[f"rise_in_us.{label}"] = Measure(rise, " us", signed=True, obstacle=few)
            starts = [float(one[0]) for one in bins_of_launches(results, label, curve.metric, size)]
            measures[f"start.{label}"] = Measure(starts, " us", obstacle="" if starts else TOO_FEW)
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        size = self.bin_of(results.site)
        panels = [
            Panel(
                [
                    line
                    for curve in self.lines
                    # In windows the run-time is global everywhere.
                    for line in curve_series(
                        results, curve, metric if metric and not curve.sync.startswith("window") else curve.metric, size
                    )
                ],
                f"bin of {size} samples",
                "run-time [us]",
                title,
            )
            for title, metric in (self.panels or {"": ""}).items()
        ]
        return (draw_panels(name, self.picture, CAPTION.format(size=size) + self.caption, panels),)


def curve_series(results: Results, curve: Curve, metric: str, size: int) -> list[Series]:
    """Returns the line of a curve over the number of the bin, if there is one."""
    if curve.label not in results.have():
        return []
    middle, low, high = binned(results, curve.label, metric, size)
    if not len(middle):
        return []
    return [Series(curve.label, np.arange(1, len(middle) + 1), middle, low, high, curve.color, "-", None)]
