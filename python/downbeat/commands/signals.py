"""What a batch system sends when time is up ends a command as Ctrl-C does."""

from __future__ import annotations

import signal
from typing import NoReturn


def interrupt_on_signals() -> None:
    """Makes SIGTERM and SIGHUP raise KeyboardInterrupt, so that launches are ended and what is complete stays."""

    def stop(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
