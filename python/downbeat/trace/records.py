"""Reads the records of all processes, a row per collective and process; of too many records, a sample.

A record is the data of one collective call on one process. With thinning k of its row in the profile, only records with
a level of at least k are kept: one call in 2^k, chosen alike on all processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from downbeat.errors import reading
from downbeat.tables import Flags, Floats, Ints, Table, Words, column
from downbeat.trace.clocks import Clocks, global_times, wander_of_run
from downbeat.trace.communicators import NOT_KNOWN, group_of, identity, ranks_and_beyond
from downbeat.trace.file import CALL_KINDS, COMPLETE, ENTERED, Section, text
from downbeat.trace.phases import phase_paths

ROOT_ITSELF = -2  # field `root` on an intercommunicator: the process is the root; as in trace_file.h
CHUNK = 1 << 16  # records that are converted at a time, to limit the memory for intermediate values


class Records(Table):
    """Collective calls of each process, by rank and time of entry; times are on the global clock."""

    rank: Ints = column("rank in MPI_COMM_WORLD", dtype="i4")
    operation: Words = column("MPI's name, lower case, without MPI_", dtype="i1")
    kind: Words = column("blocking, nonblocking or persistent", dtype="i1")
    communicator: Words = column("name of the communicator", dtype="i4")
    size: Floats = column("processes of the communicator, of both groups; if beyond is not 0, of the rank's group", "1")
    comm_rank: Floats = column("rank in the communicator; on an intercommunicator, rank in its group")
    sequence: Ints = column("number of the collective on its communicator", dtype="u4")
    round: Ints = column("number of the start of a persistent collective; 0: not persistent", dtype="u4")
    bytes: Floats = column("size; NaN: not known", "B")
    root: Floats = column("root, on an intercommunicator its rank in the other group; NaN: none")
    entry: Floats = column("begin of the call", "s")
    returned: Floats = column("end of the call", "s")
    waited: Floats = column("begin of the call that completed it, e.g. MPI_Wait; NaN if blocking", "s")
    exit: Floats = column("completion; NaN: not completed", "s")
    bound: Floats = column("largest possible error of entry, returned, waited and exit", "s")
    elsewhere: Floats = column("time of the thread in other MPI calls since the last collective", "s", dtype="f4")
    module: Words = column("path of the module that makes the call", dtype="i4")
    offset: Ints = column("return address of the call in the module; of Python, the line", "B", dtype="u8")
    symbol: Words = column('function that makes the call; "": not known', dtype="i4")
    group: Ints = column("number of the rank's group of an intercommunicator; -1: there is one group", dtype="i1")
    is_root: Flags = column("the rank is the root", dtype="?")
    beyond: Ints = column("not 0: processes of the communicator are not in the trace, ELSEWHERE or UNSEEN", dtype="i1")
    thread: Ints = column("thread of the process", dtype="u2")
    together: Ints = column("collectives that the same call completed", "1", dtype="u2")
    row: Ints = column("index of the row of the profile that counts the call", dtype="i4")
    phase: Words = column('phase of the program, outer > inner; "": none', dtype="i4")
    complete: Flags = column("the call has an exit", dtype="?")


class Vocabulary:
    """Numbers for words that repeat, e.g. names of operations; all sections share them."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def codes(self, words: Iterable[str]) -> np.ndarray:
        """Returns the numbers of words; adds new words."""
        return np.array([self.numbers.setdefault(word, len(self.numbers)) for word in words], dtype=np.int32)

    def column(self, codes: np.ndarray) -> Words:
        """Returns numbers as a column of words."""
        dtype = pd.CategoricalDtype(pd.Index(list(self.numbers), dtype=object))
        return Words.from_codes(codes, dtype=dtype)


