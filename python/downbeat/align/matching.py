"""Matches the calls of several ranks that belong to the same collective, for each group of ranks.

A group is a communicator or process group. Calls match by sequence numbers if the trace has them, else by their order
(call_order.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from downbeat.align.call_order import match_by_order
from downbeat.align.calls import Calls, Integers, RankTrace
from downbeat.data.collectives import collectives
from downbeat.output.facts import Fact
from downbeat.output.facts.alignment import (
    CallsOfOneRank,
    MatchedByOrder,
    OnlyRankOfGroup,
    OperationsDiffer,
    OrderNotKnown,
    RanksWithoutPartner,
    RanksWithoutTrace,
    RepeatedCalls,
)

TO_ALL = collectives("all", limits_clocks=True)  # operations in which every rank waits for every rank
FROM_ROOT = collectives("from root", limits_clocks=True)  # operations in which every rank waits for the root
TO_ROOT = collectives("to root", limits_clocks=True)  # operations in which the root waits for every rank
# Operations that limit clocks. In others a rank may leave before another enters: allgatherv, alltoallv (empty blocks),
# scan.
ORDERING = (*TO_ALL, *FROM_ROOT, *TO_ROOT)

REFERENCES = 2  # number of ranks with known calls to which another rank's calls are matched

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GroupCalls:
    """Calls of a group of ranks: a row per call, a column per rank.

    Attributes:
        name: name of the group.
        ranks: ranks in the job, ascending.
        operation: operation of each call.
        number: sequence number of each call; if the trace has none, its index.
        size: bytes of each call; -1: not known.
        root: root of each call, as a rank in the job; -1: none, or not known.
        entry: begin of each call on each rank, ns on the rank's clock.
        exit: end of each call on each rank, ns on the rank's clock.
        missing: flags of calls and ranks; true: the rank has no such call.
        unsure: flags of ranks; true: the match of the rank's calls is undecided, so they give no limits.
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
        """Returns flags of entries and of exits: every flagged entry of a call precedes its flagged exits."""
        is_root = self.root[:, None] == self.ranks
        at_all = np.isin(self.operation, TO_ALL)[:, None]
        down = np.isin(self.operation, FROM_ROOT)[:, None]
        up = np.isin(self.operation, TO_ROOT)[:, None]
        # Without data no rank has to wait, except in a barrier.
        empty = (self.size == 0) & (self.operation != "barrier")
        there = ~self.missing & ~empty[:, None] & ~self.unsure
        return there & (at_all | up | (down & is_root)), there & (at_all | down | (up & is_root))


def match(traces: Sequence[RankTrace]) -> tuple[list[GroupCalls], list[Fact]]:
    """Matches the calls of each group; returns groups with at least two ranks, and facts on calls left out."""
    groups, notes = [], list[Fact]()
    for name, members in members_of(traces):
        if len(members) < 2:
            if len(members[0][1].entry):
                notes.append(OnlyRankOfGroup(name, members[0][0], len(members[0][1].entry)))
            continue
        group, left_out = match_group(name, members)
        notes += left_out
        if len(group.number):
            groups.append(group)
    return groups, notes


def members_of(traces: Sequence[RankTrace]) -> list[tuple[str, list[tuple[int, Calls]]]]:
    """Returns the name of each group and its members by rank; a group is identified by its name and its ranks.

    Calls of a group whose ranks are not known belong to the only group with this name that has their rank.
    """
    named: dict[str, dict[tuple[int, ...], list[tuple[int, Calls]]]] = defaultdict(lambda: defaultdict(list))
    for trace in traces:
        for calls in trace.calls:
            named[calls.group][tuple(sorted(calls.ranks))].append((trace.rank, calls))
    groups = []
    for name, sets in sorted(named.items()):
        silent = sets.pop((), [])
        for rank, calls in silent:
            fitting = [
                ranks for ranks in sets if rank in ranks and all(rank != member_rank for member_rank, _ in sets[ranks])
            ]
            sets[fitting[0] if len(fitting) == 1 else ()].append((rank, calls))
        for ranks, members in sorted(sets.items()):
            members.sort(key=lambda member: member[0])
            unique = name
            if len(sets) > 1:
                listed = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
                unique = f"{name} (ranks {listed or 'not known'})"
            groups.append((unique, members))
    return groups


def tied_groups(groups: Sequence[GroupCalls]) -> list[list[GroupCalls]]:
    """Returns the connected components of groups that share ranks; the component of the lowest rank comes first."""
    tied: list[tuple[set[int], list[GroupCalls]]] = []
    for group in groups:
        ranks, tied_to_group = set(group.ranks.tolist()), [group]
        for component in [component for component in tied if component[0] & ranks]:
            tied.remove(component)
            ranks, tied_to_group = ranks | component[0], component[1] + tied_to_group
        tied.append((ranks, tied_to_group))
    return [component for _, component in sorted(tied, key=lambda component: min(component[0]))]


