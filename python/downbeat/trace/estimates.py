"""Times of all calls of a site, estimated from the recorded sample of calls."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from downbeat.statistics.sampling import Z, ratio_error, total_error, weighted_quantiles
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.trace.arrived import Arrived, SiteCalls
from downbeat.trace.calls import SITE, call_begins
from downbeat.trace.profile import Profile

SPREAD_QUANTILES = {"spread_p50": 0.5, "spread_p95": 0.95, "spread_p99": 0.99}
SPREAD_LEVELS = np.array(list(SPREAD_QUANTILES.values()))
OWN_NAME = re.compile(r"(?!MPI[_ ]COMM)(.*) \([0-9a-f]{16}\)$")  # not those that MPI libraries give
MOST_NAMES = 3


class Site(Table):
    """What identifies a call site."""

    module: Texts = column("path of the module that makes the calls")
    offset: Ints = column("return address of the calls in it; of Python, the line", "B")
    operation: Texts = column("MPI's name, lower case, without MPI_")
    kind: Texts = column("blocking, nonblocking or persistent")
    size: Floats = column("processes of the communicator", "1")
    phase: Texts = column('phase of the program, outer > inner; "": none')


class Totals(Site):
    """What all calls of call sites took; sites without a whole call come last."""

    calls: Ints = column("calls", "1")
    time: Floats = column("time in them, summed over processes", "s")
    unknown: Floats = column("part of it of processes without a whole call", "s")
    beyond: Ints = column("of a site without a whole call, as in Records")


class Estimates(Site):
    """Call sites: calls and time of all calls; the rest estimated for all from the whole calls that were recorded."""

    calls: Ints = column("calls", "1")
    sampled: Ints = column("calls that were recorded whole", "1")
    bytes: Floats = column("size, median; NaN: not known", "B")
    time: Floats = column("process time in the calls, summed over processes", "s")
    wait: Floats = column("process time of waiting for late ranks, likewise", "s")
    wait_error: Floats = column("sum of the errors of waits", "s")
    wait_sampling: Floats = column("half-width of the 95 % interval of `wait`, if calls are a sample", "s")
    share: Floats = column("`time` as a share of the run of all processes", "1")
    overlap: Floats = column("time between call and wait, median; NaN if blocking", "s")
    after_last: Floats = column("from the last entry to the last exit, median; NaN if nonblocking", "s")
    spread_p50: Floats = column("from the first to the last entry, median", "s")
    spread_p95: Floats = column("likewise, 95 % quantile", "s")
    spread_p99: Floats = column("likewise, 99 % quantile", "s")
    spread_p50_error: Floats = column("distance of spread_p50 to the farther end of its 95 % interval", "s")
    spread_p95_error: Floats = column("likewise", "s")
    spread_p99_error: Floats = column("likewise", "s")
    bound: Floats = column("largest possible error of a spread, median", "s")
    apart: Floats = column("share of the calls whose spread is more than that", "1")
    communicators: Texts = column("names that the program gave to communicators")
    beyond: Ints = column("of a site without a whole call, as in Records")


def site_totals(rows: Arrived, calls: SiteCalls, profile: Profile) -> Totals:
    """What all calls of each call site took.

    Where processes call one collective at different places, the site is that of the first one, and each process' sums
    are divided as its whole calls are.
    """
    weight = calls.weight[rows.call]
    shares_of_sites = pd.DataFrame(
        {"row": rows.row, "site": rows.site, "time": weight * rows.own_time, "calls": weight}
    )
    shares_of_sites = shares_of_sites.groupby(["row", "site"], sort=False).sum().reset_index()
    share = shares_of_sites[["time", "calls"]] / shares_of_sites.groupby("row")[["time", "calls"]].transform("sum")
    of_rows = profile.frame(*SITE, "rank", "calls", "beyond").assign(time=profile.call_time + profile.wait_time)
    of_row = of_rows.loc[shares_of_sites.row, ["calls", "time"]].reset_index(drop=True)
    shares_of_sites = shares_of_sites.assign(
        calls=share.calls * of_row.calls, time=share.time.fillna(share.calls) * of_row.time
    )
    first = np.unique(calls.site, return_index=True)[1]
    sites = pd.DataFrame({name: np.asarray(getattr(calls, name)[first]) for name in SITE})
    totals = sites.join(shares_of_sites.groupby("site")[["time", "calls"]].sum()).assign(unknown=0.0)
    kept = of_rows[of_rows.calls > 0]
    unsampled = (
        kept[~kept.index.isin(shares_of_sites.row)].groupby(SITE, sort=False, observed=True)[["calls", "time"]].sum()
    )
    unsampled = unsampled.reset_index().assign(unknown=lambda frame: frame.time)
    sums = pd.concat([totals, unsampled], ignore_index=True) if len(totals) else unsampled
    sums = sums.groupby(SITE, sort=False, observed=True, dropna=False)[["time", "calls", "unknown"]].sum().reset_index()
    by_site = kept.groupby(SITE, sort=False, observed=True, dropna=False)
    sums = sums.merge(by_site.agg(beyond=("beyond", "max"), own=("rank", "nunique")).reset_index(), how="left", on=SITE)
    here = sums["size"].where(sums.beyond == 0, sums.own)  # of a call's ranks those that are in the trace
    return Totals.of_frame(sums.assign(calls=(sums.calls / here).round().fillna(0).astype(np.int64)))


def estimate_sites(rows: Arrived, calls: SiteCalls, available: float, totals: Totals | None = None) -> Estimates:
    """Call sites by number, estimated for all calls from those in the sample.

    Args:
        rows: of all processes.
        calls: of these rows.
        available: time that all processes had together, s.
        totals: of the sites, by number; None: `calls` are all there are.
    """
    begins = call_begins(rows.call)
    time, wait, error = (np.add.reduceat(each, begins) for each in (rows.own_time, rows.own_wait, rows.own_wait_error))
    overlaps: dict[Hashable, float] = {}
    if not np.isnan(rows.overlap).all():
        overlaps = pd.Series(rows.overlap).groupby(rows.site).median().to_dict()
    order = np.argsort(calls.site, kind="stable")
    ends = np.flatnonzero(np.diff(calls.site[order], append=-1)) + 1
    estimates: list[dict[str, Any]] = []
    for number, chosen in enumerate(np.split(order, ends[:-1]) if len(order) else []):
        some = calls[chosen]
        sampled = float((some.weight * time[chosen]).sum())
        total, count, unknown = sampled, len(some), 0.0
        if totals is not None:
            total, count, unknown = totals.time[number], totals.calls[number], totals.unknown[number]
        scale = total / sampled if sampled > 0 else 1.0
        spread, spread_error = weighted_quantiles(some.spread, some.weight, SPREAD_LEVELS)
        estimates.append(
            {
                **{name: getattr(some, name)[0] for name in SITE},
                "calls": count,
                "sampled": len(some),
                "bytes": median(some.bytes, some.weight),
                "time": total,
                "wait": scale * float((some.weight * wait[chosen]).sum()),
                "wait_error": scale * float((some.weight * error[chosen]).sum()),
                "wait_sampling": sampling_error(wait[chosen], time[chosen], some.weight, total, count, unknown),
                "overlap": float(overlaps.get(number, np.nan)),
                "after_last": median(some.after_last, some.weight),
                **dict(zip(SPREAD_QUANTILES, spread.tolist(), strict=True)),
                **{f"{name}_error": half for name, half in zip(SPREAD_QUANTILES, spread_error.tolist(), strict=True)},
                "bound": median(some.spread_bound, some.weight),
                "apart": float(np.average(some.spread > some.spread_bound, weights=some.weight)),
                "communicators": names_of(some.communicator.unique()),
                "beyond": 0,
            }
        )
    names = [each.name for each in Estimates.columns() if each not in Site.columns()]
    for number in range(len(estimates), len(totals) if totals is not None else 0):
        assert totals is not None
        known = {name: getattr(totals, name)[number] for name in (*SITE, "calls", "time", "beyond")}
        sampled_none = {"sampled": 0, "wait": 0.0, "wait_error": 0.0, "wait_sampling": known["time"]}
        estimates.append(dict.fromkeys(names, np.nan) | known | sampled_none | {"communicators": ""})
    for each in estimates:
        each["share"] = each["time"] / available if available > 0 else np.nan
    return Estimates.of_rows(estimates)


def names_of(communicators: Iterable[object]) -> str:
    """The names that a program gave to communicators, from those in records."""
    matches = [match[1] for each in communicators if (match := OWN_NAME.match(str(each)))]
    names = list(dict.fromkeys(matches))
    return ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")


def sampling_error(wait: Floats, time: Floats, weights: Floats, total: float, count: float, unknown: float) -> float:
    """Half the width of the 95 % interval of a site's waiting, if its calls are a sample, s.

    Args:
        wait: of calls in the sample, summed over processes, s.
        time: of calls in the sample, summed over processes, s.
        weights: for how many calls each stands.
        total: time of all calls, s.
        count: of all calls.
        unknown: part of `total` without a call in the sample, s.
    """
    error = Z * ratio_error(wait, time, weights) * total
    return min(total, error + total_error(time, weights, total - unknown, count) + unknown)


def median(values: Floats, weights: Floats) -> float:
    """A median over all calls; NaN where no value is known."""
    known = ~np.isnan(values)
    return float(weighted_quantiles(values[known], weights[known], np.array([0.5]))[0][0])
