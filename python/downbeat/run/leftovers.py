"""Removes what a killed launch leaves: processes outside its own tree, shared memory, directories."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import tempfile
import time
from pathlib import Path

# A variable that all processes of a launch inherit, even if another process becomes their parent.
MARK = "_DOWNBEAT_LAUNCH"
PATIENCE_SECONDS = 10.0  # until processes that were killed are gone
# Memory that ranks share has a name until they end in order: of Open MPI 4, 5, MPICH, Intel MPI.
SEGMENT = re.compile(r"(vader|sm)_segment\.|mpich_shar_tmp|Intel_MPI_")
STEP_SECONDS = 0.02  # time stamps of files lag by up to one tick of the kernel
SHARED_MEMORY = Path("/dev/shm")
# Directories that a launcher removes when it ends in order, by its user and its process: of Open MPI 4 and 5.
SESSIONS = ("ompi.*.{user}/pid.{pid}", "ompi.{pid}")


def processes(name: str, text: bytes) -> list[int]:
    """Returns the processes that have a text in a file of theirs in /proc, as far as we may read it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # ended meanwhile, or of another user
                if text in (entry / name).read_bytes():
                    found.append(int(entry.name))
    return found


def end_marked(mark: str) -> None:
    """Kills the processes that have been started with this mark, and waits until they are gone."""
    text = os.fsencode(f"{MARK}={mark}") + b"\0"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (left := processes("environ", text)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def remove_segments(since: float) -> None:
    """Removes the shared memory of MPI programs of this user that none of them uses any more.

    Args:
        since: time in s since 1970, by this host; what is older is of another program.
    """
    for path in SHARED_MEMORY.iterdir() if SHARED_MEMORY.is_dir() else ():
        with contextlib.suppress(OSError):  # somebody else removes it, too
            status = path.stat()
            ours = SEGMENT.match(path.name) and status.st_uid == os.getuid() and status.st_ctime >= since - STEP_SECONDS
            if ours and not processes("maps", os.fsencode(path)):
                path.unlink()


def remove_sessions(pid: int) -> None:
    """Removes the directories of a launcher that has ended, however it did."""
    for pattern in SESSIONS:
        for path in Path(tempfile.gettempdir()).glob(pattern.format(user=os.getuid(), pid=pid)):
            shutil.rmtree(path, ignore_errors=True)
            if path.parent != Path(tempfile.gettempdir()):
                with contextlib.suppress(OSError):  # other launchers have theirs there
                    path.parent.rmdir()


class Guard:
    """Another process, which removes what a launch leaves if this one is killed before it can."""

    def __init__(self, mark: str) -> None:
        """Begins.

        Args:
            mark: of the launch, `MARK` in its environment.
        """
        begin = time.time()
        reading, self.writing = os.pipe()
        self.process = os.fork()
        if self.process:
            os.close(reading)
            return
        try:
            os.close(self.writing)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            os.setsid()  # what a terminal sends is for the others
            with os.fdopen(reading, "rb") as told:
                words = told.read().split()  # until the other end is closed
            if words[-1:] != [b"ended"]:
                remove_all(mark, begin, int(words[0]) if words else None)
        finally:
            os._exit(0)

    def started(self, launcher: int) -> None:
        """Names the process of the launcher."""
        os.write(self.writing, b"%d\n" % launcher)

    def ended(self) -> None:
        """Says that nothing is left to do, and waits for its end."""
        os.write(self.writing, b"ended")
        os.close(self.writing)
        os.waitpid(self.process, 0)


def remove_all(mark: str, since: float, launcher: int | None) -> None:
    """Waits until a launcher has ended, which has been asked to, and removes what it and its ranks leave."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while launcher is not None and Path(f"/proc/{launcher}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    end_marked(mark)  # ranks that were starting outlive their launcher, and hold their shared memory
    remove_segments(since)
    if launcher is not None:
        remove_sessions(launcher)
