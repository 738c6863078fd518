"""Experiments that are interrupted at random moments and continued: nothing complete is lost, nothing is done twice.

`make test` tries 50, `make nightly` 10,000. Programs are as quick as can be: a process with the package loaded is
forked in place of a new `downbeat run`, launches are shell scripts, and no MPI library starts. Real ones are killed in
tests/faults, row `run-killed`.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from downbeat import files
from downbeat.run import directory as places
from downbeat.run.experiment import open_experiment
from downbeat_command import downbeat
from fake_programs import FakeBench, alive, script, wait_for

# In place of Python, which starts downbeat.run.launch: hands the ranks to the launcher of the test.
PYTHON = """#!/bin/sh
while [ "${1%/downbeat-bench}" = "$1" ]; do [ "$1" = -n ] && ranks=$2; shift; done
exec @LAUNCHER@ -n "$ranks" "$@"
"""
LAUNCHES = 3
RANKS = 2
KEYS = {f"fake-n{RANKS}-default-{number:03}" for number in range(1, LAUNCHES + 1)}
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
MOST_INTERRUPTIONS = 4
END_SECONDS = 60.0
CONTINUED = 130  # exit status of an interrupted run that can be continued


class Experiment:
    """An experiment that costs little, to be run again and again."""

    def __init__(self, directory: Path) -> None:
        self.fake = FakeBench(directory / "fake")
        self.python = script(directory / "python", PYTHON.replace("@LAUNCHER@", str(self.fake.launcher)))
        self.home = directory / "home"
        self.output = directory / "output"
        self.where = self.home / "bcast"
        self.begin()

    def begin(self) -> None:
        """Forgets all that there was."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        self.fake.log.unlink(missing_ok=True)

    def words(self) -> list[object]:
        """Returns the arguments of `downbeat`."""
        programs = ["--bench", self.fake.bench, "--launcher", f"{self.fake.launcher} -n {{ranks}}"]
        return ["run", "bcast", "-m", "8", "--mpi", "fake", *programs, "-n", RANKS, "--launches", LAUNCHES]

    def run_here(self) -> int:
        """Runs it to its end; returns its exit status. Processes forked later inherit its imports."""
        with mock.patch("sys.executable", str(self.python)):
            return downbeat(*self.words(), where=self.home).returncode

    def run(self) -> int:
        """Starts it in a process of its own; returns its number."""
        # An interruption that comes before the new process is on its own would continue the test there.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.setsid()
                signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell starts
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                status = self.run_into_file()
            except KeyboardInterrupt:  # before the command began, or after it ended
                status = CONTINUED
            except BaseException:
                self.output.write_text(traceback.format_exc(), encoding="utf-8")
            finally:
                os._exit(status)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return pid

    def run_into_file(self) -> int:
        """Runs it, with what it says in a file; returns its exit status."""
        self.output.write_text("", encoding="utf-8")
        with mock.patch("sys.executable", str(self.python)):
            done = downbeat(*self.words(), where=self.home)
        self.output.write_text(done.stdout + done.stderr, encoding="utf-8")
        return done.returncode

    def end(self, pid: int) -> int:
        """Waits for a run; returns its exit status, that of a signal negative."""
        ended = 0, 0

        def has_ended() -> bool:
            nonlocal ended
            ended = os.waitpid(pid, os.WNOHANG)
            return ended[0] == pid

        assert wait_for(has_ended, END_SECONDS)
        return os.waitstatus_to_exitcode(ended[1])

    def complete(self) -> dict[str, tuple[int, bytes, bytes]]:
        """Returns what is complete: by key, when its samples were written, its record and its samples."""
        found = {}
        for key in places.complete(self.where):
            files = [self.where / places.LAUNCHES / key / name for name in (places.RECORD, places.SAMPLES)]
            found[key] = (files[1].stat().st_mtime_ns, *(file.read_bytes() for file in files))
        return found  # type: ignore[return-value]

    def starts(self, key: str) -> int:
        """Returns how often a launch was started."""
        return [one for _, one, _ in self.fake.starts()].count(key)


def interrupt(experiment: Experiment, chance: random.Random, seconds: float) -> bool:
    """Starts a run and interrupts it within so many seconds; returns whether it came to its end all the same."""
    pid = experiment.run()
    time.sleep(chance.uniform(0.0, seconds))
    number = chance.choice(SIGNALS)
    with contextlib.suppress(ProcessLookupError):
        (os.killpg if chance.random() < 0.5 and os.getpgid(pid) == pid else os.kill)(pid, number)
    status = experiment.end(pid)
    said = experiment.output.read_text(encoding="utf-8") if experiment.output.exists() else ""
    assert "Traceback" not in said, said
    # A signal may come before there is anything to handle it.
    assert status in (0, CONTINUED, -number), (number, status, said)
    return status == 0


def check(experiment: Experiment, before: dict[str, tuple[int, bytes, bytes]], starts: dict[str, int]) -> None:
    """Checks an experiment that came to its end, against what was complete before, and how often that was started."""
    after = experiment.complete()
    assert after.keys() == KEYS
    assert {key: after[key] for key in before} == before
    assert {key: experiment.starts(key) for key in starts} == starts
    assert {path.name for path in (experiment.where / places.LAUNCHES).iterdir()} == KEYS
    there = {path.name for path in experiment.where.iterdir()}
    assert there == {places.PLAN, places.MACHINE, files.LOCK, places.LAUNCHES}
    assert [path.name for path in experiment.home.iterdir()] == ["bcast"]
    names = {path.name for path in (experiment.where / places.LAUNCHES).glob("*/*")}
    assert names == {places.RECORD, places.SAMPLES, "stdout.txt", "stderr.txt"}


@pytest.mark.thorough
@pytest.mark.parametrize("count", [50, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_interrupted_and_resumed(count: int, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)  # shown with what fails
    chance = random.Random(seed)
    experiment = Experiment(tmp_path)
    assert experiment.run_here() == 0
    experiment.begin()
    begin = time.monotonic()
    assert experiment.end(experiment.run()) == 0
    within = time.monotonic() - begin
    check(experiment, {}, dict.fromkeys(KEYS, 1))
    assert len(open_experiment(experiment.where).cells) == LAUNCHES

    interruptions = kept = 0
    begin = time.monotonic()
    for number in range(count):
        experiment.begin()
        before: dict[str, tuple[int, bytes, bytes]] = {}
        starts: dict[str, int] = {}
        for _ in range(chance.randint(1, MOST_INTERRUPTIONS)):
            interruptions += 1
            done = interrupt(experiment, chance, within)
            within *= 0.9 if done else 1.03  # however fast the machine is now
            now = experiment.complete()
            assert {key: now[key] for key in before} == before, f"experiment {number}"
            starts |= {key: experiment.starts(key) for key in now if key not in before}
            before = now
            if done:
                break
        kept += len(before)
        assert experiment.end(experiment.run()) == 0, experiment.output.read_text(encoding="utf-8")
        check(experiment, before, starts)
        assert wait_for(lambda: not any(alive(pid) for pid in experiment.fake.processes()))
    seconds = time.monotonic() - begin
    print(f"{count} experiments, {interruptions} interruptions, {kept} launches kept, {seconds:.1f} s")
    record_property("seconds", seconds)
    # The moments were such that something was there to be kept, and something to be done.
    assert 0.05 * count * LAUNCHES < kept < 0.95 * count * LAUNCHES
