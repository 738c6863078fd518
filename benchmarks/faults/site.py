"""Where faults are tried: a directory of its own, programs of a build, and runs that are ended where they hang."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from downbeat.launchers.leftovers import processes
from downbeat.launchers.libraries import ROOT

# Inherited by all that a try starts, whoever becomes its parent.
MARK = "_DOWNBEAT_FAULTS"
LAUNCH_SECONDS = 60.0  # no run of one launch takes longer, or it hangs


@dataclasses.dataclass(frozen=True)
class Ended:
    """A run that ended.

    Attributes:
        status: as the shell has it: 128 + N after signal N.
        stdout: of it.
        stderr: of it.
        seconds: that it took.
        hung: whether it had to be ended.
    """

    status: int
    stdout: str
    stderr: str
    seconds: float
    hung: bool = False

    @property
    def said(self) -> list[str]:
        """Lines of its standard error."""
        return [line for line in self.stderr.splitlines() if line.strip()]

    @property
    def last_line(self) -> str:
        """The line that it said last, for a message."""
        lines = [*self.stdout.splitlines(), *self.said]
        return lines[-1] if lines else "nothing"

    @property
    def traceback(self) -> bool:
        """Whether it fell over where it should have said a line."""
        return any(text in self.stderr for text in ("Traceback (most recent", "terminate called", "Sanitizer"))


class Running:
    """A program that runs, in a session of its own, with what it prints in files."""

    def __init__(self, process: subprocess.Popen[bytes], directory: Path, begin: float) -> None:
        self.process = process
        self.directory = directory
        self.begin = begin

    def signal(self, number: int) -> None:
        """Sends a signal, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def end(self, seconds: float) -> Ended:
        """Waits until it has ended; ends it and all that it has started where it takes longer."""
        hung = False
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            hung = True
            for pid in [self.process.pid, *processes("environ", self.mark)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
        status = self.process.returncode
        stdout, stderr = (
            (self.directory / name).read_bytes().decode(errors="replace") for name in ("stdout", "stderr")
        )
        return Ended(status if status >= 0 else 128 - status, stdout, stderr, time.monotonic() - self.begin, hung)

    @property
    def mark(self) -> bytes:
        """What the environment of its descendants contains."""
        return os.fsencode(f"{MARK}={self.directory.parent}")


class Site:
    """What the rows share.

    Attributes:
        mpi: the MPI library.
        where: a directory for the files of a try, empty at its beginning.
        temporary: TMPDIR of all that is started.
        chance: random numbers, of a known seed.
    """

    def __init__(self, mpi: str, home: Path, seed: int) -> None:
        self.mpi = mpi
        self.home = home
        self.where = home / "try"
        self.temporary = home / "tmp"
        self.output = home / "output"
        self.chance = random.Random(seed)
        self.parent = os.getpid()
        for directory in (self.where, self.temporary, self.output):
            directory.mkdir(exist_ok=True)

    @property
    def mark(self) -> bytes:
        """What the environment of all that was started here contains."""
        return os.fsencode(f"{MARK}={self.home}")

    def program(self, name: str) -> str:
        """Returns a program of the build."""
        return str(ROOT / "build" / self.mpi / "bin" / name)

    def library(self, name: str) -> str:
        """Returns a shared object of the build."""
        return str(ROOT / "build" / self.mpi / "lib" / name)

    def environment(self, variables: Mapping[str, str | None]) -> dict[str, str]:
        """Returns the environment for a program; None takes a variable away."""
        everything = {
            **os.environ,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",  # where the launcher is started without tools/launch
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            MARK: str(self.home),
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": str(ROOT / "python"),
            **variables,
        }
        return {name: value for name, value in everything.items() if value is not None}

    def start(
        self,
        command: Sequence[object],
        variables: Mapping[str, str | None] | None = None,
        where: Path | None = None,
        **how: object,
    ) -> Running:
        """Starts a command in the directory of the try."""
        with (self.output / "stdout").open("wb") as stdout, (self.output / "stderr").open("wb") as stderr:
            streams: dict[str, object] = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stderr, **how}
            begin = time.monotonic()
            process = subprocess.Popen(
                [str(word) for word in command],
                cwd=where or self.where,
                env=self.environment(variables or {}),
                start_new_session=True,
                **streams,  # type: ignore[call-overload]
            )
        return Running(process, self.output, begin)

    def run(
        self,
        command: Sequence[object],
        variables: Mapping[str, str | None] | None = None,
        seconds: float = LAUNCH_SECONDS,
        where: Path | None = None,
        **how: object,
    ) -> Ended:
        """Runs a command to its end."""
        return self.start(command, variables, where, **how).end(seconds)

    def launch(self, program: str, *arguments: object, ranks: int = 2) -> list[object]:
        """Returns the command that starts a program of the build under MPI."""
        launcher = [ROOT / "tools/launch", "--mpi", self.mpi, "-n", ranks, "--parent", self.parent]
        return [*launcher, "--timeout", LAUNCH_SECONDS - 15, self.program(program), *arguments]

    def downbeat(self, *arguments: object) -> list[object]:
        """Returns the command for the command downbeat of this tree."""
        return [sys.executable, "-m", "downbeat", *arguments]

    def ranks(self, program: str) -> list[int]:
        """Returns the processes of a program of the build that were started here, in order of their numbers."""
        found = []
        for pid in processes("environ", self.mark):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/exe").resolve() == Path(self.program(program)).resolve():
                    found.append(pid)
        return sorted(found)

    def wait_for_ranks(self, program: str, count: int, seconds: float = 20.0) -> list[int]:
        """Waits until a program has so many processes here; returns those that there are."""
        end = time.monotonic() + seconds
        while len(found := self.ranks(program)) < count and time.monotonic() < end:
            time.sleep(0.005)
        return found


def clear(directory: Path) -> None:
    """Removes all that is in a directory."""
    for path in directory.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
