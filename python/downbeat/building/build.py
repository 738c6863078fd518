"""`downbeat build` from the wrapper of an MPI library to a finished directory in the cache."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
from pathlib import Path

from downbeat.building.compile import Progress, compile_and_install
from downbeat.building.source import HEADERS, find_netcdf, find_source, find_tool
from downbeat.building.wrappers import Wrappers, find_wrappers
from downbeat.errors import DownbeatError, UsageError
from downbeat.launchers.bench import BENCH, library_of
from downbeat.launchers.kept import RECORD, Build, cache_directory, kept_builds
from downbeat.lock import locked

LOG = "build.log"


def prefix_for(wrappers: Wrappers) -> Path:
    """Returns the directory in the cache that a build for some wrappers goes to."""
    directory = cache_directory()
    assert directory is not None, "the command is installed, so the package has a version"
    return directory / f"{wrappers.kind}-{wrappers.key}"


def finished(prefix: Path) -> Build | None:
    """Returns the build in a directory, if it is finished."""
    return next((build for build in kept_builds() if build.prefix == prefix), None)


def cmake_options(wrappers: Wrappers, prefix: Path, tree: Path, bench: bool) -> list[str]:
    """Returns the arguments of CMake.

    Raises:
        UsageError: there is no C++ wrapper for downbeat-bench.
    """
    if wrappers.cxx is None:
        raise UsageError(
            f"--mpi: found no C++ wrapper beside '{wrappers.c}'; install the C++ compiler of that MPI library"
        )
    if Path(wrappers.c).name == "cc":  # of Cray: a compiler that knows MPI by itself
        compilers = [f"-DCMAKE_C_COMPILER={wrappers.c}", f"-DCMAKE_CXX_COMPILER={wrappers.cxx}"]
    else:
        compilers = [f"-DMPI_C_COMPILER={wrappers.c}", f"-DMPI_CXX_COMPILER={wrappers.cxx}"]
    options = ["-S", str(find_source()), "-B", str(tree), *compilers, f"-DCMAKE_INSTALL_PREFIX={prefix}"]
    options += ["-DDOWNBEAT_BUILD_TESTS=OFF", f"-DDOWNBEAT_BUILD_BENCH={'ON' if bench else 'OFF'}"]
    # As the checkout is compiled and tested, without debugging information.
    options += ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O2", "-DCMAKE_CXX_FLAGS_RELEASE=-O2"]
    options += ["-DDOWNBEAT_PRECOMPILE=ON", "-DCMAKE_INSTALL_LIBDIR=lib", f"-DDOWNBEAT_PYTHON={sys.executable}"]
    if find_tool("ninja"):
        options += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={find_tool('ninja')}"]
    if HEADERS.is_dir():
        options.append(f"-DDOWNBEAT_HEADERS={HEADERS}")
        if netcdf := find_netcdf():
            options.append(f"-DDOWNBEAT_NETCDF_LIBRARY={netcdf}")
    return options


def library_text(bench: Path) -> str:
    """Returns what downbeat-bench says of its MPI library; "" if it does not start without a launcher."""
    try:
        answer = subprocess.run(
            [bench, "--version"], capture_output=True, text=True, errors="replace", check=False, timeout=60
        ).stdout
    except subprocess.TimeoutExpired:
        return ""
    return next((line.removeprefix("MPI ") for line in answer.splitlines() if line.startswith("MPI ")), "")


def build(mpi: str, jobs: int, bench: bool, again: bool, progress: Progress) -> tuple[Build, bool]:
    """Returns the build for an MPI library, and whether it was made now.

    Args:
        mpi: C wrapper of the MPI library.
        jobs: processes of the compiler at a time.
        bench: whether downbeat-bench is a part of it.
        again: makes it although it is there.
        progress: is called with the share of steps that are done.

    Raises:
        UsageError: the MPI library cannot be used.
        DownbeatError: something is missing, or the build failed.
    """
    wrappers = find_wrappers(mpi)
    prefix = prefix_for(wrappers)
    there = finished(prefix)
    if there and not again and (not bench or (prefix / "bin" / BENCH).exists()):
        return there, False
    cmake = find_tool("cmake")
    if cmake is None:
        raise DownbeatError("found no cmake; install it, e.g. by 'pip install cmake ninja', or load its module")
    with locked(prefix, "'downbeat build'", patience=0.0):
        tree, log = prefix / "tree", prefix / LOG
        (prefix / RECORD).unlink(missing_ok=True)
        log.unlink(missing_ok=True)
        # CMake remembers where it found what has been missing or has moved since.
        (tree / "CMakeCache.txt").unlink(missing_ok=True)
        compile_and_install(cmake, cmake_options(wrappers, prefix, tree, bench), tree, jobs, bench, log, progress)
        program = prefix / "bin" / BENCH
        owner = library_of(str(program if bench else prefix / "lib" / "libdownbeat.so"))
        made = Build(
            prefix=prefix,
            mpi=owner[0] if owner else "",
            wrapper=os.path.realpath(wrappers.c),
            library=library_text(program) if bench else "",
            date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )
        made.record()
        shutil.rmtree(tree)
    return made, True
