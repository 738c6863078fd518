"""Compares launches with and without rules, and proves that the library obeys the rules.

A proof compares traces of a call under the rules (late_arrivals.py) with traces of the algorithm that the rules name,
and with those of the library's default. Proofs have verdicts: "proven", "cannot tell" (traces do not distinguish the
algorithms, or cannot be counted) and "failed".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from downbeat.comparison.matching import NOTHING, Match
from downbeat.data.cells import FAILED, WRONG
from downbeat.tune.choosing import TimedComparison, judge_by_key, kinds_of, match_algorithms
from downbeat.tune.late_arrivals import (
    SIZE_STEP,
    WITH_DEPENDENCIES,
    CallTraces,
    LateArrivals,
    NotLateError,
    Waits,
    forced_trace,
    traces,
)
from downbeat.tune.rules_format import DEFAULT, Cell, Rule, Written, algorithm_for
from downbeat.tune.sweep import LaunchMedians, Usable, digest_of
from downbeat.tune.target import Target

RULES = "rules"  # value of column `algorithm` for launches under the rules


def rules_name(written: Written) -> str:
    """Returns a directory name for measurements of rules: a hash of their content, since their paths never change."""
    return digest_of([dict(written.files), dict(written.variables)])


def compare_cells(medians: LaunchMedians, margin: float, confidence: float) -> dict[Cell, TimedComparison]:
    """Compares launches under rules with launches without rules in each cell; all cells are judged together."""
    matches = {cell: match_algorithms(rows, DEFAULT, RULES) for cell, rows in medians.by_cell().items()}
    return judge_by_key(matches, margin, confidence)


def lost_cells(medians: LaunchMedians) -> list[Cell]:
    """Returns the cells that were measured without rules, but in no launch under the rules."""
    cells = medians[medians.status != FAILED].by_cell()
    return [cell for cell, rows in cells.items() if DEFAULT in rows.algorithm and RULES not in rows.algorithm]


def wrong_cells(medians: LaunchMedians, algorithm: str) -> list[Cell]:
    """Returns the cells with wrong results in any launch; `algorithm` is `DEFAULT` or `RULES`."""
    return list(medians[(medians.algorithm == algorithm) & (medians.status == WRONG)].by_cell())


def wrong_under(rules: Sequence[Rule], cells: Sequence[Cell]) -> dict[tuple[str, int, str], list[int]]:
    """Returns the algorithms that rules name for cells with wrong results, as `WrongResults` for `choose`."""
    sizes: dict[tuple[str, int, str], list[int]] = {}
    for cell in cells:
        algorithm = algorithm_for(rules, cell)
        if algorithm != DEFAULT:
            sizes.setdefault((cell.collective, cell.ranks, algorithm), []).append(cell.size)
    return sizes


def compare_rules(
    medians: LaunchMedians, rules: Sequence[Rule], margin: float, confidence: float
) -> dict[Rule, TimedComparison]:
    """Compares launches under rules with launches without, over all sizes of a rule; all rules are judged together."""
    return judge_by_key({rule: means_over(medians, rule) for rule in rules}, margin, confidence)


def means_over(medians: LaunchMedians, rule: Rule) -> Match:
    """Pairs launches without rules (A) and under rules (B); the value of a launch is the geometric mean over sizes.

    Only launches that have a value at all sizes of the rule, without and under rules, count.
    """
    cells = [rows for cell, rows in medians.by_cell().items() if rule.holds(cell)]
    sides = [[rows.counted(name) for rows in cells] for name in (DEFAULT, RULES)]
    launches = [set(rows.launch.tolist()) for side in sides for rows in side]
    shared = np.array(sorted(set.intersection(*launches))) if launches else np.empty(0)
    if not shared.size:
        return Match({}, NOTHING, NOTHING)
    sides = [[rows[np.isin(rows.launch, shared)] for rows in side] for side in sides]
    values = np.array([[rows.value for rows in side] for side in sides])  # shape (side, cell, launch)
    uncertainty = np.array([[rows.uncertainty for rows in side] for side in sides])
    a, b = np.exp(np.log(values).mean(axis=1))
    # The error by clocks is largest if the relative errors of all sizes have the same sign: then it is their mean.
    hidden = 2 * float((uncertainty / values).mean()) * float(np.exp(np.log(a).mean()))
    numbers = tuple(shared.tolist())
    return Match({}, a, b, hidden, launches=(numbers, numbers))


def kinds_of_gain(medians: LaunchMedians, rules: Sequence[Rule], margin: float, confidence: float) -> list[str]:
    """Returns lines on slow and on correlated launches in the gains of cells and of rules.

    The arguments are those of `compare_rules`.
    """
    cells = {
        str(cell): match_algorithms(rows, DEFAULT, RULES)
        for cell, rows in medians.by_cell().items()
        if any(rule.holds(cell) for rule in rules)
    }
    several_sizes = {
        f"the rule for {rule.collective} on {rule.ranks} ranks ({rule.sizes})": means_over(medians, rule)
        for rule in rules
        if rule.first != rule.last
    }
    return kinds_of(cells | several_sizes, margin, confidence)


# Directories of launches without rules, under the rules, and with a forced algorithm.
WITHOUT_RULES = "default"
UNDER_RULES = "rules"
FORCED = "forced"

UNCOUNTABLE = "nothing of it can be counted under this library"
ALL_WAIT = "every rank waits for every other by any algorithm"
# Launches with late arrivals of each side; the larger number if the verdict would be "failed".
MIN_LATE_LAUNCHES = 2
MAX_LATE_LAUNCHES = 4

ProofVerdict = Literal["proven", "cannot tell", "failed"]


@dataclass(frozen=True)
class Proof:
    """The verdict on the question whether the library obeys the rules in a cell."""

    verdict: ProofVerdict
    by: str  # kinds of traces that were compared, or the reason why none could be


def judge_proof(
    algorithm: str,
    default: CallTraces,
    forced: Mapping[str, CallTraces],
    under_rules: CallTraces,
    one_is_enough: bool = False,
) -> Proof:
    """Judges the traces of a cell.

    Traces under the rules prove that the expected algorithm ran if they equal the traces of that algorithm, and differ
    from those of its rivals: the algorithms that would run if the library did not obey. The rival of an algorithm that
    the rules name is the default; rivals of the default are the algorithms that the rules name for other cells.

    Args:
        algorithm: expected algorithm, which the rules name; `DEFAULT` if they name none.
        default: traces of the library's choice without rules.
        forced: algorithm -> traces when it is forced without rules: the expected algorithm, or the rivals of the
            default.
        under_rules: traces of the library's choice under the rules.
        one_is_enough: True: the traces of a single rival must differ; False: those of all rivals.
    """
    expected = default if algorithm == DEFAULT else forced.get(algorithm)
    if expected is None:
        return Proof("cannot tell", f"{algorithm} left no trace when it was forced")
    observed, reference = under_rules.evidence(), expected.evidence()
    common = [name for name in reference if name in observed]
    if not common:
        return Proof("cannot tell", UNCOUNTABLE)
    for name in common:
        if observed[name] != reference[name]:
            return Proof("failed", f"{name} are not those of {algorithm}")
    rivals = forced if algorithm == DEFAULT else {DEFAULT: default}
    differing = {
        rival: [name for name in common if trace.evidence().get(name) not in (None, reference[name])]
        for rival, trace in rivals.items()
    }
    alike = [rival for rival, names in differing.items() if not names]
    if not rivals:
        return Proof(
            "cannot tell", f"{' and '.join(common)} are those of the default, but nothing else was there to compare"
        )
    if len(alike) == len(rivals) or (alike and not one_is_enough):
        names = " and ".join("the default" if rival == DEFAULT else rival for rival in alike)
        whose = "the default" if algorithm == DEFAULT else algorithm
        return Proof("cannot tell", f"{' and '.join(common)} of {whose} are those of {names}")
    distinguishing = [name for name in common if any(name in names for names in differing.values())]
    return Proof("proven", " and ".join(distinguishing))


@dataclass(frozen=True)
class Case:
    """A cell in which a proof is tried.

    Attributes:
        cell: the collective, ranks and size to run.
        algorithm: that the rules name for the cell; `DEFAULT` if they name none.
        named: algorithms to force, whose traces are compared (`named_for`).
        variables: environment that switches the rules on.
        directory: for the files of the launches.
    """

    cell: Cell
    algorithm: str
    named: Sequence[str]
    variables: Mapping[str, str]
    directory: Path


def prove(
    target: Target,
    choices: Mapping[Cell, str],
    usable: Sequence[Usable],
    variables: Mapping[str, str],
    directory: Path,
) -> dict[Cell, Proof]:
    """Tries to prove in every measured cell that the algorithm of the rules runs.

    Compares messages and operator calls first, and dependencies between ranks if these cannot tell.

    Args:
        target: the library.
        choices: cell -> algorithm that the rules name; `DEFAULT` if they name none.
        usable: the algorithms that run, by collective and ranks.
        variables: environment that switches the rules on.
        directory: for the files of the launches.
    """
    running = {(group.collective, group.ranks): group.algorithms for group in usable}
    proofs: dict[Cell, Proof] = {}
    uncountable: set[tuple[str, int]] = set()  # collective and ranks whose calls have no counts; tried only once
    late_arrivals = LateArrivals(target)
    for cell, algorithm in choices.items():
        group = cell.collective, cell.ranks
        case = Case(cell, algorithm, named_for(cell, choices, running[group]), variables, directory)
        proof = Proof("cannot tell", UNCOUNTABLE) if group in uncountable else prove_by_counts(target, case)
        if proof.by == UNCOUNTABLE:
            uncountable.add(group)
        if proof.verdict == "cannot tell" and cell.collective in WITH_DEPENDENCIES:
            late = prove_by_late_arrivals(late_arrivals, case)
            proof = Proof(late.verdict, f"{proof.by}; {late.by}" if late.verdict == "cannot tell" else late.by)
        elif proof.verdict == "cannot tell":
            proof = Proof(proof.verdict, f"{proof.by}; {ALL_WAIT}")
        proofs[cell] = proof
    return proofs


def named_for(cell: Cell, choices: Mapping[Cell, str], running: Sequence[str]) -> list[str]:
    """Returns the algorithms to force for comparison: the one that the rules name for the cell.

    If they name none, the algorithms that they name for other cells of the collective and that run on this number of
    ranks: a rule whose range is too wide would select one of them.
    """
    if choices[cell] != DEFAULT:
        return [choices[cell]]
    named = {algorithm for other, algorithm in choices.items() if other.collective == cell.collective}
    return [algorithm for algorithm in running if algorithm in named]


def prove_by_counts(target: Target, case: Case) -> Proof:
    """Compares messages and operator calls in a cell.

    If the rules name no algorithm of the collective, the rivals of the default are all algorithms in the launch without
    rules, and it is enough that the traces of one differ.
    """
    cell, named = case.cell, case.named
    if cell.size % SIZE_STEP:
        return Proof("cannot tell", f"only sizes that are multiples of {SIZE_STEP} can be counted")
    without_rules, reason = traces(target, cell, {}, case.directory / WITHOUT_RULES)
    if DEFAULT not in without_rules:
        return Proof("cannot tell", f"the launch without rules left no trace: {reason}")
    if not without_rules[DEFAULT].evidence():
        return Proof("cannot tell", UNCOUNTABLE)
    under_rules, reason = traces(target, cell, case.variables, case.directory / UNDER_RULES)
    if DEFAULT not in under_rules:
        return Proof("failed", f"the launch under the rules left no trace: {reason}")
    compared: Mapping[str, CallTraces | None] = without_rules
    if named:
        compared = {name: forced_trace(target, cell, name, without_rules, case.directory / FORCED) for name in named}
    forced = {name: trace for name, trace in compared.items() if trace and name != DEFAULT}
    default = without_rules[DEFAULT]
    return judge_proof(case.algorithm, default, forced, under_rules[DEFAULT], one_is_enough=not named)


def prove_by_late_arrivals(late_arrivals: LateArrivals, case: Case) -> Proof:
    """Compares the dependencies between ranks in a cell.

    Each side is launched `MIN_LATE_LAUNCHES` times, so that a disturbance of one launch proves nothing. If the traces
    under the rules differ from the expected ones, there are up to `MAX_LATE_LAUNCHES` launches before the proof fails.
    """
    dependencies: dict[str, Waits] = {}  # by side, over all launches so far
    launches = 0
    while True:
        try:
            launched, failure = launch_sides(late_arrivals, case)
        except NotLateError as error:
            return Proof("cannot tell", str(error))
        if failure:
            return failure
        # A rank that left early in a single launch does not depend on the late rank.
        dependencies = {side: waits & dependencies.get(side, waits) for side, waits in launched.items()}
        sides = {
            side: CallTraces(None, None, tuple(waits.ravel().astype(int).tolist()))
            for side, waits in dependencies.items()
        }
        forced = {name: sides[f"{FORCED}/{name}"] for name in case.named if f"{FORCED}/{name}" in sides}
        proof = judge_proof(case.algorithm, sides[WITHOUT_RULES], forced, sides[UNDER_RULES])
        launches += 1
        if launches >= (MAX_LATE_LAUNCHES if proof.verdict == "failed" else MIN_LATE_LAUNCHES):
            return proof


def launch_sides(late_arrivals: LateArrivals, case: Case) -> tuple[dict[str, Waits], Proof | None]:
    """Measures dependencies on each side: without rules, under the rules, and with each forced algorithm.

    Returns:
        Side -> dependencies, where the side of a forced algorithm is `FORCED`/name; and a verdict if a launch failed.

    Raises:
        NotLateError: the operation takes too long.
    """
    cell, directory = case.cell, case.directory
    forcing = {name: late_arrivals.target.form.forcing_variables(cell.collective, name) for name in case.named}
    # Algorithms without such variables are part of the launch without rules, which switches between them.
    switched = [name for name in case.named if not forcing[name]]
    without_rules, reason = late_arrivals.waits(cell, switched, {}, directory / WITHOUT_RULES)
    if DEFAULT not in without_rules:
        return {}, Proof("cannot tell", f"the launch without rules left no late arrivals: {reason}")
    under_rules, reason = late_arrivals.waits(cell, [], case.variables, directory / UNDER_RULES)
    if DEFAULT not in under_rules:
        return {}, Proof("failed", f"the launch under the rules left no late arrivals: {reason}")
    sides = {WITHOUT_RULES: without_rules[DEFAULT], UNDER_RULES: under_rules[DEFAULT]}
    for name, variables in forcing.items():
        if variables:
            waits = late_arrivals.waits(cell, [], variables, directory / FORCED / name)[0].get(DEFAULT)
        else:
            waits = without_rules.get(name)
        if waits is not None:
            sides[f"{FORCED}/{name}"] = waits
    return sides, None
