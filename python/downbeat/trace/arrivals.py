"""Late ranks: at which call site, how late, and how much of the waiting is theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pandas as pd

from downbeat.errors import UsageError
from downbeat.text import counted
from downbeat.trace.balance import kinds_of_sites, times_of_ranks
from downbeat.trace.calls import SITE, call_begins, match_arrivals
from downbeat.trace.causes import (
    costs_of_calls,
    late_ranks_of,
    only_neighbors,
    summarize_causes,
    with_gaps,
    with_last,
    with_places,
    with_quickest,
)
from downbeat.trace.estimates import estimate_sites, site_totals
from downbeat.trace.file import Section, room_lines
from downbeat.trace.phases import SEPARATOR, mixed_calls, phase_problems, summarize_phases
from downbeat.trace.sites import absent_modules, site_names
from downbeat.trace.threads import ProcessTime


class Recorded(Protocol):
    """What a `Trace` has: its frames, by the same names."""

    @property
    def records(self) -> pd.DataFrame: ...
    @property
    def profile(self) -> pd.DataFrame: ...
    @property
    def processes(self) -> pd.DataFrame: ...
    @property
    def clocks(self) -> pd.DataFrame: ...
    @property
    def phases(self) -> pd.DataFrame: ...
    @property
    def sums(self) -> pd.DataFrame: ...
    @property
    def sampled(self) -> bool: ...
    @property
    def sections(self) -> list[Section]: ...


def run_seconds(trace: Recorded) -> float:
    """Returns how long the run took, from MPI_Init to MPI_Finalize, or until the last exit that was seen."""
    clocks = trace.clocks["global_ns"]
    last = trace.records[["entry", "exit"]].max().max()
    end = max(clocks.max() * 1e-9, last if pd.notna(last) else 0.0)
    return float(end - clocks.min() * 1e-9) if len(clocks) else 0.0


@dataclass(frozen=True)
class Arrivals:
    """Arrivals in a trace.

    Attributes:
        rows: a row per process and call (`match_arrivals`), with `site`, the index of `sites`, and `with_gaps`.
            `own_time`, `own_wait` and `own_wait_error` are process time (`ProcessTime`).
        calls: a row per call (likewise), with `site`, and `weight`: for how many calls it stands.
        sites: a row per call site, by time in it: `SITE` and `name`; of all calls: `calls`, `time` (process time, sum
            over processes), `share` of the run of all processes; of those in `calls`, `sampled` in number: `bytes`
            (median); `wait`, estimated for all, as sum over processes; `wait_error` (the sum of the errors of waits)
            and `wait_sampling` (half the width of the 95 % interval, if calls are a sample); `overlap` (between call
            and wait, median; NaN if blocking); `after_last` (median); `SPREAD_QUANTILES`, and with `_error` half the
            width of their 95 % intervals; `bound` (of a spread's error, median); `apart` (share of the calls whose
            spread is more than its bound); `last_rank` (that causes most waiting; -1: nobody can be told),
            `last_share` (of the calls, in which ranks wait for it) and `last_wait` (of the waiting); who spends least
            time in the calls (`with_quickest`); `communicators` (names that the program gave); `beyond` (of a site
            without a whole call, as in the records). Times in s.
        causes: a row per site and rank that ranks wait for there, as `summarize_causes`.
        late_ranks: the same of the run, a row per rank, by waiting caused, with `where_before` of the first ones.
        by_rank: where the time of each rank went, as `times_of_ranks`; empty: not known.
        run: duration, s.
        ranks: of the job.
        threads: of all ranks that called collectives.
        left_out: records that are not analyzed, by what they are; see `BEYOND`.
        bound: largest bound of a timestamp's error, s; NaN: there is no timestamp.
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
    causes: pd.DataFrame
    late_ranks: pd.DataFrame
    run: float
    ranks: int
    threads: int
    left_out: Mapping[str, int]
    bound: float
    bound_is: str = ""
    by_rank: pd.DataFrame = field(default_factory=pd.DataFrame)
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


def find_arrivals(trace: Recorded) -> Arrivals:
    """Returns the arrivals in a trace."""
    run = run_seconds(trace)
    process_time = ProcessTime(trace.records, trace.profile)
    profile = process_time.of_profile(trace.profile, trace.records)
    found = arrivals_of(trace.records, run, int(trace.processes["world_size"].max()), profile, process_time)
    kinds = kinds_of_sites(profile, sums_of_processes(trace, profile), found.rows, run)
    return replace(
        found,
        kinds=kinds,
        by_rank=times_of_ranks(found.rows, found.calls, found.sites, run, kinds),
        phases=summarize_phases(trace.phases, found.sites, found.causes),
        warnings=tuple(shared_processors(trace.processes, run)),
        notes=tuple(notes_on(trace, found)),
    )


def sums_of_processes(trace: Recorded, profile: pd.DataFrame) -> pd.DataFrame:
    """Returns the sums of a trace in which calls that completed collectives have the process time of its profile."""
    saved = (trace.profile["wait_time"] - profile["wait_time"]).groupby(profile["rank"]).sum()
    sums = trace.sums.copy()
    requests = sums["kind"] == "requests"
    sums.loc[requests, "time"] -= sums.loc[requests, "rank"].map(saved).fillna(0.0)
    return sums


