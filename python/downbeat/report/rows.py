"""Tables for the pictures and findings of a report: named cells, their latency over launches, cells with late ranks.

A cell is an operation and size with one algorithm, synchronizer and arrival pattern; every launch measures all cells.
`line` and `panel` name a cell in pictures: its side of the comparison or synchronizer, and the other factors that vary.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from downbeat.comparison.compared import SYNCHRONIZATION
from downbeat.comparison.summaries import (
    CONFIGURATION,
    MAX_OPERATIONS,
    described,
    positive_interval,
)
from downbeat.data.cells import NO_PATTERN, Cells, Summaries
from downbeat.statistics.location import Interval
from downbeat.tables import Flags, Floats, Ints, Table, Texts, column, grouped
from downbeat.text import MICROSECONDS


def by_operation(operations: Texts) -> Iterator[tuple[str, Flags]]:
    """Yields each of the first `MAX_OPERATIONS` operations with a mask of its rows."""
    for operation in list(dict.fromkeys(operations))[:MAX_OPERATIONS]:
        yield str(operation), np.asarray(operations == operation)


class ShownCells(Cells):
    """Cells with their names in pictures and findings."""

    line: Texts = column("side of the comparison, or synchronizer")
    panel: Texts = column("operation and other factors that vary, without size")


def shown(cells: Cells, line: Texts, panel: Texts) -> ShownCells:
    """Adds names to cells."""
    return ShownCells.of(cells.frame().assign(line=line, panel=panel))


def typical_median(summaries: Summaries) -> Interval:
    """Returns the typical launch's median; the step of the clock widens its interval."""
    return positive_interval(summaries.median_s, float(summaries.hidden_s.mean()))


class Latencies(Table):
    """The latency of each cell over launches: the typical launch's median with its 95 % interval, and quantiles.

    NaN where a value of a launch is missing or not positive.
    """

    panel: Texts = column("operation and other factors that vary, without size")
    line: Texts = column("side of the comparison, or synchronizer")
    operation: Texts = column("operation")
    size: Ints = column("message size", "B")
    ranks: Ints = column("processes", "1")
    algorithm: Texts = column("algorithm")
    median_us: Floats = column("typical launch's median", "us")
    low_us: Floats = column("lower end of its interval", "us")
    high_us: Floats = column("upper end of its interval", "us")
    launches: Ints = column("launches", "1")
    mean_us: Floats = column("typical launch's mean", "us")
    p5_us: Floats = column("typical launch's 5th percentile", "us")
    p25_us: Floats = column("typical launch's 25th percentile", "us")
    p75_us: Floats = column("typical launch's 75th percentile", "us")
    p95_us: Floats = column("typical launch's 95th percentile", "us")

    def named(self, **names: str) -> pd.DataFrame:
        """Returns the frame of the numbers of a picture.

        Args:
            names: column of this table -> its name in the frame. The median, its interval, the number of launches and
                the quantiles follow these.
        """
        numbers = [field.name for field in self.columns() if field.name.endswith("_us")]
        numbers.insert(3, "launches")
        return self.frame()[[*names, *numbers]].rename(columns=names)


def latencies(cells: ShownCells, metric: str) -> Latencies:
    """Returns the latencies of cells over launches, by panel, line, operation, size, ranks and algorithm."""
    summaries = cells.metric(metric)
    rows = []
    keys = (cells.panel, cells.line, cells.operation, cells.size, cells.ranks, cells.algorithm)
    for key, group in summaries.groups(*keys):
        median = typical_median(group)
        quantities = (group.mean_s, group.p5_s, group.p25_s, group.p75_s, group.p95_s)
        ends = [median.estimate, median.low, median.high]
        typical = [positive_interval(values).estimate for values in quantities]
        times = [seconds * MICROSECONDS for seconds in (*ends, *typical)]
        rows.append((*key, *times[:3], median.count, *times[3:]))
    return Latencies.of_tuples(rows)


class LateCells(Table):
    """Cells with a delay, and the time of the same cell and launch without one."""

    name: Texts = column("start and configuration, as far as they vary")
    operation: Texts = column("operation")
    configuration: Texts = column("all factors of the cell except delay and pattern")
    pattern: Texts = column("arrival pattern")
    delay_number: Ints = column("number of the delay in its pattern, by length, from 1; delays in s differ by launch")
    delay_s: Floats = column("measured delay of the latest rank", "s")
    time_s: Floats = column("global time", "s")
    time_without_s: Floats = column("global time without the delay", "s")

    @property
    def hidden_s(self) -> Floats:
        """The share of the delay that the operation hides, s."""
        return self.time_without_s + self.delay_s - self.time_s

    @property
    def benefit(self) -> Floats:
        """Overlap benefit (Niethammer 2016, Eq. 5)."""
        return self.hidden_s / self.time_s

    @property
    def share(self) -> Floats:
        """The hidden share of the shorter of delay and operation; NaN where that is 0."""
        shorter = np.minimum(self.time_without_s, self.delay_s)
        return self.hidden_s / np.where(shorter > 0, shorter, np.nan)


def late_cells(cells: Cells) -> LateCells:
    """Pairs each cell that has a delay with the same cell of its launch without one; drops cells without a pair."""
    time, delay = cells.metric("global_time").median_s, cells.metric("imbalance_worst").median_s
    same = [getattr(cells, name) for name in (*CONFIGURATION, "operation", "size", *SYNCHRONIZATION)]
    keys = list(zip(*same, cells.launch, strict=True))
    without: dict[object, float] = {}
    for row in np.flatnonzero(cells.pattern == NO_PATTERN):
        without.setdefault(keys[row], time[row])
    rows = np.array([row for row in np.flatnonzero(cells.pattern != NO_PATTERN) if keys[row] in without], dtype=int)
    late = cells[rows]
    delay_numbers = np.zeros(len(rows), dtype=int)
    for _, group in grouped([keys[row] for row in rows], late.pattern):
        delay_numbers[group] = np.unique(late.largest_delay[group], return_inverse=True)[1] + 1
    values = {name: getattr(late, name) for name in (*CONFIGURATION, "size")}
    names = np.array([""] * len(rows), dtype=object)
    for _, group in grouped(late.operation):
        names[group] = described(
            {"line": late.started_by[group]} | {name: column[group] for name, column in values.items()}
        )
    return LateCells(
        name=names,
        operation=late.operation,
        configuration=np.array([str(keys[row][:-1]) for row in rows], dtype=object),
        pattern=late.pattern,
        delay_number=delay_numbers,
        delay_s=delay[rows],
        time_s=time[rows],
        time_without_s=np.array([without[keys[row]] for row in rows], dtype=float),
    )


def overlapping(cells: Cells) -> Cells:
    """Selects cells that overlap their operation with computation, and whose overlap is known."""
    return cells[(cells.computation > 0) & ~np.isnan(cells.overlap_window)]
