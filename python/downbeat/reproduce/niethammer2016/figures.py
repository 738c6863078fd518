"""What the paper measured and reports, figure by figure, and what is run and drawn for it here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from downbeat.reproduce.figure import Figure
from downbeat.reproduce.niethammer2016.global_time import draw_barrier_times, draw_times
from downbeat.reproduce.niethammer2016.late_arrival import SIZES, delay_runs, name_of
from downbeat.reproduce.niethammer2016.offset_table import draw_offset_table, offset_runs
from downbeat.reproduce.niethammer2016.overlap_benefit import draw_benefits
from downbeat.reproduce.niethammer2016.timeline import draw_timeline, timeline_runs
from downbeat.reproduce.site import Site

CRAY = "Cray MPI; the smallest global time, first entry to last exit, of 100 measurements"
HORNET = f"Hornet (Cray XE6, Gemini), up to 16384 processes, {CRAY}"
HAZEL_HEN = f"Hazel Hen (Cray XC40, Aries), {CRAY}"


def counts_of(what: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        return f"{', '.join(map(str, site.counts))} ranks {site.place}: {what}"

    return shows


ONE_MACHINE = "one machine stands for both of the paper's"


def times_figure(
    number: int, operation: str, machine: str, reports: tuple[str, ...], data: str, in_seconds: bool
) -> Figure:
    name = f"niethammer2016-fig{number}"
    return Figure(
        name=name,
        title=f"Global time of MPI_{name_of(operation)} and MPI_I{operation} over numbers of processes, "
        f"{machine.partition(' (')[0]}",
        setup=f"{machine}; 8 bytes, rank 0 50 us late or not at all.",
        reports=reports,
        needs=f"up to {'16384' if 'Hornet' in machine else 'some thousand'} ranks on many nodes",
        shows=counts_of(f"whether the delay just adds; {ONE_MACHINE}"),
        runs=delay_runs(operation, "50us", True),
        draw=draw_times(name, operation, in_seconds),
        data=data,
    )


def benefit_figure(
    number: int, operation: str, machine: str, reports: tuple[str, ...], data: str, claims: Sequence[tuple[str, str]]
) -> Figure:
    name = f"niethammer2016-fig{number}"
    return Figure(
        name=name,
        title=f"Delay overlap benefit of MPI_{name_of(operation)} and MPI_I{operation}, {machine.partition(' (')[0]}",
        setup=f"{machine}; 8, 128 and 1024 bytes, rank 0 50 us late.",
        reports=reports,
        needs=f"up to {'16384' if 'Hornet' in machine else 'some thousand'} ranks on many nodes",
        shows=counts_of(f"the benefit where next to nothing can overlap; {ONE_MACHINE}"),
        runs=delay_runs(operation, "50us", True),
        draw=draw_benefits(name, operation, [(size, 50.0) for size in SIZES], claims),
        data=data,
    )


FIGURES: tuple[Figure, ...] = (
    Figure(
        name="niethammer2016-tab2",
        title="Mean and standard deviation of clock offsets",
        setup="Hermit (Cray XE6), 12 processes, 4 per node; 100 measurements of the offset of each process's clock "
        "to rank 0's by "
        "Cristian's algorithm.",
        reports=(
            "Processes of a node have the same offset with a standard deviation of at most 2 us.",
            "Clocks of different nodes differ by more than 10 ms: -17.258 and -11.140 ms against the first node.",
        ),
        needs="3 nodes with 4 ranks each",
        shows=lambda site: (
            f"{site.node} and {site.most} ranks of one node, which read the same clock: the spread of "
            "measurements, not the offsets of nodes"
        ),
        runs=offset_runs,
        draw=draw_offset_table,
    ),
    Figure(
        name="niethammer2016-fig2",
        title="Timelines of the barrier before the benchmark",
        setup="Score-P and Vampir; 32 processes on 2 nodes of Hornet (a), 48 on 2 nodes of Hazel Hen (b); "
        "MPI_Barrier, timer, benchmark.",
        reports=(
            "Processes leave the barrier at different times, about 4 us apart for 32 processes, in the pattern of a "
            "tree.",
        ),
        needs="2 nodes with 16 and 24 ranks",
        shows=lambda site: f"{site.worth(site.node)}; {site.worth(site.most)}",
        runs=timeline_runs,
        draw=draw_timeline("niethammer2016-fig2", ("mpi_barrier",)),
    ),
    Figure(
        name="niethammer2016-fig3",
        title="Timelines of clock-based and barrier synchronization",
        setup="Score-P and Vampir; 24 processes on one node of Hazel Hen, start by the clock (busy waiting on "
        "gettimeofday for a "
        "broadcast instant) against MPI_Barrier.",
        reports=("Processes start together much better by the clock than behind the newest barrier of the Cray XC40.",),
        needs="24 ranks on one node",
        shows=lambda site: f"{site.worth(site.node)}; {site.worth(site.most)}; harmonize is the start by the clock",
        runs=timeline_runs,
        draw=draw_timeline("niethammer2016-fig3", ("mpi_barrier", "harmonize")),
        data="niethammer2016-fig2",
    ),
    Figure(
        name="niethammer2016-fig5",
        title="Global time of MPI_Barrier and MPI_Ibarrier with one late process, Hornet",
        setup=f"{HORNET}; rank 0 is 0, 10, 20 or 50 us late.",
        reports=(
            "The time grows nearly with the logarithm of the number of processes up to 2048, beyond that linearly.",
        ),
        needs="up to 16384 ranks on many nodes",
        shows=counts_of("whether the delay just adds"),
        runs=delay_runs("barrier", "10us,20us,50us", False),
        draw=draw_barrier_times,
    ),
    Figure(
        name="niethammer2016-fig6",
        title="Delay overlap benefit of MPI_Barrier and MPI_Ibarrier, Hornet",
        setup=f"{HORNET}; rank 0 is 10, 20 or 50 us late; benefit by Eq. 5.",
        reports=(
            "The benefit is mostly positive; the nonblocking form has slightly more.",
            "Below 1024 processes shorter delays have more benefit, above longer ones.",
        ),
        needs="up to 16384 ranks on many nodes",
        shows=counts_of("the benefit where next to nothing can overlap"),
        runs=delay_runs("barrier", "10us,20us,50us", False),
        draw=draw_benefits(
            "niethammer2016-fig6",
            "barrier",
            [(0, 10.0), (0, 20.0), (0, 50.0)],
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
        HORNET,
        (
            "Perfectly logarithmic up to 1024 processes, less than 5 us for each doubling; worse beyond, up to 100 us.",
            "The point without delay at 4096 processes is an outlier: that job was disturbed.",
        ),
        "",
        False,
    ),
    benefit_figure(
        8,
        "allreduce",
        HORNET,
        (
            "Slight overlap for few processes; beyond 1024 the delay costs more than itself. The size has no "
            "influence.",
            "The peak at 4096 processes comes from the disturbed job of Fig. 7.",
        ),
        "niethammer2016-fig7",
        (
            ("mostly_positive", "slight overlap for few processes, losses beyond 1024"),
            ("size_matters_not", "no influence"),
        ),
    ),
    times_figure(9, "allreduce", HAZEL_HEN, ("Good scaling up to over 1000 processes.",), "niethammer2016-fig7", False),
    benefit_figure(
        10,
        "allreduce",
        HAZEL_HEN,
        ("The benefit is positive in nearly all cases.",),
        "niethammer2016-fig7",
        (("mostly_positive", "in nearly all cases"),),
    ),
    times_figure(
        11,
        "alltoall",
        HORNET,
        (
            "Nearly perfectly linear in the number of processes up to 16384; the size changes the time, not the "
            "scaling.",
        ),
        "",
        True,
    ),
    benefit_figure(
        12,
        "alltoall",
        HORNET,
        (
            "No effect for small messages; for larger ones inconclusive, slight losses as well as large gains, since "
            "the minimum is "
            "not always found.",
        ),
        "niethammer2016-fig11",
        (("near_zero", "zero effect"),),
    ),
    times_figure(
        13,
        "alltoall",
        HAZEL_HEN,
        ("The blocking form is faster than the nonblocking one.",),
        "niethammer2016-fig11",
        True,
    ),
    benefit_figure(
        14,
        "alltoall",
        HAZEL_HEN,
        (
            "Nearly no benefit for small messages; the blocking form has more than the nonblocking one. (The text "
            "says allreduce; "
            "figure and section are on alltoall.)",
        ),
        "niethammer2016-fig11",
        (("near_zero", "nearly zero"), ("blocking_better", "better")),
    ),
    times_figure(15, "bcast", HAZEL_HEN, ("The broadcast scales well.",), "", True),
    benefit_figure(
        16,
        "bcast",
        HAZEL_HEN,
        ("No effect for small messages; for larger ones inconclusive, slight losses as well as large gains.",),
        "niethammer2016-fig15",
        (("near_zero", "zero effect"),),
    ),
)
