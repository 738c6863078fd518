"""The table of call sites: calls, time, what of it is waiting, how far apart ranks arrive, who is last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from downbeat.arrivals.call_sites import site_names
from downbeat.arrivals.waiting import SITE, arrivals, run_seconds
from downbeat.traces.trace import Trace

QUANTILES = {"spread_p50": 0.5, "spread_p95": 0.95, "spread_p99": 0.99}


@dataclass(frozen=True)
class Arrivals:
    """Arrivals in a trace.

    Attributes:
        rows: a row per process and call (`waiting.arrivals`), with `site`, the index of `sites`.
        calls: a row per call (likewise), with `site`.
        sites: a row per call site, by time in it: `SITE` and `name`; `calls`, `bytes` (median); `time` and `wait`, sums
            over processes; `wait_error` (the sum of the errors of waits); `share` of the run's time; `overlap` (between
            call and wait, median; NaN if blocking); `after_last` (median over calls); `QUANTILES` of the spread;
            `bound` (of a spread's error, median); `apart` (share of the calls whose spread is more than its bound);
            `last_rank` and `last_share` (of the calls). Times in s.
        run: duration, s.
        ranks: of the job.
        not_whole: records of calls that some process did not record whole.
        bound: largest bound of a timestamp's error, s.
    """

    rows: pd.DataFrame
    calls: pd.DataFrame
    sites: pd.DataFrame
    run: float
    ranks: int
    not_whole: int
    bound: float


def find_arrivals(trace: Trace) -> Arrivals:
    """Returns what is to be said of a trace."""
    rows, calls = arrivals(trace)
    calls["site"] = calls.groupby(SITE, sort=False, observed=True).ngroup() if len(calls) else 0
    rows["site"] = calls["site"].to_numpy()[rows["call"].to_numpy()] if len(calls) else 0
    run = run_seconds(trace)
    ranks = int(trace.processes["world_size"].max())
    records = trace.records
    bound = float(records["bound"].max()) if len(records) else 0.0
    sites = site_rows(rows, calls, run * ranks)
    order = {int(number): place for place, number in enumerate(sites["number"])}
    for frame in (rows, calls):
        frame["site"] = frame["site"].map(order).astype(int) if len(frame) else frame["site"]
    symbols = rows.drop_duplicates(["module", "offset"])[["module", "offset", "symbol"]]
    names = site_names((str(a), int(b), str(c)) for a, b, c in symbols.itertuples(index=False))
    sites["name"] = [names[str(a), int(b)] for a, b in zip(sites["module"], sites["offset"], strict=True)]
    return Arrivals(rows, calls, sites.drop(columns="number"), run, ranks, len(records) - len(rows), bound)


def site_rows(rows: pd.DataFrame, calls: pd.DataFrame, available: float) -> pd.DataFrame:
    """Returns `Arrivals.sites` without names; `number` is the site's number in the frames.

    Args:
        rows: with `site`.
        calls: with `site`.
        available: seconds that all processes had together.
    """
    found = []
    for number, some in calls.groupby("site", sort=False):
        mine = rows[rows["site"] == number]
        time = float(mine["time"].sum())
        last = some["last_rank"][some["last_rank"] >= 0]
        last_rank = int(last.mode().iloc[0]) if len(last) else -1
        found.append(
            {
                "number": number,
                **{name: some.iloc[0][name] for name in SITE},
                "calls": len(some),
                "bytes": float(some["bytes"].median()),
                "time": time,
                "wait": float(mine["wait"].sum()),
                "wait_error": float(mine["wait_error"].sum()),
                "share": time / available if available > 0 else np.nan,
                "overlap": float(mine["overlap"].median()),
                "after_last": float(some["after_last"].median()),
                **{name: float(some["spread"].quantile(level)) for name, level in QUANTILES.items()},
                "bound": float(some["spread_bound"].median()),
                "apart": float((some["spread"] > some["spread_bound"]).mean()),
                "last_rank": last_rank,
                "last_share": float((some["last_rank"] == last_rank).mean()) if last_rank >= 0 else 0.0,
            }
        )
    columns = ["number", *SITE, "calls", "bytes", "time", "wait", "wait_error", "share", "overlap", "after_last"]
    columns += [*QUANTILES, "bound", "apart", "last_rank", "last_share"]
    frame = pd.DataFrame(found, columns=columns)
    return frame.sort_values("time", ascending=False, kind="stable", ignore_index=True)
