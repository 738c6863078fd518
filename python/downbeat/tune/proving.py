"""Proves that rules took effect: which algorithm runs, and the gain."""

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
    TELLING,
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

RULES = "rules"  # in place of an algorithm, for launches under the rules


def rules_name(written: Written) -> str:
    """Returns a hash of the content of rules: their environment is the same for different files of the same path."""
    return digest_of([dict(written.files), dict(written.variables)])


def match_rules(medians: LaunchMedians) -> Match:
    """Matches the launches of one cell without and under rules."""
    return match_algorithms(medians, DEFAULT, RULES)


def compare_cells(medians: LaunchMedians, margin: float, confidence: float) -> dict[Cell, TimedComparison]:
    """Compares launches under rules with those without, of the same number as pairs, all cells judged together."""
    return judge_by_key({cell: match_rules(rows) for cell, rows in medians.by_cell().items()}, margin, confidence)


def lost_cells(medians: LaunchMedians) -> list[Cell]:
    """Returns the cells that could be measured without rules, and in no launch under them."""
    cells = medians[medians.status != FAILED].by_cell()
    return [cell for cell, rows in cells.items() if DEFAULT in rows.algorithm and RULES not in rows.algorithm]


def wrong_cells(medians: LaunchMedians, algorithm: str) -> list[Cell]:
    """Returns the cells with wrong results in any launch without or under rules."""
    return list(medians[(medians.algorithm == algorithm) & (medians.status == WRONG)].by_cell())


def wrong_under(rules: Sequence[Rule], cells: Sequence[Cell]) -> dict[tuple[str, int, str], list[int]]:
    """Returns the algorithms that rules name for cells with wrong results, in the form for `choose`."""
    sizes: dict[tuple[str, int, str], list[int]] = {}
    for cell in cells:
        algorithm = algorithm_for(rules, cell)
        if algorithm != DEFAULT:
            sizes.setdefault((cell.collective, cell.ranks, algorithm), []).append(cell.size)
    return sizes


def compare_rules(
    medians: LaunchMedians, rules: Sequence[Rule], margin: float, confidence: float
) -> dict[Rule, TimedComparison]:
    """Compares launches under rules with those without over all sizes of each rule, all rules judged together."""
    return judge_by_key({rule: means_over(medians, rule) for rule in rules}, margin, confidence)


def means_over(medians: LaunchMedians, rule: Rule) -> Match:
    """Matches launches without and under rules, each the geometric mean of all sizes of a rule."""
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
    # Each size may be off by its own share: by their mean, if all are in the same direction.
    hidden = 2 * float((uncertainty / values).mean()) * float(np.exp(np.log(a).mean()))
    numbers = tuple(shared.tolist())
    return Match({}, a, b, hidden, launches=(numbers, numbers))


def kinds_of_gain(medians: LaunchMedians, rules: Sequence[Rule], margin: float, confidence: float) -> list[str]:
    """Lines on kinds of launches in the gain of cells and of rules; the medians are those of `compare_rules`."""
    cells = {
        str(cell): match_rules(rows)
        for cell, rows in medians.by_cell().items()
        if any(rule.holds(cell) for rule in rules)
    }
    several_sizes = {
        f"the rule for {rule.collective} on {rule.ranks} ranks ({rule.sizes})": means_over(medians, rule)
        for rule in rules
        if rule.first != rule.last
    }
    return kinds_of(cells | several_sizes, margin, confidence)


WITHOUT_RULES = "default"  # directories of launches: without rules, under them, and by an algorithm that is forced
RULED = "rules"
FORCED = "forced"

UNCOUNTABLE = "nothing of it can be counted under this library"
ALL_WAIT = "every rank waits for every other by any algorithm"
FEWEST_LATE_LAUNCHES = 2  # with late arrivals
MOST_LATE_LAUNCHES = 4

ProofVerdict = Literal["proven", "cannot tell", "failed"]


@dataclass(frozen=True)
class Proof:
    """Whether rules are obeyed in a cell."""

    verdict: ProofVerdict
    by: str  # the measure compared, or why nothing can be compared


def judge_proof(
    algorithm: str,
    default: CallTraces,
    forced: Mapping[str, CallTraces],
    under_rules: CallTraces,
    one_is_enough: bool = False,
) -> Proof:
    """Judges the traces of a cell.

    They prove that an algorithm ran if they are its own, and not those of what would run if the rules were not obeyed:
    the default, or where the rules name no algorithm, those that they name elsewhere.

    Args:
        algorithm: that the rules name; the default where they name none.
        default: of the library's choice without rules.
        forced: of algorithms that are forced without rules: of that which the rules name; where they name none, of
            those that could run in place of the default.
        under_rules: of the library's choice under the rules.
        one_is_enough: whether it is enough if one of those leaves other traces.
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
    telling = [name for name in common if any(name in names for names in differing.values())]
    return Proof("proven", " and ".join(telling))


@dataclass(frozen=True)
class Case:
    """The rules in a cell.

    Attributes:
        cell: the case to run.
        algorithm: that the rules name; the default where they name none.
        named: that its traces are compared with (`named_for`).
        variables: that switch the rules on.
        directory: for what the launches write.
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
    """Compares the chosen algorithm with the one that runs under the rules, in every cell that was measured.

    Counts come first; where they show no difference, waits between ranks are compared.

    Args:
        target: the library.
        choices: cell -> algorithm that the rules name, the default where they name none.
        usable: the algorithms that run.
        variables: that switch the rules on.
        directory: for what the launches write.
    """
    running = {(each.collective, each.ranks): each.algorithms for each in usable}
    proofs: dict[Cell, Proof] = {}
    uncountable: set[tuple[str, int]] = set()
    late_arrivals = LateArrivals(target)
    for cell, algorithm in choices.items():
        group = cell.collective, cell.ranks
        case = Case(cell, algorithm, named_for(cell, choices, running[group]), variables, directory)
        proof = Proof("cannot tell", UNCOUNTABLE) if group in uncountable else prove_by_counts(target, case)
        if proof.by == UNCOUNTABLE:
            uncountable.add(group)
        if proof.verdict == "cannot tell" and cell.collective in TELLING:
            late = prove_by_late_arrivals(late_arrivals, case)
            proof = Proof(late.verdict, f"{proof.by}; {late.by}" if late.verdict == "cannot tell" else late.by)
        elif proof.verdict == "cannot tell":
            proof = Proof(proof.verdict, f"{proof.by}; {ALL_WAIT}")
        proofs[cell] = proof
    return proofs


