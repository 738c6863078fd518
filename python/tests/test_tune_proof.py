"""Proof that rules are obeyed: verdicts on made-up traces, and known rules under the real libraries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from downbeat.run.bench import built
from downbeat.run.bench_launch import run_bench
from downbeat.run.plan import Library
from downbeat.tune.late_arrivals import CallTraces
from downbeat.tune.mpich import ALGORITHMS_FILE
from downbeat.tune.open_mpi import OpenMpiRules
from downbeat.tune.proving import UNCOUNTABLE, Proof, judge_proof, named_for, prove
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, algorithm_for
from downbeat.tune.sweep import Probe, Usable
from downbeat.tune.target import Target, find_target
from downbeat.tune.tuning import write_files

DEFAULT_TRACE = CallTraces((1, 2), (3, 0))
OTHER_TRACE = CallTraces((2, 1), (3, 0))


BOTH = "messages and operator calls"


@pytest.mark.parametrize(
    ("algorithm", "forced", "under_rules", "verdict", "by"),
    [
        ("a", OTHER_TRACE, OTHER_TRACE, "proven", "messages"),
        ("a", OTHER_TRACE, DEFAULT_TRACE, "failed", "messages are not those of a"),
        ("a", OTHER_TRACE, CallTraces((2, 1), (1, 2)), "failed", "operator calls are not those of a"),
        ("a", DEFAULT_TRACE, DEFAULT_TRACE, "cannot tell", f"{BOTH} of a are those of the default"),
        ("a", CallTraces(None, (1, 2)), CallTraces((9, 9), (1, 2)), "proven", "operator calls"),
        ("a", CallTraces(None, None), CallTraces((9, 9), (1, 2)), "cannot tell", UNCOUNTABLE),
        ("a", None, DEFAULT_TRACE, "cannot tell", "a left no trace when it was forced"),
        (DEFAULT, OTHER_TRACE, DEFAULT_TRACE, "proven", "messages"),
        (DEFAULT, OTHER_TRACE, OTHER_TRACE, "failed", "messages are not those of default"),
        (DEFAULT, DEFAULT_TRACE, DEFAULT_TRACE, "cannot tell", f"{BOTH} of the default are those of a"),
        (DEFAULT, None, DEFAULT_TRACE, "cannot tell", f"{BOTH} are those of the default, but nothing else was there to "
         "compare"),
        (DEFAULT, None, OTHER_TRACE, "failed", "messages are not those of default"),
    ],
)  # fmt: skip
def test_verdict_on_traces(
    algorithm: str, forced: CallTraces | None, under_rules: CallTraces, verdict: str, by: str
) -> None:
    proof = judge_proof(algorithm, DEFAULT_TRACE, {"a": forced} if forced else {}, under_rules)
    assert (proof.verdict, proof.by) == (verdict, by)


def test_a_cell_without_rule_is_proven_against_all_that_the_rules_name_elsewhere() -> None:
    """If no rule names an algorithm, it is enough that one would have been noticed."""
    forced = {"a": OTHER_TRACE, "b": DEFAULT_TRACE}
    alike = "messages and operator calls of the default are those of b"
    assert judge_proof(DEFAULT, DEFAULT_TRACE, forced, DEFAULT_TRACE) == Proof("cannot tell", alike)
    assert judge_proof(DEFAULT, DEFAULT_TRACE, forced, DEFAULT_TRACE, one_is_enough=True) == Proof("proven", "messages")
    none = {"b": DEFAULT_TRACE}
    assert judge_proof(DEFAULT, DEFAULT_TRACE, none, DEFAULT_TRACE, one_is_enough=True) == Proof("cannot tell", alike)


def test_late_arrivals_are_asked_where_counts_cannot_tell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    by_counts = {
        Cell("bcast", 4, 8): Proof("proven", "messages"),
        Cell("bcast", 4, 16): Proof("cannot tell", "alike"),
        Cell("bcast", 4, 32): Proof("cannot tell", "alike"),
        Cell("allreduce", 4, 8): Proof("cannot tell", "alike"),
        Cell("reduce", 4, 8): Proof("cannot tell", UNCOUNTABLE),
        Cell("reduce", 4, 16): Proof("proven", "never counted: the first size has shown that nothing can be"),
    }
    by_lateness = {8: Proof("failed", "late"), 16: Proof("proven", "late"), 32: Proof("cannot tell", "late, too")}
    monkeypatch.setattr("downbeat.tune.proving.prove_by_counts", lambda _, case: by_counts[case.cell])
    monkeypatch.setattr("downbeat.tune.proving.prove_by_late_arrivals", lambda _, case: by_lateness[case.cell.size])
    target = Target(Library("made up", "none"), "1", {}, OpenMpiRules(5, {}))
    usable = [Usable(collective, 4, ["a"]) for collective in ("bcast", "allreduce", "reduce")]
    assert prove(target, dict.fromkeys(by_counts, "a"), usable, {}, tmp_path) == {
        Cell("bcast", 4, 8): Proof("proven", "messages"),
        Cell("bcast", 4, 16): Proof("proven", "late"),
        Cell("bcast", 4, 32): Proof("cannot tell", "alike; late, too"),
        Cell("allreduce", 4, 8): Proof("cannot tell", "alike; every rank waits for every other by any algorithm"),
        Cell("reduce", 4, 8): Proof("failed", "late"),
        Cell("reduce", 4, 16): Proof("proven", "late"),
    }


def test_a_cell_is_held_against_the_algorithms_of_the_rules_that_run_on_its_ranks() -> None:
    sizes = {Cell("bcast", 4, 8): DEFAULT, Cell("bcast", 4, 64): "a", Cell("bcast", 2, 64): "two_proc"}
    choices = sizes | {Cell("reduce", 4, 8): "c"}
    running = ["a", "b", "c"]
    assert [named_for(cell, choices, running) for cell in sizes] == [["a"], ["a"], ["two_proc"]]


def test_verdict_on_several_kinds_of_evidence_names_those_that_tell() -> None:
    default, forced = CallTraces((1, 2), None, (1, 0)), CallTraces((1, 2), None, (1, 1))
    assert judge_proof("a", default, {"a": forced}, forced) == Proof("proven", "late arrivals")
    assert judge_proof("a", default, {"a": forced}, default) == Proof("failed", "late arrivals are not those of a")
    alike = Proof("cannot tell", "messages and late arrivals of a are those of the default")
    assert judge_proof("a", default, {"a": default}, default) == alike


def target_of(mpi: str, directory: Path) -> Target:
    bench = built(mpi)
    if bench is None:
        pytest.skip(f"downbeat-bench is not built for {mpi}")
    return find_target(Library(mpi, bench), directory)


def proofs_of(target: Target, rules: list[Rule], cells: list[Cell], directory: Path) -> dict[Cell, Proof]:
    """Proves hand-made rules."""
    variables = write_files(target, target.form.write(rules), directory)
    choices = {cell: algorithm_for(rules, cell) for cell in cells}
    named = sorted({rule.algorithm for rule in rules})
    usable = [Usable(cell.collective, cell.ranks, named) for cell in cells]
    return prove(target, choices, usable, variables, directory / "proof")


# Ranks and sizes of a rule, and neighbors, which it must not change.
SIZES = [(4, 56), (4, 64), (4, 128)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mpi", "rule", "cells", "verdict", "by"),
    [
        ("openmpi", Rule("bcast", 4, 64, 127, "pipeline"), SIZES, "proven", "messages"),
        ("openmpi", Rule("allgather", 4, 64, 127, "linear"), SIZES, "proven", "messages"),
        ("openmpi", Rule("reduce_scatter_block", 4, 64, 127, "basic_linear"), SIZES, "proven", "messages"),
        ("openmpi", Rule("allgatherv", 4, 64, 127, "bruck"), SIZES, "proven", ""),  # a launch can have one algorithm
        ("openmpi5", Rule("bcast", 4, 64, 127, "pipeline"), SIZES, "proven", "messages"),
        ("openmpi", Rule("bcast", 4, 64, 64, "pipeline"), [(3, 64), (4, 64), (5, 64)], "proven", ""),
        ("openmpi", Rule("barrier", 4, 0, None, "double_ring"), [(4, 0)], "proven", ""),
        ("openmpi", Rule("scan", 4, 0, None, "recursive_doubling"), [(4, 8), (4, 4096)], "proven", ""),
        # On 2 ranks a broadcast is one message, by a chain as by default.
        ("openmpi", Rule("bcast", 2, 64, 127, "chain"), [(2, 56), (2, 64)], "cannot tell", "of the default"),
        # On 4 ranks its device reduces at the root, which calls the operator three times; a binomial tree does not.
        ("mpich5", Rule("reduce", 4, 64, 127, "binomial"), [(4, 56), (4, 64)], "proven", "operator calls"),
    ],
)
def test_a_rule_is_obeyed_in_its_cells_and_in_no_others(
    mpi: str, rule: Rule, cells: list[tuple[int, int]], verdict: str, by: str, tmp_path: Path
) -> None:
    target = target_of(mpi, tmp_path)
    proofs = proofs_of(target, [rule], [Cell(rule.collective, *one) for one in cells], tmp_path)
    assert {proof.verdict for proof in proofs.values()} == {verdict}
    assert all(by in proof.by for proof in proofs.values())


@pytest.mark.thorough
def test_rules_that_are_not_switched_on_fail_the_proof(tmp_path: Path) -> None:
    target = target_of("openmpi", tmp_path)
    cell = Cell("bcast", 4, 64)
    variables = write_files(target, target.form.write([Rule("bcast", 4, 64, 127, "pipeline")]), tmp_path)
    variables["OMPI_MCA_coll_tuned_dynamic_rules_filename"] = str(tmp_path / "no such file")
    proofs = prove(target, {cell: "pipeline"}, [Usable("bcast", 4, ["pipeline"])], variables, tmp_path / "proof")
    assert proofs[cell].verdict == "failed"


@pytest.mark.parametrize(
    ("mpi", "algorithm"), [("mpich", "scatter_ring_allgather"), ("mpich5", "binomial")], ids=["mpich", "mpich5"]
)
def test_mpich_obeys_a_rule_whose_messages_nobody_can_count(mpi: str, algorithm: str, tmp_path: Path) -> None:
    """MPICH 4 broadcasts along a binomial tree by default, and the device of MPICH 5 from the root to each."""
    target = target_of(mpi, tmp_path)
    cell = Cell("bcast", 4, 64)
    proofs = proofs_of(target, [Rule("bcast", 4, 64, 127, algorithm)], [cell], tmp_path)
    assert proofs == {cell: Proof("proven", "late arrivals")}


@pytest.mark.thorough
def test_mpich_without_the_files_of_its_rules_fails_the_proof(tmp_path: Path) -> None:
    target = target_of("mpich5", tmp_path)
    cell = Cell("bcast", 2, 64)
    algorithm = "scatter_ring_allgather"
    proofs = prove(target, {cell: algorithm}, [Usable("bcast", 2, [algorithm])], {}, tmp_path / "proof")
    assert proofs == {cell: Proof("failed", "late arrivals are not those of scatter_ring_allgather")}


@pytest.mark.parametrize("mpi", ["mpich", "mpich5"])
def test_mpich_takes_the_trees_and_computes_what_it_should(mpi: str, tmp_path: Path) -> None:
    """A collective that a tree forgot has no algorithm, and a condition that MPICH has not ends the run."""
    target = target_of(mpi, tmp_path)
    rules = [
        Rule("bcast", 2, 64, 127, "scatter_ring_allgather"),
        Rule("reduce", 2, 64, 127, "reduce_scatter_gather"),
        Rule("allreduce", 2, 64, 127, "reduce_scatter_allgather"),
        Rule("allgather", 2, 64, 127, "ring"),
        Rule("alltoall", 2, 64, 127, "pairwise"),
        Rule("reduce_scatter", 2, 64, 127, "pairwise"),
        Rule("reduce_scatter_block", 2, 64, 127, "pairwise"),
        Rule("gatherv", 2, 0, None, "linear"),
        Rule("gather", 2, 0, None, "binomial"),
        Rule("scan", 2, 0, None, "recursive_doubling"),
    ]
    variables = write_files(target, target.form.write(rules), tmp_path)
    operations = [*dict.fromkeys(rule.collective for rule in rules), "barrier", "ibcast", "allgatherv"]
    arguments = [*operations, "-m", "8,64,128", "-r", "1", "--sync", "none", "--validate", "-q"]
    run = run_bench(target.library, 2, arguments, variables, 120)
    assert run.status == 0, run.errors
    broken = json.loads((tmp_path / ALGORITHMS_FILE).read_text())
    (tmp_path / ALGORITHMS_FILE).write_text(json.dumps({"collective=bcast": broken["collective=bcast"]}))
    assert run_bench(target.library, 2, arguments, variables, 120).status != 0, "the file was not read"


@pytest.mark.thorough
def test_intel_obeys_a_rule_for_its_number_of_ranks(tmp_path: Path) -> None:
    target = target_of("intelmpi", tmp_path)
    rules = [Rule("reduce", 2, 0, None, "7"), Rule("reduce", 4, 0, None, "1")]
    cells = [Cell("reduce", 4, size) for size in (8, 4096)]
    proofs = proofs_of(target, rules, cells, tmp_path)
    assert [proofs[cell].verdict for cell in cells] == ["proven", "proven"]


@pytest.mark.thorough
def test_what_cannot_run_is_left_out_with_the_reason(tmp_path: Path) -> None:
    target = target_of("openmpi", tmp_path)
    usable = Probe(target, "barrier", 3, {"validate": ""}, tmp_path, 60).usable()
    assert usable.algorithms == ["linear", "double_ring", "recursive_doubling", "bruck", "tree"]
    assert list(usable.excluded) == ["two_proc"]
    assert "two_proc" in usable.excluded["two_proc"]
