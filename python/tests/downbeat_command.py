"""Runs commands of downbeat as from a shell, in this process, which has loaded the package already."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import typer
from downbeat.cli import main
from downbeat.run.launch import INTERRUPTIONS
from fake_programs import environment

# Made of all functions and their options, which takes longer than most commands run.
COMMAND = functools.cache(typer.main.get_command)


def downbeat(*words: object, where: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, in a directory and with variables of the environment."""
    command = ["downbeat", *map(str, words)]
    output, errors = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    status: object = 0
    with (
        contextlib.chdir(where),
        mock.patch.dict(os.environ, environment() | variables),
        mock.patch("sys.argv", command),
        mock.patch("typer.main.get_command", COMMAND),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    assert isinstance(status, int)
    return subprocess.CompletedProcess(command, status, output.getvalue(), errors.getvalue())


Run = Callable[..., tuple[int, str, str]]


def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Returns what runs the command: exit status, standard output, standard error."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["downbeat", "compare", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return run


def heed_signals() -> dict[signal.Signals, Any]:
    """Heeds what ends a command; returns the handlers of before."""
    usual = dict.fromkeys(INTERRUPTIONS, signal.SIG_DFL) | {signal.SIGINT: signal.default_int_handler}
    return {each: signal.signal(each, handler) for each, handler in usual.items()}
