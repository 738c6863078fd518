"""Figure 3: the run-time of MPI_Allreduce by local and by global times."""

from __future__ import annotations

import numpy as np

from downbeat_papers.drawing.panels import Panel, draw_panels
from downbeat_papers.evidence import Undecidable, every, factor_between, half
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.hunold2015.over_time import BIN_CAPTION, Curve, bin_of, curve_series, over_time_run
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import microseconds
from downbeat.units import MICROSECONDS

ALLREDUCE_SAMPLES = 4000
ALLREDUCE_BIN = 100
GAP = 0.7  # local times after the barrier / times in windows: 70 us / 100 us
ALLREDUCE_CURVES = (
    Curve("window", "window", "hca", 0),
    Curve("mpi_barrier", "mpi_barrier", "hca", 1),
)


def allreduce_runs(site: Site) -> tuple[Run, ...]:
    return tuple(over_time_run(site, one, "allreduce", "32K", ALLREDUCE_SAMPLES, 40.0) for one in ALLREDUCE_CURVES)


def draw_allreduce(results: Results) -> Drawn:
    size = bin_of(results.site, ALLREDUCE_BIN, ALLREDUCE_SAMPLES)
    window, barrier = ALLREDUCE_CURVES
    label = f"bin of {size} samples"
    window_series = curve_series(results, (window,), "global_time", size)
    panels = [
        Panel(
            [*window_series, *curve_series(results, (barrier,), "latency_max", size)],
            label,
            "run-time [us]",
            "barrier: largest local time",
        ),
        Panel(
            [*window_series, *curve_series(results, (barrier,), "global_time", size)],
            label,
            "run-time [us]",
            "barrier: global time",
        ),
    ]
    picture = draw_panels(
        "hunold2015-fig3",
        "Run-time of MPI_Allreduce of 32 KiB, two ways to compute it",
        BIN_CAPTION.format(size=size)
        + "Left: after the barrier the largest time that a rank measured for itself; right: "
        "first entry to last exit on the global clock (HCA). In windows it is the latter in both.",
        panels,
    )
    claim = "by local times the barrier makes the call look faster than in windows"
    reported = "about 70 us after the barrier, 100 us in windows"
    windows = launch_medians(results, window.label, "global_time")
    local, common = (launch_medians(results, barrier.label, metric) for metric in ("latency_max", "global_time"))
    second = "by global times both are much closer: their difference is below half of the paper's by local times"
    explained = "their difference can be explained by how they synchronize"
    if not windows or not local:
        lacks = Undecidable("too few samples are valid")
        findings = [Finding(claim, reported, "-", lacks), Finding(second, explained, "-", lacks)]
        return Drawn((picture,), tuple(findings))
    by_local, by_global = factor_between(local, windows), factor_between(common, windows)
    apart = by_local.below(half(GAP))
    ratios = f"{np.exp(by_local.mean):.3f} by local times, {np.exp(by_global.mean):.3f} by global ones"
    return Drawn(
        (picture,),
        (
            Finding(
                claim,
                reported,
                f"{microseconds(float(np.median(local)))} and {microseconds(float(np.median(windows)))}",
                apart,
            ),
            Finding(
                second,
                explained,
                f"barrier / window {ratios}",
                every((apart, by_global.within(half(GAP), 1 / half(GAP)))),
            ),
        ),
    )


def launch_medians(results: Results, label: str, metric: str) -> list[float]:
    """Returns the median over samples of each launch, in us."""
    if label not in results.have():
        return []
    launches = (data[metric].to_numpy() * MICROSECONDS for data in results.samples(label, (metric,)))
    return [float(np.median(values)) for values in launches if len(values)]
