"""Executing an experiment: what fails, hangs, is killed or started twice, with launches that cost nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from datetime import datetime
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from downbeat import files
from downbeat.errors import DownbeatError, UsageError
from downbeat.run import directory as places
from downbeat.run import estimates, job
from downbeat.run.bench_launch import launch_command, run_in_directory
from downbeat.run.execute import MAX_ATTEMPTS, MAX_FAILURES, Execution, Outcome, Watcher, execute
from downbeat.run.experiment import open_experiment
from downbeat.run.machine import Machine
from downbeat.run.plan import Environment, LaunchKey, Library, Measurement, Plan, Variant
from downbeat.statistics.location import typical_interval
from fake_programs import MEDIAN, FakeBench, alive, script, wait_for, write_template
from scipy import stats


@pytest.fixture
def fake(tmp_path: Path) -> FakeBench:
    """A downbeat-bench that does as it should."""
    return FakeBench(tmp_path / "fake")


@pytest.fixture
def where(tmp_path: Path) -> Path:
    """The directory of an experiment."""
    return tmp_path / "experiment"


def plan_with(*libraries: Library, launches: int = 2, **other: object) -> Plan:
    plan = Plan("test", Measurement(("bcast",), {"sizes": "8"}), libraries, launches=launches)
    return dataclasses.replace(plan, **other)  # type: ignore[arg-type]


def kept(where: Path) -> list[str]:
    """Returns the names in the directory of an experiment, without those that are always there."""
    return sorted(path.name for path in where.iterdir() if path.name not in (places.PLAN, places.MACHINE, files.LOCK))


def lacking(outcome: Outcome) -> dict[str, int]:
    """Returns how many launches of each library are missing."""
    return {name.partition(",")[0]: count for name, count in outcome.lacking.items()}


def failures(outcome: Outcome) -> list[tuple[str, str]]:
    return [(str(ended.key), ended.failure) for ended in outcome.failures]


def test_every_configuration_is_launched(fake: FakeBench, where: Path) -> None:
    environments = (Environment(), Environment("slow", {"SPEED": "2"}))
    plan = plan_with(fake.library("a"), fake.library("b"), ranks=(1, 2), environments=environments, launches=2)
    outcome = execute(plan, where)
    assert (outcome.failures, outcome.lacking, outcome.too_wide) == ([], {}, 0.0)
    keys = [key for _, key, _ in fake.starts()]
    assert keys == [str(key) for key in plan.launch_order()]
    assert len(set(keys)) == 2 * 2 * 2 * 2
    # Round by round, in random order within.
    assert [key[-3:] for key in keys] == ["001"] * 8 + ["002"] * 8
    first, second = ([key[:-4] for key in keys[start : start + 8]] for start in (0, 8))
    assert first != second
    assert sorted(first) == sorted(second)
    assert places.complete(where) == set(keys)
    cells = open_experiment(where).cells
    assert len(cells) == 16
    assert set(cells["environment"]) == {"default", "slow"}
    assert kept(where) == ["launches"]


def test_a_launch_is_recorded(fake: FakeBench, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_MCA_btl", "self")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JWT", "secret")
    monkeypatch.setenv("UNRELATED", "1")
    plan = plan_with(fake.library(), launches=1, environments=(Environment("x", {"UCX_TLS": "tcp"}),))
    execute(plan, where)
    record = json.loads((where / "launches/fake-n2-x-001/launch.json").read_text(encoding="utf-8"))
    assert record["variables"] == {"UCX_TLS": "tcp"}
    heeded = record["environment_variables"]
    assert heeded["OMPI_MCA_btl"] == "self"
    assert heeded["SLURM_JOB_ID"] == "7"
    assert heeded["UCX_TLS"] == "tcp"
    assert not {"SLURM_JWT", "UNRELATED"} & set(heeded)
    assert record["cpus_allowed"] == sorted(os.sched_getaffinity(0))
    assert (record["kernel"], record["host"]) == (os.uname().release, os.uname().nodename)
    assert (record["exit_status"], record["failure"], record["portion"]) == (0, "", 0)
    assert record["command"][-5:] == ["bcast", "--sizes", "8", "-o", "samples.nc"]
    assert record["load_before"] >= 0
    machine = json.loads((where / places.MACHINE).read_text(encoding="utf-8"))
    assert {finding["check"] for finding in machine["findings"]} >= {"cores", "clock", "load", "frequency"}


def test_a_processor_that_does_not_tell_its_governor_is_left_out(tmp_path: Path) -> None:
    """As one that is switched off: reading fails, whoever reads."""
    first = tmp_path / "devices/system/cpu/cpu0/cpufreq/scaling_governor"
    first.parent.mkdir(parents=True)
    first.write_text("performance\n", encoding="ascii")
    (tmp_path / "devices/system/cpu/cpu1/cpufreq/scaling_governor").mkdir(parents=True)
    assert Machine(tmp_path, tmp_path).governors((0, 1)) == "performance"
    assert Machine(tmp_path / "none", tmp_path).governors((0, 1)) == ""


def test_it_continues_where_it_was(fake: FakeBench, where: Path) -> None:
    execute(plan_with(fake.library(), launches=2), where)
    first = (where / "launches/fake-n2-default-001/launch.json").read_bytes()
    outcome = execute(plan_with(fake.library(), launches=4, timeout=50.0), where)
    assert [key[-3:] for _, key, _ in fake.starts()] == ["001", "002", "003", "004"]
    assert (where / "launches/fake-n2-default-001/launch.json").read_bytes() == first
    assert list(outcome.estimates.medians.values()) == [{1: MEDIAN, 2: MEDIAN, 3: MEDIAN, 4: MEDIAN}]
    assert places.read_plan(where).launches == 4


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"measurement": Measurement(("bcast",), {"sizes": "16"})}, "its sizes is '8', not '16'"),
        ({"measurement": Measurement(("bcast",), {"sizes": "8", "sync": "none"})}, "its sync is none, not 'none'"),
        ({"measurement": Measurement(("bcast", "scan"), {"sizes": "8"})}, "its operations is bcast, not bcast scan"),
        ({"ranks": (2, 3)}, "its ranks is (2,), not (2, 3)"),
        ({"seed": 1}, "its seed is 0, not 1"),
        ({"environments": (Environment("default", {"A": "1"}),)}, "not default (variables {'A': '1'})"),
    ],
)
def test_another_plan_is_refused(change: dict[str, object], named: str, fake: FakeBench, where: Path) -> None:
    plan = plan_with(fake.library(), launches=1)
    execute(plan, where)
    with pytest.raises(UsageError) as error:
        execute(dataclasses.replace(plan, **change), where)  # type: ignore[arg-type]
    assert named in str(error.value)
    assert "\n" not in str(error.value)
    assert places.read_plan(where) == plan


def test_a_directory_of_something_else_is_refused(fake: FakeBench, where: Path) -> None:
    where.mkdir()
    (where / "thesis.tex").touch()
    with pytest.raises(UsageError, match="is not the directory of an experiment"):
        execute(plan_with(fake.library()), where)
    assert [path.name for path in where.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("echo some; echo out of luck >&2; exit 1", "exit status 1: out of luck"),
        ("exit 0", "there is no file 'samples.nc'"),
        (": >$output; exit 0", "'samples.nc' is empty: the launch ended before it measured anything"),
        ("head -c -1 $template >$output; exit 0", "is cut off"),
        ("echo hello >$output; exit 0", "'samples.nc' is not a file of downbeat-bench (.nc, netCDF)"),
        ("kill -9 $$", "exit status 137"),
        (
            "cp {templates}/any-1.nc $output; exit 0",
            "the program ran with 1 rank, not 2: the launcher belongs to another MPI library",
        ),
        # Lines of the launcher around those of the program, in any order.
        (
            "echo 'srun: error: vm: tasks 0-1: Exited with exit code 1' >&2; echo out of luck >&2; "
            "echo 'slurmstepd-vm: error: *** STEP 7.0 ON vm CANCELLED AT 2026-11-22T00:44:33 ***' >&2; "
            "echo 'srun: error: vm: task 1: Killed' >&2; "
            "echo '[vm:7] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all help' >&2; exit 1",
            "exit status 1: out of luck",
        ),
        ("echo 'srun: error: vm: task 0: Killed' >&2; exit 137", "exit status 137: srun: error: vm: task 0: Killed"),
        (
            "echo 'srun: error: Unable to create step for job 7' >&2; exit 1",
            "exit status 1: srun: error: Unable to create step for job 7",
        ),
        # As if memory had run out.
        ("kill -9 $(ps -o ppid= -p $PPID); sleep 600", "exit status 137"),
    ],
)
def test_a_failure_is_kept_and_does_not_end_the_experiment(body: str, reason: str, tmp_path: Path, where: Path) -> None:
    body = body.replace("{templates}", str(tmp_path / "bad"))
    fake, good = FakeBench(tmp_path / "bad", f'[ "$RANK" = 0 ] && {{ {body}; }}'), FakeBench(tmp_path / "good")
    outcome = execute(plan_with(fake.library("bad"), good.library("good"), launches=4), where)
    # After 3 failures and no success the others are not tried.
    assert len(outcome.failures) == MAX_FAILURES
    assert lacking(outcome) == {"bad": 4}
    assert len(good.starts()) == 4
    for ended in outcome.failures:
        assert reason in ended.failure
        assert "\n" not in ended.failure
        record = json.loads((ended.directory / places.RECORD).read_text(encoding="utf-8"))
        assert record["failure"] == ended.failure
        assert ended.directory.parent == where / places.FAILED
    assert kept(where) == ["failed", "launches"]
    experiment = open_experiment(where)
    assert len(experiment.launches) == 4
    assert len(experiment.failures) == MAX_FAILURES


def test_a_failed_launch_is_tried_again_after_the_others(tmp_path: Path, where: Path) -> None:
    once = f'[ $number = 1 ] && [ "$RANK" = 0 ] && [ ! -f {tmp_path}/once ] && touch {tmp_path}/once && exit 1'
    fake = FakeBench(tmp_path / "fake", once)
    outcome = execute(plan_with(fake.library(), launches=3), where)
    assert [key[-3:] for _, key, _ in fake.starts()] == ["001", "002", "003", "001"]
    assert [(key, reason[-1]) for key, reason in failures(outcome)] == [("fake-n2-default-001", "1")]
    assert outcome.lacking == {}
    assert [path.name for path in (where / places.FAILED).iterdir()] == ["fake-n2-default-001-1"]


def test_a_launch_that_always_fails_is_tried_three_times_in_a_run(tmp_path: Path, where: Path) -> None:
    fake = FakeBench(tmp_path / "fake", "[ $number = 2 ] && exit 1")
    outcome = execute(plan_with(fake.library(), launches=3), where)
    assert [key[-3:] for _, key, _ in fake.starts()] == ["001", "002", "003", "002", "002"]
    assert len(outcome.failures) == MAX_ATTEMPTS
    assert lacking(outcome) == {"fake": 1}
    again = execute(plan_with(fake.library(), launches=3), where)
    assert len(again.failures) == MAX_ATTEMPTS
    assert sorted(path.name[-5:] for path in (where / places.FAILED).iterdir()) == [f"002-{i}" for i in range(1, 7)]


def test_what_is_refused_before_anything_ran_leaves_nothing(tmp_path: Path, where: Path) -> None:
    fake = FakeBench(tmp_path / "fake", '[ "$1" = bcst ] && echo refused >&2 && exit 2')
    good = plan_with(fake.library(), launches=1)
    bad = dataclasses.replace(good, measurement=Measurement(("bcst",), {"sizes": "8"}))
    outcome = execute(dataclasses.replace(bad, launches=5), where)
    assert failures(outcome)[0][1].endswith("2: refused") and outcome.refused == "refused"
    assert len(fake.starts()) == 1  # it is not tried again
    assert not where.exists()
    where.mkdir()
    execute(bad, where)
    assert execute(good, where).lacking == {}
    # Existing launches stay.
    assert execute(dataclasses.replace(good, launches=2), where).refused == ""
    script(fake.bench, "#!/bin/sh\nexit 2\n")
    outcome = execute(dataclasses.replace(good, launches=3), where)
    assert (outcome.refused, lacking(outcome)) == ("", {"fake": 1})
    assert len(places.complete(where)) == 2


def test_one_library_that_refuses_does_not_take_the_others_with_it(tmp_path: Path, where: Path) -> None:
    bad, good = FakeBench(tmp_path / "bad", "exit 2"), FakeBench(tmp_path / "good", "exit 1")
    outcome = execute(plan_with(bad.library("bad"), good.library("good"), launches=1), where)
    assert outcome.refused == ""
    assert kept(where) == ["failed"]


def test_a_lock_that_was_removed_is_none(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flock = fcntl.flock
    removals = iter([True, False])

    def removed_before(file: IO[str], operation: int) -> None:
        if next(removals):
            (where / files.LOCK).unlink()
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", removed_before)
    with files.locked(where) as lock:
        assert os.fstat(lock).st_ino == (where / files.LOCK).stat().st_ino


@pytest.mark.parametrize("status", [3, 4])
def test_a_launch_with_cells_that_lack_something_is_complete(status: int, tmp_path: Path, where: Path) -> None:
    fake = FakeBench(tmp_path / "fake", f'[ "$RANK" = 0 ] && cp $template $output && exit {status}')
    assert execute(plan_with(fake.library(), launches=1), where).lacking == {}


def test_a_hang_ends_with_all_its_processes(tmp_path: Path, where: Path) -> None:
    # Ranks that heed no signal but the last, each with a child.
    fake = FakeBench(tmp_path / "fake")
    child = f'sleep 600 & echo "$! child - -" >>{fake.log}; while :; do sleep 0.1; done'
    fake = FakeBench(tmp_path / "fake", f"trap '' TERM INT HUP; if [ $number = 1 ]; then {child}; fi")
    # Two ranks and their children, and the launch that did not hang: a timeout within which all of them can start.
    for timeout in (1, 2, 4, 8, 16):
        fake.log.unlink(missing_ok=True)
        outcome = execute(plan_with(fake.library(), launches=2, timeout=timeout), where / str(timeout))
        assert [f"{timeout} s" in reason for reason in {reason for _, reason in failures(outcome)}] == [True]
        processes = fake.processes()
        assert not any(alive(pid) for pid in processes)
        if len(processes) == 2 * 2 * MAX_ATTEMPTS + 2 and outcome.lacking == {"fake, 2 ranks": 1}:
            return
    pytest.fail(f"within 16 s there were {len(processes)} processes, and {outcome.lacking} lack")


def test_an_interruption_while_a_launch_is_started_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeBench(tmp_path / "fake", "sleep 600")
    plan = plan_with(fake.library())
    start, started = subprocess.Popen, list[subprocess.Popen[bytes]]()

    def interrupted(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        started.append(start(command, **options))  # type: ignore[call-overload]
        signal.raise_signal(signal.SIGINT)
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_in_directory(launch_command(plan, plan.launch_order()[0]), tmp_path, {})
        assert started[0].returncode == 128 + signal.SIGTERM
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.signal(signal.SIGINT, before)
        for process in started:
            process.kill()
    assert not any(alive(pid) for pid in fake.processes())


def test_two_runs_are_kept_out_of_one_directory(tmp_path: Path, where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PATIENCE_SECONDS", 0.3)
    fake = FakeBench(tmp_path / "fake")
    plan = plan_with(fake.library(), launches=1)
    with files.locked(where), pytest.raises(DownbeatError, match="another run is using"):
        execute(plan, where)
    assert fake.starts() == []
    assert execute(plan, where).lacking == {}


def test_of_two_runs_that_begin_at_once_the_second_takes_the_seed_of_the_first(fake: FakeBench, where: Path) -> None:
    """Both found an empty directory, and drew a seed each."""
    first, second = (plan_with(fake.library(), launches=1, seed=seed) for seed in (1, 2))
    execute(first, where, any_seed=True)
    assert execute(second, where, any_seed=True).lacking == {}
    assert len(fake.starts()) == 1
    assert places.read_plan(where) == first
    with pytest.raises(UsageError, match="its seed is 1, not 2"):
        execute(second, where)


@pytest.mark.parametrize("name", ["lock", "machine.json", "launches", "launches/fake-n2-default-001/launch.json"])
def test_a_link_of_another_user_is_not_followed(
    name: str, fake: FakeBench, tmp_path: Path, where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_with(fake.library(), launches=1)
    execute(plan, where)
    outside = tmp_path / "outside"
    moved = where / name
    moved.rename(outside)
    moved.symlink_to(outside)
    before = sorted(path.stat().st_mtime_ns for path in [outside, *outside.rglob("*")])
    starts = fake.starts()
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: moved.lstat().st_uid + 1)
        with pytest.raises(UsageError, match=f"'{moved}' is a link that another user has made"):
            execute(dataclasses.replace(plan, launches=2), where)
    assert sorted(path.stat().st_mtime_ns for path in [outside, *outside.rglob("*")]) == before
    assert fake.starts() == starts
    # The user's own link is followed.
    assert execute(dataclasses.replace(plan, launches=2), where).lacking == {}


def test_medians_are_those_of_the_launches(fake: FakeBench, where: Path) -> None:
    logs = np.log([1e-6, 2e-6, 4e-6])
    for number, median in enumerate(np.exp(logs), 1):
        write_template(fake.directory / f"{number}.nc", [median, 3e-6])
    estimates = execute(plan_with(fake.library(), launches=3), where).estimates
    first, second = estimates.intervals().values()
    assert first.estimate == pytest.approx(2e-6)
    half = stats.t.ppf(0.975, 2) * np.log(2) / np.sqrt(3)
    assert (first.low, first.high) == pytest.approx((2e-6 * np.exp(-half), 2e-6 * np.exp(half)))
    assert (second.low, second.estimate, second.high) == pytest.approx((3e-6, 3e-6, 3e-6))
    assert estimates.varying() == ["size"]


def alternating(fake: FakeBench, deviation: float, most: int) -> None:
    """Lets launches be `deviation` above and below a median in turn, on logarithms."""
    for number in range(1, most + 1):
        write_template(fake.directory / f"{number}.nc", [MEDIAN * float(np.exp((-1) ** number * deviation)), MEDIAN])


def launches_until(width: float, deviation: float, first: int) -> int:
    """Returns how many launches of `alternating` narrow the interval to a width."""
    count = first
    while True:
        logs = np.array([(-1) ** number * deviation for number in range(1, count + 1)])
        if typical_interval(np.exp(logs)).width <= width:
            return count
        count += 1


def test_launches_follow_until_the_interval_is_narrow(fake: FakeBench, where: Path) -> None:
    alternating(fake, 0.02, 40)
    expected = launches_until(0.03, 0.02, 5)
    assert 8 < expected < 20
    plan = plan_with(fake.library(), launches=5, width=0.03, max_launches=40)
    plan = dataclasses.replace(plan, measurement=Measurement(("bcast",), {"repetitions": "3"}))
    outcome = execute(plan, where)
    assert len(fake.starts()) == expected
    assert outcome.too_wide == 0.0


def test_launches_end_at_the_most_that_are_wanted(fake: FakeBench, where: Path) -> None:
    alternating(fake, 0.02, 8)
    plan = plan_with(fake.library(), launches=5, width=0.001, max_launches=7)
    plan = dataclasses.replace(plan, measurement=Measurement(("bcast",), {"stop": "fixed(samples=3)"}))
    outcome = execute(plan, where)
    assert len(fake.starts()) == 7
    logs = np.array([-1, 1, -1, 1, -1, 1, -1]) * 0.02
    assert outcome.too_wide == pytest.approx(typical_interval(np.exp(logs)).width, rel=1e-6)


def in_states(fake: FakeBench, states: str) -> None:
    """Lets launches find states in this sequence, a letter for each."""
    for number, state in enumerate(states, 1):
        trips = {"f": (50e-9, 50e-9), "s": (300e-9, 300e-9), "m": (120e-9, 120e-9), "c": (50e-9, 300e-9)}[state]
        write_template(fake.directory / f"{number}.nc", [MEDIAN, MEDIAN], trips=trips)


@pytest.mark.parametrize(
    ("states", "rounds"),
    [
        ("ffffffffff", 5),
        ("ffsfffffff", 6),
        ("fsfsffffff", 7),
        ("ssssssffff", 5),  # whichever state it is
        ("sfsfsfsfsf", 9),
        ("fcfsffffff", 7),  # nor does one count in which the state changed
        ("fmsfmsfmsf", 10),  # never five of one: no more than twice as many
    ],
)
def test_launches_count_in_the_most_frequent_state(states: str, rounds: int, fake: FakeBench, where: Path) -> None:
    in_states(fake, states)
    plan = plan_with(fake.library(), launches=5, most_rounds=10)
    assert execute(plan, where).lacking == {}
    numbers = [int(key[-3:]) for _, key, _ in fake.starts()]
    assert numbers == list(range(1, rounds + 1))
    execute(plan, where)  # one that continues wants no more
    assert len(fake.starts()) == rounds


def test_what_is_compared_gets_pairs_in_one_state(tmp_path: Path, where: Path) -> None:
    first, second = FakeBench(tmp_path / "a"), FakeBench(tmp_path / "b")
    in_states(first, "ssffffffffff")
    in_states(second, "ffssffffffff")
    plan = plan_with(first.library("a"), second.library("b"), launches=6, most_rounds=12)
    execute(plan, where)
    # Eight rounds have six fast ones of each, but four pairs; pairs are launches 5 to 9.
    assert (len(first.starts()), len(second.starts())) == (9, 9)


def test_a_launch_that_lacks_is_not_made_up_for_by_another_number(tmp_path: Path, where: Path) -> None:
    fake = FakeBench(tmp_path / "fake", "[ $number = 2 ] && exit 1")
    in_states(fake, "ffffffffff")
    outcome = execute(plan_with(fake.library(), launches=5, most_rounds=10), where)
    assert lacking(outcome) == {"fake": 1}
    assert max(int(key[-3:]) for _, key, _ in fake.starts()) == 5


class Waiting(Watcher):
    """Counts rounds that are waited for, and interrupts one."""

    def __init__(self, interrupted: int = 0) -> None:
        self.interrupted, self.waited = interrupted, 0

    def on_wait(self, until: float, left: int) -> None:  # noqa: ARG002
        assert until > time.time()
        self.waited += 1
        if self.waited == self.interrupted:
            signal.raise_signal(signal.SIGINT)


def test_rounds_are_spread_and_launches_within_one_are_not(tmp_path: Path, where: Path) -> None:
    first, second = FakeBench(tmp_path / "a"), FakeBench(tmp_path / "b")
    interval, watcher = 2.5, Waiting()
    plan = plan_with(first.library("a"), second.library("b"), launches=2, interval=interval)
    before_first_round = time.time()  # a launch is recorded as started only after its round began
    execute(plan, where, watcher)
    launches = sorted(open_experiment(where).launches, key=lambda one: str(one.record["started"]))
    begun = [datetime.fromisoformat(str(one.record["started"])).timestamp() for one in launches]
    assert [one.number for one in launches] == [1, 1, 2, 2]
    assert begun[2] - before_first_round >= interval
    assert watcher.waited <= 1  # between rounds alone
    # It may change, and a long wait can be interrupted.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            execute(dataclasses.replace(plan, launches=4, interval=1e6), where, Waiting(interrupted=1))
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(first.starts()) + len(second.starts()) == 6


class Spreading(Watcher):
    """A clock that passes as the run sleeps and launches, and what was said; `killed`: after so many launches."""

    def __init__(self, seconds: Callable[[], float], killed: int = 10**9, failing: float = 0.0) -> None:
        self.now, self.seconds, self.killed, self.failing = 1e6, seconds, killed, failing
        self.begun: dict[int, float] = {}  # round -> when
        self.order: list[LaunchKey] = []
        self.crowds = 0
        self.random = np.random.default_rng(self.killed)

    def monotonic(self) -> float:
        return self.now

    time = monotonic

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def on_crowded(self, seconds: float, rounds: int) -> None:  # noqa: ARG002
        self.crowds += 1

    def launch(self, execution: Execution, key: LaunchKey) -> bool:
        """Stands in for a launch."""
        if len(self.order) == self.killed:
            raise KeyboardInterrupt
        self.begun.setdefault(key.number, self.now)
        self.order.append(key)
        self.now += self.seconds()
        good = self.random.random() >= self.failing
        if good:
            execution.done.add(str(key))
        return good

    def runs(self, plan: Plan, where: Path, done: Collection[str] = (), last: float = 0.0) -> set[str]:
        """Runs a plan of which some launches are complete, the last of them begun at `last`; returns what is then."""

        def launch(execution: Execution, key: LaunchKey) -> bool:
            return self.launch(execution, key)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("downbeat.run.execute.time", self)
            patch.setattr(places, "complete", lambda _directory: set(done))
            patch.setattr(places, "last_start", lambda _directory, _keys: last)
            patch.setattr(estimates.Estimates, "of", lambda _plan, _directory: estimates.Estimates())
            patch.setattr(Execution, "launch", launch)
            execution = Execution(plan, where, self, -1)
            with contextlib.suppress(KeyboardInterrupt):
                execution.run()
            return execution.done


@pytest.mark.parametrize("seed", range(40))
def test_launches_are_spread_evenly_over_a_time(seed: int, where: Path) -> None:
    """Any number of launches, variants, times; killed and resumed at any time; some launches fail."""
    random = np.random.default_rng(seed)
    variants = tuple(Variant(name) for name in "abc"[: random.integers(1, 4)])
    launches, over = int(random.integers(2, 30)), float(random.uniform(60, 1e5))
    spacing = over / (launches - 1)
    longest = spacing / (3 * len(variants))  # with two that fail, a round fits

    def seconds() -> float:
        return float(random.uniform(0, longest))

    plan = plan_with(Library("a", "bench"), launches=launches, over=over, variants=variants)
    whole = Spreading(seconds, failing=random.choice([0.0, 0.1]))
    whole.runs(plan, where)
    times = [whole.begun[number] for number in range(1, launches + 1)]
    assert np.diff(times) == pytest.approx(np.full(launches - 1, spacing))
    assert times[-1] - times[0] == pytest.approx(over)
    # What takes turns stays together, whatever fails.
    assert [key.number for key in whole.order] == sorted(key.number for key in whole.order)

    killed = Spreading(seconds, killed=int(random.integers(1, launches * len(variants))))
    done = killed.runs(plan, where)
    last = killed.begun[max(killed.begun)]
    again = Spreading(seconds)
    again.now = killed.now + float(random.choice([0.0, spacing / 3, 10 * over]))
    begun = again.now
    assert len(again.runs(plan, where, done, last)) == launches * len(variants)
    assert len(again.order) == launches * len(variants) - len(done)  # what is there is kept
    left = [again.begun[number] for number in sorted(again.begun)]
    half = any(str(dataclasses.replace(again.order[0], variant=one.name)) in done for one in variants)
    assert left[0] == pytest.approx(
        begun if half else max(begun, last + spacing)
    )  # what had begun is completed at once
    assert np.diff(left) == pytest.approx(np.full(len(left) - 1, spacing))
    assert left[-1] <= max(begun, last + spacing) + over + spacing
    assert whole.crowds == killed.crowds == again.crowds == 0


def test_launches_that_do_not_fit_into_the_time_follow_each_other(where: Path) -> None:
    slow = Spreading(lambda: 10.0)
    slow.runs(plan_with(Library("a", "bench"), launches=10, over=60.0), where)
    assert np.diff(list(slow.begun.values())) == pytest.approx(np.full(9, 10.0))
    assert slow.crowds == 1


def test_rounds_that_are_added_keep_a_distance(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that a state of the machine takes: expected early they share the time, late they come after it."""
    plan = plan_with(Library("a", "bench"), launches=10, most_rounds=20, over=900.0)
    for known_from in (3, 10):
        watcher = Spreading(lambda: 1.0)

        def wanted(execution: Execution, watcher: Spreading = watcher, known_from: int = known_from) -> int:
            return max(execution.rounds, 14 if len(watcher.order) >= known_from else 10)

        monkeypatch.setattr(Execution, "expected", wanted)
        monkeypatch.setattr(Execution, "needed", lambda _execution: 14)
        watcher.runs(plan, where)
        times = np.array(list(watcher.begun.values()))
        assert len(times) == 14
        assert np.diff(times).min() >= 900.0 / 20 - 1e-6
        assert times[-1] - times[0] <= (900.0 + 1e-6 if known_from == 3 else 1.5 * 900.0)


