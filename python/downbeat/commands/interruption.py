"""Ends a command that can be continued in order when it is interrupted."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn

import typer

from downbeat.run.launch import INTERRUPTIONS, heeded


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """Ends the command with status 130 and says how to continue, after Ctrl-C and the signals of batch systems.

    Each of them raises KeyboardInterrupt: running launches are ended, complete ones are kept. Further signals change
    nothing from then on.
    """

    def stop(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in heeded(INTERRUPTIONS)}
    try:
        yield
    except KeyboardInterrupt:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        print("downbeat: interrupted; run the same command again to continue", file=sys.stderr)
        raise typer.Exit(130) from None
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is stop:
                signal.signal(number, handler)
