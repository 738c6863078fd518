"""Figure 2: what a broadcast takes where ranks do not start together."""

from __future__ import annotations

import pandas as pd

from downbeat_papers.building import operation_run
from downbeat_papers.drawing.panels import Panel, Series, draw_panels
from downbeat_papers.evidence import factor_of
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.hoefler2008.own_times import (
    COMMON_START,
    NOTHING,
    launch_values,
    linear_broadcast,
    own_times,
)
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import between, microseconds
from downbeat.units import MICROSECONDS

DELAYS = (2, 5, 10, 20)  # us
SIZES = {8: "8 bytes", 65536: "64 KiB"}
LAST = "latency_observed_median"  # of the last rank, which is observed


def skew_runs(site: Site) -> tuple[Run, ...]:
    last = site.full - 1
    return (
        operation_run(
            site,
            "skew",
            site.main(),
            site.full,
            [NOTHING, "bcast"],
            usual=200,
            sync=f"none,{COMMON_START}",
            options={
                "sizes": ",".join(map(str, SIZES)),
                "pattern": f"one_late(rank=0),one_late(rank={last})",
                "delay": ",".join(f"{delay}us" for delay in DELAYS),
                "observe": str(last),
                **linear_broadcast(site),
            },
            factors=3 * len(DELAYS),
        ),
    )


def patterns(results: Results) -> dict[str, str]:
    """Returns the arrival patterns with a late rank, as files have them."""
    last = results.runs[0].ranks - 1
    return {"the root": "one_late", "the last rank": f"one_late(rank={last})"}


def of_last(results: Results, size: int, pattern: str, delay: int) -> pd.Series:
    """Returns what the last rank spends in a broadcast, in s, by launch."""
    return own_times(
        results,
        LAST,
        "bcast",
        size=size,
        synchronizer=COMMON_START,
        pattern=pattern if delay else "none",
        largest_delay=delay / MICROSECONDS,
    )


def draw_skew(results: Results) -> Drawn:
    panels = []
    for size, name in SIZES.items():
        lines = []
        for position, (who, pattern) in enumerate(patterns(results).items()):
            times = [of_last(results, size, pattern, delay) * MICROSECONDS for delay in (0, *DELAYS)]
            lines.append(
                Series(
                    f"{who} is late",
                    (0, *DELAYS),
                    [float(values.median()) for values in times],
                    [float(values.min()) for values in times],
                    [float(values.max()) for values in times],
                    color=position,
                    marker=position,
                )
            )
        panels.append(Panel(lines, "delay [us]", "time of the last rank in it [us]", f"broadcast of {name}"))
    picture = draw_panels(
        "hoefler2008-fig2",
        "A broadcast whose ranks do not start together",
        "What the last rank spends in a broadcast when it is late itself, and when the root is; less what reading the "
        "clock takes. Median over launches, bars: smallest to largest launch.",
        panels,
    )
    root, last = patterns(results).values()
    small, delay = min(SIZES), DELAYS[-1]
    together = of_last(results, small, root, 0)
    start = {"pattern": "none", "synchronizer": COMMON_START}
    loop = {"pattern": "none", "operation": "bcast", "size": small}
    return Drawn(
        (picture,),
        skew_findings(
            late=of_last(results, small, last, delay) / together,
            waits=(of_last(results, small, root, delay) - together) * MICROSECONDS,
            leaving=launch_values(results.cells, "end_skew_median", operation="bcast", size=small, **start)
            / launch_values(results.cells, "end_skew_median", operation=NOTHING, **start),
            coming=launch_values(results.cells, "imbalance_worst_median", synchronizer="none", **loop)
            / launch_values(results.cells, "imbalance_worst_median", synchronizer=COMMON_START, **loop),
        ),
    )


def skew_findings(late: pd.Series, waits: pd.Series, leaving: pd.Series, coming: pd.Series) -> tuple[Finding, ...]:
    """Holds the paper's claims against numbers of launches.

    Args:
        late: time of a late last rank in a broadcast / its time from a common start.
        waits: by how much longer it takes where the root is late, us.
        leaving: how far apart ranks leave a broadcast / how far apart they leave doing nothing, from a common start.
        coming: how far apart ranks come to a broadcast without synchronization / from a common start.
    """
    delay = DELAYS[-1]
    return (
        Finding(
            "a rank that comes late finds its message there, and spends less time in the broadcast",
            "ranks 1 and 2 arrive late and do not have to wait for their message",
            f"late by {delay} us: {late.median():.2f} of its time from a common start (launches {between(late)})",
            factor_of(late).below(1.0),
        ),
        Finding(
            "ranks do not leave a broadcast together, so that it brings skew into the next operation",
            "collective operations introduce skew: rank 0 leaves after 2 g, rank 3 only after L + 2 g",
            f"they leave {leaving.median():.2f} times as far apart as doing nothing (launches {between(leaving)})",
            factor_of(leaving).above(1.0),
        ),
        Finding(
            "without synchronization ranks come to an operation at random times, apart from each other",
            "processes arrive at the benchmark in random order and at undefined times",
            f"{coming.median():.2f} times as far apart as from a common start (launches {between(coming)})",
            factor_of(coming).above(1.0),
        ),
        Finding(
            f"a root that is {delay} us late lets the others wait",
            "all ranks have to wait much longer than usual",
            f"by {microseconds(float(waits.median()))} longer (launches {between(waits, ' us')}); nobody can have a "
            "message before it is sent",
            None,
        ),
    )
