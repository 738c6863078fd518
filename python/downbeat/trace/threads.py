"""The time of processes whose threads call collectives at the same time.

Shares are of the time of processes, whatever the number of their threads and however long these live. At an instant at
which n threads of a process are in collectives, each has 1/n of it. So the times of a process never add up to more than
the run, and those of threads in turn are those of a single thread.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class ProcessTime:
    """The time of each process as its calls share it: 1 s of a call is less of it while other threads are in calls."""

    def __init__(self, records: pd.DataFrame, profile: pd.DataFrame | None = None) -> None:
        """Takes all records; of a sample, with the profile, only the mean number of threads in calls is estimated.

        Args:
            records: as `Trace.records`; without `thread`, no process has several.
            profile: as `Trace.profile`; `row` in records is its index. None: records are all there is.
        """
        self.times: dict[int, tuple[Floats, Floats]] = {}  # of ranks with threads in calls at once: time, process time
        if "thread" not in records or records.empty:
            return
        threads = records.drop_duplicates(["rank", "thread"])["rank"].value_counts()
        for rank in threads.index[threads > 1].tolist():
            own = records[records["rank"] == rank]
            thinning = np.zeros(len(own)) if profile is None else profile["thinning"].to_numpy()[own["row"].to_numpy()]
            shared = shared_time(*intervals(own, np.exp2(thinning)), int(threads[rank]))
            if shared is not None:
                self.times[int(rank)] = shared

    def between(self, rank: pd.Series, begin: Floats, end: Floats) -> Floats:
        """Returns the process time from `begin` to `end`, s, of each rank."""
        spans: Floats = end - begin
        ranks = rank.to_numpy()
        for one, (times, shared) in self.times.items():
            here = ranks == one
            spans[here] = np.interp(end[here], times, shared) - np.interp(begin[here], times, shared)
        return spans

    def of_rows(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Returns rows of `match_arrivals` with `own_time`, `own_wait` and `own_wait_error`, which are process time."""
        if not self.times:
            return rows.assign(own_time=rows["time"], own_wait=rows["wait"], own_wait_error=rows["wait_error"])
        together = rows["together"].to_numpy().clip(min=1) if "together" in rows else 1
        starting, completing = self.of_calls(rows)
        begin = completion_begins(rows)
        wait = self.between(rows["rank"], begin, begin + (rows["wait"] * together).to_numpy(dtype=float)) / together
        time = starting + completing
        known = rows["time"].where(rows["time"] > 0)
        part = (time / known).fillna(1.0)
        return rows.assign(own_time=time, own_wait=wait, own_wait_error=rows["wait_error"] * part)

    def of_calls(self, records: pd.DataFrame) -> tuple[Floats, Floats]:
        """Returns the process time of each call until it returned, if it does not block, and until it was complete."""
        begin, end = completion_begins(records), records["exit"].to_numpy(dtype=float)
        entry, returned = (records[name].to_numpy(dtype=float) for name in ("entry", "returned"))
        together = records["together"].to_numpy().clip(min=1) if "together" in records else 1
        later = records["waited"].notna().to_numpy()
        starting = np.where(later, self.between(records["rank"], entry, returned), 0.0)
        return starting, self.between(records["rank"], begin, end) / together

    def of_profile(self, profile: pd.DataFrame, records: pd.DataFrame) -> pd.DataFrame:
        """Returns a profile whose times are process time: each row's as those of its records."""
        if not self.times:
            return profile
        some = records[records["rank"].isin(list(self.times)) & records["exit"].notna() & records["complete"]]
        starting, completing = self.of_calls(some)
        alone, alone_later = ProcessTime(some.iloc[:0]).of_calls(some)
        later = some["waited"].notna().to_numpy()
        sums = pd.DataFrame(
            {
                "rank": some["rank"].to_numpy(),
                "row": some["row"].to_numpy(),
                "call": np.where(later, starting, completing),
                "call_alone": np.where(later, alone, alone_later),
                "wait": np.where(later, completing, 0.0),
                "wait_alone": np.where(later, alone_later, 0.0),
            }
        )
        of_row = sums.drop(columns="rank").groupby("row").sum().reindex(profile.index)
        of_rank = sums.drop(columns="row").groupby("rank").sum().reindex(profile["rank"]).set_axis(profile.index)
        scaled = {}
        for name, column in (("call", "call_time"), ("wait", "wait_time")):
            mean = of_rank[name] / of_rank[f"{name}_alone"].where(
                of_rank[f"{name}_alone"] > 0
            )  # of rows without records
            part = of_row[name] / of_row[f"{name}_alone"].where(of_row[f"{name}_alone"] > 0)
            scaled[column] = profile[column] * part.fillna(mean).fillna(1.0)
        return profile.assign(**scaled)


def completion_begins(records: pd.DataFrame) -> Floats:
    """Returns when the call began in which a collective was complete: its own entry if it blocks."""
    begins: Floats = records["waited"].fillna(records["entry"]).to_numpy(dtype=float)
    return begins


def intervals(records: pd.DataFrame, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Returns the times in which a process' threads are in calls: begins, ends, s; calls each is of; their weights.

    Args:
        records: of a process.
        weights: for how many calls each record stands.
    """
    together = records["together"].to_numpy().clip(min=1) if "together" in records else np.ones(len(records))
    later = records["waited"].notna().to_numpy() | (records["kind"] != "blocking").to_numpy()
    first = np.where(later, records["returned"], records["exit"]).astype(float)
    entry, waited, end = (records[name].to_numpy(dtype=float) for name in ("entry", "waited", "exit"))
    begins, ends = np.concatenate([entry, waited]), np.concatenate([first, end])
    counts = np.concatenate([np.ones(len(records)), 1.0 / together])
    kept = ~np.isnan(begins) & ~np.isnan(ends)
    return begins[kept], ends[kept], counts[kept], np.tile(weights, 2)[kept]


def shared_time(
    begins: Floats, ends: Floats, counts: Floats, weights: Floats, threads: int
) -> tuple[Floats, Floats] | None:
    """Returns times, and the process time until each; None: no two threads were in calls at once.

    Args:
        begins: from `intervals`, and likewise the next three.
        ends: likewise.
        counts: likewise.
        weights: likewise.
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
    others = (np.interp(ends, times, until) - np.interp(begins, times, until)) * counts - weights * counts * lengths
    total = float((weights * lengths).sum())
    mean = 1.0 + float((weights * others).sum()) / total if total > 0 else 1.0
    mean = min(max(mean, 1.0), float(threads))
    return None if mean == 1.0 else (times[[0, -1]], np.array([0.0, (times[-1] - times[0]) / mean]))
