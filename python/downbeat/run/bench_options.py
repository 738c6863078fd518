"""Programs, operations and options that an experiment hands to downbeat-bench."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.run.bench import BENCH
from downbeat.text import name_of, split_list

HERE = Path()


def bench_at(text: str, base: Path) -> str:
    """Returns the absolute path of the downbeat-bench that a user names."""
    found = shutil.which(str(base.absolute() / text) if "/" in text else text)
    if not found:
        raise UsageError(f"'{text}' is not an executable program; give the path of a {BENCH}")
    return str(Path(found).absolute())


def launcher_at(text: str, base: Path) -> str:
    """Returns the command of a launcher, with the absolute path of a program that is named by a path."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"launcher: '{text}' cannot be split into words: {error}") from error
    if not any("{ranks}" in word for word in words):
        raise UsageError(f"launcher: '{text}' has no {{ranks}} in place of the number of ranks")
    program = str(base.absolute() / words[0]) if "/" in words[0] else words[0]
    if not shutil.which(program):
        raise UsageError(f"launcher: '{words[0]}' is not an executable program")
    return re.sub(r"'([^' ]*\{\w+\}[^' ]*)'", r"\1", shlex.join([program, *words[1:]]))  # braces need no quotes


NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")  # becomes part of names of files
# First words that make downbeat-bench measure something other than operations.
SUBCOMMANDS = ("list", "clock", "rtt", "drift", "skew", "algorithms")

# Options of downbeat-bench that `downbeat run` sets from its own, or that would have no effect or measure nothing.
OWN = ("sizes", "sync", "repetitions", "output", "quiet", "format", "check", "help", "version")


def wrong(key: str, value: object, valid: str) -> UsageError:
    """Returns the error of a value that a key cannot have."""
    shown = f"'{value}'" if isinstance(value, str) else f"{str(value).lower()}" if isinstance(value, bool) else value
    return UsageError(f"{key}: {shown} is not valid; give {valid}")


def valid_name(key: str, value: object, _base: Path = HERE) -> str:
    """Returns a name that can be part of one of a file."""
    if not isinstance(value, str) or not NAME_PATTERN.fullmatch(value):
        raise wrong(key, value, "a name of letters, digits and _ . + -")
    return value


def valid_text(key: str, value: object) -> str:
    """Returns a text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise wrong(key, value, "text, not empty")
    return value


def valid_variables(key: str, table: Mapping[str, object]) -> dict[str, str]:
    """Returns variables of the environment as texts."""
    for name, value in table.items():
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise wrong(f"{key}.{name}", value, "text or a number")
    return {name: str(value) for name, value in table.items()}


def word_list(key: str, value: object, _base: Path = HERE) -> str:
    """Returns a list of names or sizes, given as such or as text with commas."""
    words = value if isinstance(value, list) else [value]
    texts = [str(word) if isinstance(word, int | float) and not isinstance(word, bool) else word for word in words]
    if not texts or not all(isinstance(text, str) and text.strip(" ,") for text in texts):
        raise wrong(key, value, "a name or a list of them, not empty")
    return ",".join(map(str, texts))


def with_files(patterns: str, base: Path) -> str:
    """Returns arrival patterns with the absolute paths of their files: launches run in directories of their own.

    Args:
        patterns: as downbeat-bench takes them, e.g. `one_late,trace(file=arrivals.txt)`.
        base: the directory that relative paths start from.
    """
    return re.sub(r"(\bfile=)([^,)]+)", lambda found: found[1] + str(base.absolute() / found[2]), patterns)


def passed_options(words: Sequence[str]) -> dict[str, str]:
    """Returns the options after `--` by name, "" for one without a value; downbeat-bench judges names and values.

    Raises:
        UsageError: a word is neither an option by its long name nor the value of one, or `refuse_own` refuses it.
    """
    options: dict[str, str] = {}
    awaiting = ""
    for word in words:
        name, equals, value = word.partition("=")
        if name.startswith("--") and name != "--":
            awaiting = "" if equals else name[2:]
            if name[2:] in options:
                raise UsageError(f"'{name}' is given twice after --")
            options[name[2:]] = value
        elif awaiting and not re.match(r"-[A-Za-z]", word):
            options[awaiting], awaiting = word, ""
        else:
            raise UsageError(f"'{word}' after -- is not valid; give long options of downbeat-bench: -- --late 2e-6")
    refuse_own(options)
    return {name: with_files(value, Path()) for name, value in options.items()}


def options_of(key: str, value: object, base: Path) -> dict[str, str]:
    """Returns options of downbeat-bench: words after `--`, or a table of texts, numbers, lists of them, or true."""
    if isinstance(value, list):
        return passed_options(value)
    if not isinstance(value, Mapping):
        raise wrong(key, value, "a table, e.g. [options] with late-ranks = 0.01")
    refuse_own(value)
    texts = {}
    for name, one in value.items():
        if isinstance(one, bool):
            if one:
                texts[name] = ""
        else:
            texts[name] = with_files(word_list(f"{key}.{name}", one), base)
    return texts


def refuse_own(names: Iterable[str], own: Collection[str] = OWN) -> None:
    """Refuses options of downbeat-bench that the command sets itself, or that do nothing under it.

    Raises:
        UsageError: there is one.
    """
    for name in names:
        if name in own:
            raise UsageError(
                f"--{name} cannot be after --: this command sets it itself, or it has no effect; see its --help"
            )


def operations_of(key: str, value: object, base: Path) -> tuple[str, ...]:
    """Returns the operations to measure; shared objects by their absolute paths.

    Args:
        key: what the value is called.
        value: a name or a list of names, with commas or not.
        base: the directory that relative paths start from.

    Raises:
        UsageError: there are none, or one begins another experiment.
    """
    given = value if isinstance(value, list) else [value]
    words = [word for text in given for word in (split_list(text) if isinstance(text, str) else [""])]
    if not words or not all(words):
        raise wrong(key, value, 'a list of operations, not empty, e.g. ["bcast", "allreduce"]')
    for word in words:
        if word in SUBCOMMANDS:
            raise UsageError(f"{key}: '{word}' is a subcommand of downbeat-bench itself; start it with tools/launch")
        if word.startswith("-"):
            raise wrong(key, word, "a name of 'downbeat-bench list operation' or the path of a shared object")
    # With a slash it is a file, as for the shell; parameters may follow in parentheses.
    return tuple(str(base.absolute() / word) if "/" in name_of(word) else word for word in words)
