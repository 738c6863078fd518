"""The command `downbeat`, before it is loaded: what a Ctrl-C does."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn


def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    """Raises KeyboardInterrupt once: who is impatient would get a traceback of the end."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """Loads the command and runs it. A Ctrl-C that comes before ends the process, without a traceback."""
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from downbeat import cli

    if heeded:
        signal.signal(signal.SIGINT, interrupt)
    try:
        cli.main()
    except KeyboardInterrupt:  # before typer heeds it
        sys.exit(130)


if __name__ == "__main__":
    main()
