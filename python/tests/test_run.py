"""`downbeat run` as it is used: what it prints, how it ends, and real launches."""

from __future__ import annotations

import dataclasses
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from downbeat.commands.run import crowding
from downbeat.data.cells import CHANGED
from downbeat.run import directory as places
from downbeat.run.bench_launch import Ended
from downbeat.run.experiment import open_experiment
from downbeat.run.plan import Environment, LaunchKey, Library, Measurement, Plan
from downbeat.run.progress import Pace, Plain
from downbeat.statistics.location import typical_interval
from downbeat_command import downbeat, heed_signals
from fake_programs import FakeBench, alive, environment, wait_for

ROOT = Path(__file__).resolve().parents[2]
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "downbeat", "run", *map(str, arguments)]


def run(*arguments: object, where: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs `downbeat run` to its end."""
    return downbeat("run", *arguments, where=where, **variables)


def options(fake: FakeBench) -> list[str]:
    return [
        "bcast",
        "-m",
        "8",
        "--mpi",
        "fake",
        "--bench",
        str(fake.bench),
        "--launcher",
        f"{fake.launcher} -n {{ranks}}",
    ]


def test_a_long_launch_is_followed(tmp_path: Path) -> None:
    said: list[str] = []
    follower = Plain(said.append)
    follower.directory = tmp_path
    key = LaunchKey("fake", 2, "default", 3)
    follower.on_launch(key)
    follower.tick()
    assert said == []  # its end says enough
    follower.began -= 90
    follower.tick()
    follower.errors.parent.mkdir(parents=True)
    follower.errors.write_text(
        "downbeat-bench: about 3.0 s left, 7 % of 48 cells measured, 0 samples rejected\n", encoding="utf-8"
    )
    follower.tick()
    began, then = (line.removeprefix("fake, 2 ranks, launch 3: ") for line in said)
    assert re.fullmatch(r".* \d\d:\d\d:\d\d", began)
    assert re.findall(r"[\d.]+ [s%]", then) == ["3.0 s", "7 %"] and "48" in then


def test_the_time_left_counts_the_interval_between_rounds(tmp_path: Path) -> None:
    def left(launches: int, interval: float) -> float | None:
        pace = Pace(per_round=2, interval=interval)
        for library in ("a", "b"):
            pace.add(Ended(LaunchKey(library, 2, "default", 1), "", 0, 1.0, tmp_path))
        return pace.left(launches)

    assert [left(4, 0.0), left(4, 10.0), left(3, 10.0), left(1, 10.0)] == [4.0, 20.0, 11.0, 1.0]


def test_in_a_pipe_it_prints_a_line_for_each_launch(tmp_path: Path) -> None:
    fake = FakeBench(tmp_path / "fake")
    # By seed 2 the first launch has 2 ranks; the table begins with 1 all the same, as the plan does.
    done = run(*options(fake), "--ranks", "1,2", "--launches", "5", "--seed", "2", where=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert not CONTROL.search(done.stdout)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("bcast: 10 launches")
    progress = r"(\d+) of 10 launches complete.* fake, ([12]) ranks?, launch ([1-5]) took \d+\.\d s"
    launches = [re.fullmatch(progress, line) for line in lines[1:11]]
    assert [match and int(match[1]) for match in launches] == list(range(1, 11))
    assert launches[0] and launches[0].groups()[1:] == ("2", "1")
    table = [line.split() for line in lines[11:] if line.startswith("b")]
    assert table == [
        ["bytes", "8"],
        ["bcast,", "1", "rank", "2.00", "+-0.0%"],
        ["bcast,", "2", "ranks", "2.00", "+-0.0%"],
    ]
    assert ["downbeat", "report", "bcast"] in map(str.split, lines)
    assert lines[-1] == "written: bcast"
    assert max(len(line) for line in lines if not line.startswith("  downbeat ")) <= 80  # a command is pasted whole
    again = run(*options(fake), "--ranks", "1,2", "--launches", "5", where=tmp_path)
    assert again.returncode == 0
    assert re.findall(r"\d+", again.stdout.splitlines()[0]) == ["10", "10"]
    assert len(fake.starts()) == 10


def test_on_a_terminal_it_shows_a_table_that_lives(tmp_path: Path) -> None:
    fake = FakeBench(tmp_path / "fake", "sleep 0.3")
    leader, follower = pty.openpty()
    env = {**environment(), "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    arguments = command(*options(fake), "-n", "2", "--launches", "5")
    with subprocess.Popen(arguments, cwd=tmp_path, env=env, stdout=follower, stderr=follower) as process:
        os.close(follower)
        parts = []
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:  # the other end was closed
                break
            parts.append(part)
        assert process.wait(300) == 0
    os.close(leader)
    shown = b"".join(parts).decode()
    assert "\x1b[" in shown
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.search(r"\blaunch 1\b.*\r\n", plain)
    assert re.search(r"\d s left\b", plain)
    assert re.search(r"start +\+- +n\b[^b]*bcast +8 +2\.000 +- +2\b", plain)  # of two launches there is no interval
    assert re.search(r"2\.00 \+-0\.0%\r\n", plain)
    assert plain.endswith("\r\nwritten: bcast\r\n")


def test_what_failed_is_named_with_its_output(tmp_path: Path) -> None:
    reason = "out of luck"
    fake = FakeBench(tmp_path / "fake", f"[ $number = 2 ] && echo {reason} >&2 && exit 1")
    done = run(*options(fake), "-n", "2", "--launches", "5", "-o", "there", where=tmp_path)
    assert done.returncode == 3
    lines = done.stderr.splitlines()
    for attempt in (1, 2, 3):
        place = f"there/failed/fake-n2-default-002-{attempt}"
        assert f"exit status 1: {reason}" in lines[attempt - 1] and place in lines[attempt - 1]
        assert (tmp_path / place / "stderr.txt").read_text(encoding="utf-8").splitlines()[0] == reason
    assert len(lines) == 4 and "(fake, 2 ranks: 1)" in lines[3]


def test_bad_arguments_of_downbeat_bench_are_bad_arguments(tmp_path: Path) -> None:
    done = run("bcst", "-m", "8", "-n", "2", "--mpi", "openmpi", where=tmp_path)
    assert done.returncode == 2
    assert "'bcst'" in done.stderr.splitlines()[-1] and "'bcast'" in done.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "missing argument"),
        (["a.toml", "bcast"], "'a.toml'"),
        (["a.toml"], "'a.toml' cannot be read"),
        (["bcast", "--ranks", "two"], "'two'"),
        (["bcast", "--mpi", "lam"], "'lam'"),
        (["bcast", "--bench", "./none"], "/none'"),
        (["bcast", "--late", "2e-6"], "downbeat-bench go after --"),
        (["bcast", "--", "--sizes", "8"], "--sizes"),
        (["bcast", "--width", "0"], "width"),
        (["bcast", "--interval", "-1"], "or 0"),
        (["bcast", "--variant", "a:"], "'a:' is not valid"),
    ],
)
def test_bad_arguments_start_nothing(arguments: list[str], named: str, tmp_path: Path) -> None:
    done = run(*arguments, where=tmp_path)
    assert done.returncode == 2
    assert named in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_prints_the_launches_in_their_order(tmp_path: Path) -> None:
    fake = FakeBench(tmp_path / "fake")
    arguments = [*options(fake), "-n", "1,2", "--launches", "2", "--seed", "3"]
    arguments += ["--env", "tcp:A=x y", "--env", "default:"]
    dry = run(*arguments, "--dry-run", where=tmp_path)
    assert (dry.returncode, dry.stderr) == (0, "")
    assert fake.starts() == []
    assert [path.name for path in tmp_path.iterdir()] == ["fake"]
    *lines, then = dry.stdout.splitlines()
    assert re.findall(r"\d+", then) == ["4", "2"]
    found = [re.fullmatch(r"(\d+)/8 (\S+): (.*)", line) for line in lines]
    keys = [match[2] for match in found if match]
    assert len(keys) == 8
    for match in found:
        assert match
        assert match[3].startswith("A='x y' ") == ("-tcp-" in match[2])
        assert match[3].split()[-6:] == [str(fake.bench), "bcast", "--sizes", "8", "-o", "samples.nc"]
    done = run(*arguments, where=tmp_path)
    assert re.findall(r"\d+", done.stderr) == ["2", "5"] and done.stderr.count("\n") == 1
    assert [key for _, key, _ in fake.starts()] == keys


def test_options_override_the_file(tmp_path: Path) -> None:
    fake = FakeBench(tmp_path / "fake")
    (tmp_path / "mine.toml").write_text(
        'operations = ["bcast"]\nsizes = "8"\nlaunches = 5\nranks = 1\n'
        f'libraries = [{{name = "a", bench = "fake/downbeat-bench", launcher = "{fake.launcher} -n {{ranks}}"}}]\n'
        '[options]\nstop = "fixed(samples=5)"\nlate = 1e-6\n',
        encoding="utf-8",
    )
    passed = ["--", "--late", "2e-6", "--validate"]
    done = run("mine.toml", "-r", "7", "-n", "2", "--sync", "none", *passed, where=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    plan = places.read_plan(tmp_path / "mine")
    assert plan.measurement.options == {
        "sizes": "8",
        "sync": "none",
        "late": "2e-6",
        "validate": "",
        "repetitions": "7",
    }
    assert (plan.ranks, plan.launches, plan.name) == ((2,), 5, "mine")
    other = run("mine.toml", "-r", "7", "-n", "2", "--sync", "none", *passed[:-1], where=tmp_path)
    assert other.returncode == 2
    assert other.stderr.count("\n") == 1
    assert "'mine'" in other.stderr and "validate" in other.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    fake = FakeBench(tmp_path / "fake", "[ $number = 3 ] && sleep 600")
    arguments = command(*options(fake), "-n", "2", "--launches", "5")
    with subprocess.Popen(
        arguments,
        cwd=tmp_path,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,  # noqa: PLW1509 (there are no threads)
    ) as process:
        try:
            assert wait_for(lambda: len(fake.processes()) == 6)
            process.send_signal(number)
            _, errors = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 130
    assert errors.startswith("downbeat: interrupted") and errors.count("\n") == 1
    assert not any(alive(pid) for pid in fake.processes())
    assert sorted(places.complete(tmp_path / "bcast")) == ["fake-n2-default-001", "fake-n2-default-002"]
    assert not (tmp_path / "bcast" / places.PARTIAL).exists()
    assert not (tmp_path / "bcast" / places.FAILED).exists()


@pytest.mark.thorough
def test_real_launches_under_two_libraries(tmp_path: Path) -> None:
    arguments = ["bcast", "-m", "8,1K", "-r", "20", "-n", "2", "--mpi", "openmpi,mpich", "--launches", "3"]
    arguments += ["--", "--max-attempts", "1000"]  # however busy the machine is
    done = run(*arguments, where=tmp_path)
    assert done.returncode == 0, done.stderr
    experiment = open_experiment(tmp_path / "bcast")
    launches = len(experiment.launches)
    assert 6 <= launches <= 12  # more where the machine changed its state
    cells = experiment.cells
    assert len(cells) == launches * 2 * 2  # sizes, synchronizers
    assert (cells["valid_count"] == 20).all()
    assert set(cells["library"]) == {"openmpi", "mpich"}
    # The last screen agrees with the samples if the machine stayed in one state.
    steady = cells[(cells["status"] != CHANGED) & (cells["synchronizer"] == "harmonize")]
    if set(steady["state"]) == {""} and len(steady.groupby(["library", "size"])) == 4:
        shown = re.findall(r"^bcast, (\w+) +([\d.]+) \S+ +([\d.]+) \S+$", done.stdout, re.MULTILINE)
        assert {library for library, *_ in shown} == {"openmpi", "mpich"}
        for library, *latencies in shown:
            for size, latency in zip((8, 1024), latencies, strict=True):
                chosen = steady.query(f"size == {size} and library == '{library}'")["latency_avg_median"]
                assert float(latency) == pytest.approx(typical_interval(chosen).estimate * 1e6, rel=6e-3)
    assert json.loads((tmp_path / "bcast" / places.MACHINE).read_text(encoding="utf-8"))["findings"]


@pytest.mark.thorough
def test_intel_mpi_measures_several_algorithms(tmp_path: Path) -> None:
    arguments = ["reduce", "-m", "8", "-r", "5", "-n", "2", "--mpi", "intelmpi", "--sync", "mpi_barrier"]
    done = run(*arguments, "--launches", "1", "--", "--algorithm", "reduce=1,2", where=tmp_path)
    assert done.returncode == 0, done.stderr
    cells = open_experiment(tmp_path / "reduce").cells
    assert sorted(zip(cells["algorithm"], cells["launch"], strict=True)) == [("1", 1), ("2", 1)]


def test_more_ranks_than_processors_are_one_line_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("downbeat.run.launch.cpus_per_core", lambda: [[0], [1]])
    monkeypatch.delenv("SLURM_JOB_NUM_NODES", raising=False)
    plan = Plan(
        name="crowd",
        measurement=Measurement(("bcast",), {}),
        libraries=(Library("openmpi", "downbeat-bench"),),
        ranks=(2, 4),
        environments=(Environment(),),
        launches=5,
        timeout=60.0,
    )
    (line,) = crowding(plan)
    assert re.findall(r"\d+ \w+", line)[:2] == ["4 ranks", "2 processors"]
    assert line.endswith("-n 2")
    assert crowding(dataclasses.replace(plan, ranks=(1, 2))) == []
    foreign = Library("openmpi", "downbeat-bench", launcher="mpirun --hostfile hosts -n {ranks}")
    assert crowding(dataclasses.replace(plan, libraries=(foreign,))) == []
