"""Selects the facts of `downbeat arrivals` from the tables of an analysis (`Arrivals`).

Facts are numbers; downbeat.output.words has their wording.
"""

from __future__ import annotations

import numpy as np

from downbeat.output.facts import Fact, known
from downbeat.output.facts.trace import (
    LateBefore,
    LateRank,
    LittleWaiting,
    LongerBefore,
    OtherSites,
    QuickestRank,
    RunAndAccuracy,
    SiteNotAnalyzed,
    SiteNotResolved,
    SiteTime,
    SiteWaiting,
    TimeInMessages,
    WaitedBefore,
    WaitingForLateRanks,
    WaitingInMessages,
    WaitingInPhase,
)
from downbeat.tables import Floats
from downbeat.trace.arrivals import BEYOND, MENTIONED, Arrivals, PhaseTimes, Sites
from downbeat.trace.balance import least_in_messages
from downbeat.trace.calls import LATER, mpi_name
from downbeat.trace.causes import LateRanks, ratio

MAX_NAMED = 3  # ranks, call sites or phases that a text names
MIN_SITE_SHARE = 0.25  # share of the waiting at a call site; a rank that causes less is not named
MIN_RUN_SHARE = 0.1  # share of all waiting; a rank that causes less is not named
STANDS_OUT = 1.5  # a rank stands out if it causes this multiple of the mean over all ranks
MIN_EXPLAINED = 0.5  # share of a delay; a difference that explains less is not reported as the reason


def wait_shares(sites: Sites | PhaseTimes) -> tuple[Floats, Floats, Floats]:
    """Returns waiting for late ranks as a share of the time at each site, with the lower and upper end of its error."""
    share, error = (ratio(seconds, sites.time, 0.0) for seconds in (sites.wait, sites.wait_error + sites.wait_sampling))
    known = sites.time > 0
    return share, np.maximum(0.0, share - error), np.where(known, np.minimum(1.0, share + error), 0.0)


def waiting_verdict(arrivals: Arrivals, doubtful: frozenset[int] = frozenset()) -> Fact | None:
    """Returns the fact on the cost of waiting and the ranks that cause it; None: no wait is known.

    Args:
        arrivals: any.
        doubtful: ranks that may seem late only because their clock is off.
    """
    sites, run = arrivals.sites, arrivals.run
    if not (sites.apart > 0).any():
        return None
    waited = float(sites.wait.sum()) / arrivals.ranks
    if waited < MENTIONED * run:
        return LittleWaiting(waited / run if run > 0 else 0.0, arrivals.phase)
    causes = arrivals.late_ranks
    shares = causes.wait / sites.wait.sum()
    late = [
        LateRank(int(causes.rank[row]), float(shares[row]), max(1, round(causes.costly[row])), float(causes.late[row]))
        for row in named_ranks(arrivals)
    ]
    largest = (
        LateRank(int(causes.rank[0]), float(shares[0]), int(causes.calls[0]), float(causes.late[0]))
        if len(causes)
        else None
    )
    return WaitingForLateRanks(
        late=tuple(late),
        most=late[0] if late else largest,
        unassigned=1.0 - float(shares.sum()),
        waited_s=waited,
        run_s=run,
        doubtful=tuple(rank.rank for rank in late if rank.rank in doubtful),
    )


def named_ranks(arrivals: Arrivals) -> list[int]:
    """Returns the rows of late ranks that stand out, or that cause much waiting beside one that does.

    Empty if ranks wait little.
    """
    wait = float(arrivals.sites.wait.sum())
    if wait / arrivals.ranks < MENTIONED * arrivals.run:
        return []
    shares = ratio(arrivals.late_ranks.wait, np.full(len(arrivals.late_ranks), wait), 0.0)
    stands_out = bool((shares >= max(MIN_RUN_SHARE, STANDS_OUT / arrivals.ranks)).any())
    return [int(at) for at in np.flatnonzero(stands_out & (shares >= MIN_RUN_SHARE))[:MAX_NAMED]]


def ways_before(arrivals: Arrivals) -> list[Fact]:
    """Returns a fact for each late rank whose reason for being late is known: see `way_before`."""
    late = arrivals.late_ranks
    return [fact for fact in (way_before(late, at) for at in named_ranks(arrivals)) if fact]


def way_before(late: LateRanks, at: int) -> LongerBefore | None:
    """Explains why a late rank is late: it took longer since the previous collective, or left that late.

    Args:
        late: all late ranks.
        at: row of the late rank.

    Returns:
        WaitedBefore: the difference is mainly in other MPI calls. LongerBefore: it is outside of them, or not known.
        LateBefore: the rank left the previous collective late. None: not known, or none of these explains the delay.
    """
    takes, peer_takes, delay = late.takes[at], late.others[at], late.late[at]
    if np.isnan(takes):
        return None
    inside, inside_others = late.inside[at], late.inside_others[at]
    times = (  # the fields of LongerBefore, which the other two facts begin with
        int(late.rank[at]),
        late.before[at],
        late.after[at],
        float(takes),
        float(peer_takes),
        known(inside),
        known(inside_others),
    )
    longer = takes - peer_takes
    if longer >= MIN_EXPLAINED * delay:
        in_mpi = inside - inside_others >= MIN_EXPLAINED * longer
        return WaitedBefore(*times) if in_mpi else LongerBefore(*times)
    return LateBefore(*times, float(late.left[at])) if late.left[at] >= MIN_EXPLAINED * delay else None


