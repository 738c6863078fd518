"""Every benchmark that the Makefile runs is a program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted(set(re.findall(r"-m ((?:benchmarks|tests)\.\w+)", (ROOT / "Makefile").read_text())))


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_explains_itself(program: str) -> None:
    """A module without its last line does nothing, and says so with status 0."""
    done = subprocess.run(
        [sys.executable, "-m", program, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: ")
