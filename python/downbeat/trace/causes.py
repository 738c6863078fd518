"""Who causes the waiting: how much, in how many calls, and where that rank was before."""

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

LEAST_PART = 0.01  # of all waiting; ranks that cause less have no numbers of single calls
FEWEST_CALLS, NEARLY_ALL, CLEARLY = 10, 0.9, 1.5  # from which a rank is said to spend less time in calls than others
COSTLY = 0.5  # of a call that is typical of the waiting: calls that cost less are not costly
MOST_LATE = 4  # late ranks for which the collective before is looked up
NOT_SYMMETRIC = [each.name for each in COLLECTIVES if not each.symmetric]


class Costs(Table):
    """Calls in which it is known whom ranks wait for, a row per call and rank that they wait for."""

    call: Ints = column("index of the call")
    rank: Ints = column("rank in the job that others wait for")
    wait: Floats = column("process time for which they wait, summed", "s")
    each: Floats = column("time for which one of them waits, mean", "s")
    site: Ints = column("index of the call site")
    weight: Floats = column("calls of the run that it stands for", "1")
    total: Floats = column("waiting in these, summed", "s")


class Causes(Table):
    """Ranks that others wait for, the one that causes most waiting first."""

    rank: Ints = column("rank in the job")
    wait: Floats = column("waiting of all ranks that it causes", "s")
    calls: Floats = column("calls in which others wait for it", "1")
    costly: Floats = column(
        "calls that have most of this waiting; see `costly_calls`; NaN: it causes next to nothing", "1"
    )
    late: Floats = column("how long another rank waits in a costly call, median; NaN: likewise", "s")


class SiteCauses(Causes):
    """The same at each call site."""

    site: Ints = column("index of the call site")


C = TypeVar("C", bound=Causes)


class LateRanks(Causes):
    """Causes of the run, and where the first MOST_LATE were before their costly calls; NaN and None: not known."""

    before: Texts = column("the collective before, as in `Arrived`, of the pair that costs most")
    after: Texts = column("the collective to which they come late, likewise")
    where_part: Floats = column("part of the cost of these calls that is at the pair", "1")
    takes: Floats = column("its time between these two, median", "s")
    others: Floats = column(
        "that of the other ranks; of those in the same calls that came from the same collective", "s"
    )
    inside: Floats = column("part of `takes` in other MPI calls; NaN: not recorded", "s")
    inside_others: Floats = column("part of `others` in other MPI calls; NaN: not recorded", "s")
    left: Floats = column("end of its collective before, after that of the others; negative: earlier", "s")


WHERE = [each.name for each in LateRanks.columns() if each not in Causes.columns()]


def group_sums(values: Floats, groups: Ints, count: int) -> Floats:
    """The sum of the values of each of `count` groups."""
    sums = pd.Series(values).groupby(groups).sum().reindex(range(count), fill_value=0.0)
    result: Floats = np.asarray(sums, dtype=np.float64)
    return result


def ratio(numerator: NDArray[Any], denominator: NDArray[Any], otherwise: float) -> Floats:
    """`numerator` / `denominator` where that is above 0, `otherwise` elsewhere."""
    ratios: Floats = np.divide(numerator, denominator, out=np.full(len(denominator), otherwise), where=denominator > 0)
    return ratios


def costs_of_calls(rows: Arrived, calls: SiteCalls, sites: Estimates) -> Costs:
    """The calls in which it is known whom ranks wait for."""
    known = np.flatnonzero((rows.wait > 0) & (rows.cause >= 0))
    waiting = pd.DataFrame({"wait": rows.own_wait[known], "each": rows.wait[known]})
    sums = waiting.groupby([rows.call[known], rows.cause[known]], sort=False).agg({"wait": "sum", "each": "mean"})
    call, rank = (sums.index.get_level_values(level).to_numpy(dtype=np.int64) for level in (0, 1))
    site, weight = calls.site[call], calls.weight[call]
    sampled = group_sums(rows.own_wait * calls.weight[rows.call], rows.site, len(sites))
    stand_for = pd.Series(calls.weight).groupby(calls.site).sum().reindex(range(len(sites))).to_numpy(dtype=float)
    wait = sums.wait.to_numpy(dtype=float)
    return Costs(
        call=call,
        rank=rank,
        wait=wait,
        each=sums.each.to_numpy(dtype=float),
        site=site,
        weight=weight * np.nan_to_num(sites.calls / stand_for, nan=1.0)[site],
        total=ratio(sites.wait, sampled, 0.0)[site] * weight * wait,
    )


def costly_calls(costs: Costs) -> Costs:
    """The calls that cost at least `COSTLY` times as much as the typical call.

    Many calls have a last rank by chance; the costly ones matter. The typical call is the weighted median: half of the
    waiting is in calls that cost at least as much.
    """
    dear = costs[np.argsort(-costs.wait, kind="stable")]
    typical = dear.wait[int(np.searchsorted(dear.total.cumsum(), dear.total.sum() / 2))]
    return dear[dear.wait >= COSTLY * typical]


