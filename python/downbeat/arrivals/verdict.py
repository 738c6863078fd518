"""The result in sentences that an application's owner understands."""

from __future__ import annotations

import pandas as pd

from downbeat.arrivals.table import Arrivals
from downbeat.units import MICROSECONDS

MENTIONED = 0.01  # share of the run from which a call site is mentioned
MOST_SENTENCES = 3
OFTEN = 0.25  # share of the calls in which a rank is last, from which it is named


def mpi_name(operation: str, kind: str) -> str:
    """Returns an operation as MPI calls it."""
    if kind == "persistent":
        return f"MPI_{operation.capitalize()}_init"
    return f"MPI_I{operation}" if kind == "nonblocking" else f"MPI_{operation.capitalize()}"


def percent(share: float) -> str:
    """Returns a share in percent, without digits that say nothing."""
    return f"{100 * share:.0f} %" if share >= 0.095 or share == 0 else f"{100 * share:.1f} %"


def wait_share(site: pd.Series) -> tuple[float, float, float]:
    """Returns which share of the time at a site is waiting for late ranks, with its least and its largest value."""
    time = float(site["time"])
    if time <= 0:
        return 0.0, 0.0, 0.0
    share, error = float(site["wait"]) / time, float(site["wait_error"]) / time
    return share, max(0.0, share - error), min(1.0, share + error)


def share_text(site: pd.Series) -> str:
    """Returns the share of waiting, with its limits where they differ from it."""
    share, low, high = wait_share(site)
    limits = f" ({100 * low:.0f} to {100 * high:.0f} %)" if high - low > 0.01 else ""
    return f"{percent(share)}{limits}"


def site_sentence(site: pd.Series) -> str:
    """Returns what is to be said of a call site."""
    where = f"{percent(site['share'])} of the run is in {mpi_name(site['operation'], site['kind'])} at {site['name']}"
    if site["kind"] != "blocking":
        where += f" and in waiting for it, {site['overlap'] * MICROSECONDS:.4g} us later"
    if site["apart"] == 0.0:
        bound = site["bound"] * MICROSECONDS
        return f"{where}; its ranks arrive together as far as these clocks can show, within {bound:.3g} us"
    share = wait_share(site)[0]
    text = f"{where}; {share_text(site)} of that is waiting for late ranks, {percent(1 - share)} is the operation"
    if site["last_rank"] >= 0 and site["last_share"] >= OFTEN and share > 0:
        text += f"; rank {site['last_rank']:.0f} is last in {percent(site['last_share'])} of the calls"
    return text


def verdict(found: Arrivals) -> list[str]:
    """Returns the sentences, the most important one first."""
    if found.sites.empty:
        return ["no collective was recorded on all of its ranks: there is nothing to say about arrivals"]
    sites = [site for _, site in found.sites.iterrows()]
    large = [site for site in sites if site["share"] >= MENTIONED][:MOST_SENTENCES] or sites[:1]
    sentences = [site_sentence(site) for site in large]
    others = sites[len(large) :]
    if others:
        rest = sum(float(site["share"]) for site in others)
        plural = "s" if len(others) > 1 else ""
        sentences.append(f"{len(others)} other call site{plural}: {percent(rest)} of the run together")
    return sentences
