"""The list of figures: what each needs, the part that is shown here, and how long that takes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable

from downbeat_papers.figure import Figure, own_data
from downbeat_papers.site import Site

WIDTH = 80
INDENT = " " * 4


def estimated_seconds(figure: Figure, site: Site) -> float:
    """Returns the time that the launches of a figure take, its own or those that it shares."""
    return sum(run.seconds * run.launches(site) for run in figure.runs(site))


def duration(seconds: float) -> str:
    """Returns a duration in words."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def listing(figures: Iterable[Figure], site_of: Callable[[Figure], Site | None]) -> str:
    """Returns the list, at most 80 columns wide; figures without a site, which are not simulated, say why not."""
    entries: list[str] = []
    seconds: dict[str, float] = {}  # of the launches, which figures share
    for figure in figures:
        site, source = site_of(figure), own_data(figure)
        if not site:
            entries += wrapped(f"{figure.name}: not simulated, {source.simulated}", "", INDENT)
            continue
        entries += wrapped(f"{figure.name}: {figure.title}", "", INDENT)
        needs, here, processor = f"needs {figure.needs}", figure.shows(site), ""
        if site.paper:
            needs, here = f"paper {site.paper}", f"{site.listed} ranks {site.place}"
            processor = " of one processor"
        texts = [needs, f"here  {here}"]
        if runs := figure.runs(site):
            seconds[source.name] = estimated_seconds(figure, site)
            launches = (
                f"{sum(run.launches(site) for run in runs)} launches{f', of {figure.data}' if figure.data else ''}"
            )
            libraries = ", ".join(dict.fromkeys(run.library for run in runs))
            texts.append(f"takes {duration(seconds[source.name])}{processor}: {launches}, {libraries}")
        for text in texts:
            entries += wrapped(text, INDENT, INDENT + "      ")
    if len(seconds) > 1:
        entries.append(f"{len(seconds)} sets of launches; all together take about {duration(sum(seconds.values()))}")
    return "\n".join(entries)


def wrapped(text: str, first: str, rest: str) -> list[str]:
    """Breaks text into lines."""
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
