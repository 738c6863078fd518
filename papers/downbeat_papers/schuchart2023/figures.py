"""The runs and drawers of the paper's figures; figures.toml has what the paper measured and reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from downbeat_papers.figure import Figure, Finding
from downbeat_papers.prose import prose
from downbeat_papers.schuchart2023.clocks import clock_runs, draw_clock_accuracy, draw_clock_duration
from downbeat_papers.schuchart2023.delta import Claim, deltas, most_affected_finding
from downbeat_papers.schuchart2023.exit_skew import draw_skew, skew_runs
from downbeat_papers.schuchart2023.hawk import counts_of, full_node, many_nodes
from downbeat_papers.schuchart2023.library_order import library_finding
from downbeat_papers.schuchart2023.lines import DEFAULT, MVAPICH
from downbeat_papers.schuchart2023.message_scaling import draw_messages, message_runs, order_finding
from downbeat_papers.schuchart2023.process_scaling import (
    draw_processes,
    knomial_finding,
    metric_finding,
    process_runs,
)
from downbeat_papers.schuchart2023.reduce_matrix import draw_reduce_matrix, matrix_runs
from downbeat_papers.schuchart2023.scatter_gather import draw_scatter_gather, scatter_gather_runs
from downbeat_papers.schuchart2023.timeline import draw_timeline, timeline_runs

LINEAR, BINOMIAL = "Open MPI linear", "Open MPI binomial"
NEEDS_OPEN_MPI = "Open MPI, whose algorithms it compares"


def message_figure(
    number: int,
    collective: str,
    all_nodes: bool,
    reported: str,
    claims: Sequence[Claim],
    more: Sequence[Callable[[pd.DataFrame, int], Finding]] = (),
) -> Figure:
    name = f"schuchart2023-fig{number}"
    shown = (
        "what a barrier does when ranks wait for cores, not the network"
        if all_nodes
        else "the direction of delta, not its size"
    )
    return Figure(
        **prose(name),
        shows=many_nodes(shown) if all_nodes else full_node(shown),
        runs=message_runs(collective, all_nodes),
        draw=draw_messages(name, collective, reported, claims, more),
    )


def process_figure(
    number: int,
    collective: str,
    findings_of: Callable[[pd.DataFrame], list[Finding]],
) -> Figure:
    name = f"schuchart2023-fig{number}"
    return Figure(
        **prose(name),
        shows=counts_of("both synchronizers at each count; oscillations need more counts"),
        runs=process_runs(collective),
        draw=draw_processes(name, collective, findings_of),
    )


FIGURES: tuple[Figure, ...] = (
    Figure(
        **prose("schuchart2023-fig1"),
        shows=lambda site: f"{site.worth(site.node)}, and {site.worth(site.most)}: the pattern's beginning",
        runs=timeline_runs,
        draw=draw_timeline,
        lacks=NEEDS_OPEN_MPI,
    ),
    Figure(
        **prose("schuchart2023-fig2"),
        shows=full_node("that the barrier matters, and in which order; not the scale"),
        runs=matrix_runs,
        draw=draw_reduce_matrix,
        lacks=NEEDS_OPEN_MPI,
    ),
    Figure(
        **prose("schuchart2023-fig3"),
        shows=lambda site: (
            f"{', '.join(map(str, site.counts))} ranks {site.place}: part (b)"
            + (
                f"; part (a), one rank on each of up to {site.nodes} nodes"
                if site.placed
                else "; part (a) if the launcher puts one rank on each of several nodes"
            )
        ),
        runs=skew_runs,
        draw=draw_skew,
    ),
    message_figure(
        6,
        "reduce",
        False,
        "0.6 to 1.8",
        (
            Claim(LINEAR, -1, "higher latency with MPIX_Harmonize: delta below 1", small=False),
            Claim(BINOMIAL, 1, "consistently lower latency with MPIX_Harmonize: delta above 1", small=False),
        ),
    ),
    message_figure(
        7,
        "reduce",
        True,
        "below 0.1 to 10",
        (
            Claim(LINEAR, -1, "more than 10 times higher with MPIX_Harmonize", small=False, factor=10, somewhere=True),
            Claim(BINOMIAL, 1, "up to 10 times lower with MPIX_Harmonize", small=False, factor=10, somewhere=True),
            Claim(MVAPICH.label, 1, "2 times lower with MPIX_Harmonize for small messages", factor=2),
        ),
    ),
    process_figure(
        8,
        "reduce",
        metric_finding,
    ),
    message_figure(
        9,
        "bcast",
        False,
        "about 0.11 (MVAPICH2) to above 1",
        (
            Claim(MVAPICH.label, -1, "9 times higher with MPIX_Harmonize for small messages: delta 0.11", factor=9),
            Claim(DEFAULT.label, 1, "mostly lower with MPIX_Harmonize", small=False),
            Claim("Open MPI knomial", 1, "mostly lower with MPIX_Harmonize", small=False),
        ),
    ),
    message_figure(
        10,
        "bcast",
        True,
        "as Fig. 9 for MVAPICH2, nearer to 1 for Open MPI",
        (Claim(MVAPICH.label, -1, "as on one node: 9 times higher with MPIX_Harmonize for small messages", factor=9),),
        (order_finding,),
    ),
    process_figure(
        11,
        "bcast",
        knomial_finding,
    ),
    message_figure(
        12,
        "allreduce",
        False,
        "near 1, except nonoverlapping",
        (
            Claim(DEFAULT.label, 0, "less significant than for rooted operations", small=False),
            Claim(MVAPICH.label, 0, "less significant than for rooted operations", small=False),
        ),
        (lambda cells, ranks: most_affected_finding(deltas(cells), "Open MPI nonoverlapping", ranks),),
    ),
    message_figure(
        13,
        "allreduce",
        True,
        "down to 0.2",
        (
            Claim(MVAPICH.label, -1, "down to 0.2", small=False, factor=5, somewhere=True),
            Claim("Open MPI nonoverlapping", -1, "down to 0.2", small=False, factor=5, somewhere=True),
        ),
        (lambda cells, _: library_finding(cells, "size"),),
    ),
    process_figure(
        14,
        "allreduce",
        lambda cells: [library_finding(cells, "ranks")],
    ),
    Figure(
        **prose("schuchart2023-sec66"),
        shows=full_node("whether delta is nearer to 1 than half of what MPI_Reduce has (0.6 to 1.8)"),
        runs=scatter_gather_runs,
        draw=draw_scatter_gather,
    ),
    Figure(
        **prose("schuchart2023-fig15"),
        shows=lambda site: counts_of(f"growth with the tree's depth; {site.clocks}")(site),
        runs=clock_runs,
        draw=draw_clock_duration,
    ),
    Figure(
        **prose("schuchart2023-fig16"),
        shows=lambda site: counts_of(
            f"{site.clocks}; their errors, measured{' and true' if site.one_machine or site.simulated else ''}"
        )(site),
        runs=clock_runs,
        draw=draw_clock_accuracy,
        data="schuchart2023-fig15",
    ),
)
