"""What became of mutants: a file of JSON lines per room, which a later run continues."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from mutation.operators import Mutant
from mutation.suite import EQUIVALENT, KILLED, SURVIVED, Judgement


@dataclasses.dataclass(frozen=True)
class Result:
    """A mutant and what became of it."""

    key: str
    file: str
    line: int
    operator: str
    before: str
    after: str
    outcome: str
    by: str
    seconds: float


def result_of(mutant: Mutant, judgement: Judgement) -> Result:
    """Returns what is stored."""
    return Result(
        mutant.key,
        mutant.file,
        mutant.line,
        mutant.operator,
        mutant.before,
        mutant.after,
        judgement.outcome,
        judgement.by,
        round(judgement.seconds, 2),
    )


def read_results(path: Path) -> dict[str, Result]:
    """Returns the results in a file by their mutants, the last one of each."""
    if not path.is_file():
        return {}
    found = [Result(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    return {result.key: result for result in found}


def append_result(path: Path, result: Result) -> None:
    """Stores a result; a run that is stopped loses one mutant."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(dataclasses.asdict(result)) + "\n")


def wilson_interval(hits: int, tries: int, z: float = 1.959964) -> tuple[float, float]:
    """Returns the 95 % interval of a proportion (Wilson 1927). No try says nothing: 0 to 1."""
    if tries == 0:
        return 0.0, 1.0
    share = hits / tries
    scale = 1.0 + z * z / tries
    middle = (share + z * z / (2 * tries)) / scale
    half = z / scale * (share * (1.0 - share) / tries + z * z / (4 * tries * tries)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


HEADER = (
    f"{'room':<14} {'mutants':>8} {'killed':>7} {'equivalent':>11} {'survived':>9} {'killed of those that count':>30}"
)


def summary(room: str, results: list[Result]) -> str:
    """Returns a row of the table: equivalent mutants do not count, nor do those that do not compile."""
    counts = {name: sum(one.outcome == name for one in results) for name in (KILLED, EQUIVALENT, SURVIVED)}
    judged = counts[KILLED] + counts[SURVIVED]
    low, high = wilson_interval(counts[KILLED], judged)
    share = f"{counts[KILLED] / judged:.0%} ({low:.0%} to {high:.0%})" if judged else "none"
    total = judged + counts[EQUIVALENT]
    return f"{room:<14} {total:>8} {counts[KILLED]:>7} {counts[EQUIVALENT]:>11} {counts[SURVIVED]:>9} {share:>30}"


def survivor_text(result: Result) -> str:
    """Returns where a survivor is and what it changes."""
    return f"{result.file}:{result.line}: {result.operator}\n  - {result.before}\n  + {result.after}"
