"""The calls of a recording one by one: how records of all processes become columns, thinned if they are many."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from downbeat.trace.clocks import global_times, wander_of_run
from downbeat.trace.file import CALL_KINDS, COMPLETE, ENTERED, Section, name_text, text

# Types of columns; those of WORDS hold numbers.
RECORD_COLUMNS = {
    "rank": "i4",
    "operation": "i1",
    "kind": "i1",
    "communicator": "i4",
    "size": "f8",
    "comm_rank": "f8",
    "sequence": "u4",
    "round": "u4",
    "bytes": "f8",
    "root": "f8",
    "entry": "f8",
    "returned": "f8",
    "waited": "f8",
    "exit": "f8",
    "bound": "f8",
    "elsewhere": "f4",
    "module": "i4",
    "offset": "u8",
    "symbol": "i4",
    "group": "i1",
    "is_root": "?",
    "beyond": "i1",
    "thread": "u2",
    "together": "u2",
    "row": "i4",
    "phase": "i4",
    "complete": "?",
}
# Rows of the profile that have these in common are of the same calls, on several processes.
SAME_CALLS = ["module", "offset", "operation", "kind", "communicator", "size_up_to", "phase"]
ROOT_ITSELF = -2  # on an intercommunicator, as in trace_file.h
NOT_KNOWN = "not known"  # a communicator or a module
WORDS = ("operation", "kind", "communicator", "module", "symbol", "phase")
CHUNK = 1 << 16  # records that are converted at a time, so that intermediate values take no memory


def identity(communicator: np.void) -> str:
    """Returns what all processes call a communicator."""
    name = name_text(communicator["name"])
    number = f"{int(communicator['identity']):016x}"
    return f"{name} ({number})" if name else number


class Words:
    """A column of words that repeat: numbers for them, the same in all sections."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def codes(self, words: Iterable[str]) -> np.ndarray:
        """Returns the numbers of words."""
        return np.array([self.numbers.setdefault(word, len(self.numbers)) for word in words], dtype=np.int32)

    def column(self, codes: np.ndarray) -> pd.Categorical:
        """Returns a column of numbers as words."""
        dtype = pd.CategoricalDtype(pd.Index(list(self.numbers), dtype=object))
        return pd.Categorical.from_codes(codes, dtype=dtype)


def group_of(table: np.ndarray) -> np.ndarray:
    """Returns the group of the process in each communicator of a table, -1 where there is one alone."""
    return np.where(table["inter"] > 0, table["second"].astype(np.int8), np.int8(-1))


