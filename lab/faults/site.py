"""Where faults are made: a directory, programs of a build, runs that end even if they hang, and what is left behind."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from downbeat.launchers.libraries import ROOT

MARK = "_DOWNBEAT_FAULTS"  # in the environment of everything that a try starts
LAUNCH_SECONDS = 45.0
PATIENCE_SECONDS = 3.0  # for processes and files to go
SHARED_MEMORY = Path("/dev/shm")

Command = Sequence[object]
Variables = Mapping[str, str | None]


class NotPossibleError(Exception):
    """This machine cannot make the fault; the message says why."""


class BrokenError(Exception):
    """A promise was broken; the message has the figures."""


@dataclass(frozen=True)
class Ended:
    """A run that ended, by itself or not (`hung`). `status` is 128 + N after signal N, as in a shell."""

    site: Site
    status: int
    stdout: str
    stderr: str
    hung: bool

    @property
    def last_line(self) -> str:
        lines = [line for line in (*self.stdout.splitlines(), *self.stderr.splitlines()) if line.strip()]
        return lines[-1] if lines else "nothing"

    @property
    def traceback(self) -> bool:
        return any(text in self.stderr for text in ("Traceback (most recent", "terminate called", "Sanitizer"))

    def must(self, *statuses: int) -> None:
        """Raises BrokenError unless the run ended with one of these statuses (none: any but 0), and in order."""
        if self.hung:
            raise BrokenError("hung")
        if (self.status not in statuses if statuses else self.status == 0) or self.traceback:
            raise BrokenError(f"status {self.status}: {self.last_line}")


def processes(file: str, text: bytes) -> list[int]:
    """Returns the processes that have a text in a file of theirs in /proc, as far as we may read it."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # ended meanwhile, or another user's
            if entry.name.isdigit() and text in (entry / file).read_bytes():
                found.append(int(entry.name))
    return sorted(found)


def send(number: int, *pids: int) -> None:
    """Sends a signal to those processes that still run."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Running:
    """A program in a session of its own; what it prints goes to files."""

    def __init__(self, site: Site, process: subprocess.Popen[bytes], output: Path) -> None:
        self.site = site
        self.process = process
        self.output = output
        self.ranks: list[int] = []

    def end(self, seconds: float) -> Ended:
        """Waits until it has ended; if it takes longer, kills it and everything that it started."""
        hung = False
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            hung = True
            send(signal.SIGKILL, self.process.pid, *processes("environ", self.site.mark))
            self.process.wait()
        status = self.process.returncode
        out, err = (Path(f"{self.output}.{name}").read_bytes().decode(errors="replace") for name in ("out", "err"))
        return Ended(self.site, status if status >= 0 else 128 - status, out, err, hung)


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
        self.number = 0
        self.count = self.made = 0
        self._normal: dict[str, float] = {}
        for directory in (self.where, self.temporary, self.output):
            directory.mkdir()

    def program(self, name: str) -> str:
        return str(ROOT / "build" / self.mpi / "bin" / name)

    def library(self, name: str) -> str:
        return str(ROOT / "build" / self.mpi / "lib" / name)

    def launch(
        self, program: str, *arguments: object, ranks: int = 2, timeout: float = LAUNCH_SECONDS, preload: str = ""
    ) -> list[object]:
        """Returns the command that starts a program under MPI, a library preloaded into the program alone."""
        launcher = [ROOT / "tools/launch", "--mpi", self.mpi, "-n", ranks, "--parent", os.getpid()]
        preloaded = ["env", f"LD_PRELOAD={self.library(preload)}"] if preload else []
        return [*launcher, "--timeout", timeout, *preloaded, self.program(program), *arguments]

    def start(self, command: Command, variables: Variables | None = None, **how: object) -> Running:
        """Starts a command in the directory of the try; a variable that is None is taken away."""
        variables = {
            **os.environ,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",  # without tools/launch
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            MARK: os.fsdecode(self.mark).partition("=")[2],
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": str(ROOT / "python"),
            **(variables or {}),
        }
        output = self.output / f"{time.monotonic_ns()}"
        with Path(f"{output}.out").open("wb") as stdout, Path(f"{output}.err").open("wb") as stderr:
            process = subprocess.Popen(
                [str(word) for word in command],
                env={name: value for name, value in variables.items() if value is not None},
                start_new_session=True,
                **{"cwd": self.where, "stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stderr, **how},  # type: ignore[call-overload]
            )
        return Running(self, process, output)

    def run(self, command: Command, variables: Variables | None = None, seconds: float = 90.0, **how: object) -> Ended:
        return self.start(command, variables, **how).end(seconds)

    def normal_seconds(self, command: Command) -> float:
        """Returns how long a command takes undisturbed."""
        words = " ".join(map(str, command))
        if words not in self._normal:
            begin = time.monotonic()
            self.run(command).must(0)
            self._normal[words] = time.monotonic() - begin
            clear(self.where)
        return self._normal[words]

    def ranks(self, program: str, count: int = 2, seconds: float = 20.0) -> list[int]:
        """Waits until a program has this many processes here, and returns those that there are."""
        end = time.monotonic() + seconds
        path = Path(self.program(program)).resolve()
        while True:
            found = []
            for pid in processes("environ", self.mark):
                with contextlib.suppress(OSError):
                    if Path(f"/proc/{pid}/exe").resolve() == path:
                        found.append(pid)
            if len(found) >= count or time.monotonic() > end:
                return found
            time.sleep(0.005)

    def stock(self) -> set[str]:
        """Returns what programs of this user can leave behind: shared memory, files, devices."""
        shared = SHARED_MEMORY.iterdir() if SHARED_MEMORY.is_dir() else ()
        things = {f"shared memory {path}" for path in shared if owner(path) == os.getuid()}
        for kind in ("shm", "sem", "msg"):
            with contextlib.suppress(OSError):
                lines = Path(f"/proc/sysvipc/{kind}").read_text(encoding="ascii").splitlines()[1:]
                things |= {f"{kind} {line.split()[1]} of System V" for line in lines}
        for where, directories, files in os.walk(self.temporary):
            things |= {f"temporary file {where}/{name}" for name in (*directories, *files)}
        return things | {f"network device {path.name}" for path in Path("/sys/class/net").glob("*")}

    def left_behind(self, before: set[str], seconds: float | None = None) -> list[str]:
        """Returns what is there and was not before, once it has had time to go; not what another program maps."""
        end = time.monotonic() + (PATIENCE_SECONDS if seconds is None else seconds)
        while True:
            found = [f"process {pid} ({name_of(pid)})" for pid in processes("environ", self.mark)]
            for thing in sorted(self.stock() - before):
                path = thing.rpartition(" ")[2]
                if not (thing.startswith("shared memory") and processes("maps", os.fsencode(path))):
                    found.append(thing)
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.02)

    def clean(self, left: Sequence[str]) -> None:
        """Removes what a try left behind, so that the next one is not blamed for it."""
        send(signal.SIGKILL, *processes("environ", self.mark))
        for thing in left:
            if thing.startswith("shared memory"):
                Path(thing.rpartition(" ")[2]).unlink(missing_ok=True)
        for directory in (self.temporary, self.where, self.output):
            clear(directory)


def owner(path: Path) -> int | None:
    with contextlib.suppress(OSError):
        return path.lstat().st_uid
    return None


def name_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    return "gone"


def clear(directory: Path) -> None:
    """Removes everything in a directory."""
    for path in directory.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def downbeat(*arguments: object) -> list[object]:
    """Returns the command that runs `downbeat` of this tree."""
    return [sys.executable, "-m", "downbeat", *arguments]
