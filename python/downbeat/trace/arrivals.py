"""Late ranks: at which call site, how late, and how much of the waiting is theirs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from downbeat.errors import UsageError
from downbeat.text import counted
from downbeat.trace.calls import SITE, Floats, call_begins, match_arrivals
from downbeat.trace.phases import SEPARATOR, mixed_calls, phase_problems, summarize_phases
from downbeat.trace.sites import Z, absent_modules, ratio_error, site_names, total_error, weighted_quantiles
from downbeat.trace.trace import Trace


def run_seconds(trace: Trace) -> float:
    """Returns how long the run took, from MPI_Init to MPI_Finalize, or until the last exit that was seen."""
    clocks = trace.clocks["global_ns"]
    last = trace.records[["entry", "exit"]].max().max()
    end = max(clocks.max() * 1e-9, last if pd.notna(last) else 0.0)
    return float(end - clocks.min() * 1e-9) if len(clocks) else 0.0


SPREAD_QUANTILES = {"spread_p50": 0.5, "spread_p95": 0.95, "spread_p99": 0.99}
SPREAD_LEVELS = np.array(list(SPREAD_QUANTILES.values()))


@dataclass(frozen=True)
class Arrivals:
    """Arrivals in a trace.

    Attributes:
        rows: a row per process and call (`match_arrivals`), with `site`, the index of `sites`.
        calls: a row per call (likewise), with `site`, and `weight`: for how many calls it stands.
        sites: a row per call site, by time in it: `SITE` and `name`; of all calls: `calls`, `time` (sum over
            processes), `share` of the run's time; of those in `calls`, `sampled` in number: `bytes` (median); `wait`,
            estimated for all, as sum over processes; `wait_error` (the sum of the errors of waits) and `wait_sampling`
            (half the width of the 95 % interval, if calls are a sample); `overlap` (between call and wait, median; NaN
            if blocking); `after_last` (median); `SPREAD_QUANTILES`, and with `_error` half the width of their 95 %
            intervals; `bound` (of a spread's error, median); `apart` (share of the calls whose spread is more than
            its bound); `last_rank` (whose calls cost most waiting), `last_share` (of the calls) and `last_wait` (of the
            waiting); `beyond` (of a site without a whole call, as in the records). Times in s.
        run: duration, s.
        ranks: of the job.
        threads: of all ranks that called collectives; `share` is of the time of all of them.
        left_out: records that are not analyzed, by what they are; see `BEYOND`.
        bound: largest bound of a timestamp's error, s.
        bound_is: what that is, if it is not hard; begins with a comma.
        kinds: a row per process and kind of MPI call: `rank`, `kind`, `calls`, `time`, `analyzed` (of that, at `sites`
            with calls), s; empty: not known.
        phases: a row per phase, with those within it: `phase` (`outer > inner`), `ranks` (that began it), `begins` and
            `seconds` of all of them; of its call sites `calls`, `time`, `wait`, `wait_error`, `wait_sampling`, summed;
            `last_rank` (that cost most waiting; -1: nobody can be told), `last_wait` (its part of the waiting).
        phase: that the tables describe; "": the whole run.
        warnings: sentences that come first.
        notes: sentences that come last.
    """

    rows: pd.DataFrame
    calls: pd.DataFrame
    sites: pd.DataFrame
    run: float
    ranks: int
    threads: int
    left_out: Mapping[str, int]
    bound: float
    bound_is: str = ""
    kinds: pd.DataFrame = field(default_factory=pd.DataFrame)
    phases: pd.DataFrame = field(default_factory=pd.DataFrame)
    phase: str = ""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


# Why nothing can be said about a call, by the column `beyond` of records and the profile.
BEYOND = (
    "that some rank did not record whole",
    "with processes of another job, whose clock is another one",
    "between two groups of ranks, one of which left no record",
)
MOST = 1_000_000  # records that are analyzed; of more, a sample is


def find_arrivals(trace: Trace) -> Arrivals:
    """Returns the arrivals in a trace."""
    run = run_seconds(trace)
    found = arrivals_of(trace.records, run, int(trace.processes["world_size"].max()), trace.profile)
    begins = call_begins(found.rows)
    waits = np.add.reduceat(found.rows["wait"].to_numpy(), begins) if len(begins) else np.array([])
    return replace(
        found,
        kinds=kinds_of(trace, found),
        phases=summarize_phases(trace.phases, found.sites, found.calls, waits),
        warnings=tuple(shared_processors(trace.processes, run)),
        notes=tuple(notes_on(trace, found)),
    )


def arrivals_of(records: pd.DataFrame, run: float, ranks: int, profile: pd.DataFrame | None = None) -> Arrivals:
    """Returns the arrivals in records.

    Args:
        records: columns as in `Trace.records`.
        run: duration, s.
        ranks: of the job.
        profile: like `Trace.profile`; `row` in records is its index; None: records are all there is.
    """
    rows, calls = match_arrivals(records)
    calls["site"] = calls.groupby(SITE, sort=False, observed=True).ngroup() if len(calls) else 0
    rows["site"] = calls["site"].to_numpy()[rows["call"].to_numpy()] if len(calls) else 0
    calls["weight"] = 1.0
    if profile is not None and len(calls):
        # The process with the fewest records decides.
        thinning = profile["thinning"].to_numpy(dtype=float)[rows["row"].to_numpy()]
        calls["weight"] = np.exp2(np.maximum.reduceat(thinning, call_begins(rows)))
    bound = float(records["bound"].max()) if len(records) else 0.0
    totals = None if profile is None else site_totals(rows, calls, profile)
    threads = records[["rank", "thread"]].drop_duplicates() if "thread" in records else records[["rank"]][:0]
    busy = ranks - threads["rank"].nunique() + len(threads)
    sites = estimate_sites(rows, calls, run * busy, totals)
    order = np.empty(len(sites), dtype=np.int64)
    order[sites["number"].to_numpy(dtype=np.int64)] = np.arange(len(sites))
    for frame in (rows, calls):
        frame["site"] = order[frame["site"].to_numpy(dtype=np.int64)] if len(frame) else frame["site"]
    known = (records if profile is None else profile).drop_duplicates(["module", "offset"])
    absent = {} if profile is None else absent_modules(dict(zip(profile["module"], profile["build_id"], strict=True)))
    places = known[["module", "offset", "symbol"]].itertuples(index=False)
    names = site_names(((str(a), int(b), str(c)) for a, b, c in places), absent)
    sites["name"] = [names[str(a), int(b)] for a, b in zip(sites["module"], sites["offset"], strict=True)]
    notes = tuple(absent.values())
    beyond = np.bincount(records["beyond"] if "beyond" in records else [0] * len(records), minlength=len(BEYOND))
    beyond[0] -= len(rows)
    left_out = {what: int(number) for what, number in zip(BEYOND, beyond, strict=True) if number}
    return Arrivals(rows, calls, sites.drop(columns="number"), run, ranks, busy, left_out, bound, notes=notes)


def of_phase(found: Arrivals, name: str) -> Arrivals:
    """Returns the arrivals in a phase and in those within it; shares are of its time.

    Args:
        found: all of the run.
        name: of the phase, wherever it is, or a path `outer > inner`.

    Raises:
        UsageError: there is no such phase.
    """
    known = list(found.phases["phase"]) if len(found.phases) else []
    wanted = [path for path in known if f"{SEPARATOR}{name}{SEPARATOR}" in f"{SEPARATOR}{path}{SEPARATOR}"]
    if not wanted:
        there = ", ".join(f"'{path}'" for path in known) or 'none; a program names them by MPI_Pcontrol(1, "name")'
        raise UsageError(f"the trace has no phase '{name}'; phases: {there}")
    phases = found.phases[found.phases["phase"].isin(wanted)].reset_index(drop=True)
    outermost = [path for path in wanted if path.rpartition(SEPARATOR)[0] not in wanted]
    run = float(phases.loc[phases["phase"].isin(outermost), "seconds"].sum()) / found.ranks
    inside = found.sites["phase"].astype(str).isin(wanted).to_numpy()
    number = np.cumsum(inside) - 1
    sites = found.sites[inside].reset_index(drop=True)
    sites["share"] = sites["time"] / (run * found.threads) if run > 0 else np.nan
    rows, calls = (frame[inside[frame["site"].to_numpy(dtype=np.int64)]] for frame in (found.rows, found.calls))
    rows, calls = (frame.assign(site=number[frame["site"].to_numpy(dtype=np.int64)]) for frame in (rows, calls))
    return replace(
        found, sites=sites, rows=rows, calls=calls, run=run, phase=name, phases=phases, kinds=found.kinds.iloc[:0]
    )


def site_totals(rows: pd.DataFrame, calls: pd.DataFrame, profile: pd.DataFrame) -> pd.DataFrame:
    """Returns what all calls of each call site took.

    A row per site has `SITE`, `calls`, `time`, and `unknown`, time of processes that have no whole call in `rows`.
    Sites that have no whole call come after those of `calls`. Where processes call one collective at different places,
    the site is that of the first one, and each process' sums are divided as its whole calls are.
    """
    weight = calls["weight"].to_numpy(dtype=float)[rows["call"].to_numpy()] if len(calls) else np.array([])
    parts = pd.DataFrame({"row": rows["row"], "site": rows["site"], "time": weight * rows["time"], "calls": weight})
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
    """Returns `Arrivals.sites` without names, estimated for all calls from those in the sample.

    `number` is the site's number in the frames.

    Args:
        rows: with `site`.
        calls: with `site` and `weight`.
        available: seconds that all processes had together.
        totals: of the sites (`site_totals`), by number; None: `calls` are all there are.
    """
    begins = call_begins(rows)
    time, wait, error = (np.add.reduceat(rows[name].to_numpy(), begins) for name in ("time", "wait", "wait_error"))
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
        seen = some["last_rank"].to_numpy()
        clear = mine[seen >= 0]
        times, costs = np.zeros((2, 1 + max(seen.max(initial=0), 0)))
        np.add.at(times, seen[seen >= 0], weights[seen >= 0])
        np.add.at(costs, seen[seen >= 0], weights[seen >= 0] * wait[clear])
        last = int((costs if costs.any() else times).argmax())  # who costs most: one long wait may be worth many
        waited = float((weights * wait[mine]).sum())
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
                "last_rank": last if times.any() else -1,
                "last_share": float(times[last] / weights.sum()),
                "last_wait": float(costs[last] / waited) if waited > 0 else 0.0,
            }
        )
    for number in range(len(found), len(totals) if totals is not None else 0):
        assert totals is not None
        one = totals.iloc[number]
        found.append(
            {
                "number": number,
                **{name: one[name] for name in [*SITE, "calls", "time"]},
                **{"sampled": 0, "wait": 0.0, "wait_error": 0.0, "wait_sampling": one["time"], "last_rank": -1},
                "beyond": one["beyond"],
                "share": one["time"] / available if available > 0 else np.nan,
                "last_share": 0.0,
                "last_wait": 0.0,
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
    frame = pd.DataFrame(found, columns=[*columns, "last_rank", "last_share", "last_wait", "beyond"])
    frame["beyond"] = frame["beyond"].fillna(0).astype(np.int64)
    return frame.sort_values("time", ascending=False, kind="stable", ignore_index=True)


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


def kinds_of(trace: Trace, found: Arrivals) -> pd.DataFrame:
    """Returns `Arrivals.kinds`."""
    profile = trace.profile.assign(seen=trace.profile.index.isin(found.rows["row"].unique()))
    profile["analyzed"] = profile["call_time"].where(profile["seen"], 0.0)
    profile["waited"] = profile["wait_time"].where(profile["seen"], 0.0)
    ranks = profile.groupby("rank")
    own = ranks[["calls", "call_time", "analyzed"]].sum().reset_index().rename(columns={"call_time": "time"})
    sums = trace.sums.assign(analyzed=0.0)
    requests = sums["kind"] == "requests"
    sums.loc[requests, "analyzed"] = sums.loc[requests, "rank"].map(ranks["waited"].sum()).to_numpy()
    return pd.concat([own.assign(kind="collectives"), sums], ignore_index=True)


READY = 0.01  # share of the run from which waiting for a processor is mentioned


def shared_processors(processes: pd.DataFrame, run: float) -> list[str]:
    """Returns a sentence on each host with more ranks than processors, and one on ranks that waited for a processor."""
    said = []
    for host, some in processes.groupby("host", sort=False):
        if len(some) > (processors := int(some["processors"].max())):
            said.append(
                f"{len(some)} ranks share {counted(processors, 'processor')} on {host}: when one runs, others cannot, "
                "so arrivals, waiting and operations are the scheduler's, too"
            )
    ready = processes["ready"]
    if run > 0 and ready.mean() >= READY * run:
        most = int(ready.argmax())
        said.append(
            f"ranks were ready to run but waited {ready.mean():.2g} s for a processor, rank "
            f"{processes['rank'].iloc[most]} {ready.iloc[most]:.2g} s, in MPI_Init and MPI_Finalize, too; times in "
            "calls contain it"
        )
    return said


def notes_on(trace: Trace, found: Arrivals) -> list[str]:
    """Returns the notes: modules that are elsewhere, a sample, calls that had no room."""
    said = [*found.notes, *phase_problems(trace.sections), *mixed_calls(found.rows, call_begins(found.rows))]
    sites = found.sites[found.sites["sampled"] > 0]
    if trace.sampled:
        error = (sites["wait_sampling"] / sites["time"]).where(sites["share"] >= MENTIONED, 0.0).max()
        said.append(
            f"single calls are a sample, {sites['sampled'].sum():,} of {sites['calls'].sum():,}; calls, run % are of "
            "all, wait % is within "
            f"{100 * error:.2g} points (95 %, call sites from {percent_text(MENTIONED)} of the run)"
        )
    lost = int(trace.processes["records_dropped"].sum())
    if lost:
        said.append(f"the sample lacks {lost} records for lack of room")
    unplaced = trace.profile[trace.profile["module"] == "not known"]
    if unplaced["calls"].sum():
        time = float((unplaced["call_time"] + unplaced["wait_time"]).sum())
        said.append(f"{unplaced['calls'].sum()} calls, {time:.4g} s, had no room for their call site: a full disk?")
    return said


MENTIONED = 0.01  # share of the run from which a call site is mentioned


def percent_text(share: float) -> str:
    """Returns a share in percent, without digits that say nothing."""
    return f"{100 * share:.0f} %" if share >= 0.095 or share == 0 else f"{100 * share:.1f} %"
