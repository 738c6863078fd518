"""Keeps two runs, or two builds, out of one directory."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from downbeat.base.files import target_of
from downbeat.errors import DownbeatError

LOCK = "lock"
# Where the file system has no locks (Lustre without the mount option flock, NFS without its lock service): a file that
# names its maker.
HOLDER = "lock.holder"
NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL)
# A run that was killed leaves the directory once its launch has been ended, which takes some seconds.
PATIENCE_SECONDS = 15.0


@contextlib.contextmanager
def locked(directory: Path, who: str = "run", patience: float | None = None) -> Iterator[int]:
    """Creates a directory and holds its lock; yields the file descriptor.

    A process that inherits the descriptor holds the lock too, so that no other run begins while a launch is ended.

    Args:
        directory: of an experiment, of a build.
        who: holds it, for the error.
        patience: seconds to wait for it, `PATIENCE_SECONDS` by default.

    Raises:
        UsageError: it is a link that another user has made.
        DownbeatError: another one holds it.
    """
    deadline = time.monotonic() + (PATIENCE_SECONDS if patience is None else patience)
    while True:
        directory.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as held:
            # Nothing is written: another user of the directory could have put a link to another file there.
            file = os.open(target_of(directory / LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            held.callback(os.close, file)
            try:
                if not take(file):
                    held.enter_context(holder(directory / HOLDER))
            except (BlockingIOError, FileExistsError) as error:
                if time.monotonic() > deadline:
                    raise DownbeatError(f"another {who} is using '{directory}'{remedy(directory / HOLDER)}") from error
                time.sleep(0.1)
                continue
            # The last holder may have removed it meanwhile, and another run may hold a new one.
            if os.fstat(file).st_nlink == 0:
                continue
            yield file
            return


def take(file: int) -> bool:
    """Locks an open file; returns whether its file system can.

    Raises:
        BlockingIOError: another process holds the lock.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        raise
    return True


@contextlib.contextmanager
def holder(path: Path) -> Iterator[None]:
    """Makes a file that says who made it, and removes it.

    Raises:
        FileExistsError: another one is there.
    """
    with path.open("x", encoding="utf-8") as file:
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def remedy(path: Path) -> str:
    """Returns what to do about a file that a holder left, if there is one: it stays when its maker is killed."""
    with contextlib.suppress(OSError):
        return f": {path.read_text(encoding='utf-8', errors='replace')}; if it has ended, remove '{path}'"
    return ""
