"""Writes notes on launches that are not alike: slow launches, and correlation of successive launches.

A cell is an operation with its settings; it has a value per launch of the program.
"""

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
CORRELATED = 0.05  # level of the test: share of experiments with independent launches that are called correlated


@dataclass(frozen=True)
class Series:
    """The values behind an interval over launches.

    Attributes:
        cell: name of the cell.
        group: key of the experiment; cells with the same group are measured in the same launches.
        launches: numbers of the launches, in order.
        values: a number per launch, above 0: medians, or ratios of pairs.
    """

    cell: str
    group: Hashable
    launches: tuple[int, ...]
    values: NDArray[np.float64]


def kind_lines(series: Sequence[Series]) -> list[str]:
    """Returns lines on slow launches and on correlated successive launches; empty: launches are alike.

    Args:
        series: all cells that are shown together.
    """
    return [*slow_lines(series), *resemblance_lines(series)]


def is_kind_line(line: str) -> bool:
    """Returns true if a line is from `resemblance_lines`."""
    return RESEMBLE in line


def slow_lines(series: Sequence[Series]) -> list[str]:
    """Returns a line on the cell with the largest share of slow launches; empty: no slow launches."""
    counts = [(int(slow_launches(cell.values).sum()), cell) for cell in series]
    affected = [(slow, cell) for slow, cell in counts if slow]
    if not affected:
        return []
    slow, worst = max(affected, key=lambda item: item[0] / len(item[1].values))
    where = f" in {worst.cell}" if worst.cell else ""
    more = f"; fewer in {counted(len(affected) - 1, 'more cell')}" if len(affected) > 1 else ""
    return [f"{SLOW_LAUNCHES}: {slow} of {len(worst.values)}{where}{more}"]


def resemblance_lines(series: Sequence[Series]) -> list[str]:
    """Returns a line on the cells whose successive launches are correlated; empty: no such cells.

    Tests each cell, and each group by the launches' means over cells, which show a common correlation. All tests are
    one family (Holm 1979).
    """
    groups: dict[Hashable, list[Series]] = {}
    for cell in series:
        groups.setdefault(cell.group, []).append(cell)
    tested = [np.log(cell.values) for cell in series]
    tested += [mean_of_launches(cells) for cells in groups.values() if len(cells) > 1]
    certain = np.flatnonzero(holm([resemblance_p(logs) for logs in tested]) <= CORRELATED)
    if not certain.size:
        return []
    strongest = min(max(autocorrelation(tested[int(i)]) for i in certain), 1.0)
    cells = [series[int(i)].cell for i in certain if i < len(series)]
    where = f"in {len(cells)} of {len(series)} cells" if cells else "taken over all cells"
    return [f"{RESEMBLE} {where} (correlation up to {strongest:.1f}): their intervals are wider"]


def mean_of_launches(cells: Sequence[Series]) -> NDArray[np.float64]:
    """Averages the deviations of each launch from its cell's mean over cells, of logarithms; in launch order."""
    deviations: dict[int, list[float]] = {}
    for cell in cells:
        logs = np.log(cell.values)
        for launch, deviation in zip(cell.launches, logs - logs.mean(), strict=True):
            deviations.setdefault(launch, []).append(float(deviation))
    return np.array([math.fsum(deviations[launch]) / len(deviations[launch]) for launch in sorted(deviations)])
