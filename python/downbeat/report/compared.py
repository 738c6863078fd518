"""What an experiment compares: its sides, from one start.

The first screen of a report, and its first pictures, are of this.
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

STARTS = "synchronizer"  # the factor that is compared if the user compared nothing else
ASKED = ("variant", "library", "environment", "algorithm")  # what users compare, the first that varies
MAX_SIDES = 4  # beside the first, of variants, libraries, environments


class Ratios(Table):
    """The latencies of sides, divided by the first side's."""

    line: Texts = column("side")
    panel: Texts = column("what else the cell is, without size")
    operation: Texts = column("operation")
    size: Ints = column("message size", "B")
    ratio: Floats = column("typical ratio to the first side")
    low: Floats = column("lower end of its 95 % interval")
    high: Floats = column("upper end of its 95 % interval")
    launches: Ints = column("launches of the side with fewer", "1")
    verdict: Texts = column("verdict, in words")
    reason: Texts = column("why there is no other verdict")


@dataclass(frozen=True)
class Contrast:
    """The sides of a comparison.

    Attributes:
        factor: what the sides differ in; `STARTS` also where nothing is compared.
        sides: their names; the others are compared with the first.
        start: what all sides start from; empty if starts are compared.
        cells: plain cells of the sides; `line`: their side.
        ratios: of each cell and side other than the first to the first.
        tables: by side, the verdicts against the first one.
    """

    factor: str
    sides: tuple[str, ...]
    start: str
    cells: ShownCells
    ratios: Ratios
    tables: Mapping[str, Compared] = field(default_factory=dict)

    @property
    def ratio_label(self) -> str:
        """The label of the ratios: `B / A`."""
        labels = list(dict.fromkeys(self.ratios.line))
        first = side_text(COMMON_START if self.factor == STARTS else self.sides[0])
        several = f"other {self.factor}" if self.factor != STARTS else "another start"
        above = synchronizer_name(labels[0]) if len(labels) == 1 else several
        return f"{f'after {above}' if self.factor == STARTS and len(labels) == 1 else above} / {first}"

    @property
    def summary(self) -> str:
        """The comparison in words; empty with a single side."""
        names = self.sides[1:]
        if not names:
            return ""
        if self.factor == "algorithm":
            return counted(len(self.sides), "algorithm")
        first = side_text(self.sides[0])
        more = f"{len(names)} {self.factor}s" if len(names) > 2 else " and ".join(map(synchronizer_name, names))
        return f"{more} against {first}"


def contrast_of(experiment: Experiment) -> Contrast:
    """The comparison of variants, libraries, environments or algorithms, the first that varies; else of starts."""
    cells = plain_cells(experiment)
    factor = next((name for name in ASKED if len(set(getattr(cells, name))) > 1), STARTS)
    return sides_by(experiment, factor, cells)


def starts_of(experiment: Experiment) -> Contrast:
    """The comparison of starts."""
    return sides_by(experiment, STARTS, plain_cells(experiment))


def sides_by(experiment: Experiment, factor: str, cells: Cells) -> Contrast:
    """Returns the comparison of the values of one factor."""
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
        except UsageError:  # they share no cell
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
    """The conditions that select two sides, as `comparison_of` has them."""
    if factor != STARTS:
        return {factor: pair[0]}, {factor: pair[1]}
    rows = [int(np.flatnonzero(lines == side)[0]) for side in pair]
    a, b = ({name: getattr(cells, name)[row] for name in SYNCHRONIZATION} for row in rows)
    return a, b


class Where(NamedTuple):
    """What a cell is called."""

    panel: str
    operation: str
    size: int


def ratio_row(side: str, where: Where, table: Compared, row: int) -> tuple[object, ...]:
    """A row of `Ratios`."""
    cells = table.verdicts
    launches = min(cells.launches_a[row], cells.launches_b[row])
    launches = 0 if np.isnan(launches) else int(launches)
    ratio = (cells.ratio[row], cells.ratio_low[row], cells.ratio_high[row])
    return (side, *where, *ratio, launches, table.word(str(cells.verdict[row])), cells.reason[row])


def table_factors(table: Compared, other_factors: Sequence[str]) -> tuple[list[tuple[object, ...]], list[bool]]:
    """What identifies each cell of a table, and whether it has no arrival pattern."""
    cells = table.verdicts
    patterned = (cells.pattern != NO_PATTERN) if "pattern" in table.factors else np.zeros(len(cells), dtype=bool)
    return cells.values("operation", "size", *other_factors), (~patterned).tolist()


def cell_name(panel: object, size: object) -> str:
    """The name of a cell."""
    return f"{panel}, {value_text('size', size)}" if size else str(panel)


def locator(cells: ShownCells, other_factors: Sequence[str]) -> Callable[[tuple[object, ...], bool], Where | None]:
    """A function from the factors of a cell to its position in pictures; None for cells that are not shown."""
    names = zip(cells.panel, cells.operation, cells.size, strict=True)
    by_factors = dict(zip(cells.values("operation", "size", *other_factors), names, strict=True))

    def locate(factors: tuple[object, ...], plain: bool) -> Where | None:
        return Where(*by_factors[factors]) if plain and factors in by_factors else None

    return locate
