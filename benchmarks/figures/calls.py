"""Cost of the library's calls in Python, and exit skew of a start: what `figures calls` prints of C."""

from __future__ import annotations

import json
from statistics import median

from downbeat import mpi
from mpi4py import MPI

BATCH = 20
CALLS = 5000


def main() -> None:
    comm = MPI.COMM_WORLD.Dup()
    mpi.sync(comm)
    times = []
    for _ in range(CALLS // 5):
        begin = MPI.Wtime()
        for _ in range(BATCH):
            mpi.time(comm)
        times.append((MPI.Wtime() - begin) / BATCH)
    calls = []
    for _ in range(CALLS):
        begin = MPI.Wtime()
        mpi.harmonize(comm)
        calls.append(MPI.Wtime() - begin)
    first = []
    flags = []
    for _ in range(CALLS):
        flags.append(mpi.harmonize(comm))
        now = mpi.time(comm)
        first.append(now - mpi.deadline(comm))
    gathered = comm.gather((first, flags))
    if gathered:
        (ours, flag), (theirs, other) = gathered
        skews = [abs(a - b) for a, b, *valid in zip(ours, theirs, flag, other, strict=True) if all(valid)]
        found = {
            "python_time_ns": median(times),
            "python_call_ns": median(calls),
            "python_first_ns": median(first),
            "python_skew_ns": median(skews),
        }
        print(json.dumps({name: round(value * 1e9, 1) for name, value in found.items()}))
    comm.Free()


main()
