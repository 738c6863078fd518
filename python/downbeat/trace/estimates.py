"""What all calls of a site took, estimated from those that were kept one by one."""

from __future__ import annotations

import re
from collections.abc import Hashable

import numpy as np
import pandas as pd

from downbeat.trace.calls import SITE, Floats, call_begins
from downbeat.trace.sites import Z, ratio_error, total_error, weighted_quantiles

SPREAD_QUANTILES = {"spread_p50": 0.5, "spread_p95": 0.95, "spread_p99": 0.99}
SPREAD_LEVELS = np.array(list(SPREAD_QUANTILES.values()))
OWN_NAME = re.compile(r"(?!MPI[_ ]COMM)(.*) \([0-9a-f]{16}\)$")  # not those that MPI libraries give
MOST_NAMES = 3


def site_totals(rows: pd.DataFrame, calls: pd.DataFrame, profile: pd.DataFrame) -> pd.DataFrame:
    """Returns what all calls of each call site took.

    A row per site has `SITE`, `calls`, `time`, and `unknown`, time of processes that have no whole call in `rows`.
    Sites that have no whole call come after those of `calls`. Where processes call one collective at different places,
    the site is that of the first one, and each process' sums are divided as its whole calls are.
    """
    weight = calls["weight"].to_numpy(dtype=float)[rows["call"].to_numpy()] if len(calls) else np.array([])
    parts = pd.DataFrame({"row": rows["row"], "site": rows["site"], "time": weight * rows["own_time"], "calls": weight})
    parts = parts.groupby(["row", "site"], sort=False)[["time", "calls"]].sum().reset_index()
    share = parts[["time", "calls"]] / parts.groupby("row")[["time", "calls"]].transform("sum")
    whole = pd.DataFrame({"time": profile["call_time"] + profile["wait_time"], "calls": profile["calls"]})
    of = parts["row"].to_numpy(dtype=np.int64)
    parts["calls"] = share["calls"] * whole["calls"].to_numpy()[of]
    parts["time"] = share["time"].fillna(share["calls"]) * whole["time"].to_numpy()[of]
    sites = calls.drop_duplicates("site").set_index("site").sort_index()[SITE]
    totals = sites.join(parts.groupby("site")[["time", "calls"]].sum()).assign(unknown=0.0)
    others = profile[(profile["calls"] > 0) & ~profile.index.isin(of)]
    rest = others.assign(time=whole["time"]).groupby(SITE, sort=False, observed=True)[["calls", "time"]].sum()
    rest = rest.reset_index().assign(unknown=lambda frame: frame["time"])
    both = pd.concat([totals, rest], ignore_index=True) if len(totals) else rest
    summed = both.groupby(SITE, sort=False, observed=True, dropna=False)[["time", "calls", "unknown"]].sum()
    summed = summed.reset_index()
    kept = profile[profile["calls"] > 0].groupby(SITE, sort=False, observed=True, dropna=False)
    own = kept.agg(beyond=("beyond", "max"), own=("rank", "nunique")).reset_index()
    summed = summed.merge(own, how="left", on=SITE)
    here = summed["size"].where(summed["beyond"] == 0, summed["own"])  # of a call's ranks those that are in the trace
    summed["calls"] = (summed["calls"] / here).round().fillna(0).astype(np.int64)
    return summed


