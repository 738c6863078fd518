"""What an experiment compares: its sides, from one start, in the state of the machine that most cells were measured in.

The first screen of a report, and its first pictures, are of this.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from downbeat.comparison.compare import comparison_of
from downbeat.comparison.compared import READINGS, UNMATCHED, Compared
from downbeat.comparison.ending import main_states
from downbeat.comparison.questions import AgainstStart, against_start
from downbeat.comparison.summaries import (
    CONFIGURATION,
    REFERENCE,
    SYNCHRONIZATION,
    value_text,
)
from downbeat.data.cells import NO_PATTERN, STATE, Cells
from downbeat.data.states import LINE, MESSAGE, state_text
from downbeat.errors import UsageError
from downbeat.report.rows import ShownCells, described_operations, shown
from downbeat.run.experiment import Experiment
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.statistics.location import Interval
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
        tables: by side, the verdicts of the main state; empty if starts are compared.
        judged: cells of the main state against the common start, if starts are compared.
    """

    factor: str
    sides: tuple[str, ...]
    start: str
    cells: ShownCells
    ratios: Ratios
    tables: Mapping[str, Compared] = field(default_factory=dict)
    judged: tuple[AgainstStart, ...] = ()

    @property
    def ratio_label(self) -> str:
        """What the ratios are of."""
        others = list(dict.fromkeys(self.ratios.line))
        first = COMMON if self.factor == STARTS else self.sides[0]
        above = others[0] if len(others) == 1 else f"other {self.factor}" if self.factor != STARTS else "another start"
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
        more = f"{len(others)} {self.factor}s" if len(others) > 2 else " and ".join(others)
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
    among = {name: getattr(cells, name)[0] for name in SYNCHRONIZATION} if factor != STARTS else {}
    found = Contrast(factor, sides, "" if factor == STARTS else first, named, Ratios.of_tuples([]))
    place = places_of(named, rest)
    if factor == STARTS:
        judged = [one for one in against_start(experiment) if place(one.factors)]
        rows = [
            ratio_row(
                one.synchronizer,
                place(one.factors),
                one.comparison.ratio,
                min(one.comparison.launches),
                READINGS.get(one.comparison.verdict, one.comparison.verdict),
                one.comparison.reason,
            )
            for one in judged
        ]
        kept = tuple(
            dataclasses.replace(one, cell=cell_name(where.panel, where.size))  # of one state, which needs no name
            for one in judged
            for where in [place(one.factors)]
            if where and where.main
        )
        return dataclasses.replace(found, ratios=Ratios.of_tuples(rows), judged=kept)
    rows, tables = [], {}
    for side in sides[1 : 1 + MOST_SIDES]:
        try:
            table = comparison_of(experiment, where=({factor: sides[0]}, {factor: side}))  # judged as elsewhere
        except UsageError:  # they share no cell
            continue
        for name, value in among.items():
            table = table.within(name, value)
        table = table[table.verdicts.verdict != UNMATCHED]
        cells_of_table = [{str(name): value for name, value in row.items()} for row in table.frame().to_dict("records")]
        kept_rows = [place(row) for row in cells_of_table]
        for row, where in zip(cells_of_table, kept_rows, strict=True):
            if where:
                ratio, low, high = (float(str(row[name])) for name in ("ratio", "ratio_low", "ratio_high"))
                launches = min(row["launches_a"], row["launches_b"])
                rows.append(
                    ratio_row(side, where, Interval(ratio, low, high, 0), launches, row["verdict"], row["reason"])
                )
        main = [where is not None and where.main for where in kept_rows]
        if any(main):
            tables[side] = table[np.array(main)]
    return dataclasses.replace(found, ratios=Ratios.of_tuples(rows), tables=tables)


class Where(NamedTuple):
    """What a cell is called."""

    panel: str
    operation: str
    size: int
    state: str
    main: bool


def ratio_row(
    line: str, where: Where | None, ratio: Interval, launches: object, verdict: object, reason: object
) -> tuple[object, ...]:
    """A row of `Ratios`."""
    where = where or Where("", "", 0, "", False)
    return (line, *where, ratio.estimate, ratio.low, ratio.high, launches, verdict, reason)


def cell_name(panel: object, size: object) -> str:
    """Returns what a cell is called."""
    return f"{panel}, {value_text('size', size)}" if size else str(panel)


def places_of(cells: ShownCells, rest: Sequence[str]) -> Callable[[Mapping[str, object]], Where | None]:
    """Returns a function that finds what the cell with given factors is called; None for cells that are not shown."""
    names = ["operation", "size", *rest, STATE]
    places = zip(cells.panel, cells.operation, cells.size, cells.state, cells.main, strict=True)
    found = dict(zip(zip(*(getattr(cells, name) for name in names), strict=True), places, strict=True))

    def place(factors: Mapping[str, object]) -> Where | None:
        plain = factors.get("pattern", NO_PATTERN) == NO_PATTERN and not factors.get("computation", 0)
        where = found.get(tuple(factors[name] for name in names)) if plain else None
        return Where(*where) if where else None

    return place


def in_main_state(cells: Cells) -> Flags:
    """The cells of the main state of the machine, as the end of a run has it."""
    main = main_states(cells.frame())
    return np.array([pair in main for pair in zip(cells.ranks, cells.state, strict=True)], dtype=bool)


def plain_cells(experiment: Experiment) -> Cells:
    """The plain cells of an experiment."""
    cells = experiment.cell_table
    return cells[cells.plain]


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
