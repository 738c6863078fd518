"""Which algorithms can be measured, how long one may take, and when more launches settle nothing; runs are made up."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from downbeat.errors import DownbeatError, UsageError
from downbeat.output.facts.tuning import CellWarning, RuleRemoved, UnconfirmedRules
from downbeat.run.bench_launch import BenchRun, run_bench
from downbeat.run.execute import Outcome, Watcher
from downbeat.run.launch import EXIT_TIMEOUT
from downbeat.run.plan import Library
from downbeat.tune import sweep
from downbeat.tune import tuning as settling
from downbeat.tune.findings import warnings_of
from downbeat.tune.open_mpi import RULES_FILE, OpenMpiRules
from downbeat.tune.proving import Proof
from downbeat.tune.record import record_of
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, Written
from downbeat.tune.sweep import LaunchMedians, Probe, Usable
from downbeat.tune.target import Target
from downbeat.tune.tuning import ENVIRONMENT_FILE, Question, Tuning, check_directory, settle_rules, write_files
from fake_programs import script
from test_tune_choosing import CONFIDENCE, EFFORT, MARGIN, TARGET, launches

ALGORITHMS = {"bcast": ["a", "b"]}
PROBED = Target(Library("openmpi", "bench"), "Open MPI v4.1.4", ALGORITHMS, OpenMpiRules(4, ALGORITHMS, {}))
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


def usable(directory: Path, target: Target = PROBED, **options: str) -> Usable:
    return Probe(target, "bcast", 2, OPTIONS | options, directory, 600).usable()


def test_a_tuning_that_is_continued_has_the_algorithms_it_began_with(machine: Machine, tmp_path: Path) -> None:
    machine.hangs = {"b"}
    begun = usable(tmp_path)
    assert (begun.algorithms, list(begun.excluded)) == (["a"], ["b"])
    assert "time" in begun.excluded["b"]
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
        usable(tmp_path, dataclasses.replace(PROBED, version="Open MPI v4.1.5"))
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
        sweep.measure(plan, tmp_path, "latency_avg", Watcher())


def test_a_run_says_what_it_printed_and_where_it_ran(tmp_path: Path) -> None:
    launcher = script(tmp_path / "launcher", '#!/bin/sh\npwd\necho "$A of $*" >&2\nexit 7\n')
    done = run_bench(Library("fake", "/bin/true", f"{launcher} {{ranks}}"), 2, ["list"], {"A": "b"}, 100.0, tmp_path)
    assert (done.status, done.output, done.errors.split()) == (
        7,
        f"{tmp_path}\n",
        ["b", "of", "2", "/bin/true", "list"],
    )


def settings_in(path: Path) -> list[str]:
    """Returns the lines of a file of variables that are no comments."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


QUESTION = Question(TARGET.library, ("bcast",), "8,64", (4,), EFFORT, MARGIN, CONFIDENCE)
SMALL, LARGE = Cell("bcast", 4, 8), Cell("bcast", 4, 64)
# The sweep, with right results: at 64 bytes the default stays.
SWEPT = LaunchMedians.joined([launches({DEFAULT: 10, "a": 5, "b": 8}), launches({DEFAULT: 10, "a": 11, "b": 12}, 64)])

# Whether results are wrong, by the text of the rules (empty without) and the size.
Wrong = Callable[[str, int], bool]


Settle = Callable[..., Tuning]


@pytest.fixture
def settle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settle:
    """Settles the rules of a library whose cells are twice as fast under any rules, or as said, and some wrong."""

    def settle(wrong: Wrong, swept: LaunchMedians = SWEPT, ruled: float = 5.0, count: int = 10) -> Tuning:
        def measure(*_: object) -> LaunchMedians:
            rules = {DEFAULT: "", "rules": (tmp_path / RULES_FILE).read_text()}
            times = {DEFAULT: 10, "rules": ruled}
            medians = LaunchMedians.joined([launches(times, size, count=count) for size in (8, 64)])
            bad = [wrong(rules[name], size) for name, size in zip(medians.algorithm, medians.size, strict=True)]
            medians.status[bad] = "wrong"
            medians.value[bad] = np.nan
            return medians

        def prove(_: object, choices: Mapping[Cell, str], *__: object) -> dict[Cell, Proof]:
            return {cell: Proof("proven", "messages") for cell in choices}

        monkeypatch.setattr(settling, "measure", measure)
        monkeypatch.setattr(settling, "prove", prove)
        tuning = Tuning(QUESTION, TARGET)
        settle_rules(tuning, swept, tmp_path, lambda _: None)
        return tuning

    return settle


def test_rules_with_right_results_stay(settle: Settle, tmp_path: Path) -> None:
    tuning = settle(lambda *_: False)
    assert [rule.algorithm for rule in tuning.rules] == ["a"]
    assert not tuning.objections()
    assert list(warnings_of(tuning)) == []


@pytest.mark.parametrize("ruled", [10.0, 10.5])
def test_a_rule_that_gains_nothing_when_it_is_measured_anew_is_withdrawn(
    settle: Settle, tmp_path: Path, ruled: float
) -> None:
    """What the sweep took for twice as fast was luck; that it is slower under the rule concerns nobody any more."""
    tuning = settle(lambda *_: False, ruled=ruled)
    assert tuning.rules == [] and tuning.withdrawn == [Rule("bcast", 4, 8, 8, "a")]
    assert not (tmp_path / RULES_FILE).exists()
    assert not tuning.proofs
    assert tuning.slower() == ([LARGE] if ruled > 10 else [])  # a cell that never had a rule
    (doubt,) = (fact for fact in warnings_of(tuning) if isinstance(fact, UnconfirmedRules))
    assert (doubt.rules, len(doubt.unconfirmed), doubt.withdrawn) == (1, 1, 1) and "(8)" in doubt.unconfirmed[0]
    rules = record_of(tuning, tmp_path).rules
    assert (list(rules.algorithm), list(rules.withdrawn)) == (["a"], [True])
    assert rules.verdict[0] not in ("", "faster")


