"""Figure 1: many operations in a row, and a single one."""

from __future__ import annotations

import pandas as pd

from downbeat_papers.building import operation_run
from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.evidence import factor_of
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.hoefler2008.own_times import COMMON_START, MESSAGE, NOTHING, linear_broadcast, own_times
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import between
from downbeat.units import MICROSECONDS

CALLS = (1, 3, 10, 100)  # in a row; the paper's picture has 3
ALL, ROOT = "latency_max_median", "latency_observed_median"
OPERATIONS = {"bcast": "broadcast", "allreduce": "allreduce"}
# Synchronizer before the calls and what is reported of them, as the paper's listings.
SCHEMES = {
    "common start, largest over ranks": (COMMON_START, ALL),
    "common start, rank 0": (COMMON_START, ROOT),
    "listing 1 (mpptest): one barrier, rank 0": ("mpi_barrier", ROOT),
    "listing 2 (MPBench): no barrier, rank 0": ("none", ROOT),
    "listing 3 (IMB): two barriers, largest over ranks": ("mpi_barrier(count=2)", ALL),
}


def pipeline_runs(site: Site) -> tuple[Run, ...]:
    timings = ("per_call", *(f"batch(calls={calls})" for calls in CALLS[1:]))
    synchronizers = dict.fromkeys(synchronizer for synchronizer, _ in SCHEMES.values())
    return (
        operation_run(
            site,
            "calls",
            site.main(),
            site.full,
            [NOTHING, *OPERATIONS],
            usual=200,
            sync=",".join(synchronizers),
            options={"sizes": MESSAGE, "timing": ",".join(timings), **linear_broadcast(site)},
            factors=len(CALLS),
        ),
    )


def per_call(results: Results, operation: str, calls: int, scheme: str) -> pd.Series:
    """Returns what a scheme reports of a call when so many follow each other, in s, by launch."""
    synchronizer, column = SCHEMES[scheme]
    return own_times(results, column, operation, calls=calls, synchronizer=synchronizer)


def draw_pipelining(results: Results) -> Drawn:
    panels = []
    for operation, name in OPERATIONS.items():
        lines = []
        for position, scheme in enumerate(SCHEMES):
            times = [per_call(results, operation, calls, scheme) * MICROSECONDS for calls in CALLS]
            lines.append(
                Series(
                    scheme,
                    CALLS,
                    [float(values.median()) for values in times],
                    [float(values.min()) for values in times],
                    [float(values.max()) for values in times],
                    color=position,
                    marker=position,
                )
            )
        panels.append(Panel(lines, "calls in a row", "time per call [us]", name, decades_x=True))
    picture = draw_panels(
        "hoefler2008-fig1",
        "One call, and many in a row",
        f"Time per call of {MESSAGE} bytes, less what reading the clock takes; median over launches, bars: smallest to "
        "largest launch. A broadcast's calls overlap, an allreduce ends with all ranks waiting for each other.",
        panels,
    )
    whole, root = list(SCHEMES)[:2]
    single = per_call(results, "bcast", 1, whole)
    return Drawn(
        (picture,),
        pipelining_findings(
            in_a_row={calls: per_call(results, "bcast", calls, whole) / single for calls in CALLS[1:]},
            root=per_call(results, "bcast", 1, root) / single,
            listings={
                scheme: per_call(results, "bcast", CALLS[-1], scheme) / single
                for scheme in SCHEMES
                if "listing" in scheme
            },
            waiting=per_call(results, "allreduce", CALLS[-1], whole) / per_call(results, "allreduce", 1, whole),
        ),
    )


def pipelining_findings(
    in_a_row: dict[int, pd.Series], root: pd.Series, listings: dict[str, pd.Series], waiting: pd.Series
) -> tuple[Finding, ...]:
    """Holds the paper's claims against ratios of launches.

    Args:
        in_a_row: time of a broadcast when so many follow each other / time of a single one, largest over ranks.
        root: time of a single broadcast at the root / largest over ranks.
        listings: what each of the paper's listings reports of a broadcast / time of a single one.
        waiting: time of an allreduce in a row / time of a single one.
    """
    few, *_, many = in_a_row
    return (
        Finding(
            f"{few} broadcasts in a row look quicker, each, than a single one",
            "by the model (8 g + L) / 3 and L + 2 g on four processes: a third, where latency dominates",
            f"{in_a_row[few].median():.2f} times as long (launches {between(in_a_row[few])})",
            factor_of(in_a_row[few]).below(1.0),
        ),
        Finding(
            "rank 0 leaves a broadcast before the others, so that what it alone reports is too short",
            "by the model rank 0 leaves after 2 g, rank 3 after L + 2 g",
            f"{root.median():.2f} of the largest time over ranks (launches {between(root)})",
            factor_of(root).below(1.0),
        ),
        Finding(
            f"what the schemes of other benchmarks report of {many} broadcasts, against a single one from a common "
            "start",
            "no numbers",
            "; ".join(f"{scheme} {values.median():.2f}" for scheme, values in listings.items()),
            None,
        ),
        Finding(
            f"{many} allreduces in a row, against a single one",
            "no numbers; each waits for the one before on all processes",
            f"{waiting.median():.2f} times as long (launches {between(waiting)})",
            None,
        ),
    )
