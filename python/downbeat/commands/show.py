"""`downbeat show`: what a launch or an experiment holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def show(
    path: Annotated[Path, typer.Argument(help="file .nc of downbeat-bench, or directory of an experiment")],
) -> None:
    """Show what a launch or an experiment holds."""
    from downbeat.experiment.experiment import open_experiment

    print(open_experiment(path).cells.to_string())
