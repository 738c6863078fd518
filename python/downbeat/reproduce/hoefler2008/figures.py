"""The runs and drawers of the paper's figures; figures.toml has what the paper measured and reports."""

from __future__ import annotations

from downbeat.reproduce.figure import Figure
from downbeat.reproduce.hoefler2008.barrier_effect import barrier_runs, draw_barriers
from downbeat.reproduce.hoefler2008.clock_drift import draw_pairs
from downbeat.reproduce.hoefler2008.pipelining import draw_pipelining, pipeline_runs
from downbeat.reproduce.hoefler2008.process_skew import draw_skew, skew_runs
from downbeat.reproduce.hoefler2008.round_trips import draw_round_trips, round_trip_runs
from downbeat.reproduce.hoefler2008.stop_rule import draw_stop_rule
from downbeat.reproduce.hoefler2008.synchronization_time import draw_schemes, scheme_runs
from downbeat.reproduce.hunold2015.drift import drift_runs
from downbeat.reproduce.own_clocks import TWO_CLOCKS
from downbeat.reproduce.prose import prose
from downbeat.reproduce.site import Site


def small_node(site: Site) -> str:
    return f"{site.worth(site.node)}, measured where the paper has a model"


FIGURES: tuple[Figure, ...] = (
    Figure(
        **prose("hoefler2008-fig1"),
        shows=small_node,
        runs=pipeline_runs,
        draw=draw_pipelining,
    ),
    Figure(
        **prose("hoefler2008-fig2"),
        shows=small_node,
        runs=skew_runs,
        draw=draw_skew,
    ),
    Figure(
        **prose("hoefler2008-fig3"),
        shows=small_node,
        runs=barrier_runs,
        draw=draw_barriers,
    ),
    Figure(
        **prose("hoefler2008-fig4"),
        shows=lambda _: (
            "2 ranks on one machine, 50,000 round trips back to back, over shared memory and TCP, and clocks whose "
            "true offset is known: the method, not those networks"
        ),
        runs=round_trip_runs,
        draw=draw_round_trips,
    ),
    Figure(
        **prose("hoefler2008-fig5"),
        shows=lambda site: f"{site.most} ranks for 20 s; {TWO_CLOCKS}: that a line is found and taken out",
        runs=drift_runs,
        draw=draw_pairs,
        data="hunold2015-fig6",
    ),
    Figure(
        **prose("hoefler2008-fig6"),
        shows=lambda _: "the same simulation on round trips over shared memory and TCP of one machine",
        runs=round_trip_runs,
        draw=draw_stop_rule,
        data="hoefler2008-fig4",
    ),
    Figure(
        **prose("hoefler2008-fig8"),
        shows=lambda site: (
            f"{', '.join(map(str, site.counts))} of 128 ranks over shared memory: the messages exactly, the times "
            "where ranks have cores"
        ),
        runs=scheme_runs,
        draw=draw_schemes,
    ),
)
