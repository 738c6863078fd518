"""Reads files of `downbeat-bench pairs` for `downbeat locate`.

A tournament measures all pairs of ranks. Pairs that seem slow are suspects; further looks measure them together with
controls, pairs that seem sound.
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
    """A row for each look at a pair; the ranks are numbered as `PairFile.names`."""

    round: Ints = column("round of the run", "1")
    a: Ints = column("index of the lower end", "1")
    b: Ints = column("index of the higher end", "1")
    passed: Ints = column("0 and 1 tournament, 2 second look, 3 fresh round", "1")
    role: Ints = column("0 tournament, 1 suspect, 2 control of the preceding suspect", "1")
    suspect: Ints = column("number of the suspect; -1: none", "1")
    alone: Flags = column("no other pair was measured at the same time")
    size: Ints = column("size of the message", "B")
    seconds_ab: Floats = column("time of a message from a to b", "s")
    seconds_ba: Floats = column("time of a message from b to a", "s")

    @property
    def both(self) -> Floats:
        """Mean time of both directions, in which errors of clocks cancel, s."""
        return (self.seconds_ab + self.seconds_ba) / 2


class RankStates(Table):
    """A row for each rank, of `RankStates.names` in `PairFile`; NaN where unknown."""

    loop_seconds: Floats = column("time that a loop of fixed work takes", "s")
    wake_delay: Floats = column("time by which a sleep of a millisecond is too long", "s")
    interruptions_per_s: Floats = column("interruptions of a busy loop", "1/s")
    taken_share: Floats = column("share of a busy loop's time that its interruptions take", "1")
    clock_offset: Floats = column("offset of the rank's global clock to rank 0's", "s")
    clock_rate: Floats = column("rate of the rank's local clock relative to rank 0's, minus 1", "1")
    clock_residual: Floats = column("how far comparisons with partners are from the consensus of all", "s")


@dataclass(frozen=True)
class PairFile:
    """The content of a file.

    Attributes:
        names: names of the ranks that took part: hosts, or rank numbers if ranks share a host.
        looks: all measurements.
        suspects: indices in `names` of each suspect: a node, or the two ends of a link.
        suspects_found: number of suspects before it was limited.
        ranks: names of all ranks, also of ranks that did not take part.
        states: states of all ranks.
    """

    names: tuple[str, ...]
    looks: Looks
    suspects: tuple[tuple[int, ...], ...]
    suspects_found: int
    ranks: tuple[str, ...]
    states: RankStates

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
        return PairTimes("", self.names, pairs)


def is_pair_file(path: Path) -> bool:
    """Returns true if a path is a file of `downbeat-bench pairs`."""
    if not path.is_file() or path.suffix != ".nc":
        return False
    with open_netcdf(path) as file:
        return "rank_a" in file.variables


def read_pair_file(path: Path) -> PairFile:
    """Returns the content of a file.

    Raises:
        UsageError: the file is damaged, of another program or of another experiment.
    """
    with open_netcdf(path) as file, reading(path):
        if "rank_a" not in file.variables:
            raise UsageError(f"'{path}' has no pairs; it is: {file.title}")
        ends = np.stack([integers(file, "rank_a"), integers(file, "rank_b")])
        ranks = np.unique(ends)
        hosts = texts_in(file.variables["host"])
        shared = len({hosts[rank] for rank in ranks}) < len(ranks)
        labels = tuple(f"rank {rank}" if shared else host for rank, host in enumerate(hosts))
        index = {int(rank): number for number, rank in enumerate(ranks)}
        a, b = np.searchsorted(ranks, ends)
        suspects = np.zeros((0, 2), dtype=np.int64)
        if "suspected_a" in file.variables:
            suspects = np.stack([integers(file, "suspected_a"), integers(file, "suspected_b")], axis=1)
        return PairFile(
            names=tuple(labels[rank] for rank in ranks),
            looks=Looks(
                round=integers(file, "round"),
                a=a,
                b=b,
                passed=integers(file, "pass"),
                role=integers(file, "role"),
                suspect=integers(file, "suspect"),
                alone=integers(file, "alone") > 0,
                size=integers(file, "size"),
                seconds_ab=floats(file, "seconds_ab"),
                seconds_ba=floats(file, "seconds_ba"),
            ),
            suspects=tuple(tuple(index[int(rank)] for rank in each if rank >= 0) for each in suspects),
            suspects_found=int(getattr(file, "suspects_found", len(suspects))),
            ranks=labels,
            states=RankStates(**{each.name: floats(file, each.name) for each in RankStates.columns()}),
        )


def integers(file: NetcdfFile, name: str) -> Ints:
    """Returns a variable of whole numbers or flags."""
    return np.asarray(file.variables[name][:], dtype=np.int64)


def floats(file: NetcdfFile, name: str) -> Floats:
    """Returns a variable of numbers; NaN where the file lacks it or it was never written."""
    if name not in file.variables:
        return np.full(file.dimensions["rank"], np.nan)
    values = np.asarray(file.variables[name][:], dtype=float)
    return np.where(np.abs(values) > 1e36, np.nan, values)
