"""The command `downbeat`: its subcommands, and how errors end it."""

from __future__ import annotations

import os
import sys

import typer

from downbeat.base.streams import shown
from downbeat.base.text import one_line
from downbeat.commands import arrivals, build, compare, doctor, export, report, reproduce, run, show, trace, tune
from downbeat.commands.options import PassingCommand
from downbeat.errors import DownbeatError

app = typer.Typer(
    name="downbeat",
    help="Experiments on MPI collectives, measured from a common start.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# In the order in which a newcomer needs them.
app.command()(build.build)
app.command()(doctor.doctor)
app.command(cls=PassingCommand)(run.run)
app.command()(compare.compare)
app.command()(report.report)
app.command()(show.show)
app.command()(export.export)
app.command(cls=PassingCommand)(tune.tune)
app.command()(reproduce.reproduce)
app.command()(trace.trace)
app.command()(arrivals.arrivals)


@app.callback(invoke_without_command=True)
def options(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    """Experiments on MPI collectives, measured from a common start."""
    if version:
        from downbeat.commands.version import print_versions

        print_versions()
        raise typer.Exit


def main() -> None:
    """Runs the command; an error is one line on standard error."""
    # Nothing is drawn on a screen. matplotlib does not load if Jupyter has set it and is not installed here.
    os.environ.pop("MPLBACKEND", None)
    with shown():
        try:
            try:
                app()
            finally:
                sys.stdout.flush()
        except DownbeatError as error:
            print(f"downbeat: {one_line(str(error))}", file=sys.stderr)
            sys.exit(error.status)
        except OSError as error:  # a directory that cannot be made
            where = f"'{error.filename}': " if error.filename else ""
            print(f"downbeat: {one_line(f'{where}{error.strerror or error}')}", file=sys.stderr)
            sys.exit(DownbeatError.status)
