"""Defines the errors of Downbeat; the text of an error is one line with the mistake and the remedy."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


class DownbeatError(Exception):
    """A failure of a file, a program or the system. Exit status 1."""

    status = 1


class UsageError(DownbeatError):
    """An invalid request: an unknown name, a bad value. Exit status 2."""

    status = 2


# Errors that Python and its libraries raise for files with invalid content.
CONTENT_ERRORS = (
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
    """Refuses pipes and devices: a pipe blocks its reader, and a device has no end.

    Raises:
        UsageError: the path exists and is neither file nor directory.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UsageError(f"'{path}' is not a regular file; give a file or a directory")


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns errors caused by a damaged file into one line, within a block that only reads that file.

    Raises:
        UsageError: the file is damaged, or is a pipe.
    """
    refuse_pipe(path)
    try:
        yield
    except CONTENT_ERRORS as error:
        if isinstance(error, KeyError) and error.args:
            reason = f"it has no {error.args[0]!r}"
        else:
            reason = str(error) or type(error).__name__
        raise UsageError(f"'{path}' is damaged: {reason}") from error
