"""A try of a fault: the programs that it starts, what they may leave behind, and what is counted."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from downbeat.run.libraries import CHECKOUT

MARK = "_DOWNBEAT_FAULTS"  # in the environment of everything that a try starts
RUN_SECONDS = 90.0
LAUNCH_SECONDS = 45.0
PATIENCE_SECONDS = 3.0  # for processes and files to go
CRASHES = ("Traceback (most recent", "terminate called", "Sanitizer")

Command = Sequence[object]
Variables = Mapping[str, str | None]


class BrokenError(AssertionError):
    """A promise was broken; the message has the figures."""


class Run:
    """A program in a session of its own, which ends even if it hangs.

    Attributes:
        ranks: process ids, once they were waited for.
        status: exit status; 128 + N after signal N, as in a shell.
        hung: whether it had to be killed.
    """

    def __init__(self, site: Site, process: subprocess.Popen[bytes], output: Path) -> None:
        self.site, self.process, self._output = site, process, output
        self.ranks: list[int] = []
        self.status, self.hung = 0, False

    def wait_for_ranks(self, program: str, count: int = 2, seconds: float = 20.0) -> None:
        """Waits until a program has this many processes; keeps those that there are."""
        end = time.monotonic() + seconds
        path = Path(self.site.program(program)).resolve()
        while len(self.ranks) < count and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
            self.ranks = [pid for pid in processes("environ", self.site.mark) if link_of(pid, "exe") == str(path)]

    def end(self, seconds: float = RUN_SECONDS) -> Run:
        """Waits until it has ended; after that time, kills it and everything that it started."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.hung = True
            send(signal.SIGKILL, self.process.pid, *processes("environ", self.site.mark))
            self.process.wait()
        status = self.process.returncode
        self.status = status if status >= 0 else 128 - status
        return self

    def _printed(self, stream: str) -> str:
        return self._output.with_suffix(stream).read_text(encoding="utf-8", errors="replace")

    @property
    def stdout(self) -> str:
        return self._printed(".out")

    @property
    def stderr(self) -> str:
        return self._printed(".err")

    @property
    def last_line(self) -> str:
        lines = [line for line in (self.stdout + self.stderr).splitlines() if line.strip()]
        return lines[-1] if lines else "nothing"

    @property
    def crashed(self) -> bool:
        return any(text in self.stdout + self.stderr for text in CRASHES)

    def must_succeed(self) -> None:
        if self.hung:
            raise BrokenError("hung")
        if self.status or self.crashed:
            raise BrokenError(f"status {self.status}: {self.last_line}")

    def must_be_refused(self, words: str = "") -> None:
        """Raises BrokenError unless it ended with a non-zero status and a message with these words."""
        if self.hung or self.status == 0:
            raise BrokenError("hung" if self.hung else "it ended with status 0")
        if self.crashed or words not in self.stdout + self.stderr:
            raise BrokenError(f"status {self.status}, not a line with '{words}': {self.last_line}")


