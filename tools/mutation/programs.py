"""Starting programs that may not end, as mutants do.

Limits are of processor time: on a busy machine a test that ends takes as long as it likes.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# Of the normal processor time, and at least: a mutant that takes longer hangs.
PATIENCE = 5.0
LEAST_SECONDS = 10.0
# Of that, on the wall, for what sleeps for ever.
WALL = 20.0
GRACE_SECONDS = 5.0
OUT_OF_TIME = -signal.SIGXCPU
PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a program ended."""

    status: int | None  # None: not by itself
    seconds: float  # of processor time, with all processes that it waited for

    @property
    def passed(self) -> bool:
        """Whether it ended well."""
        return self.status == 0

    @property
    def hung(self) -> bool:
        """Whether it had to be ended."""
        return self.status in (None, OUT_OF_TIME)


def limit_of(normal_seconds: float) -> float:
    """Returns how much processor time a test may take on a mutant, in seconds."""
    return max(LEAST_SECONDS, PATIENCE * normal_seconds)


def limit_processor_time(limit: float) -> None:
    """Limits the calling process, and each that it starts."""
    seconds = max(1, round(limit))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def die_with_parent() -> None:
    """Ends the calling process when the one ends that started it: nobody would read what it says."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def kill_group(leader: int, signal_number: int = signal.SIGKILL) -> None:
    """Sends a signal to a process group, if there is one."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal_number)


def wait_for(leader: int, limit: float) -> Ended | None:
    """Waits for a child; returns None if that takes longer than `limit` seconds on the wall."""
    end = time.monotonic() + limit
    while True:
        done, status, usage = os.wait4(leader, os.WNOHANG)
        if done:
            return Ended(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)
        if time.monotonic() > end:
            return None
        time.sleep(0.01)


def await_group(leader: int, limit: float) -> Ended:
    """Waits for the leader of a process group that has limited itself, and ends what is left of the group."""
    ended = wait_for(leader, WALL * limit)
    if ended is None:
        kill_group(leader, signal.SIGTERM)  # a launcher ends its ranks
        if wait_for(leader, GRACE_SECONDS) is None:
            kill_group(leader)
            os.waitpid(leader, 0)
    kill_group(leader)
    return ended or Ended(None, limit)


def run(command: Sequence[str], log: Path, limit: float, cwd: Path, env: Mapping[str, str]) -> Ended:
    """Runs a program to its end, at most `limit` seconds of processor time; what it says goes into a file."""

    def begin() -> None:
        die_with_parent()
        limit_processor_time(limit)

    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=begin,  # noqa: PLW1509 (there is one thread)
        )
    ended = await_group(process.pid, limit)
    process.returncode = ended.status or 0  # its status is taken already
    return ended
