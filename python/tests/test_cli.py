"""Trouble outside ends every command with one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import typer
from downbeat.commands.options import resumable
from downbeat.run.launch import INTERRUPTIONS
from downbeat_command import downbeat
from fake_programs import environment
from launch_files import Cell, write_launch
from report_data import two_cells
from terminal_signals import heed_signals

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


@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [("export a.nc --to csv", ""), ("report a.nc -o -", ""), ("show a.nc", "1"), ("run -h", "1")],
)
def test_what_standard_output_does_not_take_is_an_error(tmp_path: Path, command: str, unbuffered: str) -> None:
    two_cells(tmp_path / "a.nc")
    start = f"{sys.executable} -m downbeat {command}"
    for redirected, said in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
        done = subprocess.run(
            ["sh", "-c", f"{start} {redirected}"],
            env=environment() | {"PYTHONUNBUFFERED": unbuffered},
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert (done.returncode, done.stderr) == (1, f"downbeat: cannot write standard output: {said}\n")


def test_a_reader_that_goes_away_is_no_error_of_ours(tmp_path: Path) -> None:
    begins = np.zeros((20_000, 2))  # more than a pipe holds
    file = write_launch(tmp_path / "one.nc", [Cell(begins, begins + 1e-6)])
    export = f"{sys.executable} -m downbeat export {file} --to csv --rows samples"
    command = f"{export} | head -n 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.fixture
def heeded() -> Iterator[None]:
    """Signals as in a terminal."""
    before = heed_signals()
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.parametrize("number", INTERRUPTIONS)
@pytest.mark.usefixtures("heeded")
def test_an_interrupted_command_says_how_it_continues(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, resumable():
        signal.raise_signal(number)
    for each in INTERRUPTIONS:
        signal.raise_signal(each)  # who is impatient gets no traceback
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == "downbeat: interrupted; run the same command again to continue\n"


@pytest.mark.usefixtures("heeded")
def test_what_nohup_ignores_does_not_end_a_command() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with resumable():
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


@pytest.mark.usefixtures("heeded")
def test_signals_are_as_before_after_a_command() -> None:
    before = [signal.getsignal(each) for each in INTERRUPTIONS]
    with resumable():
        assert all(signal.getsignal(each) != was for each, was in zip(INTERRUPTIONS, before, strict=True))
    assert [signal.getsignal(each) for each in INTERRUPTIONS] == before


def test_an_interruption_while_the_command_is_loaded_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n", encoding="ascii")
    done = subprocess.run(
        [sys.executable, "-m", "downbeat", "--help"],
        preexec_fn=heed_signals,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def run_interrupted(body: str) -> tuple[int, str]:
    """Returns how the command ends if it does this; `interrupt()` is a Ctrl-C."""
    code = f"""
import atexit, signal, time
from downbeat import __main__, cli
def interrupt():
    signal.raise_signal(signal.SIGINT)
def command():
    {body}
cli.main = command
__main__.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=heed_signals,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_who_interrupts_twice_gets_no_traceback() -> None:
    assert run_interrupted("atexit.register(interrupt); interrupt()") == (130, "")


def test_an_interruption_of_a_destructor_comes_again() -> None:
    lost = "type('Any', (), {'__del__': lambda _: interrupt()})(); time.sleep(60); raise SystemExit(1)"
    assert run_interrupted(lost) == (130, "")
