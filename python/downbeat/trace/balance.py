"""Divides the time of each rank into computing, waiting for late ranks, operations, messages and other MPI calls.

Only collectives have time stamps. Of all other MPI calls, the recording has sums by process and kind (`Sums`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.trace.arrived import Arrived, SiteCalls
from downbeat.trace.causes import group_sums, ratio
from downbeat.trace.estimates import Estimates
from downbeat.trace.profile import Profile
from downbeat.trace.recording import Sums

MESSAGES = ("point-to-point", "requests")  # kinds of calls
PARTS = ("computing", "waiting", "operation", "point_to_point", "other_MPI")


class RankTimes(Table):
    """The time of each rank, divided by PARTS; the parts add up to the run."""

    rank: Ints = column("rank in the job")
    computing: Floats = column("time outside of MPI, or outside of collectives if only these are known", "s")
    waiting: Floats = column("time in collectives, waiting for late ranks", "s")
    operation: Floats = column("time in collectives except waiting", "s")
    point_to_point: Floats = column("time in messages and requests", "s")
    other_MPI: Floats = column("time in other calls of MPI", "s")  # noqa: N815, as in JSON

    def part(self, name: str) -> Floats:
        """Returns the column of a part of PARTS."""
        times: Floats = getattr(self, name)
        return times

    def sums(self) -> Floats:
        """Adds up all parts of each rank, s."""
        return self.frame(*PARTS).sum(axis=1).to_numpy()


class KindTimes(Table):
    """Time in calls of MPI, by process and kind of calls."""

    rank: Ints = column("rank in the job")
    calls: Ints = column("calls", "1")
    time: Floats = column("process time in the calls", "s")
    analyzed: Floats = column("process time in the calls at call sites that are analyzed", "s")
    kind: Texts = column("kind of the calls: collectives, or one of SUMS")


def times_of_ranks(rows: Arrived, calls: SiteCalls, sites: Estimates, run: float, kinds: KindTimes) -> RankTimes:
    """Divides the time of each rank into PARTS.

    Args:
        rows: of all processes.
        calls: of these rows.
        sites: call sites with their estimated time in the whole run.
        run: duration, s.
        kinds: times of all MPI calls; empty: only collectives are known, and all other time counts as computing.
    """
    weights = calls.weight[rows.call]
    wait, time = rows.own_wait * weights, rows.own_time * weights
    scale = ratio(sites.time, group_sums(time, rows.site, len(sites)), 0.0)[rows.site]
    by_process = pd.DataFrame({"wait": wait * scale, "time": time * scale}).groupby(rows.rank).sum()
    if len(kinds):
        frame = kinds.frame()
        times, analyzed = (
            frame.pivot_table(index="rank", columns="kind", values=name, aggfunc="sum", fill_value=0.0)
            for name in ("time", "analyzed")
        )
        completed = analyzed.get("requests", 0.0)  # time in MPI_Wait and similar calls that completed collectives
        in_collectives = times.collectives + completed
        messages = times[[name for name in MESSAGES if name in times]].sum(axis=1) - completed
        other_calls = times.drop(columns=["collectives", *MESSAGES], errors="ignore").sum(axis=1)
        waiting = np.minimum(by_process.wait.reindex(times.index, fill_value=0.0), in_collectives)
    else:
        in_collectives, waiting = by_process.time, by_process.wait
        messages = other_calls = pd.Series(0.0, index=by_process.index)
    table = pd.DataFrame({"waiting": waiting, "operation": in_collectives - waiting})
    table = table.assign(point_to_point=messages, other_MPI=other_calls)
    table = table.assign(computing=(run - table.sum(axis=1)).clip(lower=0.0))
    return RankTimes.of_frame(table.rename_axis("rank").reset_index())


def kinds_of_sites(profile: Profile, sums: Sums, rows: Arrived, run: float) -> KindTimes:
    """Returns the time in calls of MPI by process and kind.

    If threads are in calls at the same time, the times of the other kinds are scaled down until the sum of a rank fits
    into the run.
    """
    seen = np.isin(np.arange(len(profile)), rows.row)
    frame = profile.frame("rank", "calls").assign(
        time=profile.call_time,
        analyzed=np.where(seen, profile.call_time, 0.0),
        waited=np.where(seen, profile.wait_time, 0.0),
    )
    collectives = frame.groupby("rank").sum().reset_index()
    by_rank = collectives.set_index("rank").reindex(sums.rank)
    analyzed = np.where(sums.kind == "requests", by_rank.waited, 0.0)
    of_rank = pd.DataFrame({"analyzed": analyzed, "time": sums.time}).groupby(sums.rank).transform("sum")
    available = run - by_rank.time.fillna(0.0).to_numpy() - of_rank.analyzed.to_numpy()
    reducible = (of_rank.time - of_rank.analyzed).to_numpy()
    kept_share = ratio(available.clip(min=0.0), reducible, 1.0).clip(max=1.0)
    time = analyzed + (sums.time - analyzed) * kept_share
    other_calls = KindTimes(rank=sums.rank, calls=sums.calls, time=time, analyzed=analyzed, kind=sums.kind)
    kinds = KindTimes.joined([KindTimes.of_frame(collectives.assign(kind="collectives")), other_calls])
    return kinds[~np.isnan(kinds.time)]  # a process that ended before its clock was known has no times


MAX_TIME_SHARE = 0.7  # time in messages of a late rank, relative to the median of the other ranks
MIN_CALLS_SHARE = 0.9  # calls of a late rank for messages, relative to the median of the other ranks


@dataclass(frozen=True)
class LeastInMessages:
    """The rank that spends least time in point-to-point messages.

    Attributes:
        rank: rank in the job.
        time: its time in messages, s.
        other_time: median time of the other ranks in messages, s.
        why_not: why the rank cannot be called late; empty: it is late, if the other ranks need its messages.
    """

    rank: int
    time: float
    other_time: float
    why_not: str


def least_in_messages(by_rank: RankTimes, kinds: KindTimes) -> LeastInMessages | None:
    """Finds the rank that spends least time in messages: it may be late, since the other ranks wait in messages.

    Messages are only added up by rank. So a rank is late only if it makes about the same number of calls as the other
    ranks, and spends the missing time outside of MPI. None: no messages, or only one rank.
    """
    messages = by_rank.point_to_point
    if len(by_rank) < 2 or not len(kinds) or not messages.sum() > 0:
        return None
    least = int(messages.argmin())
    rank = int(by_rank.rank[least])
    time, other_time = float(messages[least]), float(np.median(np.delete(messages, least)))
    longer = by_rank.computing[least] - np.median(np.delete(by_rank.computing, least))
    of_messages = kinds[np.isin(kinds.kind.astype(str), MESSAGES)]
    calls = pd.Series(of_messages.calls).groupby(of_messages.rank).sum()
    why_not = ""
    if time > MAX_TIME_SHARE * other_time:
        why_not = "all ranks spend about as long in them"
    elif calls[rank] < MIN_CALLS_SHARE * calls.drop(index=rank).median():
        why_not = "it has fewer of them"
    elif longer < (other_time - time) / 2:
        why_not = "it is not longer outside of MPI instead"
    return LeastInMessages(rank, time, other_time, why_not)


def part_name(name: str, only_collectives: bool) -> str:
    """Returns the name of a part of `PARTS` in print.

    Args:
        name: of `PARTS`.
        only_collectives: true: only collectives are known, so `computing` includes all other MPI calls.
    """
    if name == "computing" and only_collectives:
        return "outside collectives"
    return name.replace("_", "-" if name == "point_to_point" else " ")
