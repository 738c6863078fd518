"""Figure 3: the run-time of MPI_Allreduce by local and by global times."""

from __future__ import annotations

import numpy as np

from downbeat.reproduce.drawing.panels import Panel, draw_panels
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.hunold2015.over_time import BIN_CAPTION, Curve, bin_of, binned, curve_series, over_time_run
from downbeat.reproduce.results import Results
from downbeat.reproduce.site import Site
from downbeat.reproduce.wording import microseconds

ALLREDUCE_SAMPLES = 4000
ALLREDUCE_BIN = 100
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
    middles = {
        (curve.label, metric): float(np.median(binned(results, curve.label, metric, size)[0]))
        for curve in ALLREDUCE_CURVES
        for metric in ("latency_max", "global_time")
        if curve.label in results.have() and len(binned(results, curve.label, metric, size)[0])
    }
    claim = "by local times the barrier makes the call look faster than in windows"
    findings = [Finding(claim, "about 70 us behind the barrier, 100 us in windows", "too few valid samples", None)]
    if len(middles) == 4:
        local = middles["mpi_barrier", "latency_max"] / middles["window", "global_time"]
        common = middles["mpi_barrier", "global_time"] / middles["window", "global_time"]
        findings = [
            Finding(
                claim,
                "about 70 us behind the barrier, 100 us in windows",
                f"{microseconds(middles['mpi_barrier', 'latency_max'])} and "
                f"{microseconds(middles['window', 'global_time'])}",
                local < 0.95,
            ),
            Finding(
                "by global times both are much closer",
                "their difference can be explained by how they synchronize",
                f"barrier / window {local:.3f} by local times, {common:.3f} by global ones",
                abs(common - 1) < abs(local - 1) if abs(local - 1) > 0.05 else None,
            ),
        ]
    return Drawn((picture,), tuple(findings))
