"""`downbeat timebase`: the clocks of a job's hosts against one, for stamps of any tool."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from downbeat.commands.completion import LIBRARIES
from downbeat.errors import UsageError


def timebase(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="Sample while this runs, e.g. mpirun -n 4 ./application.  [default: until Ctrl-C]",
            metavar="COMMAND",
            show_default=False,
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Directory to write.")] = Path(
        "timebase"
    ),
    interval: Annotated[
        float, typer.Option(min=0.01, max=3600.0, metavar="S", help="From one sample to the next, s.")
    ] = 1.0,
    seconds: Annotated[
        float | None, typer.Option(min=0.0, metavar="S", help="End after this time.  [default: with the command]")
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="MPI library that connects the hosts.  [default: the first]",
            autocompletion=LIBRARIES,
        ),
    ] = None,
    launcher: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Starts one process per host.  [default: on the nodes of the job]"),
    ] = None,
) -> None:
    """Sample the clocks of all hosts of a job against one, so that any tool's stamps can be moved to one axis.

    Under srun or mpirun, one process per host, it samples until a signal. Else it starts these processes itself, and
    runs the command beside them. Exit status: the command's; 1 if nothing was sampled; 2 bad arguments.
    """
    from downbeat.align.timebase import open_timebase
    from downbeat.align.timebase_start import (
        launched,
        launcher_command,
        library_for,
        sampler_command,
        sampling,
        sampling_start,
    )
    from downbeat.commands.trace import run_launcher
    from downbeat.trace.file import is_trace

    name = library_for(mpi)
    several = launched(alone=not command)
    if several and command:
        raise UsageError(
            "a launcher started several of this; put it before the launcher: downbeat timebase -- srun ..."
        )
    if output.exists() and (not output.is_dir() or is_trace(output)):
        raise UsageError(f"'{output}' is there already; choose another directory with --output")
    if several:
        start = sampling_start(sampler_command(interval, seconds, until_eof=False), name, os.environ, output)
        os.execve(start.command[0], start.command, start.environment)
    words, variables = launcher_command(name, launcher)
    start = sampling_start([*words, *sampler_command(interval, seconds, until_eof=True)], name, variables, output)
    status = 0
    with sampling(start, output, interval) as started:
        if command:
            status = run_launcher(command, os.environ, str(output.resolve()))
        else:
            wait_for_signal(started)
    base = open_timebase(output)
    print("\n".join([*base.table(), *base.notes()]), file=sys.stderr)
    if status:
        raise typer.Exit(status)


def wait_for_signal(started: subprocess.Popen[bytes]) -> None:
    """Waits until processes end, or somebody ends this one."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    with contextlib.suppress(KeyboardInterrupt):
        started.wait()