def named_for(cell: Cell, choices: Mapping[Cell, str], running: Sequence[str]) -> list[str]:
    """Returns the algorithms that a cell's traces are compared with: the algorithm that the rules name for it.

    Where they name none, those that they name for other cells of the collective and that run on this number of ranks:
    a rule whose range is too wide would select one of them.
    """
    if choices[cell] != DEFAULT:
        return [choices[cell]]
    elsewhere = {algorithm for other, algorithm in choices.items() if other.collective == cell.collective}
    return [algorithm for algorithm in running if algorithm in elsewhere]


def prove_by_counts(target: Target, case: Case) -> Proof:
    """Compares messages and calls of operators in a cell.

    Where the rules name no algorithm of the collective at all, the default's traces have to differ from those of any
    other algorithm that the launch without rules switched to.
    """
    cell, named = case.cell, case.named
    if cell.size % SIZE_STEP:
        return Proof("cannot tell", f"only sizes that are multiples of {SIZE_STEP} can be counted")
    plain, reason = traces(target, cell, {}, case.directory / WITHOUT_RULES)
    if DEFAULT not in plain:
        return Proof("cannot tell", f"the launch without rules left no trace: {reason}")
    if not plain[DEFAULT].evidence():
        return Proof("cannot tell", UNCOUNTABLE)
    ruled, reason = traces(target, cell, case.variables, case.directory / RULED)
    if DEFAULT not in ruled:
        return Proof("failed", f"the launch under the rules left no trace: {reason}")
    forced = {name: forced_trace(target, cell, name, plain, case.directory / FORCED) for name in named}
    seen = {name: trace for name, trace in (forced if named else plain).items() if trace and name != DEFAULT}
    return judge_proof(case.algorithm, plain[DEFAULT], seen, ruled[DEFAULT], one_is_enough=not named)


def prove_by_late_arrivals(late_arrivals: LateArrivals, case: Case) -> Proof:
    """Compares the waits between ranks in a cell.

    Each side is launched twice, so that a disturbance throughout one launch proves nothing. Cells that differ are
    launched again before it counts as a failure.
    """
    seen: dict[str, Waits] = {}
    launches = 0
    while True:
        try:
            launched, failure = launch_sides(late_arrivals, case)
        except NotLateError as error:
            return Proof("cannot tell", str(error))
        if failure:
            return failure
        # A rank that left early once needs nothing of the late one.
        seen = {side: waits & seen.get(side, waits) for side, waits in launched.items()}
        sides = {
            side: CallTraces(None, None, tuple(waits.ravel().astype(int).tolist())) for side, waits in seen.items()
        }
        forced = {name: sides[f"{FORCED}/{name}"] for name in case.named if f"{FORCED}/{name}" in sides}
        proof = judge_proof(case.algorithm, sides[WITHOUT_RULES], forced, sides[RULED])
        launches += 1
        if launches >= (MOST_LATE_LAUNCHES if proof.verdict == "failed" else FEWEST_LATE_LAUNCHES):
            return proof


def launch_sides(late_arrivals: LateArrivals, case: Case) -> tuple[dict[str, Waits], Proof | None]:
    """Measures the waits of ranks without rules, under them, and by each forced algorithm; a verdict if a launch fails.

    Raises:
        NotLateError: the operation takes too long.
    """
    cell, directory = case.cell, case.directory
    forcing = {name: late_arrivals.target.form.forcing_variables(cell.collective, name) for name in case.named}
    switched = [name for name in case.named if not forcing[name]]
    plain, reason = late_arrivals.waits(cell, switched, {}, directory / WITHOUT_RULES)
    if DEFAULT not in plain:
        return {}, Proof("cannot tell", f"the launch without rules left no late arrivals: {reason}")
    ruled, reason = late_arrivals.waits(cell, [], case.variables, directory / RULED)
    if DEFAULT not in ruled:
        return {}, Proof("failed", f"the launch under the rules left no late arrivals: {reason}")
    sides = {WITHOUT_RULES: plain[DEFAULT], RULED: ruled[DEFAULT]}
    for name, fixed in forcing.items():
        forced = late_arrivals.waits(cell, [], fixed, directory / FORCED / name)[0] if fixed else plain
        if (DEFAULT if fixed else name) in forced:
            sides[f"{FORCED}/{name}"] = forced[DEFAULT if fixed else name]
    return sides, None
