"""The layout of --help, and suggestions for mistakes on the command line.

The classes override typer's commands; cli.py gives one to each command. `with_suggestion` and `usage_line` improve
errors.
"""

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

from downbeat.commands.options import PASSED, WORDS
from downbeat.errors import UsageError

if TYPE_CHECKING:
    from typer._click import HelpFormatter

# Command -> examples in its --help.
EXAMPLES = {
    "run": (
        "downbeat run bcast allreduce --sizes 8:64K -o results",
        "downbeat run reduce --variant shared: --variant tcp:OMPI_MCA_btl=self,tcp",
    ),
    "compare": (
        "downbeat compare results synchronizer=harmonize synchronizer=mpi_barrier",
        "downbeat compare before after --fail-on slower",
        "downbeat compare before/osu-1.log before/osu-2.log after/osu-1.log after/osu-2.log",
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
    "locate": ("downbeat locate logs -o pairs.html", "downbeat locate -- srun -N 64"),
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

PATH_METAVARS = ("DIR", "FILE", "PATH")  # names of values in help: options with these take a path
FIRST_EXAMPLES = ("run", "report", "trace")  # commands whose first example is in `downbeat --help`


class HelpGroup(TyperGroup):
    """The commands with full summaries: click would cut these at 45 characters."""

    def format_commands(self, _ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Writes names and summaries."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, (command.help or "").partition("\n\n")[0]) for name, command in self.commands.items()]
            )

    def format_epilog(self, _ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Writes examples to paste."""
        write_examples(formatter, [EXAMPLES[name][0] for name in FIRST_EXAMPLES])


def write_examples(formatter: HelpFormatter, examples: Iterable[str]) -> None:
    """Writes commands, one per line."""
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"  {example}\n")


class HelpCommand(TyperCommand):
    """A command with panels and examples in --help, which refuses empty paths."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parses arguments; refuses empty paths, e.g. from an unset shell variable."""
        parameters = [each for each in self.get_params(ctx) if getattr(each, "metavar", None) in PATH_METAVARS]
        path_options = {name for parameter in parameters for name in parameter.opts}
        words = args[: args.index("--")] if "--" in args else args
        for before, word in pairwise(["", *words]):
            # An empty path is the word "" after the option, or the word "--option=".
            option = before if not word else word.removesuffix("=")
            if word in ("", f"{option}=") and option in path_options:
                raise UsageError(f"{option} is empty; give a path")
            if not word and not before.startswith("-") and ctx.allow_interspersed_args:
                raise UsageError("an argument is empty; give a path or a name")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The usage line, with arguments in the form `PATH...`."""
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Writes arguments, then options by panel."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and parameter.param_type_name == "argument":
                groups["Arguments"].append((record[0].partition(" <")[0], record[1].replace("[required]", "")))
            elif record:
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or "Options", []).append(record)
        groups["Options"] = groups.pop("Options")  # listed last
        for title, records in groups.items():
            if any(text for _, text in records):
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, _ctx: typer.Context, formatter: HelpFormatter) -> None:  # type: ignore[override]
        """Writes examples to paste."""
        write_examples(formatter, EXAMPLES.get(self.name or "", ()))


class PassingCommand(HelpCommand):
    """A command that passes words after `--` to downbeat-bench."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parses words before `--`; stores the words before and after it in the context (`WORDS`, `PASSED`)."""
        if error := other_name_error(args):
            raise UsageError(error)
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[PASSED], ctx.meta[WORDS] = args[end + 1 :], args[:end]
        return super().parse_args(ctx, args[:end])

    after_dashes = "BENCH_OPTIONS"  # name of these words in the usage line

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The usage line, with the words after `--`."""
        return [*super().collect_usage_pieces(ctx), f"[-- {self.after_dashes}]"]


class LaunchingCommand(PassingCommand):
    """A command with a launcher after `--`."""

    after_dashes = "LAUNCHER"


LIST = "; choose one of "  # precedes the list of valid words in an error


def other_name_error(words: Sequence[str]) -> str:
    """An error if a word is an option of another benchmark, whose name differs in Downbeat; "" otherwise."""
    from downbeat.run.bench import find_source

    source = find_source() if any(word.startswith("-") for word in words) else None
    if not source:
        return ""
    text = (source / "shared/equivalent_options.h").read_text(encoding="utf-8")  # downbeat-bench has the same table
    rows = re.findall(r'^EQUIVALENT\("(.*?)", "(.*?)", "(.*?)"\)', text, re.MULTILINE)
    equivalents = {option: (program, equivalent) for option, program, equivalent in rows}
    for word in words:
        if word in equivalents:
            program, equivalent = equivalents[word]
            if equivalent == "RANKS":
                equivalent = "-n"
            elif equivalent.startswith("--"):  # an option of downbeat-bench
                equivalent = f"'-- {equivalent}'"
            return f"{program}'s {word} is {equivalent} here"
    return ""


def nearest_word(word: str, valid: Iterable[str]) -> str:
    """The valid word closest to a misspelled word; "" if no word is close."""
    plain = word.lower().strip("-").replace("-", "_")
    plain_forms = {name.lower().strip("-").replace("-", "_"): name for name in valid if name != word}
    completions = [form for form in plain_forms if len(plain) > 1 and form.startswith(plain)]
    nearest = completions or difflib.get_close_matches(plain, plain_forms, 1)
    return plain_forms[nearest[0]] if nearest else ""


# Pattern of a file name -> description of a directory that has such a file, with the command that reads it.
OTHER_FILES = {
    "rules.json": "is that of a tuning; run: downbeat report {}",
    "*.trace": "has a trace; run: downbeat arrivals {}",
}


def describe_directory(directory: Path) -> str:
    """Description of a directory that is not an experiment, with the command that reads it; "" if unknown."""
    for pattern, text in OTHER_FILES.items():
        if any(directory.glob(pattern)):
            return text.format(shlex.quote(str(directory)))
    levels = ("*", "*/*", "*/*/*")
    for name in ("plan.json", "*.nc"):
        inner = sorted({file.parent for level in levels for file in directory.glob(f"{level}/{name}")})
        if not inner:
            continue
        more = f" (or another of {len(inner)})" if len(inner) > 1 else ""
        return f"has experiments in it; run: downbeat report {shlex.quote(str(inner[0]))}{more}"
    return ""


def with_suggestion(line: str) -> str:
    """An error line with the closest valid word in place of the list of all valid words."""
    line = line.removeprefix("downbeat-bench: ")
    if match := re.match("'(.*)' is not the directory of an experiment: ", line):
        description = describe_directory(Path(match[1]))
        return f"'{match[1]}' is not the directory of an experiment: it {description}" if description else line
    if match := re.fullmatch("there is no experiment '(.*)'", line):
        path = Path(match[1])
        nearest = nearest_word(path.name, (directory.name for directory in path.parent.glob("*/")))
        return f"{line}; did you mean '{path.with_name(nearest)}'?" if nearest else f"{line}; 'downbeat run' makes one"
    mistake, _, valid = line.partition(LIST)
    if valid and (match := re.search(r".*'([^']+)'|no cell has \w+=(\S+)$", mistake)):
        nearest = nearest_word(match[1] or match[2], re.findall(r"[\w.+-]+", valid))
        return f"{mistake}; did you mean '{nearest}'?" if nearest else line
    return line


def usage_line(error: typer.BadParameter, command: str, passes: bool) -> str:
    """The line for an error of the command line parser.

    Args:
        error: error of typer, possibly with suggestions.
        command: e.g. `downbeat run`.
        passes: whether the command passes options to downbeat-bench.
    """
    message = error.format_message().rstrip(".")
    message = message.replace(". Did you mean", "; did you mean").replace("Value error, ", "")
    if message.startswith("No such option"):
        option = str(getattr(error, "option_name", ""))
        # For an option of downbeat-bench, the parser suggests unrelated options, so require more similarity.
        suggestions = getattr(error, "possibilities", None) or ()
        nearest = difflib.get_close_matches(option, suggestions, 1, 0.8 if passes else 0.6)
        more = "; options of downbeat-bench go after --" if passes else ""
        advice = f"did you mean '{nearest[0]}'?" if nearest else f"{command} -h lists all"
        return f"{command} has no option '{option}'{more}; {advice}"
    message = f"{message[:1].lower()}{message[1:]}"
    if match := re.fullmatch("no such command '(.*)'", message):
        from downbeat.run.bench_options import SUBCOMMANDS

        if match[1] in SUBCOMMANDS:
            return f"{message}; downbeat-bench has it: downbeat-bench {match[1]}"
    return message if "; did you mean" in message else f"{message}; {command} -h has examples"
