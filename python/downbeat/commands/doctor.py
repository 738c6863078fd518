"""The command `downbeat doctor`, which checks whether this machine is fit for measurements.

The checks are in downbeat/run: doctor.py (without starting anything), noise.py (busy loops), trial.py (trial launches).
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from downbeat.commands.options import LIBRARY_NAMES, option, request_by_options
from downbeat.errors import UsageError
from downbeat.text import counted

if TYPE_CHECKING:
    from rich.console import Console

    from downbeat.run.machine import Finding
    from downbeat.run.noise import Noise
    from downbeat.run.plan import Library

EXIT_NO_START = 3  # a library named by --mpi does not start
STYLES = {"good": "green", "notice": "yellow", "problem": "bold red"}  # verdict -> style of rich
SCHEMA_VERSION = 1  # of the JSON file
MAX_LINE = 100  # columns; longer lines are hard to read


def doctor(
    ranks: Annotated[
        int | None, typer.Option("-n", "--ranks", metavar="P", help="Number of ranks [one per core].")
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="MPI libraries that must start [all that are built].",
            autocompletion=LIBRARY_NAMES,
        ),
    ] = None,
    bench: Annotated[list[str] | None, option("bench")] = None,
    launcher: Annotated[str | None, option("launcher")] = None,
    seconds: Annotated[
        float, typer.Option(metavar="S", help="Seconds of noise measurement; 0: no noise, no states.")
    ] = 2.0,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the findings as JSON; - for standard output.")
    ] = None,
) -> None:
    """Check whether this machine is fit for measurements.

    Each finding comes with advice. Interruptions of a busy loop and changes of the machine's state are measured. The
    last line says what the machine is fit for.

    Exit status: 0, whatever the findings; 1 failure; 2 bad arguments; 3 an MPI library named by --mpi does not start.
    """
    from downbeat.files import is_standard_output
    from downbeat.run import noise
    from downbeat.run.doctor import examine
    from downbeat.run.job import job_of, ranks_on_a_node
    from downbeat.run.machine import Machine
    from downbeat.run.progress import Screen
    from downbeat.run.trial import try_start, watch

    if ranks is not None and ranks < 1:
        raise UsageError(f"--ranks: {ranks} is not valid; give a whole number, at least 1")
    if not 0 <= seconds < float("inf"):
        raise UsageError(f"--seconds: {seconds:g} is not valid; give a number, at least 0")
    chosen = chosen_libraries(mpi, bench or [], launcher)
    machine = Machine()
    job = job_of()
    # In a job on several nodes, only this node is checked.
    on_this_node = ranks_on_a_node(job.ranks, 0, job.nodes) if job.nodes > 1 else 0
    ranks = ranks or on_this_node or max(2, len(machine.cores))
    shown = Findings(None if is_standard_output(json_file) else Screen())
    shown.add(*examine(ranks, machine))
    # Measure noise before starting any ranks.
    with shown.waiting(f"interruptions of a busy loop, {seconds:g} s"):
        noises = noise.measure(sorted(min(core) for core in machine.cores), seconds) if seconds else []
    if noises:
        shown.add(noise.judge_noise(noises))
    starts = []
    for library in chosen:
        with shown.waiting(f"a launch of 2 ranks under {library.name}"):
            starts.append(try_start(library, machine))
        shown.add(*starts[-1].findings)
    if not chosen:
        from downbeat.run.machine import Finding

        advice = "run 'make build' in a checkout, or give its path with --bench PATH"
        shown.add(Finding("libraries", "no downbeat-bench found, so no MPI library was tried", "notice", advice))
    started = [library for library, start in zip(chosen, starts, strict=True) if start.started]
    with shown.waiting("round trips between two ranks, 5 s"):
        states = watch(started[0] if started else None, machine, seconds)
    shown.add(states)
    shown.finish(noises, seconds)
    if json_file:
        write_findings(json_file, ranks, shown.findings, noises)
    failed = [start.library for start in starts if not start.started]
    if mpi and failed:
        raise typer.Exit(EXIT_NO_START)


def chosen_libraries(mpi: str | None, benches: list[str], launcher: str | None) -> list[Library]:
    """The libraries to start: those that the options name, else all libraries with a downbeat-bench."""
    from downbeat.run.bench import built, find_any_bench
    from downbeat.run.libraries import LIBRARIES
    from downbeat.run.planning import libraries_of
    from downbeat.run.request import Program

    request = request_by_options({"libraries": mpi, "bench": benches, "launcher": launcher})
    if request.libraries or request.bench:
        return list(libraries_of(request))
    available = tuple(Program(name) for name in LIBRARIES if built(name))
    if available:
        return list(libraries_of(dataclasses.replace(request, libraries=available)))
    try:
        find_any_bench()  # raises UsageError without a downbeat-bench; libraries_of then finds the same program
        return list(libraries_of(request))
    except UsageError:
        return []


CHECK_COLUMN = len("virtualization") + 2  # the longest name of a check
VERDICT_COLUMN = len("problem") + 2


class Findings:
    """Collects findings and prints each as it is added."""

    def __init__(self, console: Console | None) -> None:
        self.console = console  # None: nothing is printed
        self.findings: list[Finding] = []

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Shows the current step on a terminal within a block; an animation would disturb the measurement."""
        if not self.console or not self.console.is_terminal:
            yield
            return
        from rich.live import Live
        from rich.text import Text

        text = Text(f"{'':{VERDICT_COLUMN}}{what} ...", style="dim")
        with Live(text, console=self.console, auto_refresh=False, transient=True):
            yield

    def add(self, *findings: Finding) -> None:
        """Prints a paragraph per finding: verdict, check, observation, and advice below."""
        import textwrap

        from rich.text import Text

        self.findings += findings
        if not self.console:
            return
        width = min(self.console.width, MAX_LINE) if self.console.is_terminal else 80
        space = " " * (VERDICT_COLUMN + CHECK_COLUMN)
        wrapping: dict[str, Any] = {"width": width - len(space), "break_long_words": False}
        for finding in findings:
            head, *lines = textwrap.wrap(finding.seen, **wrapping)
            lines += textwrap.wrap(finding.advice, **wrapping, initial_indent="-> ", subsequent_indent="   ")
            verdict = Text(f"{finding.verdict:<{VERDICT_COLUMN}}", style=STYLES[finding.verdict])
            self.console.print(verdict + Text(f"{finding.check:<{CHECK_COLUMN}}{head}"), soft_wrap=True)
            for line in lines:
                self.console.print(Text(space + line), soft_wrap=True)

    def finish(self, noises: list[Noise], seconds: float) -> None:
        """Prints the noise, the number of findings, and the fitness of the machine."""
        from downbeat.output.terminal import wrapped
        from downbeat.run.doctor import fitness

        if not self.console:
            return
        if noises:
            print_noise(noises, seconds)
        counts = {verdict: sum(finding.verdict == verdict for finding in self.findings) for verdict in STYLES}
        print(
            f"\n{counted(counts['problem'], 'problem')}, {counted(counts['notice'], 'notice')}, {counts['good']} good"
        )
        print("\n".join(wrapped(fitness(self.findings))))


