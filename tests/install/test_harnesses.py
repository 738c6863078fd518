"""The files in packaging/ for other people's harnesses name things that exist, and run to the right verdict."""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import slurm
from downbeat.run.libraries import LIBRARIES
from fake_programs import FakeBench, environment, script
from on_hosts import built, need_hosts, run_hosts
from on_machine import tool
from report_data import DEVIATIONS, LAUNCHES, put, write_night

from tests.statistics.simulated import simulate_sessions

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
REFRAME = PACKAGING / "reframe" / "downbeat_check.py"
FILES = [
    REFRAME,
    *sorted((PACKAGING / "ci").glob("*.yml")),
    *sorted((PACKAGING / "slurm").glob("*.sbatch")),
]
SUBCOMMANDS = ("arrivals", "compare", "doctor", "export", "report", "reproduce", "run", "show", "trace", "tune")


@functools.cache
def downbeat(*arguments: str) -> str:
    """Returns what the command prints."""
    command = [sys.executable, "-m", "downbeat", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_options_exist(path: Path) -> None:
    """Every option that a file gives to a subcommand is one of its options."""
    text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
    text = re.sub(r"(?m)^\s*#.*$", "", text).replace('", "', " ")
    used: dict[str, set[str]] = {}
    for subcommand, rest in re.findall(rf"\bdownbeat[\"']?,? ({'|'.join(SUBCOMMANDS)})\b([^\n|&;]*)", text):
        used.setdefault(subcommand, set()).update(re.findall(r"(?<=\s)--?[a-z][a-z-]*", rest.partition(" -- ")[0]))
    if path == REFRAME:
        used["run"] = set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", text.split("say_what_to_run")[1].split("postrun")[0]))
    assert used
    for subcommand, options in used.items():
        known = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", downbeat(subcommand, "--help")))
        assert options <= known, subcommand


@pytest.mark.parametrize("path", sorted((PACKAGING / "slurm").glob("*.sbatch")), ids=lambda path: path.name)
def test_jobs_are_shell(path: Path) -> None:
    subprocess.run(["bash", "-n", str(path)], check=True)
    assert set(re.findall(r"openmpi5?|mpich5?|intelmpi", path.read_text(encoding="utf-8"))) == set(LIBRARIES)


@pytest.fixture
def nights(tmp_path: Path) -> list[np.ndarray]:
    """Medians of twelve nights without a change, and a `downbeat` on the path that harnesses find."""
    path = tmp_path / "path"
    path.mkdir()
    script(path / "downbeat", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m downbeat "$@"\n')
    return list(simulate_sessions(np.random.default_rng(2), 12, LAUNCHES, DEVIATIONS)[0])


def run_in(directory: Path, *command: str) -> subprocess.CompletedProcess[str]:
    variables = environment()
    variables |= {"PATH": f"{directory / 'path'}:{variables['PATH']}", "PYTHONPATH": str(ROOT / "python")}
    variables |= {"HOME": str(directory)}
    return subprocess.run(
        command, cwd=directory, capture_output=True, text=True, check=False, env=variables, timeout=300
    )


def options_of(fake: FakeBench) -> str:
    return f"--bench {fake.bench} --launcher '{fake.launcher} -n {{ranks}}' -n 2"


def write_history(directory: Path, nights: list[np.ndarray]) -> None:
    for number, medians in enumerate(nights, 2):
        write_night(directory / f"2026-01-{number:02}", medians)


@pytest.mark.nightly
def test_reframe_fails_where_something_is_slower(tmp_path: Path, nights: list[np.ndarray]) -> None:
    fake = FakeBench(tmp_path / "fake")
    history = tmp_path / "history" / "generic-default-builtin" / "bcast-fake"
    write_history(history, nights[:10])
    settings = {"mpi": "fake", "sizes": "8", "launches": LAUNCHES, "options": options_of(fake)}
    # PYTHONPATH is for downbeat alone: ReFrame has packages of its own.
    command = [tool("reframe"), "-c", str(REFRAME), "-n", "DownbeatCheck.*operation=bcast", "--nocolor", "-r"]
    command += [f"--setvar={name}={value}" for name, value in settings.items()]
    command += [f"--setvar=history={tmp_path / 'history'}"]

    put(fake, nights[10])
    done = run_in(tmp_path, *command)
    assert done.returncode == 0, done.stdout
    assert re.search(r"P: slower: 0\b", done.stdout)
    assert len(list(history.iterdir())) == 11

    put(fake, nights[11] * 1.3)
    done = run_in(tmp_path, *command)
    assert done.returncode == 1, done.stdout
    assert "slower=1 cells" in done.stdout
    assert len(list(history.iterdir())) == 12
    assert len(list(history.glob("*/slower.json"))) == 1

    script(fake.bench, "#!/bin/sh\nexit 7\n")
    done = run_in(tmp_path, *command)
    assert done.returncode == 1
    assert "status 3" in done.stdout  # launches are missing
    assert len(list(history.iterdir())) == 13

    put(fake, nights[10])  # neither what was slower nor what failed is a part of the history
    done = run_in(tmp_path, *command)
    assert done.returncode == 0, done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "schema"), [("github", "vendor.github-workflows"), ("gitlab-ci", "vendor.gitlab-ci")])
def test_workflows_have_their_schema(name: str, schema: str) -> None:
    path = PACKAGING / "ci" / f"{name}.yml"
    subprocess.run([tool("check-jsonschema"), "--builtin-schema", schema, str(path)], check=True)


# Settings that make a trial of a job quick.
TRIALS = {
    "two-nodes": {
        "LAUNCHES": "1",
        "OPTIONS": "-r 20 -- --tolerance 1e-3",
        "BENCH_OPTIONS": "-r 20 --tolerance 1e-3",
        "DRIFT_SECONDS": "3",
        "BIND": "",
    },
    "many-nodes": {
        "LAUNCHES": "1",
        "OPTIONS": "-r 20",
        "BENCH_OPTIONS": "--tolerance 1e-3",
        "TUNE_OPTIONS": "--sizes 8 -r 20 -- --tolerance 1e-3",
        "REPRODUCE_OPTIONS": "--quick --launches 1",
        "FIGURES": "schuchart2023-fig16",
    },
}


@pytest.mark.nightly
@pytest.mark.parametrize("job", sorted(TRIALS))
def test_jobs_run_on_two_hosts(job: str, tmp_path: Path) -> None:
    need_hosts()
    if slurm.lacking():
        pytest.skip("slurm-wlm is not installed")
    path = tmp_path / "path"
    path.mkdir()
    script(path / "downbeat", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m downbeat "$@"\n')
    variables = {
        **TRIALS[job],
        "BENCH": built("openmpi", "downbeat-bench"),
        "RESULTS": str(tmp_path / "results"),
        "PYTHONPATH": str(ROOT / "python"),
        "PATH": f"{path}:{os.environ['PATH']}",
    }
    size = ("--hosts", "2", "--mpi", "openmpi", "--slurm", "--timeout", "500")
    printed = tmp_path / "job.out"
    submit = ("sbatch", "--nodes=2", f"--output={printed}", str(PACKAGING / "slurm" / f"{job}.sbatch"))
    outcome = run_hosts(*size, "--", *submit, env=variables)
    said = printed.read_text(encoding="utf-8") if printed.exists() else "the job printed nothing"
    assert outcome.status == 0, outcome.stdout + outcome.stderr + said
    assert "with status" not in said
    assert list((tmp_path / "results").rglob("report.html"))
