"""Pages of the documentation: files, targets of make and pictures that they name exist, and can be drawn."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from matplotlib.image import imread

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "conformance" / "README.md"]
FOLDERS = "bench|benchmarks|bindings|cmake|conformance|docs|examples|lib|packaging|preload|python|tests|tools"
DRAWN_BY_HAND = {"house.svg"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    """Checks the folder of a path such as `lib/src/sync_<name>.c`."""
    text = page.read_text(encoding="utf-8")
    named = re.findall(rf"(?<![\w./-])(?:{FOLDERS})/[\w./<>-]*[\w>/]", re.sub(r"https?://\S+", "", text))
    places = {one if "<" not in one else one.partition("<")[0].rpartition("/")[0] for one in named}
    missing = [one for one in sorted(places) if not (ROOT / one).exists() and not (page.parent / one).exists()]
    assert missing == []


def test_targets_of_make_that_pages_name_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?m)^([a-z][a-z-]*):", makefile))
    named = {one for page in PAGES for code in code_of(page) for one in re.findall(r"(?m)^make ([a-z][a-z-]+)", code)}
    assert {"run", "test", "docs"} <= named <= targets


def code_of(page: Path) -> list[str]:
    """Returns blocks of code and what is in backticks."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"(?ms)^```\w*\n(.*?)^```", text) + re.findall(r"`([^`\n]+)`", text)


def shown_pictures() -> set[str]:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    return {name for page in pages for name in re.findall(r"pictures/([\w.-]+)\)", page.read_text(encoding="utf-8"))}


def test_pages_show_every_picture() -> None:
    assert shown_pictures() == {path.name for path in (ROOT / "docs" / "pictures").iterdir()}


@pytest.mark.nightly
def test_one_command_draws_every_picture(tmp_path: Path) -> None:
    subprocess.run([ROOT / "tools" / "pictures", "--quick", tmp_path], capture_output=True, check=True, timeout=1200)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn | DRAWN_BY_HAND == shown_pictures()
    assert all(imread(tmp_path / name).min() < 0.9 for name in drawn)  # not blank
