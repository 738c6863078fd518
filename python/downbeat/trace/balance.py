"""Where the time of each rank went: computing, waiting for late ranks, operations, messages."""

from __future__ import annotations

import numpy as np
import pandas as pd

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
    sums = rows[["rank", "site", "wait", "time"]].assign(weight=weights)
    sums[["wait", "time"]] = sums[["wait", "time"]].mul(sums["weight"], axis=0)
    of_site = sums.groupby("site")["time"].sum().reindex(sites.index)
    scale = (sites["time"] / of_site.where(of_site > 0)).fillna(0.0).to_numpy(dtype=float)
    sums[["wait", "time"]] = sums[["wait", "time"]].mul(scale[sums["site"].to_numpy(dtype=np.int64)], axis=0)
    own = sums.groupby("rank")[["wait", "time"]].sum()
    if len(kinds):
        times = kinds.pivot_table(index="rank", columns="kind", values=["time", "analyzed"], aggfunc="sum")
        requests = times["time"].get("requests", 0.0) - times["analyzed"].get("requests", 0.0)
        inside = times["time"]["collectives"] + times["analyzed"].get("requests", 0.0)
        messages = times["time"].get("point-to-point", 0.0) + requests
        others = times["time"].drop(columns=["collectives", "requests", "point-to-point"], errors="ignore").sum(axis=1)
        wait = np.minimum(own["wait"].reindex(times.index, fill_value=0.0), inside)
    else:
        inside, wait = own["time"], own["wait"]
        messages = others = pd.Series(0.0, index=own.index)
    threads = rows[["rank", "thread"]].drop_duplicates() if "thread" in rows else rows[["rank"]][:0]
    most = run * threads["rank"].value_counts().reindex(inside.index).fillna(1.0)
    table = pd.DataFrame({"waiting": wait, "operation": inside - wait, "point_to_point": messages, "other_MPI": others})
    table.insert(0, "computing", (most - table.sum(axis=1)).clip(lower=0.0))
    return table.rename_axis("rank").reset_index()


def kinds_of(profile: pd.DataFrame, sums: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Returns `Arrivals.kinds`.

    Args:
        profile: that of `Trace`.
        sums: likewise.
        rows: those of `Arrivals`.
    """
    profile = profile.assign(seen=profile.index.isin(rows["row"].unique()))
    profile["analyzed"] = profile["call_time"].where(profile["seen"], 0.0)
    profile["waited"] = profile["wait_time"].where(profile["seen"], 0.0)
    ranks = profile.groupby("rank")
    own = ranks[["calls", "call_time", "analyzed"]].sum().reset_index().rename(columns={"call_time": "time"})
    sums = sums.assign(analyzed=0.0)
    requests = sums["kind"] == "requests"
    sums.loc[requests, "analyzed"] = sums.loc[requests, "rank"].map(ranks["waited"].sum()).to_numpy()
    return pd.concat([own.assign(kind="collectives"), sums], ignore_index=True)
