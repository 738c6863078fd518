"""Combines the records of all processes into collective calls, and computes who waited in each call, and how long.

A call is whole if every process of its communicator recorded it from entry to completion; only whole calls are
analyzed. A process waits in a call from its entry until the last of the processes that it needs has entered: all of
them in an allreduce, the root alone in a bcast. Timestamps have errors up to a bound; times within the bounds are not
waits.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat.data.collectives import collectives
from downbeat.tables import Floats, Ints, Table, Words, column
from downbeat.trace.records import Records

LATER = ("nonblocking", "persistent")  # kinds of calls that return before the collective is complete
PLACE = ["module", "offset", "operation", "kind"]  # the columns that identify an instruction that calls a collective
SITE = [*PLACE, "size", "phase"]  # the columns that identify a call site


class Waits(Records):
    """Entry, time and waiting of each process in each whole call, by call and rank in the communicator."""

    call: Ints = column("index of the call in Calls")
    late: Floats = column("time from the first entry of any process to this entry", "s")
    time: Floats = column(
        "time in MPI; if nonblocking, in the call and in the MPI_Wait that completed it, divided by `together`", "s"
    )
    overlap: Floats = column("time from the return of a nonblocking call to its MPI_Wait; NaN if blocking", "s")
    wait: Floats = column("waiting: the share of `time` before the processes that it needs had entered", "s")
    cause: Ints = column("rank in the job that the process waits for; -1: none, or not known")
    wait_error: Floats = column("largest possible error of `wait`", "s")


class Calls(Table):
    """Whole calls, by time of the first entry."""

    module: Words = column("path of the module that makes the call on the first process")
    offset: Ints = column("return address of the call on the first process, as in Records", "B")
    operation: Words = column("MPI's name, lower case, without MPI_")
    kind: Words = column("blocking, nonblocking or persistent")
    size: Floats = column("processes", "1")
    phase: Words = column("phase of the first process")
    communicator: Words = column("name of the communicator")
    first: Floats = column("first entry", "s")
    last: Floats = column("last entry", "s")
    spread: Floats = column("time from the first to the last entry", "s")
    spread_bound: Floats = column("largest possible error of the spread", "s")
    last_rank: Ints = column("rank in the job of the last entry; -1: another rank may be last within the bounds")
    bytes: Floats = column("size, median of the processes; NaN: not known", "B")
    after_last: Floats = column("time from the last entry to the last exit; NaN if nonblocking", "s")


def whole_calls(records: Records) -> tuple[Ints, Ints]:
    """Finds the records of whole calls.

    Returns:
        The indexes of the records, by call and rank in the communicator, and the call of each; calls are numbered by
        the time of their first entry.
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
    """Numbers records so that the records of a call have the same number.

    Args:
        communicator: of each record.
        sequence: number of the collective on its communicator.
        start: number of the start of a persistent collective; 0: not persistent.
    """
    number = communicator.astype(np.int64) << 32 | sequence.astype(np.int64)
    if start.any():
        number = pd.factorize(number)[0].astype(np.int64) << 32 | start.astype(np.int64)
    numbers: Ints = pd.factorize(number)[0]
    return numbers


