"""All tests: signals as in a terminal."""

from __future__ import annotations

import signal

# A shell's & and nohup ignore them, and then so does all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
