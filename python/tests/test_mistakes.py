"""Mistakes of newcomers, each with its one line before anything starts; completion and help, which prevent them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from downbeat.cli import app
from downbeat.commands.help import EXAMPLES
from downbeat_command import COMMAND, downbeat
from report_data import barrier_cells, write_experiment

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
    for name in [one for one in sys.modules if one.startswith("downbeat.report")]:
        monkeypatch.delitem(sys.modules, name)
    done = downbeat("report", "results", where=place)
    line = "downbeat: this needs the Python package matplotlib; run: pip install matplotlib\n"
    assert (done.returncode, done.stderr) == (1, line)
