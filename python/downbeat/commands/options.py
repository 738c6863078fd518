"""Options that several commands share."""

from __future__ import annotations

import typer
from typer.core import TyperCommand

BENCH = typer.Option("--bench", metavar="[MPI=]PATH", help="Path of downbeat-bench [the build, else PATH].")
LAUNCHER = typer.Option("--launcher", metavar="COMMAND", help="Launcher, e.g. 'srun --mpi=pmix -n {ranks}'.")
RANKS_PER_NODE = typer.Option(
    "--ranks-per-node", min=1, metavar="K", help="Most ranks that a node gets [the launcher's]."
)
PASSED = "downbeat-bench"  # key of `typer.Context.meta`: the words after `--`


class PassingCommand(TyperCommand):
    """A command that hands what follows `--` to downbeat-bench."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parses what precedes `--`; keeps the rest in the context."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[PASSED] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Adds what may follow to the line of usage."""
        return [*super().collect_usage_pieces(ctx), "[-- BENCH_OPTIONS]"]
