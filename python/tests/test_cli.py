"""Trouble outside and mistakes end every command with one line, which names what was probably meant."""

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
from downbeat.cli import app
from downbeat.commands.help import EXAMPLES
from downbeat.commands.options import resumable
from downbeat.run.launch import INTERRUPTIONS
from downbeat_command import COMMAND, downbeat, heed_signals
from fake_programs import environment
from launch_files import Cell, write_launch
from report_data import barrier_cells, two_cells, write_experiment

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


BARRIERS = "synchronizer=harmonize synchronizer=mpi_barrier"
# Arguments of `downbeat`, and what the line says of them: what is wrong, and what is valid or meant.
MISTAKES = {
    "rnu bcast": ("'rnu'", "did you mean 'run'?"),
    "--verison": ("'--verison'", "did you mean '--version'?"),
    "run": ("missing argument", "downbeat run -h has examples"),
    "run bcats": ("unknown operation 'bcats'", "did you mean 'bcast'?"),
    "run osu_latency": ("'osu_latency'", "did you mean 'ping_pong'?"),
    "run bcast(rot=1)": ("'rot'", "did you mean 'root'?"),
    "run bcast --sizes 8kB": ("'8kB' is not a message size", "8, 100, 64K"),
    "run bcast -m": ("-m", "requires an argument"),
    "run bcast -m 64K:8": ("'64K:8' is empty", "put the smaller size first"),
    "run bcast --sync harmonize,barrier": ("'barrier'", "did you mean 'mpi_barrier'?"),
    "run bcast -i 100": ("OSU's -i", "is -r here"),
    "run bcast -x 100": ("OSU's -x", "'-- --warmup N'"),
    "run bcast -np 4": ("mpirun's -np", "is -n here"),
    "run bcast -n four": ("--ranks: 'four'", "a whole number"),
    "run bcast --width 2": ("--width: '2'", "above 0 and below 1"),
    "run bcast --env FOO": ("--env: 'FOO'", "VARIABLE=VALUE"),
    "run bcast --launcher true": ("'true'", "{ranks}"),
    "run bcast --bench nothing": ("'nothing'", "path of a downbeat-bench"),
    "run bcast -o text": ("'text' exists", "give another one (-o)"),
    "run bcast --size 8": ("'--size'", "did you mean '--sizes'?"),
    "run bcast --launches ten": ("--launches: 'ten'", "from 1 to 100000"),
    "run bcast --late 1e-6": ("'--late'", "options of downbeat-bench go after --"),
    "run bcast -- --warmpu 3": ("--warmpu", "did you mean '--warmup'?"),
    "run bcast --mpi openmp": ("unknown MPI library 'openmp'", "did you mean 'openmpi'?"),
    "run bcast --simulate fat-tre": ("--simulate: 'fat-tre'", "did you mean 'fat-tree'?"),
    "run nothing.toml": ("'nothing.toml' cannot be read", "No such file"),
    "compare resluts " + BARRIERS: ("'resluts'", "did you mean 'results'?"),
    "compare results harmonize mpi_barrier": ("'harmonize'", "synchronizer=harmonize"),
    "compare results sync=harmonize sync=mpi_barrier": ("unknown factor 'sync'", "did you mean 'synchronizer'?"),
    "compare results synchronizer=harmonise synchronizer=mpi_barrier": ("synchronizer=harmonise", "'harmonize'?"),
    "compare results results": ("compared with itself", "A B"),
    "compare results size=8K size=8": ("size=8192", "choose one of 8, 64, 1024"),
    f"compare results {BARRIERS} --confidence 95": ("95", "from 0.5 to below 1"),
    f"compare results {BARRIERS} --metric latency": ("unknown metric 'latency'", "did you mean 'latency_avg'?"),
    f"compare results {BARRIERS} --fail-on slow": ("'slow'", "'slower'"),
    "export results --to cvs": ("unknown format 'cvs'", "did you mean 'csv'?"),
    "export results --to parquet": ("parquet cannot go to standard output", "--output"),
    "show text": ("'text'", "netCDF"),
    "report empty": ("'empty'", "plan.json"),
    "arrivals empty": ("'empty' has no trace", "libdownbeat-preload"),
    "reproduce schuchart-fig2": ("'schuchart-fig2'", "schuchart2023-fig2"),
    "show elsewhere": ("'elsewhere'", "'downbeat run' makes one"),
    "trace mpirun -n 2 ./app": ("missing option", "--output"),
    "trace -o t ./app": ("'./app' is not an executable program", "mpirun, mpiexec or srun"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("place")
    write_experiment(directory / "results", [barrier_cells(1)])
    (directory / "empty").mkdir()
    (directory / "text").write_text("hello\n", encoding="utf-8")
    return directory


@pytest.mark.parametrize(("words", "said"), MISTAKES.items())
def test_a_mistake_is_found_before_anything_starts(place: Path, words: str, said: tuple[str, str]) -> None:
    before = sorted(place.rglob("*"))
    done = downbeat(*words.split(), where=place)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert all(part in done.stderr for part in ("downbeat: ", *said)), done.stderr
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize("name", EXAMPLES)
def test_help_has_examples_that_parse(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = COMMAND(app).commands[name]  # type: ignore[attr-defined]
    for example in EXAMPLES[name]:
        words = example.rstrip(")").partition("downbeat ")[2].split()
        command.make_context(name, words[1:])  # raises where an option is unknown
    assert "<list" not in command.get_help(command.context_class(command))
    assert capsys.readouterr().out == ""


def test_help_and_examples_are_of_every_command() -> None:
    assert list(EXAMPLES) == list(COMMAND(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("run bc", "bcast bcast_init"),
        ("run bcast --sync harmonize,mpi", "harmonize,mpi_barrier"),
        ("run bcast --mpi openmpi,mp", "openmpi,mpich openmpi,mpich5"),
        ("compare results --metric mak", "makespan"),
        ("tune bcast --metric mak", "makespan"),
        ("timebase --mpi openm", "openmpi openmpi5"),
        ("export results --to p", "parquet perfetto perfetto-clocks"),
        ("reproduce schuchart2023-fig2", "schuchart2023-fig2"),
    ],
)
def test_values_are_completed(tmp_path: Path, words: str, found: str) -> None:
    asked = {"COMP_WORDS": f"downbeat {words}", "COMP_CWORD": str(len(words.split()))}
    done = downbeat(where=tmp_path, _DOWNBEAT_COMPLETE="complete_bash", **asked)
    assert done.stdout.split() == found.split()


def test_a_package_that_is_missing_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in ("clock_pictures", "drawing", "instants", "latency", "launches", "panel", "pictures", "style"):
        monkeypatch.delitem(sys.modules, f"downbeat.report.{name}", raising=False)
    done = downbeat("report", "results", where=place)
    line = "downbeat: this command needs the Python package matplotlib; run: pip install matplotlib\n"
    assert (done.returncode, done.stderr) == (1, line)
