"""Collective calls, put together from the records of their processes: who entered when, and who waited."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

UNPLACED = "collective"  # the operation of calls that had no room for a row of their own
LATER = ("nonblocking", "persistent")  # kinds that are complete after the call; "collective" is not MPI's
FROM_ROOT = ("bcast", "scatter", "scatterv")
TO_ROOT = ("gather", "gatherv", "reduce")
FROM_LOWER = ("exscan", "scan")
NEIGHBOR = "neighbor_"  # waits between neighbors are not recorded
CALL = ["communicator", "sequence", "round"]
PLACE = ["module", "offset", "operation", "kind"]
SITE = [*PLACE, "size", "phase"]
Floats = NDArray[np.float64]


def match_arrivals(records: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns what every process did in every whole call, and the calls.

    A call is whole if all processes of its communicator recorded it, from entry to completion. On an intercommunicator
    a process waits for those of the other group (MPI 4.1, 6.2.3).

    Returns:
        A row per process and call, by call and rank in the communicator: the columns of `trace.records`, and `call`
        (index of the second frame); `late`, after the first entry; `time` in MPI, of a nonblocking collective in the
        call and in the one that waited for its completion (its part, if that waited for several); `overlap`, between
        the two, NaN if blocking; `wait`, the part of `time` for processes that had not entered; `wait_error`, how wrong
        that may be; `cause`, the rank in the job that the process waits for (-1: none, or it cannot be told).
        And a row per call, by time: `SITE` and `communicator` of its first process, `first`, `last` (entries),
        `spread`, `spread_bound` (of its error), `last_rank` (-1: within the bounds it may be another one), `bytes`
        (median), `after_last` (from the last entry to the last exit; NaN if nonblocking). All times in seconds.
    """
    rows = whole_calls(records)
    begins = np.flatnonzero(np.diff(rows["call"].to_numpy(), prepend=-1))
    entry, bound = rows["entry"].to_numpy(), rows["bound"].to_numpy()
    calls = summarize_calls(rows, begins)
    of = rows["call"].to_numpy()
    awaited, awaited_bound, cause = awaited_entries(rows, begins, calls)
    blocking = ~rows["kind"].isin(LATER).to_numpy()
    returned, waited, end = (rows[name].to_numpy() for name in ("returned", "waited", "exit"))
    begin = np.where(blocking, entry, waited)  # of what can be waiting for others: a nonblocking call returns at once
    wait = np.minimum(end, awaited) - begin
    either = bound + awaited_bound
    known = awaited - begin > either
    # Where nothing is called waiting, all of it up to the other end of the bounds may be.
    error = np.where(known, either, np.maximum(0.0, awaited - begin + either))
    together = rows["together"].to_numpy().clip(min=1) if "together" in rows else 1
    rows["late"] = entry - calls["first"].to_numpy()[of]
    rows["time"] = np.where(blocking, 0.0, returned - entry) + (end - begin) / together
    rows["overlap"] = np.where(blocking, np.nan, waited - returned)
    rows["wait"] = np.where(known, wait.clip(min=0.0), 0.0) / together
    rows["cause"] = cause
    rows["wait_error"] = np.minimum(error, np.abs(rows["time"]))
    return rows, calls


def whole_calls(records: pd.DataFrame) -> pd.DataFrame:
    """Returns the records of whole calls, by call and rank in the communicator, with `call` numbered by time."""
    if "phase" not in records:
        records = records.assign(phase="")
    good = records[records["complete"] & records["entry"].notna() & records["size"].notna()]
    if good.empty:
        return good.assign(call=pd.Series(dtype=np.int64)).reset_index(drop=True)
    call = call_numbers(good)
    members = np.bincount(call)
    first = np.full(len(members), np.inf)
    np.minimum.at(first, call, good["entry"].to_numpy())
    whole = members[call] == good["size"].to_numpy()
    if "beyond" in good:
        whole &= good["beyond"].to_numpy() == 0
    good, call = good[whole], call[whole]
    order = np.lexsort((good["comm_rank"].to_numpy(), call, first[call]))
    call = call[order]
    number = np.cumsum(np.diff(call, prepend=-1) != 0) - 1
    ordered: pd.DataFrame = good.iloc[order].reset_index(drop=True).assign(call=number)
    return ordered


def call_numbers(records: pd.DataFrame) -> NDArray[np.intp]:
    """Returns a number for each record, the same for those of the same call."""
    communicator, sequence, round_ = (records[name] for name in CALL)
    number = pd.factorize(communicator)[0].astype(np.int64) << 32 | sequence.to_numpy(dtype=np.int64)
    if round_.any():
        number = pd.factorize(number)[0] << 32 | round_.to_numpy(dtype=np.int64)
    numbers: NDArray[np.intp] = pd.factorize(number)[0]
    return numbers


