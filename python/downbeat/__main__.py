"""The command `downbeat`, before it is loaded."""

from __future__ import annotations

import signal


def main() -> None:
    """Loads the command and runs it. A Ctrl-C that comes before ends the process, without a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from downbeat import cli

    signal.signal(signal.SIGINT, handler)
    cli.main()


if __name__ == "__main__":
    main()
