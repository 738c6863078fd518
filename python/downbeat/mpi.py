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

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from downbeat.run.libdownbeat import MAPS, LibraryError, find_library, loaded_mpi, make_visible


class Stats(NamedTuple):
    """Statistics of a communicator since it was prepared; the counts are of this process if nothing else is said.

    Attributes:
        calls: harmonized starts; the same on all processes.
        late_arrivals: flag False: the deadline had passed when this process received it.
        late_exits: flag False: left later than the tolerance, the wait was interrupted.
        unsure_clocks: flag False: late or not, the clock's expected error was too large, or it was refuted.
        contradictions: times that this process's clock did what max_skew and max_wander exclude.
        unflagged_exits: flag True, but left later than the tolerance: only with slack=published.
        invalid_calls: calls in which any process's flag was False, without the last call; the same on all processes.
        syncs: clock synchronizations.
        sync_seconds: time spent in clock synchronizations, s.
        sync_share: the same as a share of the time since the communicator was prepared.
        sync_messages: messages that this process sent or received for them, without collective operations.
        slack: from the decision of process 0 to the deadline, last call, s; the same on all processes.
        lag: from the decision to the moment this process was ready, last call, s.
        error_bound: how far this process's global clock can be from process 0's now, s.
        expected_error: how far it is likely to be, one standard deviation, s.
        sync_error: the same directly after the last synchronization, without what no exchange shows, s: while it is
        flag_error: larger than this, s, flags are False here.
        tolerance: in force, s; it changes with the setting tolerance=auto.
        clock_domains: groups of processes verified to share a clock; one of each is synchronized.
        memory_domains: groups of processes that agree through shared memory; as many as processes: by messages.
        oversubscribed: a node has more processes than processors.
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


C_TYPES: dict[type, Any] = {int: ctypes.c_longlong, float: ctypes.c_double, bool: ctypes.c_int}


class CStats(ctypes.Structure):
    """MPIX_Harmonize_stats of mpix_harmonize.h."""

    _fields_ = [
        (name, ctypes.c_int if name.endswith("_domains") else C_TYPES[kind])
        for name, kind in get_type_hints(Stats).items()
    ]


def from_c(found: CStats) -> Stats:
    """Returns statistics as Python has them."""
    values = {name: getattr(found, name) for name in Stats._fields}
    return Stats(**{**values, "oversubscribed": bool(found.oversubscribed)})


try:
    from mpi4py import MPI
except ModuleNotFoundError as missing:
    if missing.name != "mpi4py":
        raise
    raise LibraryError("downbeat.mpi needs mpi4py; run: pip install 'downbeat[mpi]'") from None
except RuntimeError as error:  # its wheel chooses an MPI library when it is imported
    raise LibraryError(f"mpi4py has found no MPI library: {' '.join(str(error).split())}") from None

LOADED = loaded_mpi(MAPS.read_text(encoding="utf-8"))
LIBRARY_PATH: Path = find_library(MPI.Get_library_version(), LOADED)
make_visible(LOADED[0])


def load(loader: Callable[[str], ctypes.CDLL]) -> ctypes.CDLL:
    """Loads the library, which must have symbols for all that this MPI library lacks."""
    try:
        return loader(str(LIBRARY_PATH))
    except OSError as error:
        raise LibraryError(f"cannot load {LIBRARY_PATH}: {error}") from None


# Calls that wait let other threads of Python run. Those that do not wait keep the interpreter: letting it go and taking
# it again would cost more than the call.
WAITING = load(ctypes.CDLL)
LOCAL = load(ctypes.PyDLL)

# MPI_Comm is an int in MPICH's family, a pointer in Open MPI and the standard ABI; likewise MPI_Info.
HANDLE: Any = ctypes.c_int if MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p


def function(name: str, *arguments: Any, waits: bool = False) -> Callable[..., int]:  # noqa: ANN401
    """Returns a function of the library, which returns an error code.

    Args:
        name: in C.
        arguments: their types.
        waits: whether other threads of Python run meanwhile.

    Raises:
        LibraryError: the library has no such function.
    """
    try:
        found = getattr(WAITING if waits else LOCAL, name)
    except AttributeError:
        raise LibraryError(f"{LIBRARY_PATH} has no {name}: it is of another version; build it again") from None
    found.argtypes = arguments
    found.restype = ctypes.c_int
    return found  # type: ignore[no-any-return]


def handle(comm: MPI.Comm) -> Any:  # noqa: ANN401
    """Returns a communicator as the library's functions take it.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm is a {type(comm).__name__}; give a communicator of mpi4py")
    return HANDLE.from_address(MPI._addressof(comm))


def check(code: int) -> None:
    """Raises what an error code of MPI is in mpi4py.

    Raises:
        MPI.Exception: the code is an error.
    """
    if code != MPI.SUCCESS:
        raise MPI.Exception(code)


def library() -> Path:
    """Returns the file of the libdownbeat in use."""
    return LIBRARY_PATH


def version() -> str:
    """Returns the version of that libdownbeat, e.g. "0.1.0"."""
    found = LOCAL.Downbeat_version
    found.restype = ctypes.c_char_p
    return str(found().decode())


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
    return read_number(_deadline, comm)


def verdict(comm: MPI.Comm) -> bool | None:
    """Returns whether every process's flag was True in the start before the last; None if there was none."""
    found = ctypes.c_int()
    check(_verdict(handle(comm), found))
    return None if found.value == MPI.UNDEFINED else found.value != 0


def lateness(comm: MPI.Comm) -> float:
    """Returns how late the latest process left in the start before the last, s; the same on all processes."""
    return read_number(_lateness, comm)


def time(comm: MPI.Comm) -> float:
    """Returns the current time of comm's global clock, s since comm was prepared."""
    return read_number(_time, comm)


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
    return read_number(_error_bound, comm)


def expected_error(comm: MPI.Comm) -> float:
    """Returns how far this process's global clock is likely to be from process 0's now, s, one standard deviation."""
    return read_number(_expected_error, comm)


def sync(comm: MPI.Comm) -> None:
    """Synchronizes the clocks of comm now. Collective. Only needed if the clock is read for long without a start."""
    check(_sync(handle(comm)))


def true_error(comm: MPI.Comm) -> float:
    """Returns the true error of this process's global clock, s; known only with the validation clock. Collective."""
    return read_number(_true_error, comm)


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