def test_a_rule_whose_gain_too_few_launches_show_stays(settle: Settle, tmp_path: Path) -> None:
    tuning = settle(lambda *_: False, ruled=10.0, count=4)
    assert [rule.algorithm for rule in tuning.rules] == ["a"] and not tuning.withdrawn
    assert (tmp_path / RULES_FILE).exists()
    (doubt,) = (fact for fact in warnings_of(tuning) if isinstance(fact, UnconfirmedRules))
    assert (doubt.rules, len(doubt.unconfirmed), doubt.withdrawn) == (1, 1, 0) and "(8)" in doubt.unconfirmed[0]


def test_an_algorithm_with_wrong_results_under_the_rules_is_replaced_by_the_next(
    settle: Settle, tmp_path: Path
) -> None:
    """The sweep, in which it is forced, has seen nothing; under the rules it is "faster", and wrong."""
    tuning = settle(lambda rules, size: "# a" in rules and size == 8)
    removed = RuleRemoved("bcast", 4, "8", "a", "wrong results at 8 bytes")
    assert tuning.removed == [removed]
    assert tuning.rules == [Rule("bcast", 4, 8, 8, "b")]
    text = (tmp_path / RULES_FILE).read_text()
    assert "# b" in text and "# a" not in text
    # Proofs and gains are those of the remaining rules.
    assert {cell: tuning.in_rules(cell) for cell in tuning.proofs} == {SMALL: "b", LARGE: DEFAULT}
    assert [(rule.algorithm, gain.verdict) for rule, gain in tuning.rule_gains.items()] == [("b", "faster")]
    assert tuning.objections()
    assert list(warnings_of(tuning)) == [removed]
    candidates = record_of(tuning, tmp_path).candidates
    assert list(candidates.rejected[candidates.size == 8]) == [removed.reason, ""]


def test_where_every_algorithm_is_wrong_nothing_is_left_to_switch_on(settle: Settle, tmp_path: Path) -> None:
    tuning = settle(lambda rules, size: bool(rules) and size == 8)
    assert [removed.algorithm for removed in tuning.removed] == ["a", "b"]
    assert tuning.rules == [] and tuning.objections()
    assert not tuning.gains and not tuning.rule_gains and not tuning.proofs
    assert not (tmp_path / RULES_FILE).exists()
    assert not settings_in(tmp_path / ENVIRONMENT_FILE)


def test_wrong_results_in_a_cell_without_rule_speak_against_all_rules(settle: Settle, tmp_path: Path) -> None:
    tuning = settle(lambda rules, size: bool(rules) and size == 64)
    assert [removed.algorithm for removed in tuning.removed] == ["a"] and "without" in tuning.removed[0].reason
    assert tuning.rules == [] and tuning.objections()
    assert not (tmp_path / RULES_FILE).exists()


def test_wrong_results_of_the_default_are_no_fault_of_the_rules(settle: Settle, tmp_path: Path) -> None:
    tuning = settle(lambda _, size: size == 64)
    assert [rule.algorithm for rule in tuning.rules] == ["a"]
    assert tuning.removed == []
    assert tuning.wrong_defaults == [LARGE] and tuning.objections()
    assert CellWarning("bcast", 4, 64, "wrong default", ruled=False) in warnings_of(tuning)


def test_wrong_results_of_the_default_in_the_sweep_are_told(settle: Settle, tmp_path: Path) -> None:
    once = (SWEPT.algorithm == DEFAULT) & (SWEPT.size == 64) & (SWEPT.launch == 3)
    swept = SWEPT.replaced(status=np.where(once, "wrong", "ok"))
    tuning = settle(lambda *_: False, swept)
    assert tuning.wrong_defaults == [LARGE] and tuning.objections()


# --- Files

RULES = TARGET.form.write([Rule("bcast", 2, 8, 63, "a")])
NOTHING = Written({}, {}, ())


def test_the_command_in_rules_env_switches_the_rules_on_in_any_shell_from_anywhere(tmp_path: Path) -> None:
    """A POSIX shell looks a file without a slash up on the path, not in the directory that it is in."""
    directory = tmp_path / "tüned, it's here"
    variables = write_files(TARGET, RULES, directory, ["Chosen on node 1."])
    lines = (directory / "rules.env").read_text(encoding="utf-8").splitlines()
    assert lines[1].startswith("# Chosen")
    (command,) = [line.partition(": ")[2] for line in lines if line.startswith("# To switch them on: ")]
    for place in (directory, tmp_path):
        said = subprocess.run(["sh", "-c", f"{command}; env"], cwd=place, capture_output=True, text=True, check=True)
        assert {f"{name}={value}" for name, value in variables.items()} <= set(said.stdout.splitlines())
    file = Path(variables["OMPI_MCA_coll_tuned_dynamic_rules_filename"])
    assert file == directory / "rules.conf" and file.is_file()


def test_files_of_earlier_rules_and_their_proof_do_not_outlive_them(tmp_path: Path) -> None:
    write_files(TARGET, RULES, tmp_path)
    (tmp_path / "rules.json").write_text("{}")
    write_files(TARGET, NOTHING, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["rules.env"]
    assert not settings_in(tmp_path / "rules.env")


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    check_directory(tmp_path / "new")
    check_directory(tmp_path)
    (tmp_path / "rules.conf").write_text("written by hand")
    with pytest.raises(UsageError, match="is not the directory of a tuning; give another one"):
        check_directory(tmp_path)
    (tmp_path / "probe").mkdir()
    check_directory(tmp_path)
