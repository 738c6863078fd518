"""Proves that rules are obeyed: under them the default must do what the chosen algorithm does when it is forced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from downbeat.tune.rules import DEFAULT, Cell
from downbeat.tune.target import Target
from downbeat.tune.traces import SIZE_STEP, Trace, forced_trace, traces

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
        return Proof("cannot tell", "nothing of it can be counted under this library")
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

    Args:
        target: the library.
        choices: cell -> algorithm that the rules name, the default where they name none.
        variables: that switch the rules on.
        directory: for what the launches write.
    """
    proofs: dict[Cell, Proof] = {}
    uncountable: set[tuple[str, int]] = set()
    for cell, algorithm in choices.items():
        if cell.size % SIZE_STEP:
            proofs[cell] = Proof("cannot tell", f"only sizes that are multiples of {SIZE_STEP} can be traced")
            continue
        if (cell.collective, cell.ranks) in uncountable:
            proofs[cell] = Proof("cannot tell", "nothing of it can be counted under this library")
            continue
        plain, reason = traces(target, cell, {}, directory / "default")
        if DEFAULT not in plain:
            proofs[cell] = Proof("cannot tell", f"the launch without rules left no trace: {reason}")
            continue
        if not plain[DEFAULT].evidence():
            uncountable.add((cell.collective, cell.ranks))
            proofs[cell] = Proof("cannot tell", "nothing of it can be counted under this library")
            continue
        ruled, reason = traces(target, cell, variables, directory / "rules")
        if DEFAULT not in ruled:
            proofs[cell] = Proof("failed", f"the launch under the rules left no trace: {reason}")
            continue
        forced = None if algorithm == DEFAULT else forced_trace(target, cell, algorithm, plain, directory / "forced")
        proofs[cell] = judge_proof(algorithm, plain[DEFAULT], forced, ruled[DEFAULT])
    return proofs


def failures(proofs: Mapping[Cell, Proof]) -> Sequence[Cell]:
    """Returns the cells in which rules are not obeyed."""
    return [cell for cell, proof in proofs.items() if proof.verdict == "failed"]
