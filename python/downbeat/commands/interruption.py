"""Ends a command that can be continued in order when it is interrupted."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn

import typer


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """Ends the command with status 130 and says how to continue, after Ctrl-C and the signals of batch systems.

    SIGTERM and SIGHUP raise KeyboardInterrupt as well: running launches are ended, complete ones are kept.
    """

    def stop(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        yield
    except KeyboardInterrupt:
        print("downbeat: interrupted; run the same command again to continue", file=sys.stderr)
        raise typer.Exit(130) from None
