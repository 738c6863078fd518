"""The report of `downbeat arrivals`: text, a page and its pictures."""

from __future__ import annotations

import json
import textwrap

import numpy as np
import pandas as pd

from downbeat.report.page import Fact, Page, PageSection, Table
from downbeat.text import MICROSECONDS, counted
from downbeat.trace.arrivals import Arrivals, percent_text
from downbeat.trace.balance import bar_lines
from downbeat.trace.calls import LATER, mpi_name
from downbeat.trace.estimates import SPREAD_QUANTILES
from downbeat.trace.patterns import patterns_frame
from downbeat.trace.pictures import site_pictures, site_title, time_by_rank
from downbeat.trace.verdict import (
    arrival_sentences,
    message_sentences,
    phase_sentences,
    site_sentences,
    wait_share,
    waiting_sentences,
)

PAGE_WIDTH = 80
MOST_SITES = 12  # in the table; JSON has all
SCHEMA_VERSION = 1
PLAIN_FROM = 1000.0  # us; longer times need no decimals


def render_arrivals(found: Arrivals, baseline: pd.Series | None, command: str) -> str:
    """Returns what is printed.

    Args:
        found: what was found.
        baseline: of each site, s; None: none was given.
        command: that would measure a baseline; empty: none.
    """
    lines = [
        line
        for sentence in arrival_sentences(found)
        for line in textwrap.wrap(sentence, PAGE_WIDTH, subsequent_indent="  ")
    ]
    late = found.late_ranks["rank"].head(2).tolist()
    if bars := bar_lines(found.by_rank, found.kinds.empty, late, PAGE_WIDTH):
        lines += ["", *bars]
    if len(found.sites):
        lines += ["", *site_table(found, baseline), "", run_line(found)]
    if len(found.phases):
        lines += ["", *phase_table(found)]
    lines += left_out_lines(found)
    if found.threads != found.ranks:
        lines += textwrap.wrap(SHARES_OF_THREADS, PAGE_WIDTH, subsequent_indent="  ")
    lines += [line for note in found.notes for line in textwrap.wrap(note, PAGE_WIDTH, subsequent_indent="  ")]
    if len(found.kinds):
        lines += ["", *kinds_lines(found)]
    if baseline is None and command:
        lines += ["what the operations take from a common start:", f"  {command}", "  then add --baseline baseline"]
    return "\n".join(lines)


SHARES = "of the time of processes, the run of each rank"
SHARES_OF_THREADS = (
    f"shares are {SHARES}, whatever number of threads it has: a moment in which several of them are in collectives is "
    "divided among them, and counts as computing if none is in MPI"
)


def left_out_lines(found: Arrivals) -> list[str]:
    """Returns a line for each kind of calls that nothing can be said about."""
    return [f"left out: {number} records of calls {what}" for what, number in found.left_out.items()]


def run_line(found: Arrivals) -> str:
    """Returns how long the run took, on how many ranks, and how well its times are known."""
    within = f"timestamps within {found.bound * MICROSECONDS:.3g} us{found.bound_is}"
    within = within if found.bound >= 0 else "no timestamp is known"
    threads = f", {found.threads} threads" if found.threads != found.ranks else ""
    what = f"phase '{found.phase}', mean of ranks" if found.phase else "run"
    return f"{what} {found.run:.4g} s, {counted(found.ranks, 'rank')}{threads}; {within}"


def phases_frame(found: Arrivals) -> pd.DataFrame:
    """Returns a row per phase: how long, the share in collectives, the share of waiting, and the last rank."""
    phases = found.phases
    seconds = phases["seconds"].where(phases["seconds"] > 0)
    return pd.DataFrame(
        {
            "phase": phases["phase"],
            "ranks": phases["ranks"],
            "begins": phases["begins"],
            "seconds": phases["seconds"] / phases["ranks"].clip(lower=1),
            "calls": phases["calls"],
            "collectives_percent": 100 * phases["time"] / seconds,
            "wait_percent": [wait_percent(one) for _, one in phases.iterrows()],
            "last": [
                f"rank {one['last_rank']}, {percent_text(one['last_wait'])}" if one["last_rank"] >= 0 else "-"
                for _, one in phases.iterrows()
            ],
        }
    )


