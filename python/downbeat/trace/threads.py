"""The time of processes whose threads call collectives at the same time.

Shares are of the time of processes, whatever the number of their threads and however long these live. At an instant at
which n threads of a process are in collectives, each has 1/n of it. So the times of a process never add up to more than
the run, and those of threads in turn are those of a single thread.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from downbeat.tables import Floats, Ints
from downbeat.trace.calls import Waits
from downbeat.trace.profile import Profile
from downbeat.trace.records import Records


class ProcessTime:
    """The time of each process as its calls share it: 1 s of a call is less of it while other threads are in calls."""

    def __init__(self, records: Records, profile: Profile | None = None) -> None:
        """Takes all records; of a sample, with the profile, only the mean number of threads in calls is estimated.

        Args:
            records: of all processes.
            profile: `row` in records is its index. None: records are all there is.
        """
        self.times: dict[int, tuple[Floats, Floats]] = {}  # of ranks with threads in calls at once: time, process time
        for rank, threads in threads_of_ranks(records).items():
            if threads == 1:
                continue
            records_of_rank = records[records.rank == rank]
            thinning = np.zeros(len(records_of_rank)) if profile is None else profile.thinning[records_of_rank.row]
            shared = shared_time(*intervals(records_of_rank, np.exp2(thinning)), threads)
            if shared is not None:
                self.times[rank] = shared

    def between(self, rank: Ints, begin: Floats, end: Floats) -> Floats:
        """The process time from `begin` to `end`, s, of each rank."""
        spans: Floats = end - begin
        for shared_rank, (times, shared) in self.times.items():
            here = rank == shared_rank
            spans[here] = np.interp(end[here], times, shared) - np.interp(begin[here], times, shared)
        return spans

    def of_waits(self, rows: Waits) -> tuple[Floats, Floats, Floats]:
        """The process time of `time`, `wait` and `wait_error`, s."""
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
        """The process time of each call until it returned, if it does not block, and until it was complete, s."""
        starting = np.where(np.isnan(records.waited), 0.0, self.between(records.rank, records.entry, records.returned))
        completing = self.between(records.rank, completion_begins(records), records.exit)
        return starting, completing / records.together.clip(min=1)

    def of_profile(self, profile: Profile, records: Records) -> Profile:
        """A profile whose times are process time: each row's as those of its records."""
        if not self.times:
            return profile
        shared = np.isin(records.rank, list(self.times)) & ~np.isnan(records.exit) & records.complete
        some = records[shared]
        starting, completing = self.of_calls(some)
        alone, alone_later = ProcessTime(some[:0]).of_calls(some)
        later = ~np.isnan(some.waited)
        call = np.where(later, starting, completing), np.where(later, alone, alone_later)
        wait = np.where(later, completing, 0.0), np.where(later, alone_later, 0.0)
        return profile.replaced(
            call_time=profile.call_time * shares_of_rows(profile, some, *call),
            wait_time=profile.wait_time * shares_of_rows(profile, some, *wait),
        )


def threads_of_ranks(records: Records) -> dict[int, int]:
    """The number of threads in the records of each rank."""
    pairs = np.unique(records.rank.astype(np.int64) << 32 | records.thread.astype(np.int64))
    ranks, counts = np.unique(pairs >> 32, return_counts=True)
    return dict(zip(ranks.tolist(), counts.tolist(), strict=True))


def shares_of_rows(profile: Profile, records: Records, shared: Floats, alone: Floats) -> Floats:
    """The part of the time in calls that is process time, of each row of a profile; of its rank without records.

    Args:
        profile: of all calls.
        records: of some.
        shared: their process time, s.
        alone: their time, s.
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
    """Begin of the call that completed a collective: its entry if it blocks, else that of the wait."""
    return np.where(np.isnan(records.waited), records.entry, records.waited)


def intervals(records: Records, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The times in which a process' threads are in calls: begins, ends, s; calls each is of; their weights.

    Args:
        records: of a process.
        weights: for how many calls each record stands.
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
    """Returns times, and the process time until each; None: no two threads were in calls at once.

    Args:
        begins: from `intervals`.
        ends: from `intervals`.
        counts: from `intervals`.
        weights: from `intervals`.
        threads: of the process.
    """
    times = np.concatenate([begins, ends])
    changes = np.concatenate([counts * weights, -counts * weights])
    order = np.lexsort((changes, times))  # ends come before a begin at the same time
    times, inside = times[order], np.cumsum(changes[order])
    spans = np.diff(times, append=times[-1:])
    if (weights == 1.0).all():
        inside = np.where(inside > 1.0 + 1e-6, inside, 1.0)  # sums of 1/3 are not whole
        if (inside == 1.0).all():
            return None
        return times, np.cumsum(np.concatenate([[0.0], (spans / inside)[:-1]]))
    # Others that are in calls at the same time, mean: each of the sample stands for as many as its weight.
    until = np.concatenate([[0.0], np.cumsum(spans * inside)[:-1]])
    lengths = (ends - begins) * counts
    other_time = (np.interp(ends, times, until) - np.interp(begins, times, until)) * counts - weights * counts * lengths
    total = float((weights * lengths).sum())
    mean = 1.0 + float((weights * other_time).sum()) / total if total > 0 else 1.0
    mean = min(max(mean, 1.0), float(threads))
    return None if mean == 1.0 else (times[[0, -1]], np.array([0.0, (times[-1] - times[0]) / mean]))
