"""Finds the algorithms of one experiment that are significantly slower than the fastest one, for reports."""

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
    """Selects cells without late ranks that count for verdicts."""
    cells = experiment.cell_table
    return cells[cells.plain & cells.counts]


def slower_algorithms(cells: SideCells, panels: Texts, fastest: Mapping[str, str]) -> dict[str, set[str]]:
    """Returns the algorithms that are significantly slower than the fastest, by panel.

    The same launches determine the fastest, which favors a lucky one among equal algorithms. So all pairs of algorithms
    in all panels are judged as one family, and the pairs with the fastest are selected: the error level holds for any
    selection (Holm 1979).

    Args:
        cells: judged cells of one operation from a common start.
        panels: the panel of each cell: its factors except the algorithm.
        fastest: panel -> fastest algorithm.
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
