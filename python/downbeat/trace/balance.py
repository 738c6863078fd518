"""Where the time of each rank went: computing, waiting for late ranks, operations, messages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from downbeat.text import evenly

MESSAGES = ("point-to-point", "requests")  # kinds of calls
PARTS = ("computing", "waiting", "operation", "point_to_point", "other_MPI")


def times_of_ranks(
    rows: pd.DataFrame, calls: pd.DataFrame, sites: pd.DataFrame, run: float, kinds: pd.DataFrame
) -> pd.DataFrame:
    """Returns where the time of each rank went, s: a row per rank, `PARTS`, which add up to the run.

    Args:
        rows: those of `Arrivals`, and likewise the next three.
        calls: likewise.
        sites: likewise.
        run: likewise.
        kinds: as `Arrivals.kinds`; empty: only collectives are known, and all else counts as computing.
    """
    weights = calls["weight"].loc[rows["call"]].to_numpy(dtype=float)
    sums = rows[["rank", "site"]].assign(wait=rows["own_wait"], time=rows["own_time"], weight=weights)
    sums[["wait", "time"]] = sums[["wait", "time"]].mul(sums["weight"], axis=0)
    of_site = sums.groupby("site")["time"].sum().reindex(sites.index)
    scale = (sites["time"] / of_site.where(of_site > 0)).fillna(0.0).to_numpy(dtype=float)
    sums[["wait", "time"]] = sums[["wait", "time"]].mul(scale[sums["site"].to_numpy(dtype=np.int64)], axis=0)
    own = sums.groupby("rank")[["wait", "time"]].sum()
    if len(kinds):
        times = kinds.pivot_table(index="rank", columns="kind", values="time", aggfunc="sum", fill_value=0.0)
        analyzed = kinds.pivot_table(index="rank", columns="kind", values="analyzed", aggfunc="sum", fill_value=0.0)
        completed = analyzed.get("requests", 0.0)  # of collectives
        inside = times["collectives"] + completed
        messages = times[[name for name in MESSAGES if name in times]].sum(axis=1) - completed
        others = times.drop(columns=["collectives", *MESSAGES], errors="ignore").sum(axis=1)
        wait = np.minimum(own["wait"].reindex(times.index, fill_value=0.0), inside)
    else:
        inside, wait = own["time"], own["wait"]
        messages = others = pd.Series(0.0, index=own.index)
    table = pd.DataFrame({"waiting": wait, "operation": inside - wait, "point_to_point": messages, "other_MPI": others})
    table.insert(0, "computing", (run - table.sum(axis=1)).clip(lower=0.0))
    return table.rename_axis("rank").reset_index()


def kinds_of_sites(profile: pd.DataFrame, sums: pd.DataFrame, rows: pd.DataFrame, run: float) -> pd.DataFrame:
    """Returns `Arrivals.kinds`.

    When calls of other kinds than collectives were is not recorded. So where threads are in calls at once, the times of
    these kinds are reduced until all of a rank's fit into the run.

    Args:
        profile: that of `Trace`, in process time.
        sums: likewise.
        rows: those of `Arrivals`.
        run: likewise.
    """
    profile = profile.assign(seen=profile.index.isin(rows["row"].unique()))
    profile["analyzed"] = profile["call_time"].where(profile["seen"], 0.0)
    profile["waited"] = profile["wait_time"].where(profile["seen"], 0.0)
    ranks = profile.groupby("rank")
    own = ranks[["calls", "call_time", "analyzed"]].sum().reset_index().rename(columns={"call_time": "time"})
    sums = sums.assign(analyzed=0.0)
    requests = sums["kind"] == "requests"
    sums.loc[requests, "analyzed"] = sums.loc[requests, "rank"].map(ranks["waited"].sum()).to_numpy()
    analyzed = sums.groupby("rank")["analyzed"].transform("sum")
    others = sums.groupby("rank")["time"].transform("sum") - analyzed
    left = run - sums["rank"].map(own.set_index("rank")["time"]).fillna(0.0) - analyzed
    part = (left.clip(lower=0.0) / others.where(others > 0)).clip(upper=1.0).fillna(1.0)
    sums["time"] = sums["analyzed"] + (sums["time"] - sums["analyzed"]) * part
    return pd.concat([own.assign(kind="collectives"), sums], ignore_index=True)


MUCH_LESS = 0.7  # of the time that others spend in messages
AS_MANY = 0.9  # of the calls that others make


@dataclass(frozen=True)
class LeastInMessages:
    """The rank that spends least time in point-to-point messages.

    Attributes:
        rank: its number.
        time, others: its time, and the median of the others, s.
        why_not: why it cannot be called the one that others wait for; empty: it can, if they need its messages.
    """

    rank: int
    time: float
    others: float
    why_not: str


def least_in_messages(by_rank: pd.DataFrame, kinds: pd.DataFrame) -> LeastInMessages | None:
    """Returns who spends least time in messages: the late one, as all others wait. None: there are none, or one rank.

    Messages are added up by rank. So a rank is late only if it has as many calls, and is longer outside of MPI instead.

    Args:
        by_rank: from `times_of_ranks`.
        kinds: as `Arrivals.kinds`.
    """
    if len(by_rank) < 2 or kinds.empty or not by_rank["point_to_point"].sum() > 0:
        return None
    times = by_rank.set_index("rank")
    rank = int(times.index[int(times["point_to_point"].to_numpy().argmin())])
    rest = times.drop(index=rank).median()
    own_time, other_time = float(times["point_to_point"][rank]), float(rest["point_to_point"])
    calls = kinds[kinds["kind"].isin(MESSAGES)].groupby("rank")["calls"].sum()
    why_not = ""
    if own_time > MUCH_LESS * other_time:
        why_not = "all ranks spend about as long in them"
    elif calls[rank] < AS_MANY * calls.drop(index=rank).median():
        why_not = "it has fewer of them"
    elif times["computing"][rank] - rest["computing"] < (other_time - own_time) / 2:
        why_not = "it is not longer outside of MPI instead"
    return LeastInMessages(rank, own_time, other_time, why_not)


MARKS = {"computing": ".", "waiting": "#", "operation": "=", "point_to_point": "+", "other_MPI": "-"}
MOST_BARS = 8  # in a terminal; the page has all


def part_name(part: str, only_collectives: bool) -> str:
    """Returns what people call a part of `PARTS`; where only collectives are known, all else is outside of these."""
    if part == "computing" and only_collectives:
        return "outside collectives"
    return part.replace("_", "-" if part == "point_to_point" else " ")


def ranks_to_show(by_rank: pd.DataFrame, most: int, first: list[int]) -> pd.DataFrame:
    """Returns the rows of at most so many ranks: some by their numbers, the one that waits most, and others between.

    Args:
        by_rank: from `times_of_ranks`.
        most: ranks.
        first: ranks to show in any case.
    """
    waits = int(by_rank["rank"].iloc[int(by_rank["waiting"].to_numpy().argmax())])
    wanted = [rank for rank in dict.fromkeys([*first, waits]) if (by_rank["rank"] == rank).any()][:most]
    others = [rank for rank in by_rank["rank"].tolist() if rank not in wanted]
    wanted += evenly(others, most - len(wanted)) if most > len(wanted) else []
    return by_rank[by_rank["rank"].isin(wanted)]


def bar_lines(by_rank: pd.DataFrame, only_collectives: bool, first: list[int], width: int) -> list[str]:
    """Returns where the time of each rank goes, a bar per rank.

    Args:
        by_rank: from `times_of_ranks`; empty: no lines.
        only_collectives: nothing else is known.
        first: ranks to show in any case.
        width: of the lines, characters.
    """
    if by_rank.empty:
        return []
    parts = [part for part in PARTS if by_rank[part].sum() > 0]
    keys = "  ".join(f"{MARKS[part]} {part_name(part, only_collectives)}" for part in parts)
    shown = ranks_to_show(by_rank, MOST_BARS, first)
    lines = [f"time by rank: {keys}"]
    names = [f"rank {rank}" for rank in shown["rank"]]
    heads = max(map(len, names))
    most = float(by_rank[list(PARTS)].sum(axis=1).max())
    ends_with = "waiting" in parts
    cells = width - heads - 1 - (len(" 100 % waiting") if ends_with else 0)
    for name, (_, row) in zip(names, shown.iterrows(), strict=True):
        ends = np.round(cells * np.cumsum([row[part] for part in parts]) / most).astype(int) if most > 0 else [0]
        counts = np.diff(ends, prepend=0)
        bar = "".join(MARKS[part] * count for part, count in zip(parts, counts, strict=True))
        waits = f" {100 * row['waiting'] / max(float(row[list(PARTS)].sum()), 1e-12):3.0f} % waiting"
        lines.append(f"{name:<{heads}} {bar:<{cells}}{waits if ends_with else ''}".rstrip())
    if len(shown) < len(by_rank):
        lines.append(f"{len(by_rank) - len(shown)} more ranks are on the page (-o) and in JSON (--json)")
    return lines
