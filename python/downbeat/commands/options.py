"""Options that several commands share."""

from __future__ import annotations

import typer

BENCH = typer.Option("--bench", metavar="[MPI=]PATH", help="Path of downbeat-bench [the build, else PATH].")
LAUNCHER = typer.Option("--launcher", metavar="COMMAND", help="Launcher, e.g. 'srun --mpi=pmix -n {ranks}'.")
RANKS_PER_NODE = typer.Option(
    "--ranks-per-node", min=1, metavar="K", help="Most ranks that a node gets [the launcher's]."
)
PASSED = "downbeat-bench"  # key of `typer.Context.meta`: the words after `--`
