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
from downbeat.trace.calls import LATER, mpi_name
from downbeat.tune.sweep import HARMONIZE

MOST_SENTENCES = 3
OFTEN = 0.25  # share of the calls in which a rank is last, from which it is named
MUCH_MORE = 0.25  # of the waiting than of the calls


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
        bound = site["bound"] * MICROSECONDS
        return f"{where}; its ranks arrive together as far as these clocks can show, within {bound:.3g} us"
    share = wait_share(site)[0]
    text = f"{where}; {share_text(site)} of that is waiting for late ranks, {percent_text(1 - share)} is the operation"
    if site["last_rank"] >= 0 and max(site["last_share"], site["last_wait"]) >= OFTEN and share > 0:
        text += f"; rank {site['last_rank']:.0f} is last in {percent_text(site['last_share'])} of the calls"
        if site["last_wait"] > site["last_share"] + MUCH_MORE:
            text += f", with {percent_text(site['last_wait'])} of the waiting"
    return text


def share_of(found: Arrivals) -> str:
    """Returns what `share` is of."""
    whole = f"phase '{found.phase}'" if found.phase else "the run"
    return whole if found.threads == found.ranks else f"the time of {found.threads} threads"


def arrival_sentences(found: Arrivals) -> list[str]:
    """Returns the sentences, the most important one first."""
    if found.sites.empty:
        return [
            *found.warnings,
            "no collective was recorded on all of its ranks: there is nothing to say about arrivals",
        ]
    run = share_of(found)
    sites = [site for _, site in found.sites.iterrows()]
    large = [site for site in sites if site["share"] >= MENTIONED][:MOST_SENTENCES] or sites[:1]
    sentences = [*found.warnings, *(site_sentence(site, run) for site in large)]
    others = sites[len(large) :]
    if others:
        rest = sum(float(site["share"]) for site in others)
        sentences.append(f"{counted(len(others), 'other call site')}: {percent_text(rest)} of {run} together")
    return [*sentences, *phase_sentences(found)]


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
    size = 0.0 if pd.isna(site["bytes"]) else float(site["bytes"])
    apart = (np.log2(same["size"].clip(lower=1)) - np.log2(max(1.0, size))).abs()
    if apart.min() > np.log2(FACTOR):
        return np.nan
    return float(same[apart == apart.min()][BASELINE_METRIC].median())


def baseline_command(found: Arrivals) -> str:
    """Returns the command that measures the baseline of all call sites on as many ranks; empty if there are none."""
    sites = found.sites[~found.sites["kind"].isin(LATER) & (found.sites["beyond"] == 0)]
    if sites.empty:
        return ""
    ranks = sorted({int(size) for size in sites["size"] if size > 1})
    if not ranks:
        return ""
    sizes = sorted({max(1, int(size)) for size in sites["bytes"].dropna() if size > 0})
    words = ["downbeat", "run", *dict.fromkeys(map(str, sites["operation"])), "--sync", "harmonize"]
    words += ["--sizes", ",".join(map(str, sizes))] if sizes else []
    words += ["-n", ",".join(map(str, ranks)), "-o", "baseline"]
    return shlex.join(words)
