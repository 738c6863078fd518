"""`make dist`: the same bits twice, and an archive that builds, installs and names its revision without git."""

from __future__ import annotations

import subprocess
import tarfile
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
        opened.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    build = tmp_path / "build"
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", "-DDOWNBEAT_MPI=openmpi", "-DDOWNBEAT_BUILD_TESTS=OFF")
    run("cmake", "--build", build, "--target", "downbeat")
    assert (build / "lib" / "libdownbeat.so").exists()
    info = (build / "bench/include/build_info.h").read_text(encoding="utf-8")
    assert f'"{run("git", "rev-parse", "HEAD")[:12]}"' in info
