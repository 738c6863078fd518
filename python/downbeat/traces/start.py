"""Starts a program with libdownbeat-preload: finds the library for its MPI library, and makes its launcher load it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.launchers.bench import how_to_build, library_of, prefixes
from downbeat.launchers.job import option_of
from downbeat.launchers.libraries import LIBRARIES, packaged, packaged_bench
from downbeat.launchers.mpi_abi import abi_of, read_object

PRELOAD = "libdownbeat-preload.so"
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


def program_library(words: Sequence[str]) -> str | None:
    """Returns the name of the MPI library that the first MPI program of a command is linked with."""
    for word in words:
        found = shutil.which(word)
        owner = library_of(found) if found else None
        if owner:
            return owner[0]
    return None


def launcher_library(launcher: str) -> str | None:
    """Returns the name of the MPI library that a launcher belongs to."""
    # The table's later entries are the more specific ones.
    return next((name for name, library in reversed(list(LIBRARIES.items())) if library.owns(launcher)), None)


def find_preload(name: str) -> str:
    """Returns the path of libdownbeat-preload: of the checkout, of `downbeat build`, else beside downbeat-bench.

    Raises:
        UsageError: there is none.
    """
    for prefix in prefixes(name):
        for found in (*prefix.glob(f"lib*/{PRELOAD}"), *prefix.glob(f"lib/*/{PRELOAD}")):
            return str(found)
    raise UsageError(f"found no {PRELOAD} for {name}; run {how_to_build(name)}, or give its path with --preload PATH")


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
    beside = read_object(Path(library).with_name("libdownbeat.so"))  # which has a note
    if beside is None or beside.note() != abi_of(Path(found)):
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
    launcher = shutil.which(words[0], path=environment.get("PATH"))
    if not launcher:
        raise UsageError(f"'{words[0]}' is not an executable program; begin with mpirun, mpiexec or srun")
    if mpi is not None and mpi not in LIBRARIES:
        raise UsageError(f"unknown MPI library '{mpi}'; choose one of {', '.join(LIBRARIES)}")
    slurm = Path(launcher).name == "srun"
    owner = None if slurm else launcher_library(launcher)
    name = mpi or program_library(words[1:]) or owner
    if not slurm and not owner:
        raise UsageError(f"'{words[0]}' is not a known launcher; use mpirun, mpiexec or srun, or set the variables")
    if not name:
        raise UsageError(f"found no MPI program in '{' '.join(words)}'; name its MPI library with --mpi")
    library = preload or find_preload(name)
    if not Path(library).is_file():
        raise UsageError(f"'{library}' does not exist; give the path of {PRELOAD}")
    given = {key: value for key, value in environment.items() if key.startswith("DOWNBEAT_")}
    given |= {VARIABLE + key: value for key, value in settings.items()}
    objects = [str(Path(library).absolute()), *mpi_of_wheel(library, launcher), environment.get("LD_PRELOAD")]
    given["LD_PRELOAD"] = os.pathsep.join(filter(None, objects))
    if slurm:
        exported = option_of(words, ("--export",)) or environment.get("SLURM_EXPORT_ENV") or "ALL"
        if exported.split(",")[0] != "ALL":
            raise UsageError(f"srun exports '{exported}', so variables do not reach the ranks; let it export ALL")
        return Start(list(words), dict(environment) | given)
    assert owner
    return Start([launcher, *LIBRARIES[owner].family.setting(given), *words[1:]], dict(environment))
