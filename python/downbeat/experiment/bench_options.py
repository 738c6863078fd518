"""Options of downbeat-bench that an experiment takes, by their names there: their values, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.lists import split_list

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")  # becomes part of names of files
# The first words by which downbeat-bench does something else than measure operations.
OTHER_EXPERIMENTS = ("list", "clock", "rtt", "drift", "skew", "algorithms")


def wrong(key: str, value: object, valid: str) -> UsageError:
    """Returns the error of a value that a key cannot have."""
    shown = f"'{value}'" if isinstance(value, str) else f"{str(value).lower()}" if isinstance(value, bool) else value
    return UsageError(f"{key}: {shown} is not valid; give {valid}")


def valid_name(key: str, value: object) -> str:
    """Returns a name that can be part of one of a file."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise wrong(key, value, "a name of letters, digits and _ . + -")
    return value


def word_list(key: str, value: object) -> str:
    """Returns a list of names or sizes, given as such or as text with commas."""
    words = value if isinstance(value, list) else [value]
    texts = [str(word) if isinstance(word, int) and not isinstance(word, bool) else word for word in words]
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


def choices(key: str, value: object) -> str:
    """Returns algorithms of operations, given as text or as a table of operations."""
    if isinstance(value, Mapping):
        if not value:
            raise wrong(key, "{}", "a table of operations and their algorithms, not empty")
        return ",".join(f"{name}={word_list(f'{key}.{name}', names)}" for name, names in value.items())
    return word_list(key, value)


def rule(key: str, value: object) -> str:
    """Returns a rule, or the number that is short for it."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return str(value)
    if isinstance(value, str) and value.strip():
        return value
    raise wrong(key, value, "a rule (see 'downbeat-bench list') or a number")


def whole(least: int) -> Callable[[str, object], str]:
    """Returns what reads whole numbers from `least` on."""

    def read(key: str, value: object) -> str:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise wrong(key, value, f"a whole number, at least {least}")
        return str(value)

    return read


def seconds(key: str, value: object) -> str:
    """Returns a time in seconds."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise wrong(key, value, "a time in seconds, above 0")
    return repr(value)


def share(key: str, value: object) -> str:
    """Returns a share of a whole."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise wrong(key, value, "a share from 0 to 1")
    return repr(value)


def switch(key: str, value: object) -> str | None:
    """Returns what an option without value has: "" if it is on."""
    if not isinstance(value, bool):
        raise wrong(key, value, "true or false")
    return "" if value else None


OPTIONS: Mapping[str, Callable[[str, object], str | None]] = {
    "sizes": word_list,
    "with": word_list,
    "validate": switch,
    "sync": word_list,
    "algorithm": choices,
    "barrier-algorithm": word_list,
    "timing": word_list,
    "pattern": word_list,
    "delay": word_list,
    "permute": switch,
    "repetitions": whole(1),
    "stop": rule,
    "warmup": rule,
    "max-attempts": whole(1),
    "observe": whole(0),
    "published": rule,
    "tolerance": seconds,
    "late": seconds,
    "late-ranks": share,
}


def operations_of(value: object, base: Path) -> tuple[str, ...]:
    """Returns the operations to measure; shared objects by their absolute paths.

    Args:
        value: a name or a list of names, with commas or not.
        base: the directory that relative paths start from.

    Raises:
        UsageError: there are none, or one begins another experiment.
    """
    given = value if isinstance(value, list) else [value]
    words = [word for text in given for word in (split_list(text) if isinstance(text, str) else [""])]
    if not words or not all(words):
        raise wrong("operations", value, 'a list of operations, not empty, e.g. ["bcast", "allreduce"]')
    for word in words:
        if word in OTHER_EXPERIMENTS:
            raise UsageError(
                f"operations: '{word}' is an experiment of downbeat-bench itself; start it with tools/launch"
            )
        if word.startswith("-"):
            raise wrong("operations", word, "a name of 'downbeat-bench list operation' or the path of a shared object")
    # With a slash it is a file, as for the shell; parameters may follow in parentheses.
    return tuple(str(base.absolute() / word) if "/" in word.partition("(")[0] else word for word in words)
