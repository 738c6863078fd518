"""A broadcast, and what its surroundings make of it: calls in a row, a late rank, a barrier before (Hoefler 2008)."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from downbeat.base.text import MICROSECONDS
from downbeat.pictures.style import Picture

from downbeat_papers.claims import Facts, Measure, Measured
from downbeat_papers.draw import Panel, draw_panels, median_series
from downbeat_papers.kinds.timelines import draw_median_samples
from downbeat_papers.results import Results, launch_values
from downbeat_papers.runs import Run, operation_run
from downbeat_papers.site import OPEN_MPI, Site

COMMON_START = "harmonize"
# An operation that does nothing: what the stamps around it show is what it costs to read the clock.
NOTHING = "nothing"
MESSAGE = "8"  # bytes
BARS = "edian over launches, bars: smallest to largest launch."


def linear_broadcast(site: Site) -> dict[str, str]:
    """Returns the options that make a broadcast the linear one of the paper's models, where the library is known."""
    name = "linear" if site.simulated else "basic_linear"
    return {"algorithm": f"bcast={name}"} if site.main() in OPEN_MPI else {}


def own_times(results: Results, column: str, operation: str, **where: object) -> pd.Series:
    """Returns what an operation takes in s, launch by launch, less the time of doing nothing by the same stamps."""
    whole = launch_values(results.cells, column, operation=operation, **where)
    where.pop("size", None)
    return whole - launch_values(results.cells, column, operation=NOTHING, **where)


def micro(values: pd.Series) -> Measure:
    return Measure(values * MICROSECONDS, " us")


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
WHOLE, AT_ROOT, *LISTINGS = SCHEMES


def per_call(results: Results, operation: str, calls: int, scheme: str) -> pd.Series:
    """Returns what a scheme reports of a call when so many follow each other, in s, by launch."""
    synchronizer, column = SCHEMES[scheme]
    return own_times(results, column, operation, calls=calls, synchronizer=synchronizer)


