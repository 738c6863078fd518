"""Waits for a launcher, which may hang when its ranks are gone, without disturbing what they measure."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from pathlib import Path

# Open MPI 4's launcher hangs in 1 of 20 launches of which a rank is killed in MPI_Init. So we look whether there are
# ranks: often until they appear or START_SECONDS pass, then rarely enough not to disturb a measurement.
FIRST_LOOK_SECONDS, START_SECONDS, LOOK_SECONDS = 0.05, 20.0, 4.0


def has_children(pid: int) -> bool:
    """Returns whether a process has children that run; False if the kernel does not say."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # ended meanwhile
            for child in path.read_text(encoding="ascii").split():
                stat = Path(f"/proc/{child}/stat").read_text(encoding="utf-8", errors="replace")
                if stat.rpartition(")")[2].split()[0] not in "ZX":
                    return True
    return False


def wait(launcher: subprocess.Popen[bytes], seconds: float | None) -> int:
    """Does what `Popen.wait` does, which looks 20 times a second: ranks that are measured would feel it."""
    try:
        ended = os.pidfd_open(launcher.pid)
    except (AttributeError, OSError):  # before Linux 5.3
        return launcher.wait(seconds)
    try:
        select.select([ended], [], [], seconds)
    finally:
        os.close(ended)
    return launcher.wait(0)


class LauncherStuckError(Exception):
    """A launcher has no ranks any more, and does not end."""


def await_launcher(launcher: subprocess.Popen[bytes], timeout: float | None, starts_ranks: bool) -> int:
    """Waits until a launcher ends; returns its exit status.

    Args:
        launcher: that was started.
        timeout: in s; None: as long as it takes.
        starts_ranks: whether ranks, or what starts them, are processes that the launcher itself has started.

    Raises:
        subprocess.TimeoutExpired: it has not ended in time.
        LauncherStuckError: it has started ranks, which have ended, and it does not.
    """
    begin = time.monotonic()
    had_ranks = False
    without = 0  # looks in a row
    while starts_ranks:
        step = LOOK_SECONDS if had_ranks else FIRST_LOOK_SECONDS
        left = step if timeout is None else timeout - (time.monotonic() - begin)
        try:
            return wait(launcher, min(step, max(0.0, left)))
        except subprocess.TimeoutExpired:
            if left <= step and timeout is not None:
                raise
        has_ranks = has_children(launcher.pid)
        had_ranks = had_ranks or has_ranks
        without = 0 if has_ranks or not had_ranks else without + 1
        if without > 1:
            raise LauncherStuckError
        starts_ranks = had_ranks or time.monotonic() - begin < START_SECONDS
    return wait(launcher, None if timeout is None else max(0.0, timeout - (time.monotonic() - begin)))
