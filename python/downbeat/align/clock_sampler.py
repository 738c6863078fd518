"""Samples the clocks of hosts: an MPI program with one process per host, under libdownbeat-preload.

It runs as a file, without the package: python clock_sampler.py INTERVAL SECONDS UNTIL_EOF. The samples are the clock
table of a recording. MPI_Init takes the first sample, MPI_Finalize the last: after a signal, after SECONDS, or at the
end of rank 0's standard input.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time


def main(interval: float, seconds: float, until_eof: bool) -> int:
    """Samples the clocks every `interval` seconds; returns the exit status."""
    preload = ctypes.CDLL(None)
    signals, wake = os.pipe()
    for end in (signals, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    size = preload.downbeat_preload_begin()
    tasks = os.environ.get("SLURM_STEP_NUM_TASKS", "1")
    if size == 1 and tasks != "1":
        print(
            f"downbeat: each of {tasks} processes finds only itself; start them with srun --mpi=pmix, or with what "
            "`srun --mpi=list` names",
            file=sys.stderr,
        )
        return 2
    begin = time.monotonic()
    more = 1 if size > 0 else -1
    while more > 0:
        passed = time.monotonic() - begin
        until = begin + min((passed // interval + 1) * interval, seconds)  # skips samples that are overdue
        go_on = wait(until, signals, until_eof) and time.monotonic() - begin < seconds
        more = preload.downbeat_preload_sample(int(go_on), ctypes.c_double(until - time.monotonic()))
    return 1 if more < 0 or preload.MPI_Finalize() else 0


def wait(until: float, signals: int, until_eof: bool) -> bool:
    """Waits until a time; returns False at once after a signal or the end of standard input.

    Only the result on process 0 decides whether sampling goes on.
    """
    while (remaining := until - time.monotonic()) > 0:
        ready, _, _ = select.select([signals, *([0] if until_eof else [])], [], [], remaining)
        if signals in ready or (0 in ready and not os.read(0, 256)):
            return False
    return True


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "1"))
