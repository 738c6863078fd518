"""Starts a program with libdownbeat-preload: finds the library for its MPI library, and makes its launcher load it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.launchers.bench import how_to_build, prefixes
from downbeat.launchers.command import (
    ASAN_LATER,
    ASAN_OPTIONS,
    LISTED_HERE,
    PRELOAD,
    Setter,
    is_slurm,
    launcher_library,
    launcher_place,
    linked_libraries,
    mixed,
    program_library,
    refuse_hidden,
    with_app_files,
)
from downbeat.launchers.libraries import LIBRARIES, OpenMpi, abi_of, packaged, packaged_bench

PRELOAD_LIBRARY = "libdownbeat-preload.so"
VARIABLE = "DOWNBEAT_PRELOAD_"


@dataclass(frozen=True)
class Start:
    """A launcher's command with libdownbeat-preload.

    Attributes:
        command: the words.
        environment: that it is started in.
    """

    command: list[str]
    environment: dict[str, str]


def find_preload(name: str) -> str:
    """Returns the path of libdownbeat-preload: of the checkout, of `downbeat build`, else beside downbeat-bench.

    Raises:
        UsageError: there is none.
    """
    for prefix in prefixes(name):
        for found in (*prefix.glob(f"lib*/{PRELOAD_LIBRARY}"), *prefix.glob(f"lib/*/{PRELOAD_LIBRARY}")):
            return str(found)
    raise UsageError(f"found no {PRELOAD_LIBRARY} for {name}; run {how_to_build(name)}, or give its path with --preload PATH")


def mpi_of_wheel(library: str, launcher: str) -> list[str]:
    """Returns the MPI library of a launcher, if libdownbeat-preload is the wheel's, which names none.

    Programs that load MPI when they run, as Python, and shells before the program have none of their own.
    """
    wheel, bench = packaged(), packaged_bench()
    if not wheel or not bench or wheel not in Path(library).parents:
        return []
    said = subprocess.run([bench, "--mpi-library", launcher], capture_output=True, text=True, check=False)
    if said.returncode:
        raise UsageError(said.stderr.strip())
    found = said.stdout.strip()
    if abi_of(Path(found).name) != Path(library).parents[1].name:
        raise UsageError(
            f"'{found}' has another ABI than '{library}'; set DOWNBEAT_MPI_LIBRARY to the program's libmpi.so"
        )
    return [found]


def preloaded(
    words: Sequence[str],
    settings: Mapping[str, str],
    mpi: str | None = None,
    preload: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Start:
    """Returns a launcher's command that loads libdownbeat-preload into every rank.

    Args:
        words: the command, e.g. mpirun -n 4 ./application.
        settings: values of DOWNBEAT_PRELOAD_*, by the rest of the name; those in the environment stay otherwise.
        mpi: name of the MPI library; None: that of the program, else that of the launcher.
        preload: path of libdownbeat-preload; None: that of the build or the installation for the MPI library.
        environment: that the launcher would be started in.

    Raises:
        UsageError: the launcher is not known, or there is no library for it.
    """
    path = environment.get("PATH")
    if not shutil.which(words[0], path=path):
        raise UsageError(f"'{words[0]}' is not an executable program; begin with mpirun, mpiexec or srun")
    if mpi is not None and mpi not in LIBRARIES:
        raise UsageError(f"unknown MPI library '{mpi}'; choose one of {', '.join(LIBRARIES)}")
    place = launcher_place(words)
    launcher = None if place is None else shutil.which(words[place], path=path)
    slurm = launcher is not None and is_slurm(launcher)
    owner = launcher_library(launcher) if launcher and not slurm else None
    started = [*words] if place is None else [*words[place + 1 :]]
    if owner and isinstance(LIBRARIES[owner].family, OpenMpi):
        started = with_app_files(started)
    name = mpi or program_library(started) or owner
    if launcher and not slurm and not owner:
        raise UsageError(f"'{words[place or 0]}' is not a known launcher; use mpirun, mpiexec or srun, or set the variables")
    if not name:
        raise UsageError(
            f"found no MPI program in '{' '.join(words)}'; name its MPI library with --mpi"
            if slurm
            else f"'{words[0]}' is not a known launcher, nor an MPI program; use mpirun, mpiexec or srun, or name the MPI "
            "library of what it starts with --mpi"
        )
    if owner and not mpi and mixed(LIBRARIES[owner], LIBRARIES[name]):
        raise UsageError(
            f"the program is linked with {name}, '{words[place or 0]}' is the launcher of {owner}, under which it is jobs "
            f"of one rank; use the launcher of {name}"
        )
    library = preload or find_preload(name)
    if not Path(library).is_file():
        raise UsageError(f"'{library}' does not exist; give the path of {PRELOAD_LIBRARY}")
    given = {key: value for key, value in environment.items() if key.startswith("DOWNBEAT_")}
    forced = {VARIABLE + key: value for key, value in settings.items()}
    library = str(Path(library).absolute())
    before = words[: place or 0]
    # What a wrapper sets before the launcher is as the environment.
    preloads = [word.partition("=")[2] for word in before if word.startswith(f"{PRELOAD}=")]
    theirs = preloads[-1] if preloads else environment.get(PRELOAD, "")
    ours = [library, *mpi_of_wheel(library, launcher or words[0])]
    if any("libasan" in one for one in linked_libraries(started)):
        said = [environment[ASAN_OPTIONS]] if ASAN_OPTIONS in environment else []
        given |= {ASAN_OPTIONS: ":".join([*said, ASAN_LATER])}
    setter = Setter(ours, given | forced, list(forced), theirs)
    refuse_hidden(words if slurm or not launcher else started, library)
    variables = dict(environment)
    if not owner:  # of srun, or of what is started here, e.g. a script with launchers in it
        changed = setter.slurm(words) if slurm else setter.assignments(words)
        if slurm and (exported := variables.get("SLURM_EXPORT_ENV")):
            variables["SLURM_EXPORT_ENV"] = setter.exported(exported)
        return Start(changed, variables | setter.variables)
    assert launcher
    if not isinstance(LIBRARIES[owner].family, OpenMpi):
        return Start([*before, launcher, *setter.hydra(started)], variables)
    if listed := [word for word in [*map("=".join, variables.items()), *before] if word.startswith(f"{LISTED_HERE}=")]:
        variables[LISTED_HERE] = setter.listed(listed[-1].partition("=")[2])
        before = [word for word in before if word not in listed]
        return Start([*before, launcher, *setter.assignments(started)], variables)
    return Start([*before, launcher, *setter.open_mpi(started)], variables)
