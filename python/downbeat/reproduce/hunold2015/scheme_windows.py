"""Figures 7 and 11: the run-time over time in windows of several schemes, and behind the barrier."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from downbeat.reproduce.drawing.panels import Panel, draw_panels
from downbeat.reproduce.figure import Drawn, Run
from downbeat.reproduce.hunold2015.over_time import (
    BIN_CAPTION,
    Curve,
    bin_of,
    curve_series,
    over_time_run,
    rise_finding,
)
from downbeat.reproduce.results import Results
from downbeat.reproduce.site import Site

WINDOW = "window(size=300us,growth=1)"
RUN_SAMPLES = 4000
RUN_BIN = 100
SCHEME_CURVES = (
    Curve("netgauge", WINDOW, "netgauge", 0),
    Curve("skampi", WINDOW, "skampi", 2),
    Curve("mpi_barrier", "mpi_barrier", "", 1),
)
SCAN_CURVES = (
    *SCHEME_CURVES[:2],
    Curve("jk", WINDOW, "jk", 3),
    Curve("hca", WINDOW, "hca", 4),
    SCHEME_CURVES[2],
)


def scheme_runs(curves: Sequence[Curve], operation: str) -> Callable[[Site], tuple[Run, ...]]:
    def runs(site: Site) -> tuple[Run, ...]:
        return tuple(over_time_run(site, one, operation, "8K", RUN_SAMPLES, 300.0) for one in curves)

    return runs


def draw_schemes(name: str, curves: Sequence[Curve], operation: str) -> Callable[[Results], Drawn]:
    def draw(results: Results) -> Drawn:
        size = bin_of(results.site, RUN_BIN, RUN_SAMPLES)
        metrics = {one.label: "global_time" if one.scheme else "latency_max" for one in curves}
        series = [line for one in curves for line in curve_series(results, (one,), metrics[one.label], size)]
        picture = draw_panels(
            name,
            f"Run-time of MPI_{operation.capitalize()} of 8192 bytes over time",
            BIN_CAPTION.format(size=size)
            + "Run-time: first entry to last exit on the global clock of the named scheme, which "
            "is synchronized once; windows of 300 us. Behind mpi_barrier, which needs no clock, the largest time "
            "that a rank measured for itself.",
            [Panel(series, f"bin of {size} samples", "run-time [us]")],
        )
        findings = []
        for one in curves:
            if one.label not in results.have():
                continue
            if one.scheme in ("netgauge", "skampi"):
                claim, paper, rises = f"windows by {one.label}: the run-time rises", "rises steadily", True
            elif one.scheme:
                claim, paper, rises = f"windows by {one.label}: the run-time stays", "stable", False
            else:
                claim, paper, rises = "behind MPI_Barrier the run-time stays", "stable", False
            findings.append(rise_finding(results, one.label, metrics[one.label], size, claim, paper, rises))
        return Drawn((picture,), tuple(findings))

    return draw
