"""The commands `downbeat report` (a page with findings and pictures), `downbeat show` and `downbeat compare`."""

from __future__ import annotations

import dataclasses
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from downbeat.commands.options import MEASURE_NAMES
from downbeat.errors import UsageError

DEFAULT_NAME = "report.html"


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Directories of experiments, .nc files, or results of other tools.", metavar="PATH", show_default=False
        ),
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
    from downbeat.output.page import write_page, write_pictures
    from downbeat.views.report import make_report

    page = make_report(paths)
    if pictures:
        write_pictures(pictures, page)
    if is_standard_output(output):
        write_page(Path("-"), page)
        return
    directory = paths[0] if paths[0].is_dir() else paths[0].parent
    target = output or directory / DEFAULT_NAME
    write_page(target, page)
    print(target)


def show(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="A .nc file, the directory of an experiment, or results of other tools.",
            metavar="PATH",
            show_default=False,
        ),
    ],
    metric: Annotated[
        str,
        typer.Option(
            help="Metric of each sample.  [default: latency_avg; of other tools all]",
            metavar="NAME",
            autocompletion=MEASURE_NAMES,
            show_default=False,
        ),
    ] = "",
    json: Annotated[
        Path | None,
        typer.Option(help="Write all numbers as JSON; - for standard output.", metavar="FILE", show_default=False),
    ] = None,
) -> None:
    """Show the results of a launch or an experiment.

    A row per operation and size, synchronizers side by side. For files of the experiments on clocks and synchronizers:
    their variables.
    """
    from downbeat.data.readers.kinds import MEASURES
    from downbeat.files import is_standard_output
    from downbeat.output.records import view_record, write_record
    from downbeat.output.terminal import view_lines
    from downbeat.run.tool_results import ToolExperiment, is_ours, open_results
    from downbeat.views.clocks import clock_file_view, is_clock_file
    from downbeat.views.results import results_view
    from downbeat.views.tool_results import tool_view

    if metric not in ("", *MEASURES):
        raise UsageError(f"unknown metric '{metric}'; choose one of {', '.join(MEASURES)}")
    if len(paths) == 1 and is_ours(paths[0]) and is_clock_file(paths[0]):
        view = clock_file_view(paths[0])
    else:
        opened = open_results(paths)
        if isinstance(opened, ToolExperiment):
            view = tool_view(opened, metric)
        else:
            view = results_view(opened, metric or "latency_avg")
    if not is_standard_output(json):
        print("\n".join(view_lines(view)))
    if json:
        write_record(view_record(view), json)
    if json and not is_standard_output(json):
        print(f"written: {json}")


# Exit statuses with --fail-on.
EXIT_DIFFERENT = 3
EXIT_UNDECIDED = 4


class FailOn(StrEnum):
    """Verdicts that make the exit status differ from 0."""

    NOTHING = "nothing"
    SLOWER = "slower"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


class Format(StrEnum):
    """Formats of standard output."""

    TABLE = "table"
    MARKDOWN = "markdown"


def compare(
    what: Annotated[
        list[str],
        typer.Argument(metavar="WHAT", help="One or two experiments, and conditions on them.", show_default=False),
    ],
    metric: Annotated[
        str,
        typer.Option(
            help="Metric of each sample.  [default: latency_avg; of other tools what both sides have]",
            metavar="NAME",
            autocompletion=MEASURE_NAMES,
            show_default=False,
        ),
    ] = "",
    statistic: Annotated[
        str,
        typer.Option(
            help="Statistic over the samples of a launch, e.g. p95.  [default: median; of other tools what both have]",
            metavar="NAME",
            show_default=False,
        ),
    ] = "",
    margin: Annotated[
        float, typer.Option(help="A ratio this close to 1 is equivalent: 0.02 is 2 %.", metavar="SHARE")
    ] = 0.02,
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.", metavar="SHARE")] = 0.95,
    fail_on: Annotated[
        FailOn,
        typer.Option(help="Fail if a cell is: slower, different, undecided (see above).", metavar="WHEN"),
    ] = FailOn.NOTHING,
    history: Annotated[
        list[Path] | None,
        typer.Option(
            help="Earlier experiments of the same kind, or a directory of them; may be repeated.", metavar="DIR"
        ),
    ] = None,
    output_format: Annotated[
        Format, typer.Option("--format", help="Format of standard output: table or markdown.", metavar="KIND")
    ] = Format.TABLE,
    json: Annotated[
        Path | None,
        typer.Option(help="Write all numbers as JSON; - for standard output.", metavar="FILE", show_default=False),
    ] = None,
    mark: Annotated[
        bool,
        typer.Option("--mark", help="If B is slower than --history, leave it out of later histories: B/slower.json."),
    ] = False,
) -> None:
    """Report which cells of B are faster or slower than in A.

    compare A: the two variants of one experiment (downbeat run --variant).

    compare A synchronizer=harmonize synchronizer=mpi_barrier: two values of a
    factor in one experiment. Commas add conditions: library=mpich,size=8.

    compare A B: two experiments, directories of .nc files, or .nc files. The
    verdicts assume that nothing else changed between them; --history DIR
    measures how much such experiments differ. compare B --history DIR: B
    against all of them.

    compare before/*.log after/*.log: results of other tools (OSU, IMB) in two
    directories. Elsewhere the word vs stands between the files of A and of B.

    Exit status: 0. With --fail-on slower: 3 if a cell is slower. With --fail-on
    different: 3 if a cell is slower or faster. With --fail-on undecided: 3 if a
    cell is slower, else 4 if one is undecided or unmatched. Cells from a common
    start count, if there are any, else all; rows of a rare state of the machine
    count from 5 launches on.

    --mark writes B/slower.json if a cell is slower than in the history. Later
    histories leave B out, and say so; remove the file to accept B.
    """
    from downbeat.comparison.compare import Rule, comparison_of
    from downbeat.comparison.conditions import read_arguments
    from downbeat.comparison.marking import check_markable, mark_lines
    from downbeat.files import is_standard_output
    from downbeat.output.markdown import markdown_lines
    from downbeat.output.terminal import view_lines
    from downbeat.views.comparison import comparison_view, write_comparison

    arguments = read_arguments(what, history)
    compared = arguments.b or arguments.a
    if mark:
        check_markable(compared, arguments.history)
    rule = Rule(metric, statistic, margin, confidence)
    result = comparison_of(arguments.a, arguments.b, history=arguments.history, where=arguments.where, rule=rule)
    result = dataclasses.replace(result, notes=[*arguments.notes, *result.notes])
    view = comparison_view(result)
    if not is_standard_output(json):
        print("\n".join(markdown_lines(view) if output_format is Format.MARKDOWN else view_lines(view)))
    if json:
        write_comparison(view, json)
    if json and not is_standard_output(json):
        print(f"written: {json}")
    question = result.question
    for line in mark_lines(compared.path, question) if mark else ():
        print(line, file=sys.stderr)
    raise typer.Exit(exit_status(set(question.verdicts.verdict), fail_on))


def exit_status(verdicts: set[str], fail_on: FailOn) -> int:
    """The exit status for the verdicts of a comparison."""
    if fail_on is FailOn.NOTHING:
        return 0
    failing = {"slower", "faster"} if fail_on is FailOn.DIFFERENT else {"slower"}
    if verdicts & failing:
        return EXIT_DIFFERENT
    if fail_on is FailOn.UNDECIDED and verdicts & {"undecided", "unmatched"}:
        return EXIT_UNDECIDED
    return 0
