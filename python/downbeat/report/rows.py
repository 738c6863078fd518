"""The rows that pictures and findings are made of: names of cells, groups of them, and what launches have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from downbeat.comparison.summaries import MOST_OPERATIONS, positive_interval, value_text
from downbeat.data.cells import Cells, Summaries
from downbeat.statistics.location import Interval
from downbeat.tables import Floats, Ints, Table, Texts, column, grouped


def described(factors: Mapping[str, Sequence[object]]) -> Texts:
    """For each row the values of the factors that vary: `mpich, 4 ranks, 64K bytes`.

    Args:
        factors: their values by name, one for each row.
    """
    varying = {name: values for name, values in factors.items() if len(set(values)) > 1}
    texts = [[value_text(name, value) for value in values] for name, values in varying.items()]
    rows = len(next(iter(factors.values())))
    return np.array([", ".join(row) for row in zip(*texts, strict=True)] if texts else [""] * rows, dtype=object)


def described_cells(cells: Table, factors: Sequence[str]) -> Texts:
    """For each cell the values of the factors, columns of it, that vary."""
    return described({name: getattr(cells, name) for name in factors})


def described_operations(cells: Cells, factors: Sequence[str]) -> Texts:
    """For each cell its operation, and the values of the factors that vary among cells of that."""
    texts = np.array([""] * len(cells), dtype=object)
    for operation, rows in grouped(cells.operation):
        rest = described_cells(cells[rows], factors)
        texts[rows] = [f"{operation}, {one}" if one else operation for one in rest]
    return texts


def by_operation(cells: Cells) -> Iterator[tuple[str, Cells]]:
    """The operations that get a picture of their own, with their cells: the first `MOST_OPERATIONS`."""
    for operation in list(dict.fromkeys(cells.operation))[:MOST_OPERATIONS]:
        yield str(operation), cells[cells.operation == operation]


class Typical(Table):
    """The typical launch of each group, with its 95 % interval; NaN where a value is missing or not positive."""

    estimate: Floats = column("typical launch")
    low: Floats = column("lower end of the interval")
    high: Floats = column("upper end of the interval")
    launches: Ints = column("launches of the group", "1")


def typical_of(intervals: Sequence[Interval], scale: float = 1.0) -> Typical:
    """The table of intervals, times a scale."""
    ends = np.array([(one.estimate, one.low, one.high) for one in intervals], dtype=float).reshape(-1, 3) * scale
    counts = np.array([one.count for one in intervals], dtype=np.int64)
    return Typical(estimate=ends[:, 0], low=ends[:, 1], high=ends[:, 2], launches=counts)


def typical_median(summaries: Summaries) -> Interval:
    """The typical launch's median, with an interval that is wider by what the step of the clock hides."""
    return positive_interval(summaries.median_s, float(summaries.hidden_s.mean()))
