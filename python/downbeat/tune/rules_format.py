"""Defines rules, and the interface of the formats in which MPI libraries take them.

intel.py, mpich.py and open_mpi.py implement the formats.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

DEFAULT = "default"  # downbeat-bench's name of the library's own choice


@dataclass(frozen=True, order=True)
class Cell:
    """A case for which an algorithm is chosen: a collective with a size on a number of ranks."""

    collective: str
    ranks: int
    size: int  # bytes, as downbeat-bench counts them for the collective; 0: the collective has no size

    def __str__(self) -> str:
        return f"{self.collective} of {self.size} bytes on {self.ranks} ranks"


@dataclass(frozen=True)
class Rule:
    """An algorithm for a collective on exactly `ranks` ranks, for a range of sizes.

    Sizes are bytes as downbeat-bench counts them.
    """

    collective: str
    ranks: int
    first: int  # smallest size
    last: int | None  # largest size; None: no limit
    algorithm: str

    @property
    def sizes(self) -> str:
        """The range of sizes in words, e.g. "8-31"."""
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
    """Returns the rules for choices by size; neighboring measured sizes with the same choice share a rule.

    A rule holds from its smallest to its largest measured size, and not beyond: an algorithm that is fast at 512 bytes
    may take twice as long at 1,023. For sizes outside of rules, the library decides. Sizes whose choice is the default
    have no rule.
    """
    rules = []
    for (collective, ranks), group in groupby(sorted(choices), key=lambda cell: (cell.collective, cell.ranks)):
        for algorithm, neighbors in groupby(group, key=lambda cell: choices[cell]):
            sizes = [cell.size for cell in neighbors]
            if algorithm != DEFAULT:
                rules.append(Rule(collective, ranks, sizes[0], sizes[-1], algorithm))
    return rules


def sizeless_rules(choices: dict[Cell, str]) -> tuple[list[Rule], list[str]]:
    """Returns the rules for choices of a collective whose rules cannot have sizes, and sentences on lost choices.

    There is a rule for a number of ranks only if all measured sizes have the same choice.
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
    """Returns the algorithm that rules name for a cell; `DEFAULT` if no rule holds."""
    return next((rule.algorithm for rule in rules if rule.holds(cell)), DEFAULT)


def by_collective(rules: Iterable[Rule]) -> list[tuple[str, list[Rule]]]:
    """Returns each collective with its rules, sorted by ranks and size."""
    ordered = sorted(rules, key=lambda rule: (rule.collective, rule.ranks, rule.first))
    return [(name, list(group)) for name, group in groupby(ordered, key=lambda rule: rule.collective)]


@dataclass(frozen=True)
class Written:
    """Rules in the format of a library."""

    files: Mapping[str, str]  # name -> content
    variables: Mapping[str, str]  # environment that switches the rules on; {directory} is the directory of the files
    notes: Sequence[str]  # sentences for users of the rules

    def environment(self, directory: Path) -> dict[str, str]:
        """Returns the environment that switches on rules whose files are in a directory."""
        return {name: value.replace("{directory}", str(directory)) for name, value in self.variables.items()}


class RulesFormat(ABC):
    """The format in which a library takes rules. Sizes are bytes as downbeat-bench counts them, unless noted."""

    name: str  # of the format, for users

    @abstractmethod
    def collectives(self) -> Sequence[str]:
        """Returns the collectives that can have rules."""

    @abstractmethod
    def has_sizes(self, collective: str) -> bool:
        """Returns true if rules can distinguish the sizes of a collective, in the same way on all ranks."""

    def unwritable(self, collective: str, algorithm: str) -> str:
        """Returns the reason why rules cannot name an algorithm, although its collective has rules; empty: they can."""
        del collective, algorithm
        return ""

    def set_aside(self) -> dict[str, str]:
        """Returns variables that switch off the site's rules during the tuning; empty: not necessary.

        Necessary if the site's rules have precedence over an algorithm that is forced.
        """
        return {}

    @abstractmethod
    def forcing_variables(self, collective: str, algorithm: str) -> dict[str, str]:
        """Returns the environment that fixes an algorithm for a whole launch.

        Empty: downbeat-bench can switch between the algorithms of the collective within a launch.
        """

    def expressible(self, rules: Sequence[Rule], ranks: Sequence[int]) -> tuple[list[Rule], list[str]]:
        """Returns the rules that the format can express, and sentences on the lost choices.

        Args:
            rules: all rules.
            ranks: numbers of ranks that were measured, also those without a rule because the default stays.
        """
        del ranks
        return list(rules), []

    def launcher_arguments(self, variables: Mapping[str, str]) -> list[str]:
        """Returns the arguments of the library's launcher that set variables for all ranks."""
        return [word for name, value in variables.items() for word in ("-genv", name, value)]

    @abstractmethod
    def write(self, rules: Sequence[Rule]) -> Written:
        """Writes rules in the format of the library."""
