"""Reads files of `downbeat-bench pairs` for `downbeat locate`.

The program measures pairs of nodes, each represented by a rank. A tournament measures all pairs within a group of
nodes; up to 4,096 nodes are one group. Nodes and pairs that seem slow are suspects; further looks measure them together
with controls, pairs that seem sound.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from downbeat.data.launch_file import open_netcdf, texts_in
from downbeat.data.netcdf import NetcdfFile
from downbeat.data.pairs import Pairs, PairTimes
from downbeat.errors import UsageError, reading
from downbeat.statistics.faults import BOTH
from downbeat.tables import Flags, Floats, Ints, Table, column

TOURNAMENT, SUSPECT, CONTROL = 0, 1, 2  # values of `Looks.role`
FRESH = 3  # value of `Looks.passed`


class Looks(Table):
    """A row for each measurement of a pair; nodes are indices in `PairGroup.names`."""

    round: Ints = column("round of the run", "1")
    a: Ints = column("index of the first node", "1")
    b: Ints = column("index of the second node, above that of the first", "1")
    passed: Ints = column("part of the run: 0 and 1 passes of the tournament, 2 second look, 3 fresh round", "1")
    role: Ints = column("purpose: 0 tournament, 1 suspect, 2 control of the preceding suspect", "1")
    suspect: Ints = column("index of the suspect in `PairGroup.suspects`; -1: tournament", "1")
    alone: Flags = column("true: no other pair was measured at the same time")
    size: Ints = column("size of the message", "B")
    seconds_ab: Floats = column("time of a message from a to b", "s")
    seconds_ba: Floats = column("time of a message from b to a", "s")

    @property
    def both(self) -> Floats:
        """Mean time of both directions, in which errors of clocks cancel, s."""
        return (self.seconds_ab + self.seconds_ba) / 2


class RankStates(Table):
    """A row for each rank, in the order of `PairGroup.ranks`; NaN: unknown."""

    loop_seconds: Floats = column("time that a loop of fixed work takes", "s")
    wake_delay: Floats = column("time by which a sleep of a millisecond is too long", "s")
    interruptions_per_s: Floats = column("interruptions of a busy loop, longer than a microsecond", "1/s")
    taken_share: Floats = column("share of a busy loop's time that its interruptions take", "1")
    clock_offset: Floats = column("offset of the rank's global clock to rank 0's", "s")
    clock_rate: Floats = column("rate of the rank's local clock relative to rank 0's, minus 1", "1")
    clock_residual: Floats = column("root mean square residual of comparisons of clocks with partners", "s")


@dataclass(frozen=True)
class PairGroup:
    """The measurements of a group of nodes; a file has one group or several.

    Attributes:
        names: names of the nodes: of their hosts, or of their ranks if ranks share a host.
        looks: all measurements of pairs.
        suspects: indices in `names` of each suspect that was looked at again: a node, or the two ends of a link.
        suspects_found: number of suspects, also of those that were not looked at again.
        ranks: names of all ranks of the run, of this and other groups and without a group.
        states: states of all ranks.
        setting: name of the group, "group 2 of 10"; empty if it is the only group.
    """

    names: tuple[str, ...]
    looks: Looks
    suspects: tuple[tuple[int, ...], ...]
    suspects_found: int
    ranks: tuple[str, ...]
    states: RankStates
    setting: str = ""

    def tournament(self) -> PairTimes:
        """Returns the times of the tournament, both directions together; the passes are launches."""
        looks = self.looks[np.flatnonzero((self.looks.role == TOURNAMENT) & (self.looks.both > 0))]
        pairs = Pairs(
            round=looks.round,
            a=looks.a,
            b=looks.b,
            direction=np.full(len(looks), BOTH),
            size=looks.size,
            value=looks.both,
            launch=looks.passed,
            alone=looks.alone,
        )
        return PairTimes(self.setting, self.names, pairs)


def is_pair_file(path: Path) -> bool:
    """Returns true if a path is a file of `downbeat-bench pairs`."""
    if not path.is_file() or path.suffix != ".nc":
        return False
    with open_netcdf(path) as file:
        return "rank_a" in file.variables


def read_pair_file(path: Path) -> list[PairGroup]:
    """Returns the groups of a file.

    Raises:
        UsageError: the file is damaged, of another program or of another experiment.
    """
    with open_netcdf(path) as file, reading(path):
        if "rank_a" not in file.variables:
            raise UsageError(f"'{path}' has no pairs; it is: {file.title}")
        looks = Looks(
            round=integers(file, "round"),
            a=integers(file, "rank_a"),
            b=integers(file, "rank_b"),
            passed=integers(file, "pass"),
            role=integers(file, "role"),
            suspect=integers(file, "suspect"),
            alone=integers(file, "alone") > 0,
            size=integers(file, "size"),
            seconds_ab=floats(file, "seconds_ab"),
            seconds_ba=floats(file, "seconds_ba"),
        )
        hosts = texts_in(file.variables["host"])
        ranks = np.unique(np.append(looks.a, looks.b))
        shared = len({hosts[rank] for rank in ranks}) < len(ranks)
        labels = tuple(f"rank {rank}" if shared else host for rank, host in enumerate(hosts))
        suspects = np.zeros((0, 2), dtype=np.int64)
        if "suspected_a" in file.variables:
            suspects = np.stack([integers(file, "suspected_a"), integers(file, "suspected_b")], axis=1)
        group_of_rank = np.ones(len(hosts), dtype=np.int64)  # files of earlier versions have one group
        suspects_found = np.array([getattr(file, "suspects_found", len(suspects))], dtype=np.int64)
        if "group" in file.variables:
            group_of_rank, suspects_found = integers(file, "group"), integers(file, "suspects_in_group")
        states = RankStates(**{each.name: floats(file, each.name) for each in RankStates.columns()})
        group_of_look = group_of_rank[looks.a]
        group_of_suspect = np.append(group_of_rank[suspects[:, 0]], 0)  # the last, index -1, is of no suspect
        expected = np.where(looks.suspect < 0, group_of_look, group_of_suspect[looks.suspect])
        if (group_of_rank[looks.b] != group_of_look).any() or (expected != group_of_look).any():
            raise ValueError("it has pairs between groups")
        return [
            PairGroup(
                names=tuple(labels[rank] for rank in members),
                looks=in_group.replaced(
                    a=np.searchsorted(members, in_group.a),
                    b=np.searchsorted(members, in_group.b),
                    suspect=np.append(np.cumsum(group_of_suspect == group)[:-1] - 1, -1)[in_group.suspect],
                ),
                suspects=tuple(
                    tuple(int(np.searchsorted(members, rank)) for rank in suspect if rank >= 0)
                    for suspect in suspects[group_of_suspect[:-1] == group]
                ),
                suspects_found=int(suspects_found[group - 1]),
                ranks=labels,
                states=states,
                setting=f"group {group} of {len(suspects_found)}" if len(suspects_found) > 1 else "",
            )
            for group in range(1, len(suspects_found) + 1)
            for in_group in [looks[group_of_look == group]]
            for members in [ranks[group_of_rank[ranks] == group]]
        ]


def integers(file: NetcdfFile, name: str) -> Ints:
    """Returns a variable of whole numbers or flags."""
    return np.asarray(file.variables[name][:], dtype=np.int64)


def floats(file: NetcdfFile, name: str) -> Floats:
    """Returns a variable of numbers; NaN where the file lacks it or it was never written."""
    if name not in file.variables:
        return np.full(file.dimensions["rank"], np.nan)
    values = np.asarray(file.variables[name][:], dtype=float)
    return np.where(np.abs(values) > 1e36, np.nan, values)
