"""Messages are one line, and advice is followed: a command that one names is run, and what was asked for works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from downbeat.run.bench import built, how_to_build
from downbeat.run.libraries import FETCHED, LIBRARIES
from downbeat_command import downbeat
from report_data import barrier_cells, write_experiment

ROOT = Path(__file__).resolve().parents[2]


def corrected(words: list[str], said: str) -> list[str]:
    """Returns the words of a command as its message would have them."""
    if option := re.search(r"'s (\S+) is '?(.*?),?'? here$", said):
        place = words.index(option[1])
        before, value, after = words[:place], words[place + 1 : place + 2], words[place + 2 :]
        if option[2] == "the default":
            return [*before, *value, *after]
        own, _, example = option[2].partition(", e.g. ")
        return [*before, own.removesuffix(" N"), *([example] if example else value), *after]
    meant = re.search(r"'?([^\s']+)'?; did you mean '(.*)'\?$", said)
    assert meant, said
    return [word.replace(meant[1], meant[2]) for word in words]


@pytest.mark.parametrize(
    "command",
    [
        "bcast -i 20",
        "bcast -x 3",
        "bcast -f",
        "bcast -iter 20",
        "bcast -msglen 8",
        "bcast -msglog 4:10",
        "osu_allreduce",
        "osu_latency",
        "latency",
        "allreduse -m 8",
        "MPI_Bcast",
        "bcast --sync harmonise",
        "bcast --warmpu 3",
        "bcast --format jsn",
        "bcast(rot=1)",
        "lsit",
    ],
)
def test_downbeat_bench(library: str, command: str) -> None:
    bench = built(library)
    if bench is None:
        pytest.skip(f"downbeat-bench is not built for {library}")

    def check(words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run([bench, *words, "--check"], capture_output=True, text=True, check=False)

    refused = check(command.split())
    assert (refused.returncode, refused.stdout) == (2, "")
    (line,) = [line for line in refused.stderr.splitlines() if line.startswith("downbeat-bench: ")]
    followed = check(corrected(command.split(), line))
    assert followed.returncode == 0, followed.stderr


@pytest.mark.parametrize(
    "command",
    ["report nested", "show resluts", "shwo results", "compare results sync=harmonize sync=mpi_barrier"],
)
def test_downbeat(command: str, tmp_path: Path) -> None:
    write_experiment(tmp_path / "results", [barrier_cells(1)])
    write_experiment(tmp_path / "nested" / "sweep" / "bcast", [barrier_cells(1)])
    refused = downbeat(*command.split(), where=tmp_path)
    assert refused.returncode == 2
    said = refused.stderr.strip()
    advice = re.search(r"run: downbeat (.*?)(?: \(or .*)?$", said)
    words = advice[1].split() if advice else corrected(command.split(), said)
    followed = downbeat(*words, where=tmp_path)
    assert followed.returncode == 0, followed.stderr


@pytest.mark.parametrize("name", [*LIBRARIES, "simgrid"])
def test_make_knows_what_is_advised(name: str) -> None:
    words = how_to_build(name).strip("'").split()
    done = subprocess.run([*words, "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def configure(where: Path, name: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Configures a checkout for an MPI library, as make does in a tree that stays."""
    off = [f"-DDOWNBEAT_BUILD_{part}=OFF" for part in ("BENCH", "TESTS", "FORTRAN")]
    command: list[str | Path] = [
        "cmake",
        "-S",
        where,
        "-B",
        where / "build" / name,
        "-G",
        "Ninja",
        f"-DDOWNBEAT_MPI={name}",
        *off,
    ]
    environment = {key: value for key, value in os.environ.items() if key != "MPI_HOME"} | variables
    done = subprocess.run([*command, *options], env=environment, capture_output=True, text=True, check=False)
    done.stderr = " ".join(done.stderr.split())
    return done


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Returns a checkout without fetched libraries and builds."""
    where = tmp_path / "checkout"
    where.mkdir()
    for entry in ROOT.iterdir():
        if entry.name not in (FETCHED.name, "build"):
            (where / entry.name).symlink_to(entry)
    return where


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in LIBRARIES if (FETCHED / name).is_dir()])
def test_a_library_that_is_fetched_later_is_found(name: str, checkout: Path) -> None:
    refused = configure(checkout, name)
    assert refused.returncode == 1
    advice = re.search(r"`(tools/setup \w+)` installs it", refused.stderr)
    assert advice, refused.stderr
    assert advice[1] == f"tools/setup {name}"  # which takes minutes: here it is a link
    (checkout / ".mpi").mkdir()
    (checkout / ".mpi" / name).symlink_to(FETCHED / name)
    followed = configure(checkout, name)
    assert followed.returncode == 0, followed.stderr
    # And once more elsewhere.
    (checkout / ".mpi" / name).rename(checkout / "moved")
    assert configure(checkout, name).returncode == 1
    moved = configure(checkout, name, MPI_HOME=str(checkout / "moved"))
    assert moved.returncode == 0, moved.stderr
    cache = (checkout / "build" / name / "CMakeCache.txt").read_text(encoding="utf-8")
    assert f"MPI_C_COMPILER:FILEPATH={checkout / 'moved/bin/mpicc'}\n" in cache


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "wrong"), [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_another_library_at_the_same_place_is_found(name: str, wrong: str, checkout: Path) -> None:
    home = checkout / "home" / "bin"
    home.mkdir(parents=True)

    def install(library: str) -> None:
        for wrapper in ("mpicc", "mpicxx"):
            (home / wrapper).unlink(missing_ok=True)
            (home / wrapper).symlink_to(str(shutil.which(f"{wrapper}.{library}")))

    install(wrong)
    refused = configure(checkout, name, MPI_HOME=str(home.parent))
    assert refused.returncode == 1
    assert f"{home / 'mpicc'} belongs to another MPI library" in refused.stderr
    install(name)
    followed = configure(checkout, name, MPI_HOME=str(home.parent))
    assert followed.returncode == 0, followed.stderr


def run_figures(mpi: str, ranks: int, mode: str, **environment: str) -> tuple[int, list[str]]:
    """Runs a mode of the figures program; returns its status and the lines of the library, and of MPI if it accuses."""
    program = ROOT / "build" / mpi / "bin" / "figures"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DOWNBEAT_")}
    done = subprocess.run(
        [str(ROOT / "tools/launch"), "--mpi", mpi, "-n", str(ranks), "--timeout", "300", str(program), mode],
        capture_output=True,
        text=True,
        check=False,
        env=clean | environment,
    )
    said = ("downbeat:", "Fatal error", "bug report", "An error occurred")
    return done.returncode, [line for line in done.stderr.splitlines() if any(word in line for word in said)]


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("DOWNBEAT_CLOK", "tsc", "DOWNBEAT_CLOK is unknown"),
        ("DOWNBEAT_CLOCK", "rdtsc", "valid: tsc, monotonic_raw, monotonic, realtime, wtime"),
        ("DOWNBEAT_SLACK", "1us", "valid: auto, published, or seconds from 1e-09 to 3600"),
        ("DOWNBEAT_VALIDATION", "skw=1e-6", "offset=1e-3,skew=20e-6"),
    ],
)
def test_bad_environment_is_one_line_and_ends_the_run(variable: str, value: str, named: str) -> None:
    status, lines = run_figures("openmpi", 2, "recovery", **{variable: value})
    assert status != 0
    assert len(lines) == 1
    assert variable in lines[0]
    assert named in lines[0]


def test_a_bad_environment_is_one_line_under_each_library(each_library: str) -> None:
    status, lines = run_figures(each_library, 2, "recovery", DOWNBEAT_CLOCK="rdtsc")
    assert status != 0
    assert len(lines) == 1
    assert "DOWNBEAT_CLOCK" in lines[0]


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_oversubscription_is_said_once(mpi: str) -> None:
    ranks = 2 * len(os.sched_getaffinity(0))
    status, lines = run_figures(mpi, ranks, "crowd")
    assert status == 0
    assert len(lines) == 1
    assert "more processes than processors" in lines[0]


def test_enough_processors_say_nothing() -> None:
    assert run_figures("openmpi", 2, "crowd") == (0, [])