def site_fact(sites: Sites, at: int, phase: str) -> SiteTime:
    """Returns the fact on the time at a call site, with the rank that causes waiting.

    Args:
        sites: of the run.
        at: index of the site.
        phase: path of the phase that shares refer to; "": the whole run.
    """
    later, sampled = sites.kind[at] in LATER, bool(sites.sampled[at])
    time = SiteTime(
        mpi_name(sites.operation[at], sites.kind[at]),
        sites.name[at],
        sites.phase[at],
        phase,
        float(sites.share[at]),
        known(sites.overlap[at]) if later and sampled else None,
        later,
    )
    shared = vars(time)
    if not sampled:
        return SiteNotAnalyzed(**shared, reason=BEYOND[sites.beyond[at]])
    quickest = None
    if sites.quick_rank[at] >= 0:
        quickest = QuickestRank(int(sites.quick_rank[at]), float(sites.quick_time[at]), float(sites.quick_others[at]))
    if sites.apart[at] == 0.0:
        return SiteNotResolved(**shared, error_s=float(sites.bound[at]), quickest=quickest)
    wait, low, high = (float(shares[at]) for shares in wait_shares(sites))
    named = sites.last_rank[at] >= 0 and sites.last_wait[at] >= MIN_SITE_SHARE
    return SiteWaiting(
        **shared,
        wait=wait,
        wait_low=low,
        wait_high=high,
        last_rank=int(sites.last_rank[at]) if named else -1,
        last_wait=float(sites.last_wait[at]),
        last_calls=float(sites.last_share[at]),
        quickest=quickest if sites.last_rank[at] < 0 else None,
    )


def site_facts(arrivals: Arrivals) -> list[Fact]:
    """Returns facts on the call sites with most time, and one fact on all other sites."""
    sites = arrivals.sites
    large = np.flatnonzero(sites.share >= MENTIONED)[:MAX_NAMED].tolist() or [*range(len(sites))][:1]
    facts: list[Fact] = [site_fact(sites, at, arrivals.phase) for at in large]
    other_shares = sites.share[len(large) :]
    if len(other_shares):
        facts.append(OtherSites(len(other_shares), float(other_shares.sum()), arrivals.phase))
    return facts


def message_facts(arrivals: Arrivals) -> list[Fact]:
    """Returns the fact on time in point-to-point messages; empty if the time is below MENTIONED."""
    least = least_in_messages(arrivals.by_rank, arrivals.kinds)
    if least is None:
        return []
    share = float(arrivals.by_rank.point_to_point.mean()) / arrivals.run
    if share < MENTIONED:
        return []
    if least.why_not:
        return [TimeInMessages(share, least.why_not)]
    return [WaitingInMessages(share, least.rank, least.time, least.other_time)]


def phase_facts(arrivals: Arrivals) -> list[Fact]:
    """Returns facts on the phases with most waiting, outer phases first; empty if `arrivals` are of a phase."""
    phases, available = arrivals.phases, arrivals.run * arrivals.ranks
    if arrivals.phase:
        return []
    large = np.flatnonzero(phases.wait >= MENTIONED * available)
    large = np.sort(large[np.argsort(-phases.wait[large], kind="stable")][:MAX_NAMED])
    wait, low, high = wait_shares(phases)
    return [
        WaitingInPhase(
            phase=phases.phase[at],
            share=float(phases.seconds[at] / available),
            collectives=float(phases.time[at] / phases.seconds[at]),
            wait=float(wait[at]),
            wait_low=float(low[at]),
            wait_high=float(high[at]),
            rank=int(phases.last_rank[at]),
            caused=float(phases.last_wait[at]),
        )
        for at in large.tolist()
        if phases.last_rank[at] >= 0
    ]


def run_fact(arrivals: Arrivals, standard_errors: int = 0, hard_bound: float = np.nan) -> RunAndAccuracy:
    """Returns the fact on the duration of the run and the error of times.

    Args:
        arrivals: `bound` is the error.
        standard_errors: number of standard errors in `bound`; 0: `bound` is a hard bound.
        hard_bound: the largest hard bound, s, if `bound` is not one.
    """
    error, hard = known(arrivals.bound), known(hard_bound if standard_errors else arrivals.bound)
    return RunAndAccuracy(arrivals.run, arrivals.ranks, arrivals.threads, arrivals.phase, error, standard_errors, hard)
