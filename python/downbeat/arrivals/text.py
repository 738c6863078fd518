"""The output of `downbeat arrivals`: the verdict, the table, what was left out; and the same for programs."""

from __future__ import annotations

import json
import textwrap

import numpy as np
import pandas as pd

from downbeat.arrivals.table import QUANTILES, Arrivals
from downbeat.arrivals.verdict import mpi_name, percent, verdict, wait_share
from downbeat.units import MICROSECONDS

WIDTH = 80
MOST_SITES = 12  # in the table; JSON has all
SCHEMA_VERSION = 1
PLAIN_FROM = 1000.0  # us; longer times need no decimals


def render(found: Arrivals, baseline: pd.Series | None, command: str) -> str:
    """Returns what is printed.

    Args:
        found: what was found.
        baseline: of each site, s; None: none was given.
        command: that would measure a baseline; empty: none.
    """
    lines = [line for sentence in verdict(found) for line in textwrap.wrap(sentence, WIDTH, subsequent_indent="  ")]
    if len(found.sites):
        lines += ["", *site_table(found, baseline)]
        lines += [
            "",
            f"run {found.run:.4g} s, {found.ranks} ranks; timestamps within {found.bound * MICROSECONDS:.3g} us",
        ]
    if found.not_whole:
        lines.append(f"left out: {found.not_whole} records of calls that some rank did not record whole")
    if baseline is None and command:
        lines += ["what the operations take from a common start:", f"  {command}", "  then add --baseline baseline"]
    return "\n".join(lines)


def site_table(found: Arrivals, baseline: pd.Series | None) -> list[str]:
    """Returns two lines per call site: what and where, and the numbers, times in us."""
    head = f"{'calls':>7}{'bytes':>9}{'run %':>7}{'wait %':>7}{'operation':>11}"
    head += f"{'baseline':>10}" if baseline is not None else ""
    head += f"{'spread p50':>12}{'p95':>9}{'p99':>8}"
    lines = [head]
    for place, (_, site) in enumerate(found.sites.head(MOST_SITES).iterrows()):
        where = f"{mpi_name(site['operation'], site['kind'])}, {site['size']:.0f} ranks, {site['name']}"
        if site["kind"] != "blocking":
            where += f", overlap {micro(site['overlap'])}"
        lines.append(textwrap.shorten(f"{place + 1} {where}", WIDTH, placeholder=" ..."))
        size = "-" if pd.isna(site["bytes"]) else f"{site['bytes']:.0f}"
        waits = f"{100 * wait_share(site)[0]:.1f}"
        row = f"{site['calls']:>7}{size:>9}{100 * site['share']:>7.1f}{waits:>7}{micro(site['after_last']):>11}"
        row += f"{micro(baseline.iloc[place]):>10}" if baseline is not None else ""
        row += "".join(f"{micro(site[name]):>{width}}" for name, width in zip(QUANTILES, (12, 9, 8), strict=True))
        lines.append(row)
    if len(found.sites) > MOST_SITES:
        lines.append(f"{len(found.sites) - MOST_SITES} more call sites are in JSON (--json)")
    return lines


def micro(seconds: float) -> str:
    """Returns a time in us; a dash if it is not known."""
    if pd.isna(seconds):
        return "-"
    number = seconds * MICROSECONDS
    return f"{number:.0f}" if number >= PLAIN_FROM else f"{number:.2f}"


def to_json(found: Arrivals, baseline: pd.Series | None) -> str:
    """Returns what was found, as JSON; times in s, null where nothing is known."""
    sites = found.sites.assign(baseline=baseline if baseline is not None else np.nan)
    content = {
        "schema_version": SCHEMA_VERSION,
        "verdict": verdict(found),
        "run": found.run,
        "ranks": found.ranks,
        "bound": found.bound,
        "records_left_out": found.not_whole,
        "sites": json.loads(sites.to_json(orient="records", double_precision=15)),
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def sites_for_page(found: Arrivals, baseline: pd.Series | None) -> pd.DataFrame:
    """Returns the table of the page: a row per call site, times in us."""
    sites = found.sites
    frame = pd.DataFrame(
        {
            "call": [mpi_name(a, b) for a, b in zip(sites["operation"], sites["kind"], strict=True)],
            "place": sites["name"],
            "ranks": sites["size"].astype(int),
            "bytes": sites["bytes"],
            "calls": sites["calls"],
            "run_percent": 100 * sites["share"],
            "wait_percent": [100 * wait_share(site)[0] for _, site in sites.iterrows()],
            "last": [
                f"rank {site['last_rank']}, {percent(site['last_share'])}" if site["last_rank"] >= 0 else "-"
                for _, site in sites.iterrows()
            ],
            **({"overlap_us": sites["overlap"] * MICROSECONDS} if sites["overlap"].notna().any() else {}),
            "operation_us": sites["after_last"] * MICROSECONDS,
            **{f"{name}_us": sites[name] * MICROSECONDS for name in QUANTILES},
            "bound_us": sites["bound"] * MICROSECONDS,
        }
    )
    if baseline is not None:
        names = list(frame.columns)
        frame.insert(names.index("operation_us") + 1, "baseline_us", baseline * MICROSECONDS)
    return frame