@dataclass(frozen=True)
class CallsInARow:
    """Many operations in a row, and a single one."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        timings = ("per_call", *(f"batch(calls={calls})" for calls in CALLS[1:]))
        synchronizers = dict.fromkeys(synchronizer for synchronizer, _ in SCHEMES.values())
        options = {"sizes": MESSAGE, "timing": ",".join(timings), **linear_broadcast(site)}
        return (
            operation_run(
                site,
                "calls",
                site.main(),
                site.full,
                [NOTHING, *OPERATIONS],
                usual=200,
                sync=",".join(synchronizers),
                options=options,
                factors=len(CALLS),
            ),
        )

    def facts(self, results: Results) -> Facts:
        def taken(operation: str, calls: int, scheme: str = WHOLE) -> Measure:
            return micro(per_call(results, operation, calls, scheme))

        measures: dict[str, Measured] = {
            "single": taken("bcast", 1),
            "few": taken("bcast", CALLS[1]),
            "root": taken("bcast", 1, AT_ROOT),
            "listing": {scheme: taken("bcast", CALLS[-1], scheme) for scheme in LISTINGS},
            "allreduces": taken("allreduce", CALLS[-1]),
            "single_allreduce": taken("allreduce", 1),
        }
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        panels = [
            Panel(
                [
                    median_series(
                        scheme,
                        CALLS,
                        [per_call(results, operation, calls, scheme) * MICROSECONDS for calls in CALLS],
                        position,
                    )
                    for position, scheme in enumerate(SCHEMES)
                ],
                "calls in a row",
                "time per call [us]",
                title,
                decades_x=True,
            )
            for operation, title in OPERATIONS.items()
        ]
        caption = (
            f"Time per call of {MESSAGE} bytes, less what reading the clock takes; m{BARS[:-1]}. A broadcast's calls "
            "overlap, an allreduce ends with all ranks waiting for each other."
        )
        return (draw_panels(name, "One call, and many in a row", caption, panels),)


DELAYS = (2, 5, 10, 20)  # us
SIZES = {8: "8 bytes", 65536: "64 KiB"}


@dataclass(frozen=True)
class OneLate:
    """A broadcast whose ranks do not start together."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        last = site.full - 1
        options = {
            "sizes": ",".join(map(str, SIZES)),
            "pattern": f"one_late(rank=0),one_late(rank={last})",
            "delay": ",".join(f"{delay}us" for delay in DELAYS),
            "observe": str(last),
            **linear_broadcast(site),
        }
        return (
            operation_run(
                site,
                "skew",
                site.main(),
                site.full,
                [NOTHING, "bcast"],
                usual=200,
                sync=f"none,{COMMON_START}",
                options=options,
                factors=3 * len(DELAYS),
            ),
        )

    def of_last(self, results: Results, size: int, who: str, delay: int) -> pd.Series:
        """Returns what the last rank, which is observed, spends in a broadcast, in s, by launch."""
        pattern = "one_late" if who == "the root" else f"one_late(rank={results.runs[0].ranks - 1})"
        return own_times(
            results,
            "latency_observed_median",
            "bcast",
            size=size,
            synchronizer=COMMON_START,
            pattern=pattern if delay else "none",
            largest_delay=delay / MICROSECONDS,
        )

    def facts(self, results: Results) -> Facts:
        small, delay = min(SIZES), DELAYS[-1]

        def cells(column: str, *, operation: str = "bcast", synchronizer: str = COMMON_START) -> Measure:
            where: dict[str, object] = {"size": small} if operation == "bcast" else {}
            where |= {"pattern": "none", "synchronizer": synchronizer, "operation": operation}
            return micro(launch_values(results.cells, column, **where))

        measures = {
            "from_a_common_start": micro(self.of_last(results, small, "the root", 0)),
            "late": micro(self.of_last(results, small, "the last rank", delay)),
            "waiting": micro(self.of_last(results, small, "the root", delay)),
            "leaving": cells("end_skew_median"),
            "leaving_nothing": cells("end_skew_median", operation=NOTHING),
            "coming": cells("imbalance_worst_median", synchronizer="none"),
            "coming_together": cells("imbalance_worst_median"),
        }
        return Facts(measures)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        panels = [
            Panel(
                [
                    median_series(
                        f"{who} is late",
                        (0, *DELAYS),
                        [self.of_last(results, size, who, delay) * MICROSECONDS for delay in (0, *DELAYS)],
                        position,
                    )
                    for position, who in enumerate(("the root", "the last rank"))
                ],
                "delay [us]",
                "time of the last rank in it [us]",
                f"broadcast of {words}",
            )
            for size, words in SIZES.items()
        ]
        caption = (
            "Time of the last rank in a broadcast when it is late itself, and when the root is; less what reading "
            f"the clock takes. M{BARS}"
        )
        return (draw_panels(name, "A broadcast whose ranks do not start together", caption, panels),)


# The linear barrier is the benchmark's own, the same under every MPI library.
LINEAR, AFTER_LINEAR = "linear", "harmonize(after=linear)"
STARTS = {
    LINEAR: "after a linear barrier",
    "mpi_barrier": "after MPI_Barrier",
    COMMON_START: "from a common start",
    AFTER_LINEAR: "from a common start, with a linear barrier before",
}


@dataclass(frozen=True)
class AfterBarrier:
    """The effect of a barrier before an operation on the measurement."""

    def runs(self, site: Site) -> tuple[Run, ...]:
        options = {"sizes": MESSAGE, **linear_broadcast(site)}
        sync = ",".join(STARTS)
        return (
            operation_run(site, "barriers", site.main(), site.full, ["bcast"], usual=500, sync=sync, options=options),
        )

    def facts(self, results: Results) -> Facts:
        def of(column: str, synchronizer: str) -> Measure:
            return micro(launch_values(results.cells, column, synchronizer=synchronizer))

        skew, latency = "exit_skew_median", "latency_avg_median"
        return Facts(
            {
                "skew": of(skew, LINEAR),
                "skew_of_a_common_start": of(skew, COMMON_START),
                "latency": of(latency, LINEAR),
                "latency_from_a_common_start": of(latency, COMMON_START),
                "latency_after_messages": of(latency, AFTER_LINEAR),
            }
        )

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        return draw_median_samples(
            name,
            f"A broadcast of {MESSAGE} bytes after a barrier, and from a common start",
            "One sample of the first launch for each: that with the median latency. The synchronizer's bars "
            "end where ranks leave it, and the broadcast's begin.",
            results,
            {
                synchronizer: f"{start}: entries {{one.spread:.2f}} us apart, {{one.mean:.2f}} us in the broadcast "
                "(mean over ranks)"
                for synchronizer, start in STARTS.items()
            },
        )
