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
# Arguments of `downbeat`, and the line.
MISTAKES = {
    "rnu bcast": "there is no command 'rnu'; did you mean 'run'?",
    "plot results": "there is no command 'plot'; did you mean 'report'?",
    "--verison": "downbeat has no option '--verison'; did you mean '--version'?",
    "run": "missing argument EXPERIMENT.toml|OPERATION; downbeat run -h has examples",
    "run bcats": "unknown operation 'bcats'; did you mean 'bcast'?",
    "run ibcats": "unknown operation 'ibcats'; did you mean 'ibcast'?",
    "run osu_bcast": "unknown operation 'osu_bcast'; did you mean 'bcast'?",
    "run osu_latency": "unknown operation 'osu_latency'; did you mean 'ping_pong'?",
    "run bcats --dry-run": "unknown operation 'bcats'; did you mean 'bcast'?",
    "run MPI_Allreduce": "unknown operation 'MPI_Allreduce'; did you mean 'allreduce'?",
    "run bcast 8:64K": "unknown operation '8:64K'; message sizes are an option: -m 8:64K",
    "run bcast(rot=1)": "operation cannot be 'bcast(rot=1)': unknown parameter 'rot'; did you mean 'root'?",
    "run bcast --sizes 8kB": "'8kB' is not a message size; did you mean '8K'?",
    "run bcast --sizes 8-64K": "'8-64K' is not a message size; did you mean '8:64K'?",
    "run bcast -m": "option -m requires an argument; downbeat run -h has examples",
    "run bcast -m 0": "'0' is not a message size; use a size (8, 100, 64K; K, M, G are powers of 1024), a list "
    "(8,100,1M) or powers of two from:to (8:64K)",
    "run bcast -m 64K:8": "the range '64K:8' is empty; put the smaller size first",
    "run bcast --sync harmonise": "unknown synchronizer 'harmonise'; did you mean 'harmonize'?",
    "run bcast --sync harmonize,barrier": "unknown synchronizer 'barrier'; did you mean 'mpi_barrier'?",
    "run bcast -i 100": "OSU's -i is -r here",
    "run bcast -x 100": "OSU's -x is '-- --warmup N' here",
    "run bcast -msglog 4:10": "IMB's -msglog is -m, e.g. 8:64K, here",
    "run bcast -np 4": "mpirun's -np is -n here",
    "run bcast -n four": "--ranks: 'four' is not valid; give a whole number, at least 1",
    "run bcast --width 2": "--width: '2' is not valid; give a number above 0 and below 1, e.g. 0.02 for 2 %",
    "run bcast --env FOO": "--env: 'FOO' is not valid; give VARIABLE=VALUE, or NAME:VARIABLE=VALUE for an environment "
    "of that name",
    "run bcast --launcher true": "launcher: 'true' has no {ranks} in place of the number of ranks",
    "run bcast --bench nothing": "'nothing' is not an executable program; give the path of a downbeat-bench",
    "run bcast -o text": "'text' exists and is not the directory of an experiment; give another one (-o)",
    "run bcast --size 8": "run has no option '--size'; did you mean '--sizes'?",
    "run bcast --launches ten": "--launches: 'ten' is not valid; give a whole number, from 1 to 100000",
    "run bcast --late 1e-6": "run has no option '--late'; options of downbeat-bench go after --; "
    "downbeat run -h lists all",
    "run bcast -- --warmpu 3": "The following argument was not expected: --warmpu; did you mean '--warmup'?",
    "run bcast -- --pattern one_lat": "unknown arrival pattern 'one_lat'; did you mean 'one_late'?",
    "run bcast --mpi openmp": "unknown MPI library 'openmp'; did you mean 'openmpi'?",
    "run bcast --simulate fat-tre": "--simulate: 'fat-tre' is not a platform; did you mean 'fat-tree'?",
    "run nothing.toml": "'nothing.toml' cannot be read: No such file or directory",
    "compare resluts " + BARRIERS: "there is no experiment 'resluts'; did you mean 'results'?",
    "compare results harmonize mpi_barrier": "there is no experiment 'harmonize'; conditions are like "
    "synchronizer=harmonize",
    "compare results sync=harmonize sync=mpi_barrier": "unknown factor 'sync'; did you mean 'synchronizer'?",
    "compare results synchronizer=harmonise synchronizer=mpi_barrier": "no cell has synchronizer=harmonise; "
    "did you mean 'harmonize'?",
    "compare results results": "'results' would be compared with itself; give A B, A factor=value factor=value, or A "
    "alone if it has two variants",
    "compare results size=8 size=8": "size=8 would be compared with itself; give A B, A factor=value factor=value, or "
    "A alone if it has two variants",
    "compare results size=8K size=8": "no cell has size=8192; choose one of 8, 64, 1024",
    f"compare results {BARRIERS} --confidence 95": "a confidence of 95; valid are numbers from 0.5 to below 1, "
    "e.g. 0.95",
    f"compare results {BARRIERS} --margin 5": "a margin of 5; valid are numbers from 0 to below 1, e.g. 0.02 for 2 %",
    f"compare results {BARRIERS} --metric latency": "unknown metric 'latency'; did you mean 'latency_avg'?",
    f"compare results {BARRIERS} --fail-on slow": "--fail-on: 'slow' is not valid; did you mean 'slower'?",
    "export results --to cvs": "unknown format 'cvs'; did you mean 'csv'?",
    "export results --to parquet": "parquet cannot go to standard output; give a file with --output",
    "show text": "'text' is not a file of downbeat-bench (.nc, netCDF)",
    "report empty": "'empty' is not the directory of an experiment: it has neither plan.json nor .nc files",
    "arrivals empty": "'empty' has no trace; was the program started with libdownbeat-preload?",
    "reproduce schuchart-fig2": "there is no figure 'schuchart-fig2'; did you mean schuchart2023-fig2 or "
    "schuchart2023-fig12 or schuchart2023-fig9? (--list shows all)",
    "timebase --mpi foo": "unknown MPI library 'foo'; choose one of openmpi, mpich, openmpi5, mpich5, intelmpi",
    "show elsewhere": "there is no experiment 'elsewhere'; 'downbeat run' makes one",
    "trace mpirun -n 2 ./app": "missing option --output / -o; downbeat trace -h has examples",
    "trace -o t ./app": "'./app' is not an executable program; begin with mpirun, mpiexec or srun",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("place")
    write_experiment(directory / "results", [barrier_cells(1)])
    (directory / "empty").mkdir()
    (directory / "text").write_text("hello\n", encoding="utf-8")
    return directory


@pytest.mark.parametrize(("words", "line"), MISTAKES.items())
def test_a_mistake_is_found_before_anything_starts(place: Path, words: str, line: str) -> None:
    before = sorted(place.rglob("*"))
    done = downbeat(*words.split(), where=place)
    assert (done.returncode, done.stderr, done.stdout) == (2, f"downbeat: {line}\n", "")
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
        ("export results --to p", "parquet perfetto"),
        ("reproduce schuchart2023-fig2", "schuchart2023-fig2"),
    ],
)
def test_values_are_completed(tmp_path: Path, words: str, found: str) -> None:
    asked = {"COMP_WORDS": f"downbeat {words}", "COMP_CWORD": str(len(words.split()))}
    done = downbeat(where=tmp_path, _DOWNBEAT_COMPLETE="complete_bash", **asked)
    assert done.stdout.split() == found.split()


def test_a_package_that_is_missing_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [one for one in sys.modules if one.startswith("downbeat.pictures")]:
        monkeypatch.delitem(sys.modules, name)
    done = downbeat("report", "results", where=place)
    line = "downbeat: this needs the Python package matplotlib; run: pip install matplotlib\n"
    assert (done.returncode, done.stderr) == (1, line)
