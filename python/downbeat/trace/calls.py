"""Collective calls, put together from the records of their processes: who entered when, and who waited."""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat.data.collectives import collectives
from downbeat.tables import Floats, Ints, Table, Words, column
from downbeat.trace.records import Records

LATER = ("nonblocking", "persistent")  # kinds that are complete after the call; "collective" is not MPI's
PLACE = ["module", "offset", "operation", "kind"]
SITE = [*PLACE, "size", "phase"]


class Waits(Records):
    """What each process did in each whole call, by call and rank in the communicator."""

    call: Ints = column("index of the call in Calls")
    late: Floats = column("entry after the first one of the call", "s")
    time: Floats = column(
        "time in MPI; of a nonblocking collective in the call and its part of the one that saw the completion", "s"
    )
    overlap: Floats = column("time between these two; NaN if blocking", "s")
    wait: Floats = column("part of `time` before the processes that it needs had entered", "s")
    cause: Ints = column("rank in the job that it waits for; -1: none, or not known")
    wait_error: Floats = column("largest possible error of `wait`", "s")


class Calls(Table):
    """Whole calls, by time of the first entry."""

    module: Words = column("call site of the first process: path of its module")
    offset: Ints = column("likewise, as in Records", "B")
    operation: Words = column("MPI's name, lower case, without MPI_")
    kind: Words = column("blocking, nonblocking or persistent")
    size: Floats = column("processes", "1")
    phase: Words = column("phase of the first process")
    communicator: Words = column("name of the communicator")
    first: Floats = column("first entry", "s")
    last: Floats = column("last entry", "s")
    spread: Floats = column("from the first to the last entry", "s")
    spread_bound: Floats = column("largest possible error of the spread", "s")
    last_rank: Ints = column("rank of the last entry; -1: within the bounds it may be another rank")
    bytes: Floats = column("size, median of the processes; NaN: not known", "B")
    after_last: Floats = column("from the last entry to the last exit; NaN if nonblocking", "s")


def whole_calls(records: Records) -> tuple[Ints, Ints]:
    """The records of whole calls by call and rank in the communicator, and the call of each, numbered by time.

    A call is whole if all processes of its communicator recorded it, from entry to completion.
    """
    good = np.flatnonzero(records.complete & ~np.isnan(records.entry) & ~np.isnan(records.size))
    if not len(good):
        return good, good
    call = call_numbers(records.communicator.codes[good], records.sequence[good], records.round[good])
    members = np.bincount(call)
    first = np.full(len(members), np.inf)
    np.minimum.at(first, call, records.entry[good])
    complete = (members[call] == records.size[good]) & (records.beyond[good] == 0)
    good, call = good[complete], call[complete]
    order = np.lexsort((records.comm_rank[good], call, first[call]))
    call = call[order]
    return good[order], np.cumsum(np.diff(call, prepend=-1) != 0) - 1


def call_numbers(communicator: Ints, sequence: Ints, start: Ints) -> Ints:
    """A number for each record, the same for those of the same call."""
    number = communicator.astype(np.int64) << 32 | sequence.astype(np.int64)
    if start.any():
        number = pd.factorize(number)[0].astype(np.int64) << 32 | start.astype(np.int64)
    numbers: Ints = pd.factorize(number)[0]
    return numbers


def match_arrivals(records: Records, complete: Ints, call: Ints) -> tuple[Waits, Calls]:
    """What each process did in each whole call, and the calls.

    On an intercommunicator a process waits for those of the other group (MPI 4.1, 6.2.3).

    Args:
        records: of all processes.
        complete: from `whole_calls`.
        call: from `whole_calls`.
    """
    rows = records[complete]
    begins = call_begins(call)
    calls = summarize_calls(rows, call, begins)
    awaited, awaited_bound, cause = awaited_entries(rows, call, begins, calls)
    blocking = ~rows.kind.isin(LATER)
    begin = np.where(
        blocking, rows.entry, rows.waited
    )  # a nonblocking call returns at once: waiting is in the later one
    wait = np.minimum(rows.exit, awaited) - begin
    either = rows.bound + awaited_bound
    known = awaited - begin > either
    # Where nothing is called waiting, all of it up to the other end of the bounds may be.
    error = np.where(known, either, np.maximum(0.0, awaited - begin + either))
    together = rows.together.clip(min=1)
    time = np.where(blocking, 0.0, rows.returned - rows.entry) + (rows.exit - begin) / together
    waits = rows.extended(
        Waits,
        call=call,
        late=rows.entry - calls.first[call],
        time=time,
        overlap=np.where(blocking, np.nan, rows.waited - rows.returned),
        wait=np.where(known, wait.clip(min=0.0), 0.0) / together,
        cause=cause,
        wait_error=np.minimum(error, np.abs(time)),
    )
    return waits, calls


