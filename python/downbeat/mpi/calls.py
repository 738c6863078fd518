"""The functions of mpix_harmonize.h, which documents each in full."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping

from mpi4py import MPI

from downbeat.mpi.binding import HANDLE, check, function, handle
from downbeat.mpi.statistics import CStats, Stats, from_c

INT_OUT = ctypes.POINTER(ctypes.c_int)
DOUBLE = ctypes.c_double
DOUBLE_OUT = ctypes.POINTER(ctypes.c_double)

_harmonize = function("MPIX_Harmonize", HANDLE, INT_OUT, waits=True)
_delayed = function("MPIX_Harmonize_delayed", HANDLE, DOUBLE, INT_OUT, waits=True)
_wait_until = function("MPIX_Harmonize_wait_until", HANDLE, DOUBLE, INT_OUT, waits=True)
_sync = function("MPIX_Harmonize_sync", HANDLE, waits=True)
_true_error = function("MPIX_Harmonize_true_error", HANDLE, DOUBLE_OUT, waits=True)
_set_info = function("MPIX_Harmonize_set_info", HANDLE, HANDLE, waits=True)
_get_info = function("MPIX_Harmonize_get_info", HANDLE, ctypes.c_void_p)
_deadline = function("MPIX_Harmonize_deadline", HANDLE, DOUBLE_OUT)
_verdict = function("MPIX_Harmonize_verdict", HANDLE, INT_OUT)
_lateness = function("MPIX_Harmonize_lateness", HANDLE, DOUBLE_OUT)
_time = function("MPIX_Harmonize_time", HANDLE, DOUBLE_OUT)
_error_bound = function("MPIX_Harmonize_error_bound", HANDLE, DOUBLE_OUT)
_expected_error = function("MPIX_Harmonize_expected_error", HANDLE, DOUBLE_OUT)
_stats = function("MPIX_Harmonize_get_stats", HANDLE, ctypes.POINTER(CStats))


def number(call: Callable[..., int], comm: MPI.Comm) -> float:
    """Returns the number that a function of the library sets."""
    found = DOUBLE()
    check(call(handle(comm), found))
    return found.value


def harmonize(comm: MPI.Comm) -> bool:
    """Returns on all processes of comm at the same instant.

    Collective. Other threads of Python run while it waits; if they keep the interpreter, they delay the return.

    Returns:
        Whether this process arrived in time, left at the deadline, and knows its clock well enough.
    """
    flag = ctypes.c_int()
    check(_harmonize(handle(comm), flag))
    return flag.value != 0


def harmonize_delayed(comm: MPI.Comm, delay: float) -> bool:
    """Returns `delay` after the common deadline; other processes may call `harmonize` instead.

    Collective.

    Args:
        comm: communicator.
        delay: from the deadline to the return of this process, s, >= 0; may differ between processes.

    Returns:
        Whether this process left at deadline + delay.
    """
    flag = ctypes.c_int()
    check(_delayed(handle(comm), delay, flag))
    return flag.value != 0


def deadline(comm: MPI.Comm) -> float:
    """Returns the common deadline of the last start, s on the global clock; the same on all processes."""
    return number(_deadline, comm)


def verdict(comm: MPI.Comm) -> bool | None:
    """Returns whether every process's flag was True in the start before the last; None if there was none."""
    found = ctypes.c_int()
    check(_verdict(handle(comm), found))
    return None if found.value == MPI.UNDEFINED else found.value != 0


def lateness(comm: MPI.Comm) -> float:
    """Returns how late the latest process left in the start before the last, s; the same on all processes."""
    return number(_lateness, comm)


def time(comm: MPI.Comm) -> float:
    """Returns the current time of comm's global clock, s since comm was prepared."""
    return number(_time, comm)


def wait_until(comm: MPI.Comm, time: float) -> bool:
    """Waits until the global clock shows a time.

    Args:
        comm: communicator.
        time: on the global clock, s, e.g. time(comm) + 1e-3. If it has passed, the function returns at once.

    Returns:
        Whether this process left within the tolerance of it.
    """
    flag = ctypes.c_int()
    check(_wait_until(handle(comm), time, flag))
    return flag.value != 0


def error_bound(comm: MPI.Comm) -> float:
    """Returns how far this process's global clock can be from process 0's now, s; 0 on process 0."""
    return number(_error_bound, comm)


def expected_error(comm: MPI.Comm) -> float:
    """Returns how far this process's global clock is likely to be from process 0's now, s, one standard deviation."""
    return number(_expected_error, comm)


def sync(comm: MPI.Comm) -> None:
    """Synchronizes the clocks of comm now. Collective. Only needed if the clock is read for long without a start."""
    check(_sync(handle(comm)))


def true_error(comm: MPI.Comm) -> float:
    """Returns the true error of this process's global clock, s; known only with the validation clock. Collective."""
    return number(_true_error, comm)


def stats(comm: MPI.Comm) -> Stats:
    """Returns the statistics of a communicator since it was prepared."""
    found = CStats()
    check(_stats(handle(comm), found))
    return from_c(found)


def set_info(comm: MPI.Comm, settings: Mapping[str, object] | MPI.Info) -> None:
    """Changes settings of a communicator; either all take effect or none. Collective.

    Args:
        comm: communicator.
        settings: e.g. {"slack": 50e-6, "sync": "hca3"}, the same on all processes; mpix_harmonize.h lists them.
    """
    if isinstance(settings, MPI.Info):
        check(_set_info(handle(comm), info_handle(settings)))
        return
    info = MPI.Info.Create()
    try:
        for key, value in settings.items():
            info.Set(key, str(value))
        check(_set_info(handle(comm), info_handle(info)))
    finally:
        info.Free()


def info_handle(info: MPI.Info) -> object:
    """Returns an info object as the library's functions take it."""
    return HANDLE.from_address(MPI._addressof(info))


def get_info(comm: MPI.Comm) -> dict[str, str]:
    """Returns all settings in force."""
    info = MPI.Info()
    check(_get_info(handle(comm), MPI._addressof(info)))
    try:
        return dict(info.items())
    finally:
        info.Free()
