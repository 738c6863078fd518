"""A trace as frames: records, communicators, call sites, processes."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.traces.clock import to_global
from downbeat.traces.file import COMPLETE, ENDINGS, ENTERED, KINDS, Section, read_job, text


def identity(communicator: np.void) -> str:
    """Returns what all processes call a communicator."""
    name = text(communicator["name"])
    number = f"{int(communicator['group']):016x}.{int(communicator['ordinal'])}"
    return f"{name} ({number})" if name else number


class Trace:
    """What the processes of a job recorded.

    Attributes:
        sections: what each process recorded, as in its file.
    """

    def __init__(self, sections: list[Section]) -> None:
        self.sections = sections

    @cached_property
    def processes(self) -> pd.DataFrame:
        """A row per process: rank, host, how it ended, records, what was dropped, clock synchronizations, bounds."""
        rows = []
        for section in self.sections:
            header = section.header
            maps = section.tables["maps"]
            rows.append(
                {
                    "rank": section.rank,
                    "world_size": int(header["world_size"]),
                    "host": text(header["host"]),
                    "pid": int(header["pid"]),
                    "ending": ENDINGS.get(int(header["ending"]), "unknown"),
                    "abort_code": int(header["abort_code"]),
                    "began": pd.Timestamp(int(header["began_ns"]), unit="ns", tz="UTC"),
                    "records": len(section.tables["records"]),
                    "records_dropped": int(header["records_dropped"]),
                    "communicators_dropped": int(header["communicators_dropped"]),
                    "sites_dropped": int(header["sites_dropped"]),
                    "syncs": len(maps),
                    "bound_at_sync": float(maps["bound_ns"].max()) * 1e-9 if len(maps) else np.nan,
                }
            )
        return pd.DataFrame(rows)

    @cached_property
    def records(self) -> pd.DataFrame:
        """A row per collective and process, by rank and time of entry.

        Columns: rank (in MPI_COMM_WORLD), operation, kind (blocking, nonblocking, persistent), communicator, size and
        comm_rank (of the communicator), sequence (number of the collective on its communicator), round (number of the
        start of a persistent one), bytes (NaN: not known), root (NaN: none), entry, returned, exit (seconds on the
        global clock; exit is NaN where no completion was seen), bound (s, of the error of entry and exit), module,
        offset, symbol (of the call site), thread, complete.
        """
        frames = [self._frame(section) for section in self.sections]
        frames = [frame for frame in frames if len(frame)] or frames[:1]
        return pd.concat(frames, ignore_index=True)

    @staticmethod
    def _frame(section: Section) -> pd.DataFrame:
        records = section.tables["records"]
        records = records[np.isin(records["state"], (ENTERED, COMPLETE))]
        maps = section.tables["maps"]
        wander = float(section.header["max_wander"])
        complete = records["state"] == COMPLETE
        if len(maps):
            entry, entry_bound = to_global(records["entry"], maps, wander)
            end, end_bound = to_global(records["exit"], maps, wander)
            returned, _ = to_global(records["returned"], maps, wander)
        else:  # the process ended before the first synchronization did
            entry = end = returned = entry_bound = end_bound = np.full(len(records), np.nan)
        communicators, sites = section.tables["communicators"], section.tables["sites"]
        names = np.array([identity(one) for one in communicators] + ["not known"], dtype=object)
        which = np.where(records["communicator"] < len(communicators), records["communicator"], len(communicators))
        sizes = np.append(communicators["size"].astype(float), np.nan)
        ranks = np.append(communicators["rank"].astype(float), np.nan)
        site = np.where(records["site"] < len(sites), records["site"], len(sites))
        modules = np.array([text(one) for one in sites["module"]] + ["not known"], dtype=object)
        symbols = np.array([text(one) for one in sites["symbol"]] + [""], dtype=object)
        offsets = np.append(sites["offset"], 0)
        operations = np.array(section.operations, dtype=object)
        frame = pd.DataFrame(
            {
                "rank": section.rank,
                "operation": pd.Categorical(operations[records["operation"]], categories=section.operations),
                "kind": pd.Categorical(np.array(KINDS, dtype=object)[records["kind"]], categories=list(KINDS)),
                "communicator": names[which],
                "size": sizes[which],
                "comm_rank": ranks[which],
                "sequence": records["sequence"],
                "round": records["round"],
                "bytes": np.where(records["bytes"] < 0, np.nan, records["bytes"]),
                "root": np.where(records["root"] < 0, np.nan, records["root"]),
                "entry": entry,
                "returned": np.where(records["returned"] != 0, returned, np.nan),
                "exit": np.where(complete, end, np.nan),
                "bound": np.where(complete, np.maximum(entry_bound, end_bound), entry_bound),
                "module": modules[site],
                "offset": offsets[site],
                "symbol": symbols[site],
                "thread": records["thread"],
                "complete": complete,
            }
        )
        return frame.sort_values("entry", kind="stable", ignore_index=True)


def open_trace(path: str | Path, job: str | None = None) -> Trace:
    """Opens what libdownbeat-preload recorded, even if the program crashed.

    Args:
        path: the directory, or one file of it.
        job: which of several jobs in the directory; their names begin the files' names.

    Returns:
        The trace: `trace.records` and `trace.processes` are pandas frames; times are seconds.
    """
    return Trace(read_job(Path(path), job))
