"""Reads traces of libdownbeat-preload on the clock of each process; its global clock is not used."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.align.calls import Calls, Integers, RankTrace, normalize
from downbeat.errors import UsageError
from downbeat.tables import Ints
from downbeat.trace.communicators import NOT_KNOWN
from downbeat.trace.file import is_trace
from downbeat.trace.recording import open_recording
from downbeat.trace.records import Records

NAME = "libdownbeat-preload"
OSCILLATORS = ("monotonic_raw", "tsc")  # local clocks that NTP does not steer
recognizes = is_trace


def read(path: Path) -> tuple[list[RankTrace], Counter[str]]:
    """Returns the traces of a job's processes, and reason -> number of omitted events.

    Raises:
        UsageError: the trace is damaged, or has no collectives.
    """
    recording = open_recording(path, own_clocks=True)
    kept, operation, left_out = blocking_collectives(recording.records)
    records = recording.records[kept]
    left_out["records that were dropped as it was recorded"] = int(recording.processes.records_dropped.sum())
    if not len(records):
        reasons = "; ".join(f"{count} {reason}" for reason, count in (+left_out).items())
        raise UsageError(f"'{path}' has no collectives" + (f" to align by: {reasons}" if reasons else ""))
    by_rank: dict[int, list[Calls]] = {}
    groups = pd.Series(range(len(records))).groupby([records.rank, records.communicator.codes])
    key: Any
    for key, rows in groups:
        chosen = rows.to_numpy()
        name = str(records.communicator.categories[key[1]])
        members = recording.members.get(name) or (-1,)
        by_rank.setdefault(int(key[0]), []).append(
            calls_of_rank(name, records[chosen], operation[kept][chosen], members)
        )
    processes = recording.processes
    traces = [
        RankTrace(file, rank, host, tuple(by_rank.get(rank, ())), clock in OSCILLATORS)
        for file, rank, host, clock in zip(
            processes.file, processes.rank.tolist(), processes.host, processes.clock, strict=True
        )
    ]
    return traces, +left_out


def blocking_collectives(records: Records) -> tuple[Ints, NDArray[np.str_], Counter[str]]:
    """Returns indices of records that clocks can be compared by, operations of all records, and counts of the others.

    The counts are by reason.
    """
    words = records.operation
    normal = np.array([normalize(f"MPI_{word}") or "" for word in words.categories], dtype=np.str_)
    operation = normal[words.codes] if len(records) else normal[:0]
    # During a nonblocking collective, a process computes instead of waiting, so its stamps do not compare clocks. In a
    # collective between two groups, a rank waits for the other group, which may belong to another job.
    reasons = {
        "calls of other operations": operation == "",
        "collectives without an end": ~records.complete,
        "collectives that do not block": records.kind != "blocking",
        "collectives of an unknown communicator": records.communicator == NOT_KNOWN,
        "collectives between two groups of ranks (of an intercommunicator)": records.group >= 0,
        "collectives without a clock": np.isnan(records.entry),
    }
    left_out: Counter[str] = Counter()
    kept = np.ones(len(records), dtype=bool)
    for reason, flags in reasons.items():
        left_out[reason] = int((kept & flags).sum())
        kept &= ~flags
    return np.flatnonzero(kept), operation, left_out


def calls_of_rank(group: str, records: Records, operation: NDArray[np.str_], members: tuple[int, ...]) -> Calls:
    """Returns the calls of a rank on a communicator, by time of entry.

    Args:
        group: name of the communicator.
        records: of the calls.
        operation: of each record.
        members: as in `Recording.members`.
    """
    ranks = np.array([*members, -1], dtype=np.int64)
    root = np.nan_to_num(records.root, nan=-1).astype(np.int64)

    def whole(values: NDArray[Any], scale: float = 1.0) -> Integers:
        """Rounds scaled values to integers; -1 for NaN."""
        numbers: Integers = np.rint(np.nan_to_num(values, nan=-1) * scale).astype(np.int64)
        return numbers

    return Calls(
        group,
        members if min(members) >= 0 else (),
        operation,
        whole(records.sequence),
        ranks[np.where((root >= 0) & (root < len(members)), root, -1)],
        whole(records.bytes),
        whole(records.entry, 1e9),
        whole(records.exit, 1e9),
    )
