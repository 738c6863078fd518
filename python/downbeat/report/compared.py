"""Chooses what a report compares: the first factor that varies, its values (sides), and the verdicts between them.

The first screen of a report and its first pictures show this contrast. All sides have the same start (synchronizer)
unless the starts are compared. A cell has two names in pictures: `line` is its side, `panel` the other varying factors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from downbeat.comparison.compare import comparison_of
from downbeat.comparison.compared import SYNCHRONIZATION, UNMATCHED, Compared
from downbeat.comparison.summaries import (
    CONFIGURATION,
    described_operations,
    plain_cells,
    value_text,
)
from downbeat.data.cells import NO_PATTERN, Cells
from downbeat.errors import UsageError
from downbeat.output.fields import COMMON_START, synchronizer_name
from downbeat.output.words.comparison import side_text
from downbeat.report.rows import ShownCells, shown
from downbeat.run.experiment import Experiment
from downbeat.tables import Floats, Ints, Table, Texts, column
from downbeat.text import counted

STARTS = "synchronizer"  # the factor that is compared if no other factor varies
COMPARED_FACTORS = ("variant", "library", "environment", "algorithm")  # the first that varies is compared
MAX_SIDES = 4  # that are compared with the first; synchronizers have no limit


class Ratios(Table):
    """Latency of each cell and side, divided by the latency of the first side."""

    line: Texts = column("side")
    panel: Texts = column("operation and other factors that vary, without size")
    operation: Texts = column("operation")
    size: Ints = column("message size", "B")
    ratio: Floats = column("typical ratio to the first side")
    low: Floats = column("lower end of its 95 % interval")
    high: Floats = column("upper end of its 95 % interval")
    launches: Ints = column("launches of the side with fewer", "1")
    verdict: Texts = column("verdict as it is printed, e.g. slower or reads higher")
    reason: Texts = column("reason of the verdict")


@dataclass(frozen=True)
class Contrast:
    """The sides of a comparison.

    Attributes:
        factor: the factor in which the sides differ; `STARTS` also if nothing is compared.
        sides: the values of the factor; each is compared with the first.
        start: the synchronizer of all sides; empty if synchronizers are compared.
        cells: cells without late ranks of all sides; their `line` is the side.
        ratios: a row per cell and side other than the first.
        tables: the verdicts on each side against the first; no entry if the two have no cell in common.
    """

    factor: str
    sides: tuple[str, ...]
    start: str
    cells: ShownCells
    ratios: Ratios
    tables: Mapping[str, Compared] = field(default_factory=dict)

    @property
    def ratio_label(self) -> str:
        """The label of the ratios, e.g. `MPICH / Open MPI`."""
        labels = list(dict.fromkeys(self.ratios.line))
        first = side_text(COMMON_START if self.factor == STARTS else self.sides[0])
        several = f"other {self.factor}" if self.factor != STARTS else "another start"
        above = synchronizer_name(labels[0]) if len(labels) == 1 else several
        return f"{f'after {above}' if self.factor == STARTS and len(labels) == 1 else above} / {first}"

    @property
    def summary(self) -> str:
        """The comparison as part of a title, e.g. `B against A`; empty with a single side."""
        names = self.sides[1:]
        if not names:
            return ""
        if self.factor == "algorithm":
            return counted(len(self.sides), "algorithm")
        first = side_text(self.sides[0])
        more = f"{len(names)} {self.factor}s" if len(names) > 2 else " and ".join(map(synchronizer_name, names))
        return f"{more} against {first}"


def contrast_of(experiment: Experiment) -> Contrast:
    """Compares variants, libraries, environments or algorithms, whichever varies first; else synchronizers."""
    cells = plain_cells(experiment)
    factor = next((name for name in COMPARED_FACTORS if len(set(getattr(cells, name))) > 1), STARTS)
    return sides_by(experiment, factor, cells)


def starts_of(experiment: Experiment) -> Contrast:
    """Compares synchronizers."""
    return sides_by(experiment, STARTS, plain_cells(experiment))


def sides_by(experiment: Experiment, factor: str, cells: Cells) -> Contrast:
    """Compares the values of one factor, from a common start if there is one, else from the first synchronizer."""
    starts = cells.started_by
    first = next((name for name in (COMMON_START, *starts) if (starts == name).any()), "")
    lines = starts
    if factor == STARTS:
        sides = tuple(dict.fromkeys([first, *starts])) if first else ()
    else:
        cells = cells[starts == first]
        lines = np.array([str(value) for value in getattr(cells, factor)], dtype=object)
        sides = tuple(dict.fromkeys(lines))
    other_factors = [name for name in CONFIGURATION if name != factor]
    named = shown(cells, lines, described_operations(cells, other_factors))
    locate = locator(named, other_factors)
    rows, tables = [], {}
    for side in sides[1 : None if factor == STARTS else 1 + MAX_SIDES]:
        try:
            table = comparison_of(experiment, where=conditions_of(cells, factor, lines, (sides[0], side)))
        except UsageError:  # the sides have no cell in common
            continue
        table = table if factor == STARTS else table[table.verdicts.started_by == first]
        table = table[table.verdicts.verdict != UNMATCHED]
        for row, where in enumerate(map(locate, *table_factors(table, other_factors))):
            if where:
                rows.append(ratio_row(side, where, table, row))
        if len(table):
            tables[side] = table
    return Contrast(factor, sides, "" if factor == STARTS else first, named, Ratios.of_tuples(rows), tables)


def conditions_of(
    cells: Cells, factor: str, lines: Texts, pair: tuple[str, str]
) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """Returns the conditions that select two sides: the argument `where` of `comparison_of`."""
    if factor != STARTS:
        return {factor: pair[0]}, {factor: pair[1]}
    rows = [int(np.flatnonzero(lines == side)[0]) for side in pair]
    a, b = ({name: getattr(cells, name)[row] for name in SYNCHRONIZATION} for row in rows)
    return a, b


class Where(NamedTuple):
    """The names of a cell in `Ratios`."""

    panel: str
    operation: str
    size: int


def ratio_row(side: str, where: Where, table: Compared, row: int) -> tuple[object, ...]:
    """Makes a row of `Ratios`; `row` is the row of the table of verdicts."""
    cells = table.verdicts
    launches = min(cells.launches_a[row], cells.launches_b[row])
    launches = 0 if np.isnan(launches) else int(launches)
    ratio = (cells.ratio[row], cells.ratio_low[row], cells.ratio_high[row])
    return (side, *where, *ratio, launches, table.word(str(cells.verdict[row])), cells.reason[row])


def table_factors(table: Compared, other_factors: Sequence[str]) -> tuple[list[tuple[object, ...]], list[bool]]:
    """Lists the factors of each cell, operation and size first, and True for cells without late ranks."""
    cells = table.verdicts
    patterned = (cells.pattern != NO_PATTERN) if "pattern" in table.factors else np.zeros(len(cells), dtype=bool)
    return cells.values("operation", "size", *other_factors), (~patterned).tolist()


def cell_name(panel: object, size: object) -> str:
    """Returns the name of a cell in a text: its panel, then its size if it has one."""
    return f"{panel}, {value_text('size', size)}" if size else str(panel)


def locator(cells: ShownCells, other_factors: Sequence[str]) -> Callable[[tuple[object, ...], bool], Where | None]:
    """Makes a function from the factors of a cell to its names in pictures; None for cells that are not shown."""
    names = zip(cells.panel, cells.operation, cells.size, strict=True)
    by_factors = dict(zip(cells.values("operation", "size", *other_factors), names, strict=True))

    def locate(factors: tuple[object, ...], plain: bool) -> Where | None:
        return Where(*by_factors[factors]) if plain and factors in by_factors else None

    return locate
