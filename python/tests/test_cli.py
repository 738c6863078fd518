"""What goes wrong outside ends the command with one line, whichever it is."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from downbeat.commands.interruption import resumable
from downbeat_command import downbeat
from launch_files import Cell, write_launch

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
    done = downbeat(*arguments, "-o", UNWRITABLE, where=Path())
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"downbeat: '{UNWRITABLE}': No such file or directory"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["tune", "bcast", "-o", "never"], ["reproduce", "hoefler2008-fig4"], ["run", "bcast", "-o", "never"]],
)
def test_a_launcher_that_cannot_be_one_is_refused_by_all_that_launch(arguments: list[str]) -> None:
    done = downbeat(*arguments, "--launcher", "true -n 2", where=Path())
    assert done.returncode == 2
    assert done.stderr == "downbeat: launcher: 'true -n 2' has no {ranks} in place of the number of ranks\n"


def test_a_reader_that_goes_away_is_no_error_of_ours(tmp_path: Path) -> None:
    begins = np.zeros((20_000, 2))  # more than a pipe holds
    file = write_launch(tmp_path / "one.nc", [Cell(begins, begins + 1e-6)])
    export = f"{sys.executable} -m downbeat export {file} --to csv --rows samples"
    command = f"{export} | head -n 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (1, "")


def test_an_interrupted_command_says_how_it_continues(capsys: pytest.CaptureFixture[str]) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with pytest.raises(typer.Exit) as ended, resumable():
            signal.raise_signal(signal.SIGTERM)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == "downbeat: interrupted; run the same command again to continue\n"
