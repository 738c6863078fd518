"""The compiler wrappers of an MPI library."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from downbeat.errors import UsageError

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
