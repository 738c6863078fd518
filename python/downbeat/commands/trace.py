"""The commands `downbeat trace`, which records the collectives of an unmodified MPI program, and `downbeat arrivals`.

`downbeat arrivals` reports late ranks in such a recording.
"""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from downbeat.errors import DownbeatError, UsageError
from downbeat.files import write_text
from downbeat.run.job import MARK, Guard, remove_all
from downbeat.run.launch import INTERRUPTIONS, PR_SET_PDEATHSIG, not_ignored

GRACE_SECONDS = 10  # for an interrupted launcher to end its ranks; then it is killed
STOPS = (*INTERRUPTIONS, signal.SIGALRM)  # SIGALRM: GRACE_SECONDS are over


def trace(
    command: Annotated[
        list[str],
        typer.Argument(
            help="The launcher's command, e.g. mpirun -n 4 ./application.",
            metavar="COMMAND",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory to write.", metavar="DIR", show_default=False)
    ],
    harmonize: Annotated[bool, typer.Option("--harmonize", help="Give barriers a common start.")] = False,
    record: Annotated[bool, typer.Option(help="Record all collectives.")] = True,
    callers: Annotated[
        str, typer.Option(help="Whose barriers are harmonized: executable, or all, libraries too.", metavar="WHOSE")
    ] = "executable",
    skip: Annotated[
        int, typer.Option(min=0, help="Warm-up samples after harmonized barriers, per class.", metavar="N")
    ] = 0,
    records: Annotated[
        int,
        typer.Option(min=1, help="Calls per rank to keep one by one, 64 bytes each; of more, a sample.", metavar="N"),
    ] = 1_000_000,
    sync_every: Annotated[
        str, typer.Option(help="Synchronize clocks no more often than this, s; off: at both ends.", metavar="S")
    ] = "off",
    mpi: Annotated[
        str | None, typer.Option(metavar="NAME", help="MPI library of the program [as linked, else the launcher's].")
    ] = None,
    preload: Annotated[
        str | None, typer.Option(metavar="PATH", help="libdownbeat-preload.so [of the build, else as installed].")
    ] = None,
) -> None:
    """Run an unmodified MPI program; record its collectives, or give its barriers a common start.

    Exit status: the launcher's; 1 if nothing was written; 2 bad arguments.
    """
    from downbeat.output.terminal import view_lines
    from downbeat.trace.command import why_nothing
    from downbeat.trace.file import TRACE_SUFFIXES, jobs_in
    from downbeat.trace.recording import open_recording
    from downbeat.trace.start import preloaded
    from downbeat.views.trace import recording_view

    if not harmonize and not record:
        raise UsageError("--no-record without --harmonize does nothing; leave one out")
    if output.exists() and any(file.suffix in TRACE_SUFFIXES for file in output.iterdir()):
        raise UsageError(f"'{output}' has a trace already; choose another directory")
    settings = {
        "MODE": ",".join(["record"] * record + ["harmonize"] * harmonize),
        "DIR": str(output.absolute()),
        "RECORDS": str(records),
        "SYNC_EVERY": sync_every,
        "CALLERS": callers,
        "SKIP": str(skip),
    }
    start = preloaded(command, settings, mpi, preload)
    output.mkdir(parents=True, exist_ok=True)
    status = run_traced(start.command, start.environment, str(output.resolve()))
    if not any(file.suffix in TRACE_SUFFIXES for file in output.iterdir()):
        reason = why_nothing(command)
        if status:
            reason = f"the launcher ended with status {status} before anything was recorded"
        raise DownbeatError(f"'{output}' is empty; {reason}")
    jobs = jobs_in(output)
    for job in jobs:
        if len(jobs) > 1:
            print(f"job {job}", file=sys.stderr)
        view = recording_view(open_recording(output, job=job), output, status, job if len(jobs) > 1 else "")
        print("\n".join(view_lines(view)), file=sys.stderr)
    if status:
        raise typer.Exit(status)


def run_traced(command: Sequence[str], environment: Mapping[str, str], mark: str) -> int:
    """Runs a launcher until it ends; if this process ends earlier, the launcher and its ranks end too.

    A first signal terminates the launcher, a second one kills it. Ctrl-C of the terminal also reaches the launcher
    itself.

    Args:
        command: the launcher, its program and their arguments.
        environment: of the launcher and the program.
        mark: value of `MARK` in the environment, unique on this machine.

    Returns:
        The exit status; 130 after a signal to this process, 128 + N after signal N to the launcher.
    """
    launcher: subprocess.Popen[bytes] | None = None
    signals: list[int] = []

    # The handler raises nothing: an exception could interrupt any line, including the cleanup.
    def stop(number: int, _frame: object) -> None:
        signals.append(number)
        if launcher is not None:
            end()

    def end() -> None:
        assert launcher
        if len(signals) > 1:
            launcher.kill()
        else:
            launcher.terminate()
            signal.alarm(GRACE_SECONDS)

    libc = ctypes.CDLL(None)
    begin = time.time()
    before = {number: signal.signal(number, stop) for number in not_ignored(STOPS)}
    guard = Guard(mark)
    try:
        launcher = subprocess.Popen(
            command,
            env={**environment, MARK: mark},
            preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0),  # noqa: PLW1509 (no threads)
        )
        guard.started(launcher.pid)
        if signals:
            end()
        status = launcher.wait()
        signal.alarm(0)
        if status or signals:
            remove_all(mark, begin, launcher.pid)
    finally:
        guard.ended()
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if signals else handler)  # SIG_DFL: a further one prints no traceback
    if signals:
        return 130
    return status if status >= 0 else 128 - status


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
    """Report late ranks: at which collective, how late, and the cost."""
    from downbeat.errors import UsageError
    from downbeat.files import is_standard_output
    from downbeat.output.blocks import Depth, Line
    from downbeat.output.page import write_page, write_pictures
    from downbeat.output.records import view_record, write_record
    from downbeat.output.terminal import block_lines, view_lines
    from downbeat.trace.arrivals import MAX_RECORDS, find_arrivals, of_phase
    from downbeat.trace.baseline import baseline_command, baselines
    from downbeat.trace.patterns import export_text
    from downbeat.trace.recording import open_recording
    from downbeat.views.trace import arrivals_view, following

    if site and not export:
        raise UsageError("--site says which arrivals to export; add --export FILE")
    recorded = find_arrivals(open_recording(trace, job, MAX_RECORDS))
    if phase is not None:
        recorded = of_phase(recorded, phase)
    times = baselines(recorded.sites, baseline) if baseline else None
    if export:
        write_text(export, export_text(recorded, (site or 1) - 1))
    depth = Depth.PAGE if output or pictures else Depth.TEXT
    view = arrivals_view(recorded, f"Arrivals: {trace.resolve().name}", times, depth)
    if pictures:
        write_pictures(pictures, view)
    if output:
        write_page(output, view)
    if json:
        write_record(view_record(view), json)
    if not (is_standard_output(output) or is_standard_output(json)):
        written = [Line(str(file), label="written") for file in (output, pictures, json, export) if file]
        # The words of this command line that the suggested commands repeat.
        repeated = {"--phase": phase, "--job": job, "--baseline": baseline}
        words = [str(trace), *(word for name, value in repeated.items() if value for word in (name, str(value)))]
        blocks = [*written, *following(words, "" if baseline else baseline_command(recorded), output)]
        print("\n".join([*view_lines(view), "", *block_lines(blocks)]).rstrip())
