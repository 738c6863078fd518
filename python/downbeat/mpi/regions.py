"""Regions of an application (downbeat/region.h)."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Self

from mpi4py import MPI

from downbeat.mpi.binding import HANDLE, check, function, handle

_begin = function("Downbeat_region_begin", HANDLE, ctypes.c_char_p, ctypes.c_void_p, waits=True)
_end = function("Downbeat_region_end", ctypes.c_void_p)


class Region:
    """A part of an application that is measured each time it is entered, from a common start."""

    def __init__(self, comm: MPI.Comm, name: str) -> None:
        self.comm = comm
        self.name = name
        # A 0 would end the name here; the library refuses other control characters on all processes.
        self._bytes = name.encode().replace(b"\0", b"\1")
        self._handle = ctypes.c_void_p()
        self._address = ctypes.addressof(self._handle)

    def __enter__(self) -> Self:
        """Returns on all processes at the same instant and timestamps the entry. Collective."""
        check(_begin(handle(self.comm), self._bytes, self._address))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Timestamps the exit."""
        check(_end(self._address))


def region(comm: MPI.Comm, name: str) -> Region:
    """Returns a region for `with`, which can be entered again and again.

    The results are written when MPI is finalized: downbeat-regions.json, or the file of setting `regions`.

    Args:
        comm: communicator.
        name: 1 to 63 bytes of UTF-8, no control characters; the same on all processes.
    """
    return Region(comm, name)
