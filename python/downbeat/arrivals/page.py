"""The page of `downbeat arrivals`."""

from __future__ import annotations

import pandas as pd

from downbeat.arrivals.patterns import patterns_frame
from downbeat.arrivals.pictures import site_pictures
from downbeat.arrivals.table import Arrivals
from downbeat.arrivals.text import sites_for_page
from downbeat.arrivals.verdict import mpi_name, verdict
from downbeat.report.page import Fact, Page, Section, Table
from downbeat.units import MICROSECONDS

MOST_SECTIONS = 5  # call sites with pictures
MOST_ROWS = 20  # of the table of call sites
WIDEST = 16  # ranks whose representative patterns are a table

TERMS = {
    "waiting": "time in a call before the process that it needs has entered: in an allreduce the last one",
    "overlap": "of a nonblocking collective: from the return of the call to the begin of the wait, median",
    "operation": "time in a call after that; in the table the median, from the last arrival to the last exit",
    "spread": "from the first arrival at a call to the last one",
    "bound": "the error of a spread is less; within it nobody is called late",
}


def make_page(found: Arrivals, title: str, baseline: pd.Series | None) -> Page:
    """Returns the page.

    Args:
        found: what was found.
        title: of the page.
        baseline: of each site, s; None: none was given.
    """
    sentences = verdict(found)
    run = f"{found.run:.4g} s, {found.ranks} ranks; timestamps within {found.bound * MICROSECONDS:.3g} us"
    facts = [Fact("found", sentences[0]), *(Fact("also", sentence) for sentence in sentences[1:]), Fact("run", run)]
    if found.not_whole:
        facts.append(Fact("left out", f"{found.not_whole} records of calls that some rank did not record whole"))
    sections = []
    if len(found.sites):
        count = len(found.sites)
        said = (f"The first {MOST_ROWS} of {count} call sites, by time; --json has all.",) if count > MOST_ROWS else ()
        table = Table("Call sites, by time", sites_for_page(found, baseline).head(MOST_ROWS))
        terms = {
            name: text for name, text in TERMS.items() if name != "overlap" or found.sites["overlap"].notna().any()
        }
        sections.append(Section("Call sites", said, tables=(table,), definitions=tuple(terms.items())))
    for number in range(min(MOST_SECTIONS, len(found.sites))):
        sections.append(site_section(found, number))
    return Page(title, (), tuple(sections), tuple(facts))


def site_section(found: Arrivals, number: int) -> Section:
    """Returns the pictures of a call site, and the patterns that stand for its calls."""
    site = found.sites.iloc[number]
    title = f"{number + 1}. {mpi_name(site['operation'], site['kind'])} at {site['name']}"
    tables: tuple[Table, ...] = ()
    if 2 <= site["size"] <= WIDEST:
        tables = (Table("Recorded calls that stand for all, and for how many", patterns_frame(found, number)),)
    return Section(title, tables=tables, pictures=site_pictures(found, number))
