"""The list of all figures: the needs of each, and the part that the machine at hand can show."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence

from downbeat_papers.figure import Figure, own_data
from downbeat_papers.simulated import REFUSED, SYSTEMS, source_of
from downbeat_papers.site import Site

WIDTH = 80
INDENT = " " * 4


def estimated_seconds(figure: Figure, site: Site) -> float:
    """Returns the time that the launches of a figure take, its own or those that it shares."""
    return sum(run.seconds * run.launches(site) for run in own_data(figure).runs(site))


def estimated_total(figures: Iterable[Figure], site: Site) -> float:
    """Returns what all launches of some figures take, shared ones once."""
    return sum(estimated_seconds(figure, site) for figure in dict.fromkeys(map(own_data, figures)))


def duration(seconds: float) -> str:
    """Returns a duration in words."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def here(figure: Figure, site: Site) -> str:
    """Returns the part of a figure that a site can show, in words."""
    if not own_data(figure).runs(site):
        return f"nothing, {site.want(own_data(figure).lacks)}"
    return figure.shows(site)


def listing(figures: Iterable[Figure], site: Site) -> str:
    """Returns the list, at most 80 columns wide."""
    figures = list(figures)
    blocks = []
    for figure in figures:
        texts = [f"needs {figure.needs}", f"here  {here(figure, site)}"]
        if runs := own_data(figure).runs(site):
            libraries = ", ".join(dict.fromkeys(run.library for run in runs))
            texts.append(f"takes {duration(estimated_seconds(figure, site))}: {launches_of(figure, site)}, {libraries}")
        blocks.append(block(figure, texts))
    if len(figures) > 1:
        blocks.append(f"{len(figures)} figures; all together take about {duration(estimated_total(figures, site))}")
    return "\n".join(blocks)


def simulated_listing(figures: Sequence[Figure], site_of: Callable[[Figure], Site]) -> str:
    """Returns the list of what can be simulated, at most 80 columns wide; the rest has a line that says why not."""
    blocks, seconds = [], {}
    for figure in figures:
        name = source_of(figure)
        if name not in SYSTEMS:
            blocks.append("\n".join(wrapped(f"{figure.name}: not simulated, {REFUSED[figure.name]}", "", INDENT)))
            continue
        site = site_of(figure)
        seconds[name] = estimated_seconds(figure, site)
        paper, ranks = f"paper {SYSTEMS[name].paper}", f"here  {site.listed} ranks {site.place}"
        takes = f"takes {duration(seconds[name])} of one processor: {launches_of(figure, site)}"
        blocks.append(block(figure, (paper, ranks, takes)))
    if len(seconds) > 1:
        blocks.append(f"{len(seconds)} sets of launches; all together take about {duration(sum(seconds.values()))}")
    return "\n".join(blocks)


def launches_of(figure: Figure, site: Site) -> str:
    """Says how many launches a figure takes, and of which figure they are."""
    launches = sum(run.launches(site) for run in own_data(figure).runs(site))
    return f"{launches} launches{f', of {figure.data}' if figure.data else ''}"


def block(figure: Figure, texts: Iterable[str]) -> str:
    """Returns the entry of a figure: its name and title, and texts below them."""
    lines = wrapped(f"{figure.name}: {figure.title}", "", INDENT)
    for text in texts:
        lines += wrapped(text, INDENT, INDENT + "      ")
    return "\n".join(lines)


def wrapped(text: str, first: str, rest: str) -> list[str]:
    """Breaks text into lines."""
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
