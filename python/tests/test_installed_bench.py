"""Programs and libraries where Debian's packages put them: a directory for each MPI library."""

from __future__ import annotations

from pathlib import Path

import pytest
from downbeat.launchers import bench
from downbeat.launchers.bench import find_bench, installed
from downbeat.traces import start


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the directory of Open MPI's package, whose program is on the path under a name with a suffix."""
    home = tmp_path / "lib/downbeat/openmpi"
    for directory in (home / "bin", home / "lib", tmp_path / "bin"):
        directory.mkdir(parents=True)
    program = home / "bin/downbeat-bench"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    (home / "lib/libdownbeat-preload.so").touch()
    (tmp_path / "bin/downbeat-bench.openmpi").symlink_to(program)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    monkeypatch.setattr(bench, "kept_builds", list)
    return home


def test_a_program_is_that_of_its_suffix(packages: Path, tmp_path: Path) -> None:
    assert find_bench("openmpi") == installed("openmpi") == str(tmp_path / "bin/downbeat-bench.openmpi")
    assert installed("mpich") is None


def test_the_library_to_preload_is_beside_it(packages: Path) -> None:
    assert start.find_preload("openmpi") == str(packages / "lib/libdownbeat-preload.so")
