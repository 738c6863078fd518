"""`downbeat report`, one page with findings and pictures, and `downbeat show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from downbeat.commands import options
from downbeat.errors import UsageError

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


def show(
    path: Annotated[
        Path, typer.Argument(help="A .nc file, or the directory of an experiment.", metavar="PATH", show_default=False)
    ],
    metric: Annotated[
        str, typer.Option(help="Metric of each sample.", metavar="NAME", autocompletion=options.METRICS)
    ] = "latency_avg",
    json: Annotated[
        Path | None,
        typer.Option(help="Write all numbers as JSON; - for standard output.", metavar="FILE", show_default=False),
    ] = None,
) -> None:
    """Show the results of a launch or an experiment.

    A row per operation and size, synchronizers side by side. For files of the experiments on clocks and synchronizers:
    their variables.
    """
    from downbeat.comparison.tables import (
        dataset_lines,
        dataset_record,
        experiment_record,
        experiment_sheet,
        is_dataset,
    )
    from downbeat.data.metrics import METRICS
    from downbeat.files import is_standard_output
    from downbeat.run.experiment import open_experiment
    from downbeat.show import write_record

    if metric not in METRICS:
        raise UsageError(f"unknown metric '{metric}'; choose one of {', '.join(METRICS)}")
    if is_dataset(path):
        lines = dataset_lines(path)
        record = dataset_record(path) if json else {}
    else:
        experiment = open_experiment(path)
        lines = experiment_sheet(experiment, metric).text()
        record = experiment_record(experiment, metric) if json else {}
    if not is_standard_output(json):
        print("\n".join(lines))
    if json:
        write_record(record, json)
    if json and not is_standard_output(json):
        print(f"written: {json}")
