"""Who causes the waiting: how much, in how many calls, and where that rank was before."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from downbeat.trace.calls import FROM_LOWER, FROM_ROOT, LATER, NEIGHBOR, PLACE, TO_ROOT, mpi_name
from downbeat.trace.sites import weighted_quantiles

LEAST_PART = 0.01  # of all waiting; ranks that cause less have no numbers of single calls
FEWEST_CALLS, NEARLY_ALL, CLEARLY = 10, 0.9, 1.5  # from which a rank is said to spend less time in calls than others
# Operations in which not everybody waits for everybody.
SOME_WAIT = "|".join(f"^{name}$" for name in (*FROM_ROOT, *TO_ROOT, *FROM_LOWER)) + f"|^{NEIGHBOR}"
COSTLY = 0.5  # of a call that is typical of the waiting: what costs less is not counted among the costly ones
MOST_LATE = 4  # late ranks for which the place before is looked up
WHERE = ["before", "after", "where_part", "takes", "others", "inside", "inside_others", "left"]
CAUSES = ["rank", "wait", "calls", "costly", "late"]


def costs_of_calls(rows: pd.DataFrame, calls: pd.DataFrame, sites: pd.DataFrame) -> pd.DataFrame:
    """Returns a row per call in which it is known whom ranks wait for.

    Columns: `call`, `site`, `rank` (that they wait for), `wait` (of all that wait, process time, s), `each` (of one of
    them, mean), `weight` (for how many calls of the run it stands), `total` (their wait).

    Args:
        rows: those of `Arrivals`.
        calls: likewise.
        sites: likewise, with `wait` and `calls` of the run.
    """
    told = rows[(rows["wait"].to_numpy() > 0) & (rows["cause"].to_numpy() >= 0)]
    grouped = told.groupby(["call", "cause"], sort=False)
    costs = grouped.agg(wait=("own_wait", "sum"), each=("wait", "mean")).reset_index()
    costs = costs.rename(columns={"cause": "rank"})
    of_call = calls.loc[costs["call"]] if len(costs) else calls.iloc[:0]
    costs["site"] = of_call["site"].to_numpy(dtype=np.int64)
    costs["weight"] = of_call["weight"].to_numpy(dtype=float)
    sampled = pd.Series(rows["own_wait"].to_numpy() * calls["weight"].loc[rows["call"]].to_numpy(dtype=float))
    known = sampled.groupby(rows["site"].to_numpy()).sum().reindex(sites.index, fill_value=0.0)
    scale = (sites["wait"] / known.where(known > 0)).fillna(0.0).to_numpy(dtype=float)
    costs["total"] = scale[costs["site"]] * costs["weight"] * costs["wait"]
    stand_for = calls.groupby("site")["weight"].sum().reindex(sites.index)
    number = (sites["calls"] / stand_for).fillna(1.0).to_numpy(dtype=float)
    costs["weight"] *= number[costs["site"]]
    return costs


def costly_calls(some: pd.DataFrame) -> pd.DataFrame:
    """Returns those that cost about as much as the calls which have most of the waiting, or more.

    A rank may be the last in many calls by chance; these are the ones that matter. Half of the waiting is in calls that
    cost at least as much as the typical one.
    """
    dear = some.sort_values("wait", ascending=False, kind="stable")
    typical = dear["wait"].iloc[int(np.searchsorted(dear["total"].cumsum(), dear["total"].sum() / 2))]
    costly: pd.DataFrame = dear[dear["wait"] >= COSTLY * typical]
    return costly


def summarize_causes(costs: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Returns a row per rank that ranks wait for, by the waiting that it causes.

    Columns: `by`, `wait` (of all ranks that wait for it, s), `calls` (in which they do), `costly` (calls that have most
    of it: `costly_calls`), `late` (how long one rank waits in one of these, median, s); the last two are NaN of ranks
    that cause next to nothing.
    """
    found = []
    most = float(costs["total"].sum())
    for key, some in costs.groupby(by, sort=True):
        wait = float(some["total"].sum())
        row = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
        row |= {"wait": wait, "calls": float(some["weight"].sum()), "costly": np.nan, "late": np.nan}
        if wait >= LEAST_PART * most:
            dear = costly_calls(some)
            weights = dear["weight"].to_numpy(dtype=float)
            row["costly"] = float(weights.sum())
            row["late"] = float(weighted_quantiles(dear["each"].to_numpy(dtype=float), weights, np.array([0.5]))[0][0])
        found.append(row)
    frame = pd.DataFrame(found, columns=[*by, *(name for name in CAUSES if name not in by)])
    return frame.sort_values("wait", ascending=False, kind="stable", ignore_index=True)


