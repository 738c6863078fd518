"""Reads the profile of a run: all calls, added up by process, call site, communicator, operation and size class.

The profile counts every call, also if the records are a sample. With thinning k, a row has records of one call in
2^k.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.trace.communicators import NOT_KNOWN, identity, ranks_and_beyond
from downbeat.trace.file import CALL_KINDS, SIZE_UNKNOWN, TABLES, Section, text

UNPLACED = "collective"  # the operation of calls that had no room for a row of their own
# Rows of several processes with equal values of these columns count the same calls.
SAME_CALLS = ["module", "offset", "operation", "kind", "communicator", "size_up_to", "phase"]


class Profile(Table):
    """Calls, added up by process, call site, communicator, operation and size class."""

    rank: Ints = column("rank of the process in MPI_COMM_WORLD")
    operation: Texts = column("MPI's name, lower case, without MPI_")
    kind: Texts = column("blocking, nonblocking or persistent")
    communicator: Texts = column("name of the communicator")
    size: Floats = column("processes of the communicator, of both groups; if beyond is not 0, of the rank's group", "1")
    beyond: Ints = column("0, or ELSEWHERE (has processes of another job) or UNSEEN (its other group left no file)")
    size_up_to: Floats = column("largest size of the size class, a power of two; NaN: not known", "B")
    phase: Texts = column('phase of the program, outer > inner; "": none')
    module: Texts = column("path of the module that makes the calls")
    offset: Ints = column("return address of the calls in it; of Python, the line", "B")
    symbol: Texts = column('function that makes the calls; "": not known')
    build_id: Texts = column('build-id of the module; "": it has none')
    calls: Ints = column("complete calls", "1")
    bytes: Ints = column("bytes of all calls whose size is known", "B")
    call_time: Floats = column("time in the calls", "s")
    wait_time: Floats = column("time in calls that start persistent collectives or complete collectives", "s")
    thinning: Ints = column("records are of one call in 2^thinning, chosen alike on all processes")


def profile_of(section: Section, processes: dict[int, tuple[int, int]], phases: Sequence[str]) -> Profile:
    """Returns the profile of a process; the last row counts the calls that had no room for a row of their own.

    Args:
        section: what the process recorded.
        processes: from `processes_of`.
        phases: from `phase_paths`.
    """
    # TRACE_NONE becomes the index behind a table: freed communicators of one size, and calls without a site. The row
    # that is appended to each column is that of calls without a row of their own.
    table, communicators, sites = section.tables.profile, section.tables.communicators, section.tables.sites
    communicator, site = np.minimum(table["communicator"], len(communicators)), np.minimum(table["site"], len(sites))
    tick = section.clocks.tick()
    sums = np.append(table, np.array(section.header.unplaced, dtype=TABLES["profile"]))
    sizes = sums["size"].astype(np.float64)
    ranks, beyond = ranks_and_beyond(communicators, processes)
    ranks = np.where(communicator < len(communicators), ranks[communicator], table["ranks"])

    def texts(values: Sequence[str], index: np.ndarray, last: str) -> np.ndarray:
        return np.append(np.array(values, dtype=object)[index], np.array([last], dtype=object))

    def site_texts(name: str, unknown: str, last: str) -> np.ndarray:
        return texts([*map(text, sites[name]), unknown], site, last)

    return Profile(
        rank=np.full(len(sums), section.rank),
        operation=texts(section.operations, table["operation"], UNPLACED),
        kind=texts(CALL_KINDS, table["kind"], "blocking"),
        communicator=texts([*map(identity, communicators), "freed"], communicator, NOT_KNOWN),
        size=np.append(ranks, np.nan),
        beyond=np.append(beyond[communicator].astype(np.int64), 0),
        # Size class 0: no bytes; n: more than 2^(n - 2), up to 2^(n - 1) bytes.
        size_up_to=np.where(sizes == SIZE_UNKNOWN, np.nan, np.where(sizes > 0, np.exp2(sizes.clip(max=64) - 1), 0)),
        phase=texts(phases, table["phase"], ""),
        module=site_texts("module", NOT_KNOWN, NOT_KNOWN),
        offset=np.append(np.append(sites["offset"], np.uint64(0))[site], np.uint64(0)),
        symbol=site_texts("symbol", "", ""),
        build_id=site_texts("build_id", "", ""),
        calls=sums["calls"],
        bytes=sums["bytes"],
        call_time=sums["ticks"] * tick,
        wait_time=sums["waits"] * tick,
        thinning=np.append(table["thinning"].astype(np.int64), 0),
    )


def thinned_alike(profile: Profile) -> Profile:
    """Sets the thinning of all rows that count the same calls to the largest.

    Only the calls that the largest thinning keeps were recorded by all processes.
    """
    if not profile.thinning.any():
        return profile
    thinning = profile.frame(*SAME_CALLS, "thinning").groupby(SAME_CALLS, dropna=False, sort=False).thinning
    return profile.replaced(thinning=thinning.transform("max").to_numpy())


def thinned(sections: Sequence[Section], profile: Profile, max_records: int) -> Profile:
    """Increases the thinning until the expected number of records is at most `max_records`; keeps the records."""
    thinning = profile.thinning
    calls = profile.calls.astype(float)
    record_count = sum(len(section.tables.records) for section in sections)
    max_per_row = float(max(calls.max(initial=1.0), 1.0))  # records; halved until all rows together fit
    group = profile.frame(*SAME_CALLS).groupby(SAME_CALLS, dropna=False, sort=False).ngroup().to_numpy()
    # The thinning stays as it is if the file already has few records, whatever number is expected.
    while record_count > max_records and (calls / np.exp2(thinning)).sum() > max_records:
        max_per_row /= 2
        needed = np.ceil(np.log2(np.maximum(calls, 1.0) / max_per_row)).clip(min=0).astype(np.int64)
        thinning = np.maximum(thinning, pd.Series(needed).groupby(group).transform("max").to_numpy())
    return profile.replaced(thinning=thinning)
