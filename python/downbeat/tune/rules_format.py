"""The interface of a form of rules; each library's form has a file beside this one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

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
        """Returns true if the rule is for a cell."""
        return (
            (cell.collective, cell.ranks) == (self.collective, self.ranks)
            and self.first <= cell.size
            and (self.last is None or cell.size <= self.last)
        )


def rules_of(choices: dict[Cell, str]) -> list[Rule]:
    """Returns the rules for choices by size; neighboring sizes with the same choice share one.

    A choice holds between two measured sizes that share it, and at a size whose neighbors have other ones for that size
    alone: an algorithm that is fast at 512 bytes may take twice as long at 1,023. Elsewhere nothing was measured, and
    the library decides as it did. Sizes that keep the default have no rule.
    """
    rules = []
    for (collective, ranks), group in groupby(sorted(choices), key=lambda cell: (cell.collective, cell.ranks)):
        for algorithm, run in groupby(group, key=lambda cell: choices[cell]):
            sizes = [cell.size for cell in run]
            if algorithm != DEFAULT:
                rules.append(Rule(collective, ranks, sizes[0], sizes[-1], algorithm))
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
    """Returns the algorithm that rules name for a cell; the default where no rule holds."""
    return next((rule.algorithm for rule in rules if rule.holds(cell)), DEFAULT)


def by_collective(rules: Iterable[Rule]) -> list[tuple[str, list[Rule]]]:
    """Returns the rules of each collective, by ranks and size."""
    ordered = sorted(rules, key=lambda rule: (rule.collective, rule.ranks, rule.first))
    return [(name, list(group)) for name, group in groupby(ordered, key=lambda rule: rule.collective)]


@dataclass(frozen=True)
class Written:
    """Rules in a library's own form."""

    files: Mapping[str, str]  # name -> content, for one directory
    variables: Mapping[str, str]  # environment that switches them on; `{directory}` is that of the files
    notes: Sequence[str]  # what users of the rules must know

    def environment(self, directory: Path) -> dict[str, str]:
        """Returns the environment, for files in a directory."""
        return {name: value.replace("{directory}", str(directory)) for name, value in self.variables.items()}


class RulesFormat(ABC):
    """The form in which a library takes rules. Sizes are bytes as downbeat-bench counts them, unless said otherwise."""

    name: str  # of the form, for people

    @abstractmethod
    def collectives(self) -> Sequence[str]:
        """Returns the collectives that rules can be for."""

    @abstractmethod
    def has_sizes(self, collective: str) -> bool:
        """Returns true if rules can distinguish the sizes of a collective, in the same way on all ranks."""

    def unwritable(self, collective: str, algorithm: str) -> str:
        """Returns the reason if rules cannot name an algorithm, although they can be for its collective; else empty."""
        del collective, algorithm
        return ""

    def set_aside(self) -> dict[str, str]:
        """Returns the environment without the rules of the site that would come before an algorithm that is forced."""
        return {}

    @abstractmethod
    def forcing_variables(self, collective: str, algorithm: str) -> dict[str, str]:
        """Returns the environment that fixes an algorithm for a whole launch, where one launch can have but one.

        Empty where downbeat-bench can switch within a launch.
        """

    def sayable(self, rules: Sequence[Rule], ranks: Sequence[int]) -> tuple[list[Rule], list[str]]:
        """Returns the rules that can be written, and in words the choices that cannot.

        Args:
            rules: the choices.
            ranks: for which it was measured; some may have no rule, because the default stays.
        """
        del ranks
        return list(rules), []

    def launcher_arguments(self, variables: Mapping[str, str]) -> list[str]:
        """Returns the arguments of the library's launcher that set variables for all ranks."""
        return [word for name, value in variables.items() for word in ("-genv", name, value)]

    @abstractmethod
    def write(self, rules: Sequence[Rule]) -> Written:
        """Rules in the library's form."""
