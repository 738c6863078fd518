"""Sentences on launches that are not of one kind: which cells have two modes, and where launches are correlated."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from downbeat.statistics.holm import holm
from downbeat.statistics.modes import CORRELATED, FALSE_ALARMS, resemblance_p, two_modes
from downbeat.statistics.series import autocorrelation

MODES, RESEMBLE = "launches come in two modes", "launches resemble the one before"
MOST_CELLS = 8  # that a line names


@dataclass(frozen=True)
class Series:
    """What an interval over launches rests on.

    Attributes:
        cell: its name.
        group: launches of one configuration in one state of the machine; what lasts there, lasts for all its cells.
        launches: their numbers, in order.
        values: a number per launch, above 0: medians, or ratios of pairs.
    """

    cell: str
    group: Hashable
    launches: tuple[int, ...]
    values: NDArray[np.float64]


def kind_lines(series: Sequence[Series], text: Callable[[float], str]) -> list[str]:
    """Returns a line on cells whose launches have two modes, and one on launches that resemble the one before.

    Args:
        series: of all cells that are shown or compared together.
        text: writes a value, with its unit.
    """
    return [*mode_lines(series, text), *resemblance_lines(series)]


def is_kind_line(line: str) -> bool:
    """Whether a line among others is one of `kind_lines`."""
    return MODES in line or RESEMBLE in line


def mode_lines(series: Sequence[Series], text: Callable[[float], str]) -> list[str]:
    """Returns a line on the cells whose launches have two modes, if any."""
    found = []
    for one in series:
        modes = two_modes(one.values)
        if modes:
            each = ", ".join(f"{text(float(np.median(mode)))} in {len(mode)}" for mode in modes)
            found.append(f"{one.cell} ({each})" if one.cell else each)
    if not found:
        return []
    return [
        f"{MODES} in {len(found)} of {len(series)} cells (by chance in {FALSE_ALARMS:.0%} if they "
        "deviate normally, in more if few are slow), and an interval holds only for as many of each as there were: "
        f"{named(found)}"
    ]


def resemblance_lines(series: Sequence[Series]) -> list[str]:
    """Returns a line on the cells whose launches resemble the one before, if any.

    Cells are tested one by one, and the launches of a group by their means over cells: what all share shows there.
    Either family of tests has half of the level (Holm 1979).
    """
    groups: dict[Hashable, list[Series]] = {}
    for one in series:
        groups.setdefault(one.group, []).append(one)
    common = [mean_of_launches(cells) for cells in groups.values() if len(cells) > 1]
    families = [[np.log(one.values) for one in series], common]
    counted = sum(1 for family in families if family)
    tests = [holm([resemblance_p(one) for one in family]) if family else np.empty(0) for family in families]
    level = CORRELATED / max(counted, 1)
    certain = [np.flatnonzero(p <= level) for p in tests]
    strongest = [autocorrelation(family[i]) for family, places in zip(families, certain, strict=True) for i in places]
    if not strongest:
        return []
    cells = [series[int(i)].cell for i in certain[0]]
    where = f"in {len(cells)} of {len(series)} cells" if cells else "taken over all cells"
    names = f": {named(cells)}" if any(cells) else ""
    return [
        f"{RESEMBLE} {where} (correlation up to {min(max(strongest), 1.0):.1f}; by chance in "
        f"{CORRELATED:.0%} of experiments), and intervals over them may be too narrow{names}"
    ]


def mean_of_launches(cells: Sequence[Series]) -> NDArray[np.float64]:
    """Returns by how much each launch is above the mean of its cells, of logarithms, in the order of launches."""
    deviations: dict[int, list[float]] = {}
    for one in cells:
        logs = np.log(one.values)
        for launch, deviation in zip(one.launches, logs - logs.mean(), strict=True):
            deviations.setdefault(launch, []).append(float(deviation))
    return np.array([math.fsum(deviations[launch]) / len(deviations[launch]) for launch in sorted(deviations)])


def named(cells: Sequence[str]) -> str:
    """Returns the names of cells, the first of many."""
    more = f" and {len(cells) - MOST_CELLS} more" if len(cells) > MOST_CELLS else ""
    return f"{', '.join(cells[:MOST_CELLS])}{more}"
