"""Every recorded collective: who arrived when, and how much of the time is waiting for late ranks.

A process that has to wait for another cannot be done before that one has entered. Which process that is follows from
the meaning of the operation, whatever the algorithm (cf. Scalasca's wait states, Geimer et al. 2010): all for all in
an allreduce, all for the root in a broadcast, the root for all in a reduction, each for those before it in a scan.
Time after the awaited process has entered is that of the operation.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.traces.trace import Trace

FROM_ROOT = ("bcast", "scatter", "scatterv")
TO_ROOT = ("gather", "gatherv", "reduce")
FROM_LOWER = ("exscan", "scan")
NEIGHBOR = "neighbor_"  # waits between neighbors are not recorded

CALL = ["communicator", "sequence", "round"]
SITE = ["module", "offset", "operation", "kind", "size"]

Floats = NDArray[np.float64]


def arrivals(trace: Trace) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns what every process did in every whole call, and the calls.

    A call is whole if all processes of its communicator recorded it, from entry to completion.

    Returns:
        A row per process and call, by call and rank in the communicator: the columns of `trace.records`, and `call`
        (index of the second frame); `late`, after the first entry; `time` in MPI, of a nonblocking collective in the
        call and in the one that waited for its completion; `overlap`, between the two, NaN if blocking; `wait`, the
        part of `time` for processes that had not entered; `wait_error`, how wrong that may be.
        And a row per call, by time: `SITE` of its first process, `first`, `last` (entries), `spread`, `spread_bound`
        (of its error), `last_rank` (-1: within the bounds it may be another one), `bytes` (median), `after_last` (from
        the last entry to the last exit; NaN if nonblocking). All times in seconds.
    """
    rows = whole_calls(trace.records)
    begins = np.flatnonzero(np.diff(rows["call"].to_numpy(), prepend=-1))
    entry, bound = rows["entry"].to_numpy(), rows["bound"].to_numpy()
    calls = summarize(rows, begins)
    of = rows["call"].to_numpy()
    awaited, awaited_bound = awaited_entries(rows, begins, calls)
    blocking = (rows["kind"] == "blocking").to_numpy()
    returned, waited, end = (rows[name].to_numpy() for name in ("returned", "waited", "exit"))
    begin = np.where(blocking, entry, waited)  # of what can be waiting for others: a nonblocking call returns at once
    wait = np.minimum(end, awaited) - begin
    either = bound + awaited_bound
    known = awaited - begin > either
    error = np.where(awaited > begin - either, either, 0.0)
    rows["late"] = entry - calls["first"].to_numpy()[of]
    rows["time"] = np.where(blocking, 0.0, returned - entry) + end - begin
    rows["overlap"] = np.where(blocking, np.nan, waited - returned)
    rows["wait"] = np.where(known, wait.clip(min=0.0), 0.0)
    rows["wait_error"] = np.minimum(error, np.abs(rows["time"]))
    return rows, calls


def whole_calls(records: pd.DataFrame) -> pd.DataFrame:
    """Returns the records of whole calls, by call and rank in the communicator, with `call` numbered by time."""
    good = records[records["complete"] & records["entry"].notna() & records["size"].notna()]
    if good.empty:
        return good.assign(call=pd.Series(dtype=np.int64)).reset_index(drop=True)
    call = good.groupby(CALL, sort=False, observed=True).ngroup().to_numpy()
    members = np.bincount(call)
    first = np.full(len(members), np.inf)
    np.minimum.at(first, call, good["entry"].to_numpy())
    whole = members[call] == good["size"].to_numpy()
    good, call = good[whole], call[whole]
    order = np.lexsort((good["comm_rank"].to_numpy(), call, first[call]))
    call = call[order]
    number = np.cumsum(np.diff(call, prepend=-1) != 0) - 1
    ordered: pd.DataFrame = good.iloc[order].reset_index(drop=True).assign(call=number)
    return ordered


def summarize(rows: pd.DataFrame, begins: NDArray[np.intp]) -> pd.DataFrame:
    """Returns the row per call of `arrivals`."""
    if not len(begins):
        names = [*SITE, "first", "last", "spread", "spread_bound", "last_rank", "bytes", "after_last"]
        return pd.DataFrame(columns=names)
    entry, bound = rows["entry"].to_numpy(), rows["bound"].to_numpy()
    of = rows["call"].to_numpy()
    calls = rows.iloc[begins][SITE].reset_index(drop=True)
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
    calls["after_last"] = np.where(calls["kind"] == "blocking", done - calls["last"], np.nan)
    return calls


def awaited_entries(rows: pd.DataFrame, begins: NDArray[np.intp], calls: pd.DataFrame) -> tuple[Floats, Floats]:
    """Returns of each row the last entry that it has to wait for, its own if none, and the bound of its error."""
    entry, bound = rows["entry"].to_numpy(), rows["bound"].to_numpy()
    if not len(begins):
        return entry, bound
    of = rows["call"].to_numpy()
    operation = rows["operation"].astype(str)
    order = np.lexsort((entry, of))
    latest = order[np.append(begins[1:], len(rows)) - 1][of]
    which = latest.copy()
    is_root = (rows["comm_rank"] == rows["root"]).to_numpy()
    mine = np.arange(len(rows))

    from_root = operation.isin(FROM_ROOT).to_numpy()
    root_row = np.full(len(calls), -1)
    root_row[of[is_root]] = mine[is_root]
    which = np.where(from_root, np.where(root_row[of] >= 0, root_row[of], mine), which)
    which = np.where(operation.isin(TO_ROOT).to_numpy() & ~is_root, mine, which)
    which = np.where(operation.str.startswith(NEIGHBOR).to_numpy(), mine, which)

    lower = operation.isin(FROM_LOWER).to_numpy()
    if lower.any():
        some = rows[lower]
        highest = some.groupby("call")["entry"].cummax()
        reached = pd.Series(np.where(some["entry"] == highest, some.index, -1), index=some.index)
        which[lower] = reached.groupby(some["call"]).cummax().to_numpy()
    least_known = np.maximum.reduceat(bound, begins)[of]
    return entry[which], np.where((which == mine) | from_root, bound[which], least_known)


def run_seconds(trace: Trace) -> float:
    """Returns how long the run took, from MPI_Init to MPI_Finalize, or until the last exit that was seen."""
    begins, ends = [], []
    for section in trace.sections:
        maps = section.tables["maps"]
        if len(maps):
            begins.append(int(maps["global_ns"].min()) * 1e-9)
            ends.append(int(maps["global_ns"].max()) * 1e-9)
    last = trace.records[["entry", "exit"]].max().max()
    return max([*ends, last if pd.notna(last) else 0.0]) - min(begins) if begins else 0.0
