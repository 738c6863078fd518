"""Rules for Open MPI's coll_tuned: a file of numbers for Open MPI 4 and 5, and JSON for Open MPI 6.

Open MPI 4 and 5 read the numbers so (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c, coll_tuned_dynamic_rules.c):

    number of collectives
      number of the collective, number of communicator sizes
        communicator size, number of message sizes
          message size, algorithm, fan in/out, segment size

Communicator sizes and message sizes are lower bounds: an entry holds up to the next size. Exception: with fewer ranks
than the first communicator size, the library takes the first entry as well. The first message size must be 0. Algorithm
0 leaves the choice to the library. Text after # is a comment.

Open MPI 6 reads JSON (ompi_coll_tuned_read_rules_json). It takes the first entry of a collective that holds for the
communicator size, and in the entry the first rule that holds for the message size. Limits are included. If no rule
holds, the library decides. With a collective that the reader does not know, the whole file is ignored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from downbeat.run.open_mpi_settings import FILENAME, MCA, PREFIX, USE_RULES
from downbeat.tune.rules_format import Rule, RulesFormat, Written, by_collective

RULES_FILE = "rules.conf"
JSON_FILE = "coll_tuned.json"

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
# coll_tuned_decision_dynamic.c looks up these collectives without regard to their size: alltoallv with size 0, since no
# rank knows the sizes of all ranks; scan and exscan with the size of one element times the number of ranks (a bug: the
# count is missing). A barrier has no size.
SIZELESS = ("alltoallv", "barrier", "exscan", "scan")
# The library looks up these collectives by the bytes of all ranks together, while downbeat-bench's size is the bytes of
# one rank. It looks up the other collectives by the same size as downbeat-bench: for reduce_scatter the whole vector,
# for allgatherv the mean block of a rank.
TIMES_RANKS = ("allgather", "alltoall", "gather", "reduce_scatter_block", "scatter")

# Fan out of a forced algorithm, unless variables set another (coll_tuned_init_chain_fanout, _init_tree_fanout). Rules
# have the fan out of the forced algorithm, so that they switch on the algorithm that was measured.
FAN_OUT = 4
CHAINS = ("bcast", "reduce")  # rules of these have the fan out of chains, rules of other collectives that of trees


class OpenMpiRules(RulesFormat):
    """Rules of Open MPI 4 and 5."""

    name = "Open MPI rules file, version 1"
    file = RULES_FILE

    def __init__(
        self,
        version: int,
        algorithms: Mapping[str, Sequence[str]],
        environment: Mapping[str, str] = os.environ,
        site: str = "",
    ) -> None:
        """Makes the format.

        Args:
            version: major version of the library.
            algorithms: collective -> algorithms, in the order of the library's numbers, which begin with 1.
            environment: of the measured algorithms; variables of coll_tuned in it set fan outs and segments.
            site: path of the rules file that is in force before the tuning; empty: none.
        """
        self._site = site
        self._site_rules = self.read_rules(Path(site)) if site else {}
        self._version = version
        self._algorithms = algorithms
        self._environment = environment

    def read_rules(self, path: Path) -> dict[Any, Any]:
        """Reads a rules file: number of a collective -> number of ranks, a lower bound -> its entries.

        Empty if the file has another format.
        """
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
            numbers = iter([int(word) for line in text.splitlines() for word in line.partition("#")[0].split()])
            rules: dict[int, dict[int, list[Entry]]] = {}
            for _ in range(next(numbers)):
                collective = next(numbers)
                rules[collective] = {}
                for _ in range(next(numbers)):
                    ranks = next(numbers)
                    count = next(numbers)
                    rules[collective][ranks] = [
                        (next(numbers), next(numbers), next(numbers), next(numbers)) for _ in range(count)
                    ]
        except (OSError, ValueError, StopIteration):
            return {}
        return rules

    def collectives(self) -> Sequence[str]:
        return tuple(COLLECTIVE_NUMBERS)

    def has_sizes(self, collective: str) -> bool:
        return collective not in SIZELESS

    def set_aside(self) -> dict[str, str]:
        """Returns the environment that switches off the site's rules where they would come before a forced algorithm.

        In Open MPI 4.1, rules come before a variable that forces an algorithm; in 5, after it.
        """
        return {FILENAME: ""} if self._site and self._version < 5 else {}

    def forcing_variables(self, collective: str, algorithm: str) -> dict[str, str]:
        # Open MPI 4.1 and 5.0 register the variable of allgatherv as a constant, so it cannot change within a launch.
        # The other variables can be set within a launch, through MPI_T.
        if collective != "allgatherv":
            return {}
        return {
            USE_RULES: "1",
            f"{PREFIX}allgatherv_algorithm": str(self.number(collective, algorithm)),
        }

    def launcher_arguments(self, variables: Mapping[str, str]) -> list[str]:
        return [word for name, value in variables.items() for word in ("--mca", name.removeprefix(MCA), value)]

    def number(self, collective: str, algorithm: str) -> int:
        """Returns the library's number for an algorithm."""
        return list(self._algorithms[collective]).index(algorithm) + 1

    def write(self, rules: Sequence[Rule]) -> Written:
        variables = {USE_RULES: "1", FILENAME: "{directory}/" + self.file}
        notes = []
        if self._site:
            if self._site_rules:
                fate = f"its rules for collectives and numbers of ranks that were not tuned are part of {self.file}"
            else:
                fate = "no rules could be read in it: what it has is lost"
            notes.append(f"{self.file} replaces the rules file '{self._site}': {fate}")
        if self._version >= 5:
            variables[f"{PREFIX}priority"] = "100"
            notes.append(
                "coll_tuned_priority=100 lets coll_tuned, which alone reads rules, serve all collectives before "
                "coll/han: collectives that were not tuned then also run in coll_tuned instead of coll/han, which "
                "serves communicators across nodes"
            )
        return Written({self.file: self.text(rules)}, variables, notes)

    def text(self, rules: Sequence[Rule]) -> str:
        """Returns the content of the file."""
        tuned = {COLLECTIVE_NUMBERS[collective]: (collective, chosen) for collective, chosen in by_collective(rules)}
        numbers = sorted({*tuned, *self._site_rules})
        lines = [f"{len(numbers)} # collectives; rules for Open MPI's coll_tuned, written by downbeat tune"]
        for number in numbers:
            collective, chosen = tuned.get(number, (f"collective {number}", []))
            by_ranks = {ranks: list(group) for ranks, group in groupby(chosen, key=lambda rule: rule.ranks)}
            # Communicator sizes are lower bounds: ranks + 1 returns the choice to the library, or to the site's rules.
            site_entries = self._site_rules.get(number, {})
            comm_sizes = sorted({0} | set(by_ranks) | {ranks + 1 for ranks in by_ranks} | set(site_entries))
            lines += ["", f"{number} {len(comm_sizes)} # {collective}: communicator sizes"]
            for ranks in comm_sizes:
                if ranks in by_ranks:
                    entries = self._entries(collective, ranks, by_ranks[ranks])
                else:
                    # Keeps the site's rules for this number of ranks. For fewer ranks than its first entry, the library
                    # takes that entry (see above).
                    bound = max((size for size in site_entries if size <= ranks), default=min(site_entries, default=0))
                    entries = [
                        (*entry, "default" if entry[1] == 0 else "of the site")
                        for entry in site_entries.get(bound, [(0, 0, 0, 0)])
                    ]
                lines.append(f"{ranks} {len(entries)} # ranks: message sizes")
                lines += [
                    f"  {size} {algorithm} {fan_out} {segment} # {name}"
                    for size, algorithm, fan_out, segment, name in entries
                ]
        return "\n".join(lines) + "\n"

    def _entries(self, collective: str, ranks: int, rules: list[Rule]) -> list[tuple[int, int, int, int, str]]:
        """Returns the entries of rules for one communicator size, each an `Entry` and the algorithm's name."""
        scale = ranks if collective in TIMES_RANKS else 1
        kind = "chain" if collective in CHAINS else "tree"
        fan_out = self._variable(f"{collective}_algorithm_{kind}_fanout", FAN_OUT)
        segment = self._variable(f"{collective}_algorithm_segmentsize", 0)
        entries: dict[int, tuple[int, int, int, str]] = {0: (0, 0, 0, "default")}
        for rule in rules:
            number = self.number(collective, rule.algorithm)
            entries[rule.first * scale] = (number, fan_out, segment, rule.algorithm)
            if rule.last is not None:
                entries[(rule.last + 1) * scale] = (0, 0, 0, "default")  # overwritten if the next rule begins there
        return [(size, *entries[size]) for size in sorted(entries)]

    def _variable(self, name: str, default: int) -> int:
        """Returns the number that a variable of coll_tuned has in the environment, or a default."""
        return int(self._environment.get(PREFIX + name, default))


