"""The sentences on late ranks, and what operations take from a common start."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.comparison.summaries import plain_cells
from downbeat.run.experiment import open_experiment
from downbeat.text import MICROSECONDS, counted
from downbeat.trace.arrivals import BEYOND, MENTIONED, Arrivals, percent_text
from downbeat.trace.balance import least_in_messages
from downbeat.trace.calls import LATER, UNPLACED, mpi_name
from downbeat.tune.sweep import HARMONIZE

MOST_SENTENCES = 3
OFTEN = 0.25  # part of the waiting at a call site, from which the rank that causes it is named
LEAST_NAMED = 0.1  # part of all waiting, likewise
STANDS_OUT = 1.5  # times what each rank would cause if all caused the same
MOST_OF = 0.5  # of a delay: what explains less is not its reason


def wait_share(site: pd.Series) -> tuple[float, float, float]:
    """Returns which share of the time at a site is waiting for late ranks, with its least and its largest value."""
    time = float(site["time"])
    if time <= 0:
        return 0.0, 0.0, 0.0
    share, error = float(site["wait"]) / time, (float(site["wait_error"]) + float(site["wait_sampling"])) / time
    return share, max(0.0, share - error), min(1.0, share + error)


def share_text(site: pd.Series) -> str:
    """Returns the share of waiting, with its limits where they differ from it."""
    share, low, high = wait_share(site)
    limits = f" ({100 * low:.0f} to {100 * high:.0f} %)" if high - low > 0.01 else ""
    return f"{percent_text(share)}{limits}"


def site_sentence(site: pd.Series, run: str) -> str:
    """Returns the sentence on a call site.

    Args:
        site: a row of `Arrivals.sites`.
        run: what shares are of.
    """
    where = (
        f"{percent_text(site['share'])} of {run} is in {mpi_name(site['operation'], site['kind'])} at {site['name']}"
    )
    where += f" in phase '{site['phase']}'" if site["phase"] else ""
    if site["kind"] in LATER:
        where += " and in waiting for it"
        where += f", {site['overlap'] * MICROSECONDS:.4g} us later" if site["sampled"] else ""
    if not site["sampled"]:
        return f"{where}; these are calls {BEYOND[site['beyond']]}, so who is late cannot be told"
    if site["apart"] == 0.0:
        within = f"its ranks come within what these clocks can tell apart, {short_time(site['bound'])}"
        return f"{where}; {within}: who is late cannot be told{quick_text(site)}"
    share = wait_share(site)[0]
    text = f"{where}; {share_text(site)} of that is waiting for late ranks, {percent_text(1 - share)} is the operation"
    if site["last_rank"] >= 0 and site["last_wait"] >= OFTEN:
        text += f"; rank {site['last_rank']:.0f} causes {percent_text(site['last_wait'])} of the waiting"
        text += f", in {percent_text(site['last_share'])} of the calls"
    return text if site["last_rank"] >= 0 else f"{text}{quick_text(site)}"


def quick_text(site: pd.Series) -> str:
    """Returns who comes last by the time in the calls, which needs no clock of others; empty if nobody stands out."""
    if site["quick_rank"] < 0:
        return ""
    times = f"{short_time(site['quick_time'])} in each call, the others {short_time(site['quick_others'])}"
    return f"; rank {site['quick_rank']:.0f} spends {times}: so it comes last, if they leave together"


def short_time(seconds: float) -> str:
    """Returns a time with three digits, in the unit that makes it shortest."""
    unit, factor = next((one for one in (("s", 1.0), ("ms", 1e3), ("us", 1e6)) if seconds * one[1] >= 1), ("ns", 1e9))
    return f"{seconds * factor:.3g} {unit}" if seconds * factor < 999.5 else f"{seconds * factor:.0f} {unit}"


def waiting_sentences(found: Arrivals) -> list[str]:
    """Returns what waiting costs, whom it is for, and where that rank was before; none if no wait can be told."""
    if not (found.sites["apart"].fillna(0.0) > 0).any():
        return []
    waited = float(found.sites["wait"].sum()) / found.ranks
    part = percent_text(waited / found.run)
    if waited < MENTIONED * found.run:
        return [f"waiting for late ranks is {part} of {share_of(found)}: balance would save next to nothing"]
    named = found.late_ranks
    named = named.assign(part=named["wait"] / found.sites["wait"].sum())
    stands_out = bool((named["part"] >= max(LEAST_NAMED, STANDS_OUT / found.ranks)).any())
    large = named[stands_out & (named["part"] >= LEAST_NAMED)].head(MOST_SENTENCES)
    said = []
    for place, (_, one) in enumerate(large.iterrows()):
        what = " of the waiting for late ranks" if place == 0 else ""
        calls = f"{counted(max(1, round(one['costly'])), 'call')}, {short_time(one['late'])} each"
        said.append(f"rank {one['rank']:.0f} causes {percent_text(one['part'])}{what}: {calls}")
    if not said and len(named):
        most = f"rank {named['rank'].iloc[0]} causes most of the waiting, {percent_text(named['part'].iloc[0])}"
        said.append(f"no rank stands out as late: {most}")
    if (untold := 1.0 - float(named["part"].sum())) >= LEAST_NAMED:
        said.append(f"for whom ranks wait in {percent_text(untold)} of it is within the error of the clocks")
    said.append(f"balance would save up to {short_time(waited)} of {short_time(found.run)}, {part}")
    text = "; ".join(said)
    return [text, *filter(None, (where_sentence(one) for _, one in large.iterrows()))]


def where_sentence(late: pd.Series) -> str:
    """Returns where a late rank was before, and how much longer than the others; empty if that is not known."""
    if pd.isna(late["takes"]):
        return ""
    between = f"between {late['before']} and {late['after']}"
    if late["before"] == late["after"]:
        between = f"from one {late['before']} to the next"
    times = f"{short_time(late['takes'])}, the others {short_time(late['others'])}"
    more = late["takes"] - late["others"]
    if more >= MOST_OF * late["late"]:
        said = f"{between} rank {late['rank']} takes {times}"
        inside = late["inside"] - late["inside_others"]
        if inside >= MOST_OF * more:
            said += (
                f"; {short_time(inside)} of the difference is in point-to-point and other MPI calls, where it may have "
                "waited for another rank itself"
            )
        elif late["inside_others"] >= MOST_OF * late["others"]:
            said += f", {short_time(late['inside'])} and {short_time(late['inside_others'])} of it in other MPI calls"
        return said
    if late["left"] >= MOST_OF * late["late"]:
        return (
            f"{between} rank {late['rank']} takes {times}, so it was late before: it left the first of them "
            f"{short_time(late['left'])} after the others"
        )
    return ""


def share_of(found: Arrivals) -> str:
    """Returns what `share` is of."""
    return f"phase '{found.phase}'" if found.phase else "the run"


def site_sentences(found: Arrivals) -> list[str]:
    """Returns a sentence on each of the call sites with most time, and one on the others."""
    run = share_of(found)
    sites = [site for _, site in found.sites.iterrows()]
    large = [site for site in sites if site["share"] >= MENTIONED][:MOST_SENTENCES] or sites[:1]
    said = [site_sentence(site, run) for site in large]
    others = sites[len(large) :]
    if others:
        rest = sum(float(site["share"]) for site in others)
        said.append(f"{counted(len(others), 'other call site')}: {percent_text(rest)} of {run} together")
    return said


def message_sentences(found: Arrivals) -> list[str]:
    """Returns a sentence on point-to-point messages; none if they are next to nothing."""
    least = least_in_messages(found.by_rank, found.kinds)
    if least is None:
        return []
    share = float(found.by_rank["point_to_point"].mean()) / found.run
    if share < MENTIONED:
        return []
    text = f"{percent_text(share)} of the run is in point-to-point messages"
    if least.why_not:
        return [f"{text}; whom ranks wait for in them cannot be told: {least.why_not}"]
    times = f"{short_time(least.time)} in them, the others {short_time(least.others)}, with as many calls"
    return [f"{text}; rank {least.rank} spends least, {times}: the others wait for it, if they need its messages"]


def arrival_sentences(found: Arrivals) -> list[str]:
    """Returns the sentences, the most important one first."""
    if found.sites.empty:
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
    """Returns a sentence on each of the phases with most waiting, outer ones first."""
    if found.phase or found.phases.empty:
        return []
    phases = found.phases
    large = phases[phases["wait"] >= MENTIONED * found.run * found.ranks].nlargest(MOST_SENTENCES, "wait")
    return [
        f"phase '{one['phase']}' is {percent_text(one['seconds'] / (found.run * found.ranks))} of the run, "
        f"{percent_text(one['time'] / one['seconds'])} of it in collectives; {share_text(one)} of that is "
        f"waiting for late ranks, {percent_text(one['last_wait'])} of it for rank {one['last_rank']}"
        for _, one in large.sort_index().iterrows()
        if one["last_rank"] >= 0
    ]


# Reductions, whose sizes are whole elements of what downbeat-bench reduces by default: 4 bytes.
REDUCTIONS = ("allreduce", "exscan", "reduce", "reduce_scatter", "reduce_scatter_block", "scan")
ELEMENT = 4
LARGEST = 2**31 - 1  # bytes of all ranks together, which a count can hold
BASELINE_METRIC = "after_last_entry_median"
FACTOR = 2.0  # sizes that differ by more are other cells


def with_baseline(found: Arrivals, path: Path) -> pd.Series:
    """Returns for each call site what its operation takes from a common start, in s; NaN where nothing fits.

    A cell fits if operation and number of ranks are the same, and the size is the nearest of those within a factor of
    two. Several launches give the median.

    Args:
        found: the call sites.
        path: directory or file of `downbeat run`.

    Raises:
        UsageError: nothing of the kind is there.
    """
    cells = plain_cells(open_experiment(path))
    cells = cells[cells["synchronizer"] == HARMONIZE]
    return pd.Series([nearest(cells, site) for _, site in found.sites.iterrows()], index=found.sites.index, dtype=float)


def nearest(cells: pd.DataFrame, site: pd.Series) -> float:
    """Returns the time of the cells that are nearest to a call site."""
    same = cells[(cells["operation"] == site["operation"]) & (cells["ranks"] == site["size"])]
    if site["kind"] in LATER or same.empty:
        return np.nan
    size = 0 if pd.isna(site["bytes"]) else whole_elements(float(site["bytes"]))
    apart = (np.log2(same["size"].clip(lower=1)) - np.log2(max(1, size))).abs()
    if apart.min() > np.log2(FACTOR):
        return np.nan
    return float(same[apart == apart.min()][BASELINE_METRIC].median())


def whole_elements(size: float) -> int:
    """Returns the least size, bytes, from a size on that every operation can take."""
    return ELEMENT * -(-int(size) // ELEMENT)


def baseline_command(found: Arrivals) -> str:
    """Returns the command that measures the baseline of all call sites on as many ranks; empty if there are none.

    All operations are measured with all sizes, so these are such as each of them can take.
    """
    sites = found.sites[~found.sites["kind"].isin(LATER) & (found.sites["beyond"] == 0) & (found.sites["size"] > 1)]
    sites = sites[sites["operation"].astype(str) != UNPLACED]
    if sites.empty:
        return ""
    operations = list(dict.fromkeys(map(str, sites["operation"])))
    ranks = sorted({int(size) for size in sites["size"]})
    sizes = {max(1, int(size)) for size in sites["bytes"].dropna() if size > 0}
    if not set(operations).isdisjoint(REDUCTIONS):
        sizes = set(map(whole_elements, sizes))
    sizes = {size for size in sizes if size <= LARGEST // max(ranks)}
    words = ["downbeat", "run", *operations, "--sync", "harmonize"]
    words += ["--sizes", ",".join(map(str, sorted(sizes)))] if sizes else []
    words += ["-n", ",".join(map(str, ranks)), "-o", "baseline"]
    return shlex.join(words)
