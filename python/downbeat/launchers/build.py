"""Builds libdownbeat, libdownbeat-preload and downbeat-bench for the MPI library of an mpicc."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import downbeat.launchers
from downbeat.base.lock import locked
from downbeat.errors import DownbeatError, UsageError
from downbeat.launchers.bench import BENCH, RECORD, Build, cache_directory, kept_builds, library_of
from downbeat.launchers.libraries import ROOT

PACKAGE = Path(downbeat.launchers.__file__).resolve().parents[1]
HEADERS = PACKAGE / "headers"  # in the wheel: of libraries that clusters seldom have


def find_source() -> Path:
    """Returns the directory with CMakeLists.txt: of the checkout, else of the wheel.

    Raises:
        DownbeatError: there is none.
    """
    for directory in (ROOT, PACKAGE / "source"):
        if (directory / "CMakeLists.txt").is_file() and (directory / "lib" / "include" / "mpix_harmonize.h").is_file():
            return directory
    raise DownbeatError(
        "this installation of downbeat has no C and C++ source; install it from PyPI or from a checkout"
    )


def find_tool(name: str) -> str | None:
    """Returns a program of this Python environment, activated or not, else of the path."""
    return shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))


# Names of C wrappers and of those for C++ beside them; what follows a name, as in Debian's mpicc.mpich, stays.
PAIRS = {
    "mpicc_abi": ("mpicxx_abi",),
    "mpicc": ("mpicxx", "mpic++", "mpiCC"),
    "mpiicx": ("mpiicpx",),
    "mpiicc": ("mpiicpc",),
    "cc": ("CC",),  # of Cray
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
    """The compiler wrappers of one MPI library.

    Attributes:
        c: path of the one for C.
        cxx: path of the one for C++; None: there is none.
        kind: name of the MPI library, "mpi" if it is not known.
        key: of what they do: a library in another place, or another compiler, has another one.
    """

    c: str
    cxx: str | None
    kind: str
    key: str


def kind_of(macros: str) -> str:
    """Returns the name of an MPI library by the macros of its mpi.h."""
    return next((name for name, pattern in MACROS if re.search(pattern, macros)), "mpi")


def cxx_beside(wrapper: Path) -> str | None:
    """Returns the C++ wrapper that belongs to a C wrapper."""
    for name, others in PAIRS.items():
        if wrapper.name == name or wrapper.name.startswith(f"{name}."):
            suffix = wrapper.name[len(name) :]
            found = (shutil.which(str(wrapper.with_name(other + suffix))) for other in others)
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
    key = "\n".join([os.path.realpath(found), shown, compiler[1] if compiler else ""])
    return Wrappers(
        found, cxx_beside(Path(found)), kind_of(answer.stdout), hashlib.sha256(key.encode()).hexdigest()[:8]
    )


LIBRARIES = ("downbeat", "downbeat_static", "downbeat_preload")
FORTRAN = ("downbeat_fortran", "downbeat_fortran_static")

STEP = re.compile(r"^\[(\d+)/(\d+)\] |^\[ *(\d+)%\] ")  # of Ninja, of make
# The first line of the log that says what went wrong, from the most to the least specific.
CAUSES = (r"downbeat-bench needs .*", r"\S*: (?:fatal )?error: .*", r"CMake Error.*", r".*undefined reference.*")

Progress = Callable[[float], None]  # share that is done


def cause(text: str) -> str:
    """Returns what a log says of a failure, on one line."""
    for pattern in CAUSES:
        found = re.search(rf"(?m)^ *({pattern}(?:\n  \S.*)*)", text)
        if found:
            return " ".join(found[1].split())
    return (text.strip().splitlines() or ["it printed nothing"])[-1].strip()


def run_logged(command: Sequence[str], log: Path, progress: Progress | None = None) -> None:
    """Runs a command whose output is appended to a log.

    Raises:
        DownbeatError: it failed; with the cause, and the place of the log.
    """
    begin = log.stat().st_size if log.exists() else 0
    with log.open("a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(command)}\n")
        file.flush()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                file.write(line)
                file.flush()
                step = STEP.match(line)
                if step and progress:
                    progress(int(step[1]) / int(step[2]) if step[1] else int(step[3]) / 100)
            status = process.wait()
        except BaseException:  # an interruption: the build goes on from here the next time
            process.terminate()
            process.wait()
            raise
    if status != 0:
        text = log.read_bytes()[begin:].decode(errors="replace")
        raise DownbeatError(f"the build failed: {cause(text)}; all of it is in {log}")


def targets_in(tree: Path, bench: bool) -> list[str]:
    """Returns what to compile: the Fortran module only where there is a compiler for it."""
    cache = (tree / "CMakeCache.txt").read_text(encoding="utf-8")
    fortran = FORTRAN if re.search(r"(?m)^CMAKE_Fortran_COMPILER:\w+=/", cache) else ()
    return [*LIBRARIES, *fortran, *([BENCH] if bench else [])]


def compile_and_install(
    cmake: str, options: Sequence[str], tree: Path, jobs: int, bench: bool, log: Path, progress: Progress
) -> None:
    """Makes an installation.

    Args:
        cmake: the program.
        options: that it is configured with.
        tree: directory of the build; what is there is not compiled again.
        jobs: processes of the compiler at a time.
        bench: whether downbeat-bench is a part of it.
        log: file for what is printed.
        progress: is called with the share of steps that are done.

    Raises:
        DownbeatError: a step failed.
    """
    run_logged([cmake, *options], log)
    targets = targets_in(tree, bench)
    run_logged([cmake, "--build", str(tree), "--parallel", str(jobs), "--target", *targets], log, progress)
    run_logged([cmake, "--install", str(tree)], log)


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
        raise DownbeatError("found no cmake; install it, e.g. by pip install 'downbeat[build]', or load its module")
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
