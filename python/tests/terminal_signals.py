"""Signals as in a terminal: a shell's & and nohup ignore some, and then so does all that tests start."""

from __future__ import annotations

import signal
from typing import Any

from downbeat.run.launch import INTERRUPTIONS


def heed_signals() -> dict[signal.Signals, Any]:
    """Heeds what ends a command; returns the handlers of before."""
    usual = dict.fromkeys(INTERRUPTIONS, signal.SIG_DFL) | {signal.SIGINT: signal.default_int_handler}
    return {each: signal.signal(each, handler) for each, handler in usual.items()}
