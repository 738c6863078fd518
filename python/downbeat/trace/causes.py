"""Attributes the waiting in collectives to the ranks that arrive last, for `find_arrivals`.

A wait has a cause if exactly one rank can have been the last that the waiting rank needed. The costs of a call are the
waits with the same cause, added up. Causes are the costs, added up by rank, for the run or for a call site (the
instruction that makes the calls, with operation, kind, communicator size and phase). For the first ranks the module
also finds the collective that they left before they came late. Process time (`own_...` in Arrived) is a thread's share
of the time of its rank, which is less than the time itself while other threads of the rank are in calls, too.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.data.collectives import COLLECTIVES
from downbeat.statistics.sampling import weighted_quantiles
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.trace.arrived import Arrived, SiteCalls, place_names
from downbeat.trace.calls import LATER
from downbeat.trace.estimates import Estimates

MIN_SHARE = 0.01  # share of the total waiting; ranks that cause less have no `costly` and `late`
MIN_CALLS = 10  # calls that `quickest_ranks` needs at a site
QUICKEST_SHARE = 0.9  # share of the calls in which the quickest rank is faster than every other rank
QUICKEST_FACTOR = 1.5  # median time of the other ranks, relative to the quickest rank
COSTLY = 0.5  # a call is costly if its wait is at least this multiple of the typical call's
MAX_LATE = 4  # late ranks for which the previous collective is looked up
NOT_SYMMETRIC = [collective.name for collective in COLLECTIVES if not collective.symmetric]


class Costs(Table):
    """Waits with a known cause, a row per call and rank that causes waiting in it."""

    call: Ints = column("index of the call")
    rank: Ints = column("rank in the job that causes the waiting")
    wait: Floats = column("process time of the waiting, summed over the waiting ranks", "s")
    mean_wait: Floats = column("time that a waiting rank waits, mean", "s")
    site: Ints = column("index of the call site")
    weight: Floats = column("calls of the run that this call represents", "1")
    total: Floats = column("estimated waiting in all calls that this call represents", "s")


class Causes(Table):
    """Ranks that cause waiting, by waiting caused, largest first."""

    rank: Ints = column("rank in the job")
    wait: Floats = column("waiting of all ranks that it causes", "s")
    calls: Floats = column("calls in which it causes waiting", "1")
    costly: Floats = column("calls that have most of this waiting (`costly_calls`); NaN: less than `MIN_SHARE`", "1")
    late: Floats = column("wait of another rank in a costly call, median; NaN: less than `MIN_SHARE`", "s")


class SiteCauses(Causes):
    """Ranks that cause waiting at each call site, by waiting caused, largest first."""

    site: Ints = column("index of the call site")


C = TypeVar("C", bound=Causes)


class LateRanks(Causes):
    """Causes of the run; for the first MAX_LATE ranks, how they came late to their costly calls.

    `before` and `after` name the pair of collectives, one directly after the other, between which the rank loses most.
    NaN and None: not known.
    """

    before: Texts = column("the collective that the rank leaves, as in `Arrived`")
    after: Texts = column("the next collective, at which the rank is late, as in `Arrived`")
    where_part: Floats = column("share of the waiting in the costly calls that is caused at the pair", "1")
    takes: Floats = column("time of the rank from `before` to `after`, median", "s")
    others: Floats = column("the same time of the other ranks in these calls that also came from `before`, median", "s")
    inside: Floats = column("time of the rank in other MPI calls during `takes`; NaN: not recorded", "s")
    inside_others: Floats = column("time of the other ranks in other MPI calls during `others`; NaN: not recorded", "s")
    left: Floats = column("time at which it left `before`, after the other ranks; negative: earlier", "s")


WHERE_TEXTS = ("before", "after")
WHERE_NUMBERS = ("where_part", "takes", "others", "inside", "inside_others", "left")


def group_sums(values: Floats, groups: Ints, count: int) -> Floats:
    """Adds up the values of each group.

    Args:
        values: any.
        groups: group of each value, 0 to count - 1.
        count: number of groups; a group without values has the sum 0.
    """
    sums = pd.Series(values).groupby(groups).sum().reindex(range(count), fill_value=0.0)
    result: Floats = np.asarray(sums, dtype=np.float64)
    return result


def ratio(numerator: NDArray[Any], denominator: NDArray[Any], otherwise: float) -> Floats:
    """Divides element by element; `otherwise` where the denominator is not above 0."""
    ratios: Floats = np.divide(numerator, denominator, out=np.full(len(denominator), otherwise), where=denominator > 0)
    return ratios


def costs_of_calls(rows: Arrived, calls: SiteCalls, sites: Estimates) -> Costs:
    """Adds up the waits with a known cause by call and cause.

    Args:
        rows: of all processes.
        calls: of these rows.
        sites: call sites with their estimated waiting in the whole run.
    """
    known = np.flatnonzero((rows.wait > 0) & (rows.cause >= 0))
    waiting = pd.DataFrame({"wait": rows.own_wait[known], "mean_wait": rows.wait[known]})
    sums = waiting.groupby([rows.call[known], rows.cause[known]], sort=False).agg({"wait": "sum", "mean_wait": "mean"})
    call, rank = (sums.index.get_level_values(level).to_numpy(dtype=np.int64) for level in (0, 1))
    site, weight = calls.site[call], calls.weight[call]
    # Scales the sampled calls so that the calls and the waiting of each site equal their estimates.
    sampled_wait = group_sums(rows.own_wait * calls.weight[rows.call], rows.site, len(sites))
    sampled_calls = pd.Series(calls.weight).groupby(calls.site).sum().reindex(range(len(sites))).to_numpy(dtype=float)
    wait = sums.wait.to_numpy(dtype=float)
    return Costs(
        call=call,
        rank=rank,
        wait=wait,
        mean_wait=sums.mean_wait.to_numpy(dtype=float),
        site=site,
        weight=weight * np.nan_to_num(sites.calls / sampled_calls, nan=1.0)[site],
        total=ratio(sites.wait, sampled_wait, 0.0)[site] * weight * wait,
    )


def costly_calls(costs: Costs) -> Costs:
    """Selects the calls that cost at least `COSTLY` times as much as the typical call.

    Many calls have a last rank by chance; the costly ones matter. The typical call is the weighted median: half of the
    waiting is in calls that cost at least as much.
    """
    costly = costs[np.argsort(-costs.wait, kind="stable")]
    typical = costly.wait[int(np.searchsorted(costly.total.cumsum(), costly.total.sum() / 2))]
    return costly[costly.wait >= COSTLY * typical]


def summarize_causes(costs: Costs) -> Causes:
    """Returns the waiting that each rank causes."""
    ranks, group = np.unique(costs.rank, return_inverse=True)
    return sorted_causes([{"rank": rank} for rank in ranks], costs, group, Causes)


def causes_at_sites(costs: Costs) -> SiteCauses:
    """Adds up the waiting that each rank causes at each call site."""
    pairs, group = np.unique(np.stack([costs.site, costs.rank]), axis=1, return_inverse=True)
    return sorted_causes([{"site": site, "rank": rank} for site, rank in pairs.T], costs, group.ravel(), SiteCauses)


def sorted_causes(keys: list[dict[str, Any]], costs: Costs, group: Ints, table_type: type[C]) -> C:
    """Adds up groups of costs; the group with most waiting comes first.

    Args:
        keys: the columns that identify each group.
        costs: of all calls.
        group: index in `keys` of each cost.
        table_type: Causes or SiteCauses.
    """
    all_waiting = float(costs.total.sum())
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=len(keys)))
    rows = []
    for key, chosen in zip(keys, np.split(order, ends[:-1]) if keys else [], strict=True):
        group_costs = costs[chosen]
        wait = float(group_costs.total.sum())
        row = key | {"wait": wait, "calls": float(group_costs.weight.sum()), "costly": np.nan, "late": np.nan}
        if wait >= MIN_SHARE * all_waiting:
            costly = costly_calls(group_costs)
            row["costly"] = float(costly.weight.sum())
            row["late"] = float(weighted_quantiles(costly.mean_wait, costly.weight, np.array([0.5]))[0][0])
        rows.append(row)
    causes = table_type.of_rows(rows)
    return causes[np.argsort(-causes.wait, kind="stable")]


def where_before(rank: int, costs: Costs, rows: Arrived, site_names: Texts) -> dict[str, Any]:
    """Finds the pair of collectives between which a late rank loses most, and compares its times there with its peers.

    Returns the columns WHERE_TEXTS and WHERE_NUMBERS of `LateRanks`; empty if there is no pair, or no other rank that
    came from the same collective.

    Args:
        rank: the late rank.
        costs: its costly calls.
        rows: of all processes.
        site_names: name of each site, from `place_names`.
    """
    indexes = np.flatnonzero((rows.rank == rank) & (rows.before.codes >= 0))
    row_of_call = np.full(int(costs.call.max(initial=-1)) + 1, -1)
    row_of_call[costs.call] = np.arange(len(costs))
    within = rows.call[indexes] < len(row_of_call)
    indexes = indexes[within][row_of_call[rows.call[indexes[within]]] >= 0]
    if not len(indexes):
        return {}
    pairs = pd.DataFrame({"before": rows.before.codes[indexes], "site": rows.site[indexes], "call": rows.call[indexes]})
    pairs = pairs.assign(row=indexes, total=costs.total[row_of_call[pairs.call.to_numpy()]])
    sums = pairs.groupby(["before", "site"]).total.sum()
    before, site = sums.index[int(sums.to_numpy().argmax())]
    pairs = pairs[(pairs.before == before) & (pairs.site == site)]
    peers = np.isin(rows.call, pairs.call) & (rows.rank != rank) & (rows.before.codes == before)
    if not peers.any():
        return {}
    times = {"gap": rows.gap, "elsewhere": rows.elsewhere, "before_out": rows.before_out}
    peer_medians = (
        pd.DataFrame({name: values[peers] for name, values in times.items()}).groupby(rows.call[peers]).median()
    )
    rank_rows = pairs.set_index("call").row.loc[peer_medians.index].to_numpy()
    return {
        "before": str(rows.before.categories[before]),
        "after": str(site_names[site]),
        "where_part": float(sums.max()) / float(costs.total.sum()),
        "takes": float(np.median(rows.gap[rank_rows])),
        "others": float(peer_medians.gap.median()),
        "inside": float(pd.Series(rows.elsewhere[rank_rows]).median()),
        "inside_others": float(peer_medians.elsewhere.median()),
        "left": float(np.median(rows.before_out[rank_rows] - peer_medians.before_out)),
    }


def late_ranks_of(costs: Costs, rows: Arrived, sites: Estimates, names: Texts) -> LateRanks:
    """Adds up the waiting that each rank causes and, for the first MAX_LATE ranks, finds where they lose time."""
    causes = summarize_causes(costs)
    site_names = place_names(sites.operation, sites.kind, names)
    where = [
        where_before(int(rank), costly_calls(costs[costs.rank == rank]), rows, site_names)
        for rank in causes.rank[:MAX_LATE]
    ]
    where += [{}] * (len(causes) - len(where))
    return causes.extended(
        LateRanks,
        **{name: np.array([row.get(name) for row in where], dtype=object) for name in WHERE_TEXTS},
        **{name: np.array([row.get(name, np.nan) for row in where], dtype=float) for name in WHERE_NUMBERS},
    )


def quickest_ranks(rows: Arrived, sites: Ints) -> dict[int, tuple[int, float, float]]:
    """Finds, at each site, a rank that spends less time than all other ranks in nearly all calls.

    If every rank waits for every other and all leave together, the rank with the shortest call arrived last. This
    needs no synchronized clocks.

    Args:
        rows: of all processes.
        sites: indexes of the sites at which the clocks show no late rank.

    Returns:
        Site -> rank, its median time in a call and the median time of the other ranks, s; only sites with such a rank.
    """
    usable = np.isin(rows.site, sites) & ~rows.kind.isin(LATER) & ~rows.operation.isin(NOT_SYMMETRIC)
    quickest = {}
    for site in np.unique(rows.site[usable]).tolist():
        here = np.flatnonzero(usable & (rows.site == site))
        times = pd.DataFrame({"call": rows.call[here], "rank": rows.rank[here], "time": rows.time[here]})
        by_call = times.pivot_table(index="call", columns="rank", values="time").dropna()
        if len(by_call) < MIN_CALLS or by_call.shape[1] < 2:
            continue
        call_times = by_call.to_numpy()
        least = int(np.median(call_times, axis=0).argmin())
        least_times, other_times = call_times[:, least], np.delete(call_times, least, axis=1)
        time, other_time = float(np.median(least_times)), float(np.median(other_times))
        often = (least_times < other_times.min(axis=1)).mean() >= QUICKEST_SHARE
        if often and other_time >= QUICKEST_FACTOR * time:
            quickest[site] = int(by_call.columns[least]), time, other_time
    return quickest
