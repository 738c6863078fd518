"""Commands of users where something is wrong: no room, no terminal, killed, calls that fail."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lab.faults.engine import Make, Outcomes
from lab.faults.site import BrokenError, Command, Ended, NotPossibleError, Site, Variables, clear, downbeat

END_SECONDS = 15.0  # from a signal to the end of a command and everything that it started
KILL_SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGINT twice", "SIGHUP")  # as kill, systemd, Ctrl-C, a closed terminal
SMALL = ("-m", "8,64", "--sync", "mpi_barrier", "-r", "20", "--", "--warmup", "2")
ODD_NAME = "a b'c\"d $e\u00e4\u4f60 *"


def experiment(site: Site, *more: object, name: str | Path = "results", launches: int = 2) -> list[object]:
    """Returns the command of a small experiment."""
    options = ["--mpi", site.mpi, "-n", "2", "--launches", launches, "-o", name, *more]
    return downbeat("run", "barrier", "bcast", *options, *SMALL)


def refused(ended: Ended, *words: str) -> None:
    """Expects a non-zero status, and a line with these words."""
    if ended.status == 0:
        raise BrokenError("it ended with status 0")
    ended.must(ended.status)
    for word in words:
        if word not in ended.stderr + ended.stdout:
            raise BrokenError(f"'{word}' is not said: {ended.last_line}")


def complete(ended: Ended, name: str | Path = "results", variables: Variables | None = None) -> Outcomes:
    """Expects an experiment that can be read, with its report."""
    site = ended.site
    ended.must(0)
    site.run(downbeat("show", name), variables).must(0)
    site.run(downbeat("report", name, "-o", site.where / "a b.html"), variables).must(0)
    return {"complete, and shown": 1}


def line_then_complete(ended: Ended) -> Outcomes:
    """Expects a complete experiment or one line; the same command completes it once the cause is gone."""
    if ended.status != 0:
        refused(ended)
    site = ended.site
    complete(site.run(experiment(site)))
    return {"complete" if ended.status == 0 else "a line; resumed when the cause was gone": 1}


def in_shell(*words: str, timeout: int | None = None) -> Callable[[Site], Command]:
    """Returns the command of an experiment after some words of the shell, each in its turn."""
    more = [] if timeout is None else ["--timeout", timeout]
    return lambda site: [
        "sh",
        "-c",
        f'{words[site.number % len(words)]} || exit 99; exec "$@"',
        "sh",
        *experiment(site, *more),
    ]


def with_system(call: str, value: str) -> Make:
    """Runs an experiment in which calls of the system fail, or take their time (programs/system.c)."""
    return lambda site: site.run(
        experiment(site), {"LD_PRELOAD": site.library("fault-system.so"), f"FAULT_{call}": value}
    )


@contextlib.contextmanager
def small_disk(site: Site, size: str) -> Iterator[Path]:
    """Mounts a file system of its own."""
    disk = site.where / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=False).returncode:
        raise NotPossibleError("no small file system can be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def fill_disk(site: Site) -> Ended:
    """Runs where there is room for a part; then there is room, and the same command goes on."""
    with small_disk(site, site.chance.choice(["4k", "16k", "32k", "64k", "128k"])) as disk:
        command = experiment(site, name=disk / "results")
        ended = site.run(command)
        if ended.status != 0:
            refused(ended, str(disk))
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        again = site.run(command)
        complete(again, disk / "results")
    return again


def forbid_writing(site: Site) -> Ended:
    with small_disk(site, "1m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        refused(site.run(experiment(site, name=disk / "results")), "disk")
        bench = site.run(site.launch("downbeat-bench", "barrier", "-r", "5", "-q", "-o", disk / "out.nc"))
        refused(bench, "out.nc")
    return bench


def remove_results(site: Site) -> Ended:
    running = site.start(experiment(site, launches=6))
    deadline = time.monotonic() + 20
    while not (site.where / "results/launches").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(site.chance.uniform(0, 1.5))
    shutil.rmtree(site.where / "results", ignore_errors=True)
    ended = running.end(90)
    clear(site.where)
    return ended


def run_twice(site: Site) -> Ended:
    """Starts the same experiment twice; either may be refused."""
    first = site.start(experiment(site))
    time.sleep(site.chance.uniform(0.0, 2.0))
    both = [site.run(experiment(site)), first.end(90)]
    done, other = sorted(both, key=lambda one: one.status)
    if other.status != 0:
        refused(other, "another run is using")
    return done


def odd_path(site: Site) -> Ended:
    (site.where / ODD_NAME).mkdir()
    ended = site.run(experiment(site, name=ODD_NAME), cwd=site.where / ODD_NAME)
    complete(ended, site.where / ODD_NAME / ODD_NAME)
    return ended


def narrow_terminal(site: Site) -> Ended:
    """Runs on a terminal of 20 columns."""
    leader, follower = os.openpty()
    running = site.start(
        experiment(site), {"COLUMNS": "20", "LINES": "10", "TERM": "xterm"}, stdout=follower, stderr=follower
    )
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while data := os.read(leader, 4096):
            shown += data
    os.close(leader)
    ended = running.end(90)
    if b"Traceback" in shown:
        raise BrokenError("a traceback is shown")
    return ended


def launches_in(site: Site, results: str) -> set[str]:
    """Returns the complete launches, with the times at which their files were written."""
    files = (path for where in site.where.glob(results) for path in where.glob("*/*.nc"))
    return {f"{path.relative_to(site.where)} of {path.stat().st_mtime_ns}" for path in files}


def kill_command(command: Callable[[Site], list[object]], results: str, check: Command) -> Make:
    """Kills a command at a random moment, in one of several ways; then runs it again, which must complete it.

    Args:
        command: to kill.
        results: pattern of the directories of complete launches.
        check: command that must succeed in the end, or say in one line why not.
    """

    def make(site: Site) -> Ended:
        words = command(site)
        normal = site.normal_seconds(words)
        how = KILL_SIGNALS[site.number % len(KILL_SIGNALS)]
        before = site.stock()
        running = site.start(words)
        # Until Python has loaded, its own answer to Ctrl-C is a traceback.
        time.sleep(site.chance.uniform(0.2 if how.startswith("SIGINT") else 0.0, normal))
        send_as(how, running.process.pid)
        ended = running.end(END_SECONDS)
        if left := site.left_behind(before, END_SECONDS):
            raise BrokenError(f"{how}: left behind: {', '.join(left[:3])}")
        if ended.hung or ended.traceback:
            raise BrokenError(f"{how}: {'hung' if ended.hung else ended.last_line}")
        complete_before = launches_in(site, results)
        again = site.run(words, seconds=120)
        if again.status and "has a trace already" not in again.stderr:
            raise BrokenError(f"{how}: not resumed, status {again.status}: {again.last_line}")
        checked = site.run(check)
        if checked.traceback or (checked.status and len(checked.stderr.splitlines()) != 1):
            raise BrokenError(f"{how}: {check[-1]}: {checked.last_line}")
        if list(site.where.glob("*/partial/*")):
            raise BrokenError(f"{how}: directories of launches that were cut short are still there")
        if lost := complete_before - launches_in(site, results):
            raise BrokenError(f"{how}: complete launches were lost: {', '.join(sorted(lost))}")
        return again

    return make


def send_as(how: str, pid: int) -> None:
    """Kills a process; other signals reach the whole group, as from a terminal."""
    number = getattr(signal, how.split()[0])
    with contextlib.suppress(ProcessLookupError):
        (os.kill if how == "SIGKILL" else os.killpg)(pid, number)
        if how.endswith("twice"):
            time.sleep(0.05)
            os.killpg(pid, number)


def resumed(ended: Ended) -> Outcomes:
    """Says how the command was killed; kill_command has judged."""
    return {f"{KILL_SIGNALS[ended.site.number % len(KILL_SIGNALS)]}: {'resumed' if not ended.status else 'kept'}": 1}
