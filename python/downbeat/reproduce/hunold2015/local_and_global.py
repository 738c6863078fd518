"""Figure 3: the run-time of MPI_Allreduce by local and by global times."""

from __future__ import annotations

import numpy as np

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.agreement import all_below, below, ratios
from downbeat.reproduce.drawing.panels import Panel, draw_panels
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.hunold2015.over_time import BIN_CAPTION, Curve, bin_of, curve_series, over_time_run
from downbeat.reproduce.results import Results
from downbeat.reproduce.site import Site
from downbeat.reproduce.wording import microseconds

ALLREDUCE_SAMPLES = 4000
ALLREDUCE_BIN = 100
GAP = 0.05  # relative, between local and windows' times, below which there is none to be closed
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
        + "Left: behind the barrier the largest time that a rank measured for itself; right: "
        "first entry to last exit on the global clock (HCA). In windows it is the latter in both.",
        panels,
    )
    claim = "by local times the barrier makes the call look faster than in windows"
    reported = "about 70 us behind the barrier, 100 us in windows"
    windows = launch_medians(results, window.label, "global_time")
    local, common = (launch_medians(results, barrier.label, metric) for metric in ("latency_max", "global_time"))
    if not windows or not local:
        return Drawn((picture,), (Finding(claim, reported, "too few valid samples", None),))
    apart = tuple(float(np.median(one) / np.median(windows)) for one in (local, common))
    # Launches of the barrier tell both times; how far each is from that in windows.
    closer = [abs(np.log(b / np.median(windows))) for b in common]
    farther = [abs(np.log(b / np.median(windows))) for b in local]
    findings = (
        Finding(
            claim,
            reported,
            f"{microseconds(float(np.median(local)))} and {microseconds(float(np.median(windows)))}",
            below(*ratios(local, windows), 1.0),
        ),
        Finding(
            "by global times both are much closer",
            "their difference can be explained by how they synchronize",
            f"barrier / window {apart[0]:.3f} by local times, {apart[1]:.3f} by global ones",
            all_below([one - other for one, other in zip(closer, farther, strict=True)], 0.0)
            if abs(apart[0] - 1) > GAP
            else None,
        ),
    )
    return Drawn((picture,), findings)


def launch_medians(results: Results, label: str, metric: str) -> list[float]:
    """Returns the median over samples of each launch, in us."""
    if label not in results.have():
        return []
    launches = (data[metric].to_numpy() * MICROSECONDS for data in results.samples(label, (metric,)))
    return [float(np.median(values)) for values in launches if len(values)]
