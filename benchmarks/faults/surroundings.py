"""Disks, directories, terminals and locales that are not as they should be."""

from __future__ import annotations

import contextlib
import functools
import os
import pty
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.faults.row import NotPossibleError, Outcome, Row
from benchmarks.faults.site import Ended, Site, clear

LIMIT_SECONDS = 90.0
SMALL = ("-m", "8,64", "--sync", "mpi_barrier", "-r", "20", "--warmup", "2")
ODD_NAME = "a b'c\"d $e\u00e4\u4f60 *"


def experiment(site: Site, *more: object, name: str | Path = "results", launches: int = 2) -> list[object]:
    """Returns the command of a small experiment."""
    options = ["--mpi", site.mpi, "-n", "2", "--launches", launches, "-o", name, *SMALL]
    return site.downbeat("run", "barrier", "bcast", *options, *more)


def complete(site: Site, name: str | Path = "results") -> bool:
    """Whether an experiment can be read, with all launches."""
    ended = site.run(site.downbeat("show", name), seconds=LIMIT_SECONDS)
    return ended.status == 0 and not ended.traceback


def refused(ended: Ended, *words: str) -> str:
    """Returns how an error differs from what it must be: one line with some words, and a non-zero status."""
    if ended.hung:
        return f"it went on for {ended.seconds:.0f} s"
    if ended.status == 0:
        return "it ended with status 0"
    if ended.traceback:
        return f"it fell over: {ended.last_line}"
    missing = [word for word in words if word not in ended.stderr + ended.stdout]
    return f"'{missing[0]}' is not said: {ended.last_line}" if missing else ""


def accepted(site: Site, ended: Ended, name: str | Path = "results") -> str:
    """Returns how a run differs from what it must be: complete, and without complaints."""
    if ended.hung:
        return f"it went on for {ended.seconds:.0f} s"
    if ended.status != 0 or ended.traceback:
        return f"status {ended.status}: {ended.last_line}"
    return "" if complete(site, name) else "the results cannot be read"


Trial = Callable[[Site], Iterator[Outcome]]


def each(trial: Callable[[Site], Outcome], site: Site, tries: int) -> Iterator[Outcome]:
    """Tries something that is one try."""
    for _ in range(tries):
        clear(site.where)
        yield trial(site)


@contextlib.contextmanager
def small_disk(site: Site, size: str, *options: str) -> Iterator[Path]:
    """Makes a file system of its own."""
    if os.geteuid() != 0:
        raise NotPossibleError("only root mounts a small file system")
    where = site.where / "disk"
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", ",".join([f"size={size}", *options]), "tmpfs", str(where)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        raise NotPossibleError("a small file system cannot be mounted here")
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", str(where)], check=True)


def disk_full(site: Site) -> Outcome:
    """Runs where there is room for a part of it; then there is room, and the same command goes on."""
    room = site.chance.choice(["4k", "16k", "32k", "64k", "128k"])
    with small_disk(site, room) as disk:
        ended = site.run(experiment(site, name=disk / "results"), seconds=LIMIT_SECONDS)
        broken = refused(ended, str(disk)) if ended.status != 0 else ""
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        again = site.run(experiment(site, name=disk / "results"), seconds=LIMIT_SECONDS)
        broken = broken or accepted(site, again, disk / "results")
    return Outcome("one line names the path; with room it is resumed" if ended.status else "there was room", 1, broken)


def quota(site: Site) -> Outcome:
    """Limits the size of files (as a quota does, by an error of write)."""
    command = ["sh", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "sh", *experiment(site)]
    ended = site.run(command, seconds=LIMIT_SECONDS)
    broken = refused(ended) if ended.status != 0 else ""
    again = site.run(experiment(site), seconds=LIMIT_SECONDS)
    return Outcome("named, and resumed without the limit", 1, broken or accepted(site, again))


