"""Sentences on launches that are not of one kind: how many are slow, and where they resemble the one before."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from downbeat.statistics.dependence import resemblance_p
from downbeat.statistics.holm import holm
from downbeat.statistics.series import autocorrelation
from downbeat.statistics.slow_launches import SLOW, slow_launches
from downbeat.text import counted

RESEMBLE = "launches resemble the one before"
SLOW_LAUNCHES = f"slow launches ({SLOW:g} times typical)"
CORRELATED = 0.05  # usual; the share of experiments with independent launches that are said to be correlated


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


def kind_lines(series: Sequence[Series]) -> list[str]:
    """Says how many launches are slow, and where they resemble the one before.

    Args:
        series: of all cells that are shown together.

    Returns:
        Lines; none where there is nothing to say.
    """
    return [*slow_lines(series), *resemblance_lines(series)]


def is_kind_line(line: str) -> bool:
    """Whether a line among others is one of `resemblance_lines`."""
    return RESEMBLE in line


def slow_lines(series: Sequence[Series]) -> list[str]:
    """A line on the cell with the largest share of slow launches, if any has one."""
    counts = [(int(slow_launches(one.values).sum()), one) for one in series]
    some = [(slow, one) for slow, one in counts if slow]
    if not some:
        return []
    slow, most = max(some, key=lambda each: each[0] / len(each[1].values))
    where = f" in {most.cell}" if most.cell else ""
    more = f"; fewer in {counted(len(some) - 1, 'more cell')}" if len(some) > 1 else ""
    return [f"{SLOW_LAUNCHES}: {slow} of {len(most.values)}{where}{more}"]


def resemblance_lines(series: Sequence[Series]) -> list[str]:
    """A line on the cells whose launches resemble the one before, if any.

    Cells are tested one by one, and the launches of a group by their means over cells: what all share shows there. All
    are one family (Holm 1979).
    """
    groups: dict[Hashable, list[Series]] = {}
    for one in series:
        groups.setdefault(one.group, []).append(one)
    tested = [np.log(one.values) for one in series]
    tested += [mean_of_launches(cells) for cells in groups.values() if len(cells) > 1]
    certain = np.flatnonzero(holm([resemblance_p(one) for one in tested]) <= CORRELATED)
    if not certain.size:
        return []
    strongest = min(max(autocorrelation(tested[int(i)]) for i in certain), 1.0)
    cells = [series[int(i)].cell for i in certain if i < len(series)]
    where = f"in {len(cells)} of {len(series)} cells" if cells else "taken over all cells"
    return [f"{RESEMBLE} {where} (correlation up to {strongest:.1f}): their intervals are wider"]


def mean_of_launches(cells: Sequence[Series]) -> NDArray[np.float64]:
    """The mean deviation of each launch from the mean of its cells, of logarithms, in the order of launches."""
    deviations: dict[int, list[float]] = {}
    for one in cells:
        logs = np.log(one.values)
        for launch, deviation in zip(one.launches, logs - logs.mean(), strict=True):
            deviations.setdefault(launch, []).append(float(deviation))
    return np.array([math.fsum(deviations[launch]) / len(deviations[launch]) for launch in sorted(deviations)])
