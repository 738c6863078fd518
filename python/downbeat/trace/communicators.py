"""Reads the communicators of a recording: their names, which are equal on all processes, and their processes.

An intercommunicator joins two groups of processes; its processes have ranks in their group.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from downbeat.tables import Ints, Table, Texts, column
from downbeat.trace.file import Section, name_text

NOT_KNOWN = "not known"  # name of a communicator or a module that has no entry in the file
# Values of `beyond`, for calls with processes that are not in the trace:
ELSEWHERE = 1  # processes of another job
UNSEEN = 2  # the other group of an intercommunicator, which left no file


class Communicators(Table):
    """The communicators of each process."""

    rank: Ints = column("rank of the process in MPI_COMM_WORLD")
    communicator: Texts = column("name of the communicator in records")
    comm_rank: Ints = column("rank of the process in its group of the communicator")
    size: Ints = column("processes of this group", "1")
    group: Ints = column("number of this group of an intercommunicator, 0 or 1; -1: there is one group")


def identity(communicator: np.void) -> str:
    """Returns the name of a communicator, equal on all its processes."""
    name = name_text(communicator["name"])
    number = f"{int(communicator['identity']):016x}"
    return f"{name} ({number})" if name else number


def group_of(table: np.ndarray) -> np.ndarray:
    """Returns the group of the process in each communicator of a table; -1: there is one group."""
    return np.where(table["inter"] > 0, table["second"].astype(np.int8), np.int8(-1))


def communicators_of(section: Section) -> Communicators:
    """Returns the communicators of a process."""
    table = section.tables.communicators
    return Communicators(
        rank=np.full(len(table), section.rank),
        communicator=np.array([*map(identity, table)], dtype=object),
        comm_rank=table["rank"],
        size=table["size"],
        group=group_of(table),
    )


def processes_of(sections: Iterable[Section]) -> dict[int, tuple[int, int]]:
    """Counts the processes of each communicator, by its identity.

    Returns:
        identity -> number of processes and `beyond`. The number counts both groups of an intercommunicator. `beyond` is
        0 if all processes belong to the job, else ELSEWHERE or UNSEEN; then the number counts only the group in the
        trace.
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
        is_unseen = number in inter and len(sizes) < 2  # also in older files, which do not record groups
        code = UNSEEN if is_unseen else 0
        processes[number] = (sum(sizes.values()), ELSEWHERE if beyond[number] else code)
    return processes


def ranks_and_beyond(table: np.ndarray, processes: dict[int, tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Returns both values of `processes_of` for each row of a table; NaN and 0 follow, for an unknown communicator."""
    known = [processes[int(number)] for number in table["identity"]]
    ranks = np.array([*(count for count, _ in known), np.nan])
    return ranks, np.array([*(beyond for _, beyond in known), 0], dtype=np.int8)


def members_of(communicators: Communicators) -> dict[str, tuple[int, ...]]:
    """Returns the ranks in the job of each communicator's ranks, by name; -1: the rank left no file.

    Intercommunicators are left out.
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
