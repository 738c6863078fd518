"""The source archive, and the version: whatever cannot read it in pyproject.toml says the same."""

from __future__ import annotations

import re
import subprocess
import tarfile
import tomllib
from pathlib import Path

import on_machine
import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def archive() -> Path:
    return on_machine.archive()


def test_the_same_commit_gives_the_same_bits(archive: Path) -> None:
    first = archive.read_bytes()
    archive.unlink()
    run("make", "-s", "dist")
    assert archive.read_bytes() == first


def test_it_has_what_git_has(archive: Path) -> None:
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames() if not opened.getmember(name).isdir()}
    assert names == set(run("git", "ls-tree", "-r", "--name-only", "HEAD").splitlines())


def test_it_builds_without_git(archive: Path, tmp_path: Path) -> None:
    """The library, and the revision in what names it; the rest of the archive is what the checkout has."""
    with tarfile.open(archive) as opened:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.4 and later
            opened.extraction_filter = tarfile.data_filter
        opened.extractall(tmp_path)
    (source,) = tmp_path.iterdir()
    build = tmp_path / "build"
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", "-DDOWNBEAT_MPI=openmpi", "-DDOWNBEAT_BUILD_TESTS=OFF")
    run("cmake", "--build", build, "--target", "downbeat")
    assert (build / "lib" / "libdownbeat.so").exists()
    info = (build / "bench/include/build_info.h").read_text(encoding="utf-8")
    assert f'"{run("git", "rev-parse", "HEAD")[:12]}"' in info


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
