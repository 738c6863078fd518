"""The layout of --help: what a command does, examples, and options in panels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import typer
from typer.core import TyperCommand, TyperGroup

from downbeat.commands.mistakes import from_elsewhere
from downbeat.commands.options import PASSED
from downbeat.errors import UsageError

if TYPE_CHECKING:
    from typer._click import HelpFormatter

EXAMPLES = {
    "build": ("downbeat build", "downbeat build --mpi /opt/mpich/bin/mpicc"),
    "config": ("mpicc program.c $(downbeat config --cflags --libs)", "downbeat config --mpi mpicc.mpich"),
    "doctor": ("downbeat doctor", "downbeat doctor --ranks 4 --json findings.json"),
    "run": (
        "downbeat run bcast allreduce --sizes 8:64K -o results",
        "downbeat run reduce --variant shared: --variant tcp:OMPI_MCA_btl=self,tcp",
    ),
    "compare": (
        "downbeat compare results synchronizer=harmonize synchronizer=mpi_barrier",
        "downbeat compare before after --fail-on slower",
    ),
    "report": ("downbeat report results", "downbeat report before after -o both.html --pictures pictures"),
    "show": ("downbeat show results", "downbeat show results --metric makespan"),
    "export": (
        "downbeat export results --to csv",
        "downbeat export trace --to perfetto -o trace.json.gz",
    ),
    "tune": ("downbeat tune bcast reduce -o rules", "downbeat tune bcast --ranks 2,4 --pattern one_late -o rules"),
    "reproduce": ("downbeat reproduce --list", "downbeat reproduce schuchart2023-fig2"),
    "trace": (
        "downbeat trace -o trace mpirun -n 4 ./application",
        "downbeat trace --harmonize -o osu mpirun -n 2 ./osu_allreduce",
    ),
    "arrivals": ("downbeat arrivals trace", "downbeat arrivals trace -o arrivals.html --baseline results"),
    "align": ("downbeat align rank*.json.gz -o merged.json.gz", "downbeat align rank*.json.gz --page late.html"),
    "timebase": (
        "downbeat timebase -- mpirun -n 4 ./application",
        "srun --ntasks-per-node=1 downbeat timebase --interval 1",
    ),
}


class HelpGroup(TyperGroup):
    """The commands, each with its whole summary: click would cut it at 45 characters."""

    def format_commands(self, _ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Writes names and summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, (one.help or "").partition("\n\n")[0]) for name, one in self.commands.items()])


class HelpCommand(TyperCommand):
    """A command whose --help has panels and examples."""

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Writes arguments as other programs do: `PATH...`."""
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Writes arguments, then options by their panels."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record and one.param_type_name == "argument":
                groups["Arguments"].append((record[0].partition(" <")[0], record[1].replace("[required]", "")))
            elif record:
                groups.setdefault(getattr(one, "rich_help_panel", None) or "Options", []).append(record)
        groups["Options"] = groups.pop("Options")  # come last
        for title, records in groups.items():
            if any(text for _, text in records):
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, _ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Writes examples, as they can be pasted."""
        with formatter.section("Examples"):
            for example in EXAMPLES.get(self.name or "", ()):
                formatter.write(f"  {example}\n")


class PassingCommand(HelpCommand):
    """A command that hands what follows `--` to downbeat-bench."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parses what precedes `--`; keeps the rest in the context."""
        if wrong := from_elsewhere(args):
            raise UsageError(wrong)
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[PASSED] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Adds what may follow to the line of usage."""
        return [*super().collect_usage_pieces(ctx), "[-- BENCH_OPTIONS]"]