def ranks_and_beyond(table: np.ndarray, processes: dict[int, tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Returns both of `processes_of` for a table of communicators, and at the end for one that is not in it."""
    of = [processes[int(number)] for number in table["identity"]]
    return np.array([*(one[0] for one in of), np.nan]), np.array([*(one[1] for one in of), 0], dtype=np.int8)


def thinned(sections: list[Section], profile: pd.DataFrame, most: int) -> np.ndarray:
    """Returns the thinning of each row of a profile with which no more than `most` records are left, as expected."""
    thinning: np.ndarray = profile["thinning"].to_numpy(dtype=np.int64)
    calls = profile["calls"].to_numpy(dtype=float)
    room = sum(len(section.tables["records"]) for section in sections)
    limit = float(max(calls.max(initial=1.0), 1.0))
    group = profile.groupby(SAME_CALLS, dropna=False, sort=False).ngroup().to_numpy()
    while room > most and (calls / np.exp2(thinning)).sum() > most:
        limit /= 2
        needed = np.ceil(np.log2(np.maximum(calls, 1.0) / limit)).clip(min=0).astype(np.int64)
        thinning = np.maximum(thinning, pd.Series(needed).groupby(group).transform("max").to_numpy())
    return thinning


def add_kept_records(
    columns: dict[str, np.ndarray],
    words: dict[str, Words],
    section: Section,
    begin: int,
    thinning: np.ndarray,
    first_row: int,
    processes: dict[int, tuple[int, int]],
    phases: list[str],
    maps: np.ndarray,
) -> int:
    """Adds the records of a process that thinning keeps to columns, by time of entry.

    Args:
        columns: as in RECORD_COLUMNS; of words, their numbers.
        words: of the columns in WORDS.
        section: what the process recorded.
        begin: the first row.
        thinning: of each row of the process' profile.
        first_row: the index of the first of them in the profile of all.
        processes: from `processes_of`.
        phases: from `phase_paths`.
        maps: of the clock.

    Returns:
        The number of rows.
    """
    communicators, sites, profile = (section.tables[name] for name in ("communicators", "sites", "profile"))
    # The last entry of each is for numbers that are not in the table.
    size, beyond = ranks_and_beyond(communicators, processes)
    of_communicator = {
        "communicator": words["communicator"].codes([*map(identity, communicators), NOT_KNOWN]),
        "size": size,
        "beyond": beyond,
        "group": np.append(group_of(communicators), np.int8(-1)),
        "comm_rank": np.append(communicators["rank"].astype(float), np.nan),
    }
    of_site = {
        "module": words["module"].codes([*map(text, sites["module"]), NOT_KNOWN]),
        "offset": np.append(sites["offset"], np.uint64(0)),
        "symbol": words["symbol"].codes([*map(text, sites["symbol"]), ""]),
    }
    if len(section.operations) > np.iinfo(RECORD_COLUMNS["operation"]).max:
        raise ValueError(f"it has {len(section.operations)} operations")
    if len(profile) and (
        profile["kind"].max() >= len(CALL_KINDS) or profile["operation"].max() >= len(section.operations)
    ):
        raise ValueError("it has calls of an unknown kind")
    operations = words["operation"].codes(section.operations)
    phase_codes = words["phase"].codes(phases)
    tick = float(maps["ns_per_tick"][0]) * 1e-9 if len(maps) else np.nan
    rows = begin
    for first in range(0, len(section.tables["records"]), CHUNK):
        records = section.tables["records"][first : first + CHUNK]
        known = (records["state"] == ENTERED) | (records["state"] == COMPLETE)
        known &= records["row"] < len(profile)
        known[known] = records["level"][known] >= thinning[records["row"][known]]
        records = np.array(records) if known.all() else records[known]
        place = slice(rows, rows + len(records))
        rows += len(records)
        row = profile[records["row"]]
        communicator = np.minimum(row["communicator"], len(communicators))
        site = np.minimum(row["site"], len(sites))
        for name, values in of_communicator.items():
            columns[name][place] = values[communicator]
        for name, values in of_site.items():
            columns[name][place] = values[site]
        columns["operation"][place] = operations[row["operation"]]
        columns["phase"][place] = phase_codes[row["phase"]]
        columns["kind"][place] = row["kind"]
        columns["row"][place] = first_row + records["row"].astype(np.int64)
        for name in ("sequence", "round", "thread", "together"):
            columns[name][place] = records[name]
        for name in ("bytes", "root"):
            columns[name][place] = np.where(records[name] < 0, np.nan, records[name])
        inter = columns["group"][place] >= 0
        own = records["root"] == columns["comm_rank"][place]
        columns["is_root"][place] = np.where(inter, records["root"] == ROOT_ITSELF, own)
        columns["elsewhere"][place] = short_ticks(records["elsewhere"]) * tick
        complete = records["state"] == COMPLETE
        columns["complete"][place] = complete
        for name, values in times_of(records, maps, wander_of_run(section.header["max_wander"]), complete).items():
            columns[name][place] = values
    place = slice(begin, rows)
    columns["rank"][place] = section.rank
    if (np.diff(columns["entry"][place]) < 0).any():  # of several threads
        order = np.argsort(columns["entry"][place], kind="stable")
        for values in columns.values():
            values[place] = values[place][order]
    return rows - begin


def short_ticks(stored: np.ndarray) -> np.ndarray:
    """Returns the ticks that the field `elsewhere` has: 11 bits, and how far to shift them."""
    return (stored & 0x7FF).astype(np.int64) << (stored >> 11).astype(np.int64)


def times_of(records: np.ndarray, maps: np.ndarray, wander: float, complete: np.ndarray) -> dict[str, np.ndarray]:
    """Returns timestamps on the global clock, and their bound, in seconds; NaN where there is none."""
    if not len(maps):  # the process ended before the first synchronization did
        return {name: np.full(len(records), np.nan) for name in ("entry", "returned", "waited", "exit", "bound")}
    entry, bound = global_times(records["entry"], maps, wander)

    def at(name: str, wanted: np.ndarray) -> np.ndarray:
        times = np.full(len(records), np.nan)
        if wanted.any():
            times[wanted], its_bound = global_times(records[name][wanted], maps, wander)
            bound[wanted] = np.maximum(bound[wanted], its_bound)
        return times

    end = at("exit", complete)
    together = records["returned"] == records["exit"]  # of blocking ones
    returned = np.where(together, end, at("returned", ~together & (records["returned"] != 0)))
    waited = at("waited", complete & (records["waited"] != 0))
    return {"entry": entry, "returned": returned, "waited": waited, "exit": end, "bound": bound}
