"""What interrupts a command that continues when it is started again."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn

import typer


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """Ends the command with status 130 and a line on how it continues, at Ctrl-C and at what batch systems send.

    SIGTERM and SIGHUP raise KeyboardInterrupt as well, so that launches are ended, and what is complete stays.
    """

    def stop(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        yield
    except KeyboardInterrupt:
        print("downbeat: interrupted; the same command again continues", file=sys.stderr)
        raise typer.Exit(130) from None
