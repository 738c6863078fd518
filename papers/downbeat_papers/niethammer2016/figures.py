"""The runs and drawers of the paper's figures; figures.toml has what the paper measured and reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from downbeat_papers.figure import Figure
from downbeat_papers.niethammer2016 import scaling_claims as scaling
from downbeat_papers.niethammer2016.global_time import BarrierTimes, Times
from downbeat_papers.niethammer2016.late_arrival import (
    BARRIER_LATE,
    BARRIER_SHORTER,
    LATE,
    SHORTER,
    SIZES,
    delay_runs,
)
from downbeat_papers.niethammer2016.offset_table import draw_offset_table, offset_runs
from downbeat_papers.niethammer2016.overlap_benefit import Benefits
from downbeat_papers.niethammer2016.timeline import draw_barrier_exits, draw_start_by_clock, timeline_runs
from downbeat_papers.prose import prose
from downbeat_papers.site import Site


def counts_of(what: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        return f"{', '.join(map(str, site.counts))} ranks {site.place}: {what}"

    return shows


ONE_MACHINE = "one machine stands for both of the paper's"
BENEFIT = (
    "the benefit as far as the operation lasts, which is all that can overlap; so that of delays is judged that are no "
    "more than ten times as long"
)


def times_figure(
    number: int,
    operation: str,
    data: str,
    in_seconds: bool,
    claims: tuple[scaling.Claim, ...],
) -> Figure:
    name = f"niethammer2016-fig{number}"
    return Figure(
        **prose(name),
        shows=counts_of(f"whether the delay just adds; {ONE_MACHINE}"),
        runs=delay_runs(operation, (*SHORTER, *LATE), SIZES),
        draw=Times(name, operation, in_seconds, claims),
        data=data,
    )


def benefit_figure(number: int, operation: str, data: str, claims: Sequence[tuple[str, str]]) -> Figure:
    name = f"niethammer2016-fig{number}"
    return Figure(
        **prose(name),
        shows=counts_of(f"{BENEFIT}; {ONE_MACHINE}"),
        runs=delay_runs(operation, (*SHORTER, *LATE), SIZES),
        draw=Benefits(name, operation, SIZES, LATE, SHORTER, claims),
        data=data,
    )


FIGURES: tuple[Figure, ...] = (
    Figure(
        **prose("niethammer2016-tab2"),
        shows=lambda site: (
            "up to 4 ranks on each of up to 3 nodes: the spread of measurements, and the offsets of nodes"
            if site.placed
            else f"{site.node} and {site.most} ranks {site.place}: the spread of measurements, and offsets of nodes if "
            "there are several"
        ),
        runs=offset_runs,
        draw=draw_offset_table,
    ),
    Figure(
        **prose("niethammer2016-fig2"),
        shows=lambda site: f"{site.worth(site.node)}; {site.worth(site.most)}",
        runs=timeline_runs,
        draw=draw_barrier_exits,
    ),
    Figure(
        **prose("niethammer2016-fig3"),
        shows=lambda site: (
            f"{site.worth(site.node)}; {site.worth(site.most)}; the start by the clock is Listing 2, and harmonize"
        ),
        runs=timeline_runs,
        draw=draw_start_by_clock,
        data="niethammer2016-fig2",
    ),
    Figure(
        **prose("niethammer2016-fig5"),
        shows=counts_of("whether the delay just adds"),
        runs=delay_runs("barrier", (*BARRIER_SHORTER, *BARRIER_LATE), ()),
        draw=BarrierTimes(
            (scaling.grows(scaling.LOG, 2048, "nearly logarithmic to about 2048 processes, then linear"),)
        ),
    ),
    Figure(
        **prose("niethammer2016-fig6"),
        shows=counts_of(BENEFIT),
        runs=delay_runs("barrier", (*BARRIER_SHORTER, *BARRIER_LATE), ()),
        draw=Benefits(
            "niethammer2016-fig6",
            "barrier",
            (),
            BARRIER_LATE,
            BARRIER_SHORTER,
            (
                ("mostly_positive", "mostly positive"),
                ("nonblocking_better", "slightly better"),
                ("order_of_delays", "so up to 1024 processes, then the other way round"),
            ),
        ),
        data="niethammer2016-fig5",
    ),
    times_figure(
        7,
        "allreduce",
        "",
        False,
        (
            scaling.grows(scaling.LOG, 1024, "perfectly logarithmic to 1024 processes"),
            scaling.doubling_adds_below(5.0, 1024, "less than 5 us per doubling; then up to 100 us per doubling"),
        ),
    ),
    benefit_figure(
        8,
        "allreduce",
        "niethammer2016-fig7",
        (
            ("mostly_positive", "slight overlap for few processes, losses beyond 1024"),
            ("size_matters_not", "no influence"),
        ),
    ),
    times_figure(
        9,
        "allreduce",
        "niethammer2016-fig7",
        False,
        (scaling.number_only("good scaling to over 1000 processes"),),
    ),
    benefit_figure(
        10,
        "allreduce",
        "niethammer2016-fig7",
        (("mostly_positive", "in nearly all cases"),),
    ),
    times_figure(
        11,
        "alltoall",
        "",
        True,
        (scaling.grows(scaling.LINEAR, 16384, "nearly perfectly linear to 16384 processes"),),
    ),
    benefit_figure(
        12,
        "alltoall",
        "niethammer2016-fig11",
        (("near_zero", "zero effect"),),
    ),
    times_figure(
        13,
        "alltoall",
        "niethammer2016-fig11",
        True,
        (scaling.blocking_faster("blocking faster than nonblocking"),),
    ),
    benefit_figure(
        14,
        "alltoall",
        "niethammer2016-fig11",
        (("near_zero", "nearly zero"), ("blocking_better", "better")),
    ),
    times_figure(15, "bcast", "", True, (scaling.number_only("scales well"),)),
    benefit_figure(
        16,
        "bcast",
        "niethammer2016-fig15",
        (("near_zero", "zero effect"),),
    ),
)
