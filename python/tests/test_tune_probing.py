"""Which algorithms can be measured: what is kept of it, and how long one may take, with runs that are made up."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from downbeat.errors import DownbeatError, UsageError
from downbeat.run.bench_launch import BenchRun, run_bench
from downbeat.run.execute import Outcome, Watcher
from downbeat.run.launch import EXIT_TIMEOUT
from downbeat.run.plan import Library
from downbeat.tune import sweep
from downbeat.tune.open_mpi import OpenMpiRules
from downbeat.tune.sweep import Probe, Usable
from downbeat.tune.target import Target
from fake_programs import script

ALGORITHMS = {"bcast": ["a", "b"]}
TARGET = Target(Library("openmpi", "bench"), "Open MPI v4.1.4", ALGORITHMS, OpenMpiRules(4, ALGORITHMS, {}))
OPTIONS = {"sizes": "8"}


class Machine:
    """Runs nothing; its clock goes by what runs are said to take."""

    def __init__(self, seconds: float = 1.0) -> None:
        self.now = 0.0
        self.seconds = seconds
        self.hangs: set[str] = set()
        self.fails: list[int] = []  # positions of runs
        self.runs: list[tuple[str, float]] = []  # algorithms, timeout

    def run(
        self,
        library: Library,
        ranks: int,
        arguments: Sequence[str],
        variables: Mapping[str, str],
        timeout: float,
        *_: Path,
    ) -> BenchRun:
        del library, ranks, variables
        algorithms = arguments[arguments.index("--algorithm") + 1].removeprefix("bcast=")
        self.runs.append((algorithms, timeout))
        if len(self.runs) - 1 in self.fails:
            return BenchRun(1, "", "no such program")
        hangs = bool(self.hangs & set(algorithms.split(",")))
        self.now += timeout if hangs else self.seconds
        return BenchRun(EXIT_TIMEOUT if hangs else 0, "", "")

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    one = Machine()
    monkeypatch.setattr(sweep, "run_bench", one.run)
    monkeypatch.setattr("downbeat.tune.sweep.time.monotonic", one.monotonic)
    return one


def usable(directory: Path, target: Target = TARGET, **options: str) -> Usable:
    return Probe(target, "bcast", 2, OPTIONS | options, directory, 600).usable()


def test_a_tuning_that_is_continued_has_the_algorithms_it_began_with(machine: Machine, tmp_path: Path) -> None:
    machine.hangs = {"b"}
    begun = usable(tmp_path)
    assert begun == Usable("bcast", 2, ["a"], {"b": "did not end in time"})
    machine.hangs = set()
    machine.runs.clear()
    assert usable(tmp_path) == begun
    assert machine.runs == []


def test_other_options_are_tried_anew(machine: Machine, tmp_path: Path) -> None:
    usable(tmp_path)
    machine.hangs = {"a"}
    assert usable(tmp_path, sizes="8,16").algorithms == ["b"]


def test_a_tuning_is_not_continued_under_another_version(machine: Machine, tmp_path: Path) -> None:
    usable(tmp_path)
    with pytest.raises(UsageError, match=r"is of Open MPI v4\.1\.4, not Open MPI v4\.1\.5; give another dir"):
        usable(tmp_path, dataclasses.replace(TARGET, version="Open MPI v4.1.5"))
    assert len(machine.runs) == 2


def test_a_file_that_is_none_of_ours_is_named(machine: Machine, tmp_path: Path) -> None:
    for text in ("", "[]", '{"schema_version": 0}'):
        (tmp_path / "bcast-n2.json").write_text(text)
        with pytest.raises(UsageError, match=r"bcast-n2\.json' was not written by"):
            usable(tmp_path)
    assert machine.runs == []


@pytest.mark.parametrize(("seconds", "limit"), [(0.5, 60), (10, 200), (100, 600)])
def test_what_is_slow_to_start_does_not_count_as_hanging(
    machine: Machine, tmp_path: Path, seconds: float, limit: float
) -> None:
    """As srun is on many nodes: the limit follows the default, up to --timeout, which the default itself has."""
    machine.seconds = seconds
    machine.hangs = {"b"}
    usable(tmp_path)
    alone = [("a", limit), ("b", limit), ("b", limit)]
    assert machine.runs == [("default", 600), ("a,b", limit), *alone, ("default", 600)]


def test_what_fails_once_is_not_left_out(machine: Machine, tmp_path: Path) -> None:
    machine.fails = [1, 2]  # all together, and the first alone
    assert usable(tmp_path) == Usable("bcast", 2, ["a", "b"], {})


def test_a_machine_on_which_nothing_runs_any_more_is_no_fault_of_the_algorithms(
    machine: Machine, tmp_path: Path
) -> None:
    machine.fails = list(range(1, 20))
    with pytest.raises(DownbeatError, match="could be measured at first, but no longer: no such program"):
        usable(tmp_path)
    machine.fails = []
    assert usable(tmp_path).algorithms == ["a", "b"]


def test_what_downbeat_bench_refuses_is_said_in_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "no algorithm 'x'; known: basic, binary"
    monkeypatch.setattr(sweep, "execute", lambda *_: Outcome(refused=reason))
    plan: Any = SimpleNamespace(name="the sweep")
    with pytest.raises(DownbeatError, match=f"the sweep could not be measured at all: {reason}"):
        sweep.cells_of_plan(plan, tmp_path, Watcher())


def test_a_run_says_what_it_printed_and_where_it_ran(tmp_path: Path) -> None:
    launcher = script(tmp_path / "launcher", '#!/bin/sh\npwd\necho "$A of $*" >&2\nexit 7\n')
    done = run_bench(Library("fake", "/bin/true", f"{launcher} {{ranks}}"), 2, ["list"], {"A": "b"}, 100.0, tmp_path)
    assert (done.status, done.output, done.errors) == (7, f"{tmp_path}\n", "b of 2 /bin/true list\n")
