"""All figures by their names, and which of them a user may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from downbeat.errors import UsageError
from downbeat_papers import hoefler2008, hunold2015, niethammer2016, schuchart2023
from downbeat_papers.figure import Figure

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for paper in (schuchart2023, hunold2015, hoefler2008, niethammer2016)
    for figure in paper.FIGURES
}


def find_figures(names: Sequence[str]) -> list[Figure]:
    """Returns figures by their names, each once.

    Raises:
        UsageError: there is no figure of a name; the line says which are near, or which there are.
    """
    for name in names:
        if name not in FIGURES:
            near = difflib.get_close_matches(name.lower(), FIGURES, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "valid are, by paper, " + "; ".join(ranges())
            raise UsageError(f"there is no figure '{name}'; {hint} (--list shows all)")
    return [FIGURES[name] for name in dict.fromkeys(names)]


def ranges() -> list[str]:
    """Returns the first and the last figure of each paper."""
    papers: dict[str, list[str]] = {}
    for name in FIGURES:
        papers.setdefault(name.partition("-")[0], []).append(name)
    return [f"{names[0]} to {names[-1]}" for names in papers.values()]


def own_data(figure: Figure) -> Figure:
    """Returns the figure whose launches a figure is drawn from."""
    return FIGURES[figure.data] if figure.data else figure
