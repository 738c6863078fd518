"""Where the time of each rank went: computing, waiting for late ranks, operations, messages."""

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
    """Where the time of each rank went; the parts add up to the run."""

    rank: Ints = column("rank in the job")
    computing: Floats = column("outside of MPI; of all else, if only collectives are known", "s")
    waiting: Floats = column("in collectives, waiting for late ranks", "s")
    operation: Floats = column("in collectives, else", "s")
    point_to_point: Floats = column("in messages", "s")
    other_MPI: Floats = column("in other calls of MPI", "s")  # noqa: N815, as in JSON

    def part(self, name: str) -> Floats:
        """A part of PARTS."""
        times: Floats = getattr(self, name)
        return times

    def sums(self) -> Floats:
        """All parts of each rank, added up, s."""
        return self.frame(*PARTS).sum(axis=1).to_numpy()


class KindTimes(Table):
    """Time in calls of MPI, by process and kind of calls."""

    rank: Ints = column("rank in the job")
    calls: Ints = column("calls", "1")
    time: Floats = column("process time in them", "s")
    analyzed: Floats = column("part of it at call sites that are analyzed", "s")
    kind: Texts = column("kind of the calls: collectives, or one of SUMS")


def times_of_ranks(rows: Arrived, calls: SiteCalls, sites: Estimates, run: float, kinds: KindTimes) -> RankTimes:
    """Where the time of each rank went.

    Args:
        rows: of all processes.
        calls: of these rows.
        sites: of the run.
        run: duration, s.
        kinds: of calls; empty: only collectives are known, and all else counts as computing.
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
        completed = analyzed.get("requests", 0.0)  # of collectives
        inside = times.collectives + completed
        messages = times[[name for name in MESSAGES if name in times]].sum(axis=1) - completed
        other_calls = times.drop(columns=["collectives", *MESSAGES], errors="ignore").sum(axis=1)
        waiting = np.minimum(by_process.wait.reindex(times.index, fill_value=0.0), inside)
    else:
        inside, waiting = by_process.time, by_process.wait
        messages = other_calls = pd.Series(0.0, index=by_process.index)
    table = pd.DataFrame({"waiting": waiting, "operation": inside - waiting})
    table = table.assign(point_to_point=messages, other_MPI=other_calls)
    table = table.assign(computing=(run - table.sum(axis=1)).clip(lower=0.0))
    return RankTimes.of_frame(table.rename_axis("rank").reset_index())


def kinds_of_sites(profile: Profile, sums: Sums, rows: Arrived, run: float) -> KindTimes:
    """Time in calls of MPI.

    Only collectives have time stamps. If threads are in calls at the same time, the times of the other kinds are scaled
    down until the sum of a rank fits into the run.
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
    left = run - by_rank.time.fillna(0.0).to_numpy() - of_rank.analyzed.to_numpy()
    reducible = (of_rank.time - of_rank.analyzed).to_numpy()
    kept_share = ratio(left.clip(min=0.0), reducible, 1.0).clip(max=1.0)
    time = analyzed + (sums.time - analyzed) * kept_share
    other_calls = KindTimes(rank=sums.rank, calls=sums.calls, time=time, analyzed=analyzed, kind=sums.kind)
    kinds = KindTimes.joined([KindTimes.of_frame(collectives.assign(kind="collectives")), other_calls])
    return kinds[~np.isnan(kinds.time)]  # a process that ended before its clock was known has no times


MUCH_LESS = 0.7  # of the time that others spend in messages
AS_MANY = 0.9  # of the calls that others make


@dataclass(frozen=True)
class LeastInMessages:
    """The rank that spends least time in point-to-point messages.

    Attributes:
        rank: its number.
        time, other_time: its time, and the median of the others, s.
        why_not: why it cannot be called the one that others wait for; empty: it can, if they need its messages.
    """

    rank: int
    time: float
    other_time: float
    why_not: str


def least_in_messages(by_rank: RankTimes, kinds: KindTimes) -> LeastInMessages | None:
    """The rank that spends least time in messages: the late one, as all others wait. None: no messages, or one rank.

    Messages are added up by rank. So a rank is late only if it has as many calls, and is longer outside of MPI instead.
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
    if time > MUCH_LESS * other_time:
        why_not = "all ranks spend about as long in them"
    elif calls[rank] < AS_MANY * calls.drop(index=rank).median():
        why_not = "it has fewer of them"
    elif longer < (other_time - time) / 2:
        why_not = "it is not longer outside of MPI instead"
    return LeastInMessages(rank, time, other_time, why_not)


def part_name(name: str, only_collectives: bool) -> str:
    """The name of a part of `PARTS`; where only collectives are known, all else is outside of these."""
    if name == "computing" and only_collectives:
        return "outside collectives"
    return name.replace("_", "-" if name == "point_to_point" else " ")