def test_a_library_that_reads_algorithms_at_start_gets_launches_for_each(tmp_path: Path, where: Path) -> None:
    fake = FakeBench(tmp_path / "fake")
    plan = plan_with(fake.library(fixed_at_start=("*",)), launches=2)
    options = {"sizes": "8", "algorithm": "reduce=1,2,bcast=5"}
    plan = dataclasses.replace(plan, measurement=Measurement(("reduce", "bcast"), options))
    assert execute(plan, where).lacking == {}
    started = {key: arguments.partition(" -o ")[0] for _, key, arguments in fake.starts()}
    chosen = {key: arguments.split() for key, arguments in started.items()}
    first, second = ["reduce", "bcast", "--sizes", "8", "--algorithm"], ["reduce", "--sizes", "8", "--algorithm"]
    for launch in ("001", "002"):
        assert chosen.pop(f"fake-n2-default-{launch}-portion1") == [*first, "reduce=1,bcast=5"]
        assert chosen.pop(f"fake-n2-default-{launch}-portion2") == [*second, "reduce=2"]
    assert not chosen
    assert sorted(open_experiment(where).cells["launch"]) == [1, 1, 2, 2]


def test_launches_do_not_overlap_where_the_process_that_would_end_the_ranks_is_killed(
    tmp_path: Path, where: Path
) -> None:
    # A rank in a session of its own, as some launchers start them, whose parent is gone.
    kill_once = f"""
    if [ "$RANK" = 0 ] && ! [ -e {tmp_path}/rank ]; then
        setsid sleep 60 >/dev/null 2>&1 & echo $! >{tmp_path}/rank
        kill -9 $(ps -o ppid= -p $PPID)
        sleep 60
    fi
    grep -qs "State:.[RSD]" /proc/$(cat {tmp_path}/rank)/status && echo overlap >>{tmp_path}/overlap
    """
    fake = FakeBench(tmp_path / "fake", kill_once)
    outcome = execute(plan_with(fake.library(), ranks=(1,)), where)
    assert (len(outcome.failures), outcome.lacking) == (1, {})
    assert not (tmp_path / "overlap").exists()
    assert not any(alive(pid) for pid in [*fake.processes(), int((tmp_path / "rank").read_text(encoding="utf-8"))])


