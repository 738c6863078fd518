"""libdownbeat, loaded, and mpi4py's objects as its arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from downbeat.launchers.libdownbeat import MAPS, LibraryError, find_library, loaded_mpi, make_visible

try:
    from mpi4py import MPI
except ModuleNotFoundError as missing:
    if missing.name != "mpi4py":
        raise
    raise LibraryError("downbeat.mpi needs mpi4py; run: pip install 'downbeat[mpi]'") from None
except RuntimeError as error:  # its wheel chooses an MPI library when it is imported
    raise LibraryError(f"mpi4py has found no MPI library: {' '.join(str(error).split())}") from None

LOADED = loaded_mpi(MAPS.read_text(encoding="utf-8"))
PATH: Path = find_library(MPI.Get_library_version(), LOADED)
make_visible(LOADED[0])


def load(loader: Callable[[str], ctypes.CDLL]) -> ctypes.CDLL:
    """Loads the library, which must have symbols for all that this MPI library lacks."""
    try:
        return loader(str(PATH))
    except OSError as error:
        raise LibraryError(f"cannot load {PATH}: {error}") from None


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
        raise LibraryError(f"{PATH} has no {name}: it is of another version; build it again") from None
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
    return PATH


def version() -> str:
    """Returns the version of that libdownbeat, e.g. "0.1.0"."""
    found = LOCAL.Downbeat_version
    found.restype = ctypes.c_char_p
    return str(found().decode())