def summarize_calls(rows: Records, call: Ints, begins: Ints) -> Calls:
    """The whole calls.

    Args:
        rows: of them, by call.
        call: of each row.
        begins: the first row of each call.
    """
    first = pd.DataFrame({name: getattr(rows, name)[begins] for name in (*SITE, "communicator")})
    if not len(begins):
        none = dict.fromkeys(("first", "last", "spread", "spread_bound", "bytes", "after_last"), np.empty(0))
        return Calls.of_frame(first.assign(**none, last_rank=np.empty(0, np.int64)))
    order = np.lexsort((rows.entry, call))
    ends = np.append(begins[1:], len(rows))
    earliest, latest = order[begins], order[ends - 1]
    before = order[np.maximum(ends - 2, begins)]
    last = rows.entry[latest]
    # Any process of the call may be the first or the last one in truth, also one whose clock is known least.
    least_known = np.maximum.reduceat(rows.bound, begins)
    clear = (last - rows.entry[before] > 2.0 * least_known) & (ends - begins > 1)
    done = np.maximum.reduceat(rows.exit, begins)
    return Calls.of_frame(
        first.assign(
            first=rows.entry[earliest],
            last=last,
            spread=last - rows.entry[earliest],
            spread_bound=np.where(latest == earliest, 0.0, 2.0 * least_known),
            last_rank=np.where(clear, rows.rank[latest], -1),
            bytes=pd.Series(rows.bytes).groupby(call).median().to_numpy(),
            after_last=np.where(~rows.kind[begins].isin(LATER), done - last, np.nan),
        )
    )


def awaited_entries(rows: Records, call: Ints, begins: Ints, calls: Calls) -> tuple[Floats, Floats, Ints]:
    """The last entry that each row has to wait for, the bound of its error, and the rank in the job that makes it.

    The first two are -inf and 0 if the row waits for no entry; the rank is -1 if it is ambiguous within the bounds.
    """
    if not len(begins):
        return rows.entry, rows.bound, np.empty(0, dtype=np.int64)
    order = np.lexsort((rows.entry, call))
    latest = order[np.append(begins[1:], len(rows)) - 1][call]
    itself = np.arange(len(rows))
    inter = rows.group >= 0
    if inter.any():
        last_of = np.tile(itself, (2, 1))  # per group, at the call's first row: its last process to arrive
        for group in (0, 1):
            some = order[rows.group[order] == group]
            last_of[group, begins[call[some]]] = some  # of several the last one stays
        latest = np.where(inter, last_of[1 - rows.group.clip(min=0), begins[call]], latest)
    awaited = latest.copy()

    from_root = rows.operation.isin(collectives("from root"))
    root_row = np.full(len(calls), -1)
    root_row[call[rows.is_root]] = itself[rows.is_root]
    # Beside the root of an intercommunicator are those who take no part: no rank is their root.
    down = (root_row[call] >= 0) & ~(inter & np.isnan(rows.root))
    awaited = np.where(from_root, np.where(down, root_row[call], itself), awaited)

    lower = np.flatnonzero(rows.operation.isin(collectives("lower")))
    if len(lower):
        entry = pd.Series(rows.entry[lower])
        reached = np.where(entry == entry.groupby(call[lower]).cummax(), lower, -1)
        awaited[lower] = pd.Series(reached).groupby(call[lower]).cummax().to_numpy()
    to_root = rows.operation.isin(collectives("to root"))
    nobody = (
        (from_root & (awaited == itself)) | (to_root & ~rows.is_root) | rows.operation.isin(collectives("neighbors"))
    )
    # Any of those that are awaited may be the last one in truth, also the one whose clock is known least.
    least_known = np.maximum.reduceat(rows.bound, begins)[call]
    rank = rows.rank[awaited].astype(np.int64)
    # A root is known. Else it is the call's last one, if that is clear; the last one of some is left open.
    known = ~nobody & (from_root | (rank == calls.last_rank[call]))
    return (
        np.where(nobody, -np.inf, rows.entry[awaited]),
        np.where(nobody, 0.0, np.where(from_root, rows.bound[awaited], least_known)),
        np.where(known, rank, -1),
    )


def call_begins(call: Ints) -> Ints:
    """The first row of each call, in rows that are sorted by call."""
    return np.flatnonzero(np.diff(call, prepend=-1))


def mpi_name(operation: str, kind: str) -> str:
    """An operation as MPI calls it."""
    if kind == "collective":
        return operation
    if kind == "persistent":
        return f"MPI_{operation.capitalize()}_init"
    return f"MPI_I{operation}" if kind == "nonblocking" else f"MPI_{operation.capitalize()}"
