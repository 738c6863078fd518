"""`downbeat export`: the numbers of a launch or an experiment for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from downbeat.commands import completion
from downbeat.errors import UsageError


def export(
    path: Annotated[
        Path, typer.Argument(help="A .nc file, or the directory of an experiment.", metavar="PATH", show_default=False)
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="Format: csv, parquet or json (an object per line).",
            metavar="KIND",
            autocompletion=completion.FORMATS,
        ),
    ],
    rows: Annotated[
        str, typer.Option(help="Rows: cells, samples or stamps.", metavar="WHAT", autocompletion=completion.ROWS)
    ] = "cells",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write; - for standard output.  [default: -]", metavar="FILE"),
    ] = None,
) -> None:
    """Export numbers to CSV, Parquet or JSON.

    Cells: a summary over the valid samples of each cell. Samples: the metrics of each sample. Stamps: entry and exit of
    every rank. Times are in seconds; column names end in their unit.
    """
    from downbeat.base.files import is_standard_output, replacing
    from downbeat.base.text import named_with_units
    from downbeat.experiment.experiment import open_experiment
    from downbeat.tables.export import KINDS, ROWS, frames

    if to not in KINDS:
        raise UsageError(f"unknown format '{to}'; choose one of {', '.join(KINDS)}")
    if rows not in ROWS:
        raise UsageError(f"unknown rows '{rows}'; choose one of {', '.join(ROWS)}")
    kind = KINDS[to]
    output = output or Path("-")
    if is_standard_output(output) and kind.binary:
        raise UsageError(f"{to} cannot go to standard output; give a file with --output")
    experiment = open_experiment(path)
    if output.exists() and any(output.samefile(launch.path) for launch in experiment.launches):
        raise UsageError(f"'{output}' is the source of the export; give another file with --output")
    content = map(named_with_units, frames(experiment, rows))
    with replacing(output, kind.binary) as stream:
        kind.write(content, stream)
