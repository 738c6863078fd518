"""Errors of measurements that could not be made."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from downbeat.errors import DownbeatError
from downbeat.experiment.execute import Outcome, Watcher
from downbeat.tune import sweep


def test_what_downbeat_bench_refuses_is_said_in_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "no algorithm 'x'; known: basic, binary"
    monkeypatch.setattr(sweep, "execute", lambda *_: Outcome(refused=reason))
    plan: Any = SimpleNamespace(name="the sweep")
    with pytest.raises(DownbeatError, match=f"the sweep could not be measured at all: {reason}"):
        sweep.cells_of_plan(plan, tmp_path, Watcher())
