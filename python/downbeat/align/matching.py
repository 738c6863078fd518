"""Which calls of several ranks are the same collective."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from downbeat.align.calls import Calls, Integers, RankTrace
from downbeat.base.text import counted

TO_ALL = ("allgather", "allreduce", "barrier", "alltoall", "reduce_scatter", "reduce_scatter_block")
FROM_ROOT = ("bcast", "scatter")
TO_ROOT = ("gather", "reduce")
# Of other operations a rank may leave before another one enters: allgatherv, alltoallv (empty blocks), a scan.
ORDERING = (*TO_ALL, *FROM_ROOT, *TO_ROOT)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Group:
    """Calls of one group of ranks: a row per call, a column per rank.

    Attributes:
        name: of the group.
        ranks: of the job, ascending.
        operation, number, size, root: of each call; see `Calls`. The number is the sequence number, else the place.
        entry, exit: ns on each rank's own clock.
        missing: the rank has no such call.
        unsure: of each rank: nothing shows which of its calls are which, so they limit nobody.
    """

    name: str
    ranks: Integers
    operation: NDArray[np.str_]
    number: Integers
    size: Integers
    root: Integers
    entry: Integers
    exit: Integers
    missing: NDArray[np.bool_]
    unsure: NDArray[np.bool_]

    def before(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Returns whose entries come before whose exits, of each call and rank: two masks like `entry`."""
        is_root = self.root[:, None] == self.ranks
        at_all = np.isin(self.operation, TO_ALL)[:, None]
        down = np.isin(self.operation, FROM_ROOT)[:, None]
        up = np.isin(self.operation, TO_ROOT)[:, None]
        # Without data nobody has to wait, but in a barrier.
        empty = (self.size == 0) & (self.operation != "barrier")
        there = ~self.missing & ~empty[:, None] & ~self.unsure
        return there & (at_all | up | (down & is_root)), there & (at_all | down | (up & is_root))


def match(traces: Sequence[RankTrace]) -> tuple[list[Group], list[str]]:
    """Returns the groups of two ranks and more, and what was left out, a line each.

    Calls with sequence numbers match by them. Calls without match by their order, as long as operations agree.
    """
    members: dict[str, list[tuple[int, Calls]]] = defaultdict(list)
    for trace in traces:
        for calls in trace.calls:
            members[calls.group].append((trace.rank, calls))
    groups, notes = [], []
    for name, mine in sorted(members.items()):
        mine.sort(key=lambda member: member[0])
        if len(mine) < 2:
            if len(mine[0][1].entry):
                notes.append(f"group {name}: only rank {mine[0][0]} has calls of it ({len(mine[0][1].entry)})")
            continue
        group, left_out = match_group(name, mine)
        notes += left_out
        if len(group.number):
            groups.append(group)
    return groups, notes


def some_of(ranks: Sequence[int]) -> str:
    """Returns the first of some ranks, as words."""
    return ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")


def tied_groups(groups: Sequence[Group]) -> list[list[Group]]:
    """Returns the groups that share ranks, directly or through others, together; those of the lowest rank first."""
    tied: list[tuple[set[int], list[Group]]] = []
    for group in groups:
        ranks, together = set(group.ranks.tolist()), [group]
        for one in [one for one in tied if one[0] & ranks]:
            tied.remove(one)
            ranks, together = ranks | one[0], one[1] + together
        tied.append((ranks, together))
    return [together for _, together in sorted(tied, key=lambda one: min(one[0]))]


def match_group(name: str, members: Sequence[tuple[int, Calls]]) -> tuple[Group, list[str]]:
    """Returns the calls of a group that two ranks or more have, and what was left out."""
    notes = []
    ranks = np.array([rank for rank, _ in members])
    if all(calls.sequence is not None for _, calls in members):
        keys = [np.asarray(calls.sequence) for _, calls in members]
        for (rank, _), key in zip(members, keys, strict=True):
            if len(np.unique(key)) < len(key):
                notes.append(f"group {name}: rank {rank} has {counted(len(key) - len(np.unique(key)), 'call')} twice")
    else:
        keys = [np.arange(len(calls.entry)) for _, calls in members]
        counts = [len(key) for key in keys]
        if min(counts) < max(counts):
            fewest = int(np.argmin(counts))
            notes.append(
                f"group {name}: rank {ranks[fewest]} has {counts[fewest]} calls, others up to {max(counts)}; "
                "they have no sequence numbers, so the first ones are taken as the same"
            )
    without = sorted({rank for _, calls in members for rank in calls.ranks} - set(ranks.tolist()))
    if without:
        notes.append(f"group {name}: no trace of rank {some_of(without)}; waiting for it counts as the operation")
    number = np.unique(np.concatenate(keys))
    shape = (len(number), len(members))
    entry, end = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    missing = np.ones(shape, dtype=bool)
    size, root = np.full(shape, -1, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
    words = np.full(shape, "", dtype=max((calls.operation.dtype for _, calls in members), key=lambda t: t.itemsize))
    for column, ((_, calls), key) in enumerate(zip(members, keys, strict=True)):
        row = np.searchsorted(number, key)
        entry[row, column], end[row, column], missing[row, column] = calls.entry, calls.exit, False
        size[row, column], root[row, column], words[row, column] = calls.size, calls.root, calls.operation
    operation = words[np.arange(len(number)), np.argmin(missing, axis=1)]
    differ = ((words != operation[:, None]) & ~missing).any(axis=1)
    if differ.any():
        first = int(np.argmax(differ))
        seen = ", ".join(sorted(set(words[first][~missing[first]])))
        count = counted(int(differ.sum()), "call")
        notes.append(f"group {name}: {count} with different operations, first call {number[first]}: {seen}")
    alone = (~missing).sum(axis=1) < 2
    if (alone & ~differ).any():
        notes.append(f"group {name}: {counted(int((alone & ~differ).sum()), 'call')} of one rank only")
    keep = ~differ & ~alone
    group = Group(
        name,
        ranks,
        operation[keep],
        number[keep],
        size.max(axis=1)[keep],
        root.max(axis=1)[keep],
        entry[keep],
        end[keep],
        missing[keep],
        np.zeros(len(ranks), dtype=bool),
    )
    return group, notes
