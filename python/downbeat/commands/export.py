"""`downbeat export`: the numbers of a launch or an experiment, or a recording, for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from downbeat.base.files import is_standard_output
from downbeat.commands import completion
from downbeat.errors import UsageError


def export(
    path: Annotated[
        Path,
        typer.Argument(
            help="A .nc file, the directory of an experiment or of downbeat trace, a file of downbeat timebase.",
            metavar="PATH",
            show_default=False,
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="csv, parquet or json (an object per line); of traces perfetto, otf2, kineto; of clocks openmetrics, "
            "perfetto.",
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
    job: Annotated[str | None, typer.Option(metavar="NAME", help="Which of several jobs of downbeat trace.")] = None,
) -> None:
    """Export numbers to CSV, Parquet or JSON; traces and clocks to formats of other tools.

    Cells: a summary over the valid samples of each cell. Samples: the metrics of each sample. Stamps: entry and exit of
    every rank. Times are in seconds; names of columns end in their unit. A trace as otf2 or kineto is a
    directory.
    """
    from downbeat.align.formats import own
    from downbeat.base.files import replacing
    from downbeat.base.text import named_with_units
    from downbeat.experiment.experiment import open_experiment
    from downbeat.tables.export import KINDS, ROWS, frames
    from downbeat.timebase import file as timebase

    if own.recognizes(path):
        refuse_rows(rows)
        export_recording(path, to, output, job)
        return
    if timebase.recognizes(path):
        refuse_rows(rows)
        export_timebase(path, to, output or Path("-"))
        return
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


def refuse_rows(rows: str) -> None:
    """Refuses rows where there are none."""
    if rows != "cells":
        raise UsageError(f"--rows {rows} is for launches and experiments; traces and clocks are exported whole")


def export_recording(path: Path, to: str, output: Path | None, job: str | None) -> None:
    """Writes what `downbeat trace` recorded in a format of another tool."""
    from downbeat.align.formats.recorded import WRITERS, Recording, notes
    from downbeat.traces.trace import open_trace

    if to not in WRITERS:
        raise UsageError(f"unknown format '{to}' of a recording; choose one of {', '.join(WRITERS)}")
    if output is None or (is_standard_output(output) and to != "perfetto"):
        raise UsageError(f"give the {'file' if to == 'perfetto' else 'directory'} to write with --output")
    recording = Recording(open_trace(path, job))
    WRITERS[to](recording, output)
    for line in notes(recording, kineto=to == "kineto"):
        print(line, file=sys.stderr)


def export_timebase(path: Path, to: str, output: Path) -> None:
    """Writes what `downbeat timebase` sampled in a format of another tool."""
    from downbeat.timebase.convert import open_timebase
    from downbeat.timebase.export import WRITERS

    if to not in WRITERS:
        raise UsageError(f"unknown format '{to}' of a time base; choose one of {', '.join(WRITERS)}")
    if is_standard_output(output) and to == "perfetto":
        raise UsageError("give the file to write with --output")
    if output.exists() and output.samefile(path):
        raise UsageError(f"'{output}' is the source of the export; give another file with --output")
    base = open_timebase(path)
    WRITERS[to](base, output)
    for line in base.notes():
        print(line, file=sys.stderr)
