"""`downbeat report`: one page that says what was found, with pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_NAME = "report.html"


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Directories of experiments, files .nc.", metavar="PATH", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Page to write [report.html there]."),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option("--pictures", metavar="DIR", help="Write all pictures there: PNG, PDF, CSV."),
    ] = None,
) -> None:
    """Write a page with verdicts and pictures that opens offline."""
    from downbeat.report.assemble import make_report
    from downbeat.report.page import write_page
    from downbeat.report.picture_files import write_pictures

    page = make_report(paths)
    target = output or (paths[0] if paths[0].is_dir() else paths[0].parent) / DEFAULT_NAME
    write_page(target, page)
    if pictures:
        write_pictures(pictures, page)
    print(target)
