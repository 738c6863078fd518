"""Builds the list of figures (`--list`): the needs of each, the part that this site can show, and its duration."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from downbeat.output.blocks import Block, Heading, Line, Terms, View

from downbeat_papers.figure import Figure, data_figure
from downbeat_papers.site import Site


def estimated_seconds(figure: Figure, site: Site) -> float:
    """Returns the estimated duration of all launches that a figure is drawn from."""
    return sum(run.seconds * run.launches(site) for run in figure.runs(site))


def duration(seconds: float) -> str:
    """Returns a duration in words."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def listing(figures: Iterable[Figure], site_of: Callable[[Figure], Site | str]) -> View:
    """Returns the list as a view.

    Args:
        figures: to list.
        site_of: returns the site of a figure, or the reason why it has none.
    """
    blocks: list[Block] = []
    records: list[dict[str, object]] = []
    seconds: dict[str, float] = {}  # by the figure that has the data, so that shared launches count once
    for figure in figures:
        site, source = site_of(figure), data_figure(figure)
        pairs = [("shows", figure.title)]
        if isinstance(site, Site):
            here = figure.shows(site)
            pairs += [("needs", figure.needs), ("here", here)]
            if site.paper:
                pairs[1:] = [("paper", site.paper), ("here", f"{site.listed} ranks {site.place}")]
            if runs := figure.runs(site):
                seconds[source.name] = estimated_seconds(figure, site)
                launches = sum(run.launches(site) for run in runs)
                libraries = ", ".join(dict.fromkeys(run.library for run in runs))
                shared = f", of {figure.data}" if figure.data else ""
                processor = " of one processor" if site.paper else ""
                takes = f"{duration(seconds[source.name])}{processor}: {launches} launches{shared}, {libraries}"
                pairs.append(("takes", takes))
        else:
            pairs.append(("here", site))
        blocks += [Heading(figure.name), Terms(tuple(pairs), depth=Heading("").depth)]
        records.append({"figure": figure.name, **dict(pairs)})
    if len(seconds) > 1:
        total = duration(sum(seconds.values()))
        blocks += [Heading("all"), Line(f"{len(seconds)} sets of launches; all together take about {total}")]
    return View("Figures of the papers", tuple(blocks), record={"figures": records})