def read_only(site: Site) -> Outcome:
    """Writes to a file system that is read-only."""
    with small_disk(site, "1m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        ended = site.run(experiment(site, name=disk / "results"), seconds=LIMIT_SECONDS)
        bench = site.launch("downbeat-bench", "barrier", "-r", "5", "-q", "-o", disk / "out.nc")
        alone = site.run(bench, seconds=LIMIT_SECONDS)
        broken = refused(ended, "disk") or refused(alone, "out.nc")
    return Outcome("one line names the path", 1, broken)


def removed(site: Site) -> Outcome:
    """Removes the results while they are made."""
    running = site.start(experiment(site, launches=6))
    deadline = time.monotonic() + 20
    while not (site.where / "results/launches").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(site.chance.uniform(0, 1.5))
    shutil.rmtree(site.where / "results", ignore_errors=True)
    ended = running.end(LIMIT_SECONDS)
    broken = refused(ended) if ended.status != 0 else ""
    clear(site.where)
    again = site.run(experiment(site), seconds=LIMIT_SECONDS)
    return Outcome("one line, and the same command runs again", 1, broken or accepted(site, again))


def two_runs(site: Site) -> Outcome:
    """Runs an experiment twice at once in one directory; either may be the one that is refused."""
    first = site.start(experiment(site, launches=3))
    time.sleep(site.chance.uniform(0.0, 2.0))
    elsewhere = Site.start(site, experiment(site, launches=3), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = elsewhere.process.communicate(timeout=LIMIT_SECONDS)
    one = first.end(LIMIT_SECONDS)
    two = Ended(elsewhere.process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), 0.0)
    if one.status == two.status == 0:
        return Outcome("one after the other", 1, accepted(site, one))
    done, other = (one, two) if one.status == 0 else (two, one)
    broken = accepted(site, done)
    if other.traceback or "another run is using" not in other.last_line:
        broken = broken or f"the other says: {other.last_line}"
    return Outcome("one of them is refused in one line", 1, broken)


def odd_path(site: Site) -> Outcome:
    """Works in a directory whose name has blanks, quotes and letters outside of ASCII."""
    where = site.where / ODD_NAME
    where.mkdir()
    ended = site.run(experiment(site, name=ODD_NAME), seconds=LIMIT_SECONDS, where=where)
    broken = accepted(site, ended, where / ODD_NAME)
    page = site.run(site.downbeat("report", where / ODD_NAME, "-o", where / "a b.html"), seconds=LIMIT_SECONDS)
    return Outcome("complete, with its report", 1, broken or (f"report: {page.last_line}" if page.status else ""))


def with_variables(variables: dict[str, str | None], site: Site) -> Outcome:
    """Runs in another environment."""
    ended = site.run(experiment(site), variables, seconds=LIMIT_SECONDS)
    broken = accepted(site, ended)
    shown = site.run(site.downbeat("show", "results"), variables, seconds=LIMIT_SECONDS)
    return Outcome("complete, and shown", 1, broken or (f"show: {shown.last_line}" if shown.status else ""))


def slow_fsync(site: Site) -> Outcome:
    """Has each fsync take as long as that of a busy file server."""
    ended = site.run(
        experiment(site), {"LD_PRELOAD": site.library("fault-system.so"), "FAULT_FSYNC": "0.3"}, seconds=LIMIT_SECONDS
    )
    return Outcome("complete, only later", 1, accepted(site, ended))


def narrow_terminal(site: Site) -> Outcome:
    """Runs on a terminal of 20 columns."""
    leader, follower = pty.openpty()
    try:
        variables = {"COLUMNS": "20", "LINES": "10", "TERM": "xterm"}
        running = site.start(experiment(site), variables, stdout=follower, stderr=follower)
        os.close(follower)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while data := os.read(leader, 4096):
                shown += data
        ended = running.end(LIMIT_SECONDS)
        broken = accepted(site, ended)
    finally:
        os.close(leader)
    return Outcome("complete", 1, broken or ("a traceback is shown" if b"Traceback" in shown else ""))


def row(name: str, fault: str, promise: str, trial: Callable[[Site], Outcome], tries: int = 10, quick: int = 0) -> Row:
    """Returns a row of these."""
    return Row(name, fault, promise, functools.partial(each, trial), tries, quick)


ROWS = (
    row(
        "disk-full", "the disk is full, with 4 to 128 KiB of room", "one line with the path; resumed", disk_full, 20, 0
    ),
    row("file-quota", "files may have 4 KiB", "a non-zero status and a line; resumed without the limit", quota),
    row("read-only", "a read-only file system", "a non-zero status and a line with the path", read_only),
    row("output-removed", "the results are removed during the run", "a line or a complete run; no traceback", removed),
    row("two-runs", "two runs in one directory", "one of them is refused, or finds all done; one experiment", two_runs),
    row("odd-path", "blanks, quotes and non-ASCII letters in the path", "complete, with its report", odd_path),
    row("slow-fsync", "each fsync takes 0.3 s, as on a busy file server", "complete", slow_fsync),
    row("no-home", "no HOME", "complete", functools.partial(with_variables, {"HOME": None}), 10, 0),
    row(
        "locale-c",
        "LC_ALL=C, Python without UTF-8",
        "complete",
        functools.partial(with_variables, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    ),
    row("narrow-terminal", "a terminal of 20 columns", "complete, no traceback", narrow_terminal),
    row("no-terminal", "no terminal, COLUMNS=20", "complete", functools.partial(with_variables, {"COLUMNS": "20"})),
)
