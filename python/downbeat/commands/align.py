"""The commands `downbeat align`, which puts traces of other tools on one time axis, and `downbeat timebase`.

`downbeat timebase` samples the clocks of all hosts of a job, so that stamps of any tool can be moved to one axis later.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from downbeat.commands.options import LIBRARY_NAMES
from downbeat.errors import UsageError

MERGED_SUFFIXES = (".json", ".json.gz")  # of a trace of all ranks
EXIT_NO_BOUND = 3  # the error of some rank on the axis has no bound


def align(
    traces: Annotated[
        list[Path],
        typer.Argument(
            help="Traces of all ranks, or a directory of them: Kineto or Chrome JSON, Nsight's SQLite, OTF2, "
            "downbeat trace. RANK=FILE where a file does not say its rank.",
            metavar="TRACE",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write one trace of all ranks, .json or .json.gz."),
    ] = None,
    moved: Annotated[
        Path | None, typer.Option("--moved", metavar="DIR", help="Write each Chrome trace anew, on the axis.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the clocks as JSON; - for standard output.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="FILE", help="Write the clocks and who is late at which collective, HTML."),
    ] = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN=OPERATION",
            help="What kernels of another library do: a regular expression for their names, and allreduce, bcast ... "
            "or none. Repeatable.",
            show_default=False,
        ),
    ] = None,
    job: Annotated[str | None, typer.Option(metavar="NAME", help="Which of several jobs of downbeat trace.")] = None,
    wander: Annotated[
        float,
        typer.Option(
            min=0.0, max=1e-3, metavar="PER_S", help="Largest change of a clock's rate, in 1/s: the bounds hold for it."
        ),
    ] = 2e-9,
    steady: Annotated[
        bool,
        typer.Option("--steady-clocks", help="Nobody steers the clocks: bounds for oscillators alone, not for NTP."),
    ] = False,
) -> None:
    """Put traces of several ranks on one time axis, by the collectives in them.

    Exit status: 0 all ranks are on one axis, with a bound; 1 failure; 2 bad arguments; 3 a rank has no bound: its calls
    contradict others', limit it from one side, or do not tie it to the first rank.
    """
    from downbeat.align.clocks import align_traces
    from downbeat.align.formats import check_moved, kernels_of, read_all, write_merged, write_moved
    from downbeat.errors import UsageError
    from downbeat.files import is_standard_output
    from downbeat.output.blocks import Depth, Line
    from downbeat.output.page import write_page
    from downbeat.output.records import view_record, write_record
    from downbeat.output.terminal import block_lines, view_lines
    from downbeat.views.alignment import alignment_view, following

    if output and not output.name.endswith(MERGED_SUFFIXES):
        valid = " or ".join(f"FILE{suffix}" for suffix in MERGED_SUFFIXES)
        raise UsageError(f"--output writes one trace, {valid}, not '{output}'; --page writes HTML")
    inputs_of_job = [path / job if job and path.is_dir() else path for path in traces]
    rank_traces, notes = read_all(inputs_of_job, kernels_of(kernel or ()))
    steered = not steady and not all(trace.oscillator for trace in rank_traces)
    aligned = align_traces(rank_traces, wander, steered)
    aligned = replace(aligned, notes=(*aligned.notes, *notes))
    inputs = {trace.path.resolve() for trace in rank_traces}
    if output and output.resolve() in inputs:
        raise UsageError(f"--output would overwrite '{output}'; give another file")
    if moved:
        check_moved(moved, [trace.path for trace in rank_traces])
    if output:
        write_merged(rank_traces, aligned.corrected, output)
    if moved:
        moved.mkdir(parents=True, exist_ok=True)
        for trace in rank_traces:
            write_moved(trace, aligned.corrected, moved / trace.path.name)
    view = alignment_view(aligned, Depth.PAGE if page else Depth.TEXT)
    if json:
        write_record(view_record(view), json)
    if page:
        write_page(page, view)
    if is_standard_output(page) and aligned.notes:
        print("\n".join(Line(note).text for note in aligned.notes), file=sys.stderr)
    if not (is_standard_output(json) or is_standard_output(page)):
        written = [Line(f"{output} (open it in ui.perfetto.dev)", label="written")] if output else []
        written += [Line(str(file), label="written") for file in (moved, json, page) if file]
        print("\n".join([*view_lines(view), "", *block_lines([*written, *following(traces, output, page)])]).rstrip())
    if not aligned.whole:
        raise typer.Exit(EXIT_NO_BOUND)


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
            autocompletion=LIBRARY_NAMES,
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
        chosen_library,
        launched,
        launcher_command,
        sampler_command,
        sampling,
        sampling_start,
    )
    from downbeat.commands.trace import run_traced
    from downbeat.trace.file import is_trace

    name = chosen_library(mpi)
    is_launched = launched(alone=not command)  # by srun or mpirun, as one of several processes
    if is_launched and command:
        raise UsageError(
            "a launcher started several of this; put it before the launcher: downbeat timebase -- srun ..."
        )
    if output.exists() and (not output.is_dir() or is_trace(output)):
        raise UsageError(f"'{output}' is there already; choose another directory with --output")
    if is_launched:
        start = sampling_start(sampler_command(interval, seconds, until_eof=False), name, os.environ, output)
        os.execve(start.command[0], start.command, start.environment)
    words, variables = launcher_command(name, launcher)
    start = sampling_start([*words, *sampler_command(interval, seconds, until_eof=True)], name, variables, output)
    status = 0
    with sampling(start, output, interval) as started:
        if command:
            status = run_traced(command, os.environ, str(output.resolve()))
        else:
            wait_for_signal(started)
    base = open_timebase(output)
    print("\n".join([*base.table(), *base.notes()]), file=sys.stderr)
    if status:
        raise typer.Exit(status)


def wait_for_signal(started: subprocess.Popen[bytes]) -> None:
    """Waits until a process ends; returns early after Ctrl-C or SIGTERM."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    with contextlib.suppress(KeyboardInterrupt):
        started.wait()
