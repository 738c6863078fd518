"""The sentences on late ranks, and what operations take from a common start."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np

from downbeat.comparison.summaries import plain_cells
from downbeat.data.collectives import REDUCTIONS
from downbeat.run.experiment import open_experiment
from downbeat.tables import Floats
from downbeat.text import MICROSECONDS, counted
from downbeat.trace.arrivals import BEYOND, MENTIONED, Arrivals, PhaseTimes, Sites, percent_text
from downbeat.trace.balance import least_in_messages
from downbeat.trace.calls import LATER, mpi_name
from downbeat.trace.causes import LateRanks, ratio
from downbeat.trace.profile import UNPLACED
from downbeat.tune.sweep import HARMONIZE

MOST_SENTENCES = 3
OFTEN = 0.25  # part of the waiting at a call site, from which the rank that causes it is named
LEAST_NAMED = 0.1  # part of all waiting, likewise
STANDS_OUT = 1.5  # times what each rank would cause if all caused the same
MOST_OF = 0.5  # of a delay: what explains less is not its reason


def wait_shares(sites: Sites | PhaseTimes) -> tuple[Floats, Floats, Floats]:
    """The share of waiting for late ranks in the time at each site, with its least and its largest value."""
    share, error = (ratio(part, sites.time, 0.0) for part in (sites.wait, sites.wait_error + sites.wait_sampling))
    known = sites.time > 0
    return share, np.maximum(0.0, share - error), np.where(known, np.minimum(1.0, share + error), 0.0)


def share_text(sites: Sites | PhaseTimes, at: int) -> str:
    """The share of waiting at a site, with its limits where they differ from it."""
    share, low, high = (float(each[at]) for each in wait_shares(sites))
    limits = f" ({100 * low:.0f} to {100 * high:.0f} %)" if high - low > 0.01 else ""
    return f"{percent_text(share)}{limits}"


def site_sentence(sites: Sites, at: int, run: str) -> str:
    """The sentence on a call site.

    Args:
        sites: of the run.
        at: index of the site.
        run: what shares are of.
    """
    where = f"{percent_text(sites.share[at])} of {run} is in {mpi_name(sites.operation[at], sites.kind[at])}"
    where += f" at {sites.name[at]}"
    where += f" in phase '{sites.phase[at]}'" if sites.phase[at] else ""
    if sites.kind[at] in LATER:
        where += " and in waiting for it"
        where += f", {sites.overlap[at] * MICROSECONDS:.4g} us later" if sites.sampled[at] else ""
    if not sites.sampled[at]:
        return f"{where}; these are calls {BEYOND[sites.beyond[at]]}, so who is late cannot be told"
    if sites.apart[at] == 0.0:
        within = f"its ranks come within what these clocks can tell apart, {short_time(sites.bound[at])}"
        return f"{where}; {within}: who is late cannot be told{quick_text(sites, at)}"
    operation = percent_text(1 - float(wait_shares(sites)[0][at]))
    text = f"{where}; {share_text(sites, at)} of that is waiting for late ranks, {operation} is the operation"
    if sites.last_rank[at] < 0:
        return f"{text}{quick_text(sites, at)}"
    if sites.last_wait[at] >= OFTEN:
        text += f"; rank {sites.last_rank[at]} causes {percent_text(sites.last_wait[at])} of the waiting"
        text += f", in {percent_text(sites.last_share[at])} of the calls"
    return text


def quick_text(sites: Sites, at: int) -> str:
    """The rank that comes last by the time in the calls, which needs no clock of others; empty if none stands out."""
    if sites.quick_rank[at] < 0:
        return ""
    times = f"{short_time(sites.quick_time[at])} in each call, the others {short_time(sites.quick_others[at])}"
    return f"; rank {sites.quick_rank[at]} spends {times}: so it comes last, if they leave together"


def short_time(seconds: float) -> str:
    """A time with three digits, in the unit that makes it shortest."""
    units = (("s", 1.0), ("ms", 1e3), ("us", 1e6))
    unit, factor = next((each for each in units if seconds * each[1] >= 1), ("ns", 1e9))
    return f"{seconds * factor:.3g} {unit}" if seconds * factor < 999.5 else f"{seconds * factor:.0f} {unit}"


def waiting_sentences(found: Arrivals) -> list[str]:
    """The cost of waiting, the ranks that cause it, and where these were before; none if no wait is known."""
    sites, late = found.sites, found.late_ranks
    if not (sites.apart > 0).any():
        return []
    waited = float(sites.wait.sum()) / found.ranks
    of_run = percent_text(waited / found.run)
    if waited < MENTIONED * found.run:
        return [f"waiting for late ranks is {of_run} of {share_of(found)}: balance would save next to nothing"]
    shares = late.wait / sites.wait.sum()
    stands_out = bool((shares >= max(LEAST_NAMED, STANDS_OUT / found.ranks)).any())
    named = np.flatnonzero(stands_out & (shares >= LEAST_NAMED))[:MOST_SENTENCES].tolist()
    phrases: list[str] = []
    for at in named:
        what = "" if phrases else " of the waiting for late ranks"
        calls = f"{counted(max(1, round(late.costly[at])), 'call')}, {short_time(late.late[at])} each"
        phrases.append(f"rank {late.rank[at]} causes {percent_text(shares[at])}{what}: {calls}")
    if not phrases and len(late):
        most = f"rank {late.rank[0]} causes most of the waiting, {percent_text(shares[0])}"
        phrases.append(f"no rank stands out as late: {most}")
    if (unknown := 1.0 - float(shares.sum())) >= LEAST_NAMED:
        phrases.append(f"for whom ranks wait in {percent_text(unknown)} of it is within the error of the clocks")
    phrases.append(f"balance would save up to {short_time(waited)} of {short_time(found.run)}, {of_run}")
    return ["; ".join(phrases), *filter(None, (where_sentence(late, at) for at in named))]


def where_sentence(late: LateRanks, at: int) -> str:
    """Where a late rank was before, and how much longer than the others; empty if that is not known."""
    takes, others, delay, rank = late.takes[at], late.others[at], late.late[at], late.rank[at]
    if np.isnan(takes):
        return ""
    between = f"between {late.before[at]} and {late.after[at]}"
    if late.before[at] == late.after[at]:
        between = f"from one {late.before[at]} to the next"
    sentence = f"{between} rank {rank} takes {short_time(takes)}, the others {short_time(others)}"
    if takes - others >= MOST_OF * delay:
        inside, inside_others = late.inside[at], late.inside_others[at]
        if inside - inside_others >= MOST_OF * (takes - others):
            more = short_time(inside - inside_others)
            return (
                f"{sentence}; {more} of the difference is in point-to-point and other MPI calls, where it may have "
                "waited for another rank itself"
            )
        if inside_others >= MOST_OF * others:
            return f"{sentence}, {short_time(inside)} and {short_time(inside_others)} of it in other MPI calls"
        return sentence
    if late.left[at] >= MOST_OF * delay:
        left = short_time(late.left[at])
        return f"{sentence}, so it was late before: it left the first of them {left} after the others"
    return ""


def share_of(found: Arrivals) -> str:
    """What `share` is of."""
    return f"phase '{found.phase}'" if found.phase else "the run"


def site_sentences(found: Arrivals) -> list[str]:
    """A sentence on each of the call sites with most time, and one on the others."""
    run, sites = share_of(found), found.sites
    large = np.flatnonzero(sites.share >= MENTIONED)[:MOST_SENTENCES].tolist() or [*range(len(sites))][:1]
    sentences = [site_sentence(sites, at, run) for at in large]
    others = sites.share[len(large) :]
    if len(others):
        share = percent_text(sum(others.tolist()))
        sentences.append(f"{counted(len(others), 'other call site')}: {share} of {run} together")
    return sentences


def message_sentences(found: Arrivals) -> list[str]:
    """A sentence on point-to-point messages; none if they are next to nothing."""
    least = least_in_messages(found.by_rank, found.kinds)
    if least is None:
        return []
    share = float(found.by_rank.point_to_point.mean()) / found.run
    if share < MENTIONED:
        return []
    text = f"{percent_text(share)} of the run is in point-to-point messages"
    if least.why_not:
        return [f"{text}; whom ranks wait for in them cannot be told: {least.why_not}"]
    times = f"{short_time(least.time)} in them, the others {short_time(least.others)}, with as many calls"
    return [f"{text}; rank {least.rank} spends least, {times}: the others wait for it, if they need its messages"]


def arrival_sentences(found: Arrivals) -> list[str]:
    """All sentences, the most important one first."""
    if not len(found.sites):
        nothing = "no collective was recorded on all of its ranks: there is nothing to say about arrivals"
        return [*found.warnings, *message_sentences(found), nothing]
    return [
        *found.warnings,
        *waiting_sentences(found),
        *site_sentences(found),
        *message_sentences(found),
        *phase_sentences(found),
    ]


def phase_sentences(found: Arrivals) -> list[str]:
    """A sentence on each of the phases with most waiting, outer ones first."""
    phases, available = found.phases, found.run * found.ranks
    if found.phase:
        return []
    large = np.flatnonzero(phases.wait >= MENTIONED * available)
    large = np.sort(large[np.argsort(-phases.wait[large], kind="stable")][:MOST_SENTENCES])
    return [
        f"phase '{phases.phase[at]}' is {percent_text(phases.seconds[at] / available)} of the run, "
        f"{percent_text(phases.time[at] / phases.seconds[at])} of it in collectives; {share_text(phases, at)} of that "
        f"is waiting for late ranks, {percent_text(phases.last_wait[at])} of it for rank {phases.last_rank[at]}"
        for at in large.tolist()
        if phases.last_rank[at] >= 0
    ]


ELEMENT = 4  # bytes, of what reductions of downbeat-bench reduce by default: their sizes are whole elements
LARGEST = 2**31 - 1  # bytes of all ranks together, which a count can hold
BASELINE_METRIC = "after_last_entry_median"
FACTOR = 2.0  # sizes that differ by more are other cells


def baselines(sites: Sites, path: Path) -> Floats:
    """The time of each site's operation from a common start, s; NaN where nothing fits.

    A cell fits if operation and number of ranks are the same, and the size is the nearest of those within a factor of
    two. Several launches give the median.

    Args:
        sites: of a recording.
        path: directory or file of `downbeat run`.

    Raises:
        UsageError: nothing of the kind is there.
    """
    cells = plain_cells(open_experiment(path))
    cells = cells[cells.synchronizer == HARMONIZE]
    times = np.full(len(sites), np.nan)
    for at in range(len(sites)):
        same = cells[(cells.operation == sites.operation[at]) & (cells.ranks == sites.size[at])]
        if sites.kind[at] in LATER or same.empty:
            continue
        size = 0 if np.isnan(sites.bytes[at]) else whole_elements(float(sites.bytes[at]))
        apart = (np.log2(same["size"].clip(lower=1)) - np.log2(max(1, size))).abs()
        if apart.min() <= np.log2(FACTOR):
            times[at] = same[apart == apart.min()][BASELINE_METRIC].median()
    return times


def whole_elements(size: float) -> int:
    """The least size, bytes, from a size on that every operation can take."""
    return ELEMENT * -(-int(size) // ELEMENT)


def baseline_command(found: Arrivals) -> str:
    """The command that measures the baseline of all call sites on as many ranks; empty if there are none.

    All operations are measured with all sizes, so these are such as each of them can take.
    """
    sites = found.sites
    usable = ~np.isin(sites.kind.astype(str), LATER) & (sites.beyond == 0) & (sites.size > 1)
    sites = sites[usable & (sites.operation != UNPLACED)]
    if not len(sites):
        return ""
    operations = list(dict.fromkeys(sites.operation))
    ranks = sorted(set(sites.size.astype(int).tolist()))
    sizes = {max(1, int(size)) for size in sites.bytes if size > 0}
    if not set(operations).isdisjoint(REDUCTIONS):
        sizes = set(map(whole_elements, sizes))
    sizes = {size for size in sizes if size <= LARGEST // max(ranks)}
    words = ["downbeat", "run", *operations, "--sync", "harmonize"]
    words += ["--sizes", ",".join(map(str, sorted(sizes)))] if sizes else []
    words += ["-n", ",".join(map(str, ranks)), "-o", "baseline"]
    return shlex.join(words)