def summarize_calls(rows: pd.DataFrame, begins: NDArray[np.intp]) -> pd.DataFrame:
    """Returns the row per call of `match_arrivals`."""
    if not len(begins):
        names = [*SITE, "communicator", "first", "last", "spread", "spread_bound", "last_rank", "bytes", "after_last"]
        return pd.DataFrame(columns=names)
    entry, bound = rows["entry"].to_numpy(), rows["bound"].to_numpy()
    of = rows["call"].to_numpy()
    calls = rows.iloc[begins][[*SITE, "communicator"]].reset_index(drop=True)
    order = np.lexsort((entry, of))
    ends = np.append(begins[1:], len(rows))
    earliest, latest = order[begins], order[ends - 1]
    before = order[np.maximum(ends - 2, begins)]
    calls["first"], calls["last"] = entry[earliest], entry[latest]
    calls["spread"] = entry[latest] - entry[earliest]
    # Any process of the call may be the first or the last one in truth, also one whose clock is known least.
    least_known = np.maximum.reduceat(bound, begins)
    calls["spread_bound"] = np.where(latest == earliest, 0.0, 2.0 * least_known)
    clear = (entry[latest] - entry[before] > 2.0 * least_known) & (ends - begins > 1)
    calls["last_rank"] = np.where(clear, rows["rank"].to_numpy()[latest], -1)
    calls["bytes"] = rows.groupby("call")["bytes"].median().to_numpy()
    done = np.maximum.reduceat(rows["exit"].to_numpy(), begins)
    calls["after_last"] = np.where(~calls["kind"].isin(LATER), done - calls["last"], np.nan)
    return calls


def awaited_entries(
    rows: pd.DataFrame, begins: NDArray[np.intp], calls: pd.DataFrame
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Returns of each row the last entry that it has to wait for, the bound of its error, and whose entry that is.

    The first two are -inf and 0 if there is none; the rank in the job is -1 if within the bounds it may be another one.
    """
    entry, bound = rows["entry"].to_numpy(), rows["bound"].to_numpy()
    if not len(begins):
        return entry, bound, np.empty(0, dtype=np.int64)
    of = rows["call"].to_numpy()
    operation = rows["operation"].astype(str)
    order = np.lexsort((entry, of))
    latest = order[np.append(begins[1:], len(rows)) - 1][of]
    mine = np.arange(len(rows))
    is_root = (rows["is_root"] if "is_root" in rows else rows["comm_rank"] == rows["root"]).to_numpy()
    group = rows["group"].to_numpy() if "group" in rows else np.full(len(rows), -1)
    inter = group >= 0
    if inter.any():
        last_of = np.tile(mine, (2, 1))  # per group, at the call's first row: its last one to arrive
        for one in (0, 1):
            some = order[group[order] == one]
            last_of[one, begins[of[some]]] = some  # of several the last one stays
        latest = np.where(inter, last_of[1 - group.clip(min=0), begins[of]], latest)
    which = latest.copy()

    from_root = operation.isin(FROM_ROOT).to_numpy()
    root_row = np.full(len(calls), -1)
    root_row[of[is_root]] = mine[is_root]
    # Beside the root of an intercommunicator are those who take no part: no rank is their root.
    down = (root_row[of] >= 0) & ~(inter & rows["root"].isna().to_numpy())
    which = np.where(from_root, np.where(down, root_row[of], mine), which)

    lower = operation.isin(FROM_LOWER).to_numpy()
    if lower.any():
        some = rows[lower]
        highest = some.groupby("call")["entry"].cummax()
        reached = pd.Series(np.where(some["entry"] == highest, some.index, -1), index=some.index)
        which[lower] = reached.groupby(some["call"]).cummax().to_numpy()
    to_root = operation.isin(TO_ROOT).to_numpy()
    nobody = (from_root & (which == mine)) | (to_root & ~is_root) | operation.str.startswith(NEIGHBOR).to_numpy()
    # Any of those that are awaited may be the last one in truth, also the one whose clock is known least.
    least_known = np.maximum.reduceat(bound, begins)[of]
    rank = rows["rank"].to_numpy(dtype=np.int64)[which]
    # A root is known. Else it is the call's last one, if that is clear; who is the last of some is left open.
    told = ~nobody & (from_root | (rank == calls["last_rank"].to_numpy()[of]))
    return (
        np.where(nobody, -np.inf, entry[which]),
        np.where(nobody, 0.0, np.where(from_root, bound[which], least_known)),
        np.where(told, rank, -1),
    )


def call_begins(rows: pd.DataFrame) -> NDArray[np.intp]:
    """Returns the first row of each call, in rows that are sorted by call."""
    return np.flatnonzero(np.diff(rows["call"].to_numpy(), prepend=-1))


def mpi_name(operation: str, kind: str) -> str:
    """Returns an operation as MPI calls it."""
    if kind == "collective":
        return operation
    if kind == "persistent":
        return f"MPI_{operation.capitalize()}_init"
    return f"MPI_I{operation}" if kind == "nonblocking" else f"MPI_{operation.capitalize()}"
