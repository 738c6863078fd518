"""Figures 7 and 11: the run-time over time in windows of several schemes, and after the barrier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from downbeat_papers.drawing.panels import Panel, draw_panels
from downbeat_papers.evidence import Undecidable, every, factor_between
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.hunold2015.over_time import (
    BIN_CAPTION,
    Curve,
    bin_of,
    curve_series,
    first_bins,
    over_time_run,
    rise_finding,
)
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import microseconds

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


# What the paper reports of curves by their scheme, and whether they rise.
EXPECTED = {
    "netgauge": ("rises steadily", True),
    "skampi": ("rises steadily", True),
    "jk": ("nothing is said of it", False),
    "hca": ("stable", False),
    "": ("stable", False),
}
UNCLAIMED = ("jk",)  # of which the paper does not say whether it rises


def claim_of(curve: Curve) -> str:
    """Returns what is claimed of a curve."""
    where = f"windows by {curve.label}" if curve.scheme else "after MPI_Barrier"
    return f"{where}: the run-time {'rises' if EXPECTED[curve.scheme][1] else 'stays'}"


def start_finding(results: Results, size: int) -> Finding:
    """Holds against the data that at first the call looks faster in windows than after the barrier (Fig. 11)."""
    claim = "at first the run-time in windows by netgauge, jk and hca is smaller than after MPI_Barrier"
    paper = "initially smaller with all three"
    labels = {"netgauge": "global_time", "jk": "global_time", "hca": "global_time", "mpi_barrier": "latency_max"}
    starts = {label: first_bins(results, label, metric, size) for label, metric in labels.items()}
    if not all(starts.values()):
        return Finding(claim, paper, "too few valid samples", Undecidable("too few samples are valid"))
    described = ", ".join(f"{label} {microseconds(float(np.median(values)))}" for label, values in starts.items())
    barrier = starts.pop("mpi_barrier")
    return Finding(
        claim, paper, described, every(factor_between(values, barrier).below(1.0) for values in starts.values())
    )


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
            "is synchronized once; windows of 300 us. After mpi_barrier, which needs no clock, the largest time "
            "that a rank measured for itself.",
            [Panel(series, f"bin of {size} samples", "run-time [us]")],
        )
        findings = [
            rise_finding(results, one.label, metrics[one.label], size, claim_of(one), *EXPECTED[one.scheme])
            for one in curves
            if one.label in results.have()
        ]
        # Of some the paper says nothing: their rise is a number to compare.
        unclaimed = [claim_of(one) for one in curves if one.scheme in UNCLAIMED]
        findings = [replace(one, evidence=None) if one.claim in unclaimed else one for one in findings]
        if curves is SCAN_CURVES:
            findings.append(start_finding(results, size))
        return Drawn((picture,), tuple(findings))

    return draw
