"""The runs and drawers of the paper's figures; figures.toml has what the paper measured and reports."""

from __future__ import annotations

from downbeat_papers.figure import Figure
from downbeat_papers.hoefler2008.barrier_effect import barrier_runs, draw_barriers
from downbeat_papers.hoefler2008.clock_drift import draw_pairs
from downbeat_papers.hoefler2008.pipelining import draw_pipelining, pipeline_runs
from downbeat_papers.hoefler2008.process_skew import draw_skew, skew_runs
from downbeat_papers.hoefler2008.round_trips import draw_round_trips, round_trip_runs
from downbeat_papers.hoefler2008.stop_rule import draw_stop_rule
from downbeat_papers.hoefler2008.synchronization_time import draw_schemes, scheme_runs
from downbeat_papers.hunold2015.drift import DRIFT_SECONDS, drift_ranks, drift_runs
from downbeat_papers.prose import prose
from downbeat_papers.site import Site


def a_core_each(site: Site) -> str:
    return f"{site.worth(site.full)}, measured where the paper has a model"


FIGURES: tuple[Figure, ...] = (
    Figure(
        **prose("hoefler2008-fig1"),
        shows=a_core_each,
        runs=pipeline_runs,
        draw=draw_pipelining,
    ),
    Figure(
        **prose("hoefler2008-fig2"),
        shows=a_core_each,
        runs=skew_runs,
        draw=draw_skew,
    ),
    Figure(
        **prose("hoefler2008-fig3"),
        shows=a_core_each,
        runs=barrier_runs,
        draw=draw_barriers,
    ),
    Figure(
        **prose("hoefler2008-fig4"),
        shows=lambda site: (
            "2 ranks, 50,000 round trips back to back, "
            + (
                "on one node and on two: this network"
                if site.placed
                else "on one machine, over shared memory and TCP: the method, not those networks"
            )
            + "; the true offset of clocks is known on one node"
        ),
        runs=round_trip_runs,
        draw=draw_round_trips,
    ),
    Figure(
        **prose("hoefler2008-fig5"),
        shows=lambda site: (
            f"{drift_ranks(site)} ranks for {DRIFT_SECONDS:g} s, {site.clocks}: that a line is found and taken out"
        ),
        runs=drift_runs,
        draw=draw_pairs,
        data="hunold2015-fig6",
    ),
    Figure(
        **prose("hoefler2008-fig6"),
        shows=lambda site: (
            "the same simulation on round trips "
            + ("on one node and between two" if site.placed else "over shared memory and TCP of one machine")
        ),
        runs=round_trip_runs,
        draw=draw_stop_rule,
        data="hoefler2008-fig4",
    ),
    Figure(
        **prose("hoefler2008-fig8"),
        shows=lambda site: (
            f"{', '.join(map(str, site.counts))} of 128 ranks "
            f"{'over shared memory' if site.one_machine else site.place}: the messages exactly, "
            + ("the times of this network" if site.simulated else "the times where ranks have cores")
        ),
        runs=scheme_runs,
        draw=draw_schemes,
    ),
)