class Site:
    """State shared by the tries of a row.

    Attributes:
        mpi: MPI library.
        where: directory for the files of a try, empty when it begins.
        temporary: TMPDIR of everything that is started.
        chance: random numbers from a known seed.
        number: of the run, from 0.
        count: faults to make in this run.
        made: faults that were made.
    """

    def __init__(self, mpi: str, home: Path, seed: int) -> None:
        self.mpi = mpi
        self.chance = random.Random(seed)
        self.mark = os.fsencode(f"{MARK}={home}")
        self.where, self.temporary, self.output = home / "try", home / "tmp", home / "output"
        self.number = self.count = self.made = 0
        self._normal: dict[str, float] = {}
        for directory in (self.where, self.temporary, self.output):
            directory.mkdir()

    def program(self, name: str) -> str:
        return str(CHECKOUT / "build" / self.mpi / "bin" / name)

    def library(self, name: str) -> str:
        return str(CHECKOUT / "build" / self.mpi / "lib" / name)

    def launch(
        self, program: str, *arguments: object, ranks: int = 2, timeout: float = LAUNCH_SECONDS, preload: str = ""
    ) -> list[object]:
        """Returns the command that starts a program under MPI; a library is preloaded into the program alone."""
        launcher = [CHECKOUT / "tools/launch", "--mpi", self.mpi, "-n", ranks, "--parent", os.getpid()]
        preloaded = ["env", f"LD_PRELOAD={self.library(preload)}"] if preload else []
        return [*launcher, "--timeout", timeout, *preloaded, self.program(program), *arguments]

    def start(self, command: Command, variables: Variables | None = None) -> Run:
        """Starts a command in the directory of the try; a variable that is None is unset."""
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("DOWNBEAT_")},
            "OMPI_ALLOW_RUN_AS_ROOT": "1",  # without tools/launch
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            MARK: os.fsdecode(self.mark).partition("=")[2],
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": f"{CHECKOUT / 'python'}:{CHECKOUT / 'papers'}",
            **(variables or {}),
        }
        output = self.output / f"{time.monotonic_ns()}"
        with output.with_suffix(".out").open("wb") as stdout, output.with_suffix(".err").open("wb") as stderr:
            process = subprocess.Popen(
                [str(word) for word in command],
                env={name: value for name, value in environment.items() if value is not None},
                start_new_session=True,
                cwd=self.where,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            )
        return Run(self, process, output)

    def run(self, command: Command, variables: Variables | None = None, seconds: float = RUN_SECONDS) -> Run:
        return self.start(command, variables).end(seconds)

    def normal_seconds(self, command: Command) -> float:
        """Returns how long a command takes undisturbed."""
        words = " ".join(map(str, command))
        if words not in self._normal:
            begin = time.monotonic()
            self.run(command).must_succeed()
            self._normal[words] = time.monotonic() - begin
            clear(self.where)
        return self._normal[words]

    def stock(self) -> set[str]:
        """Returns what programs of this user can leave behind: shared memory, files, devices."""
        things = {f"network device {path.name}" for path in Path("/sys/class/net").glob("*")}
        for path in Path("/dev/shm").glob("*"):
            with contextlib.suppress(OSError):
                things |= {f"shared memory {path}"} if path.lstat().st_uid == os.getuid() else set()
        for kind in ("shm", "sem", "msg"):
            with contextlib.suppress(OSError):
                lines = Path(f"/proc/sysvipc/{kind}").read_text(encoding="ascii").splitlines()[1:]
                rows = (line.split() for line in lines)
                # Memory that a process has attached is in use by another program.
                things |= {f"{kind} {row[1]} of System V" for row in rows if kind != "shm" or row[6] == "0"}
        for where, directories, files in os.walk(self.temporary):
            things |= {f"temporary file {where}/{name}" for name in (*directories, *files)}
        return things

    def left_behind(self, before: set[str], seconds: float | None = None) -> list[str]:
        """Returns what is there and was not before, once it has had time to go; not what another program maps."""
        end = time.monotonic() + (PATIENCE_SECONDS if seconds is None else seconds)
        while True:
            found = [f"process {pid} ({words_of(pid)})" for pid in processes("environ", self.mark)]
            for thing in sorted(self.stock() - before):
                path = thing.rpartition(" ")[2]
                if not (thing.startswith("shared memory") and processes("maps", os.fsencode(path))):
                    found.append(thing)
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.02)

    def clean(self, left: Sequence[str] = ()) -> None:
        """Removes what a try left behind, so that the next one is not blamed for it."""
        send(signal.SIGKILL, *processes("environ", self.mark))
        for thing in left:
            if thing.startswith("shared memory"):
                Path(thing.rpartition(" ")[2]).unlink(missing_ok=True)
        for directory in (self.temporary, self.where, self.output):
            clear(directory)


Outcomes = Mapping[str, int] | str  # what happened, and how often if not once
Make = Callable[[Site], Run]  # makes site.count faults in one run
Judge = Callable[[Run], Outcomes]  # raises BrokenError


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        name: of the test, in lower case.
        fault: in words.
        promise: in words.
        make: makes the fault.
        judge: counts what happened.
        tries: in `make nightly` and `make bench-faults`.
        quick: in `make test-all`; 0: none.
        batch: tries in one run.
    """

    name: str
    fault: str
    promise: str
    make: Make
    judge: Judge
    tries: int = 10
    quick: int = 0
    batch: int = 1


def try_row(row: Row, tries: int, mpi: str, seed: int) -> tuple[Counter[str], list[str]]:
    """Tries a row, in a directory that is removed afterwards; returns what happened, and which promises were broken."""
    outcomes: Counter[str] = Counter()
    broken: list[str] = []
    tried = 0
    with tempfile.TemporaryDirectory(prefix="downbeat-faults-") as home:
        site = Site(mpi, Path(home), seed)
        while tried < tries:
            site.count = site.made = min(row.batch, tries - tried)
            before = site.stock()
            try:
                found = row.judge(row.make(site))
                outcomes.update({found: 1} if isinstance(found, str) else found)
            except BrokenError as error:
                broken.append(f"try {tried}: {error}")
            finally:
                if left := site.left_behind(before):
                    broken.append(f"try {tried}: left behind: {', '.join(left[:3])}")
                site.clean(left)
            site.number += 1
            tried += max(site.made, 1)
            if row.batch >= row.tries:  # one run, even if time did not suffice for all
                break
    return outcomes, broken


def processes(file: str, text: bytes) -> list[int]:
    """Returns the processes that have a text in a file of theirs in /proc, as far as we may read it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if text in (entry / file).read_bytes():
                found.append(int(entry.name))
    return sorted(found)


def words_of(pid: int) -> str:
    """Returns the command line of a process."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def link_of(pid: int, file: str) -> str:
    """Returns what a link of a process in /proc points to."""
    with contextlib.suppress(OSError):
        return str(Path(f"/proc/{pid}/{file}").readlink())
    return ""


def send(number: int, *pids: int) -> None:
    """Sends a signal to those processes that still run."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def clear(directory: Path) -> None:
    """Removes everything in a directory."""
    for path in directory.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