def arrivals_of(
    records: pd.DataFrame,
    run: float,
    ranks: int,
    profile: pd.DataFrame | None = None,
    process_time: ProcessTime | None = None,
) -> Arrivals:
    """Returns the arrivals in records.

    Args:
        records: columns as in `Trace.records`.
        run: duration, s.
        ranks: of the job.
        profile: like `Trace.profile`, in process time; `row` in records is its index; None: records are all there is.
        process_time: of the processes; None: that of the records.
    """
    records = with_gaps(records)
    if profile is not None and len(records):
        records = only_neighbors(records, (profile["thinning"].to_numpy() > 0)[records["row"].to_numpy()])
    rows, calls = match_arrivals(records)
    rows = (process_time or ProcessTime(records)).of_rows(rows)
    calls["site"] = calls.groupby(SITE, sort=False, observed=True).ngroup() if len(calls) else 0
    rows["site"] = calls["site"].to_numpy()[rows["call"].to_numpy()] if len(calls) else 0
    calls["weight"] = 1.0
    if profile is not None and len(calls):
        # The process with the fewest records decides.
        thinning = profile["thinning"].to_numpy(dtype=float)[rows["row"].to_numpy()]
        calls["weight"] = np.exp2(np.maximum.reduceat(thinning, call_begins(rows)))
    bound = float(records["bound"].max()) if len(records) else np.nan
    totals = None if profile is None else site_totals(rows, calls, profile)
    threads = records[["rank", "thread"]].drop_duplicates() if "thread" in records else records[["rank"]][:0]
    threads_in_calls = ranks - threads["rank"].nunique() + len(threads)
    sites = estimate_sites(rows, calls, run * ranks, totals)
    order = np.empty(len(sites), dtype=np.int64)
    order[sites["number"].to_numpy(dtype=np.int64)] = np.arange(len(sites))
    for frame in (rows, calls):
        frame["site"] = order[frame["site"].to_numpy(dtype=np.int64)] if len(frame) else frame["site"]
    absent = {} if profile is None else absent_modules(dict(zip(profile["module"], profile["build_id"], strict=True)))
    names = site_names(records if profile is None else profile, absent)
    sites["name"] = [names[str(a), int(b)] for a, b in zip(sites["module"], sites["offset"], strict=True)]
    rows = with_places(rows, records, names)
    costs = costs_of_calls(rows, calls, sites)
    causes = summarize_causes(costs, ["site", "rank"])
    sites = with_quickest(with_last(sites, causes), rows)
    late_ranks = late_ranks_of(costs, rows, sites)
    notes = tuple(absent.values())
    beyond = np.bincount(records["beyond"] if "beyond" in records else [0] * len(records), minlength=len(BEYOND))
    beyond[0] -= len(rows)
    left_out = {what: int(number) for what, number in zip(BEYOND, beyond, strict=True) if number}
    sites = sites.drop(columns="number")
    return Arrivals(rows, calls, sites, causes, late_ranks, run, ranks, threads_in_calls, left_out, bound, notes=notes)


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
    sites["share"] = sites["time"] / (run * found.ranks) if run > 0 else np.nan
    rows, calls = (frame[inside[frame["site"].to_numpy(dtype=np.int64)]] for frame in (found.rows, found.calls))
    rows, calls = (frame.assign(site=number[frame["site"].to_numpy(dtype=np.int64)]) for frame in (rows, calls))
    costs = costs_of_calls(rows, calls, sites)
    return replace(
        found,
        sites=sites,
        causes=summarize_causes(costs, ["site", "rank"]),
        late_ranks=late_ranks_of(costs, rows, sites),
        rows=rows,
        calls=calls,
        run=run,
        phase=name,
        phases=phases,
        by_rank=found.by_rank.iloc[:0],
        kinds=found.kinds.iloc[:0],
    )


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


def notes_on(trace: Recorded, found: Arrivals) -> list[str]:
    """Returns the notes: modules that are elsewhere, a sample, calls that had no room."""
    said = [*found.notes, *phase_problems(trace.sections), *mixed_calls(found.rows, call_begins(found.rows))]
    sites = found.sites[found.sites["sampled"] > 0]
    if trace.sampled:
        error = (sites["wait_sampling"] / sites["time"]).where(sites["share"] >= MENTIONED, 0.0).max()
        within = (
            f"wait % is within {100 * error:.2g} points (95 %, call sites from {percent_text(MENTIONED)} of the run)"
        )
        said.append(
            f"single calls are a sample, {sites['sampled'].sum():,} of {found.sites['calls'].sum():,}; "
            f"calls, run % are of all, {within if len(sites) else 'wait % is not known'}"
        )
    said += room_lines(trace.sections)
    unplaced = trace.profile[trace.profile["module"] == "not known"]
    if unplaced["calls"].sum():
        time = float((unplaced["call_time"] + unplaced["wait_time"]).sum())
        said.append(f"{unplaced['calls'].sum()} calls, {time:.4g} s, had no room for their call site: a full disk?")
    return said


MENTIONED = 0.01  # share of the run from which a call site is mentioned


def percent_text(share: float) -> str:
    """Returns a share in percent, without digits that say nothing."""
    return f"{100 * share:.0f} %" if share >= 0.095 or share == 0 else f"{100 * share:.1f} %"
