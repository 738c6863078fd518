"""Commands that are killed at a random moment, and started again."""

from __future__ import annotations

import functools
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.faults.leftovers import left_behind, take_stock
from benchmarks.faults.row import Outcome, Row
from benchmarks.faults.site import Site, clear
from benchmarks.faults.surroundings import experiment

LIMIT_SECONDS = 120.0
END_SECONDS = 15.0  # from a signal to the end of a command and all that it has started
# Ctrl-C reaches the whole group of the terminal; a terminal that is closed sends SIGHUP.
ENDS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGINT twice", "SIGHUP")


def send(running_pid: int, how: str) -> None:
    """Sends what ends a command."""
    number = getattr(signal, how.split()[0])
    try:
        if how == "SIGKILL":
            os.kill(running_pid, number)
        else:
            os.killpg(running_pid, number)
            if how.endswith("twice"):
                time.sleep(0.05)
                os.killpg(running_pid, number)
    except ProcessLookupError:
        pass


def killed(
    commands: Callable[[Site], list[list[object]]], check: Callable[[Site], str], site: Site, tries: int
) -> Iterator[Outcome]:
    """Kills a command at a random moment, and starts it again until it is complete.

    Args:
        commands: what must have run before, and at the end the command.
        check: returns what is wrong with the results, if anything.
        site: where.
        tries: how many.
    """
    *before, command = commands(site)
    longest = 0.0
    for number in range(tries):
        clear(site.where)
        for each in before:
            site.run(each, seconds=LIMIT_SECONDS)
        if not longest:
            first = site.run(command, seconds=LIMIT_SECONDS)
            longest = first.seconds
            if first.status != 0:
                yield Outcome("failed", 1, f"undisturbed, it ends with {first.status}: {first.last_line}")
                return
            clear(site.where)
            for each in before:
                site.run(each, seconds=LIMIT_SECONDS)
        how = ENDS[number % len(ENDS)]
        stock = take_stock(site)
        running = site.start(command)
        time.sleep(site.chance.uniform(0, longest))
        send(running.process.pid, how)
        ended = running.end(END_SECONDS)
        if ended.hung:
            yield Outcome("hung", 1, f"{how}: it went on for {END_SECONDS:g} s")
            continue
        left = [] if how == "SIGKILL" else left_behind(site, stock)
        processes_left = [one for one in left_behind(site, stock) if one.startswith("process")]
        whole = sorted(path.name for path in (site.where / "results/launches").glob("*"))
        again = site.run(command, seconds=LIMIT_SECONDS)
        broken = ""
        if processes_left or left:
            broken = f"{how}: left behind: {', '.join((processes_left or left)[:3])}"
        elif ended.traceback:
            broken = f"{how}: it fell over: {ended.last_line}"
        elif again.status != 0 or again.hung:
            broken = f"{how}: not resumed, status {again.status}: {again.last_line}"
        elif wrong := check(site):
            broken = f"{how}: {wrong}"
        elif lost := set(whole) - {path.name for path in (site.where / "results/launches").glob("*")}:
            broken = f"{how}: complete launches were lost: {', '.join(sorted(lost))}"
        yield Outcome(f"{how}: resumed" if ended.status else "complete before it was killed", 1, broken)


def run_commands(site: Site) -> list[list[object]]:
    """Returns a small experiment."""
    return [experiment(site, launches=3)]


def check_run(site: Site) -> str:
    """Returns what is wrong with it."""
    shown = site.run(site.downbeat("show", "results"), seconds=LIMIT_SECONDS)
    launches = len(list((site.where / "results/launches").glob("*")))
    partial = list((site.where / "results/partial").glob("*"))
    if partial:
        return f"{len(partial)} directories of launches that were cut short are still there"
    return f"show: {shown.last_line}" if shown.status else "" if launches == 3 else f"{launches} launches"


def tune_commands(site: Site) -> list[list[object]]:
    """Returns a small tuning."""
    options = ["--ranks", "2", "--sizes", "8", "--mpi", site.mpi, "--launches", "3", "-r", "20", "-o", "rules"]
    return [site.downbeat("tune", "bcast", *options)]


def reproduce_commands(site: Site) -> list[list[object]]:
    """Returns a small figure."""
    options = ["--mpi", site.mpi, "-n", "2", "--launches", "2", "-o", "figure"]
    return [site.downbeat("reproduce", "schuchart2023-fig1", *options)]


def trace_commands(site: Site) -> list[list[object]]:
    """Returns the recording of a program."""
    program = site.launch("barrier_loop")
    return [site.downbeat("trace", "-o", "trace", "--", *program)]


def nothing_wrong(name: str, site: Site) -> str:
    """Returns what is wrong with results that need only be there."""
    return "" if (site.where / name).exists() or list(Path(site.where).glob(f"{name}*")) else f"there is no '{name}'"


ROWS = (
    Row(
        "run-killed",
        "`downbeat run` killed at a random moment: " + ", ".join(ENDS),
        f"all ends within {END_SECONDS:g} s; the same command completes it; no complete launch is lost",
        functools.partial(killed, run_commands, check_run),
        100,
        2,
    ),
)
