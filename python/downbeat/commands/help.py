"""The layout of --help, and mistakes on the command line: what was probably meant."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer.core import TyperCommand, TyperGroup

from downbeat.commands.options import PASSED
from downbeat.errors import UsageError

if TYPE_CHECKING:
    from typer._click import HelpFormatter

EXAMPLES = {
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
    "doctor": ("downbeat doctor", "downbeat doctor --ranks 4 --json findings.json"),
    "tune": ("downbeat tune bcast reduce -o rules", "downbeat tune bcast --ranks 2,4 --pattern one_late -o rules"),
    "trace": (
        "downbeat trace -o trace mpirun -n 4 ./application",
        "downbeat trace --harmonize -o osu mpirun -n 2 ./osu_allreduce",
    ),
    "arrivals": ("downbeat arrivals trace", "downbeat arrivals trace -o arrivals.html --baseline results"),
    "align": ("downbeat align rank*.json.gz -o merged.json.gz", "downbeat align rank*.json.gz --page late.html"),
    "export": (
        "downbeat export results --to csv",
        "downbeat export trace --to perfetto -o trace.json.gz",
    ),
    "reproduce": ("downbeat reproduce --list", "downbeat reproduce schuchart2023-fig2"),
    "timebase": (
        "downbeat timebase -- mpirun -n 4 ./application",
        "srun --ntasks-per-node=1 downbeat timebase --interval 1",
    ),
    "build": ("downbeat build", "downbeat build --mpi /opt/mpich/bin/mpicc"),
    "config": ("mpicc program.c $(downbeat config --cflags --libs)", "downbeat config --mpi mpicc.mpich"),
}

PATHS = ("DIR", "FILE", "PATH")  # metavars of options
FIRST_EXAMPLES = ("run", "report", "trace")  # commands whose first example is in the help on all


class HelpGroup(TyperGroup):
    """The commands, each with its whole summary: click would cut it at 45 characters."""

    def format_commands(self, _ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Writes names and summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, (one.help or "").partition("\n\n")[0]) for name, one in self.commands.items()])

    def format_epilog(self, _ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Writes examples, as they can be pasted."""
        write_examples(formatter, [EXAMPLES[name][0] for name in FIRST_EXAMPLES])


def write_examples(formatter: HelpFormatter, examples: Iterable[str]) -> None:
    """Writes commands, one per line."""
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"  {example}\n")


class HelpCommand(TyperCommand):
    """A command whose --help has panels and examples, and that takes no empty path for the working directory."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parses arguments; refuses a path that is empty, as an unset variable of a shell makes it."""
        options = {name for one in self.get_params(ctx) if getattr(one, "metavar", None) in PATHS for name in one.opts}
        words = args[: args.index("--")] if "--" in args else args
        for before, word in pairwise(["", *words]):
            option = before if not word else word.removesuffix("=")
            if word in ("", f"{option}=") and option in options:
                raise UsageError(f"{option} is empty; give a path")
            if not word and not before.startswith("-") and ctx.allow_interspersed_args:
                raise UsageError("an argument is empty; give a path or a name")
        return super().parse_args(ctx, args)

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
        write_examples(formatter, EXAMPLES.get(self.name or "", ()))


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


LIST = "; choose one of "


def from_elsewhere(words: Sequence[str]) -> str:
    """Returns what is wrong with the words of a command if one is an option of another program, else ""."""
    from downbeat.run.bench import find_source

    source = find_source() if any(word.startswith("-") for word in words) else None
    if not source:
        return ""
    text = (source / "shared/options_elsewhere.h").read_text(encoding="utf-8")  # downbeat-bench has the same table
    known = {
        option: rest for option, *rest in re.findall(r'^ELSEWHERE\("(.*?)", "(.*?)", "(.*?)"\)', text, re.MULTILINE)
    }
    for word in words:
        if word in known:
            program, own = known[word]
            here = "-n" if own == "RANKS" else f"'-- {own}'" if own.startswith("--") else own
            return f"{program}'s {word} is {here} here"
    return ""


def nearest_word(word: str, valid: Iterable[str]) -> str:
    """Returns the valid word that was probably meant, "" if none is near."""
    plain = word.lower().strip("-").replace("-", "_")
    forms = {one.lower().strip("-").replace("-", "_"): one for one in valid if one != word}
    begun = [form for form in forms if len(plain) > 1 and form.startswith(plain)]
    found = begun or difflib.get_close_matches(plain, forms, 1)
    return forms[found[0]] if found else ""


# Directories that have a file of such a name, and the command that reads them.
OTHER_FILES = {
    "rules.json": "is that of a tuning; run: downbeat report {}",
    "*.trace": "has a trace; run: downbeat arrivals {}",
}


def what_is(directory: Path) -> str:
    """Returns what a directory is that is not of an experiment, "" if that is not known."""
    for pattern, text in OTHER_FILES.items():
        if any(directory.glob(pattern)):
            return text.format(shlex.quote(str(directory)))
    depths = ("*", "*/*", "*/*/*")
    for kind in ("plan.json", "*.nc"):
        inner = sorted({file.parent for depth in depths for file in directory.glob(f"{depth}/{kind}")})
        if not inner:
            continue
        more = f" (or another of {len(inner)})" if len(inner) > 1 else ""
        return f"has experiments in it; run: downbeat report {shlex.quote(str(inner[0]))}{more}"
    return ""


def with_suggestion(line: str) -> str:
    """Returns an error with what was probably meant in place of a list of all that is valid."""
    line = line.removeprefix("downbeat-bench: ")
    if found := re.match("'(.*)' is not the directory of an experiment: ", line):
        known = what_is(Path(found[1]))
        return f"'{found[1]}' is not the directory of an experiment: it {known}" if known else line
    if found := re.fullmatch("there is no experiment '(.*)'", line):
        path = Path(found[1])
        meant = nearest_word(path.name, (one.name for one in path.parent.glob("*/")))
        return f"{line}; did you mean '{path.with_name(meant)}'?" if meant else f"{line}; 'downbeat run' makes one"
    wrong, _, valid = line.partition(LIST)
    if valid and (found := re.search(r".*'([^']+)'|no cell has \w+=(\S+)$", wrong)):
        meant = nearest_word(found[1] or found[2], re.findall(r"[\w.+-]+", valid))
        return f"{wrong}; did you mean '{meant}'?" if meant else line
    return line


def usage_line(error: typer.BadParameter, command: str, passes: bool) -> str:
    """Returns an error of the parser of the command line.

    Args:
        error: with its own words, and what was probably meant.
        command: e.g. `downbeat run`.
        passes: whether the command hands options on to downbeat-bench.
    """
    said = error.format_message().rstrip(".").replace(". Did you mean", "; did you mean").replace("Value error, ", "")
    if said.startswith("No such option"):
        option = str(getattr(error, "option_name", ""))
        # Of an option of downbeat-bench the parser finds one that is as far off as any.
        meant = difflib.get_close_matches(
            option, getattr(error, "possibilities", None) or (), 1, 0.8 if passes else 0.6
        )
        more = "; options of downbeat-bench go after --" if passes else ""
        advice = f"did you mean '{meant[0]}'?" if meant else f"{command} -h lists all"
        return f"{command} has no option '{option}'{more}; {advice}"
    said = f"{said[:1].lower()}{said[1:]}"
    return said if "; did you mean" in said else f"{said}; {command} -h has examples"
