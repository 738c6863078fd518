"""Errors: each is one line that names the mistake and what to do instead."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


class DownbeatError(Exception):
    """A file, a program or the system failed. Exit status 1."""

    status = 1


class UsageError(DownbeatError):
    """A request is not valid: an unknown name, a bad value. Exit status 2."""

    status = 2


# Errors that Python and its libraries raise if the content of a file does not follow its format.
WRONG_CONTENT = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)


def refuse_pipe(path: Path) -> None:
    """Looks whether there is something else than a file: a pipe keeps its reader waiting, a device has no end.

    Raises:
        UsageError: there is.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UsageError(f"'{path}' is not a regular file")


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Makes an error of whatever fails because a file is damaged, within a block that reads the file and nothing else.

    Raises:
        UsageError: the file is damaged; the line says what is missing. Or it is a pipe, which keeps its reader waiting.
    """
    refuse_pipe(path)
    try:
        yield
    except WRONG_CONTENT as error:
        missing = isinstance(error, KeyError)
        what = f"it has no {error.args[0]!r}" if missing and error.args else str(error) or type(error).__name__
        raise UsageError(f"'{path}' is damaged: {what}") from error
