"""Converts the time in calls to process time, for processes whose threads call collectives at the same time.

While n threads of a process are in collectives, each of their calls gets 1/n of the time. So the process times of a
process never add up to more than the run, and threads that take turns count like a single thread.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat.tables import Floats, Ints
from downbeat.trace.calls import Waits
from downbeat.trace.profile import Profile
from downbeat.trace.records import Records


class ProcessTime:
    """Converts times of calls to process time: less than the time in the call while other threads are in calls."""

    def __init__(self, records: Records, profile: Profile | None = None) -> None:
        """Finds the times at which several threads are in calls; from a sample, estimates their mean number.

        Args:
            records: of all processes.
            profile: the column `row` of records is its index; None: the records are not a sample.
        """
        # rank -> times and the process time until each, of ranks with several threads in calls at the same time
        self.times: dict[int, tuple[Floats, Floats]] = {}
        for rank, threads in threads_of_ranks(records).items():
            if threads == 1:
                continue
            records_of_rank = records[records.rank == rank]
            thinning = np.zeros(len(records_of_rank)) if profile is None else profile.thinning[records_of_rank.row]
            shared = shared_time(*intervals(records_of_rank, np.exp2(thinning)), threads)
            if shared is not None:
                self.times[rank] = shared

    def between(self, rank: Ints, begin: Floats, end: Floats) -> Floats:
        """Returns the process time from `begin` to `end` on each rank, s."""
        spans: Floats = end - begin
        for shared_rank, (times, shared) in self.times.items():
            here = rank == shared_rank
            spans[here] = np.interp(end[here], times, shared) - np.interp(begin[here], times, shared)
        return spans

    def of_waits(self, rows: Waits) -> tuple[Floats, Floats, Floats]:
        """Returns the process time of `time`, `wait` and `wait_error`, s."""
        if not self.times:
            return rows.time, rows.wait, rows.wait_error
        together = rows.together.clip(min=1)
        starting, completing = self.of_calls(rows)
        begin = completion_begins(rows)
        wait = self.between(rows.rank, begin, begin + rows.wait * together) / together
        time = starting + completing
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(rows.time > 0, time / rows.time, 1.0)
        return time, wait, rows.wait_error * share

    def of_calls(self, records: Records) -> tuple[Floats, Floats]:
        """Returns the process time of starting each collective (0 if blocking) and of completing it, s."""
        starting = np.where(np.isnan(records.waited), 0.0, self.between(records.rank, records.entry, records.returned))
        completing = self.between(records.rank, completion_begins(records), records.exit)
        return starting, completing / records.together.clip(min=1)

    def of_profile(self, profile: Profile, records: Records) -> Profile:
        """Scales the times of a profile to process time, each row in the ratio of its records."""
        if not self.times:
            return profile
        shared = np.isin(records.rank, list(self.times)) & ~np.isnan(records.exit) & records.complete
        affected = records[shared]
        starting, completing = self.of_calls(affected)
        start_time, completion_time = ProcessTime(affected[:0]).of_calls(affected)  # without records: not converted
        later = ~np.isnan(affected.waited)
        call = np.where(later, starting, completing), np.where(later, start_time, completion_time)
        wait = np.where(later, completing, 0.0), np.where(later, completion_time, 0.0)
        return profile.replaced(
            call_time=profile.call_time * shares_of_rows(profile, affected, *call),
            wait_time=profile.wait_time * shares_of_rows(profile, affected, *wait),
        )


def threads_of_ranks(records: Records) -> dict[int, int]:
    """Counts the threads in the records of each rank."""
    pairs = np.unique(records.rank.astype(np.int64) << 32 | records.thread.astype(np.int64))
    ranks, counts = np.unique(pairs >> 32, return_counts=True)
    return dict(zip(ranks.tolist(), counts.tolist(), strict=True))


def shares_of_rows(profile: Profile, records: Records, shared: Floats, alone: Floats) -> Floats:
    """Returns process time as a share of the time in calls, for each row of a profile.

    A row without records gets the share of its rank, and 1 if the rank has none.

    Args:
        profile: of all calls.
        records: of some of the calls.
        shared: process time of each record, s.
        alone: time of each record, s.
    """
    sums = pd.DataFrame({"shared": shared, "alone": alone})
    of_row = sums.groupby(records.row).sum().reindex(range(len(profile)))
    of_rank = sums.groupby(records.rank).sum().reindex(profile.rank)
    share, mean = (
        (times.shared / times.alone.where(times.alone > 0)).reset_index(drop=True) for times in (of_row, of_rank)
    )
    shares: Floats = share.fillna(mean).fillna(1.0).to_numpy()
    return shares


def completion_begins(records: Records) -> Floats:
    """Returns the begin of the call that completed each collective: its entry if blocking, else the begin of a wait."""
    return np.where(np.isnan(records.waited), records.entry, records.waited)


def intervals(records: Records, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Returns the intervals in which a process' threads are in calls.

    Args:
        records: of a process.
        weights: calls of the run that each record represents.

    Returns:
        Begins and ends, s; the share of each interval that belongs to the record; weights.
    """
    later = ~np.isnan(records.waited) | (records.kind != "blocking")
    first = np.where(later, records.returned, records.exit)
    begins, ends = np.concatenate([records.entry, records.waited]), np.concatenate([first, records.exit])
    counts = np.concatenate([np.ones(len(records)), 1.0 / records.together.clip(min=1)])
    kept = ~np.isnan(begins) & ~np.isnan(ends)
    return begins[kept], ends[kept], counts[kept], np.tile(weights, 2)[kept]


def shared_time(
    begins: Floats, ends: Floats, counts: Floats, weights: Floats, threads: int
) -> tuple[Floats, Floats] | None:
    """Returns times, and the process time until each; None: no two threads were in calls at the same time.

    Args:
        begins: from `intervals`.
        ends: from `intervals`.
        counts: from `intervals`.
        weights: from `intervals`.
        threads: number of threads of the process.
    """
    times = np.concatenate([begins, ends])
    changes = np.concatenate([counts * weights, -counts * weights])
    order = np.lexsort((changes, times))  # ends come before a begin at the same time
    times, active = times[order], np.cumsum(changes[order])  # threads in calls after each time
    spans = np.diff(times, append=times[-1:])
    if (weights == 1.0).all():
        active = np.where(active > 1.0 + 1e-6, active, 1.0)  # sums of 1/3 are not exact
        if (active == 1.0).all():
            return None
        return times, np.cumsum(np.concatenate([[0.0], (spans / active)[:-1]]))
    # Estimates the mean number of other threads in calls at the same time: a record counts as `weight` calls.
    until = np.concatenate([[0.0], np.cumsum(spans * active)[:-1]])
    lengths = (ends - begins) * counts
    other_time = (np.interp(ends, times, until) - np.interp(begins, times, until)) * counts - weights * counts * lengths
    total = float((weights * lengths).sum())
    mean = 1.0 + float((weights * other_time).sum()) / total if total > 0 else 1.0
    mean = min(max(mean, 1.0), float(threads))
    return None if mean == 1.0 else (times[[0, -1]], np.array([0.0, (times[-1] - times[0]) / mean]))
