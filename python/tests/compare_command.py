"""Runs `downbeat compare` as from a shell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from downbeat.cli import main

Run = Callable[..., tuple[int, str, str]]


def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Returns what runs the command: exit status, standard output, standard error."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["downbeat", "compare", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return run
