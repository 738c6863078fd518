"""Tools that may not be installed, and the source archive, for tests of packaging/."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tool(name: str) -> str:
    """Returns the path of a command; skips the test where it is not installed."""
    found = shutil.which(name, path=os.pathsep.join([str(ROOT / ".harnesses" / "bin"), os.environ["PATH"]]))
    if found is None:
        pytest.skip(f"{name} is not installed; tools/setup harnesses installs it")
    return found


def archive() -> Path:
    """Returns the archive of `make dist`; skips the test where there is no git checkout."""
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=False).returncode != 0:
        pytest.skip("no git checkout")
    done = subprocess.run(["make", "-s", "dist"], cwd=ROOT, capture_output=True, text=True, check=True)
    checksum, name = done.stdout.split()
    path = ROOT / "build" / "dist" / name
    assert hashlib.sha256(path.read_bytes()).hexdigest() == checksum
    return path
