"""The choices of a tuning, cell by cell, and the rules that state them for ranges of sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

DEFAULT = "default"  # as downbeat-bench calls the library's own choice


@dataclass(frozen=True, order=True)
class Cell:
    """The case that an algorithm is chosen for."""

    collective: str
    ranks: int
    size: int  # bytes, as downbeat-bench counts them for the collective; 0 where it has none

    def __str__(self) -> str:
        return f"{self.collective} of {self.size} bytes on {self.ranks} ranks"


@dataclass(frozen=True)
class Rule:
    """An algorithm for a collective on exactly so many ranks, for sizes from `first` to `last`, both included.

    Sizes are bytes as downbeat-bench counts them. `last` None: all sizes from `first` on.
    """

    collective: str
    ranks: int
    first: int
    last: int | None
    algorithm: str

    @property
    def sizes(self) -> str:
        """The sizes, for people."""
        if self.last is None:
            return "all"
        return f"{self.first}-{self.last}" if self.first != self.last else str(self.first)

    def holds(self, cell: Cell) -> bool:
        """Whether the rule is for a cell."""
        return (
            (cell.collective, cell.ranks) == (self.collective, self.ranks)
            and self.first <= cell.size
            and (self.last is None or cell.size <= self.last)
        )


def rules_of(choices: dict[Cell, str]) -> list[Rule]:
    """Returns the rules for choices by size; neighboring sizes with the same choice share one.

    A choice holds from the size at which it was measured to the byte before the next size that was measured, and at the
    largest size for that alone. For smaller and larger ones, and on other numbers of ranks, nothing was measured, and
    the library decides as it did. Sizes that keep the default have no rule.
    """
    rules = []
    for (collective, ranks), group in groupby(sorted(choices), key=lambda cell: (cell.collective, cell.ranks)):
        sizes = [cell.size for cell in group]
        ends = [*(size - 1 for size in sizes[1:]), sizes[-1]]
        algorithms = [choices[Cell(collective, ranks, size)] for size in sizes]
        for algorithm, run in groupby(zip(algorithms, sizes, ends, strict=True), key=lambda each: each[0]):
            spans = list(run)
            if algorithm != DEFAULT:
                rules.append(Rule(collective, ranks, spans[0][1], spans[-1][2], algorithm))
    return rules


def sizeless_rules(choices: dict[Cell, str]) -> tuple[list[Rule], list[str]]:
    """Returns the rules for choices of a collective whose size a library's rules cannot tell, and what they leave out.

    There is a rule for a number of ranks only if all sizes that were measured have the same choice.
    """
    rules, losses = [], []
    for (collective, ranks), group in groupby(sorted(choices), key=lambda cell: (cell.collective, cell.ranks)):
        chosen = {choices[cell] for cell in group}
        if chosen == {DEFAULT}:
            continue
        if len(chosen) == 1:
            rules.append(Rule(collective, ranks, 0, None, chosen.pop()))
        else:
            losses.append(
                f"{collective} on {ranks} ranks stays with the default: rules cannot tell its sizes apart, and at "
                f"different sizes different algorithms were chosen ({', '.join(sorted(chosen))})"
            )
    return rules, losses


def algorithm_for(rules: Iterable[Rule], cell: Cell) -> str:
    """Returns the algorithm that rules name for a cell; the default where there is none."""
    return next((rule.algorithm for rule in rules if rule.holds(cell)), DEFAULT)
