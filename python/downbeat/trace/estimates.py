"""Estimates the times of all calls of each call site from the whole calls in the recording, possibly a sample.

A call is whole if every process of its communicator recorded it. The totals of all calls come from the profile, which
counts every call; waits, spreads and other details come from the whole calls, scaled to the totals.
"""

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
NAME_BY_PROGRAM = re.compile(r"(?!MPI[_ ]COMM)(.*) \([0-9a-f]{16}\)$")  # default names of MPI libraries do not match
MAX_NAMES = 3  # communicator names that a site lists


class Site(Table):
    """The columns that identify a call site."""

    module: Texts = column("path of the module that makes the calls")
    offset: Ints = column("return address of the calls in it; of Python, the line", "B")
    operation: Texts = column("MPI's name, lower case, without MPI_")
    kind: Texts = column("blocking, nonblocking or persistent")
    size: Floats = column("processes of the communicator", "1")
    phase: Texts = column('phase of the program, outer > inner; "": none')


class Totals(Site):
    """The totals of all calls of each call site; sites without a whole call come last."""

    calls: Ints = column("calls", "1")
    time: Floats = column("time in the calls, summed over processes", "s")
    unknown: Floats = column("time in the calls of processes without a whole call", "s")
    beyond: Ints = column("0, or ELSEWHERE (has processes of another job) or UNSEEN (its other group left no file)")


class Estimates(Site):
    """Call sites: calls and time of all calls; the other columns are estimates for all calls from the whole calls."""

    calls: Ints = column("calls", "1")
    sampled: Ints = column("calls that were recorded whole", "1")
    bytes: Floats = column("size, median; NaN: not known", "B")
    time: Floats = column("process time in the calls, summed over processes", "s")
    wait: Floats = column("process time of waiting for late ranks, summed over processes", "s")
    wait_error: Floats = column("sum of the errors of waits", "s")
    wait_sampling: Floats = column("half-width of the 95 % interval of `wait`, if calls are a sample", "s")
    share: Floats = column("`time` as a share of the run of all processes", "1")
    overlap: Floats = column("time between call and wait, median; NaN if blocking", "s")
    after_last: Floats = column("from the last entry to the last exit, median; NaN if nonblocking", "s")
    spread_p50: Floats = column("from the first to the last entry, median", "s")
    spread_p95: Floats = column("from the first to the last entry, 95 % quantile", "s")
    spread_p99: Floats = column("from the first to the last entry, 99 % quantile", "s")
    spread_p50_error: Floats = column("distance of spread_p50 to the farther end of its 95 % interval", "s")
    spread_p95_error: Floats = column("distance of spread_p95 to the farther end of its 95 % interval", "s")
    spread_p99_error: Floats = column("distance of spread_p99 to the farther end of its 95 % interval", "s")
    bound: Floats = column("largest possible error of a spread, median", "s")
    apart: Floats = column("share of the calls whose spread is larger than its possible error", "1")
    communicators: Texts = column("names that the program gave to communicators")
    beyond: Ints = column("0, or ELSEWHERE or UNSEEN of a site without a whole call, as in Totals")


def site_totals(rows: Arrived, calls: SiteCalls, profile: Profile) -> Totals:
    """Adds up the time and the number of all calls of each call site.

    If processes make the same call at different places, the site is the place on the first process. The sums of a row
    of the profile are then divided among sites in proportion to the whole calls of this row. Calls that had no room for
    a row of their own in the profile have no site (CallsWithoutSite reports them).
    """
    profile_rows = profile.frame(*SITE, "rank", "calls", "beyond").assign(time=profile.call_time + profile.wait_time)
    divided = divided_rows(rows, calls, profile_rows)
    first = np.unique(calls.site, return_index=True)[1]
    sites = pd.DataFrame({name: np.asarray(getattr(calls, name)[first]) for name in SITE})
    totals = sites.join(divided.groupby("site")[["time", "calls"]].sum()).assign(unknown=0.0)
    # The size of calls without a row of their own is NaN.
    with_site = profile_rows[(profile_rows.calls > 0) & profile_rows["size"].notna()]
    unsampled = with_site[~with_site.index.isin(divided.row)]
    unsampled = unsampled.groupby(SITE, sort=False, observed=True)[["calls", "time"]].sum()
    unsampled = unsampled.reset_index().assign(unknown=lambda frame: frame.time)
    # Without sorting, sites keep the index that they have in `calls`; sites without a whole call follow.
    sums = pd.concat([totals, unsampled], ignore_index=True) if len(totals) else unsampled
    sums = sums.groupby(SITE, sort=False, observed=True, dropna=False)[["time", "calls", "unknown"]].sum().reset_index()
    by_site = with_site.groupby(SITE, sort=False, observed=True)
    sums = sums.merge(by_site.agg(beyond=("beyond", "max"), own=("rank", "nunique")).reset_index(), how="left", on=SITE)
    here = sums["size"].where(sums.beyond == 0, sums.own)  # ranks of a call that are in the trace
    return Totals.of_frame(sums.assign(calls=(sums.calls / here).round().fillna(0).astype(np.int64)))


