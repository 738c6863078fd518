"""What an experiment compares: its sides, from one start, in the state of the machine that most cells were measured in.

The first screen of a report, and its first pictures, are of this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from downbeat.comparison.compare import comparison_of
from downbeat.comparison.compared import SYNCHRONIZATION, UNMATCHED, Compared, start_word
from downbeat.comparison.states import main_states
from downbeat.comparison.summaries import (
    CONFIGURATION,
    REFERENCE,
    described_operations,
    plain_cells,
    value_text,
)
from downbeat.data.cells import NO_PATTERN, STATE, Cells
from downbeat.data.states import LINE, MESSAGE, state_text
from downbeat.errors import UsageError
from downbeat.report.rows import ShownCells, shown
from downbeat.run.experiment import Experiment
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.statistics.verdicts import FEWEST_LAUNCHES
from downbeat.tables import Flags, Floats, Ints, Table, Texts, column
from downbeat.text import counted

STARTS = "synchronizer"  # the factor that is compared if the user compared nothing else
ASKED = ("variant", "library", "environment", "algorithm")  # what users compare, the first that varies
MOST_SIDES = 4  # beside the first, of variants, libraries, environments
COMMON = "a common start"


class Ratios(Table):
    """The latencies of sides, divided by the first side's."""

    line: Texts = column("side")
    panel: Texts = column("what else the cell is, without size and state")
    operation: Texts = column("operation")
    size: Ints = column("message size", "B")
    state: Texts = column("state of the machine")
    main: Flags = column("whether it is of the state of the machine that most cells are of")
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
        """What the ratios are of."""
        others = list(dict.fromkeys(self.ratios.line))
        first = COMMON if self.factor == STARTS else self.sides[0]
        several = f"other {self.factor}" if self.factor != STARTS else "another start"
        above = start_word(others[0]) if len(others) == 1 else several
        return f"{f'after {above}' if self.factor == STARTS and len(others) == 1 else above} / {first}"

    @property
    def said(self) -> str:
        """What is compared, in words; empty for nothing."""
        others = self.sides[1:]
        if not others:
            return ""
        if self.factor == "algorithm":
            return counted(len(self.sides), "algorithm")
        first = COMMON if self.sides[0] == REFERENCE else self.sides[0]
        more = f"{len(others)} {self.factor}s" if len(others) > 2 else " and ".join(map(start_word, others))
        return f"{more} against {first}"


def contrast_of(experiment: Experiment) -> Contrast:
    """Returns what a user compared: variants, libraries, environments, algorithms; if nothing of these, starts."""
    cells = plain_cells(experiment)
    factor = next((name for name in ASKED if len(set(getattr(cells, name))) > 1), STARTS)
    return sides_by(experiment, factor, cells)


def starts_of(experiment: Experiment) -> Contrast:
    """Returns how starts compare."""
    return sides_by(experiment, STARTS, plain_cells(experiment))


def sides_by(experiment: Experiment, factor: str, cells: Cells) -> Contrast:
    """Returns the comparison of the values of one factor."""
    starts = cells.started_by
    first = next((name for name in (REFERENCE, *starts) if (starts == name).any()), "")
    lines = starts
    if factor == STARTS:
        sides = tuple(dict.fromkeys([first, *starts])) if first else ()
    else:
        cells = cells[starts == first]
        lines = np.array([str(one) for one in getattr(cells, factor)], dtype=object)
        sides = tuple(dict.fromkeys(lines))
    rest = [name for name in CONFIGURATION if name not in (factor, STATE)]
    named = shown(cells, lines, described_operations(cells, rest), in_main_state(cells))
    place = places_of(named, rest)
    rows, tables = [], {}
    for side in sides[1 : None if factor == STARTS else 1 + MOST_SIDES]:
        try:
            table = comparison_of(experiment, where=conditions_of(cells, factor, lines, (sides[0], side)))
        except UsageError:  # they share no cell
            continue
        table = table if factor == STARTS else table[table.verdicts.started_by == first]
        table = table[table.verdicts.verdict != UNMATCHED]
        for row, where in enumerate(map(place, *table_factors(table, rest))):
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
    state: str
    main: bool


def ratio_row(side: str, where: Where, table: Compared, row: int) -> tuple[object, ...]:
    """A row of `Ratios`."""
    cells = table.verdicts
    launches = min(cells.launches_a[row], cells.launches_b[row])
    launches = 0 if np.isnan(launches) else int(launches)
    ratio = (cells.ratio[row], cells.ratio_low[row], cells.ratio_high[row])
    return (side, *where, *ratio, launches, table.word(str(cells.verdict[row])), cells.reason[row])


def table_factors(table: Compared, rest: Sequence[str]) -> tuple[list[tuple[object, ...]], list[bool]]:
    """What identifies each cell of a table, and whether it has no arrival pattern."""
    cells = table.verdicts
    patterned = (cells.pattern != NO_PATTERN) if "pattern" in table.factors else np.zeros(len(cells), dtype=bool)
    return cells.values("operation", "size", *rest, STATE), (~patterned).tolist()


def cell_name(panel: object, size: object) -> str:
    """Returns what a cell is called."""
    return f"{panel}, {value_text('size', size)}" if size else str(panel)


def places_of(cells: ShownCells, rest: Sequence[str]) -> Callable[[tuple[object, ...], bool], Where | None]:
    """A function that finds what a cell is called by its factors; None for cells that are not shown."""
    names = zip(cells.panel, cells.operation, cells.size, cells.state, cells.main, strict=True)
    found = dict(zip(cells.values("operation", "size", *rest, STATE), names, strict=True))

    def place(factors: tuple[object, ...], plain: bool) -> Where | None:
        return Where(*found[factors]) if plain and factors in found else None

    return place


def in_main_state(cells: Cells) -> Flags:
    """The cells of the main state of the machine, as the end of a run has it."""
    main = main_states(cells)
    return np.array([pair in main for pair in cells.values("ranks", STATE)], dtype=bool)


def state_lines(cells: Cells) -> list[str]:
    """Says in which states of the machine cells are, the main one first: nothing where one is known, or none."""
    found = []
    for (_, path), group in cells[cells.state != ""].groups(
        *(one[cells.state != ""] for one in (cells.ranks, cells.canary_path))
    ):
        for state, rows in group.groups(group.state):
            launches = set(zip(*(getattr(rows, name) for name in LAUNCH_FACTORS), rows.launch, strict=True))
            deepest = max(Counter(launch[:-1] for launch in launches).values())
            text = f"state {state_text(state)} of this machine ({MESSAGE if path not in ('', LINE) else LINE})"
            few = ": too few for verdicts" if deepest < FEWEST_LAUNCHES else ""
            found.append((len(rows), f"{text}, {counted(len(launches), 'launch')}{few}"))
    return [text for _, text in sorted(found, key=lambda one: -one[0])]
