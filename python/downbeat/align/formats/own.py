"""Traces of libdownbeat-preload, on each process' own clock: what it knows of a global one is not used."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from downbeat.align.calls import Calls, Integers, RankTrace, normalize
from downbeat.errors import UsageError
from downbeat.trace.file import is_trace
from downbeat.trace.records import NOT_KNOWN
from downbeat.trace.trace import open_trace

NAME = "libdownbeat-preload"
OSCILLATORS = ("monotonic_raw", "tsc")  # local clocks that NTP does not steer
recognizes = is_trace


def read(path: Path) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the traces of a job's processes, and a line for each kind of event left out.

    Raises:
        UsageError: the trace is damaged, or has no collectives.
    """
    trace = open_trace(path, own_clocks=True)
    calls, left_out = blocking_collectives(trace.records)
    left_out["records that were dropped as it was recorded"] = int(trace.processes["records_dropped"].sum())
    if calls.empty:
        why = "; ".join(f"{count} {what}" for what, count in (+left_out).items())
        raise UsageError(f"'{path}' has no collectives" + (f" to align by: {why}" if why else ""))
    by_rank: dict[int, list[Calls]] = {}
    key: Any
    for key, mine in calls.groupby(["rank", "communicator"], observed=True):
        rank, name = int(key[0]), str(key[1])
        by_rank.setdefault(rank, []).append(calls_of_rank(name, mine, trace.members.get(name) or (-1,)))
    rows: Any = trace.processes.itertuples(index=False)
    found = [
        RankTrace(row.file, int(row.rank), row.host, tuple(by_rank.get(row.rank, ())), row.clock in OSCILLATORS)
        for row in rows
    ]
    return found, +left_out


def blocking_collectives(records: pd.DataFrame) -> tuple[pd.DataFrame, Counter[str]]:
    """Returns the records that clocks can be compared by, and how many others there are, by what they are."""
    words = records["operation"].cat.categories
    normal = np.array([normalize(f"MPI_{word}") or "" for word in words], dtype=np.str_)
    operation = normal[records["operation"].cat.codes] if len(records) else normal[:0]
    # From begin to end of one that does not block, a process computes: that is not waiting, and says little of clocks.
    # Between two groups, a rank waits for those of the other one, which may be another job's.
    reasons = {
        "calls of other operations": operation == "",
        "collectives without an end": ~records["complete"],
        "collectives that do not block": records["kind"] != "blocking",
        "collectives of an unknown communicator": records["communicator"] == NOT_KNOWN,
        "collectives between two groups of ranks (of an intercommunicator)": records["group"] >= 0,
        "collectives without a clock": records["entry"].isna(),
    }
    left_out: Counter[str] = Counter()
    kept = np.ones(len(records), dtype=bool)
    for what, reason in reasons.items():
        left_out[what] = int((kept & reason).sum())
        kept &= ~np.asarray(reason)
    return records.assign(operation=operation)[kept], left_out


def calls_of_rank(group: str, rows: pd.DataFrame, members: tuple[int, ...]) -> Calls:
    """Returns the calls of a rank on a communicator, by time of entry.

    Args:
        group: the communicator's name.
        rows: records of them.
        members: as in `Trace.members`.
    """
    ranks = np.array([*members, -1], dtype=np.int64)
    root = rows["root"].fillna(-1).astype(np.int64).to_numpy()

    def whole(column: pd.Series, scale: float = 1.0) -> Integers:
        numbers: Integers = np.rint(column.fillna(-1) * scale).astype(np.int64).to_numpy()
        return numbers

    return Calls(
        group,
        members if min(members) >= 0 else (),
        rows["operation"].to_numpy(dtype=np.str_),
        whole(rows["sequence"]),
        ranks[np.where((root >= 0) & (root < len(members)), root, -1)],
        whole(rows["bytes"]),
        whole(rows["entry"], 1e9),
        whole(rows["exit"], 1e9),
    )
