"""Rules for Open MPI's coll_tuned: a file of numbers, version 1, which Open MPI 4 and 5 read.

The reader understands it so (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c, coll_tuned_dynamic_rules.c):

    number of collectives
      number of the collective, number of communicator sizes
        communicator size, number of message sizes
          message size, algorithm, fan in/out, segment size

Communicator and message sizes are lower bounds of what follows them; the first message size must be 0; algorithm 0
leaves the choice to the library; text after # is a comment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from downbeat.tune.rules_format import Rule, RulesFormat, Written, by_collective

RULES_FILE = "rules.conf"
MCA = "OMPI_MCA_"
PREFIX = f"{MCA}coll_tuned_"
FILENAME = "dynamic_rules_filename"

Entry = tuple[int, int, int, int]  # message size in bytes, algorithm, fan in/out, segment size in bytes

# Numbers of collectives: enumeration COLLTYPE of ompi/mca/coll/base/coll_base_functions.h, the same in 4.1 and 5.0.
COLLECTIVE_NUMBERS = {
    "allgather": 0,
    "allgatherv": 1,
    "allreduce": 2,
    "alltoall": 3,
    "alltoallv": 4,
    "barrier": 6,
    "bcast": 7,
    "exscan": 8,
    "gather": 9,
    "reduce": 11,
    "reduce_scatter": 12,
    "reduce_scatter_block": 13,
    "scan": 14,
    "scatter": 15,
}
# coll_tuned_decision_dynamic.c looks these up without regard to their size: alltoallv as 0, since no rank knows the
# sizes of all; scan and exscan as the size of one element times the ranks, where the count was forgotten.
SIZELESS = ("alltoallv", "barrier", "exscan", "scan")
# Looked up by the bytes of all ranks together, where downbeat-bench's size is that of one. The others are looked up by
# the size itself: that of reduce_scatter is of a whole vector in both, that of allgatherv the mean over ranks.
TIMES_RANKS = ("allgather", "alltoall", "gather", "reduce_scatter_block", "scatter")

# An algorithm that is forced has these fan outs unless variables say otherwise (coll_tuned_init_chain_fanout and
# tree_fanout): the rules must switch on the algorithm that was measured.
FAN_OUT = 4
CHAINS = ("bcast", "reduce")  # their fan in/out is that of chains


class OpenMpiRules(RulesFormat):
    """Rules of Open MPI 4 and 5."""

    name = "Open MPI rules file, version 1"

    def __init__(
        self,
        version: int,
        algorithms: Mapping[str, Sequence[str]],
        environment: Mapping[str, str] = os.environ,
        site: str = "",
    ) -> None:
        """Makes the form.

        Args:
            version: the major one of the library.
            algorithms: by collective, in the order of the library's numbers, which begin with 1.
            environment: in which algorithms are measured; variables of coll_tuned in it set fan outs and segments.
            site: path of the rules file that is in force before the tuning; empty: none.
        """
        self._site = site
        self._site_rules = read_rules(Path(site)) if site else {}
        self._version = version
        self._algorithms = algorithms
        self._environment = environment

    def collectives(self) -> Sequence[str]:
        return tuple(COLLECTIVE_NUMBERS)

    def has_sizes(self, collective: str) -> bool:
        return collective not in SIZELESS

    def set_aside(self) -> dict[str, str]:
        # 4.1 lets rules decide before a variable that forces an algorithm, 5 after it.
        return {f"{PREFIX}{FILENAME}": ""} if self._site and self._version < 5 else {}

    def forcing_variables(self, collective: str, algorithm: str) -> dict[str, str]:
        # Registered as a constant in 4.1 and 5.0.
        if collective != "allgatherv":
            return {}
        return {
            f"{PREFIX}use_dynamic_rules": "1",
            f"{PREFIX}allgatherv_algorithm": str(self.number(collective, algorithm)),
        }

    def launcher_arguments(self, variables: Mapping[str, str]) -> list[str]:
        return [word for name, value in variables.items() for word in ("--mca", name.removeprefix(MCA), value)]

    def number(self, collective: str, algorithm: str) -> int:
        """Returns the library's number for an algorithm."""
        return list(self._algorithms[collective]).index(algorithm) + 1

    def write(self, rules: Sequence[Rule]) -> Written:
        variables = {f"{PREFIX}use_dynamic_rules": "1", f"{PREFIX}{FILENAME}": "{directory}/" + RULES_FILE}
        notes = []
        if self._site:
            kept = (
                f"its rules for collectives and numbers of ranks that were not tuned are part of {RULES_FILE}"
                if self._site_rules
                else "no rules could be read in it: what it has is lost"
            )
            notes.append(f"{RULES_FILE} replaces the rules file '{self._site}': {kept}")
        if self._version >= 5:
            variables[f"{PREFIX}priority"] = "100"
            notes.append(
                "coll_tuned_priority=100 lets coll_tuned, which alone reads rules, serve all collectives before "
                "coll/han: what was not tuned changes hands as well where han served it, which is across nodes"
            )
        return Written({RULES_FILE: self.text(rules)}, variables, notes)

    def text(self, rules: Sequence[Rule]) -> str:
        """Returns the content of the file."""
        tuned = {COLLECTIVE_NUMBERS[collective]: (collective, some) for collective, some in by_collective(rules)}
        numbers = sorted({*tuned, *self._site_rules})
        lines = [f"{len(numbers)} # collectives; rules for Open MPI's coll_tuned, written by downbeat tune"]
        for number in numbers:
            collective, some = tuned.get(number, (f"collective {number}", []))
            by_ranks = {ranks: list(each) for ranks, each in groupby(some, key=lambda rule: rule.ranks)}
            # Lower bounds: above each measured number of ranks the library, or the site, decides again.
            of_site = self._site_rules.get(number, {})
            sizes = sorted({0} | set(by_ranks) | {ranks + 1 for ranks in by_ranks} | set(of_site))
            lines += ["", f"{number} {len(sizes)} # {collective}: communicator sizes"]
            for ranks in sizes:
                entries = self._entries(collective, ranks, by_ranks[ranks]) if ranks in by_ranks else []
                if not entries:
                    # The first one is for fewer ranks as well.
                    least = max((size for size in of_site if size <= ranks), default=min(of_site, default=0))
                    before = of_site.get(least, [(0, 0, 0, 0)])
                    entries = [(*entry, "default" if entry[1] == 0 else "of the site") for entry in before]
                lines.append(f"{ranks} {len(entries)} # ranks: message sizes")
                lines += [
                    f"  {size} {algorithm} {fan_out} {segment} # {name}"
                    for size, algorithm, fan_out, segment, name in entries
                ]
        return "\n".join(lines) + "\n"

    def _entries(self, collective: str, ranks: int, rules: list[Rule]) -> list[tuple[int, int, int, int, str]]:
        """Returns message size, algorithm, fan in/out, segment size and the name for one communicator size."""
        scale = ranks if collective in TIMES_RANKS else 1
        entries: dict[int, tuple[int, int, int, str]] = {0: (0, 0, 0, "default")}
        for rule in rules:
            number = self.number(collective, rule.algorithm)
            entries[rule.first * scale] = (number, self._fan_out(collective), self._segment(collective), rule.algorithm)
            if rule.last is not None:
                entries[(rule.last + 1) * scale] = (0, 0, 0, "default")  # unless the next rule begins there
        return [(size, *entries[size]) for size in sorted(entries)]

    def _fan_out(self, collective: str) -> int:
        kind = "chain" if collective in CHAINS else "tree"
        return self._number_of(f"{collective}_algorithm_{kind}_fanout", FAN_OUT)

    def _segment(self, collective: str) -> int:
        return self._number_of(f"{collective}_algorithm_segmentsize", 0)

    def _number_of(self, variable: str, otherwise: int) -> int:
        return int(self._environment.get(PREFIX + variable, otherwise))


def read_rules(path: Path) -> dict[int, dict[int, list[Entry]]]:
    """Returns the rules of a file, by number of the collective and least number of ranks; none of another form."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        numbers = iter([int(word) for line in text.splitlines() for word in line.partition("#")[0].split()])
        return {
            next(numbers): {
                next(numbers): [
                    (next(numbers), next(numbers), next(numbers), next(numbers)) for _ in range(next(numbers))
                ]
                for _ in range(next(numbers))
            }
            for _ in range(next(numbers))
        }
    except (OSError, ValueError, StopIteration):
        return {}
