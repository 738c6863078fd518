"""A common start for mpi4py programs: libdownbeat, called with mpi4py's communicators.

    from mpi4py import MPI
    from downbeat import mpi

    flag = mpi.harmonize(comm)           # all processes of comm return at the same instant
    begin = MPI.Wtime()
    comm.Reduce(data, result)
    time = MPI.Wtime() - begin           # use it if flag was True on every process

docs/languages.md is the reference. Times are in seconds. The module needs mpi4py (`pip install 'downbeat[mpi]'`) and a
libdownbeat for the MPI library that mpi4py has loaded; without these, the import raises `LibraryError`, an ImportError.
Errors of MPI raise `mpi4py.MPI.Exception`.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from downbeat.run.libdownbeat import MAPS, LibraryError, find_library, loaded_mpi


class Stats(NamedTuple):
    """Statistics of a communicator since it was prepared; counts are those of this process unless noted.

    Attributes:
        calls: harmonized starts; the same on all processes.
        late_arrivals: flag False: the deadline had passed when this process received it.
        late_exits: flag False: left later than the tolerance, the wait was interrupted.
        unsure_clocks: flag False: the clock's expected error was too large, or observations contradicted it.
        contradictions: number of times that this process's clock exceeded max_skew or max_wander.
        unflagged_exits: flag True although this process left later than the tolerance; only with slack=published.
        invalid_calls: calls in which any process's flag was False, except the last call; the same on all processes.
        syncs: clock synchronizations.
        sync_seconds: time spent in clock synchronizations, s.
        sync_share: sync_seconds as a share of the time since the communicator was prepared.
        sync_messages: messages of this process for clock synchronizations, without collective operations.
        slack: from the decision of process 0 to the deadline, last call, s; the same on all processes.
        lag: from the decision to the moment this process was ready, last call, s.
        error_bound: largest possible difference of this process's global clock to process 0's now, s.
        expected_error: standard deviation of that difference, s.
        sync_error: expected error directly after the last synchronization, without path asymmetry, s.
        flag_error: while sync_error exceeds this, s, flags are False on this process.
        tolerance: current tolerance, s; it varies with tolerance=auto.
        clock_domains: number of groups of processes verified to share a clock; one process of each is synchronized.
        memory_domains: number of groups of processes that agree through shared memory; equal to the number of processes
            if they agree by messages.
        oversubscribed: whether a node has more processes than processors.
    """

    calls: int
    late_arrivals: int
    late_exits: int
    unsure_clocks: int
    contradictions: int
    unflagged_exits: int
    invalid_calls: int
    syncs: int
    sync_seconds: float
    sync_share: float
    sync_messages: int
    slack: float
    lag: float
    error_bound: float
    expected_error: float
    sync_error: float
    flag_error: float
    tolerance: float
    clock_domains: int
    memory_domains: int
    oversubscribed: bool


# Type of a field of Stats -> type in C.
C_TYPES: dict[type, Any] = {int: ctypes.c_longlong, float: ctypes.c_double, bool: ctypes.c_int}


class CStats(ctypes.Structure):
    """MPIX_Harmonize_stats of mpix_harmonize.h; the numbers of domains are int, other whole numbers long long."""

    _fields_ = [
        (name, ctypes.c_int if name.endswith("_domains") else C_TYPES[kind])
        for name, kind in get_type_hints(Stats).items()
    ]


try:
    from mpi4py import MPI
except ModuleNotFoundError as missing:
    if missing.name != "mpi4py":
        raise
    raise LibraryError("downbeat.mpi needs mpi4py; run: pip install 'downbeat[mpi]'") from None
except RuntimeError as error:  # mpi4py's wheel chooses an MPI library at import
    raise LibraryError(f"mpi4py has found no MPI library: {' '.join(str(error).split())}") from None

LOADED = loaded_mpi(MAPS.read_text(encoding="utf-8"))
LIBRARY_PATH: Path = find_library(MPI.Get_library_version(), LOADED)
# Makes the symbols of the loaded MPI library global. A libdownbeat of the wheel needs no library by name; it finds the
# MPI functions among the global symbols.
ctypes.CDLL(str(LOADED[0]), mode=os.RTLD_NOLOAD | os.RTLD_LAZY | os.RTLD_GLOBAL)


def load(loader: Callable[[str], ctypes.CDLL]) -> ctypes.CDLL:
    """Loads libdownbeat.

    Raises:
        LibraryError: the library cannot be loaded, e.g. because it needs symbols that the MPI library lacks.
    """
    try:
        return loader(str(LIBRARY_PATH))
    except OSError as error:
        raise LibraryError(f"cannot load {LIBRARY_PATH}: {error}") from None


# Blocking calls release Python's interpreter lock for other threads. Local calls keep it: releasing and acquiring it
# would cost more than the call.
WAITING = load(ctypes.CDLL)
LOCAL = load(ctypes.PyDLL)

# MPI_Comm and MPI_Info are an int in MPICH's family, a pointer in Open MPI and the standard ABI.
HANDLE: Any = ctypes.c_int if MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p


def function(name: str, *arguments: Any, waits: bool = False) -> Callable[..., int]:  # noqa: ANN401
    """Returns a function of the library that returns an MPI error code.

    Args:
        name: name in C.
        arguments: types of the arguments.
        waits: whether the function blocks and releases Python's interpreter lock.

    Raises:
        LibraryError: the library has no such function.
    """
    try:
        entry = getattr(WAITING if waits else LOCAL, name)
    except AttributeError:
        raise LibraryError(f"{LIBRARY_PATH} has no {name}: the library is of another version; build it again") from None
    entry.argtypes = arguments
    entry.restype = ctypes.c_int
    return entry  # type: ignore[no-any-return]


def handle(comm: MPI.Comm) -> Any:  # noqa: ANN401
    """Returns a communicator as an argument for functions of the library.

    Raises:
        TypeError: the object is no communicator of mpi4py.
    """
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm is a {type(comm).__name__}; give a communicator of mpi4py")
    return HANDLE.from_address(MPI._addressof(comm))


def check(code: int) -> None:
    """Raises an exception of mpi4py for an MPI error code.

    Raises:
        MPI.Exception: the code is an error.
    """
    if code != MPI.SUCCESS:
        raise MPI.Exception(code)


def library() -> Path:
    """Path of the loaded libdownbeat."""
    return LIBRARY_PATH


def version() -> str:
    """Version of the loaded libdownbeat, e.g. "0.1.0"."""
    entry = LOCAL.Downbeat_version
    entry.restype = ctypes.c_char_p
    return str(entry().decode())


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


def read_number(call: Callable[..., int], comm: MPI.Comm) -> float:
    """Returns the number that a function of the library returns through a pointer."""
    number = DOUBLE()
    check(call(handle(comm), number))
    return number.value


def harmonize(comm: MPI.Comm) -> bool:
    """Returns on all processes of comm at the same instant.

    Collective. Other threads of Python run while it waits; if they keep the interpreter, they delay the return.

    Returns:
        Whether this process arrived in time, left at the deadline, and has a sufficiently accurate clock.
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
    return read_number(_deadline, comm)