def phase_table(found: Arrivals) -> list[str]:
    """Returns a line per phase."""
    lines = [f"{'in phases':<30}{'begins':>9}{'s':>9}{'coll. %':>9}{'wait %':>8}{'last, of waiting':>17}"]
    for _, row in phases_frame(found).iterrows():
        name = textwrap.shorten(row["phase"], 30, placeholder=" ...")
        share = "-" if pd.isna(row["collectives_percent"]) else f"{row['collectives_percent']:.1f}"
        wait = "-" if pd.isna(row["wait_percent"]) else f"{row['wait_percent']:.1f}"
        numbers = f"{row['begins']:>9}{row['seconds']:>9.4g}{share:>9}{wait:>8}"
        lines.append(f"{name:<30}{numbers}{row['last']:>17}")
    return lines


def kinds_frame(found: Arrivals) -> pd.DataFrame:
    """Returns a row per kind of MPI calls: calls, share of the run (mean, least, most of the ranks), part analyzed."""
    run = found.run or np.nan
    rows = []
    for kind, some in found.kinds.groupby("kind", sort=False):
        share = 100 * some["time"] / run
        if some["calls"].any():
            places = (int(share.argmin()), int(share.argmax()))
            least, most = (f"{share.iloc[at]:.1f} ({some['rank'].iloc[at]})" for at in places)
            analyzed = some["analyzed"].sum() / some["time"].sum() if some["time"].any() else 0.0
            rows.append((kind, int(some["calls"].sum()), share.mean(), least, most, 100 * analyzed))
    return pd.DataFrame(rows, columns=["calls_of_MPI", "calls", "run_percent", "least", "most", "analyzed_percent"])


def kinds_lines(found: Arrivals) -> list[str]:
    """Returns how long ranks were in MPI calls of each kind."""
    frame = kinds_frame(found)
    lines = [f"{'in MPI calls':<17}{'calls':>13}{'run %':>8}{'least (rank)':>15}{'most (rank)':>15}{'analyzed %':>12}"]
    lines += [
        f"{row[0]:<17}{row[1]:>13}{row[2]:>8.1f}{row[3]:>15}{row[4]:>15}{row[5]:>12.0f}"
        for row in frame.itertuples(index=False)
    ]
    if "point-to-point" in set(frame["calls_of_MPI"]):
        lines.append("messages are added up by rank: single late senders are not known")
    return lines


def wait_percent(site: pd.Series) -> float:
    """Returns the percentage of waiting in the time of calls; NaN where no call says."""
    said = site["wait"] > 0 or site["wait_sampling"] < site["time"]
    return 100 * wait_share(site)[0] if said else np.nan


