"""The version is in pyproject.toml; whatever cannot read it there says the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = PROJECT["version"]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_citation_has_the_version() -> None:
    assert re.findall(r"^version: (.*)$", CITATION, re.MULTILINE) == [VERSION]


def test_the_changelog_begins_with_what_is_unreleased_or_with_the_version_of_the_citation() -> None:
    (date,) = re.findall(r"^date-released: (.*)$", CITATION, re.MULTILINE)
    assert re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)[0] in ("Unreleased", f"{VERSION} - {date}")


def test_recipes_have_the_version_and_spack_what_the_command_needs() -> None:
    spack = (ROOT / "packaging/spack/packages/downbeat/package.py").read_text(encoding="utf-8")
    assert re.findall(r'^    version\("(.*)"\)$', spack, re.MULTILINE) == [VERSION]
    (names,) = re.findall(r'for name in "(.*)"\.split', spack)
    assert set(names.split()) == {re.split(r"\W", one)[0].lower() for one in PROJECT["dependencies"]}
    for path in (ROOT / "packaging/easybuild").glob("*.eb"):
        assert f'version = "{VERSION}"' in path.read_text(encoding="utf-8").replace("'", '"')
        assert path.name.startswith(f"downbeat-{VERSION}-")


def test_cmake_reads_the_version() -> None:
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert "VERSION ${downbeat_version}" in text
    assert VERSION not in text
