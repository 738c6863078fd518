"""Analyzes who arrives late at which collective, and how much waiting that causes, for `downbeat arrivals`.

`find_arrivals` matches the records of all processes to whole calls (calls that every process of the communicator
recorded from entry to completion). It estimates the time and waiting of each call site (the instruction that makes the
calls, with operation, kind, communicator size and phase), and attributes the waiting to late ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from downbeat.errors import UsageError
from downbeat.output.facts import Fact, known
from downbeat.output.facts.trace import CallsWithoutSite, SampledCalls, SharedProcessors, WaitedForProcessor
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.trace.arrived import Arrived, SiteCalls, gaps_of, names_before
from downbeat.trace.balance import KindTimes, RankTimes, kinds_of_sites, times_of_ranks
from downbeat.trace.calls import SITE, call_begins, match_arrivals, whole_calls
from downbeat.trace.causes import (
    LateRanks,
    SiteCauses,
    causes_at_sites,
    costs_of_calls,
    late_ranks_of,
    quickest_ranks,
    ratio,
)
from downbeat.trace.communicators import NOT_KNOWN
from downbeat.trace.estimates import Estimates, estimate_sites, site_totals
from downbeat.trace.file import full_recordings
from downbeat.trace.phases import SEPARATOR, Phases, in_phase, mixed_calls, phase_problems
from downbeat.trace.profile import Profile
from downbeat.trace.recording import Processes, Recording, Sums
from downbeat.trace.records import Records
from downbeat.trace.sites import absent_modules, site_names
from downbeat.trace.threads import ProcessTime, threads_of_ranks


class Sites(Estimates):
    """Call sites, by time in them, largest first: estimates, name and late rank of each."""

    name: Texts = column("file and line, or function")
    last_rank: Ints = column("rank that causes most waiting at the site; -1: not known")
    last_share: Floats = column("share of the calls in which last_rank causes waiting", "1")
    last_wait: Floats = column("share of the waiting that last_rank causes", "1")
    quick_rank: Ints = column("rank that spends the least time in nearly all calls (`quickest_ranks`); -1: none")
    quick_time: Floats = column("time of quick_rank in a call, median", "s")
    quick_others: Floats = column("time of the other ranks in a call, median", "s")


class PhaseTimes(Table):
    """Phases of the program; the numbers of a phase include the phases within it."""

    phase: Texts = column("path, outer > inner")
    ranks: Ints = column("ranks that began it", "1")
    begins: Ints = column("times that they began it", "1")
    seconds: Floats = column("time in it, summed over ranks", "s")
    calls: Ints = column("calls at its call sites", "1")
    time: Floats = column("process time in these calls, as in Sites", "s")
    wait: Floats = column("waiting in these calls", "s")
    wait_error: Floats = column("sum of the errors of waits", "s")
    wait_sampling: Floats = column("sum of the sites' errors from sampling", "s")
    last_rank: Ints = column("rank that causes most waiting; -1: not known")
    last_wait: Floats = column("share of the waiting that last_rank causes", "1")


@dataclass(frozen=True)
class Arrivals:
    """The analysis of a recording.

    Attributes:
        rows: what each process did in each call.
        calls: whole calls.
        sites: call sites, by time in them.
        causes: ranks that cause waiting at each site.
        late_ranks: ranks that cause waiting in the run, by waiting caused.
        run: duration, s.
        ranks: number of ranks of the job.
        threads: number of threads of all ranks that called collectives.
        left_out: number of records that are not analyzed, by reason; see `BEYOND`.
        bound: largest bound of a timestamp's error, s; NaN: there is no timestamp.
        by_rank: where the time of each rank went; empty: not known.
        kinds: time in calls of MPI by process and kind; empty: not known.
        phases: phases of the program.
        phase: the phase that the tables describe; "": the whole run.
        warnings: facts that limit all tables.
        notes: further facts on the recording.
    """

    rows: Arrived
    calls: SiteCalls
    sites: Sites
    causes: SiteCauses
    late_ranks: LateRanks
    run: float
    ranks: int
    threads: int
    left_out: Mapping[str, int]
    bound: float
    by_rank: RankTimes = field(default_factory=lambda: RankTimes.of_rows([]))
    kinds: KindTimes = field(default_factory=lambda: KindTimes.of_rows([]))
    phases: PhaseTimes = field(default_factory=lambda: PhaseTimes.of_rows([]))
    phase: str = ""
    warnings: tuple[Fact, ...] = ()
    notes: tuple[Fact, ...] = ()


# Reasons why a call is not analyzed; the index is the value of the column `beyond` of records and the profile.
BEYOND = (
    "that some rank did not record whole",
    "with processes of another job, whose clock is another one",
    "between two groups of ranks, one of which left no record",
)
MAX_RECORDS = 1_000_000  # records that are analyzed; of more records, a sample is analyzed
MENTIONED = 0.01  # share of the run; call sites with less time are not mentioned


def run_seconds(recording: Recording) -> float:
    """Returns the duration of the run, s: from MPI_Init to MPI_Finalize or, if later, to the last recorded time.

    0: no process has a clock sample.
    """
    clocks, records = recording.clocks.global_ns, recording.records
    if not len(clocks):
        return 0.0
    last = max(float(np.fmax.reduce(times, initial=-np.inf)) for times in (records.entry, records.exit))
    return float(max(clocks.max() * 1e-9, last) - clocks.min() * 1e-9)


def find_arrivals(recording: Recording) -> Arrivals:
    """Analyzes a recording."""
    run = run_seconds(recording)
    process_time = ProcessTime(recording.records, recording.profile)
    profile = process_time.of_profile(recording.profile, recording.records)
    ranks = int(recording.processes.world_size.max())
    arrivals = arrivals_of(recording.records, run, ranks, profile, process_time)
    kinds, by_rank = arrivals.kinds, arrivals.by_rank
    if run > 0:  # else the processes ended before their clocks were known
        kinds = kinds_of_sites(profile, sums_of_processes(recording, profile), arrivals.rows, run)
        by_rank = times_of_ranks(arrivals.rows, arrivals.calls, arrivals.sites, run, kinds)
    return replace(
        arrivals,
        kinds=kinds,
        by_rank=by_rank,
        phases=summarize_phases(recording.phases, arrivals.sites, arrivals.causes),
        warnings=tuple(shared_processors(recording.processes, run)),
        notes=tuple(notes_on(recording, arrivals)),
    )


def sums_of_processes(recording: Recording, profile: Profile) -> Sums:
    """Returns the sums of a recording; the kind "requests" counts process time in calls that complete collectives.

    Args:
        recording: any.
        profile: its profile in process time (see `ProcessTime`).
    """
    sums = recording.sums
    saved = pd.Series(recording.profile.wait_time - profile.wait_time).groupby(profile.rank).sum()
    requests = sums.kind == "requests"
    return sums.replaced(time=sums.time - np.where(requests, saved.reindex(sums.rank, fill_value=0.0), 0.0))


def arrivals_of(
    records: Records,
    run: float,
    ranks: int,
    profile: Profile | None = None,
    process_time: ProcessTime | None = None,
) -> Arrivals:
    """Analyzes the arrivals in records.

    Args:
        records: of all processes.
        run: duration, s.
        ranks: number of ranks of the job.
        profile: in process time; the column `row` of records is its index; None: there are only the records.
        process_time: converts times of the records to process time; None: uses the records alone.
    """
    complete, call = whole_calls(records)
    thinning = np.zeros(len(records), dtype=np.int64) if profile is None else profile.thinning[records.row]
    before, before_out, gap = gaps_of(records, thinning > 0)
    waits, matched = match_arrivals(records, complete, call)
    site = matched.frame(*SITE).groupby(SITE, sort=False, observed=True).ngroup().to_numpy(dtype=np.int64)
    weight = np.ones(len(matched))
    if len(matched):  # a call is sampled as rarely as on the process with the largest thinning
        weight = np.exp2(np.maximum.reduceat(thinning[complete].astype(float), call_begins(call)))
    absent = {} if profile is None else absent_modules(dict(zip(profile.module, profile.build_id, strict=True)))
    names = site_names(records if profile is None else profile, absent)
    own_time, own_wait, own_wait_error = (process_time or ProcessTime(records)).of_waits(waits)
    rows = waits.extended(
        Arrived,
        before=names_before(before[complete], records, names),
        before_out=before_out[complete],
        gap=gap[complete],
        own_time=own_time,
        own_wait=own_wait,
        own_wait_error=own_wait_error,
        site=site[call],
    )
    calls = matched.extended(SiteCalls, site=site, weight=weight)
    totals = None if profile is None else site_totals(rows, calls, profile)
    estimates = estimate_sites(rows, calls, run * ranks, totals)
    by_time = np.argsort(-estimates.time, kind="stable")
    number = np.empty(len(estimates), dtype=np.int64)
    number[by_time] = np.arange(len(estimates))
    rows, calls = rows.replaced(site=number[rows.site]), calls.replaced(site=number[calls.site])
    sites = estimates[by_time]
    addresses = zip(sites.module, sites.offset.tolist(), strict=True)
    site_name = np.array([names[str(module), offset] for module, offset in addresses], dtype=object)
    threads = threads_of_ranks(records)
    beyond = np.bincount(records.beyond, minlength=len(BEYOND))
    beyond[0] -= len(rows)
    costs = costs_of_calls(rows, calls, sites)
    causes = causes_at_sites(costs)
    return Arrivals(
        rows,
        calls,
        with_late_ranks(sites, site_name, causes, rows),
        causes,
        late_ranks_of(costs, rows, sites, site_name),
        run,
        ranks,
        ranks - len(threads) + sum(threads.values()),
        {reason: int(count) for reason, count in zip(BEYOND, beyond, strict=True) if count},
        float(records.bound.max()) if len(records) else np.nan,
        notes=tuple(absent.values()),
    )


def with_late_ranks(estimates: Estimates, name: Texts, causes: SiteCauses, rows: Arrived) -> Sites:
    """Adds names, the rank that causes most waiting and, where none is known, the quickest rank to call sites."""
    sites, first = np.unique(causes.site, return_index=True)
    last_rank, calls, wait = np.full(len(estimates), -1), np.zeros(len(estimates)), np.zeros(len(estimates))
    last_rank[sites], calls[sites], wait[sites] = causes.rank[first], causes.calls[first], causes.wait[first]
    quickest = quickest_ranks(rows, np.flatnonzero(last_rank < 0))
    none = (-1, np.nan, np.nan)
    quick = np.array([quickest.get(site, none) for site in range(len(estimates))], dtype=float).reshape(-1, 3)
    return estimates.extended(
        Sites,
        name=name,
        last_rank=last_rank,
        last_share=ratio(calls, estimates.calls, 0.0).clip(max=1.0),
        last_wait=ratio(wait, estimates.wait, 0.0).clip(max=1.0),
        quick_rank=quick[:, 0].astype(np.int64),
        quick_time=quick[:, 1],
        quick_others=quick[:, 2],
    )


def summarize_phases(phases: Phases, sites: Sites, causes: SiteCauses) -> PhaseTimes:
    """Adds up the call sites of each phase."""
    rows = []
    for path in dict.fromkeys(phases.phase.tolist()):
        phase_rows, within = phases[phases.phase == path], in_phase(sites.phase, path)
        caused = causes[within[causes.site]]
        by_rank = pd.Series(caused.wait).groupby(caused.rank).sum()
        phase_sites = sites[within]
        wait = float(phase_sites.wait.sum())
        known = wait > 0 and len(by_rank) > 0
        rows.append(
            {
                "phase": path,
                "ranks": len(set(phase_rows.rank.tolist())),
                "begins": int(phase_rows.begins.sum()),
                "seconds": float(phase_rows.time.sum()),
                "calls": int(phase_sites.calls.sum()),
                "time": float(phase_sites.time.sum()),
                "wait": wait,
                "wait_error": float(phase_sites.wait_error.sum()),
                "wait_sampling": float(phase_sites.wait_sampling.sum()),
                "last_rank": int(by_rank.index[int(by_rank.argmax())]) if known else -1,
                "last_wait": float(by_rank.max() / wait) if known else 0.0,
            }
        )
    return PhaseTimes.of_rows(rows)


def of_phase(arrivals: Arrivals, name: str) -> Arrivals:
    """Selects the arrivals in a phase and in the phases within it; shares are relative to the phase's time.

    Args:
        arrivals: of the whole run.
        name: name of the phase at any depth, or a path `outer > inner`.

    Raises:
        UsageError: there is no such phase.
    """
    known = arrivals.phases.phase.tolist()
    chosen = [path for path in known if f"{SEPARATOR}{name}{SEPARATOR}" in f"{SEPARATOR}{path}{SEPARATOR}"]
    if not chosen:
        names = ", ".join(f"'{path}'" for path in known) or 'none; a program names them by MPI_Pcontrol(1, "name")'
        raise UsageError(f"the trace has no phase '{name}'; phases: {names}")
    phases = arrivals.phases[np.isin(known, chosen)]
    outermost = [path.rpartition(SEPARATOR)[0] not in chosen for path in phases.phase]
    run = float(phases.seconds[outermost].sum()) / arrivals.ranks
    in_chosen = np.array([path in chosen for path in arrivals.sites.phase], dtype=bool)
    kept = in_chosen[arrivals.calls.site]
    number, call = np.cumsum(in_chosen) - 1, np.cumsum(kept) - 1  # new indexes of sites and calls
    sites = arrivals.sites[in_chosen]
    share = sites.time / (run * arrivals.ranks) if run > 0 else np.full(len(sites), np.nan)
    rows, calls = arrivals.rows[in_chosen[arrivals.rows.site]], arrivals.calls[kept]
    rows, calls = rows.replaced(site=number[rows.site], call=call[rows.call]), calls.replaced(site=number[calls.site])
    costs = costs_of_calls(rows, calls, sites)
    return replace(
        arrivals,
        sites=sites.replaced(share=share),
        causes=causes_at_sites(costs),
        late_ranks=late_ranks_of(costs, rows, sites, sites.name),
        rows=rows,
        calls=calls,
        run=run,
        phase=name,
        phases=phases,
        by_rank=arrivals.by_rank[:0],
        kinds=arrivals.kinds[:0],
    )


MIN_READY_SHARE = 0.01  # share of the run; a shorter mean wait for a processor is not mentioned


def shared_processors(processes: Processes, run: float) -> list[Fact]:
    """Reports hosts with more ranks than processors, and ranks that waited for a processor."""
    facts: list[Fact] = []
    for host in dict.fromkeys(processes.host.tolist()):
        on_host = processes[processes.host == host]
        if len(on_host) > (processors := int(on_host.processors.max())):
            facts.append(SharedProcessors(host, len(on_host), processors))
    ready = pd.Series(processes.ready)
    if run > 0 and ready.mean() >= MIN_READY_SHARE * run:
        longest = int(ready.argmax())
        facts.append(WaitedForProcessor(float(ready.mean()), int(processes.rank[longest]), float(ready[longest])))
    return facts


def notes_on(recording: Recording, arrivals: Arrivals) -> list[Fact]:
    """Reports absent modules, problems with phases, the error of a sample, and calls that had no room."""
    rows, profile = arrivals.rows, recording.profile
    mixed = mixed_calls(rows.phase, rows.rank, call_begins(rows.call))
    facts: list[Fact] = [*arrivals.notes, *phase_problems(recording.sections), *mixed]
    sites = arrivals.sites[arrivals.sites.sampled > 0]
    if recording.sampled:
        errors = np.where(sites.share >= MENTIONED, sites.wait_sampling / sites.time, 0.0)
        error = known(errors.max()) if len(sites) else None
        facts.append(SampledCalls(int(sites.sampled.sum()), int(arrivals.sites.calls.sum()), error, MENTIONED))
    facts += full_recordings(recording.sections)
    unplaced = profile[profile.module == NOT_KNOWN]
    if count := unplaced.calls.sum():
        facts.append(CallsWithoutSite(int(count), float((unplaced.call_time + unplaced.wait_time).sum())))
    return facts
