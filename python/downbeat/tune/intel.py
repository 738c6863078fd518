"""Rules for Intel MPI: a variable per collective, I_MPI_ADJUST_BCAST="1:0-2147483647@2-2;7:0-2147483647@4-4".

Each rule is an algorithm's number, sizes from-to and numbers of ranks from-to (Intel MPI Library Developer Reference,
I_MPI_ADJUST Family). Version 2021.18 does less with it, by the calls of a counting operator in MPI_Reduce:

- there is one entry for a number of ranks; of two for the same, with different sizes, the last holds for all sizes;
- what no entry names is served by the last one, and not by the library's choice;
- algorithm 0 is not the library's choice either, but what it does without its tables.

So a rule is for all sizes, and once there is one, all numbers of ranks that were measured need one. The library reads
the variable in MPI_Init alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from downbeat.tune.rules_format import Rule, RulesFormat, Written, by_collective

ADJUST = "I_MPI_ADJUST_"
LARGEST_SIZE = 2147483647  # sizes are numbers of type int


class IntelRules(RulesFormat):
    """Rules of Intel MPI."""

    name = "Intel MPI variables I_MPI_ADJUST_*"

    def __init__(self, algorithms: Mapping[str, Sequence[str]]) -> None:
        """Makes the form for the blocking ones among the collectives that the library lists."""
        self._collectives = tuple(name for name in algorithms if not name.startswith("i"))

    def collectives(self) -> Sequence[str]:
        return self._collectives

    def has_sizes(self, collective: str) -> bool:  # noqa: ARG002
        return False

    def forcing_variables(self, collective: str, algorithm: str) -> dict[str, str]:
        return {ADJUST + collective.upper(): algorithm}

    def sayable(self, rules: Sequence[Rule], ranks: Sequence[int]) -> tuple[list[Rule], list[str]]:
        kept, losses = [], []
        for collective, each in by_collective(rules):
            without = sorted(set(ranks) - {rule.ranks for rule in each})
            if without:
                losses.append(
                    f"{collective} stays with the default: rules on "
                    f"{number_list(rule.ranks for rule in each)} ranks would "
                    f"take it away on {number_list(without)} ranks, for Intel MPI has no rule that means its own choice"
                )
            else:
                kept += each
        return kept, losses

    def write(self, rules: Sequence[Rule]) -> Written:
        variables = {
            ADJUST + collective.upper(): ";".join(
                f"{rule.algorithm}:0-{LARGEST_SIZE}@{rule.ranks}-{rule.ranks}" for rule in each
            )
            for collective, each in by_collective(rules)
        }
        notes = [
            "communicators of other numbers of ranks than those that were measured get the last algorithm of each "
            "variable"
        ]
        return Written({}, variables, notes)


def number_list(numbers: Iterable[int]) -> str:
    """Numbers in words."""
    return ", ".join(map(str, numbers))