def verdict(comm: MPI.Comm) -> bool | None:
    """Returns true if every process's flag was True in the start before the last; None without such a start."""
    flag = ctypes.c_int()
    check(_verdict(handle(comm), flag))
    return None if flag.value == MPI.UNDEFINED else flag.value != 0


def lateness(comm: MPI.Comm) -> float:
    """Returns the lateness of the last process to leave in the start before the last, s; the same on all processes."""
    return read_number(_lateness, comm)


def time(comm: MPI.Comm) -> float:
    """Returns the current time of comm's global clock, s since comm was prepared."""
    return read_number(_time, comm)


def wait_until(comm: MPI.Comm, time: float) -> bool:
    """Waits until the global clock shows a time.

    Args:
        comm: communicator.
        time: on the global clock, s, e.g. time(comm) + 1e-3. If the time has passed, the function returns at once.

    Returns:
        Whether this process left within the tolerance of the time.
    """
    flag = ctypes.c_int()
    check(_wait_until(handle(comm), time, flag))
    return flag.value != 0


def error_bound(comm: MPI.Comm) -> float:
    """Returns the largest possible difference of this process's global clock to process 0's now, s; 0 on process 0."""
    return read_number(_error_bound, comm)


def expected_error(comm: MPI.Comm) -> float:
    """Returns the standard deviation of the difference of this process's global clock to process 0's now, s."""
    return read_number(_expected_error, comm)


def sync(comm: MPI.Comm) -> None:
    """Synchronizes the clocks of comm now. Collective. Only needed if the clock is read for long without a start."""
    check(_sync(handle(comm)))


def true_error(comm: MPI.Comm) -> float:
    """Returns the true error of this process's global clock, s; known only with the validation clock. Collective."""
    return read_number(_true_error, comm)


def stats(comm: MPI.Comm) -> Stats:
    """Returns the statistics of a communicator since it was prepared."""
    c_stats = CStats()
    check(_stats(handle(comm), c_stats))
    values = {name: getattr(c_stats, name) for name in Stats._fields}
    return Stats(**{**values, "oversubscribed": bool(c_stats.oversubscribed)})


def set_info(comm: MPI.Comm, settings: Mapping[str, object] | MPI.Info) -> None:
    """Changes settings of a communicator; either all take effect or none. Collective.

    Args:
        comm: communicator.
        settings: e.g. {"slack": 50e-6, "sync": "hca3"}, the same on all processes; mpix_harmonize.h lists them.
    """
    if isinstance(settings, MPI.Info):
        check(_set_info(handle(comm), HANDLE.from_address(MPI._addressof(settings))))
        return
    info = MPI.Info.Create()
    try:
        for key, value in settings.items():
            info.Set(key, str(value))
        check(_set_info(handle(comm), HANDLE.from_address(MPI._addressof(info))))
    finally:
        info.Free()


def get_info(comm: MPI.Comm) -> dict[str, str]:
    """All current settings by name."""
    info = MPI.Info()
    check(_get_info(handle(comm), MPI._addressof(info)))
    try:
        return dict(info.items())
    finally:
        info.Free()


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
