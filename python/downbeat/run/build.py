"""Builds libdownbeat, libdownbeat-preload and downbeat-bench for the MPI library of an mpicc."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from downbeat.errors import DownbeatError, UsageError
from downbeat.files import locked
from downbeat.run.bench import BENCH, RECORD, Build, cache_directory, kept_builds, library_of
from downbeat.run.libraries import ROOT

TARGETS = (
    "downbeat", "downbeat_static", "downbeat_preload", "downbeat_fortran", "downbeat_fortran_static", BENCH, "man",
)  # fmt: skip
PACKAGE = Path(__file__).resolve().parents[1]
HEADERS = PACKAGE / "headers"  # in the wheel: of libraries that clusters seldom have
# Names of C wrappers and of those for C++ beside them; what follows a name, as in Debian's mpicc.mpich, stays.
PAIRS = {
    "mpicc_abi": "mpicxx_abi",
    "mpicc": "mpicxx mpic++ mpiCC",
    "mpiicx": "mpiicpx",
    "mpiicc": "mpiicpc",
    "cc": "CC",
}
# Macros that mpi.h of each library defines, the more specific ones first (cmake/DownbeatMpi.cmake).
MACROS = (
    ("intelmpi", r"#define I_MPI_VERSION\b"),
    ("openmpi5", r"#define OMPI_MAJOR_VERSION ([5-9]|\d\d)\b"),
    ("openmpi", r"#define OPEN_MPI\b"),
    ("mpich5", r"#define MPICH_NUMVERSION ([5-9]\d{7}|\d{9})\b"),
    ("mpich", r"#define MPICH_VERSION\b"),
    ("abi", r"#define MPI_ABI_VERSION\b"),  # the standard ABI, of any MPI library
)


@dataclass(frozen=True)
class Wrappers:
    """The compiler wrappers of one MPI library."""

    c: str  # path
    cxx: str | None  # None: there is none
    kind: str  # name of the MPI library, "mpi" if it is not known
    key: str  # of what they do: a library in another place, or another compiler, has another one


def library_by_macros(macros: str) -> str:
    """Returns the name of an MPI library by the macros of its mpi.h."""
    return next((name for name, pattern in MACROS if re.search(pattern, macros)), "mpi")


def cxx_beside(wrapper: Path) -> str | None:
    """Returns the C++ wrapper that belongs to a C wrapper."""
    for name, others in PAIRS.items():
        if wrapper.name == name or wrapper.name.startswith(f"{name}."):
            suffix = wrapper.name[len(name) :]
            found = (shutil.which(str(wrapper.with_name(other + suffix))) for other in others.split())
            return next((path for path in found if path), None)
    return None


def find_wrappers(name: str) -> Wrappers:
    """Returns the wrappers of the MPI library that a C wrapper belongs to.

    Args:
        name: of the C wrapper on the path, or its path.

    Raises:
        UsageError: it is not there, or does not compile.
    """
    found = shutil.which(name)
    if found is None:
        raise UsageError(
            f"--mpi: found no '{name}'; load the module of an MPI library (module load openmpi), or give the path of "
            "its compiler wrapper, e.g. --mpi /opt/mpi/bin/mpicc"
        )
    command = [found, "-E", "-dM", "-include", "mpi.h", "-x", "c", os.devnull]
    answer = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if answer.returncode != 0:
        last = (answer.stderr.strip() or "it says nothing").splitlines()[-1]
        raise UsageError(f"--mpi: '{found}' does not find mpi.h: {last}; give the wrapper of a C compiler for MPI")
    shown = subprocess.run([found, "-show"], capture_output=True, text=True, errors="replace", check=False).stdout
    compiler = re.search(r'#define __VERSION__ "(.*)"', answer.stdout)
    key = hashlib.sha256("\n".join([os.path.realpath(found), shown, compiler[1] if compiler else ""]).encode())
    return Wrappers(found, cxx_beside(Path(found)), library_by_macros(answer.stdout), key.hexdigest()[:8])


def find_source() -> Path | None:
    """Returns the directory with the C and C++ source: of the checkout, else of the wheel; None: there is none."""
    places = (ROOT, PACKAGE / "source")
    return next((each for each in places if (each / "lib/include/mpix_harmonize.h").is_file()), None)


def cmake_options(wrappers: Wrappers, prefix: Path, tree: Path, bench: bool) -> list[str]:
    """Returns the arguments that configure a build.

    Raises:
        DownbeatError: there is no source.
        UsageError: there is no C++ wrapper.
    """
    source = find_source()
    if source is None:
        raise DownbeatError("this installation has no C and C++ source; install it from PyPI or from a checkout")
    if wrappers.cxx is None:
        raise UsageError(f"--mpi: found no C++ wrapper beside '{wrappers.c}'; install that MPI library's C++ compiler")
    mpi = "CMAKE" if Path(wrappers.c).name == "cc" else "MPI"  # Cray's compiler knows MPI by itself
    set_to = {
        f"{mpi}_C_COMPILER": wrappers.c,
        f"{mpi}_CXX_COMPILER": wrappers.cxx,
        "CMAKE_INSTALL_PREFIX": prefix,
        "CMAKE_INSTALL_LIBDIR": "lib",
        # As the checkout is compiled and tested, without debugging information.
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_C_FLAGS_RELEASE": "-O2",
        "CMAKE_CXX_FLAGS_RELEASE": "-O2",
        "DOWNBEAT_BUILD_TESTS": "OFF",
        "DOWNBEAT_BUILD_BENCH": "ON" if bench else "OFF",
        "DOWNBEAT_PRECOMPILE": "ON",
        "DOWNBEAT_PYTHON": sys.executable,
        **({"DOWNBEAT_HEADERS": HEADERS} if HEADERS.is_dir() else {}),
    }
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    return ["-S", str(source), "-B", str(tree), *generator, *(f"-D{name}={value}" for name, value in set_to.items())]


def targets_in(tree: Path) -> list[str]:
    """Returns the targets that are installed, of those that a configured tree has."""
    text = (tree / "CMakeFiles/TargetDirectories.txt").read_text(encoding="utf-8")
    return [name for name in TARGETS if f"/{name}.dir\n" in f"{text}\n"]


def run_cmake(words: list[str]) -> None:
    """Runs a step of a build; its output goes to standard error."""
    if subprocess.run(["cmake", *words], stdout=sys.stderr.fileno(), check=False).returncode != 0:
        raise DownbeatError(f"'cmake {' '.join(words[:2])} ...' failed; it says why above")


def build(mpi: str, jobs: int, bench: bool, again: bool) -> tuple[Build, bool]:
    """Returns the build for an MPI library, and whether it was made now; CMake shows how it goes on standard error.

    Raises:
        UsageError: the MPI library of the C wrapper cannot be used.
        DownbeatError: something is missing, or the build failed.
    """
    wrappers = find_wrappers(mpi)
    directory = cache_directory()
    assert directory is not None, "the command is installed, so the package has a version"
    prefix = directory / f"{wrappers.kind}-{wrappers.key}"
    there = next((build for build in kept_builds() if build.prefix == prefix), None)
    if there and not again and (not bench or (prefix / "bin" / BENCH).exists()):
        return there, False
    # Programs of this Python environment, activated or not, go first.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if shutil.which("cmake") is None:
        raise DownbeatError("found no cmake; install it, e.g. by pip install 'downbeat[build]', or load its module")
    with locked(prefix, "'downbeat build'", patience=0.0):
        tree = prefix / "tree"
        (prefix / RECORD).unlink(missing_ok=True)
        # CMake remembers where it found what has been missing or has moved since.
        (tree / "CMakeCache.txt").unlink(missing_ok=True)
        run_cmake(cmake_options(wrappers, prefix, tree, bench))
        run_cmake(["--build", str(tree), "--parallel", str(jobs), "--target", *targets_in(tree)])
        run_cmake(["--install", str(tree)])
        program = prefix / ("bin" if bench else "lib") / (BENCH if bench else "libdownbeat.so")
        owner = library_of(str(program))
        date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        made = Build(prefix, owner[0] if owner else "", os.path.realpath(wrappers.c), date)
        made.record()
        shutil.rmtree(tree)
    return made, True
