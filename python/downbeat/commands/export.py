"""The command `downbeat export`, which writes a launch, an experiment or a recording in formats of other programs.

A recording is the directory of `downbeat trace` or `downbeat timebase`. Spans are the calls on a timeline of a viewer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from downbeat.commands import options
from downbeat.errors import UsageError
from downbeat.files import is_standard_output
from downbeat.streams import replace_line

if TYPE_CHECKING:
    import pandas as pd

    from downbeat.trace.recording import Recording
    from downbeat.trace.spans import Spans


def export(
    path: Annotated[
        Path,
        typer.Argument(
            help="A .nc file, the directory of an experiment, of downbeat trace or of downbeat timebase.",
            metavar="PATH",
            show_default=False,
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="csv, parquet or json (an object per line); timelines of a launch or a trace: perfetto; of a "
            "trace kineto; of its clocks openmetrics, perfetto-clocks.",
            metavar="KIND",
            autocompletion=options.FORMAT_NAMES,
        ),
    ],
    rows: Annotated[
        str, typer.Option(help="Rows: cells, samples or stamps.", metavar="WHAT", autocompletion=options.ROW_NAMES)
    ] = "cells",
    samples: Annotated[
        int, typer.Option(min=1, metavar="N", help="Samples of each cell in a launch's timelines, the first ones.")
    ] = 100,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write; - for standard output.  [default: -]", metavar="FILE"),
    ] = None,
    job: Annotated[str | None, typer.Option(metavar="NAME", help="Which of several jobs of downbeat trace.")] = None,
) -> None:
    """Export numbers to CSV, Parquet or JSON; timelines and clocks to formats of other tools.

    Cells: a summary over the valid samples of each cell. Samples: the metrics of each sample. Stamps: entry and exit of
    every rank. Times are in seconds; names of columns end in their unit. Timelines as kineto are a directory.
    """
    from downbeat.align.timebase import CLOCK_WRITERS
    from downbeat.report.export import FILE_KINDS
    from downbeat.trace.file import is_trace
    from downbeat.trace.recording import open_recording
    from downbeat.trace.spans import spans_of_recording
    from downbeat.trace.viewers import WRITERS

    if is_trace(path):
        refuse_rows(rows)
        if to in CLOCK_WRITERS:
            export_clocks(open_recording(path, job), to, output or Path("-"))
            return
        if to not in WRITERS:
            known = ", ".join((*WRITERS, *CLOCK_WRITERS))
            raise UsageError(f"unknown format '{to}' of a recording; choose one of {known}")
        check_viewer_output(path, to, output)
        export_spans(spans_of_recording(open_recording(path, job)), to, output)
    elif to in CLOCK_WRITERS:
        raise UsageError(f"{to} is for recordings, and '{path}' is no recording; give a directory of downbeat trace")
    elif to in WRITERS:
        refuse_rows(rows)
        export_launch_spans(path, to, output, samples)
    elif to in FILE_KINDS:
        export_rows(path, to, rows, output or Path("-"))
    else:
        raise UsageError(f"unknown format '{to}'; choose one of {', '.join((*FILE_KINDS, 'perfetto'))}")


def refuse_rows(rows: str) -> None:
    """Refuses --rows for formats without rows."""
    if rows != "cells":
        raise UsageError(f"--rows {rows} is for csv, parquet and json; timelines and clocks are exported whole")


def export_rows(path: Path, to: str, rows: str, output: Path) -> None:
    """Writes the numbers of a launch or an experiment; `to`: key of `FILE_KINDS`, `rows`: one of `ROWS`."""
    from downbeat.files import replacing
    from downbeat.report.export import FILE_KINDS, ROWS, frames
    from downbeat.run.tool_results import ToolExperiment, number_frames, open_results

    if rows not in ROWS:
        raise UsageError(f"unknown rows '{rows}'; choose one of {', '.join(ROWS)}")
    kind = FILE_KINDS[to]
    if is_standard_output(output) and kind.binary:
        raise UsageError(f"{to} cannot go to standard output; give a file with --output")
    experiment = open_results([path])
    sources = [launch.path for launch in experiment.launches] + ([path] if path.is_file() else [])
    if output.exists() and any(output.samefile(source) for source in sources):
        raise UsageError(f"'{output}' is the source of the export; give another file with --output")
    tables = number_frames(experiment, rows) if isinstance(experiment, ToolExperiment) else frames(experiment, rows)
    # Names of columns end with their unit, as in the CSV of downbeat-bench: makespan_median_s, size_byte.
    content = (
        frame.rename(columns={name: f"{name}_{unit}" for name, unit in frame.attrs["units"].items()})
        for frame in counted_rows(tables)
    )
    with replacing(output, kind.binary) as stream:
        kind.write(content, stream)


def counted_rows(content: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Yields the frames unchanged and shows the number of rows on a terminal: millions of stamps take a minute."""
    on_terminal = sys.stderr.isatty()
    rows = 0
    for frame in content:
        yield frame
        rows += len(frame)
        if on_terminal:
            replace_line(f"{rows:,} rows")
    if on_terminal:
        print(file=sys.stderr)


def check_viewer_output(path: Path, to: str, output: Path | None) -> None:
    """Refuses an output that a format of `WRITERS` cannot have: none, standard output, or the source itself.

    Only perfetto can go to standard output; kineto is a directory.
    """
    if output is None or (is_standard_output(output) and to != "perfetto"):
        raise UsageError(f"give the {'file' if to == 'perfetto' else 'directory'} to write with --output")
    if output.exists() and path.exists() and output.samefile(path):
        raise UsageError(f"'{output}' is the source of the export; give another file with --output")


def export_launch_spans(path: Path, to: str, output: Path | None, samples: int) -> None:
    """Writes the timelines of a launch's ranks for the first samples of each cell."""
    from downbeat.run.experiment import open_experiment
    from downbeat.trace.spans import spans_of_launch

    if to == "kineto":
        raise UsageError("kineto is a format of recordings; of a launch choose perfetto")
    check_viewer_output(path, to, output)
    launches = open_experiment(path).launches
    if len(launches) != 1:
        raise UsageError(
            f"'{path}' has {len(launches)} launches; give the samples.nc of one, e.g. '{launches[0].path}'"
        )
    export_spans(spans_of_launch(launches[0].path, samples), to, output)


def export_spans(spans: Spans, to: str, output: Path | None) -> None:
    """Writes spans in a format of viewers; prints notes on missing data."""
    from downbeat.trace.viewers import WRITERS

    assert output is not None
    for line in [*spans.notes, *WRITERS[to](spans, output)]:
        print(line, file=sys.stderr)


def export_clocks(recording: Recording, to: str, output: Path) -> None:
    """Writes the clocks of a recording's hosts in a format of another tool."""
    from downbeat.align.timebase import CLOCK_WRITERS, Timebase

    if is_standard_output(output) and to != "openmetrics":
        raise UsageError("give the file to write with --output")
    base = Timebase(recording)
    CLOCK_WRITERS[to](base, output)
    for line in base.notes():
        print(line, file=sys.stderr)
