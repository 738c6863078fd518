"""Rules for Intel MPI: a variable per collective, I_MPI_ADJUST_BCAST="1:0-127@2-2;7:128-1024@2-2".

Each rule is an algorithm's number and, behind a colon, the sizes from-to and, behind @, the numbers of ranks from-to,
all included (Intel MPI Library Developer Reference, I_MPI_ADJUST Family). What no rule names is the library's choice.
The library reads the variable in MPI_Init alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from downbeat.tune.formats.rules_format import RulesFormat, Written
from downbeat.tune.rules import Rule

PREFIX = "I_MPI_ADJUST_"
LARGEST = 2147483647  # sizes are numbers of type int
SIZELESS = ("barrier", "alltoallv", "alltoallw", "gatherv", "scatterv")


class IntelRules(RulesFormat):
    """Rules of Intel MPI."""

    name = "Intel MPI variables I_MPI_ADJUST_*"

    def __init__(self, algorithms: Mapping[str, Sequence[str]]) -> None:
        """Makes the form for the blocking ones among the collectives that the library lists."""
        self._collectives = tuple(name for name in algorithms if not name.startswith("i"))

    def collectives(self) -> Sequence[str]:
        return self._collectives

    def has_sizes(self, collective: str) -> bool:
        # No rank of an irregular collective knows the sizes of all.
        return collective not in SIZELESS

    def forcing_variables(self, collective: str, algorithm: str) -> dict[str, str]:
        return {PREFIX + collective.upper(): algorithm}

    def write(self, rules: Sequence[Rule]) -> Written:
        ordered = sorted(rules, key=lambda rule: (rule.collective, rule.ranks, rule.first))
        variables = {
            PREFIX + collective.upper(): ";".join(map(self._condition, each))
            for collective, each in groupby(ordered, key=lambda rule: rule.collective)
        }
        return Written({}, variables, ())

    def _condition(self, rule: Rule) -> str:
        last = LARGEST if rule.last is None else rule.last
        return f"{rule.algorithm}:{rule.first}-{last}@{rule.ranks}-{rule.ranks}"
