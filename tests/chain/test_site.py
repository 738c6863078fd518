"""The documentation as a site: links, search in a browser without a server, and nothing from a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import chromium
import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
browser = pytest.mark.skipif(not chromium.PROGRAM, reason="chromium is not installed")


def build(source: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Builds the site as `make docs` does."""
    options = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(source / "docs"), "-d", str(site.parent / "cache")]
    command = [sys.executable, "-m", "sphinx", *options, str(source), str(site)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("documentation") / "site"
    done = build(ROOT, directory)
    assert done.returncode == 0, done.stderr
    return directory


def pages(site: Path) -> dict[str, str]:
    """Returns the text of every page."""
    return {str(path.relative_to(site)): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}


def seen(site: Path, directory: Path, address: str) -> tuple[str, list[str]]:
    """Returns a page as a browser has it from file://, and what the browser complains about."""
    done = chromium.run(directory, "--dump-dom", "--virtual-time-budget=20000", f"{site.as_uri()}/{address}")
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_every_page_is_in_the_side_bar(site: Path) -> None:
    front = pages(site)["docs/index.html"]
    for page in (ROOT / "docs").glob("*.md"):
        assert f'href="{page.stem}.html"' in front or page.stem == "index", page.name


@pytest.mark.nightly
def test_a_broken_link_is_an_error(tmp_path: Path) -> None:
    """A page, a heading and a file that are not there: each is named with its line."""
    source = tmp_path / "source"
    shutil.copytree(ROOT / "docs", source / "docs")
    for page in ROOT.glob("*.md"):
        shutil.copy(page, source)
    with (source / "docs/clock-experiments.md").open("a", encoding="utf-8") as page_file:
        page_file.write("\n[1](no-such-page.md) [2](clocks.md#no-such-heading) [3](../lib/no-such-header.h)\n")
    done = build(source, tmp_path / "site")
    assert done.returncode != 0
    named = re.findall(r"clock-experiments\.md:\d+: WARNING: .*?no-such-(\w+)", done.stderr)
    assert sorted(named) == ["header", "heading", "page"], done.stderr


def test_nothing_comes_from_a_network(site: Path) -> None:
    loaded = re.compile(r'<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)="(?:https?:)?//[^"]*"')
    assert {name: found for name, text in pages(site).items() if (found := loaded.findall(text))} == {}
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


@browser
def test_index_leads_to_the_front_page(site: Path, tmp_path: Path) -> None:
    page, complaints = seen(site, tmp_path, "index.html")
    assert "<h1>Downbeat" in page
    assert complaints == []


@browser
@pytest.mark.parametrize(
    ("words", "expected"),
    [("Holm", "docs/statistics.html"), ("osu", "docs/coming-from-osu.html"), ("DOWNBEAT_SLACK", "docs/harmonize.html")],
)
def test_search_works_without_a_server(site: Path, tmp_path: Path, words: str, expected: str) -> None:
    page, complaints = seen(site, tmp_path, f"search.html?q={words}")
    found = re.findall(r'<li class="kind-\w+"><a href="([^"#?]*)', page)
    assert expected in found
    assert complaints == []


@browser
def test_pages_open_without_complaints(site: Path, tmp_path: Path) -> None:
    for name in ("coming-from-osu", "downbeat-bench", "statistics"):
        page, complaints = seen(site, tmp_path, f"docs/{name}.html")
        assert "sidebar-drawer" in page
        assert complaints == []