def divided_rows(rows: Arrived, calls: SiteCalls, profile_rows: pd.DataFrame) -> pd.DataFrame:
    """Divides calls and time of each row of the profile among the sites of its whole calls, in proportion to these.

    The result has columns `row` (of the profile), `site`, `calls` and `time`. If the whole calls of a row took no time,
    its time is divided like its calls.
    """
    weight = calls.weight[rows.call]
    sampled = pd.DataFrame({"row": rows.row, "site": rows.site, "time": weight * rows.own_time, "calls": weight})
    sampled = sampled.groupby(["row", "site"], sort=False).sum().reset_index()
    share = sampled[["time", "calls"]] / sampled.groupby("row")[["time", "calls"]].transform("sum")
    sums = profile_rows.loc[sampled.row, ["calls", "time"]].reset_index(drop=True)
    return sampled.assign(calls=share.calls * sums.calls, time=share.time.fillna(share.calls) * sums.time)


def estimate_sites(rows: Arrived, calls: SiteCalls, available: float, totals: Totals | None = None) -> Estimates:
    """Estimates times for all calls of each site from the calls in the sample; the row is the index of the site.

    Args:
        rows: of all processes.
        calls: of these rows.
        available: duration of the run, summed over processes, s.
        totals: of the sites, by index; None: `calls` are all calls.
    """
    begins = call_begins(rows.call)
    time, wait, error = (
        np.add.reduceat(values, begins) for values in (rows.own_time, rows.own_wait, rows.own_wait_error)
    )
    overlaps: dict[Hashable, float] = {}
    if not np.isnan(rows.overlap).all():
        overlaps = pd.Series(rows.overlap).groupby(rows.site).median().to_dict()
    order = np.argsort(calls.site, kind="stable")
    ends = np.flatnonzero(np.diff(calls.site[order], append=-1)) + 1
    estimates: list[dict[str, Any]] = []
    for number, chosen in enumerate(np.split(order, ends[:-1]) if len(order) else []):
        site_calls = calls[chosen]
        sampled = float((site_calls.weight * time[chosen]).sum())
        total, count, unknown = sampled, len(site_calls), 0.0
        if totals is not None:
            total, count, unknown = totals.time[number], totals.calls[number], totals.unknown[number]
        scale = total / sampled if sampled > 0 else 1.0
        spread, spread_error = weighted_quantiles(site_calls.spread, site_calls.weight, SPREAD_LEVELS)
        estimates.append(
            {
                **{name: getattr(site_calls, name)[0] for name in SITE},
                "calls": count,
                "sampled": len(site_calls),
                "bytes": median(site_calls.bytes, site_calls.weight),
                "time": total,
                "wait": scale * float((site_calls.weight * wait[chosen]).sum()),
                "wait_error": scale * float((site_calls.weight * error[chosen]).sum()),
                "wait_sampling": sampling_error(wait[chosen], time[chosen], site_calls.weight, total, count, unknown),
                "overlap": float(overlaps.get(number, np.nan)),
                "after_last": median(site_calls.after_last, site_calls.weight),
                **dict(zip(SPREAD_QUANTILES, spread.tolist(), strict=True)),
                **{f"{name}_error": half for name, half in zip(SPREAD_QUANTILES, spread_error.tolist(), strict=True)},
                "bound": median(site_calls.spread_bound, site_calls.weight),
                "apart": float(np.average(site_calls.spread > site_calls.spread_bound, weights=site_calls.weight)),
                "communicators": names_of(site_calls.communicator.unique()),
                "beyond": 0,
            }
        )
    names = [field.name for field in Estimates.columns() if field not in Site.columns()]
    for number in range(len(estimates), len(totals) if totals is not None else 0):
        assert totals is not None
        known = {name: getattr(totals, name)[number] for name in (*SITE, "calls", "time", "beyond")}
        sampled_none = {"sampled": 0, "wait": 0.0, "wait_error": 0.0, "wait_sampling": known["time"]}
        estimates.append(dict.fromkeys(names, np.nan) | known | sampled_none | {"communicators": ""})
    for estimate in estimates:
        estimate["share"] = estimate["time"] / available if available > 0 else np.nan
    return Estimates.of_rows(estimates)


def names_of(communicators: Iterable[object]) -> str:
    """Lists the names that the program gave to communicators; at most MAX_NAMES, then "...".

    Args:
        communicators: names in records, with the communicator's identity in parentheses.
    """
    matches = [match[1] for name in communicators if (match := NAME_BY_PROGRAM.match(str(name)))]
    names = list(dict.fromkeys(matches))
    return ", ".join(names[:MAX_NAMES]) + (", ..." if len(names) > MAX_NAMES else "")


def sampling_error(wait: Floats, time: Floats, weights: Floats, total: float, count: float, unknown: float) -> float:
    """Returns half the width of the 95 % interval of a site's waiting, if its calls are a sample, s.

    Args:
        wait: of calls in the sample, summed over processes, s.
        time: of calls in the sample, summed over processes, s.
        weights: calls of the run that each call represents.
        total: time of all calls, s.
        count: number of all calls.
        unknown: time in the calls of processes without a call in the sample, s; `total` includes it.
    """
    error = Z * ratio_error(wait, time, weights) * total
    return min(total, error + total_error(time, weights, total - unknown, count) + unknown)


def median(values: Floats, weights: Floats) -> float:
    """Returns the weighted median of the values that are not NaN; NaN if there are none."""
    known = ~np.isnan(values)
    return float(weighted_quantiles(values[known], weights[known], np.array([0.5]))[0][0])
