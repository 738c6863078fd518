"""Commands that are killed at a random moment, and started again."""

from __future__ import annotations

import functools
import os
import signal
import time
from collections.abc import Callable, Iterator

from downbeat.launchers.libraries import LIBRARIES

from benchmarks.faults.leftovers import left_behind, take_stock
from benchmarks.faults.row import Outcome, Row
from benchmarks.faults.site import Site, clear
from benchmarks.faults.surroundings import experiment

LIMIT_SECONDS = 120.0
KEPT = "has a trace already"  # what `downbeat trace` says of a directory
# Until Python has loaded itself, its own answer to a Ctrl-C is a traceback, whatever it is to run.
PYTHON_SECONDS = 0.2
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
    make: Callable[[Site], list[object]], check: Callable[[Site], str], results: str, site: Site, tries: int
) -> Iterator[Outcome]:
    """Kills a command at a random moment, and starts it again until it is complete.

    Args:
        make: returns the command.
        check: returns what is wrong with the results, if anything.
        results: pattern of the directories in which complete launches are.
        site: where.
        tries: how many.
    """
    command = make(site)
    first = site.run(command, seconds=LIMIT_SECONDS)
    if first.status != 0:
        yield Outcome("failed", 1, f"undisturbed, it ends with {first.status}: {first.last_line}")
        return
    for number in range(tries):
        clear(site.where)
        how = ENDS[number % len(ENDS)]
        stock = take_stock(site)
        running = site.start(command)
        time.sleep(site.chance.uniform(PYTHON_SECONDS if how.startswith("SIGINT") else 0.0, first.seconds))
        send(running.process.pid, how)
        ended = running.end(END_SECONDS)
        if ended.hung:
            yield Outcome("hung", 1, f"{how}: it went on for {END_SECONDS:g} s")
            continue
        left = left_behind(site, stock, END_SECONDS)
        complete = launches(site, results)
        again = site.run(command, seconds=LIMIT_SECONDS)
        broken = ""
        if left:
            broken = f"{how}: left behind: {', '.join(left[:3])}"
        elif ended.traceback:
            broken = f"{how}: it fell over: {ended.last_line}"
        elif KEPT in again.stderr:
            yield Outcome(f"{how}: its record is kept, and not written over", 1, check(site))
            continue
        elif again.status != 0 or again.hung:
            broken = f"{how}: not resumed, status {again.status}: {again.last_line}"
        elif wrong := check(site):
            broken = f"{how}: {wrong}"
        elif lost := complete - launches(site, results):
            broken = f"{how}: complete launches were lost: {', '.join(sorted(lost))}"
        yield Outcome(f"{how}: resumed" if ended.status else "complete before it was killed", 1, broken)


def launches(site: Site, results: str) -> set[str]:
    """Returns the launches that are complete, with the moments at which their files were written."""
    files = (path for where in site.where.glob(results) for path in where.glob("*/*.nc"))
    return {f"{path.relative_to(site.where)} of {path.stat().st_mtime_ns}" for path in files}


def run(site: Site) -> list[object]:
    """Returns a small experiment."""
    return experiment(site, launches=3)


def check_run(site: Site) -> str:
    """Returns what is wrong with it."""
    shown = site.run(site.downbeat("show", "results"), seconds=LIMIT_SECONDS)
    there = len(launches(site, "results/launches"))
    partial = list((site.where / "results/partial").glob("*"))
    if partial:
        return f"{len(partial)} directories of launches that were cut short are still there"
    return f"show: {shown.last_line}" if shown.status else "" if there == 3 else f"{there} launches"


def tune(site: Site) -> list[object]:
    """Returns a small tuning."""
    options = ["--ranks", "2", "--sizes", "8", "--mpi", site.mpi, "--launches", "2", "-r", "10", "-o", "rules"]
    return site.downbeat("tune", "barrier", *options)


def reproduce(site: Site) -> list[object]:
    """Returns a small figure."""
    options = ["--mpi", site.mpi, "--ranks", "2", "--launches", "2", "--quick", "-o", "figure"]
    return site.downbeat("reproduce", "schuchart2023-fig3", *options)


def trace(site: Site) -> list[object]:
    """Returns the recording of a program."""
    launcher = [LIBRARIES[site.mpi].find_launcher(), "-n", 2]
    program = [site.program("fault-starts"), "starts", 1 << 40, 1]
    return site.downbeat("trace", "-o", "trace", "--", *launcher, *program)


def check_tune(site: Site) -> str:
    """Returns what is wrong with it."""
    return "" if (site.where / "rules/rules.env").exists() else "there are no rules"


def check_reproduce(site: Site) -> str:
    """Returns what is wrong with it."""
    return "" if (site.where / "figure/schuchart2023-fig3.html").exists() else "there is no page"


def check_trace(site: Site) -> str:
    """Returns what is wrong with it: a record of some ranks alone is refused in a line."""
    ended = site.run(site.downbeat("arrivals", "trace"), seconds=LIMIT_SECONDS)
    return f"arrivals: {ended.last_line}" if ended.status and len(ended.said) != 1 else ""


PROMISE = f"all ends within {END_SECONDS:g} s; the same command completes it; no complete launch is lost"
ROWS = tuple(
    Row(
        f"{name}-killed",
        f"`downbeat {name}` killed at a random moment: {', '.join(ENDS)}",
        PROMISE,
        functools.partial(killed, command, check, results),
        100,
        0,
    )
    for name, command, check, results in (
        ("run", run, check_run, "results/launches"),
        ("tune", tune, check_tune, "rules/sweep/*/launches"),
        ("reproduce", reproduce, check_reproduce, "figure/*/*/launches"),
        ("trace", trace, check_trace, "nothing"),
    )
)
