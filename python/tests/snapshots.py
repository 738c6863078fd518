"""Texts as they are shown, each in a file: what a wording is, is seen in one place.

`DOWNBEAT_SNAPSHOTS=write` writes the files of the tests that run; their difference is then read and committed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

DIRECTORY = Path(__file__).parent / "snapshots"


def check_snapshot(name: str, lines: Iterable[str]) -> None:
    """Compares lines with those of a file."""
    path, text = DIRECTORY / f"{name}.txt", "".join(f"{line}\n" for line in lines)
    if os.environ.get("DOWNBEAT_SNAPSHOTS") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path} differs; DOWNBEAT_SNAPSHOTS=write writes it"