class Filling:
    """Fills the columns of Records process by process.

    Attributes:
        columns: values by name of the column; columns of Words have numbers.
        words: vocabulary of each column of Words, by name of the column.
        rows: number of rows filled so far.
    """

    def __init__(self, max_rows: int) -> None:
        self.columns = {column.name: np.empty(max_rows, dtype=column.dtype or "f8") for column in Records.columns()}
        self.words = {name: Vocabulary() for name, kind in Records.types().items() if kind is Words}
        self.words["kind"].codes(CALL_KINDS)
        self.rows = 0

    def table(self) -> Records:
        """Returns the rows filled so far."""
        filled: dict[str, Any] = {name: values[: self.rows] for name, values in self.columns.items()}
        return Records(**filled | {name: words.column(filled[name]) for name, words in self.words.items()})

    def add(
        self,
        section: Section,
        clocks: Clocks,
        thinning: Ints,
        first_row: int,
        processes: dict[int, tuple[int, int]],
        phases: Sequence[str],
    ) -> None:
        """Adds the records of a process that thinning keeps, by time of entry.

        Args:
            section: what the process recorded.
            clocks: its synchronizations.
            thinning: thinning of each row of the process' profile.
            first_row: index of the process' first row in the profile of all processes.
            processes: from `processes_of`.
            phases: from `phase_paths`.
        """
        communicators, sites, profile = section.tables.communicators, section.tables.sites, section.tables.profile
        if len(section.operations) > np.iinfo(self.columns["operation"].dtype).max:
            raise ValueError(f"it has {len(section.operations)} operations")
        if len(profile) and (
            profile["kind"].max() >= len(CALL_KINDS) or profile["operation"].max() >= len(section.operations)
        ):
            raise ValueError("it has calls of an unknown kind")
        codes = {name: words.codes for name, words in self.words.items()}
        # The last entry of each array is for communicators and sites that are not in the table.
        size, beyond = ranks_and_beyond(communicators, processes)
        communicator_columns = {
            "communicator": codes["communicator"]([*map(identity, communicators), NOT_KNOWN]),
            "size": size,
            "beyond": beyond,
            "group": np.append(group_of(communicators), np.int8(-1)),
            "comm_rank": np.append(communicators["rank"].astype(float), np.nan),
        }
        site_columns = {
            "module": codes["module"]([*map(text, sites["module"]), NOT_KNOWN]),
            "offset": np.append(sites["offset"], np.uint64(0)),
            "symbol": codes["symbol"]([*map(text, sites["symbol"]), ""]),
        }
        operations, paths = codes["operation"](section.operations), codes["phase"](phases)
        tick = float(clocks.ns_per_tick[0]) * 1e-9 if len(clocks) else np.nan
        begin, wander = self.rows, wander_of_run(section.header.max_wander)
        for first in range(0, len(section.tables.records), CHUNK):
            records = section.tables.records[first : first + CHUNK]
            known = (records["state"] == ENTERED) | (records["state"] == COMPLETE)
            known &= records["row"] < len(profile)
            known[known] = records["level"][known] >= thinning[records["row"][known]]
            records = np.array(records) if known.all() else records[known]
            row = profile[records["row"]]
            communicator = np.minimum(row["communicator"], len(communicators))
            site = np.minimum(row["site"], len(sites))
            complete = records["state"] == COMPLETE
            inter = communicator_columns["group"][communicator] >= 0
            at_root = records["root"] == communicator_columns["comm_rank"][communicator]
            values = {
                **{name: known_values[communicator] for name, known_values in communicator_columns.items()},
                **{name: known_values[site] for name, known_values in site_columns.items()},
                **{name: records[name] for name in ("sequence", "round", "thread", "together")},
                **{name: np.where(records[name] < 0, np.nan, records[name]) for name in ("bytes", "root")},
                **times_of(records, clocks, wander, complete),
                "rank": section.rank,
                "operation": operations[row["operation"]],
                "phase": paths[row["phase"]],
                "kind": row["kind"],
                "row": first_row + records["row"].astype(np.int64),
                "is_root": np.where(inter, records["root"] == ROOT_ITSELF, at_root),
                "elsewhere": short_ticks(records["elsewhere"]) * tick,
                "complete": complete,
            }
            for name, column_values in values.items():
                self.columns[name][self.rows : self.rows + len(records)] = column_values
            self.rows += len(records)
        added = slice(begin, self.rows)
        if (np.diff(self.columns["entry"][added]) < 0).any():  # several threads
            order = np.argsort(self.columns["entry"][added], kind="stable")
            for column_values in self.columns.values():
                column_values[added] = column_values[added][order]


def records_of(
    sections: Sequence[Section],
    thinning: Ints,
    processes: dict[int, tuple[int, int]],
    names: set[str],
    own_clocks: bool,
) -> Records:
    """Returns the records of all processes that thinning keeps.

    Args:
        sections: what the processes recorded.
        thinning: thinning of each row of the profile.
        processes: from `processes_of`.
        names: of phases, from `ended_names`.
        own_clocks: as in `Recording`.
    """
    filling = Filling(sum(len(section.tables.records) for section in sections))
    first = 0
    for section in sections:
        rows = len(section.tables.profile)
        with reading(section.path):
            clocks = section.clocks[:1] if own_clocks else section.clocks
            filling.add(section, clocks, thinning[first : first + rows], first, processes, phase_paths(section, names))
        first += rows + 1
    return filling.table()


def short_ticks(stored: np.ndarray) -> np.ndarray:
    """Decodes the ticks in the field `elsewhere`: an 11-bit mantissa and a 5-bit exponent."""
    return (stored & 0x7FF).astype(np.int64) << (stored >> 11).astype(np.int64)


def times_of(records: np.ndarray, clocks: Clocks, wander: float, complete: np.ndarray) -> dict[str, np.ndarray]:
    """Converts the timestamps of records to the global clock, with the bound of their error, s; NaN: no clock samples.

    Args:
        records: of a process.
        clocks: its synchronizations.
        wander: from `wander_of_run`.
        complete: flags of the records that have an exit.
    """
    if not len(clocks):  # the process ended before the first synchronization did
        return {name: np.full(len(records), np.nan) for name in ("entry", "returned", "waited", "exit", "bound")}
    entry, bound = global_times(records["entry"], clocks, wander)

    def at(name: str, rows: np.ndarray) -> np.ndarray:
        times = np.full(len(records), np.nan)
        if rows.any():
            times[rows], bound_of_time = global_times(records[name][rows], clocks, wander)
            bound[rows] = np.maximum(bound[rows], bound_of_time)
        return times

    end = at("exit", complete)
    blocking = records["returned"] == records["exit"]
    returned = np.where(blocking, end, at("returned", ~blocking & (records["returned"] != 0)))
    waited = at("waited", complete & (records["waited"] != 0))
    return {"entry": entry, "returned": returned, "waited": waited, "exit": end, "bound": bound}
