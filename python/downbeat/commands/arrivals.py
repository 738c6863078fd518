"""`downbeat arrivals`: how an application's ranks arrive at its collectives, and what that costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def arrivals(
    trace: Annotated[
        Path,
        typer.Argument(help="Directory of downbeat trace, or a file of it.", metavar="TRACE", show_default=False),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Page to write, HTML; - for standard output.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write JSON; - for standard output.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Experiment of `downbeat run` to compare operations with.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the arrivals at --site for --pattern 'trace(file=FILE)'.")
    ] = None,
    site: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Call site to export, as in the table [1].")
    ] = None,
    phase: Annotated[
        str | None, typer.Option(metavar="NAME", help="Look at one phase of MPI_Pcontrol, and those within it.")
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", metavar="DIR", help="Also write each picture: PNG, PDF, CSV.")
    ] = None,
    job: Annotated[str | None, typer.Option(metavar="NAME", help="Which of several jobs of the directory.")] = None,
) -> None:
    """Say who is late at which collective, how late, and what it costs."""
    from downbeat.errors import UsageError
    from downbeat.files import is_standard_output, write_text
    from downbeat.report.page import write_page, write_pictures
    from downbeat.trace.arrivals import MOST, baseline_command, find_arrivals, of_phase, with_baseline
    from downbeat.trace.page import make_page, render, to_json
    from downbeat.trace.patterns import write_export
    from downbeat.trace.trace import open_trace

    if site and not export:
        raise UsageError("--site says which arrivals to export; add --export FILE")
    found = find_arrivals(open_trace(trace, job, MOST))
    if phase is not None:
        found = of_phase(found, phase)
    times = with_baseline(found, baseline) if baseline else None
    if export:
        write_export(found, (site or 1) - 1, export)
    if output or pictures:
        page = make_page(found, f"Arrivals: {trace.resolve().name}", times)
        if pictures:
            write_pictures(pictures, page)
        if output:
            write_page(output, page)
    if json:
        write_text(json, to_json(found, times))
    if not (is_standard_output(output) or is_standard_output(json)):
        print(render(found, times, baseline_command(found)))
