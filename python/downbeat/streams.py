"""Wraps standard output and standard error: makes control codes visible, and reports lost output as an error."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TextIO, cast

from downbeat.errors import DownbeatError
from downbeat.text import printable

EXIT_NO_READER = 1  # exit status if the reader of a pipe has ended


class Shown:
    """A stream that makes text `printable`; all other attributes are those of the wrapped stream.

    Args:
        stream: the wrapped stream.
        name: name of the stream in errors; "": lost output is ignored.
    """

    def __init__(self, stream: TextIO, name: str) -> None:
        self.stream = stream
        self.name = name
        self.lost: OSError | None = None  # the error if output was lost

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        shown = printable(text)
        if shown:  # typer probes streams with empty text
            self.attempt(lambda: self.stream.write(shown))
        return len(text)

    def flush(self) -> None:
        self.attempt(self.stream.flush)
        if self.lost and self.name:
            if isinstance(self.lost, BrokenPipeError):
                sys.exit(EXIT_NO_READER)
            raise DownbeatError(f"cannot write {self.name}: {self.lost.strerror}")

    def attempt(self, action: Callable[[], object]) -> None:
        """Calls `action`, which writes. If it fails, ends the command; without a message if the reader has ended.

        Later output goes to /dev/null.

        Raises:
            DownbeatError: the output cannot be written.
        """
        try:
            action()
        except OSError as error:
            self.lost = error
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
            self.flush()


@contextlib.contextmanager
def shown() -> Iterator[None]:
    """Sends prints within a block through `Shown`."""
    output = cast(TextIO, Shown(sys.stdout, "standard output"))
    errors = cast(TextIO, Shown(sys.stderr, ""))
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        yield


def replace_line(text: str, ended: bool = False) -> None:
    """Replaces the last line of the terminal on standard error; with `ended`, later output begins on a new line."""
    stream = getattr(sys.stderr, "stream", sys.stderr)  # `Shown` would print the carriage return
    with contextlib.suppress(OSError):
        stream.write(f"\r{printable(text)}")
        if ended:
            stream.write("\n")
        stream.flush()


def open_closed() -> None:
    """Opens /dev/null for standard streams that the caller closed, so that no other file gets their descriptors.

    It is opened for reading only, so that writing is an error.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # gets the lowest free number
            setattr(sys, name, open(number, "w" if number else "r", buffering=1, closefd=False))  # noqa: SIM115
