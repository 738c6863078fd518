"""Standard output and standard error: others' control codes are shown and never obeyed, and lost output is an error."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import TextIO, cast

from downbeat.errors import DownbeatError
from downbeat.text import printable

EXIT_NO_READER = 1  # as Python's own commands


class Shown:
    """A stream whose text is `printable`. All that it does not define is the stream's own."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self.stream = stream
        self.name = name  # "" if what cannot be written is not missed
        self.lost: OSError | None = None  # why something was not written

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        said = printable(text)
        if said:  # typer tries whether a stream takes no text, and no bytes
            self.attempt(lambda: self.stream.write(said))
        return len(text)

    def flush(self) -> None:
        self.attempt(self.stream.flush)
        if self.lost and self.name:
            if isinstance(self.lost, BrokenPipeError):
                sys.exit(EXIT_NO_READER)
            raise DownbeatError(f"cannot write {self.name}: {self.lost.strerror}")

    def attempt(self, action: Callable[[], object]) -> None:
        """Writes; if that fails, ends the command, quietly if the reader has gone. Later output goes to /dev/null.

        Raises:
            DownbeatError: there is no room, or no stream.
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
    """Prints within a block through `Shown`."""
    output = cast(TextIO, Shown(sys.stdout, "standard output"))
    errors = cast(TextIO, Shown(sys.stderr, ""))
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        yield


def open_closed() -> None:
    """Gives streams that the caller has closed to /dev/null, so that writing fails, and no file gets their number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free
            setattr(sys, name, open(number, "w" if number else "r", buffering=1, closefd=False))  # noqa: SIM115