def site_table(found: Arrivals, baseline: pd.Series | None) -> list[str]:
    """Returns two lines per call site: what and where, and the numbers, times in us."""
    head = f"{'calls':>7}{'bytes':>9}{'run %':>7}{'wait %':>7}{'operation':>11}"
    head += f"{'baseline':>10}" if baseline is not None else ""
    head += f"{'spread p50':>12}{'p95':>9}{'p99':>8}"
    times = "operation, baseline and spread" if baseline is not None else "operation and spread"
    lines = [f"call sites by time; {times} in us", head]
    for place, (_, site) in enumerate(found.sites.head(MOST_SITES).iterrows()):
        on = f" on {site['communicators']}" if site["communicators"] else ""
        where = f"{mpi_name(site['operation'], site['kind'])}{on}, {counted(int(site['size']), 'rank')}, {site['name']}"
        where += f", in {site['phase']}" if site["phase"] else ""
        if site["kind"] in LATER:
            where += f", overlap {micro(site['overlap'])}"
        lines.append(textwrap.shorten(f"{place + 1} {where}", PAGE_WIDTH, placeholder=" ..."))
        size = "-" if pd.isna(site["bytes"]) else f"{site['bytes']:.0f}"
        waits = "-" if np.isnan(wait_percent(site)) else f"{wait_percent(site):.1f}"
        calls = f"{site['calls']}" if site["calls"] < 10**7 else f"{site['calls'] / 1e6:.4g}M"
        row = f"{calls:>7}{size:>9}{100 * site['share']:>7.1f}{waits:>7}{micro(site['after_last']):>11}"
        row += f"{micro(baseline.iloc[place]):>10}" if baseline is not None else ""
        row += "".join(
            f"{micro(site[name]):>{width}}" for name, width in zip(SPREAD_QUANTILES, (12, 9, 8), strict=True)
        )
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
        "verdict": arrival_sentences(found),
        "run": found.run,
        "ranks": found.ranks,
        "threads": found.threads,
        "shares": SHARES,
        "bound": found.bound if found.bound >= 0 else None,
        "records_left_out": sum(found.left_out.values()),
        "left_out": dict(found.left_out),
        "notes": list(found.notes),
        "phase": found.phase or None,
        "phases": json.loads(found.phases.to_json(orient="records", double_precision=15)),
        "kinds": json.loads(found.kinds.to_json(orient="records", double_precision=15)),
        "late_ranks": json.loads(found.late_ranks.to_json(orient="records", double_precision=15)),
        "by_rank": json.loads(found.by_rank.to_json(orient="records", double_precision=15)),
        "sites": json.loads(sites.to_json(orient="records", double_precision=15)),
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def sites_for_page(found: Arrivals, baseline: pd.Series | None) -> pd.DataFrame:
    """Returns the table of the page: a row per call site, times in us."""
    sites = found.sites
    frame = pd.DataFrame(
        {
            "call": [
                site_title(site) + (f", overlap {micro(site['overlap'])} us" if site["kind"] in LATER else "")
                for _, site in sites.iterrows()
            ],
            "ranks": sites["size"].astype(int),
            "bytes": sites["bytes"],
            "calls": sites["calls"],
            "run_percent": 100 * sites["share"],
            "wait_percent": [wait_percent(site) for _, site in sites.iterrows()],
            "late": [
                f"rank {site['last_rank']}, {percent_text(site['last_wait'])}" if site["last_rank"] >= 0 else "-"
                for _, site in sites.iterrows()
            ],
            "operation_us": sites["after_last"] * MICROSECONDS,
            **{f"{name}_us": sites[name] * MICROSECONDS for name in list(SPREAD_QUANTILES)[:2]},  # all do not fit
        }
    )
    if baseline is not None:
        names = list(frame.columns)
        frame.insert(names.index("operation_us") + 1, "baseline_us", baseline * MICROSECONDS)
    return frame


TIME_SECTION = "Where the time goes"
MOST_SECTIONS = 5  # call sites with pictures
MOST_SITE_ROWS = 20  # of the table of call sites
WIDEST = 16  # ranks whose representative patterns are a table
TERMS = {
    "waiting": "time in a call before the process that it needs has entered: in an allreduce the last one",
    "late": "the rank that causes most of the waiting there, and its part of it",
    "overlap": "of a nonblocking collective: from the return of the call to the begin of the wait, median",
    "operation": "time in a call after that; in the table the median, from the last arrival to the last exit",
    "spread": "from the first arrival at a call to the last one",
    "bound": "the error of a spread is less; within it nobody is called late",
}
LATE_TERMS = {
    "seconds": "that each rank waits for this one, mean of the ranks: balance would save up to that",
    "costly calls": "those that have most of the waiting; late is how long a rank waits in one of them, median",
    "between": "the two collectives between which the rank was before; times there are medians",
}
PHASE_TERMS = {
    "seconds": "in the phase, mean of the ranks that began it",
    "collectives": "part of that time which is in collectives",
    "waiting": "part of the time in collectives",
    "last": "the rank that cost most waiting, and its part of it",
}


