"""What the paper measured and reports, figure by figure, and what is run and drawn for it here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from downbeat.reproduce.figure import Figure, Finding
from downbeat.reproduce.schuchart2023.clocks import clock_runs, draw_clock_accuracy, draw_clock_duration
from downbeat.reproduce.schuchart2023.delta import Claim, deltas, most_affected_finding
from downbeat.reproduce.schuchart2023.exit_skew import draw_skew, skew_runs
from downbeat.reproduce.schuchart2023.hawk import HAWK, counts_of, full_node, many_nodes
from downbeat.reproduce.schuchart2023.library_order import library_finding
from downbeat.reproduce.schuchart2023.lines import DEFAULT, MVAPICH
from downbeat.reproduce.schuchart2023.message_scaling import draw_messages, message_runs, order_finding
from downbeat.reproduce.schuchart2023.process_scaling import (
    draw_processes,
    knomial_finding,
    metric_finding,
    process_runs,
)
from downbeat.reproduce.schuchart2023.reduce_matrix import draw_reduce_matrix, matrix_runs
from downbeat.reproduce.schuchart2023.timeline import draw_timeline, timeline_runs

NEEDS_OPEN_MPI = "Open MPI, whose algorithms it compares"


def message_figure(
    number: int,
    collective: str,
    all_nodes: bool,
    reports: tuple[str, ...],
    reported: str,
    claims: Sequence[Claim],
    more: Sequence[Callable[[pd.DataFrame, int], Finding]] = (),
) -> Figure:
    name = f"schuchart2023-fig{number}"
    where = "16k processes, 128 per node" if all_nodes else "128 processes, one node"
    shown = (
        "what a barrier does when ranks wait for cores, not the network"
        if all_nodes
        else "the direction of delta, not its size"
    )
    return Figure(
        name=name,
        title=f"MPI_{collective.capitalize()} over message sizes on {'16k' if all_nodes else '128'} processes",
        setup=f"{HAWK}; {where}; MPI_Barrier against MPIX_Harmonize, absolute (a) and as ratio (b).",
        reports=reports,
        needs=f"{'16384 ranks on 128 nodes' if all_nodes else '128 ranks on one node'}, Open MPI and MVAPICH2",
        shows=many_nodes(shown) if all_nodes else full_node(shown),
        runs=message_runs(collective, all_nodes),
        draw=draw_messages(name, collective, reported, claims, more),
    )


def process_figure(
    number: int,
    collective: str,
    reports: tuple[str, ...],
    findings_of: Callable[[pd.DataFrame], list[Finding]],
) -> Figure:
    name = f"schuchart2023-fig{number}"
    return Figure(
        name=name,
        title=f"MPI_{collective.capitalize()} of 4 bytes over numbers of processes",
        setup=f"{HAWK}; 128 (one node) to 16k processes (128 nodes), messages of 4 bytes.",
        reports=reports,
        needs="128 to 16384 ranks on 1 to 128 nodes, Open MPI and MVAPICH2",
        shows=counts_of("both synchronizers at each count; oscillations need more counts"),
        runs=process_runs(collective),
        draw=draw_processes(name, collective, findings_of),
    )


FIGURES: tuple[Figure, ...] = (
    Figure(
        name="schuchart2023-fig1",
        title="Timelines of MPI_Reduce behind two barrier algorithms",
        setup="OSU's benchmark of MPI_Reduce with 1 byte on 16 processes, Open MPI, traced with Score-P; barrier "
        "algorithms linear (a) and double_ring (b).",
        reports=(
            "The same reduction is reported as 2.78 us behind linear and as 9.98 us behind double_ring.",
            "Behind double_ring ranks 1 to 7 leave before the root and wait for it; ranks 8 to 15 leave late and spend "
            "almost no time in the reduction. The barrier's exit pattern is the reduction's arrival pattern.",
        ),
        needs="16 ranks with a core each, Open MPI",
        shows=lambda site: f"{site.worth(site.node)}, and {site.worth(site.most)}: the pattern's beginning",
        runs=timeline_runs,
        draw=draw_timeline,
        lacks=NEEDS_OPEN_MPI,
    ),
    Figure(
        name="schuchart2023-fig2",
        title="Latency of reduce algorithms behind barrier algorithms, a matrix",
        setup=f"{HAWK}; MPI_Reduce with 4 bytes on 128 processes of one node, four algorithms of Open MPI behind "
        "its default barrier and five others.",
        reports=(
            "The barrier changes the reported latency as much as the choice of the reduction's algorithm does: "
            "linear takes "
            "0.24 us behind double_ring, the lowest of all, and 16.35 us behind linear, the second highest.",
            "Behind every barrier but double_ring, binomial looks fastest (0.74 to 1.41 us).",
        ),
        needs="128 ranks on one node, Open MPI",
        shows=full_node("that the barrier matters, and in which order; not the scale"),
        runs=matrix_runs,
        draw=draw_reduce_matrix,
        lacks=NEEDS_OPEN_MPI,
    ),
    Figure(
        name="schuchart2023-fig3",
        title="Exit skew of MPI_Barrier over numbers of nodes",
        setup="Hawk; 50 calls of MPI_Barrier for each configuration, up to 128 nodes, with 1 (a) and 128 (b) "
        "processes per "
        "node. Skew: time between the first and the last process leaving.",
        reports=(
            "With one process per node (a) mostly single digits of us, widely spread, outliers up to 14 us.",
            "With 128 per node (b) much more: a mean of 60 us and outliers above 100 us at 16k processes, where a "
            "reduction "
            "of 4 bytes is reported to take 30 us.",
        ),
        needs="128 nodes with 128 ranks each",
        shows=lambda site: (
            f"part (b): {', '.join(map(str, site.counts))} ranks {site.place}; not (a), with one rank on each of "
            "several nodes"
        ),
        runs=skew_runs,
        draw=draw_skew,
    ),
    message_figure(
        6,
        "reduce",
        False,
        (
            "The ratio delta, latency behind MPI_Barrier over latency with MPIX_Harmonize, lies between 0.6 and 1.8.",
            "Linear looks slower with MPIX_Harmonize than behind the barrier, binomial looks faster at all sizes.",
        ),
        "0.6 to 1.8",
        (
            Claim("Open MPI linear", -1, "higher latency with MPIX_Harmonize: delta below 1", small=False),
            Claim("Open MPI binomial", 1, "consistently lower latency with MPIX_Harmonize: delta above 1", small=False),
        ),
    ),
    message_figure(
        7,
        "reduce",
        True,
        (
            "Binomial has up to 10 times lower latency with MPIX_Harmonize, linear more than 10 times higher.",
            "MVAPICH2 is affected less: half the latency for small messages.",
        ),
        "below 0.1 to 10",
        (
            Claim("Open MPI linear", -1, "more than 10 times higher with MPIX_Harmonize", small=False),
            Claim("Open MPI binomial", 1, "up to 10 times lower with MPIX_Harmonize", small=False),
            Claim(MVAPICH.label, 1, "2 times lower with MPIX_Harmonize for small messages"),
        ),
    ),
    process_figure(
        8,
        "reduce",
        (
            "Average (a) and maximum latency (b) oscillate behind the barrier; with MPIX_Harmonize the curves are "
            "smooth.",
            "The average latency of linear falls as processes are added, since most of them send eagerly and leave "
            "at once; the "
            "maximum tells more of what an application waits for.",
        ),
        metric_finding,
    ),
    message_figure(
        9,
        "bcast",
        False,
        (
            "MVAPICH2 has 9 times higher latency for small messages with MPIX_Harmonize than behind MPI_Barrier.",
            "Open MPI, and MVAPICH2 in the middle of the range, mostly have lower latency with MPIX_Harmonize.",
        ),
        "about 0.11 (MVAPICH2) to above 1",
        (
            Claim(MVAPICH.label, -1, "9 times higher with MPIX_Harmonize for small messages: delta 0.11"),
            Claim(DEFAULT.label, 1, "mostly lower with MPIX_Harmonize", small=False),
            Claim("Open MPI knomial", 1, "mostly lower with MPIX_Harmonize", small=False),
        ),
    ),
    message_figure(
        10,
        "bcast",
        True,
        (
            "MVAPICH2 behaves as on one node; Open MPI's differences are smaller.",
            "The order of the two algorithms shown for Open MPI does not change with the synchronizer.",
        ),
        "as Fig. 9 for MVAPICH2, nearer to 1 for Open MPI",
        (Claim(MVAPICH.label, -1, "higher with MPIX_Harmonize for small messages"),),
        (order_finding,),
    ),
    process_figure(
        11,
        "bcast",
        (
            "Most implementations vary considerably over the numbers of processes behind MPI_Barrier, knomial of "
            "Open MPI "
            "most of all; with MPIX_Harmonize they are stable.",
        ),
        knomial_finding,
    ),
    message_figure(
        12,
        "allreduce",
        False,
        (
            "The barrier distorts MPI_Allreduce less than the rooted operations.",
            "Nonoverlapping, which is a reduction and a broadcast, is affected most of what is shown.",
        ),
        "near 1, except nonoverlapping",
        (
            Claim(DEFAULT.label, 0, "less significant than for rooted operations", small=False),
            Claim(MVAPICH.label, 0, "less significant than for rooted operations", small=False),
        ),
        (lambda cells, ranks: most_affected_finding(deltas(cells, "size"), "Open MPI nonoverlapping", ranks),),
    ),
    message_figure(
        13,
        "allreduce",
        True,
        (
            "MVAPICH2 and nonoverlapping each have, at some sizes, 5 times higher latency with MPIX_Harmonize (ratio "
            "0.2).",
            "Behind MPI_Barrier MVAPICH2 looks faster than Open MPI's default, with MPIX_Harmonize it is the other "
            "way round.",
        ),
        "down to 0.2",
        (
            Claim(MVAPICH.label, -1, "down to 0.2", small=False),
            Claim("Open MPI nonoverlapping", -1, "down to 0.2", small=False),
        ),
        (lambda cells, _: library_finding(cells, "size"),),
    ),
    process_figure(
        14,
        "allreduce",
        (
            "At the lower and the higher end of the range the comparison of Open MPI and MVAPICH2 tips in favour of "
            "Open MPI when "
            "MPIX_Harmonize takes the place of MPI_Barrier.",
        ),
        lambda cells: [library_finding(cells, "ranks")],
    ),
    Figure(
        name="schuchart2023-fig15",
        title="Duration of clock synchronization over numbers of processes",
        setup="Hawk, 128 processes per node; HCA3 without drift model, 50 repetitions at each number of processes.",
        reports=(
            "Some hundred us at small scale, milliseconds at large; below 2 % of the time at 16k processes where "
            "clocks are "
            "synchronized every second.",
            "Outliers are the first repetition at each point, which sets up connections.",
        ),
        needs="128 to 16384 ranks on 1 to 128 nodes",
        shows=counts_of("growth with the tree's depth over shared memory; clocks are made different"),
        runs=clock_runs,
        draw=draw_clock_duration,
    ),
    Figure(
        name="schuchart2023-fig16",
        title="Accuracy of clock synchronization over numbers of processes",
        setup="Hawk, 128 processes per node; after a synchronization the offset of 1 % of the processes to the root is "
        "measured, 20 times; processes from the middle and upper range, which are farthest from the root.",
        reports=(
            "The mean stays well below 1 us at all numbers of processes; outliers at larger scale stay below 2 us.",
        ),
        needs="128 to 16384 ranks on 1 to 128 nodes",
        shows=counts_of("measured and true error over shared memory; clocks are made different"),
        runs=clock_runs,
        draw=draw_clock_accuracy,
        data="schuchart2023-fig15",
    ),
)