def summarize_causes(costs: Costs) -> Causes:
    """The waiting that each rank causes."""
    ranks, group = np.unique(costs.rank, return_inverse=True)
    return sorted_causes([{"rank": rank} for rank in ranks], costs, group, Causes)


def causes_at_sites(costs: Costs) -> SiteCauses:
    """The waiting that each rank causes at each call site."""
    pairs, group = np.unique(np.stack([costs.site, costs.rank]), axis=1, return_inverse=True)
    return sorted_causes([{"site": site, "rank": rank} for site, rank in pairs.T], costs, group.ravel(), SiteCauses)


def sorted_causes(keys: list[dict[str, Any]], costs: Costs, group: Ints, to: type[C]) -> C:
    """The causes of groups of costs, most waiting first.

    Args:
        keys: columns that each group has in common.
        costs: of calls.
        group: the index in `keys` of each of them.
        to: type of the table.
    """
    most = float(costs.total.sum())
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=len(keys)))
    rows = []
    for key, chosen in zip(keys, np.split(order, ends[:-1]) if keys else [], strict=True):
        some = costs[chosen]
        wait = float(some.total.sum())
        row = key | {"wait": wait, "calls": float(some.weight.sum()), "costly": np.nan, "late": np.nan}
        if wait >= LEAST_PART * most:
            dear = costly_calls(some)
            row["costly"] = float(dear.weight.sum())
            row["late"] = float(weighted_quantiles(dear.each, dear.weight, np.array([0.5]))[0][0])
        rows.append(row)
    causes = to.of_rows(rows)
    return causes[np.argsort(-causes.wait, kind="stable")]


def where_before(rank: int, costs: Costs, rows: Arrived, site_names: Texts) -> dict[str, Any]:
    """The columns WHERE of a late rank; empty if they are not known.

    Args:
        rank: that others wait for.
        costs: its costly calls.
        rows: of all processes.
        site_names: of each site, from `place_names`.
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
    (before, site), most = sums.index[int(sums.to_numpy().argmax())], float(sums.max())
    pairs = pairs[(pairs.before == before) & (pairs.site == site)]
    peers = np.isin(rows.call, pairs.call) & (rows.rank != rank) & (rows.before.codes == before)
    if not peers.any():
        return {}
    times = {"gap": rows.gap, "elsewhere": rows.elsewhere, "before_out": rows.before_out}
    peer_medians = (
        pd.DataFrame({name: values[peers] for name, values in times.items()}).groupby(rows.call[peers]).median()
    )
    its_row = pairs.set_index("call").row.loc[peer_medians.index].to_numpy()
    return {
        "before": str(rows.before.categories[before]),
        "after": str(site_names[site]),
        "where_part": most / float(costs.total.sum()),
        "takes": float(np.median(rows.gap[its_row])),
        "others": float(peer_medians.gap.median()),
        "inside": float(pd.Series(rows.elsewhere[its_row]).median()),
        "inside_others": float(peer_medians.elsewhere.median()),
        "left": float(np.median(rows.before_out[its_row] - peer_medians.before_out)),
    }


def late_ranks_of(costs: Costs, rows: Arrived, sites: Estimates, names: Texts) -> LateRanks:
    """The ranks that others wait for, and where the first ones were before."""
    causes = summarize_causes(costs)
    site_names = place_names(sites.operation, sites.kind, names)
    where = [
        where_before(int(rank), costly_calls(costs[costs.rank == rank]), rows, site_names)
        for rank in causes.rank[:MOST_LATE]
    ]
    where += [{}] * (len(causes) - len(where))
    return causes.extended(
        LateRanks,
        **{name: np.array([row.get(name) for row in where], dtype=object) for name in ("before", "after")},
        **{name: np.array([row.get(name, np.nan) for row in where], dtype=float) for name in WHERE[2:]},
    )


def quickest_ranks(rows: Arrived, sites: Ints) -> dict[int, tuple[int, float, float]]:
    """The rank that spends the least time in nearly all calls of a site, its time and that of the others, medians, s.

    If all wait for all, it comes last, provided that they leave together; that needs no clock of others.

    Args:
        rows: of all processes.
        sites: at which the clocks show no late rank.
    """
    some = np.isin(rows.site, sites) & ~rows.kind.isin(LATER) & ~rows.operation.isin(NOT_SYMMETRIC)
    quickest = {}
    for site in np.unique(rows.site[some]).tolist():
        here = np.flatnonzero(some & (rows.site == site))
        times = pd.DataFrame({"call": rows.call[here], "rank": rows.rank[here], "time": rows.time[here]})
        inside = times.pivot_table(index="call", columns="rank", values="time").dropna()
        if len(inside) < FEWEST_CALLS or inside.shape[1] < 2:
            continue
        ranks = inside.to_numpy()
        least = int(np.median(ranks, axis=0).argmin())
        least_times, other_times = ranks[:, least], np.delete(ranks, least, axis=1)
        if (least_times < other_times.min(axis=1)).mean() >= NEARLY_ALL and np.median(
            other_times
        ) >= CLEARLY * np.median(least_times):
            quickest[site] = int(inside.columns[least]), float(np.median(least_times)), float(np.median(other_times))
    return quickest
