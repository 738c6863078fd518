"""Choices from results of other tools: what is decided, what is not, and the rules of decided cells."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from downbeat.data.readers.results import Results, ToolRun
from downbeat.errors import UsageError
from downbeat.output.facts.tuning import AloneInCells, DecidedCells, LaunchesForHalf, UnprovenRules
from downbeat.run.plan import Library
from downbeat.tune import from_results
from downbeat.tune.from_results import FromResults, choose_from, make_rules, origin_lines, with_origin
from downbeat.tune.open_mpi import OpenMpiRules
from downbeat.tune.rules_format import Rule
from downbeat.tune.target import Target
from downbeat_command import downbeat

ALGORITHMS = {"bcast": ["basic_linear", "chain", "binomial"], "allgather": ["linear", "ring"]}
TARGET = Target(Library("openmpi", "/bench", "mpirun"), "Open MPI v4.1.4", ALGORITHMS, OpenMpiRules(4, ALGORITHMS, {}))


def results_of(
    times: Mapping[tuple[str, int, str], float],
    launches: int,
    seed: int = 0,
    library: str = "OMPI 4.1.6",
    tool: str = "PICO",
) -> Results:
    """Results on 4 ranks: typical times by operation, size and algorithm; launches deviate by 10 %, numbers by 3 %."""
    draw = random.Random(seed)
    runs = [ToolRun(tool, "", f"{i}", 1, context={"library": library}) for i in range(launches)]
    rows = []
    for run in range(launches):
        shared = draw.gauss(0, 0.1)
        for (operation, size, algorithm), time in times.items():
            row = {"run": run, "operation": operation, "size": size, "ranks": 4, "algorithm": algorithm}
            value = time * math.exp(shared + draw.gauss(0, 0.03))
            rows.append({**row, "kind": "latency_max", "statistic": "median", "value": value, "calls": 100})
    return Results.of_rows(runs, rows, ())


def chosen(results: Results, margin: float = 0.05) -> FromResults:
    return choose_from(results, (), "", margin, 0.95)


CLEAR = {
    ("bcast", 8, "default_ompi"): 10e-6,
    ("bcast", 8, "binomial_ompi"): 7e-6,
    ("bcast", 8, "bine_over"): 5e-6,
    ("bcast", 64, "default_ompi"): 10e-6,
    ("bcast", 64, "chain_ompi"): 10e-6,
    ("bcast", 512, "default_ompi"): 10e-6,
    ("bcast", 512, "bine_over"): 8e-6,
    ("allgather", 32, "default_ompi"): 10e-6,
    ("allgather", 32, "ring_ompi"): 8e-6,
    ("gather", 8, "default_ompi"): 10e-6,
}


def test_clear_winners_are_decided_and_have_rules() -> None:
    made = chosen(results_of(CLEAR, 10, seed=1))
    table = made.choices
    by_cell = dict(zip(zip(table.collective, table.size.tolist(), strict=True), range(len(table)), strict=True))
    assert table.decided[[by_cell["bcast", 8], by_cell["bcast", 512], by_cell["allgather", 32]]].all()
    assert not table.decided[by_cell["bcast", 64]]
    first = by_cell["bcast", 8]
    assert (table.fastest[first], table.runner_up[first]) == ("bine_over", "binomial_ompi")
    assert (table.default_verdict[first], table.runner_up_verdict[first]) == ("faster", "faster")
    assert table.default_low[first] < 0.5 < table.default_high[first]
    assert table.runner_up_low[first] < 5 / 7 < table.runner_up_high[first]
    make_rules(made, TARGET)
    # The size of allgather is of one rank for the library; bcast of 512 bytes has no algorithm of the library.
    assert made.rules == [Rule("allgather", 4, 8, 8, "ring"), Rule("bcast", 4, 8, 8, "binomial")]
    facts = list(made.facts())
    assert DecidedCells(4, 3, 4, 5, 10) in facts
    assert AloneInCells(1) in facts
    assert UnprovenRules(2, "Open MPI 4.1.6", "Open MPI v4.1.4") in facts
    written = with_origin(TARGET.form.write(made.rules), origin_lines(made, [Path("x")]))
    assert "NOT PROVEN" in written.files["rules.conf"]


def test_tools_that_count_the_bytes_of_a_rank() -> None:
    made = chosen(results_of({key: time for key, time in CLEAR.items() if key[0] == "allgather"}, 10, tool="OSU"))
    make_rules(made, TARGET)
    assert made.rules == [Rule("allgather", 4, 32, 32, "ring")]


def test_few_launches_decide_nothing() -> None:
    for launches in (1, 2, 4):
        made = chosen(results_of(CLEAR, launches))
        assert not made.choices.decided.any()
        assert not any(made.faster.values())
        half = next(fact for fact in made.facts() if isinstance(fact, LaunchesForHalf))
        if launches == 1:
            assert (half.known, half.launches) == (0, None)
        else:
            assert half.known == 4
            assert half.launches is not None
            assert half.launches <= 12


def test_launches_for_half_decide_about_half() -> None:
    cells = {("bcast", 8 << i, name): time for i in range(12) for name, time in (("default", 10e-6), ("a", 9.2e-6))}
    half = next(fact for fact in chosen(results_of(cells, 3), 0.02).facts() if isinstance(fact, LaunchesForHalf))
    assert half.launches is not None
    table = chosen(results_of(cells, half.launches, seed=1), 0.02).choices
    assert table.decided.mean() >= 0.5


def test_equal_algorithms_are_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_results, "needed_launches", lambda several, *_: np.full(len(several), math.nan))
    names = ["default", "a", "b", "c"]
    cells = {("bcast", 8 << i, name): 10e-6 for i in range(5) for name in names}
    wrong = [chosen(results_of(cells, 10, seed), 0.0).choices.decided.any() for seed in range(60)]
    assert sum(wrong) <= 5  # of 60: more have a probability of 0.3 % where 2.5 % are wrong
    pairs = {("bcast", 8, name): 10e-6 for name in ("default", "a")}
    wrong = [chosen(results_of(pairs, 8, seed), 0.0).choices.decided.any() for seed in range(300)]
    assert sum(wrong) <= 15  # of 300: more have a probability of 0.5 % where 2.5 % are wrong


def test_without_a_default_the_second_algorithm_counts() -> None:
    cells = {("bcast", 8, "a"): 5e-6, ("bcast", 8, "b"): 8e-6, ("bcast", 16, "a"): 5e-6, ("bcast", 16, "b"): 5e-6}
    table = chosen(results_of(cells, 10)).choices
    assert table.decided.tolist() == [True, False]
    assert set(table.default) == {""}


def test_launches_by_algorithm_are_independent() -> None:
    shared = {"operation": "bcast", "size": 8, "kind": "latency_avg"}
    rows = [
        {**shared, "run": run, "algorithm": "ab"[run // 6], "value": 1e-6 * (1 + run // 6 + 0.01 * run)}
        for run in range(12)
    ]
    runs = [ToolRun("nccl-tests", "", f"{i}", 1) for i in range(12)]
    table = chosen(Results.of_rows(runs, rows, ())).choices
    assert (table.decided.tolist(), table.launches.tolist()) == ([True], [6])


def test_what_rules_cannot_be_for() -> None:
    one, other = (results_of(CLEAR, 6, library=library) for library in ("OMPI 4.1.6", "CRAY_MPICH 8.1"))
    with pytest.raises(UsageError, match="one library"):
        make_rules(chosen(Results.joined([one, other])), TARGET)
    made = chosen(other)
    make_rules(made, TARGET)
    assert any("Cray MPICH 8.1" in loss for loss in made.losses)
    with pytest.raises(UsageError, match="two algorithms"):
        chosen(results_of({("bcast", 8, "a"): 1e-6}, 6))
    with pytest.raises(UsageError, match="latency_max"):
        choose_from(one, (), "one_way", 0.05, 0.95)


def test_the_command(tmp_path: Path) -> None:
    for day in range(1, 4):  # launches with one number each
        directory = tmp_path / "results" / "fjord" / f"2026_01_0{day}___00_00_00" / "0"
        directory.mkdir(parents=True)
        for name, time in (("default_ompi", 1000), ("ring_ompi", 900)):
            (directory / f"8_{name}_int32.csv").write_text(f"highest\n{time + day}\n", encoding="utf-8")
    output = tmp_path / "rules"
    ended = downbeat("tune", "--from", "results", "-o", output, where=tmp_path)
    assert ended.returncode == 0, ended.stderr
    content = json.loads((output / "choices.json").read_text(encoding="utf-8"))
    assert content["choices"]
    assert {fact["fact"] for fact in content["facts"]} >= {DecidedCells.name(), LaunchesForHalf.name()}
    assert not (output / "rules.env").exists()
    for words in (["-r", "5"], ["--mpi", "mpich"], ["--", "--root", "1"]):
        wrong = downbeat("tune", "--from", "results", *words, where=tmp_path)
        assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
    for words in ([], ["bcast"]):
        assert downbeat("tune", *words, where=tmp_path).returncode == 2
