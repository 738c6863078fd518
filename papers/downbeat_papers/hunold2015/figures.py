"""The runs and drawers of the paper's figures; figures.toml has what the paper measured and reports."""

from __future__ import annotations

from collections.abc import Callable

from downbeat_papers.figure import Figure
from downbeat_papers.hunold2015.clock_offset import draw_offsets, draw_waits, offset_runs, wait_runs
from downbeat_papers.hunold2015.clock_pareto import draw_pareto, pareto_runs
from downbeat_papers.hunold2015.drift import DRIFT_SECONDS, draw_drift, drift_ranks, drift_runs
from downbeat_papers.hunold2015.exit_pattern import draw_exits, exit_runs
from downbeat_papers.hunold2015.library_comparison import draw_libraries, library_runs
from downbeat_papers.hunold2015.local_and_global import allreduce_runs, draw_allreduce
from downbeat_papers.hunold2015.measurement_schemes import draw_measurement_schemes
from downbeat_papers.hunold2015.measurement_schemes import scheme_runs as measurement_scheme_runs
from downbeat_papers.hunold2015.scheme_windows import SCAN_CURVES, SCHEME_CURVES, draw_schemes, scheme_runs
from downbeat_papers.hunold2015.skampi_windows import draw_skampi, skampi_runs
from downbeat_papers.prose import prose
from downbeat_papers.site import Site


def few_ranks(text: str) -> Callable[[Site], str]:
    """Says what ranks with a core each show, on clocks of which `{clocks}` and `{faster}` speak."""

    def shows(site: Site) -> str:
        place = "" if site.one_machine else f" {site.place}"
        faster = ", faster than real" if site.made_clocks else ""
        return f"{site.full} ranks{place}, {text.format(clocks=site.clocks, faster=faster)}"

    return shows


FIGURES: tuple[Figure, ...] = (
    Figure(
        **prose("hunold2015-fig1"),
        shows=few_ranks("15,000 measurements of the paper's 150,000, in windows of 200 us; {clocks}: the rise{faster}"),
        runs=skampi_runs,
        draw=draw_skampi,
    ),
    Figure(
        **prose("hunold2015-fig2"),
        shows=few_ranks("all four schemes on the same calls, side by side"),
        runs=measurement_scheme_runs,
        draw=draw_measurement_schemes,
    ),
    Figure(
        **prose("hunold2015-fig3"),
        shows=few_ranks("the smaller the gap, the less skew the barrier has"),
        runs=allreduce_runs,
        draw=draw_allreduce,
    ),
    Figure(
        **prose("hunold2015-fig4"),
        shows=few_ranks("a point per rank, under two libraries; MPICH stands for MVAPICH, which is made of it"),
        runs=exit_runs,
        draw=draw_exits,
    ),
    Figure(
        **prose("hunold2015-fig5"),
        shows=few_ranks("two libraries, MPICH for MVAPICH: how much the barrier changes the comparison"),
        runs=library_runs,
        draw=draw_libraries,
    ),
    Figure(
        **prose("hunold2015-fig6"),
        shows=lambda site: (
            f"{drift_ranks(site)} ranks for {DRIFT_SECONDS:g} s, {site.clocks}: "
            + ("that drift is measured rightly, not what real clocks do" if site.made_clocks else "how they drift")
        ),
        runs=drift_runs,
        draw=draw_drift,
    ),
    Figure(
        **prose("hunold2015-fig7"),
        shows=few_ranks("{clocks}: the rise"),
        runs=scheme_runs(SCHEME_CURVES, "bcast"),
        draw=draw_schemes("hunold2015-fig7", SCHEME_CURVES, "bcast"),
    ),
    Figure(
        **prose("hunold2015-fig8"),
        shows=lambda site: (
            f"{', '.join(map(str, site.counts))} of 32 processes: "
            + (
                "part (a), a clock made for each, and with 4 or more (b), a clock for every half of them, up to 16"
                if site.made_clocks
                else "part (a), a process on each node, and with more than nodes (b), several on each; their own clocks"
            )
        ),
        runs=offset_runs,
        draw=draw_offsets,
    ),
    Figure(
        **prose("hunold2015-fig9"),
        shows=few_ranks("up to 10 s; {clocks}"),
        runs=wait_runs,
        draw=draw_waits,
    ),
    Figure(
        **prose("hunold2015-fig10"),
        shows=few_ranks("{clocks}; fits back to back, as published, span less time here than over a network"),
        runs=pareto_runs,
        draw=draw_pareto,
    ),
    Figure(
        **prose("hunold2015-fig11"),
        shows=few_ranks("{clocks}: who drifts"),
        runs=scheme_runs(SCAN_CURVES, "scan"),
        draw=draw_schemes("hunold2015-fig11", SCAN_CURVES, "scan"),
    ),
)
