"""Waits between ranks, from made-up stamps of algorithms with known messages, and their proofs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from downbeat.errors import UsageError
from downbeat.run.bench import built
from downbeat.run.bench_launch import BenchRun
from downbeat.run.plan import Library
from downbeat.run.progress import Plain
from downbeat.tune.choosing import choose
from downbeat.tune.intel import IntelRules
from downbeat.tune.late_arrivals import (
    LATE_SAMPLES,
    LateArrivals,
    NotLateError,
    Waits,
    late_ranks,
    read_waits,
    trace_limit,
    waiting,
)
from downbeat.tune.proving import Case, prove_by_late_arrivals
from downbeat.tune.rules_format import DEFAULT, Cell
from downbeat.tune.sweep import Effort, Usable, measure, sweep_plan
from downbeat.tune.target import Target, find_target, one_pattern, passed_by_user, valid_metric
from downbeat_command import downbeat
from launch_files import Cell as FileCell
from launch_files import write_launch

DELAY = 0.02  # s
MESSAGE = 2e-6  # s
Messages = list[tuple[int, int]]  # sender and receiver, in the order in which they are sent


def linear(ranks: int) -> Messages:
    return [(0, rank) for rank in range(1, ranks)]


def chain(ranks: int) -> Messages:
    return [(rank - 1, rank) for rank in range(1, ranks)]


def binomial(ranks: int) -> Messages:
    """The subtree of a rank is the numbers that share its leading bits."""
    steps = [1 << bit for bit in reversed(range(ranks.bit_length()))]
    return [(rank, rank + step) for step in steps for rank in range(0, ranks, 2 * step) if rank + step < ranks]


def scatter_ring(ranks: int) -> Messages:
    around = [(rank, (rank + 1) % ranks) for rank in range(ranks)]
    return linear(ranks) + around * (ranks - 1)


def reduced(messages: Messages) -> Messages:
    """A reduction along the tree of a broadcast."""
    return [(receiver, sender) for sender, receiver in reversed(messages)]


def stamps(messages: Messages, ranks: int, late: int, samples: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Returns entries and exits if sends are buffered, each sample begun at another time."""
    entries = np.repeat(np.arange(samples)[:, None] * 1.0, ranks, axis=1)
    entries[:, late] += DELAY
    exits = entries.copy()
    for sender, receiver in messages:
        exits[:, receiver] = np.maximum(exits[:, receiver], exits[:, sender] + MESSAGE)
    return entries, exits


def fingerprint(messages: Messages, ranks: int) -> list[str]:
    """Returns a word per late rank, 1 for each rank that waits for it."""
    rows = [waiting(*stamps(messages, ranks, late), late, DELAY) for late in range(ranks)]
    return ["".join("1" if one else "0" for one in row) for row in rows]


def test_fingerprints_are_those_of_the_dependency_graphs() -> None:
    assert fingerprint(linear(4), 4) == ["1111", "0100", "0010", "0001"]
    assert fingerprint(chain(4), 4) == ["1111", "0111", "0011", "0001"]
    assert fingerprint(binomial(4), 4) == ["1111", "0100", "0011", "0001"]
    assert fingerprint(scatter_ring(4), 4) == ["1111"] * 4
    assert fingerprint(binomial(8), 8)[4] == "00001111"
    assert fingerprint(reduced(linear(4)), 4) == ["1000", "1100", "1010", "1001"]
    assert fingerprint(reduced(binomial(4)), 4) == ["1000", "1100", "1010", "1011"]


def test_on_two_ranks_linear_chain_and_tree_are_alike_and_scatter_is_not() -> None:
    assert fingerprint(linear(2), 2) == fingerprint(chain(2), 2) == fingerprint(binomial(2), 2) == ["11", "01"]
    assert fingerprint(scatter_ring(2), 2) == ["11", "11"]


def test_one_early_exit_among_late_ones_is_enough() -> None:
    """A delay in some samples is not a dependency."""
    entries, exits = stamps(linear(4), 4, late=2)
    exits[:-1, 1] += 2 * DELAY
    assert waiting(entries, exits, 2, DELAY).tolist() == [False, False, True, False]
    exits[-1, 1] += 2 * DELAY
    assert waiting(entries, exits, 2, DELAY).tolist() == [False, True, True, False]


def test_the_error_of_the_clock_does_not_make_a_rank_independent() -> None:
    """Rank 1 gets its message 2 us after the late root entered, by a clock that is 10 us behind."""
    entries, exits = stamps(linear(4), 4, late=0)
    exits[:, 1] -= 10e-6
    assert waiting(entries, exits, 0, DELAY).all()


