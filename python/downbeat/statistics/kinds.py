"""Lines on inhomogeneous launches: slow launches, and correlation of successive launches."""

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
CORRELATED = 0.05  # usual level; the share of experiments with independent launches that are called correlated


@dataclass(frozen=True)
class Series:
    """The values behind an interval over launches.

    Attributes:
        cell: name of the cell.
        group: what the cells of a launch share; a slow launch slows all cells of its group.
        launches: numbers of the launches, in order.
        values: a number per launch, above 0: medians, or ratios of pairs.
    """

    cell: str
    group: Hashable
    launches: tuple[int, ...]
    values: NDArray[np.float64]


def kind_lines(series: Sequence[Series]) -> list[str]:
    """Lines on slow launches and on correlated successive launches, if any.

    Args:
        series: of all cells that are shown together.

    Returns:
        Lines for people; none where launches are alike.
    """
    return [*slow_lines(series), *resemblance_lines(series)]


def is_kind_line(line: str) -> bool:
    """Whether a line is from `resemblance_lines`."""
    return RESEMBLE in line


def slow_lines(series: Sequence[Series]) -> list[str]:
    """A line on the cell with the largest share of slow launches, if any."""
    counts = [(int(slow_launches(cell.values).sum()), cell) for cell in series]
    some = [(slow, cell) for slow, cell in counts if slow]
    if not some:
        return []
    slow, most = max(some, key=lambda each: each[0] / len(each[1].values))
    where = f" in {most.cell}" if most.cell else ""
    more = f"; fewer in {counted(len(some) - 1, 'more cell')}" if len(some) > 1 else ""
    return [f"{SLOW_LAUNCHES}: {slow} of {len(most.values)}{where}{more}"]


def resemblance_lines(series: Sequence[Series]) -> list[str]:
    """A line on the cells whose successive launches are correlated, if any.

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
    """The deviation of each launch from the mean of a cell, of logarithms, averaged over cells; in launch order."""
    deviations: dict[int, list[float]] = {}
    for cell in cells:
        logs = np.log(cell.values)
        for launch, deviation in zip(cell.launches, logs - logs.mean(), strict=True):
            deviations.setdefault(launch, []).append(float(deviation))
    return np.array([math.fsum(deviations[launch]) / len(deviations[launch]) for launch in sorted(deviations)])
