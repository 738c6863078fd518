"""`downbeat show`: what a file of downbeat-bench or an experiment holds, on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from downbeat.errors import UsageError


def show(
    path: Annotated[
        Path, typer.Argument(help="File .nc, or directory of an experiment.", metavar="PATH", show_default=False)
    ],
    metric: Annotated[str, typer.Option(help="What is shown of each sample.", metavar="NAME")] = "latency_avg",
) -> None:
    """Show what a launch or an experiment holds.

    Of samples, a row per cell: over launches the geometric mean of their medians, and quantiles of the samples. Of
    experiments on clocks and synchronizers, what their files hold.
    """
    from downbeat.data.metrics import METRICS
    from downbeat.experiment.experiment import open_experiment
    from downbeat.show.dataset import describe_dataset, is_dataset
    from downbeat.show.experiment import describe_experiment

    if metric not in METRICS:
        raise UsageError(f"'{metric}' is no metric; valid are {', '.join(METRICS)}")
    lines = describe_dataset(path) if is_dataset(path) else describe_experiment(open_experiment(path), metric)
    print("\n".join(lines))
