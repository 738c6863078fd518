"""Starts the command `downbeat`, and handles Ctrl-C before the command is loaded and after it has ended."""

from __future__ import annotations

import signal
import sys

REPEAT_SECONDS = 0.01  # delay of a repeated interrupt


def repeat_interrupt(lost: sys.UnraisableHookArgs) -> None:
    """Raises a KeyboardInterrupt again after a delay, because Python ignores exceptions in destructors."""
    if lost.exc_type is KeyboardInterrupt:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, REPEAT_SECONDS)
    else:
        sys.__unraisablehook__(lost)


def main() -> None:
    """Loads and runs the command. A Ctrl-C during loading ends the process without a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from downbeat import cli, streams

    signal.signal(signal.SIGINT, handler)
    sys.unraisablehook = repeat_interrupt
    streams.open_closed()
    try:
        cli.main()
    except KeyboardInterrupt:  # before typer handles it, or a second Ctrl-C
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command has ended


if __name__ == "__main__":
    main()
