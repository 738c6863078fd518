"""`downbeat build`: the C and C++ programs for the MPI library at hand."""

from __future__ import annotations

import os
from typing import Annotated

import typer


def build(
    mpi: Annotated[
        str,
        typer.Option(metavar="WRAPPER", help="C compiler wrapper of the MPI library: a name on the path, or a path."),
    ] = "mpicc",
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, metavar="N", help="Compiler processes at a time [one per CPU].")
    ] = None,
    bench: Annotated[bool, typer.Option(help="Build downbeat-bench, not the libraries alone.")] = True,
    again: Annotated[bool, typer.Option("--again", help="Build although it is there.")] = False,
) -> None:
    """Build libdownbeat, libdownbeat-preload and downbeat-bench for an MPI library, into the user's cache.

    The wheel for x86-64 has them for Open MPI, MPICH, Intel MPI and the standard ABI; this is for other processors and
    libraries, and takes minutes. 'downbeat run' and all other commands find them there. The cache is
    $XDG_CACHE_HOME/downbeat, else ~/.cache/downbeat; compute nodes must see it.

    Exit status: 0; 1 the build failed; 2 bad arguments.
    """
    from downbeat.run.bench import build as make

    made, new = make(mpi, jobs or len(os.sched_getaffinity(0)), bench, again)
    print(f"{'built' if new else 'already built'}: {made.prefix}")
    if bench:
        name = f" --mpi {made.mpi}" if made.mpi else f" --bench {made.prefix / 'bin/downbeat-bench'}"
        print(f"next: downbeat run allreduce{name} --ranks 2 -o results")
    print(f"in your own programs: export PKG_CONFIG_PATH={made.prefix / 'lib/pkgconfig'}")
