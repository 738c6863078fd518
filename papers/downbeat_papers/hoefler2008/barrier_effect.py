"""Figure 3: what a barrier before an operation does to what is measured."""

from __future__ import annotations

import pandas as pd

from downbeat_papers.building import operation_run
from downbeat_papers.drawing.timeline import Timeline, draw_timelines, median_sample
from downbeat_papers.evidence import factor_of
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.hoefler2008.own_times import COMMON_START, MESSAGE, launch_values, linear_broadcast
from downbeat_papers.results import Results
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat_papers.wording import between, microseconds
from downbeat.units import MICROSECONDS

LATENCY, SKEW = "latency_avg_median", "exit_skew_median"
# The linear barrier is the benchmark's own, the same under every MPI library.
LINEAR, AFTER_LINEAR = "linear", "harmonize(after=linear)"
STARTS = {
    LINEAR: "after a linear barrier",
    "mpi_barrier": "after MPI_Barrier",
    COMMON_START: "from a common start",
    AFTER_LINEAR: "from a common start, with a linear barrier before",
}
CHANGE = 1.1  # ratio from which on a time is called changed; the paper has no number


def barrier_runs(site: Site) -> tuple[Run, ...]:
    return (
        operation_run(
            site,
            "barriers",
            site.main(),
            site.full,
            ["bcast"],
            usual=500,
            sync=",".join(STARTS),
            options={"sizes": MESSAGE, **linear_broadcast(site)},
        ),
    )


def draw_barriers(results: Results) -> Drawn:
    data = results.datasets(results.have()[0])[0]
    names = [str(name) for name in data["synchronizer"].to_numpy()]
    timelines = []
    for synchronizer, start in STARTS.items():
        line = median_sample(data, names.index(synchronizer), "", "latency_avg")
        if line is None:
            continue
        mean = float((line.exit - line.entry).mean())
        title = f"{start}: entries {line.spread:.2f} us apart, {mean:.2f} us in the broadcast (mean over ranks)"
        timelines.append(Timeline(title, line.begin, line.entry, line.exit))
    picture = draw_timelines(
        "hoefler2008-fig3",
        f"A broadcast of {MESSAGE} bytes after a barrier, and from a common start",
        "One sample of the first launch for each: that with the median latency. The synchronizer's bars "
        "end where ranks leave it, and the broadcast's begin.",
        timelines,
        results.site.sample,
    )

    def of(column: str, synchronizer: str) -> pd.Series:
        return launch_values(results.cells, column, synchronizer=synchronizer)

    return Drawn(
        (picture,),
        barrier_findings(
            skew=of(SKEW, LINEAR) / of(SKEW, COMMON_START),
            apart=of(SKEW, LINEAR) * MICROSECONDS,
            latency=of(LATENCY, LINEAR) / of(LATENCY, COMMON_START),
            messages=of(LATENCY, AFTER_LINEAR) / of(LATENCY, COMMON_START),
        ),
    )


def barrier_findings(skew: pd.Series, apart: pd.Series, latency: pd.Series, messages: pd.Series) -> tuple[Finding, ...]:
    """Holds the paper's claims against numbers of launches.

    Args:
        skew: how far apart ranks leave a linear barrier / a common start.
        apart: the former, us.
        latency: of a broadcast after a linear barrier / from a common start, mean over ranks.
        messages: the same from a common start with a linear barrier before / without.
    """
    return (
        Finding(
            "a barrier does not let ranks go together",
            "a linear barrier releases them one after another",
            f"{skew.median():.2f} times as far apart as from a common start, {microseconds(float(apart.median()))} "
            f"(launches {between(skew)})",
            factor_of(skew).above(1.0),
        ),
        Finding(
            "what is measured after a barrier is not what is measured from a common start",
            "the barrier influences what is measured; no number",
            f"{latency.median():.2f} times as long, mean over ranks (launches {between(latency)})",
            factor_of(latency).beyond(CHANGE),
        ),
        Finding(
            "the barrier's messages disturb the operation's, beside the skew that it leaves",
            "synchronization messages may use the same network and influence what is investigated",
            f"with a barrier before, and a common start after it, {messages.median():.2f} times as long (launches "
            f"{between(messages)})",
            factor_of(messages).above(CHANGE),
        ),
    )
