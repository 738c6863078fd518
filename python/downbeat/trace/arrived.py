"""Finds, for each record of a collective, the collective that the process left before, and the time since then.

A process is late at a collective either because it left the previous collective late or because it took long in
between; the columns `before`, `before_out` and `gap` of `Arrived` separate the two.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from downbeat.tables import Floats, Ints, Texts, Words, column
from downbeat.trace.calls import PLACE, Calls, Waits, mpi_name
from downbeat.trace.records import Records


class Arrived(Waits):
    """What each process did in each whole call: `Waits`, the previous collective and process times."""

    before: Words = column("the previous collective of the process (`place_names`); NaN: there is none, or not known")
    before_out: Floats = column("time at which it left `before`; NaN: not known", "s")
    gap: Floats = column("time from `before_out` to the entry, on the process' clock; NaN: not known", "s")
    own_time: Floats = column("process time (`ProcessTime`) of `time`", "s")
    own_wait: Floats = column("process time of `wait`", "s")
    own_wait_error: Floats = column("process time of `wait_error`", "s")
    site: Ints = column("index of the call site in Sites")


class SiteCalls(Calls):
    """Whole calls with their call site."""

    site: Ints = column("index of the call site in Sites")
    weight: Floats = column("calls of the run that the call represents", "1")


def gaps_of(records: Records, thinned: np.ndarray) -> tuple[Ints, Floats, Floats]:
    """Finds the collective that the process of each record left before, when it left it, and the time since then.

    The previous collective is the last one of the same thread, or of any thread of the process on the same
    communicator. So threads that take turns on a communicator count as one thread, and threads on different
    communicators do not.

    Args:
        records: of all processes; possibly a sample.
        thinned: flags of the records; true: the record is from a row of the profile that keeps only some of its calls.

    Returns:
        The index of the record of the previous collective (-1), the time at which the process left it, s (NaN), and the
        time from there to the entry, s (NaN). The values in parentheses mean that there is no previous collective, or
        that the sample may lack calls in between.
    """
    rank, thread = records.rank.astype(np.int64), records.thread.astype(np.int64)
    before, out = last_before(records, rank << 16 | thread)
    communicator = records.communicator.codes.astype(np.int64)
    if len(records) and (np.diff(thread[np.lexsort((thread, rank))]) != 0).any():
        other, other_out = last_before(records, rank << 32 | communicator)
        later = (other >= 0) & ((before < 0) | (other_out > out))
        before, out = np.where(later, other, before), np.where(later, other_out, out)
    gap = records.entry - out
    sampled = np.unique(communicator[thinned])
    if len(sampled):  # only consecutive calls on the only sampled communicator surely have no call in between
        number = records.sequence.astype(np.int64)
        sure = (before >= 0) & (len(sampled) == 1) & (communicator == sampled[0])
        sure &= (communicator[before] == communicator) & (number[before] + 1 == number)
        before, gap = np.where(sure, before, -1), np.where(sure, gap, np.nan)
    return before, out, gap


def last_before(records: Records, group: Ints) -> tuple[Ints, Floats]:
    """Finds, for each record, the record of its group that ended last before its entry.

    Args:
        records: of all processes.
        group: of each record; only records of the same group are compared.

    Returns:
        The index of that record (-1: none) and the time of its end, s (NaN: none).
    """
    count = len(records)
    times = np.concatenate([records.returned, records.exit, records.entry])
    kind = np.repeat([0, 0, 1], count)  # ends come before an entry at the same time
    owner = np.tile(np.arange(count), 3)
    kept = ~np.isnan(times)
    times, kind, owner = times[kept], kind[kept], owner[kept]
    order = np.lexsort((kind, times, group[owner]))
    times, kind, owner = times[order], kind[order], owner[order]
    at = np.maximum.accumulate(np.where(kind == 0, np.arange(len(times)), -1))
    enters = np.flatnonzero((kind == 1) & (at >= 0))
    last = at[enters]
    same = group[owner[last]] == group[owner[enters]]
    enters, last = enters[same], last[same]
    before, out = np.full(count, -1), np.full(count, np.nan)
    before[owner[enters]] = owner[last]
    out[owner[enters]] = times[last]
    return before, out


def place_names(operation: Texts | Words, kind: Texts | Words, names: Texts) -> Texts:
    """Names collectives with their call sites: `MPI_Bcast (solver.c:21)`."""
    called = zip(operation, kind, names, strict=True)
    return np.array([f"{mpi_name(str(what), str(how))} ({name})" for what, how, name in called], dtype=object)


def names_before(before: Ints, records: Records, names: Mapping[tuple[str, int], str]) -> Words:
    """Names the previous collective of each record.

    Args:
        before: index of its record; -1: none.
        records: of all processes.
        names: of call sites, by module and offset.
    """
    codes = np.zeros(len(records), dtype=np.int64)
    for name in PLACE:
        values = getattr(records, name)
        values = pd.factorize(values.codes if isinstance(values, Words) else values)[0]
        codes = pd.factorize(codes * (len(records) + 1) + values)[0]
    first = records[np.unique(codes, return_index=True)[1]]
    sites = [names[str(module), int(offset)] for module, offset in zip(first.module, first.offset, strict=True)]
    called, texts = pd.factorize(place_names(first.operation, first.kind, np.array(sites, dtype=object)))
    index = np.where(before >= 0, called[codes[before]], -1) if len(codes) else before
    return Words.from_codes(index, categories=pd.Index(texts))
