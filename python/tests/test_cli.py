"""What goes wrong outside ends the command with one line, whichever it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Nobody can make anything in /proc, not even root.
UNWRITABLE = "/proc/none"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "bcast", "-n", "2", "--mpi", "some", "--bench", "/bin/true"],
        ["tune", "bcast"],
        ["reproduce", "hoefler2008-fig4", "--quick"],
    ],
)
def test_a_directory_that_cannot_be_made_is_named_in_one_line(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "downbeat", *arguments, "-o", UNWRITABLE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"downbeat: '{UNWRITABLE}': No such file or directory"
    assert "Traceback" not in done.stderr
