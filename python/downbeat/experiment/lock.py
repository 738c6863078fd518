"""Keeps two runs out of one directory."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from downbeat.errors import DownbeatError

LOCK = "lock"
# A run that was killed leaves the directory once its launch has been ended, which takes some seconds.
PATIENCE_SECONDS = 15.0


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[int]:
    """Holds the lock of a directory, which is made; gives its file descriptor.

    A process that inherits the descriptor holds the lock as well, so that nobody else begins while a launch is ended.

    Raises:
        DownbeatError: another run holds it.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / LOCK).open("w", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise DownbeatError(f"another run is using '{directory}'") from error
                time.sleep(0.1)
                continue
            # Whoever held it may have removed it meanwhile, and another run may hold the next one.
            if os.fstat(file.fileno()).st_nlink == 0:
                continue
            yield file.fileno()
            return