def print_noise(noises: list[Noise], seconds: float) -> None:
    """Prints the interruptions of each core."""
    resolution = max(noise.resolution for noise in noises) * 1e9
    limits = list(noises[0].per_second)
    print(f"\ninterruptions of a busy loop on all cores at once, {seconds:g} s, resolution {resolution:.0f} ns")
    headings = "".join(f"{f'> {limit} us':>10}" for limit in limits)
    print(f"{'':9}{'longest':>12}{'per second:':>14}{headings}{'time lost':>12}")
    for noise in noises:
        rates = "".join(f"{noise.per_second[limit]:>10.0f}" for limit in limits)
        print(f"cpu {noise.cpu:<5}{noise.longest * 1e6:>9.1f} us{'':14}{rates}{noise.lost:>12.2%}")


def write_findings(path: Path, ranks: int, findings: list[Finding], noises: list[Noise]) -> None:
    """Writes findings and noise as JSON; times are in s."""
    import datetime
    import socket

    from downbeat.files import write_json

    content = {
        "schema_version": SCHEMA_VERSION,
        "host": socket.gethostname(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(),
        "ranks": ranks,
        "findings": [dataclasses.asdict(finding) for finding in findings],
        "noise": [dataclasses.asdict(noise) for noise in noises],
    }
    write_json(path, content)
