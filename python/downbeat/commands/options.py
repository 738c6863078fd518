"""Options that several commands have, with the same meaning."""

from __future__ import annotations

import typer

BENCH = typer.Option("--bench", metavar="[MPI=]PATH", help="Path of downbeat-bench [of the build, or PATH].")
LAUNCHER = typer.Option("--launcher", metavar="COMMAND", help="Start by it, as 'srun --mpi=pmix -n {ranks}'.")