def test_a_file_is_read_by_algorithm_whatever_the_order_of_its_cells(tmp_path: Path) -> None:
    cells = []
    for late in (2, 0, 3, 1):
        for algorithm, messages in ((DEFAULT, linear(4)), ("binomial", binomial(4))):
            delay = np.zeros((3, 4))
            delay[:, late] = DELAY
            entries, exits = stamps(messages, 4, late)
            other: dict[str, object] = {"algorithm": algorithm, "pattern": f"late {late}", "largest_delay": DELAY}
            cells.append(FileCell(entries, exits, delay=delay, other=other))
    entries = np.zeros((3, 4))
    cells += [FileCell(entries, entries + time, other={"algorithm": DEFAULT}) for time in (2e-6, 5e-6)]
    waits, undelayed = read_waits(write_launch(tmp_path / "late.nc", cells))
    assert undelayed == pytest.approx(5e-6)
    assert waits[DEFAULT].astype(int).tolist() == [[1, 1, 1, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert waits["binomial"].astype(int).tolist() == [[1, 1, 1, 1], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]]


class Bench:
    """In place of downbeat-bench: a broadcast that takes a time of its own, plus the lateness of ranks."""

    def __init__(self, takes: float, status: int = 0) -> None:
        self.takes = takes
        self.status = status
        self.delays: list[float] = []  # of the runs, in s
        self.arguments: Sequence[str] = ()  # of the last one, as its time limit
        self.limit = 0.0

    def __call__(  # the arguments of run_bench
        self, _: Library, ranks: int, arguments: Sequence[str], __: Mapping[str, str], limit: float, directory: Path
    ) -> BenchRun:
        self.arguments, self.limit = arguments, limit
        delay = float(arguments[arguments.index("--delay") + 1].removesuffix("us")) * 1e-6
        self.delays.append(delay)
        entry = np.zeros((LATE_SAMPLES, ranks))
        cells = [FileCell(entry, entry + self.takes)]
        for late in range(ranks):
            late_entry = entry.copy()
            late_entry[:, late] = delay
            cells.append(FileCell(late_entry, late_entry, delay=late_entry, other={"largest_delay": delay}))
        if self.status == 0:
            write_launch(directory / arguments[arguments.index("-o") + 1], cells)
        return BenchRun(self.status, "", "downbeat-bench: it crashed\n")


def late_arrivals(monkeypatch: pytest.MonkeyPatch, bench: Bench) -> LateArrivals:
    monkeypatch.setattr("downbeat.tune.late_arrivals.run_bench", bench)
    return LateArrivals(Target(Library("made-up", "bench"), "1.0", {}, FormOfSwitches({})))


def test_a_delay_is_longer_than_the_operation_and_remembered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bench = Bench(takes=0.1)
    measured = late_arrivals(monkeypatch, bench)
    waits, reason = measured.waits(CELL, ["a", "b"], {}, tmp_path / "new")
    assert reason == ""
    assert (waits[DEFAULT] == np.eye(4, dtype=bool)).all()
    assert bench.delays == pytest.approx([0.02, 0.8])
    measured.waits(CELL, [], {}, tmp_path / "new")
    assert bench.delays[2:] == pytest.approx([0.8])
    # At four times the operation it is long enough, and no longer than it must be.
    quick = Bench(takes=0.005)
    late_arrivals(monkeypatch, quick).waits(CELL, [], {}, tmp_path)
    assert quick.delays == pytest.approx([0.02])


def test_each_rank_is_late_by_every_algorithm_and_there_is_time_for_that(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench = Bench(takes=0.0)
    measured = late_arrivals(monkeypatch, bench)
    measured.waits(CELL, [], {}, tmp_path)
    late = ",".join(f"one_late(rank={rank})" for rank in range(4))
    assert bench.arguments[:7] == ["bcast", "-m", "64", "--sync", "bruck", "--pattern", late]
    assert bench.arguments[9:13] == ["-r", str(LATE_SAMPLES), "--warmup", "0"]
    assert "--algorithm" not in bench.arguments
    measured.waits(CELL, ["a", "b"], {}, tmp_path)
    assert bench.arguments[13:15] == ["--algorithm", "bcast=default,a,b"]
    assert bench.limit > trace_limit(4) + 3 * 4 * LATE_SAMPLES * bench.delays[-1]


def test_an_operation_beside_which_no_delay_is_long_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bench = Bench(takes=1.5)
    with pytest.raises(NotLateError, match=r"it takes 1\.5 s without delay"):
        late_arrivals(monkeypatch, bench).waits(CELL, [], {}, tmp_path)
    assert bench.delays == pytest.approx([0.02, 5, 5])


def test_a_launch_without_late_arrivals_has_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bcast-n4-64-late.nc").write_text("of an earlier launch")
    assert late_arrivals(monkeypatch, Bench(0.0, status=1)).waits(CELL, [], {}, tmp_path) == ({}, "it crashed")
    assert not list(tmp_path.iterdir())


# --- Proof

CELL = Cell("bcast", 4, 64)
RULES = {"SELECTION": "rules"}
NOISE = np.zeros((4, 4), dtype=bool)
NOISE[1, 3] = True  # a rank that was held up throughout a launch


def matrix(messages: Messages) -> Waits:
    return np.array([[one == "1" for one in row] for row in fingerprint(messages, 4)])


class MadeUp(LateArrivals):
    """A library whose default broadcasts by `plain`, under the rules by `ruled`, and forced by `forced`."""

    def __init__(self, plain: Waits, ruled: Waits, forced: Waits, noisy: Mapping[str, int] | None = None) -> None:
        super().__init__(Target(Library("made-up", "bench"), "1.0", {}, FormOfSwitches({})))
        self._waits = {"default": plain, "rules": ruled, "forced": forced}
        self._noisy = dict(noisy or {})  # side -> number of its launches
        self.launches = 0

    def waits(
        self, cell: Cell, algorithms: Sequence[str], variables: Mapping[str, str], directory: Path
    ) -> tuple[dict[str, Waits], str]:
        del cell, directory
        self.launches += 1
        if variables == RULES:
            return {DEFAULT: self._launch("rules")}, ""
        return {DEFAULT: self._launch("default")} | {name: self._launch("forced") for name in algorithms}, ""

    def _launch(self, side: str) -> Waits:
        self._noisy[side] = self._noisy.get(side, 0) - 1
        return self._waits[side] | NOISE if self._noisy[side] >= 0 else self._waits[side]


class FormOfSwitches(IntelRules):
    """A library that switches algorithms within a launch."""

    def forcing_variables(self, collective: str, algorithm: str) -> dict[str, str]:  # noqa: ARG002
        return {}


def proof(library: MadeUp, algorithm: str = "a", named: Sequence[str] = ("a",)) -> tuple[str, str]:
    found = prove_by_late_arrivals(library, Case(CELL, algorithm, named, RULES, Path("nowhere")))
    return found.verdict, found.by


def test_of_thousands_of_ranks_some_are_late() -> None:
    assert late_ranks(4) == [0, 1, 2, 3]
    assert len(late_ranks(4096)) == 32
    assert late_ranks(4096)[::31] == [0, 4095]


LINEAR, TREE = matrix(linear(4)), matrix(binomial(4))
ALIKE = ("cannot tell", "late arrivals of a are those of the default")


def test_the_algorithm_of_the_rules_is_proven_where_it_waits_otherwise_than_the_default() -> None:
    assert proof(MadeUp(LINEAR, TREE, TREE)) == ("proven", "late arrivals")
    assert proof(MadeUp(LINEAR, LINEAR, LINEAR)) == ALIKE
    assert proof(MadeUp(LINEAR, LINEAR, TREE)) == ("failed", "late arrivals are not those of a")
    assert proof(MadeUp(LINEAR, LINEAR, TREE), DEFAULT) == ("proven", "late arrivals")
    assert proof(MadeUp(LINEAR, TREE, TREE), DEFAULT) == ("failed", "late arrivals are not those of default")


def test_the_default_is_not_proven_where_what_the_rules_name_elsewhere_waits_alike() -> None:
    alike = ("cannot tell", "late arrivals of the default are those of a")
    assert proof(MadeUp(LINEAR, LINEAR, LINEAR), DEFAULT) == alike
    alone = ("cannot tell", "late arrivals are those of the default, but nothing else was there to compare")
    assert proof(MadeUp(LINEAR, LINEAR, TREE), DEFAULT, ()) == alone
    assert proof(MadeUp(LINEAR, TREE, TREE), DEFAULT, ()) == ("failed", "late arrivals are not those of default")


@pytest.mark.parametrize("side", ["default", "rules", "forced"])
def test_a_disturbed_launch_neither_proves_nor_refutes(side: str) -> None:
    assert proof(MadeUp(LINEAR, LINEAR, LINEAR, {side: 1})) == ALIKE
    assert proof(MadeUp(LINEAR, TREE, TREE, {side: 1})) == ("proven", "late arrivals")


@pytest.mark.parametrize("side", ["rules", "forced"])
def test_what_differs_is_launched_again_before_it_is_a_failure(side: str) -> None:
    assert proof(MadeUp(LINEAR, TREE, TREE, {side: 2})) == ("proven", "late arrivals")


def test_an_operation_that_takes_too_long_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> None:
        raise NotLateError("it takes 9 s")

    monkeypatch.setattr(MadeUp, "waits", slow)
    assert proof(MadeUp(LINEAR, TREE, TREE)) == ("cannot tell", "it takes 9 s")


def test_rules_under_which_nothing_runs_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = iter([({DEFAULT: LINEAR, "a": TREE}, ""), ({}, "aborted")])
    monkeypatch.setattr(MadeUp, "waits", lambda *_: next(sides))
    said = "the launch under the rules left no late arrivals: aborted"
    assert proof(MadeUp(LINEAR, TREE, TREE)) == ("failed", said)


SOURCE = Path(__file__).with_name("planted_bcast.c")
PATTERN = "one_late(rank=0)"
EFFORT = Effort(12, 20, 120, 1, "after_last_entry", PATTERN, "300us", {"tolerance": "20e-6"})
MARGIN, CONFIDENCE = 0.05, 0.95


@pytest.fixture
def planted(tmp_path: Path) -> Library:
    """Open MPI with the planted broadcast."""
    library = tmp_path / "planted_bcast.so"
    flags = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["mpicc.openmpi", *flags, "-o", str(library), str(SOURCE)], check=True)
    bench = tmp_path / "downbeat-bench"
    bench.write_text(f'#!/bin/sh\nLD_PRELOAD={library} exec {built("openmpi")} "$@"\n', encoding="utf-8")
    bench.chmod(0o755)
    return Library("openmpi", str(bench))


@pytest.mark.thorough
def test_the_planted_winner_is_chosen_under_the_pattern_and_the_other_one_without(
    planted: Library, tmp_path: Path
) -> None:
    target = find_target(planted, tmp_path / "probe")
    usable = Usable("bcast", 2, ["basic_linear", "chain"])
    plan = sweep_plan(target, usable, "8", EFFORT, EFFORT.synchronizers("bcast"))
    medians = measure(plan, tmp_path / "sweep", EFFORT.metric, Plain(lambda _: None))
    (late,) = choose(medians.decisive, {}, MARGIN, CONFIDENCE)
    (together,) = choose(medians.alternative, {}, MARGIN, CONFIDENCE)
    assert (late.algorithm, together.algorithm) == ("basic_linear", "chain")


@pytest.mark.parametrize(
    ("pattern", "delay", "said"),
    [
        ("one_late,bell", "1us", "rules are for one arrival pattern with one delay"),
        ("one_late", "1us,2us", "rules are for one arrival pattern with one delay"),
        ("", "1us", "--delay needs an arrival pattern"),
        ("none", "", "rules need late ranks"),
    ],
)
def test_what_rules_cannot_be_for_is_refused(pattern: str, delay: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        one_pattern(pattern, delay)


def test_a_recorded_pattern_is_found_from_anywhere() -> None:
    assert one_pattern("trace(file=late.txt)", "") == (f"trace(file={Path('late.txt').absolute()})", "")
    assert one_pattern("trace(file=/late.txt)", "") == ("trace(file=/late.txt)", "")


def test_the_metric_follows_the_pattern() -> None:
    assert [valid_metric("", text) for text in ("", "one_late")] == ["latency_avg", "after_last_entry"]
    assert valid_metric("global_time", "one_late") == "global_time"


def test_options_behind_the_dashes_reach_every_measurement() -> None:
    effort = Effort(6, 20, 120, 1, "latency_avg", passed=passed_by_user(["--late", "2e-6", "--late-ranks=0.01"]))
    options = effort.options(("bcast",), "8")
    assert (options["late"], options["late-ranks"]) == ("2e-6", "0.01")
    with pytest.raises(UsageError, match="--pattern cannot be after --"):
        passed_by_user(["--pattern", "one_late"])


def test_options_behind_the_dashes_are_checked_before_the_first_launch(tmp_path: Path) -> None:
    for words in (("--nonsense", "3"), ("--late-ranks", "7")):
        done = downbeat("tune", "bcast", "-o", "rules", "--", *words, where=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert words[0] in done.stderr
        assert list(tmp_path.iterdir()) == []
