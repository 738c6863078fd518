"""What each process did before a collective: the collective before it, and the time since then."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from downbeat.tables import Floats, Ints, Texts, Words, column
from downbeat.trace.calls import PLACE, Calls, Waits, mpi_name
from downbeat.trace.records import Records


class Arrived(Waits):
    """All that is known of each process in each whole call."""

    before: Words = column("the collective that it was in before (`place_names`); NaN: there is none, or not known")
    before_out: Floats = column("when it left that", "s")
    gap: Floats = column("time from there to the entry, on one clock", "s")
    own_time: Floats = column("process time (`ProcessTime`) of `time`", "s")
    own_wait: Floats = column("process time of `wait`", "s")
    own_wait_error: Floats = column("process time of `wait_error`", "s")
    site: Ints = column("index of the call site in Sites")


class SiteCalls(Calls):
    """Whole calls with their call site."""

    site: Ints = column("index of the call site in Sites")
    weight: Floats = column("calls of the run that the call stands for", "1")


def gaps_of(records: Records, thinned: np.ndarray) -> tuple[Ints, Floats, Floats]:
    """What the rank of each record did since it left the collective before.

    The values are the index of the record of the collective that the same thread, or any thread of the process on the
    same communicator, was in last; when it left that, s; and the time from there to the entry, on one clock, s. -1 and
    NaN: no such collective, or the sample may lack calls in between. Threads in turn on a communicator are as one
    thread; those on several are apart.

    Args:
        records: of some of the calls.
        thinned: of each record, whether its row of the profile keeps only some of its calls.
    """
    rank, thread = records.rank.astype(np.int64), records.thread.astype(np.int64)
    before, out = last_before(records, rank << 16 | thread)
    communicator = records.communicator.codes.astype(np.int64)
    if len(records) and (np.diff(thread[np.lexsort((thread, rank))]) != 0).any():
        other, other_out = last_before(records, rank << 32 | communicator)
        later = (other >= 0) & ((before < 0) | (other_out > out))
        before, out = np.where(later, other, before), np.where(later, other_out, out)
    gap = records.entry - out
    dropping = np.unique(communicator[thinned])
    if len(dropping):
        number = records.sequence.astype(np.int64)
        sure = (before >= 0) & (len(dropping) == 1) & (communicator == dropping[0])
        sure &= (communicator[before] == communicator) & (number[before] + 1 == number)
        before, gap = np.where(sure, before, -1), np.where(sure, gap, np.nan)
    return before, out, gap


def last_before(records: Records, group: Ints) -> tuple[Ints, Floats]:
    """The record of its group that ended last before the entry of each record (-1: none), and when (NaN), s."""
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
    """What and where collectives are."""
    positions = zip(operation, kind, names, strict=True)
    return np.array([f"{mpi_name(str(what), str(how))} ({name})" for what, how, name in positions], dtype=object)


def names_before(before: Ints, records: Records, names: Mapping[tuple[str, int], str]) -> Words:
    """The name of the collective before, as in `place_names`."""
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