class OpenMpiJsonRules(OpenMpiRules):
    """Rules of Open MPI 6 and later."""

    name = "Open MPI rules file, JSON"
    file = JSON_FILE

    def read_rules(self, path: Path) -> dict[Any, Any]:
        """Reads a rules file: name of a collective -> its entries; empty if the file has another format."""
        try:
            collectives = json.loads(path.read_text(encoding="utf-8"))["collectives"]
            return {str(name): list(entries) for name, entries in collectives.items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return {}

    def text(self, rules: Sequence[Rule]) -> str:
        collectives: dict[str, list[Any]] = dict(self._site_rules)
        for collective, chosen in by_collective(rules):
            tuned = [
                {
                    "comm_size_min": ranks,
                    "comm_size_max": ranks,
                    "rules": self._message_rules(collective, ranks, list(group)),
                }
                for ranks, group in groupby(chosen, key=lambda rule: rule.ranks)
            ]
            collectives[collective] = [*tuned, *collectives.get(collective, [])]
        return json.dumps({"rule_file_version": 3, "module": "tuned", "collectives": collectives}, indent=2) + "\n"

    def _message_rules(self, collective: str, ranks: int, rules: list[Rule]) -> list[dict[str, int | str]]:
        """Returns the JSON rules of one communicator size; message sizes are bytes as the library looks them up."""
        entries = self._entries(collective, ranks, rules)
        next_sizes = [entry[0] for entry in entries[1:]]
        return [
            {
                "msg_size_min": size,
                "msg_size_max": next_sizes[index] - 1 if index < len(next_sizes) else "inf",
                "alg": name,
                "faninout": fan_out,
                "seg_size": segment,
                # A JSON rule must state the number of requests in flight, else it is 0. In a file of numbers, rules use
                # the variable's number.
                "reqs": self._variable(f"{collective}_algorithm_max_requests", 0),
            }
            for index, (size, number, fan_out, segment, name) in enumerate(entries)
            if number != 0
        ]