def estimate_sites(
    rows: pd.DataFrame, calls: pd.DataFrame, available: float, totals: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Returns `Arrivals.sites` without names and late ranks, estimated for all calls from those in the sample.

    `number` is the site's number in the frames.

    Args:
        rows: with `site`.
        calls: with `site` and `weight`.
        available: seconds that all processes had together.
        totals: of the sites (`site_totals`), by number; None: `calls` are all there are.
    """
    begins = call_begins(rows)
    names = ("own_time", "own_wait", "own_wait_error")
    time, wait, error = (np.add.reduceat(rows[name].to_numpy(), begins) for name in names)
    overlaps: dict[Hashable, float] = {}
    if rows["overlap"].notna().any():
        overlaps = rows.groupby("site")["overlap"].median().to_dict()
    order = np.argsort(calls["site"].to_numpy(), kind="stable")
    ends = np.flatnonzero(np.diff(calls["site"].to_numpy()[order], append=-1)) + 1
    found = []
    for number, mine in enumerate(np.split(order, ends[:-1]) if len(order) else []):
        some = calls.iloc[mine]
        weights = some["weight"].to_numpy(dtype=float)
        sampled = float((weights * time[mine]).sum())
        total, count, unknown = sampled, len(some), 0.0
        if totals is not None:
            total, count, unknown = (totals[name].iloc[number] for name in ("time", "calls", "unknown"))
        scale = total / sampled if sampled > 0 else 1.0
        spread, spread_error = weighted_quantiles(some["spread"].to_numpy(dtype=float), weights, SPREAD_LEVELS)
        found.append(
            {
                "number": number,
                **{name: some.iloc[0][name] for name in SITE},
                "calls": count,
                "sampled": len(some),
                "bytes": median(some["bytes"], weights),
                "time": total,
                "wait": scale * float((weights * wait[mine]).sum()),
                "wait_error": scale * float((weights * error[mine]).sum()),
                "wait_sampling": sampling_error(wait[mine], time[mine], weights, total, count, unknown),
                "share": total / available if available > 0 else np.nan,
                "overlap": float(overlaps[number]) if number in overlaps else np.nan,
                "after_last": median(some["after_last"], weights),
                **dict(zip(SPREAD_QUANTILES, spread.tolist(), strict=True)),
                **{f"{name}_error": one for name, one in zip(SPREAD_QUANTILES, spread_error.tolist(), strict=True)},
                "bound": median(some["spread_bound"], weights),
                "apart": float(np.average(some["spread"] > some["spread_bound"], weights=weights)),
                "communicators": names_of(some["communicator"]),
            }
        )
    for number in range(len(found), len(totals) if totals is not None else 0):
        assert totals is not None
        one = totals.iloc[number]
        found.append(
            {
                "number": number,
                **{name: one[name] for name in [*SITE, "calls", "time"]},
                **{"sampled": 0, "wait": 0.0, "wait_error": 0.0, "wait_sampling": one["time"]},
                "beyond": one["beyond"],
                "share": one["time"] / available if available > 0 else np.nan,
                "communicators": "",
            }
        )
    columns = ["number", *SITE, "calls", "sampled", "bytes", "time", "wait", "wait_error", "wait_sampling", "share"]
    columns += [
        "overlap",
        "after_last",
        *SPREAD_QUANTILES,
        *(f"{name}_error" for name in SPREAD_QUANTILES),
        "bound",
        "apart",
    ]
    frame = pd.DataFrame(found, columns=[*columns, "communicators", "beyond"])
    frame["beyond"] = frame["beyond"].fillna(0).astype(np.int64)
    return frame.sort_values("time", ascending=False, kind="stable", ignore_index=True)


def names_of(communicators: pd.Series) -> str:
    """Returns the names that a program gave to communicators, from those in records."""
    found = [match[1] for one in pd.unique(communicators) if (match := OWN_NAME.match(str(one)))]
    names = list(dict.fromkeys(found))
    return ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")


def sampling_error(wait: Floats, time: Floats, weights: Floats, total: float, count: float, unknown: float) -> float:
    """Returns half the width of the 95 % interval of a site's waiting, if its calls are a sample.

    Args:
        wait: of calls in the sample, summed over processes.
        time: likewise.
        weights: for how many calls each stands.
        total: time of all calls.
        count: of all calls.
        unknown: part of `total` that no call in the sample says anything about.
    """
    error = Z * ratio_error(wait, time, weights) * total
    return min(total, error + total_error(time, weights, total - unknown, count) + unknown)


def median(values: pd.Series, weights: Floats) -> float:
    """Returns a median over all calls; NaN where no value is known."""
    known = values.notna().to_numpy()
    return float(weighted_quantiles(values.to_numpy(dtype=float)[known], weights[known], np.array([0.5]))[0][0])
