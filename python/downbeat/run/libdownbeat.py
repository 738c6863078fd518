"""Finds a libdownbeat for the MPI library that mpi4py has loaded.

A libdownbeat needs an MPI library by its interface name, e.g. libmpi.so.40 for Open MPI. It fits if the loaded library
has that name (DT_SONAME), because the loader then reuses the loaded library. The wheel's libdownbeats need no library
by name; they fit every library of the ABI that they were built for.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from downbeat.errors import DownbeatError
from downbeat.run.bench import how_to_build, kept_builds
from downbeat.run.libraries import CHECKOUT, name_of_version, packaged, short_version
from downbeat.run.mpi_abi import abi_of, is_mpi, read_object

LIBRARY_FILE = "libdownbeat.so"
SONAME = "libdownbeat.so.0.1"
LIBRARY_VARIABLE = "DOWNBEAT_LIBRARY"  # environment variable: path of the libdownbeat to use
MAPS = Path("/proc/self/maps")


class LibraryError(DownbeatError, ImportError):
    """No libdownbeat can be used in this process; the message has the reason and the remedy."""


def loaded_mpi(maps: str) -> list[Path]:
    """Paths of the MPI libraries that a process has loaded.

    Args:
        maps: content of /proc/<pid>/maps.
    """
    # Columns: addresses, rights, offset, device, inode, file.
    lines = [line.split(maxsplit=5) for line in maps.splitlines()]
    files = {Path(columns[5]) for columns in lines if len(columns) == 6 and "x" in columns[1]}
    return sorted(file for file in files if is_mpi(file))


def misfit(candidate: Path, loaded: Path) -> str:
    """The reason why a libdownbeat cannot be used with the loaded MPI library; empty if it can be used."""
    library, mpi = read_object(candidate), read_object(loaded)
    if library is None or mpi is None or not library.defines("MPIX_Harmonize"):
        return "is not a libdownbeat"
    if abi := library.note():
        return "" if abi == abi_of(loaded) else f"is for the ABI '{abi}'"
    if (mpi.soname or loaded.name) in library.needed:
        return ""
    needed = [name for name in library.needed if name.startswith("libmpi")]
    return f"needs {' and '.join(needed)}" if needed else "names no MPI library"


def loader_candidates(loaded: Path) -> Iterator[Path]:
    """Yields libdownbeats on the loader's search path, beside the MPI library, and in this Python's lib directory."""
    listed = [Path(entry) for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry]
    for directory in (*listed, loaded.parent, Path(sys.prefix) / "lib"):
        yield directory / SONAME
    try:
        cache = subprocess.run(
            ["/sbin/ldconfig", "-p"], capture_output=True, text=True, errors="surrogateescape", check=False
        ).stdout
    except OSError:
        return
    for path in re.findall(rf"{re.escape(SONAME)} .*=> (/\S+)", cache):
        yield Path(path)


def candidates(version: str, loaded: Path) -> Iterator[Path]:
    """Yields the libdownbeats to try, in order; DOWNBEAT_LIBRARY is not among them.

    Args:
        version: result of MPI_Get_library_version.
        loaded: path of the MPI library.
    """
    known = name_of_version(version)
    build = CHECKOUT / "build"
    if known:
        yield build / known / "lib" / LIBRARY_FILE
    yield from sorted(build.glob(f"*/lib/{LIBRARY_FILE}"))
    yield from (kept.prefix / "lib" / LIBRARY_FILE for kept in kept_builds())
    abi = abi_of(loaded)
    if abi and (wheel := packaged(abi)):
        yield wheel / "lib" / LIBRARY_FILE
    yield from loader_candidates(loaded)


def find_library(version: str, loaded: Sequence[Path]) -> Path:
    """Path of the libdownbeat to load.

    Args:
        version: result of MPI_Get_library_version.
        loaded: paths of the MPI libraries in this process.

    Raises:
        LibraryError: no libdownbeat fits, DOWNBEAT_LIBRARY does not fit, or there are two MPI libraries.
    """
    if len(loaded) > 1:
        raise LibraryError(
            f"this process has loaded two MPI libraries, {' and '.join(map(str, loaded))}; "
            "mpi4py and all other modules must use the same library"
        )
    if not loaded:
        raise LibraryError("mpi4py has loaded no known MPI library; libdownbeat needs a shared library")
    unknown = (
        "" if abi_of(loaded[0]) else ", which has neither the ABI of Open MPI 3 to 5 nor MPICH's nor the standard one"
    )
    mpi = f"{short_version(version)} ({loaded[0]}{unknown})"
    chosen = os.environ.get(LIBRARY_VARIABLE)
    if chosen:
        if not Path(chosen).is_file():
            raise LibraryError(f"{LIBRARY_VARIABLE} is '{chosen}', which is not a file; give the path of a {SONAME}")
        if reason := misfit(Path(chosen), loaded[0]):
            raise LibraryError(f"{LIBRARY_VARIABLE} is '{chosen}', which {reason}, but mpi4py has loaded {mpi}")
        return Path(chosen)
    tried = dict.fromkeys(path for path in candidates(version, loaded[0]) if path.is_file())
    library = next((path for path in tried if not misfit(path, loaded[0])), None)
    if library is None:
        misfits = f"; found for others: {', '.join(map(str, tried))}" if tried else ""
        advice = how_to_build(name_of_version(version) or "")
        raise LibraryError(f"found no libdownbeat for {mpi}{misfits}; run {advice}, or set {LIBRARY_VARIABLE}")
    return library
