"""Checks the programs, operations and options that an experiment passes to downbeat-bench.

The values come from a file EXPERIMENT.toml or from the command line. In every function, `key` is the name of the value
in errors, `value` is the value as the user wrote it, and `base` is the directory of relative paths.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.run.bench import BENCH
from downbeat.text import name_of, split_list

HERE = Path()  # the working directory


def bench_at(text: str, base: Path) -> str:
    """The absolute path of the downbeat-bench named by a user.

    Raises:
        UsageError: it is not executable.
    """
    program = shutil.which(str(base.absolute() / text) if "/" in text else text)
    if not program:
        raise UsageError(f"'{text}' is not an executable program; give the path of a {BENCH}")
    return str(Path(program).absolute())


def launcher_at(text: str, base: Path) -> str:
    """The command of a launcher; a program given as a path becomes absolute.

    Raises:
        UsageError: the command cannot be split, lacks {ranks}, or its program is not executable.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"launcher: '{text}' cannot be split into words: {error}") from error
    if not any("{ranks}" in word for word in words):
        raise UsageError(f"launcher: '{text}' has no {{ranks}} in place of the number of ranks")
    program = str(base.absolute() / words[0]) if "/" in words[0] else words[0]
    if not shutil.which(program):
        raise UsageError(f"launcher: '{words[0]}' is not an executable program")
    # shlex.join quotes words with placeholders, e.g. '{ranks}'. Braces need no quotes, so remove these.
    return re.sub(r"'([^' ]*\{\w+\}[^' ]*)'", r"\1", shlex.join([program, *words[1:]]))


NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")  # names that can be part of a file name
# First words that make downbeat-bench measure something other than operations.
SUBCOMMANDS = ("list", "clock", "rtt", "drift", "skew", "pairs", "algorithms")

# Options of downbeat-bench that `downbeat run` sets itself, or that have no effect under it.
SET_BY_RUN = ("sizes", "sync", "repetitions", "output", "quiet", "format", "check", "help", "version")


def invalid_value(key: str, value: object, valid: str) -> UsageError:
    """The error for an invalid value of a key; `valid` describes valid values."""
    if isinstance(value, str):
        shown = f"'{value}'"
    elif isinstance(value, bool):
        shown = str(value).lower()  # as in TOML
    else:
        shown = str(value)
    return UsageError(f"{key}: {shown} is not valid; give {valid}")


def valid_name(key: str, value: object, _base: Path = HERE) -> str:
    """A value checked to be a name that can be used in file names."""
    if not isinstance(value, str) or not NAME_PATTERN.fullmatch(value):
        raise invalid_value(key, value, "a name of letters, digits and _ . + -")
    return value


def valid_text(key: str, value: object) -> str:
    """A value checked to be text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise invalid_value(key, value, "text, not empty")
    return value


def valid_variables(key: str, table: Mapping[str, object]) -> dict[str, str]:
    """Environment variables with their values as text."""
    for name, value in table.items():
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise invalid_value(f"{key}.{name}", value, "text or a number")
    return {name: str(value) for name, value in table.items()}


def word_list(key: str, value: object, _base: Path = HERE) -> str:
    """Names or sizes, from a list or a text with commas, joined by commas."""
    words = value if isinstance(value, list) else [value]
    texts = [str(word) if isinstance(word, int | float) and not isinstance(word, bool) else word for word in words]
    if not texts or not all(isinstance(text, str) and text.strip(" ,") for text in texts):
        raise invalid_value(key, value, "a name or a list of them, not empty")
    return ",".join(map(str, texts))


def with_absolute_files(patterns: str, base: Path) -> str:
    """Makes file paths in the value of an option absolute, because each launch runs in its own directory.

    Args:
        patterns: values in the syntax of downbeat-bench, e.g. arrival patterns: `one_late,trace(file=arrivals.txt)`.
        base: directory of relative paths.
    """
    return re.sub(r"(\bfile=)([^,)]+)", lambda match: match[1] + str(base.absolute() / match[2]), patterns)


def passed_options(words: Sequence[str]) -> dict[str, str]:
    """The options after `--` by name, "" for an option without value; downbeat-bench checks names and values.

    Raises:
        UsageError: a word is neither a long option nor a value, or `refuse_reserved` refuses the option.
    """
    options: dict[str, str] = {}
    awaiting_value = ""  # option whose value may be the next word
    for word in words:
        name, equals, value = word.partition("=")
        if name.startswith("--") and name != "--":
            awaiting_value = "" if equals else name[2:]
            if name[2:] in options:
                raise UsageError(f"'{name}' is given twice after --")
            options[name[2:]] = value
        elif awaiting_value and not re.match(r"-[A-Za-z]", word):  # a negative number is a value
            options[awaiting_value] = word
            awaiting_value = ""
        else:
            raise UsageError(f"'{word}' after -- is not valid; give long options of downbeat-bench: -- --late 2e-6")
    refuse_reserved(options)
    return {name: with_absolute_files(value, Path()) for name, value in options.items()}


def options_of(key: str, value: object, base: Path) -> dict[str, str]:
    """Options of downbeat-bench by name, from words after `--`, or from a table of texts, numbers, lists and flags.

    In a table, `true` gives an option without value, and `false` leaves the option out.
    """
    if isinstance(value, list):
        return passed_options(value)
    if not isinstance(value, Mapping):
        raise invalid_value(key, value, "a table, e.g. [options] with late-ranks = 0.01")
    refuse_reserved(value)
    texts = {}
    for name, setting in value.items():
        if isinstance(setting, bool):
            if setting:
                texts[name] = ""
        else:
            texts[name] = with_absolute_files(word_list(f"{key}.{name}", setting), base)
    return texts


def refuse_reserved(names: Iterable[str], refused: Collection[str] = SET_BY_RUN) -> None:
    """Refuses options of downbeat-bench that the command sets itself, or that have no effect under it.

    Raises:
        UsageError: a name is one of these.
    """
    for name in names:
        if name in refused:
            raise UsageError(
                f"--{name} cannot be after --: this command sets it itself, or it has no effect; see its --help"
            )


def operations_of(key: str, value: object, base: Path) -> tuple[str, ...]:
    """The operations to measure; shared objects by their absolute paths.

    Args:
        key: name of the value in errors.
        value: a name or a list of names, with commas or not.
        base: directory of relative paths.

    Raises:
        UsageError: the list is empty, or has a subcommand or an option of downbeat-bench.
    """
    words: list[str] = []
    for text in value if isinstance(value, list) else [value]:
        words += split_list(text) if isinstance(text, str) else [""]  # "" is refused below
    if not words or not all(words):
        raise invalid_value(key, value, 'a list of operations, not empty, e.g. ["bcast", "allreduce"]')
    for word in words:
        if word in SUBCOMMANDS:
            raise UsageError(f"{key}: '{word}' is a subcommand of downbeat-bench itself; start it with tools/launch")
        if word.startswith("-"):
            raise invalid_value(key, word, "a name of 'downbeat-bench list operation' or the path of a shared object")
    # A word with a slash is a file, as in a shell; parameters may follow in parentheses.
    return tuple(str(base.absolute() / word) if "/" in name_of(word) else word for word in words)