def test_shared_memory_that_nobody_uses_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "SHARED_MEMORY", tmp_path)
    names = ("vader_segment.old", "vader_segment.left", "sm_segment.used", "another")
    begin = 0.0
    for name in names:
        (tmp_path / name).write_bytes(b"x")
        if name.endswith("old"):
            time.sleep(0.1)
            begin = time.time()
    with (tmp_path / "sm_segment.used").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        job.remove_segments(begin)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["another", "sm_segment.used", "vader_segment.old"]


def test_a_site_launcher_is_given_the_ranks(tmp_path: Path, where: Path) -> None:
    fake = FakeBench(tmp_path / "fake")
    srun = script(tmp_path / "srun", f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\nexec {fake.launcher} "$@"\n')
    library = Library("site", str(fake.bench), f"{srun} --mpi=pmix '--comment=two words' -n {{ranks}}")
    assert execute(plan_with(library, launches=1, ranks=(3,)), where).lacking == {}
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    before, _, after = asked.partition(str(fake.bench))
    assert before.split() == ["--mpi=pmix", "--comment=two", "words", "-n", "3"]
    assert after.split() == ["bcast", "--sizes", "8", "-o", "samples.nc"]
    assert len(fake.processes()) == 3


GUARDED = """
import os, signal, subprocess, sys, time
from pathlib import Path
from downbeat.run.job import MARK, Guard
guard = Guard(sys.argv[1])
launcher = subprocess.Popen(["true"])
guard.started(launcher.pid)
launcher.wait()
(Path(os.environ["TMPDIR"]) / f"ompi.{launcher.pid}").mkdir()
rank = subprocess.Popen(["sleep", "600"], env={**os.environ, MARK: sys.argv[1]}, start_new_session=True)
print(rank.pid, guard.process, flush=True)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
rank.kill()
rank.wait()
guard.ended()
"""


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_what_a_killed_process_leaves_is_removed_by_its_guard(how: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", GUARDED, str(tmp_path / "launch"), how]
    done = subprocess.run(
        command, env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == {"killed": -signal.SIGKILL, "ended": 0}[how]
    rank, guard = (int(word) for word in done.stdout.split())
    assert wait_for(lambda: not alive(rank) and not alive(guard))
    # After an orderly end the guard touches nothing.
    assert len(list(tmp_path.iterdir())) == {"killed": 0, "ended": 1}[how]
