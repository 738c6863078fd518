"""Communicators of a recording: their names, which all processes agree on, and their processes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from downbeat.tables import Ints, Table, Texts, column
from downbeat.trace.file import Section, name_text

NOT_KNOWN = "not known"  # a communicator or a module
ELSEWHERE, UNSEEN = 1, 2  # of processes that a call has beyond the trace: of another job; of a group that left nothing


class Communicators(Table):
    """The communicators of each process."""

    rank: Ints = column("rank of the process in MPI_COMM_WORLD")
    communicator: Texts = column("its name in records")
    comm_rank: Ints = column("rank of the process in its own group")
    size: Ints = column("processes of that group", "1")
    group: Ints = column("number of that group of an intercommunicator; -1: there is one group")


def identity(communicator: np.void) -> str:
    """The name of a communicator, the same on all processes."""
    name = name_text(communicator["name"])
    number = f"{int(communicator['identity']):016x}"
    return f"{name} ({number})" if name else number


def group_of(table: np.ndarray) -> np.ndarray:
    """The group of the process in each communicator of a table, -1 where there is one alone."""
    return np.where(table["inter"] > 0, table["second"].astype(np.int8), np.int8(-1))


def communicators_of(section: Section) -> Communicators:
    """The communicators of a process."""
    table = section.tables.communicators
    return Communicators(
        rank=np.full(len(table), section.rank),
        communicator=np.array([*map(identity, table)], dtype=object),
        comm_rank=table["rank"],
        size=table["size"],
        group=group_of(table),
    )


def processes_of(sections: Iterable[Section]) -> dict[int, tuple[int, int]]:
    """The number of processes of each communicator, by its identity, and whether it has others.

    The number is that of both groups of an intercommunicator. The second value is 0 if all processes belong to the job,
    else ELSEWHERE or UNSEEN; then the number is that of the own group.
    """
    groups: dict[int, dict[int, int]] = {}
    beyond: dict[int, bool] = {}
    inter = set()
    for section in sections:
        for row in section.tables.communicators:
            number = int(row["identity"])
            groups.setdefault(number, {})[int(row["second"])] = int(row["size"])
            beyond[number] = beyond.get(number, False) or bool(row["has_outside_members"])
            if row["inter"]:
                inter.add(number)
    processes = {}
    for number, sizes in groups.items():
        unseen = number in inter and len(sizes) < 2  # also in files without the groups of ranks
        processes[number] = (sum(sizes.values()), ELSEWHERE if beyond[number] else UNSEEN if unseen else 0)
    return processes


def ranks_and_beyond(table: np.ndarray, processes: dict[int, tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Both values of `processes_of` for each row of a table, and at the end for a communicator that is not in it."""
    known = [processes[int(number)] for number in table["identity"]]
    return np.array([*(each[0] for each in known), np.nan]), np.array([*(each[1] for each in known), 0], dtype=np.int8)


def members_of(communicators: Communicators) -> dict[str, tuple[int, ...]]:
    """The rank in the job of each rank of a communicator, by its name; -1: it left no file, or is in another group.

    A communicator of two groups has none.
    """
    inside = (communicators.comm_rank >= 0) & (communicators.comm_rank <= communicators.size - 1)
    table = communicators[(communicators.group < 0) & inside]
    members = {}
    for name in dict.fromkeys(table.communicator.tolist()):
        rows = table[table.communicator == name]
        ranks = np.full(int(rows.size.max()), -1)
        ranks[rows.comm_rank] = rows.rank
        members[str(name)] = tuple(ranks.tolist())
    return members