def match_arrivals(records: Records, complete: Ints, call: Ints) -> tuple[Waits, Calls]:
    """Computes the waits of each process in each whole call, and the calls.

    On an intercommunicator a process waits for the processes of the other group (MPI 4.1, 6.2.3).

    Args:
        records: of all processes.
        complete: indexes of records, from `whole_calls`.
        call: call of each of these records, from `whole_calls`.
    """
    rows = records[complete]
    begins = call_begins(call)
    calls = summarize_calls(rows, call, begins)
    awaited, awaited_bound, cause = awaited_entries(rows, call, begins, calls)
    blocking = ~rows.kind.isin(LATER)
    begin = np.where(blocking, rows.entry, rows.waited)  # a nonblocking collective waits in the call that completes it
    wait = np.minimum(rows.exit, awaited) - begin
    either = rows.bound + awaited_bound
    known = awaited - begin > either
    # Without a certain wait, the true wait may be anything from 0 to the upper end of the bounds.
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
    """Summarizes the whole calls, a row per call.

    Args:
        rows: records of whole calls, by call.
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
    second_latest = order[np.maximum(ends - 2, begins)]
    last = rows.entry[latest]
    # Any process of the call may in truth be the first or the last one, so its largest bound counts.
    largest_bound = np.maximum.reduceat(rows.bound, begins)
    clear = (last - rows.entry[second_latest] > 2.0 * largest_bound) & (ends - begins > 1)
    done = np.maximum.reduceat(rows.exit, begins)
    return Calls.of_frame(
        first.assign(
            first=rows.entry[earliest],
            last=last,
            spread=last - rows.entry[earliest],
            spread_bound=np.where(latest == earliest, 0.0, 2.0 * largest_bound),
            last_rank=np.where(clear, rows.rank[latest], -1),
            bytes=pd.Series(rows.bytes).groupby(call).median().to_numpy(),
            after_last=np.where(~rows.kind[begins].isin(LATER), done - last, np.nan),
        )
    )


def awaited_entries(rows: Records, call: Ints, begins: Ints, calls: Calls) -> tuple[Floats, Floats, Ints]:
    """Finds the last entry that each row has to wait for, the bound of its error, and the rank in the job that enters.

    The entry is -inf and the bound 0 if the row waits for no entry; the rank is -1 if it is ambiguous within the
    bounds.
    """
    if not len(begins):
        return rows.entry, rows.bound, np.empty(0, dtype=np.int64)
    order = np.lexsort((rows.entry, call))
    latest = order[np.append(begins[1:], len(rows)) - 1][call]
    itself = np.arange(len(rows))
    inter = rows.group >= 0  # on an intercommunicator
    if inter.any():
        last_of = np.tile(itself, (2, 1))  # [group, first row of a call]: row of the group's last process to arrive
        for group in (0, 1):
            group_rows = order[rows.group[order] == group]
            last_of[group, begins[call[group_rows]]] = group_rows  # by entry, so that the last row of a call stays
        latest = np.where(inter, last_of[1 - rows.group.clip(min=0), begins[call]], latest)
    awaited = latest.copy()

    from_root = rows.operation.isin(collectives("from root"))
    root_row = np.full(len(calls), -1)
    root_row[call[rows.is_root]] = itself[rows.is_root]
    # In the group of an intercommunicator's root, the other processes do not take part: they have no root.
    has_root = (root_row[call] >= 0) & ~(inter & np.isnan(rows.root))
    awaited = np.where(from_root, np.where(has_root, root_row[call], itself), awaited)

    lower = np.flatnonzero(rows.operation.isin(collectives("lower")))
    if len(lower):
        entry = pd.Series(rows.entry[lower])
        reached = np.where(entry == entry.groupby(call[lower]).cummax(), lower, -1)
        awaited[lower] = pd.Series(reached).groupby(call[lower]).cummax().to_numpy()
    to_root = rows.operation.isin(collectives("to root"))
    nobody = (
        (from_root & (awaited == itself)) | (to_root & ~rows.is_root) | rows.operation.isin(collectives("neighbors"))
    )
    # Any awaited process may in truth be the last one, so the call's largest bound counts.
    largest_bound = np.maximum.reduceat(rows.bound, begins)[call]
    rank = rows.rank[awaited].astype(np.int64)
    # A root is certain. Otherwise the cause is known only if the awaited rank is the certain last rank of the call.
    known = ~nobody & (from_root | (rank == calls.last_rank[call]))
    return (
        np.where(nobody, -np.inf, rows.entry[awaited]),
        np.where(nobody, 0.0, np.where(from_root, rows.bound[awaited], largest_bound)),
        np.where(known, rank, -1),
    )


def call_begins(call: Ints) -> Ints:
    """Returns the first row of each call, in rows that are sorted by call."""
    return np.flatnonzero(np.diff(call, prepend=-1))


def mpi_name(operation: str, kind: str) -> str:
    """Returns MPI's name of an operation, e.g. MPI_Ibcast."""
    if kind == "collective":  # all calls that had no room for a row of their own (UNPLACED)
        return operation
    if kind == "persistent":
        return f"MPI_{operation.capitalize()}_init"
    return f"MPI_I{operation}" if kind == "nonblocking" else f"MPI_{operation.capitalize()}"
