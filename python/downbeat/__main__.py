"""The command `downbeat`, before it is loaded: what a Ctrl-C does."""

from __future__ import annotations

import signal
import sys

AGAIN_SECONDS = 0.01


def repeat_interrupt(lost: sys.UnraisableHookArgs) -> None:
    """Raises KeyboardInterrupt again a little later: one that fell into a destructor has ended nothing."""
    if lost.exc_type is KeyboardInterrupt:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
    else:
        sys.__unraisablehook__(lost)


def main() -> None:
    """Loads the command and runs it. A Ctrl-C that comes before ends the process, without a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from downbeat import cli, streams

    signal.signal(signal.SIGINT, handler)
    sys.unraisablehook = repeat_interrupt
    streams.open_closed()
    try:
        cli.main()
    except KeyboardInterrupt:  # before typer heeds it, or a second one
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left that it could end


if __name__ == "__main__":
    main()
