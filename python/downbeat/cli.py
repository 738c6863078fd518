"""Defines the command `downbeat`: registers its subcommands, and turns errors into a line and an exit status."""

from __future__ import annotations

import os
import sys
from typing import NoReturn, cast

import typer

from downbeat.commands import align, doctor, export, installation, locate, report, reproduce, run, trace
from downbeat.commands.help import HelpCommand, HelpGroup, LaunchingCommand, PassingCommand, usage_line, with_suggestion
from downbeat.errors import DownbeatError, UsageError
from downbeat.streams import shown
from downbeat.text import one_line

# click's UsageError; typer exports only subclasses.
PARSER_ERRORS = cast(tuple[type[typer.BadParameter]], typer.BadParameter.__bases__)

NAME = "downbeat"
app = typer.Typer(
    name=NAME,
    cls=HelpGroup,
    help="Experiments on MPI collectives, measured from a common start.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# The most frequently used commands come first.
app.command(cls=PassingCommand)(run.run)
app.command(cls=HelpCommand)(report.compare)
app.command(cls=HelpCommand)(report.report)
app.command(cls=HelpCommand)(report.show)
app.command(cls=HelpCommand)(doctor.doctor)
app.command(cls=PassingCommand)(run.tune)
app.command(cls=HelpCommand, context_settings={"allow_interspersed_args": False})(
    trace.trace
)  # the launcher has options, too
app.command(cls=HelpCommand)(trace.arrivals)
app.command(cls=LaunchingCommand)(locate.locate)
app.command(cls=HelpCommand)(align.align)
app.command(cls=HelpCommand)(export.export)
app.command(cls=HelpCommand)(reproduce.reproduce)
app.command(cls=HelpCommand, context_settings={"allow_interspersed_args": False})(align.timebase)
app.command(cls=HelpCommand)(installation.build)
app.command(cls=HelpCommand)(installation.config)


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Experiments on MPI collectives, measured from a common start."""
    if version:
        from downbeat.commands.installation import print_versions

        print_versions()
        raise typer.Exit
    if not context.invoked_subcommand:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(UsageError.status)


def main() -> None:
    """Runs the command; an error is one line on standard error."""
    # Jupyter sets MPLBACKEND, with which matplotlib fails to load without Jupyter's packages; no display is needed.
    os.environ.pop("MPLBACKEND", None)
    with shown():
        try:
            try:
                status = app(prog_name=NAME, standalone_mode=False)
            finally:
                sys.stdout.flush()
        except PARSER_ERRORS as error:
            end(usage_error(error), UsageError.status)
        except DownbeatError as error:
            end(str(error), error.status)
        except ModuleNotFoundError as error:
            if (error.name or "downbeat").startswith("downbeat"):
                raise
            end(
                f"this command needs the Python package {error.name}; run: pip install {error.name}",
                DownbeatError.status,
            )
        except OSError as error:  # e.g. a directory cannot be created
            where = f"'{error.filename}': " if error.filename else ""
            end(f"{where}{error.strerror or error}", DownbeatError.status)
    sys.exit(status)


def usage_error(error: typer.BadParameter) -> str:
    """Returns the line for an error of the command line parser."""
    # The error has no context if an option lacks its argument.
    context = error.ctx
    path = context.command_path if context else " ".join([NAME, *sys.argv[1:2]])
    return usage_line(error, path, context is not None and isinstance(context.command, PassingCommand))


def end(line: str, status: int) -> NoReturn:
    """Ends the command with a status, after one line on standard error."""
    print(f"downbeat: {with_suggestion(one_line(line))}", file=sys.stderr)
    sys.exit(status)