def with_gaps(records: pd.DataFrame) -> pd.DataFrame:
    """Returns records with `before`, `before_out` and `gap`: what their rank did since it left the collective before.

    `before` is the row, by position, of the collective that the same thread, or any thread of the process on the same
    communicator, was in last, `before_out` when it left, and `gap` the time from there to the entry, on one clock, s.
    -1 and NaN: there is none. Threads in turn on a communicator are so as one thread; those on several are apart.
    """
    if "elsewhere" not in records:
        records = records.assign(elsewhere=np.nan)
    rank = records["rank"].to_numpy(dtype=np.int64)
    threads = records["thread"].to_numpy(dtype=np.int64) if "thread" in records else np.zeros(len(records), np.int64)
    before, out = last_before(records, rank << 16 | threads)
    if len(records) and (np.diff(threads[np.lexsort((threads, rank))]) != 0).any():
        on = pd.factorize(records["communicator"])[0].astype(np.int64)
        other, other_out = last_before(records, rank << 32 | on)
        later = (other >= 0) & ((before < 0) | (other_out > out))
        before, out = np.where(later, other, before), np.where(later, other_out, out)
    return records.assign(before=before, before_out=out, gap=records["entry"].to_numpy(dtype=float) - out)


def last_before(records: pd.DataFrame, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns for each record which one of its group ended last before its entry (-1: none), and when (NaN)."""
    count = len(records)
    entry, returned, end = (records[name].to_numpy(dtype=float) for name in ("entry", "returned", "exit"))
    times = np.concatenate([returned, end, entry])
    kind = np.repeat([0, 0, 1], count)  # ends come before an entry at the same time
    owner = np.tile(np.arange(count), 3)
    kept = ~np.isnan(times)
    times, kind, owner = times[kept], kind[kept], owner[kept]
    order = np.lexsort((kind, times, group[owner]))
    times, kind, owner = times[order], kind[order], owner[order]
    at = np.maximum.accumulate(np.where(kind == 0, np.arange(len(times)), -1))
    enters = np.flatnonzero((kind == 1) & (at >= 0))
    last = at[enters]
    enters, last = (one[group[owner[last]] == group[owner[enters]]] for one in (enters, last))
    before, out = np.full(count, -1), np.full(count, np.nan)
    before[owner[enters]] = owner[last]
    out[owner[enters]] = times[last]
    return before, out


def only_neighbors(records: pd.DataFrame, thinned: np.ndarray) -> pd.DataFrame:
    """Returns records of a sample of calls, from `with_gaps`, without gaps in which there may be calls that it lacks.

    Args:
        records: of some of the calls.
        thinned: of each record, whether its row of the profile keeps only some of its calls.
    """
    dropping = np.unique(records["communicator"].astype(str).to_numpy()[thinned])
    if not len(dropping):
        return records
    before = records["before"].to_numpy()
    number, communicator = records["sequence"].to_numpy(dtype=np.int64), records["communicator"].astype(str).to_numpy()
    sure = (before >= 0) & (len(dropping) == 1) & (communicator == dropping[0])
    sure &= (communicator[before] == communicator) & (number[before] + 1 == number)
    return records.assign(before=np.where(sure, before, -1), gap=np.where(sure, records["gap"], np.nan))


def where_before(rank: int, costs: pd.DataFrame, rows: pd.DataFrame, sites: pd.DataFrame) -> dict[str, object]:
    """Returns between which two collectives a rank was before its costly calls, and how long it and others took there.

    `before` and `after` are names of the places, `where_part` is the part of the cost of these calls that is there; of
    the calls at the pair that costs most, medians in s: `takes`, of the rank between the two, `others`, of the others
    in the same calls that came from the same place, `inside` and `inside_others`, the part of each in other MPI calls
    (NaN: not recorded), and `left`, how much later than theirs the end of its collective before was (negative:
    earlier). Empty if it is not known.

    Args:
        rank: that others wait for.
        costs: its costly calls, as in `costs_of_calls`.
        rows: those of `Arrivals`.
        sites: likewise.
    """
    mine = rows[(rows["rank"] == rank) & rows["before"].notna()]
    own = mine.merge(costs[["call", "total"]], on="call")
    if own.empty:
        return {}
    sums = own.groupby(["before", "site"], observed=True)["total"].sum().reset_index()
    most = sums.iloc[int(sums["total"].to_numpy().argmax())]
    place, site = str(most["before"]), int(most["site"])
    own = own[(own["before"] == place) & (own["site"] == site)]
    rest = rows[rows["call"].isin(own["call"]) & (rows["rank"] != rank) & (rows["before"] == place)]
    if rest.empty:
        return {}
    others = rest.groupby("call")[["gap", "elsewhere", "before_out"]].median()
    own = own.set_index("call").loc[others.index]
    return {
        "before": place,
        "after": place_name(sites.iloc[site]),
        "where_part": float(most["total"] / costs["total"].sum()),
        "takes": float(own["gap"].median()),
        "others": float(others["gap"].median()),
        "inside": float(own["elsewhere"].median()),
        "inside_others": float(others["elsewhere"].median()),
        "left": float((own["before_out"] - others["before_out"]).median()),
    }


def place_name(place: pd.Series) -> str:
    """Returns what and where a collective is, from its `operation`, `kind` and `name`."""
    return f"{mpi_name(str(place['operation']), str(place['kind']))} ({place['name']})"


def with_places(rows: pd.DataFrame, records: pd.DataFrame, names: Mapping[tuple[str, int], str]) -> pd.DataFrame:
    """Returns rows whose `before` is the name of the place of that record (`place_name`), NaN where there is none.

    Args:
        rows: of `records`, with their `before`.
        records: from `with_gaps`.
        names: of module and offset.
    """
    places = records[PLACE].reset_index(drop=True)
    codes = np.zeros(len(places), dtype=np.int64)
    for name in PLACE:
        codes = pd.factorize(codes * (len(places) + 1) + pd.factorize(places[name])[0])[0]
    first = places.iloc[np.unique(codes, return_index=True)[1]]
    first = first.assign(name=[names[str(a), int(b)] for a, b in zip(first["module"], first["offset"], strict=True)])
    called, texts = pd.factorize(np.array([place_name(one) for _, one in first.iterrows()], dtype=object))
    before = rows["before"].to_numpy(dtype=np.int64)
    place = np.where(before >= 0, called[codes[before]], -1) if len(codes) else before
    return rows.assign(before=pd.Categorical.from_codes(place, categories=pd.Index(texts)))


def with_last(sites: pd.DataFrame, causes: pd.DataFrame) -> pd.DataFrame:
    """Returns sites with `last_rank`, `last_share` and `last_wait`: who causes most waiting there."""
    first = causes.drop_duplicates("site").set_index("site").reindex(sites.index)
    return sites.assign(
        last_rank=first["rank"].fillna(-1).astype(np.int64),
        last_share=(first["calls"] / sites["calls"].where(sites["calls"] > 0)).fillna(0.0).clip(upper=1.0),
        last_wait=(first["wait"] / sites["wait"].where(sites["wait"] > 0)).fillna(0.0).clip(upper=1.0),
    )


def with_quickest(sites: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Returns sites with the rank that spends the least time in nearly all calls, where the clocks show no late one.

    If all wait for all, it comes last, provided that they leave together; that needs no clock of others. `quick_rank`
    (-1: there is none), `quick_time` and `quick_others`, medians, s.
    """
    open_sites = sites.index[sites["last_rank"] < 0]
    some = rows[rows["site"].isin(open_sites) & ~rows["kind"].isin(LATER)]
    some = some[~some["operation"].astype(str).str.contains(SOME_WAIT)]
    found = []
    for site, mine in some.groupby("site"):
        inside = mine.pivot_table(index="call", columns="rank", values="time").dropna()
        if len(inside) < FEWEST_CALLS or inside.shape[1] < 2:
            continue
        ranks = inside.to_numpy()
        least = int(np.median(ranks, axis=0).argmin())
        own, others = ranks[:, least], np.delete(ranks, least, axis=1)
        if (own < others.min(axis=1)).mean() >= NEARLY_ALL and np.median(others) >= CLEARLY * np.median(own):
            found.append((site, inside.columns[least], np.median(own), np.median(others)))
    names = ["quick_rank", "quick_time", "quick_others"]
    quick = pd.DataFrame(found, columns=["site", *names]).set_index("site").reindex(sites.index)
    return sites.assign(**quick).assign(quick_rank=quick["quick_rank"].fillna(-1).astype(np.int64))


def late_ranks_of(costs: pd.DataFrame, rows: pd.DataFrame, sites: pd.DataFrame) -> pd.DataFrame:
    """Returns `Arrivals.late_ranks`."""
    ranks = summarize_causes(costs, ["rank"])
    where = [
        where_before(int(rank), costly_calls(costs[costs["rank"] == rank]), rows, sites)
        for rank in ranks["rank"].head(MOST_LATE)
    ]
    return ranks.join(pd.DataFrame(where, columns=WHERE, index=range(len(where))))
