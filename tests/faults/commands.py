"""Commands of users where something is wrong: no room, no terminal, killed, the same command twice."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.trial import BrokenError, Command, Make, Outcomes, Run, Site, clear

END_SECONDS = 15.0  # from a signal to the end of a command and everything that it started
RESUME_SECONDS = 120.0
KILL_SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGINT twice", "SIGHUP")  # as kill, systemd, Ctrl-C, a closed terminal
SMALL = ("-m", "8,64", "--sync", "mpi_barrier", "-r", "20", "--", "--warmup", "2")
ODD_NAME = "a b'c\"d $e\u00e4\u4f60 *"


def downbeat(*arguments: object) -> list[object]:
    """Returns the command that runs `downbeat` of this tree."""
    return [sys.executable, "-m", "downbeat", *arguments]


def experiment(site: Site, *more: object, name: str | Path = "results", launches: int = 2) -> list[object]:
    """Returns the command of a small experiment."""
    options = ["--mpi", site.mpi, "-n", "2", "--launches", launches, "-o", name, *more]
    return downbeat("run", "barrier", "bcast", *options, *SMALL)


def complete(run: Run, name: str | Path = "results") -> Outcomes:
    """Expects an experiment that can be read, with its report."""
    run.must_succeed()
    run.site.run(downbeat("show", name)).must_succeed()
    run.site.run(downbeat("report", name, "-o", run.site.where / "a b.html")).must_succeed()
    return "complete, and shown"


def line_then_complete(run: Run) -> Outcomes:
    """Expects a complete experiment or one line; the same command completes it once the cause is gone."""
    if run.status:
        run.must_be_refused()
    complete(run.site.run(experiment(run.site)))
    return "a line; resumed when the cause was gone" if run.status else "complete"


def in_shell(*words: str, timeout: int | None = None) -> Callable[[Site], Command]:
    """Returns the command of an experiment after some words of the shell, each in its turn."""
    more = [] if timeout is None else ["--timeout", timeout]

    def command(site: Site) -> Command:
        script = f'{words[site.number % len(words)]} || exit 99; exec "$@"'
        return ["sh", "-c", script, "sh", *experiment(site, *more)]

    return command


def in_terminal(site: Site) -> Command:
    """Returns the command of an experiment on a terminal."""
    return ["script", "--quiet", "--return", "--command", shlex.join(map(str, experiment(site))), "/dev/null"]


@contextlib.contextmanager
def small_disk(site: Site, size: str) -> Iterator[Path]:
    """Mounts a file system of its own."""
    disk = site.where / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=False).returncode:
        pytest.skip("no small file system can be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def fill_disk(site: Site) -> Run:
    """Runs where there is room for a part; then there is room, and the same command goes on."""
    with small_disk(site, site.chance.choice(["4k", "16k", "32k", "64k", "128k"])) as disk:
        command = experiment(site, name=disk / "results")
        run = site.run(command)
        if run.status:
            run.must_be_refused(str(disk))
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        again = site.run(command)
        complete(again, disk / "results")
    return again


def forbid_writing(site: Site) -> Run:
    with small_disk(site, "1m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        site.run(experiment(site, name=disk / "results")).must_be_refused("disk")
        bench = site.run(site.launch("downbeat-bench", "barrier", "-r", "5", "-q", "-o", disk / "out.nc"))
        bench.must_be_refused("out.nc")
    return bench


def remove_results(site: Site) -> Run:
    run = site.start(experiment(site, launches=6))
    deadline = time.monotonic() + 20
    while not (site.where / "results/launches").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(site.chance.uniform(0, 1.5))
    shutil.rmtree(site.where / "results", ignore_errors=True)
    run.end()
    clear(site.where)
    return run


def run_twice(site: Site) -> Run:
    """Starts the same experiment twice; either may be refused."""
    first = site.start(experiment(site))
    time.sleep(site.chance.uniform(0.0, 2.0))
    done, other = sorted([site.run(experiment(site)), first.end()], key=lambda one: one.status)
    if other.status:
        other.must_be_refused("another run is using")
    return done


def odd_path(site: Site) -> Run:
    where = site.where / ODD_NAME
    run = site.run(["sh", "-c", 'mkdir "$0" && cd "$0" && exec "$@"', where, *experiment(site, name=ODD_NAME)])
    complete(run, where / ODD_NAME)
    return run


def send_as(how: str, pid: int) -> None:
    """Kills a process; other signals reach the whole group, as from a terminal."""
    number = getattr(signal, how.split()[0])
    with contextlib.suppress(ProcessLookupError):
        (os.kill if how == "SIGKILL" else os.killpg)(pid, number)
        if how.endswith("twice"):
            time.sleep(0.05)
            os.killpg(pid, number)


def kill_command(command: Callable[[Site], list[object]], results: str, check: Command) -> Make:
    """Kills a command at a random moment, in one of several ways; then runs it again, which must complete it.

    Args:
        command: to kill.
        results: pattern of the directories of complete launches.
        check: command that must succeed in the end, or say in one line why not.
    """

    def complete_launches(site: Site) -> set[str]:
        """Returns the files of launches, with the times at which they were written."""
        return {f"{path} of {path.stat().st_mtime_ns}" for path in site.where.glob(f"{results}/*/*.nc")}

    def kill(site: Site, words: Command) -> Run:
        normal = site.normal_seconds(words)
        before = site.stock()
        run = site.start(words)
        # Until Python has loaded, its own answer to Ctrl-C is a traceback.
        how = how_killed(site)
        time.sleep(site.chance.uniform(0.2 if how.startswith("SIGINT") else 0.0, normal))
        send_as(how, run.process.pid)
        run.end(END_SECONDS)
        if left := site.left_behind(before, END_SECONDS):
            raise BrokenError(f"left behind: {', '.join(left[:3])}")
        if run.hung or run.crashed:
            raise BrokenError("hung" if run.hung else run.last_line)
        kept = complete_launches(site)
        again = site.run(words, seconds=RESUME_SECONDS)
        if again.status and "has a trace already" not in again.stderr:
            raise BrokenError(f"not resumed, status {again.status}: {again.last_line}")
        checked = site.run(check)
        if checked.crashed or (checked.status and len(checked.stderr.splitlines()) != 1):
            raise BrokenError(f"{check[-1]}: {checked.last_line}")
        if list(site.where.glob("*/partial/*")):
            raise BrokenError("directories of launches that were cut short are still there")
        if lost := kept - complete_launches(site):
            raise BrokenError(f"complete launches were lost: {', '.join(sorted(lost))}")
        return again

    def make(site: Site) -> Run:
        try:
            return kill(site, command(site))
        except BrokenError as error:
            raise BrokenError(f"{how_killed(site)}: {error}") from error

    return make


def how_killed(site: Site) -> str:
    return KILL_SIGNALS[site.number % len(KILL_SIGNALS)]


def resumed(run: Run) -> Outcomes:
    """Says how the command was killed; kill_command has judged."""
    return f"{how_killed(run.site)}: {'kept' if run.status else 'resumed'}"
