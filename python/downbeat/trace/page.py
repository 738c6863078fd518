"""The report of `downbeat arrivals`: text, a page and its pictures."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from downbeat.report.page import Fact, Page, PageSection
from downbeat.report.page import Table as PageTable
from downbeat.tables import Floats, Ints, Table
from downbeat.text import MICROSECONDS, counted, number_text
from downbeat.trace.arrivals import Arrivals, PhaseTimes, Sites, percent_text
from downbeat.trace.balance import bar_lines
from downbeat.trace.calls import LATER, mpi_name
from downbeat.trace.causes import ratio
from downbeat.trace.patterns import patterns_frame
from downbeat.trace.pictures import site_pictures, site_title, time_by_rank
from downbeat.trace.verdict import (
    arrival_sentences,
    message_sentences,
    phase_sentences,
    site_sentences,
    wait_shares,
    waiting_sentences,
)

PAGE_WIDTH = 80
MOST_SITES = 12  # in the table; JSON has all
SCHEMA_VERSION = 1
PLAIN_FROM = 1000.0  # us; longer times need no decimals


def render_arrivals(found: Arrivals, baseline: Floats | None, command: str) -> str:
    """The text that is printed.

    Args:
        found: arrivals.
        baseline: of each site, s; None: none was given.
        command: that would measure a baseline; empty: none.
    """
    lines = wrapped(arrival_sentences(found))
    if bars := bar_lines(found.by_rank, not len(found.kinds), found.late_ranks.rank[:2].tolist(), PAGE_WIDTH):
        lines += ["", *bars]
    if len(found.sites):
        lines += ["", *site_table(found.sites, baseline), "", run_line(found)]
    if len(found.phases):
        lines += ["", *phase_table(found)]
    lines += left_out_lines(found)
    if found.threads != found.ranks:
        lines += wrapped([SHARES_OF_THREADS])
    lines += wrapped(found.notes)
    if len(found.kinds):
        lines += ["", *kinds_lines(found)]
    if baseline is None and command:
        lines += ["what the operations take from a common start:", f"  {command}", "  then add --baseline baseline"]
    return "\n".join(lines)


def wrapped(sentences: Iterable[str]) -> list[str]:
    """Sentences as lines of a page."""
    return [line for sentence in sentences for line in textwrap.wrap(sentence, PAGE_WIDTH, subsequent_indent="  ")]


SHARES = "of the time of processes, the run of each rank"
SHARES_OF_THREADS = (
    f"shares are {SHARES}, whatever number of threads it has: a moment in which several of them are in collectives is "
    "divided among them, and counts as computing if none is in MPI"
)


def left_out_lines(found: Arrivals) -> list[str]:
    """A line for each kind of calls that are not analyzed."""
    return [f"left out: {number} records of calls {reason}" for reason, number in found.left_out.items()]


def run_line(found: Arrivals) -> str:
    """How long the run took, on how many ranks, and the error of its times."""
    within = f"timestamps within {found.bound * MICROSECONDS:.3g} us{found.bound_is}"
    within = within if found.bound >= 0 else "no timestamp is known"
    threads = f", {found.threads} threads" if found.threads != found.ranks else ""
    what = f"phase '{found.phase}', mean of ranks" if found.phase else "run"
    return f"{what} {found.run:.4g} s, {counted(found.ranks, 'rank')}{threads}; {within}"


def rank_and_share(rank: Ints, share: Floats) -> list[str]:
    """Ranks with the share of the waiting that each causes; a dash for none."""
    pairs = zip(rank, share, strict=True)
    return [f"rank {each}, {percent_text(part)}" if each >= 0 else "-" for each, part in pairs]


def phases_frame(found: Arrivals) -> pd.DataFrame:
    """A row per phase: how long, the share in collectives, the share of waiting, and the last rank."""
    phases = found.phases
    return pd.DataFrame(
        {
            "phase": phases.phase,
            "ranks": phases.ranks,
            "begins": phases.begins,
            "seconds": phases.seconds / phases.ranks.clip(min=1),
            "calls": phases.calls,
            "collectives_percent": ratio(100 * phases.time, phases.seconds, np.nan),
            "wait_percent": wait_percent(phases),
            "last": rank_and_share(phases.last_rank, phases.last_wait),
        }
    )


def phase_table(found: Arrivals) -> list[str]:
    """A line per phase."""
    lines = [f"{'in phases':<30}{'begins':>9}{'s':>9}{'coll. %':>9}{'wait %':>8}{'last, of waiting':>17}"]
    row: Any
    for row in phases_frame(found).itertuples(index=False):
        name = textwrap.shorten(row.phase, 30, placeholder=" ...")
        share, wait = (number_text(percent, ".1f") or "-" for percent in (row.collectives_percent, row.wait_percent))
        lines.append(f"{name:<30}{row.begins:>9}{row.seconds:>9.4g}{share:>9}{wait:>8}{row.last:>17}")
    return lines


def kinds_frame(found: Arrivals) -> pd.DataFrame:
    """A row per kind of MPI calls: calls, share of the run (mean, least, most of the ranks), part analyzed."""
    rows = []
    for kind in dict.fromkeys(found.kinds.kind):
        some = found.kinds[found.kinds.kind == kind]
        if some.calls.any():
            share = 100 * some.time / (found.run or np.nan)
            least, most = (f"{share[at]:.1f} ({some.rank[at]})" for at in (int(share.argmin()), int(share.argmax())))
            analyzed = some.analyzed.sum() / some.time.sum() if some.time.any() else 0.0
            rows.append((kind, int(some.calls.sum()), share.mean(), least, most, 100 * analyzed))
    return pd.DataFrame(rows, columns=["calls_of_MPI", "calls", "run_percent", "least", "most", "analyzed_percent"])


def kinds_lines(found: Arrivals) -> list[str]:
    """How long ranks were in MPI calls of each kind."""
    frame = kinds_frame(found)
    lines = [f"{'in MPI calls':<17}{'calls':>13}{'run %':>8}{'least (rank)':>15}{'most (rank)':>15}{'analyzed %':>12}"]
    lines += [
        f"{row[0]:<17}{row[1]:>13}{row[2]:>8.1f}{row[3]:>15}{row[4]:>15}{row[5]:>12.0f}"
        for row in frame.itertuples(index=False)
    ]
    if "point-to-point" in set(frame.calls_of_MPI):
        lines.append("messages are added up by rank: single late senders are not known")
    return lines


def wait_percent(sites: Sites | PhaseTimes) -> Floats:
    """The percentage of waiting in the time of calls; NaN where no call was recorded whole."""
    known = (sites.wait > 0) | (sites.wait_sampling < sites.time)
    return np.where(known, 100 * wait_shares(sites)[0], np.nan)


def site_table(sites: Sites, baseline: Floats | None) -> list[str]:
    """Two lines per call site: what and where, and the numbers, times in us."""
    head = f"{'calls':>7}{'bytes':>9}{'run %':>7}{'wait %':>7}{'operation':>11}"
    head += f"{'baseline':>10}" if baseline is not None else ""
    head += f"{'spread p50':>12}{'p95':>9}{'p99':>8}"
    times = "operation, baseline and spread" if baseline is not None else "operation and spread"
    lines = [f"call sites by time; {times} in us", head]
    waits = wait_percent(sites)
    for at in range(min(MOST_SITES, len(sites))):
        on = f" on {sites.communicators[at]}" if sites.communicators[at] else ""
        where = f"{mpi_name(sites.operation[at], sites.kind[at])}{on}"
        where += f", {counted(int(sites.size[at]), 'rank')}, {sites.name[at]}"
        where += f", in {sites.phase[at]}" if sites.phase[at] else ""
        if sites.kind[at] in LATER:
            where += f", overlap {micro(sites.overlap[at])}"
        lines.append(textwrap.shorten(f"{at + 1} {where}", PAGE_WIDTH, placeholder=" ..."))
        size, wait = number_text(sites.bytes[at], ".0f") or "-", number_text(waits[at], ".1f") or "-"
        calls = f"{sites.calls[at]}" if sites.calls[at] < 10**7 else f"{sites.calls[at] / 1e6:.4g}M"
        row = f"{calls:>7}{size:>9}{100 * sites.share[at]:>7.1f}{wait:>7}{micro(sites.after_last[at]):>11}"
        row += f"{micro(baseline[at]):>10}" if baseline is not None else ""
        spreads = (sites.spread_p50[at], sites.spread_p95[at], sites.spread_p99[at])
        row += "".join(f"{micro(spread):>{width}}" for spread, width in zip(spreads, (12, 9, 8), strict=True))
        lines.append(row)
    if len(sites) > MOST_SITES:
        lines.append(f"{len(sites) - MOST_SITES} more call sites are in JSON (--json)")
    return lines


def micro(seconds: float) -> str:
    """A time in us; a dash if it is not known."""
    if pd.isna(seconds):
        return "-"
    number = seconds * MICROSECONDS
    return f"{number:.0f}" if number >= PLAIN_FROM else f"{number:.2f}"


def rows_of(table: Table, **columns: Any) -> object:  # noqa: ANN401, a column each
    """A table for JSON: an object per row."""
    return json.loads(table.frame().assign(**columns).to_json(orient="records", double_precision=15))


def to_json(found: Arrivals, baseline: Floats | None) -> str:
    """Arrivals as JSON; times in s, null where nothing is known."""
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
        "phases": rows_of(found.phases),
        "kinds": rows_of(found.kinds),
        "late_ranks": rows_of(found.late_ranks),
        "by_rank": rows_of(found.by_rank),
        "sites": rows_of(found.sites, baseline=np.nan if baseline is None else baseline),
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def sites_for_page(sites: Sites, baseline: Floats | None) -> pd.DataFrame:
    """The table of the page: a row per call site, times in us."""
    overlaps = zip(sites.kind, sites.overlap, strict=True)
    overlap = [f", overlap {micro(time)} us" if kind in LATER else "" for kind, time in overlaps]
    return pd.DataFrame(
        {
            "call": [site_title(sites, at) + overlap[at] for at in range(len(sites))],
            "ranks": sites.size.astype(int),
            "bytes": sites.bytes,
            "calls": sites.calls,
            "run_percent": 100 * sites.share,
            "wait_percent": wait_percent(sites),
            "late": rank_and_share(sites.last_rank, sites.last_wait),
            "operation_us": sites.after_last * MICROSECONDS,
            **({} if baseline is None else {"baseline_us": baseline * MICROSECONDS}),
            "spread_p50_us": sites.spread_p50 * MICROSECONDS,
            "spread_p95_us": sites.spread_p95 * MICROSECONDS,  # all do not fit
        }
    )


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


def make_page(found: Arrivals, title: str, baseline: Floats | None) -> Page:
    """The page.

    Args:
        found: arrivals.
        title: of the page.
        baseline: of each site, s; None: none was given.
    """
    headline, *others = waiting_sentences(found) or arrival_sentences(found)[len(found.warnings) :]
    facts = [Fact("", headline), *(Fact("beware", one) for one in found.warnings)]
    if waiting_sentences(found):
        facts += [Fact("where", one) for one in others[:1]]
    elif not len(found.sites):
        facts += [Fact("also", one) for one in others]
    facts += [Fact("phase", one) for one in phase_sentences(found)[:1]]
    facts.append(Fact("phase" if found.phase else "run", run_line(found).removeprefix("run ")))
    sections = []
    if picture := time_by_rank(found):
        sections.append(PageSection(TIME_SECTION, pictures=(picture,)))
    if len(found.late_ranks):
        table = PageTable("Ranks that others wait for, by the waiting that they cause", late_frame(found))
        said = tuple(others) if waiting_sentences(found) else ()
        sections.append(PageSection("Who is late", said, tables=(table,), definitions=tuple(LATE_TERMS.items())))
    if len(found.sites):
        count = len(found.sites)
        said = (
            (f"The first {MOST_SITE_ROWS} of {count} call sites, by time; --json has all.",)
            if count > MOST_SITE_ROWS
            else ()
        )
        table = PageTable("Call sites, by time", sites_for_page(found.sites[:MOST_SITE_ROWS], baseline))
        terms = {
            name: text for name, text in TERMS.items() if name != "overlap" or not np.isnan(found.sites.overlap).all()
        }
        said = (*site_sentences(found), *said)
        sections.append(PageSection("Call sites", said, tables=(table,), definitions=tuple(terms.items())))
    if len(found.phases):
        table = PageTable("Phases by MPI_Pcontrol, with those within them", phases_frame(found))
        sections.append(PageSection("Phases", tables=(table,), definitions=tuple(PHASE_TERMS.items())))
    if len(found.kinds):
        table = PageTable("Time in MPI calls by kind, and what part of it is analyzed here", kinds_frame(found))
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
    """The pictures of a call site."""
    title = f"{number + 1}. {site_title(found.sites, number)}"
    return PageSection(title, pictures=site_pictures(found, number))


def pattern_tables(found: Arrivals) -> tuple[PageTable, ...]:
    """The calls that stand for all, of the call sites with pictures."""
    sites = found.sites
    return tuple(
        PageTable(f"{number + 1}. {site_title(sites, number)}", patterns_frame(found, number))
        for number in range(min(MOST_SECTIONS, len(sites)))
        if sites.sampled[number] and 2 <= sites.size[number] <= WIDEST
    )


def late_frame(found: Arrivals) -> pd.DataFrame:
    """A row per late rank: seconds of the run, part of the waiting, calls, how late, and where it was."""
    late = found.late_ranks[:MOST_SITE_ROWS]
    pairs = zip(late.before, late.after, strict=True)
    return pd.DataFrame(
        {
            "rank": late.rank,
            "seconds_of_the_run": late.wait / found.ranks,
            "waiting_percent": 100 * late.wait / found.sites.wait.sum(),
            "calls": late.calls.round().astype(int),
            "costly_calls": late.costly.round(),
            "late_us": late.late * MICROSECONDS,
            "between": [f"{before} and {after}" if before is not None else "-" for before, after in pairs],
            "takes_us": late.takes * MICROSECONDS,
            "others_us": late.others * MICROSECONDS,
        }
    ).dropna(axis=1, how="all")
