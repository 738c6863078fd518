"""What a call seems to take, while the clocks drift apart: the lines of figures 1, 3, 7 and 11."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from downbeat_papers.building import operation_run
from downbeat_papers.drawing.panels import Series
from downbeat_papers.evidence import Undecidable, mean_of
from downbeat_papers.figure import Finding
from downbeat_papers.own_clocks import made
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import between, microseconds
from downbeat.units import MICROSECONDS

# As SKaMPI and NBCBench: synchronized once, however long it takes.
ONCE = {"DOWNBEAT_MAX_AGE": "1000", "DOWNBEAT_MAX_ERROR": "1"}

FIT_SECONDS = 2.5  # that the fit of a drift model takes, roughly
STEADY = 0.1  # of the run-time in the first quarter: a change that is called none; the paper gives no number


@dataclass(frozen=True)
class Curve:
    """A line over time: one way to synchronize, in a run of its own."""

    label: str
    sync: str  # synchronizer of downbeat-bench
    scheme: str  # of the clocks; empty: the default
    color: int


def over_time_run(site: Site, curve: Curve, operation: str, size: str, repetitions: int, window_us: float) -> Run:
    """Returns the run of a curve; windows that are missed are tried again."""
    usual = site.repetitions(repetitions)
    run = operation_run(
        site,
        curve.label,
        site.main(),
        site.full,
        [operation],
        usual=usual,
        sync=curve.sync,
        options={"sizes": size},
        variables=made(site) | ONCE | ({"DOWNBEAT_SYNC": curve.scheme} if curve.scheme else {}),
    )
    spread = FIT_SECONDS if curve.scheme in ("jk", "hca") else 0.0
    windows = 1.3 * usual * window_us * 1e-6 if curve.sync.startswith("window") else 0.0
    return replace(run, seconds=run.seconds + spread + windows)


def bins_of_launches(results: Results, label: str, metric: str, size: int) -> list[np.ndarray]:
    """Returns for each launch the medians of its bins of consecutive samples, in us, in order."""
    launches = []
    for data in results.samples(label, (metric,)):
        values = data[metric].to_numpy() * MICROSECONDS
        bins = len(values) // size
        launches.append(np.median(values[: bins * size].reshape(bins, size), axis=1))
    return launches


def binned(results: Results, label: str, metric: str, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns medians of bins of consecutive samples, in us: over launches the median, smallest and largest."""
    rows = [medians for medians in bins_of_launches(results, label, metric, size) if len(medians)]
    shortest = min((len(row) for row in rows), default=0)
    if not shortest:
        return np.empty(0), np.empty(0), np.empty(0)
    table = np.stack([row[:shortest] for row in rows])
    return np.median(table, axis=0), table.min(axis=0), table.max(axis=0)


def first_bins(results: Results, label: str, metric: str, size: int) -> list[float]:
    """Returns the median of the first bin of each launch that has one, in us."""
    if label not in results.have():
        return []
    return [float(medians[0]) for medians in bins_of_launches(results, label, metric, size) if len(medians)]


def trend(results: Results, label: str, metric: str, size: int) -> np.ndarray:
    """Returns the first quarter of each launch's bins and by how much the last is above it, in us: (2, launches)."""
    found = []
    for medians in bins_of_launches(results, label, metric, size):
        if len(medians) >= 4:
            quarter = len(medians) // 4
            first = float(np.median(medians[:quarter]))
            found.append((first, float(np.median(medians[-quarter:])) - first))
    return np.array(found).reshape(-1, 2).T


def rise_finding(results: Results, label: str, metric: str, size: int, claim: str, paper: str, rises: bool) -> Finding:
    """Holds against the data that a curve rises, by more than a tenth, or stays within a tenth."""
    first, rise = trend(results, label, metric, size)
    if not len(rise):
        return Finding(claim, paper, "too few valid samples", Undecidable("too few samples are valid"))
    here = (
        f"from the first to the last quarter of the run by {np.median(rise):.2g} us (launches {between(rise, ' us')}), "
        f"beside {microseconds(float(np.median(first)))} in the first quarter"
    )
    relative = mean_of(rise / first, " of it")
    return Finding(claim, paper, here, relative.above(STEADY) if rises else relative.within(-STEADY, STEADY))


BIN_CAPTION = (
    "Medians of bins of {size} consecutive samples; median over launches, bars: smallest to largest launch. The "
    "paper's bins are means, which one interruption by the system moves. "
)


def curve_series(results: Results, curves: Sequence[Curve], metric: str, size: int, suffix: str = "") -> list[Series]:
    """Returns the lines of curves over the number of the bin."""
    series = []
    for curve in curves:
        if curve.label not in results.have():
            continue
        middle, low, high = binned(results, curve.label, metric, size)
        if not len(middle):
            continue
        series.append(
            Series(curve.label + suffix, np.arange(1, len(middle) + 1), middle, low, high, curve.color, "-", None)
        )
    return series


def bin_of(site: Site, size: int, samples: int) -> int:
    """Returns the size of bins, smaller where few samples were taken."""
    return max(1, size * site.repetitions(samples) // samples)
