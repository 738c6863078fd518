"""The interface of a form of rules; each library's form has a file beside this one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from downbeat.tune.rules import Rule


@dataclass(frozen=True)
class Written:
    """Rules in a library's own form."""

    files: Mapping[str, str]  # name -> content, for one directory
    variables: Mapping[str, str]  # environment that switches them on; `{directory}` stands for the place of the files
    notes: Sequence[str]  # what whoever uses the rules must know

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
        """Whether rules can distinguish the sizes of a collective, in the same way on all ranks."""

    def unwritable(self, collective: str, algorithm: str) -> str:
        """Returns why rules cannot name an algorithm of a collective that can; empty if they can."""
        del collective, algorithm
        return ""

    @abstractmethod
    def forcing_variables(self, collective: str, algorithm: str) -> dict[str, str]:
        """Returns the environment that fixes an algorithm for a whole launch, where one launch can have but one.

        Empty where downbeat-bench can switch within a launch.
        """

    def sayable(self, rules: Sequence[Rule], ranks: Sequence[int]) -> tuple[list[Rule], list[str]]:
        """Returns the rules that can be written, and in words what was chosen but cannot.

        Args:
            rules: what was chosen.
            ranks: for which it was measured; some may have no rule, because the default stays.
        """
        del ranks
        return list(rules), []

    def launcher_arguments(self, variables: Mapping[str, str]) -> list[str]:
        """Returns the arguments of the library's launcher that set variables for all ranks."""
        return [word for name, value in variables.items() for word in ("-genv", name, value)]

    @abstractmethod
    def write(self, rules: Sequence[Rule]) -> Written:
        """Returns rules in the library's form."""
