"""Lists the functions that draw the pictures of a report, and adds `plot` to experiments for notebooks.

A function returns no picture if the data have nothing for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from downbeat.errors import UsageError
from downbeat.output.blocks import Picture
from downbeat.report.clock_pictures import draw_drift, draw_edges, draw_pareto, draw_round_trips
from downbeat.report.instants import draw_pattern_file, draw_patterns, draw_skew_file, draw_skews, draw_timelines
from downbeat.report.latency import (
    draw_computation_overlap,
    draw_contrast,
    draw_heat_maps,
    draw_late_arrival,
    draw_processes,
    draw_starts,
)
from downbeat.report.launches import draw_checks, draw_launches, draw_run_times
from downbeat.run import experiment

if TYPE_CHECKING:
    import xarray as xr

# For experiments, in the order of the report.
OF_EXPERIMENTS: tuple[Callable[[experiment.Experiment], list[Picture]], ...] = (
    draw_contrast,
    draw_starts,
    draw_processes,
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
# For single files: subcommand of downbeat-bench that wrote the file -> functions.
OF_FILES: dict[str, tuple[Callable[[xr.Dataset], list[Picture]], ...]] = {
    "skew": (draw_skew_file, draw_pattern_file),
    "clock": (draw_pareto, draw_edges),
    "drift": (draw_drift,),
    "rtt": (draw_round_trips,),
}


@dataclass(frozen=True)
class Experiment(experiment.Experiment):
    """An experiment, returned by `open_experiment`.

    Attributes:
        path: its directory or file.
        name: of its plan, else of the path.
        launches: the complete ones, by configuration and number.
        plan: the measurements planned; None if files of launches were collected by hand.
        failures: launch.json of each failed launch, with its `directory`.
    """

    def plot(self, name: str = "") -> Picture:
        """Returns a picture of the report, which a notebook shows; it has a matplotlib `figure` and its `numbers`.

        Args:
            name: of the picture, or its beginning, e.g. "latency_by_processes-bcast"; empty: the first picture.

        Raises:
            UsageError: the experiment has no such picture.
        """
        pictures = {picture.name: picture for draw in OF_EXPERIMENTS for picture in draw(self)}
        for key, picture in pictures.items():
            if key.startswith(name):
                return picture
        raise UsageError(f"no picture '{name}'; choose one of {', '.join(pictures)}")


def open_experiment(path: str | Path) -> Experiment:
    """Opens an experiment.

    Args:
        path: the directory of `downbeat run`; a `.nc` file of downbeat-bench, which is one launch; or a directory of
            such files, which count as launches of one experiment.

    Returns:
        The experiment; its samples are read on demand.

    Raises:
        UsageError: the path is something else, or a file is truncated or from another program.
    """
    opened = experiment.open_experiment(path)
    return Experiment(**{field.name: getattr(opened, field.name) for field in dataclasses.fields(opened)})
