"""Figure 2 and Table 1: the measurement schemes of well-known benchmarks, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from downbeat.report.page import Table
from downbeat_papers.building import operation_run
from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.evidence import Undecidable, factor_of, some
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.results import Results, median_and_range
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat.units import MICROSECONDS

OPERATIONS = ("bcast", "allreduce")
SIZES = "8,64,512,4K,32K"
SMALLEST = 8  # bytes
CALLS = 100  # of a batch
CHANGE = 1.1  # factor from which on schemes are called different; the paper gives no number


@dataclass(frozen=True)
class Scheme:
    """One of the paper's measurement schemes.

    Attributes:
        words: how it synchronizes and what it times.
        timing: of downbeat-bench, as its files have it.
        metric: what such benchmarks report.
    """

    words: str
    timing: str
    metric: str


SCHEMES = {
    "(1)": Scheme("MPI_Barrier before each call, largest local time", "per_call", "latency_max_median"),
    "(2)": Scheme(f"{CALLS} calls in a row", "batch", "latency_max_median"),
    "(3)": Scheme(f"{CALLS} calls, each with a barrier that is timed", "batch_synced", "latency_max_median"),
    "(4)": Scheme("a window for each call, global time", "window", "global_time_median"),
}
COMPARED = ("(1)", "(2)", "(4)")  # (3) times its barriers, too: that it takes longer says nothing of a scheme

# Table 1. A benchmark with two schemes has both.
BENCHMARKS = pd.DataFrame(
    [
        ("Intel MPI Benchmarks", "4.0.0", "none", "2"),
        ("MPIBench", "1.0beta", "MPI_Barrier", "1"),
        ("MPIBlib", "1.2.0", "MPI_Barrier", "1"),
        ("mpicroscope", "1.0", "MPI_Barrier", "1"),
        ("mpptest", "1.5", "none", "2"),
        ("NBCBench", "1.1", "MPI_Barrier or window-based", "1, 4"),
        ("OSU Micro-Benchmarks", "4.4.1", "MPI_Barrier", "1"),
        ("Phloem MPI Benchmarks", "1.0.0", "MPI_Barrier or none (only initial MPI_Barrier)", "3"),
        ("SKaMPI", "5.0.4", "MPI_Barrier or window-based", "1, 4"),
    ],
    columns=["benchmark name", "version", "synchronization between indiv. MPI calls", "sync. scheme"],
)


def scheme_runs(site: Site) -> tuple[Run, ...]:
    timings = ",".join(
        f"{one.timing}(calls={CALLS})" if "batch" in one.timing else one.timing for one in SCHEMES.values()
    )
    sizes = "8,512" if site.quick else SIZES
    return (
        operation_run(
            site,
            "schemes",
            site.main(),
            site.full,
            list(OPERATIONS),
            usual=200,
            sync="mpi_barrier",
            options={"sizes": sizes, "timing": timings},
            # A batch is as long as its calls.
            factors=(1 + sizes.count(",")) * (CALLS // 4),
        ),
    )


def scheme_times(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns what each scheme reports, in s: a row per `operation`, `size`, `launch` and `scheme`, with its `time`."""
    timing = cells["timing"].astype(str).str.partition("(")[0]
    parts = []
    for name, one in SCHEMES.items():
        part = cells[timing == one.timing]
        parts.append(part.assign(scheme=name, time=part[one.metric]))
    return pd.concat(parts)[["operation", "size", "launch", "scheme", "time"]]


def draw_measurement_schemes(results: Results) -> Drawn:
    times = scheme_times(results.cells)
    table = median_and_range(times, ("operation", "scheme", "size"), "time").sort_values("size")
    panels = []
    for operation in OPERATIONS:
        series = []
        for number, (name, scheme) in enumerate(SCHEMES.items()):
            part = table[(table["operation"] == operation) & (table["scheme"] == name)]
            if len(part):
                label = f"{name} {scheme.words}"
                values = (part["size"], part["median"], part["low"], part["high"])
                series.append(Series(label, *values, color=number, marker=number))
        name = f"MPI_{operation.capitalize()}"
        panels.append(Panel(series, "message size [bytes]", "time [us]", name, log_x=True, log_y=True, bytes_x=True))
    picture = draw_panels(
        "hunold2015-fig2",
        "The same calls, measured by the schemes of well-known benchmarks",
        "What each scheme reports, per call; median over launches, bars: smallest to largest.",
        panels,
    )
    timings = [", ".join(SCHEMES[f"({one})"].timing for one in used.split(", ")) for used in BENCHMARKS["sync. scheme"]]
    known = Table("The paper's Table 1, and the timing schemes of downbeat-bench", BENCHMARKS.assign(timing=timings))
    return Drawn((picture,), tuple(scheme_finding(times, operation) for operation in OPERATIONS), (known,))


def scheme_finding(times: pd.DataFrame, operation: str) -> Finding:
    """Holds against the data that the scheme decides what a small message seems to take, in some pair of schemes."""
    claim = f"the scheme changes what MPI_{operation.capitalize()} of {SMALLEST} bytes seems to take, by over a tenth"
    paper = "the choice of the synchronization method has tremendous effects on the outcome (section 8)"
    part = times[(times["operation"] == operation) & (times["size"] == SMALLEST)]
    wide = part.pivot_table(index="launch", columns="scheme", values="time")
    compared = [name for name in COMPARED if name in wide]
    if len(compared) < 2:
        return Finding(claim, paper, "too few valid samples", Undecidable("too few samples are valid"))
    described = ", ".join(f"{name} {np.median(wide[name].dropna()) * MICROSECONDS:.3g} us" for name in wide.columns)
    pairs = {f"{one} / {other}": factor_of(wide[one] / wide[other]) for one, other in combinations(compared, 2)}
    ratios = ", ".join(f"{names} {np.exp(ratio.mean):.3g}" for names, ratio in pairs.items())
    evidence = [(names, ratio.beyond(CHANGE)) for names, ratio in pairs.items()]
    return Finding(
        claim,
        paper,
        f"{described}; {ratios}",
        some(replace(one, described=f"{names} is {one.described}") for names, one in evidence),
    )
