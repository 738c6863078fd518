"""`downbeat export`: the numbers of a launch or an experiment for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from downbeat.errors import DownbeatError, UsageError


def export(
    path: Annotated[
        Path, typer.Argument(help="File .nc, or directory of an experiment.", metavar="PATH", show_default=False)
    ],
    to: Annotated[str, typer.Option("--to", help="csv, parquet or json (an object per line).", metavar="KIND")],
    rows: Annotated[str, typer.Option(help="A row is: cells, samples or stamps.", metavar="WHAT")] = "cells",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write.  [default: standard output]", metavar="FILE")
    ] = None,
) -> None:
    """Export numbers to CSV, Parquet or JSON.

    Cells are summaries over valid samples, samples have the metrics of each, stamps are every rank's entry and exit.
    Times are seconds; names of columns end in their unit.
    """
    from downbeat.data.frames import ROWS, frames
    from downbeat.data.table_writers import KINDS
    from downbeat.data.units import named_with_units
    from downbeat.experiment.durable import replacing
    from downbeat.experiment.experiment import open_experiment

    if to not in KINDS:
        raise UsageError(f"'{to}' is no kind of file; valid are {', '.join(KINDS)}")
    if rows not in ROWS:
        raise UsageError(f"'{rows}' are no rows; valid are {', '.join(ROWS)}")
    kind = KINDS[to]
    if output is None and kind.binary:
        raise UsageError(f"{to} is not for standard output; name a file with --output")
    experiment = open_experiment(path)
    if output and output.exists() and any(output.samefile(launch.path) for launch in experiment.launches):
        raise UsageError(f"'{output}' holds the samples that are to be exported; name another file with --output")
    content = map(named_with_units, frames(experiment, rows))
    if output is None:
        kind.write(content, sys.stdout)
        return
    try:
        with replacing(output, kind.binary) as stream:
            kind.write(content, stream)
    except OSError as error:
        raise DownbeatError(f"cannot write '{output}': {error.strerror}") from error