def make_page(found: Arrivals, title: str, baseline: pd.Series | None) -> Page:
    """Returns the page.

    Args:
        found: what was found.
        title: of the page.
        baseline: of each site, s; None: none was given.
    """
    headline, *others = waiting_sentences(found) or arrival_sentences(found)[len(found.warnings) :]
    facts = [Fact("", headline), *(Fact("beware", one) for one in found.warnings)]
    if waiting_sentences(found):
        facts += [Fact("where", one) for one in others[:1]]
    elif found.sites.empty:
        facts += [Fact("also", one) for one in others]
    facts += [Fact("phase", one) for one in phase_sentences(found)[:1]]
    facts.append(Fact("phase" if found.phase else "run", run_line(found).removeprefix("run ")))
    sections = []
    if picture := time_by_rank(found):
        sections.append(PageSection(TIME_SECTION, pictures=(picture,)))
    if len(found.late_ranks):
        table = Table("Ranks that others wait for, by the waiting that they cause", late_frame(found))
        said = tuple(others) if waiting_sentences(found) else ()
        sections.append(PageSection("Who is late", said, tables=(table,), definitions=tuple(LATE_TERMS.items())))
    if len(found.sites):
        count = len(found.sites)
        said = (
            (f"The first {MOST_SITE_ROWS} of {count} call sites, by time; --json has all.",)
            if count > MOST_SITE_ROWS
            else ()
        )
        table = Table("Call sites, by time", sites_for_page(found, baseline).head(MOST_SITE_ROWS))
        terms = {
            name: text for name, text in TERMS.items() if name != "overlap" or found.sites["overlap"].notna().any()
        }
        said = (*site_sentences(found), *said)
        sections.append(PageSection("Call sites", said, tables=(table,), definitions=tuple(terms.items())))
    if len(found.phases):
        table = Table("Phases by MPI_Pcontrol, with those within them", phases_frame(found))
        sections.append(PageSection("Phases", tables=(table,), definitions=tuple(PHASE_TERMS.items())))
    if len(found.kinds):
        table = Table("Time in MPI calls by kind, and what part of it is analyzed here", kinds_frame(found))
        said = (*message_sentences(found), "Messages are added up by rank: single late senders are not known.")
        sections.append(PageSection("Time in MPI", said, tables=(table,)))
    for number in range(min(MOST_SECTIONS, len(found.sites))):
        sections.append(site_section(found, number))
    if tables := pattern_tables(found):
        said = ("For downbeat arrivals --export, and downbeat tune: how late each rank came.",)
        sections.append(PageSection("Recorded calls that stand for all", said, tables=tables))
    of_threads = (SHARES_OF_THREADS,) if found.threads != found.ranks else ()
    if notes := (*left_out_lines(found), *of_threads, *found.notes):
        sections.append(PageSection("Notes", notes))
    return Page(title, (), tuple(sections), tuple(facts))


def site_section(found: Arrivals, number: int) -> PageSection:
    """Returns the pictures of a call site."""
    title = f"{number + 1}. {site_title(found.sites.iloc[number])}"
    return PageSection(title, pictures=site_pictures(found, number))


def pattern_tables(found: Arrivals) -> tuple[Table, ...]:
    """Returns for the call sites with pictures the calls that stand for all."""
    return tuple(
        Table(f"{number + 1}. {site_title(site)}", patterns_frame(found, number))
        for number, (_, site) in enumerate(found.sites.head(MOST_SECTIONS).iterrows())
        if site["sampled"] and 2 <= site["size"] <= WIDEST
    )


def late_frame(found: Arrivals) -> pd.DataFrame:
    """Returns a row per late rank: seconds of the run, part of the waiting, calls, how late, and where it was."""
    late = found.late_ranks.head(MOST_SITE_ROWS)
    frame = pd.DataFrame(
        {
            "rank": late["rank"].astype(int),
            "seconds_of_the_run": late["wait"] / found.ranks,
            "waiting_percent": 100 * late["wait"] / found.sites["wait"].sum(),
            "calls": late["calls"].round().astype(int),
            "costly_calls": late["costly"].round(),
            "late_us": late["late"] * MICROSECONDS,
        }
    )
    where = [f"{a} and {b}" if isinstance(a, str) else "-" for a, b in zip(late["before"], late["after"], strict=True)]
    return frame.assign(
        between=where, takes_us=late["takes"] * MICROSECONDS, others_us=late["others"] * MICROSECONDS
    ).dropna(axis=1, how="all")
