"""Proves that rules are obeyed: under them the default must do what the chosen algorithm does when it is forced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from downbeat.tune.late_arrivals import TELLING, LateArrivals, NotLateError, Waits
from downbeat.tune.rules import DEFAULT, Cell
from downbeat.tune.target import Target
from downbeat.tune.traces import SIZE_STEP, Trace, forced_trace, traces

PLAIN = "default"  # directories of launches: without rules, under them, and by an algorithm that is forced
RULED = "rules"
FORCED = "forced"

UNCOUNTABLE = "nothing of it can be counted under this library"
ALL_WAIT = "every rank waits for every other by any algorithm"
FEWEST_LAUNCHES = 2  # with late arrivals
MOST_LAUNCHES = 4

ProofVerdict = Literal["proven", "cannot tell", "failed"]


@dataclass(frozen=True)
class Proof:
    """Whether rules are obeyed in a cell."""

    verdict: ProofVerdict
    by: str  # what was compared, or why nothing can be told


def judge_proof(algorithm: str, default: Trace, forced: Trace | None, under_rules: Trace) -> Proof:
    """Judges the traces of a cell.

    Args:
        algorithm: that the rules name; the default where they name none.
        default: of the library's choice without rules.
        forced: of the algorithm, forced without rules.
        under_rules: of the library's choice under the rules.
    """
    expected = default if algorithm == DEFAULT else forced
    if expected is None:
        return Proof("cannot tell", f"{algorithm} left no trace when it was forced")
    seen, wanted, plain = under_rules.evidence(), expected.evidence(), default.evidence()
    common = [name for name in wanted if name in seen]
    if not common:
        return Proof("cannot tell", UNCOUNTABLE)
    for name in common:
        if seen[name] != wanted[name]:
            return Proof("failed", f"{name} are not those of {algorithm}")
    telling = [name for name in common if algorithm == DEFAULT or plain.get(name) not in (None, wanted[name])]
    if telling:
        return Proof("proven", " and ".join(telling))
    return Proof("cannot tell", f"{' and '.join(common)} of {algorithm} are those of the default")


def prove(
    target: Target,
    choices: Mapping[Cell, str],
    variables: Mapping[str, str],
    directory: Path,
) -> dict[Cell, Proof]:
    """Compares what was chosen with what runs under the rules, in every cell that was measured.

    What can be counted comes first; who waits for whom is looked at where that tells nothing.

    Args:
        target: the library.
        choices: cell -> algorithm that the rules name, the default where they name none.
        variables: that switch the rules on.
        directory: for what the launches write.
    """
    proofs: dict[Cell, Proof] = {}
    uncountable: set[tuple[str, int]] = set()
    late_arrivals = LateArrivals(target)
    for cell, algorithm in choices.items():
        if (cell.collective, cell.ranks) in uncountable:
            proof = Proof("cannot tell", UNCOUNTABLE)
        else:
            proof = prove_by_counts(target, cell, algorithm, variables, directory)
            if proof.by == UNCOUNTABLE:
                uncountable.add((cell.collective, cell.ranks))
        if proof.verdict == "cannot tell" and cell.collective in TELLING:
            late = prove_by_late_arrivals(late_arrivals, cell, algorithm, variables, directory)
            proof = Proof(late.verdict, f"{proof.by}; {late.by}" if late.verdict == "cannot tell" else late.by)
        elif proof.verdict == "cannot tell":
            proof = Proof(proof.verdict, f"{proof.by}; {ALL_WAIT}")
        proofs[cell] = proof
    return proofs


def prove_by_counts(target: Target, cell: Cell, algorithm: str, variables: Mapping[str, str], directory: Path) -> Proof:
    """Compares messages and calls of operators in a cell; the arguments are those of `prove`."""
    if cell.size % SIZE_STEP:
        return Proof("cannot tell", f"only sizes that are multiples of {SIZE_STEP} can be counted")
    plain, reason = traces(target, cell, {}, directory / PLAIN)
    if DEFAULT not in plain:
        return Proof("cannot tell", f"the launch without rules left no trace: {reason}")
    if not plain[DEFAULT].evidence():
        return Proof("cannot tell", UNCOUNTABLE)
    ruled, reason = traces(target, cell, variables, directory / RULED)
    if DEFAULT not in ruled:
        return Proof("failed", f"the launch under the rules left no trace: {reason}")
    forced = None if algorithm == DEFAULT else forced_trace(target, cell, algorithm, plain, directory / FORCED)
    return judge_proof(algorithm, plain[DEFAULT], forced, ruled[DEFAULT])


def prove_by_late_arrivals(
    late_arrivals: LateArrivals, cell: Cell, algorithm: str, variables: Mapping[str, str], directory: Path
) -> Proof:
    """Compares who waits for whom in a cell; the arguments are those of `prove`.

    Each side is launched twice, for what disturbs a machine throughout one launch must prove nothing. What differs is
    launched again before it counts as a failure.
    """
    seen: dict[str, Waits] = {}
    launches = 0
    while True:
        try:
            found, failure = launch_sides(late_arrivals, cell, algorithm, variables, directory)
        except NotLateError as error:
            return Proof("cannot tell", str(error))
        if failure:
            return failure
        # A rank that left early once needs nothing of the late one.
        seen = {side: waits & seen.get(side, waits) for side, waits in found.items()}
        sides = {side: Trace(None, None, tuple(waits.ravel().astype(int).tolist())) for side, waits in seen.items()}
        proof = judge_proof(algorithm, sides[PLAIN], sides.get(FORCED), sides[RULED])
        launches += 1
        if launches >= (MOST_LAUNCHES if proof.verdict == "failed" else FEWEST_LAUNCHES):
            return proof


def launch_sides(
    late_arrivals: LateArrivals, cell: Cell, algorithm: str, variables: Mapping[str, str], directory: Path
) -> tuple[dict[str, Waits], Proof | None]:
    """Returns who waits for whom without rules, under them, and by the algorithm forced; or the verdict if one fails.

    The arguments are those of `prove`.

    Raises:
        NotLateError: the operation takes too long.
    """
    forcing = late_arrivals.target.form.forcing_variables(cell.collective, algorithm) if algorithm != DEFAULT else {}
    plain, reason = late_arrivals.waits(cell, DEFAULT if forcing else algorithm, {}, directory / PLAIN)
    if DEFAULT not in plain:
        return {}, Proof("cannot tell", f"the launch without rules left no late arrivals: {reason}")
    ruled, reason = late_arrivals.waits(cell, DEFAULT, variables, directory / RULED)
    if DEFAULT not in ruled:
        return {}, Proof("failed", f"the launch under the rules left no late arrivals: {reason}")
    found = {PLAIN: plain[DEFAULT], RULED: ruled[DEFAULT]}
    forced = late_arrivals.waits(cell, DEFAULT, forcing, directory / FORCED / algorithm)[0] if forcing else plain
    name = DEFAULT if forcing else algorithm
    if algorithm != DEFAULT and name in forced:
        found[FORCED] = forced[name]
    return found, None


def failures(proofs: Mapping[Cell, Proof]) -> Sequence[Cell]:
    """Returns the cells in which rules are not obeyed."""
    return [cell for cell, proof in proofs.items() if proof.verdict == "failed"]
