"""tools/mutate: how a mutant is named, and its rooms."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path

import pytest
from downbeat.run.libraries import CHECKOUT

LOADER = importlib.machinery.SourceFileLoader("mutate", str(CHECKOUT / "tools/mutate"))
SPEC = importlib.util.spec_from_loader("mutate", LOADER)
assert SPEC
mutate = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(mutate)


def test_a_mutant_is_named_by_its_place_and_its_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.c").write_text("int a;\nint f(void) { return 1; }\n")
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    change = mutate.change_of("a.c", "int a;\nint f(void) { return 0; }\n")
    assert change == "a.c:2\n  - int f(void) { return 1; }\n  + int f(void) { return 0; }"


@pytest.mark.parametrize("room", mutate.ROOMS)
def test_every_pattern_of_a_room_has_files(room: str) -> None:
    assert all(list(CHECKOUT.glob(pattern)) for pattern in mutate.ROOMS[room][0])
