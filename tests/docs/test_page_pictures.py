"""Pictures of the documentation: one command draws all that pages show."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from matplotlib.image import imread

ROOT = Path(__file__).resolve().parents[2]
DRAWN_BY_HAND = {"house.svg"}


def test_one_command_draws_every_picture(tmp_path: Path) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {name for page in pages for name in re.findall(r"pictures/([\w.-]+)\)", page.read_text(encoding="utf-8"))}
    subprocess.run([ROOT / "tools" / "pictures", "--quick", tmp_path], capture_output=True, check=True, timeout=1200)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn | DRAWN_BY_HAND == shown == {path.name for path in (ROOT / "docs" / "pictures").iterdir()}
    assert all(imread(tmp_path / name).min() < 0.9 for name in drawn)  # not blank
