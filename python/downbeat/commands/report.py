"""`downbeat report`: one page with findings and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_NAME = "report.html"


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Directories of experiments, or .nc files.", metavar="PATH", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Page to write [report.html beside the data]; - for standard output."
        ),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option("--pictures", metavar="DIR", help="Also write each picture: PNG, PDF, CSV."),
    ] = None,
) -> None:
    """Write one HTML page with findings and pictures; it opens offline."""
    from downbeat.files import is_standard_output
    from downbeat.report.assemble import make_report
    from downbeat.report.page import write_page, write_pictures

    page = make_report(paths)
    if pictures:
        write_pictures(pictures, page)
    if is_standard_output(output):
        write_page(Path("-"), page)
        return
    target = output or (paths[0] if paths[0].is_dir() else paths[0].parent) / DEFAULT_NAME
    write_page(target, page)
    print(target)
