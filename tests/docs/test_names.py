"""Names in the documentation: files of the repository and targets of make exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "conformance" / "README.md"]
FOLDERS = "bench|benchmarks|bindings|cmake|conformance|docs|examples|lib|packaging|preload|python|sim|tests|tools"


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
