"""Writes tuned rules for Intel MPI: a variable per collective.

Example: I_MPI_ADJUST_BCAST="1:0-2147483647@2-2;7:0-2147483647@4-4". An entry is the number of an algorithm, a range of
sizes and a range of numbers of ranks (Intel MPI Library Developer Reference, I_MPI_ADJUST Family). Version 2021.18 does
less than documented, as a counting operator in MPI_Reduce shows:

- It uses one entry per number of ranks. If two entries with different sizes have the same number of ranks, the last one
  holds for all sizes.
- If no entry has the number of ranks of a call, the last entry holds, and not the library's own choice.
- Algorithm 0 is not the library's own choice, either: it is the choice that the library makes without its tables.

So a rule is for all sizes, and a collective with a rule needs a rule for every number of ranks that was measured. The
library reads the variable only in MPI_Init.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from downbeat.tune.rules_format import Rule, RulesFormat, Written, by_collective

ADJUST = "I_MPI_ADJUST_"
LARGEST_SIZE = 2147483647  # sizes are numbers of type int


class IntelRules(RulesFormat):
    """Rules of Intel MPI."""

    name = "Intel MPI variables I_MPI_ADJUST_*"

    def __init__(self, algorithms: Mapping[str, Sequence[str]]) -> None:
        """Makes the format.

        Args:
            algorithms: collective -> algorithms; nonblocking collectives, whose names begin with i, have no rules.
        """
        self._collectives = tuple(name for name in algorithms if not name.startswith("i"))

    def collectives(self) -> Sequence[str]:
        return self._collectives

    def has_sizes(self, collective: str) -> bool:  # noqa: ARG002
        return False

    def forcing_variables(self, collective: str, algorithm: str) -> dict[str, str]:
        return {ADJUST + collective.upper(): algorithm}

    def expressible(self, rules: Sequence[Rule], ranks: Sequence[int]) -> tuple[list[Rule], list[str]]:
        expressible, losses = [], []
        for collective, chosen in by_collective(rules):
            ranks_without_rule = sorted(set(ranks) - {rule.ranks for rule in chosen})
            if ranks_without_rule:
                losses.append(
                    f"{collective} stays with the default: rules on "
                    f"{', '.join(str(rule.ranks) for rule in chosen)} ranks would "
                    f"take it away on {', '.join(map(str, ranks_without_rule))} ranks, for Intel MPI has no rule that "
                    "means its own choice"
                )
            else:
                expressible += chosen
        return expressible, losses

    def write(self, rules: Sequence[Rule]) -> Written:
        variables = {
            ADJUST + collective.upper(): ";".join(
                f"{rule.algorithm}:0-{LARGEST_SIZE}@{rule.ranks}-{rule.ranks}" for rule in chosen
            )
            for collective, chosen in by_collective(rules)
        }
        notes = [
            "communicators of other numbers of ranks than those that were measured get the last algorithm of each "
            "variable"
        ]
        return Written({}, variables, notes)
