"""The pictures of a report, in their order; each draws nothing where the data have nothing for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from downbeat.report.clock_pictures import draw_drift, draw_edges, draw_pareto, draw_round_trips
from downbeat.report.latency import (
    draw_computation_overlap,
    draw_heat_maps,
    draw_late_arrival,
    draw_latency_lists,
    draw_processes,
    draw_ratios,
    draw_sizes,
)
from downbeat.report.launches import draw_checks, draw_launches, draw_run_times
from downbeat.report.leaving import draw_pattern_file, draw_patterns, draw_skew_file, draw_skews
from downbeat.report.style import Picture
from downbeat.report.timelines import draw_timelines
from downbeat.run import experiment

if TYPE_CHECKING:
    import xarray as xr

# Drawn from samples of operations.
OF_EXPERIMENTS: tuple[Callable[[experiment.Experiment], list[Picture]], ...] = (
    draw_ratios,
    draw_sizes,
    draw_processes,
    draw_latency_lists,
    draw_heat_maps,
    draw_late_arrival,
    draw_computation_overlap,
    draw_skews,
    draw_patterns,
    draw_timelines,
    draw_launches,
    draw_run_times,
    draw_checks,
)
# By the name of the experiment of `downbeat-bench` that wrote the file.
OF_FILES: dict[str, tuple[Callable[[xr.Dataset], list[Picture]], ...]] = {
    "skew": (draw_skew_file, draw_pattern_file),
    "clock": (draw_pareto, draw_edges),
    "drift": (draw_drift,),
    "rtt": (draw_round_trips,),
}
