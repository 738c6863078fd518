"""Algorithms in one experiment: which are significantly slower than the fastest."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from downbeat.comparison.judging import judge_matches
from downbeat.comparison.matching import Match, Matcher
from downbeat.comparison.sides import SideCells
from downbeat.data.cells import Cells
from downbeat.run.experiment import Experiment
from downbeat.tables import Texts


def judged_cells(experiment: Experiment) -> Cells:
    """The plain cells that a verdict may rest on; pictures show the others as well."""
    cells = experiment.cell_table
    return cells[cells.plain & cells.counts]


def slower_algorithms(cells: SideCells, panels: Texts, fastest: Mapping[str, str]) -> dict[str, set[str]]:
    """The algorithms that are significantly slower than the fastest, by panel.

    The same launches have shown which is the fastest, and the luckiest is easily better than its equals. So all pairs
    of algorithms in all panels are judged together, and those with the fastest looked up: the stated error holds for
    whichever pairs the data pick (Holm 1979).

    Args:
        cells: those that are judged, of one operation from a common start.
        panels: the case that each is of.
        fastest: algorithm by panel.
    """
    pairs: list[tuple[str, str, str]] = []
    matches: list[Match] = []
    for panel in dict.fromkeys(panels):
        of_panel = cells[panels == panel].once_per_launch(["algorithm"])
        by_name = of_panel.by_cell(["algorithm"])
        for (algorithm,), (other,) in itertools.combinations(sorted(by_name), 2):
            first, second = (other, algorithm) if other == fastest[panel] else (algorithm, other)
            match = Matcher().match({}, by_name[first,], by_name[second,], panel)
            if not match.obstacle:
                pairs.append((panel, str(first), str(second)))
                matches.append(match)
    slower: dict[str, set[str]] = {panel: set() for panel in fastest}
    for (panel, first, second), judged in zip(pairs, judge_matches(matches), strict=True):
        if first == fastest[panel] and judged.verdict == "slower":
            slower[panel].add(second)
    return slower
