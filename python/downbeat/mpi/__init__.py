"""A common start for mpi4py programs: libdownbeat, called with mpi4py's communicators.

    from mpi4py import MPI
    from downbeat import mpi

    flag = mpi.harmonize(comm)           # all processes of comm return at the same instant
    begin = MPI.Wtime()
    comm.Reduce(data, result)
    time = MPI.Wtime() - begin           # use it if flag was True on every process

docs/languages.md is the reference. Times are seconds. Needs mpi4py (`pip install 'downbeat[mpi]'`) and a libdownbeat
for the MPI library that mpi4py has loaded. If there is none, the import raises `LibraryError`, which is an ImportError.
Errors of MPI are `mpi4py.MPI.Exception`.
"""

from downbeat.launchers.libdownbeat import LibraryError
from downbeat.mpi.binding import library, version  # before what needs mpi4py: it says what is missing
from downbeat.mpi.calls import (
    deadline,
    error_bound,
    expected_error,
    get_info,
    harmonize,
    harmonize_delayed,
    lateness,
    set_info,
    stats,
    sync,
    time,
    true_error,
    verdict,
    wait_until,
)
from downbeat.mpi.statistics import Stats

__all__ = [
    "LibraryError",
    "Stats",
    "deadline",
    "error_bound",
    "expected_error",
    "get_info",
    "harmonize",
    "harmonize_delayed",
    "lateness",
    "library",
    "set_info",
    "stats",
    "sync",
    "time",
    "true_error",
    "verdict",
    "version",
    "wait_until",
]