def match_group(name: str, members: Sequence[tuple[int, Calls]]) -> tuple[GroupCalls, list[Fact]]:
    """Returns the calls of a group that at least two ranks have, and facts on calls left out."""
    ranks = np.array([rank for rank, _ in members])
    keys, unsure, notes = keys_of(name, members)
    without = sorted({rank for _, calls in members for rank in calls.ranks} - set(ranks.tolist()))
    if without:
        notes.append(RanksWithoutTrace(name, tuple(without)))
    number = np.unique(np.concatenate(keys))
    number = number[number >= 0]
    shape = (len(number), len(members))
    entry, end = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    missing = np.ones(shape, dtype=bool)
    size, root = np.full(shape, -1, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
    words = np.full(shape, "", dtype=max((calls.operation.dtype for _, calls in members), key=lambda t: t.itemsize))
    for column, ((_, calls), key) in enumerate(zip(members, keys, strict=True)):
        row, of = np.searchsorted(number, key[key >= 0]), np.flatnonzero(key >= 0)
        entry[row, column], end[row, column], missing[row, column] = calls.entry[of], calls.exit[of], False
        size[row, column], root[row, column], words[row, column] = calls.size[of], calls.root[of], calls.operation[of]
    operation = words[np.arange(len(number)), np.argmin(missing | unsure, axis=1)]
    missing |= unsure & (words != operation[:, None])
    differ = ((words != operation[:, None]) & ~missing).any(axis=1)
    if differ.any():
        first = int(np.argmax(differ))
        seen = tuple(sorted({str(word) for word in words[first][~missing[first]]}))
        notes.append(OperationsDiffer(name, int(differ.sum()), int(number[first]), seen))
    alone = (~missing).sum(axis=1) < 2
    if (alone & ~differ).any():
        notes.append(CallsOfOneRank(name, int((alone & ~differ).sum())))
    keep = ~differ & ~alone
    # A rank without any common call is unconnected.
    tied = ~missing[keep].all(axis=0)
    if keep.any() and not tied.all():
        notes.append(RanksWithoutPartner(name, tuple(ranks[~tied].tolist())))
    selection = np.ix_(keep, tied)
    group = GroupCalls(
        name,
        ranks[tied],
        operation[keep],
        number[keep],
        size.max(axis=1)[keep],
        root.max(axis=1)[keep],
        entry[selection],
        end[selection],
        missing[selection],
        unsure[tied],
    )
    return group, notes


def keys_of(name: str, members: Sequence[tuple[int, Calls]]) -> tuple[list[Integers], NDArray[np.bool_], list[Fact]]:
    """Returns a key for each call of each member, equal for the same call; -1: the call has no counterpart.

    Returns also flags of the members whose match is undecided, and facts on them.
    """
    notes: list[Fact] = []
    numbered = [calls.sequence is not None for _, calls in members]
    keys: list[Integers | None] = [
        None if calls.sequence is None else np.asarray(calls.sequence) for _, calls in members
    ]
    for (rank, _), key in zip(members, keys, strict=True):
        if key is not None and len(np.unique(key)) < len(key):
            notes.append(RepeatedCalls(name, rank, len(key) - len(np.unique(key))))
    sizes = [len(calls.exit) for _, calls in members]
    # Members with numbers come first, and longer lists of calls before shorter ones.
    order = sorted(range(len(members)), key=lambda index: (not numbered[index], -sizes[index]))
    matched: list[int] = []
    firsts = order[:1] if any(numbered) else order[:REFERENCES]
    for first in firsts:
        if not any(numbered):
            keys = [None] * len(members)
            keys[first], matched = np.arange(sizes[first]), []
        while True:
            before = sum(key is not None for key in keys)
            known = [index for index in order if keys[index] is not None][:REFERENCES]
            for index in (index for index in order if keys[index] is None):
                for other in known:
                    placed = match_by_order(members[other][1], members[index][1])
                    other_keys = keys[other]
                    assert other_keys is not None
                    key = None if placed is None else np.where(placed >= 0, other_keys[placed], -1)
                    if key is not None and (key >= 0).any():
                        keys[index] = key
                        matched.append(index)
                        break
            if sum(key is not None for key in keys) in (before, len(keys)):
                break
        if all(key is not None for key in keys) or len(matched) > len(members) // 2:
            break
    base = members[firsts[0] if any(numbered) else first]
    for index in sorted(matched):
        key = keys[index]
        assert key is not None
        at = np.flatnonzero(key >= 0)
        shift, lost = int(key[at[0]] - at[0]), int((key[at[0] : at[-1]] < 0).sum())
        if shift or lost:
            notes.append(MatchedByOrder(name, members[index][0], base[0], shift, lost))
    unsure = np.array([key is None for key in keys])
    if unsure.any():
        other_keys = keys[order[0]] if keys[order[0]] is not None else np.arange(max(sizes))
        assert other_keys is not None
        more = np.concatenate([other_keys, other_keys.max(initial=-1) + 1 + np.arange(max(sizes))])
        keys = [more[:size] if key is None else key for key, size in zip(keys, sizes, strict=True)]
        named = tuple(rank for (rank, _), flag in zip(members, unsure, strict=True) if flag)
        notes.append(OrderNotKnown(name, named, base[0]))
    return [key for key in keys if key is not None], unsure, notes
