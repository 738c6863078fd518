"""Selects the cells of the sides of a comparison: A, B, and the sessions of a history."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.comparison.conditions import select
from downbeat.data.cells import CANARY_HIGH, CANARY_LOW, OK, STATE, Cells, Factors
from downbeat.data.readers.kinds import is_rate
from downbeat.data.states import with_states
from downbeat.errors import UsageError
from downbeat.run.experiment import FACTORS, Experiment, start_of
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.run.tool_results import ToolExperiment
from downbeat.tables import Flags, Floats, Ints, Table, Texts, column

Side = Experiment | pd.DataFrame
Conditions = Mapping[str, object]
# Names that users choose; two experiments may use different names for the same library or environment.
LABELS = ("library", "environment")


class Launches(Table):
    """Values of cells of one side, a row per launch and cell."""

    launch: Ints = column("number of the launch")
    status: Texts = column("status of the cell in this launch")
    counts: Flags = column("true if the value counts for verdicts")
    value: Floats = column("the number that is compared", "s")
    uncertainty: Floats = column("largest change of the value by the clocks", "s")
    session: Texts = column("name of the session of a history; empty for A and B")

    @property
    def hidden(self) -> float:
        """Mean uncertainty, s; NaN if it is unknown for all launches."""
        known = self.uncertainty[~np.isnan(self.uncertainty)]
        return float(known.mean()) if known.size else math.nan


class SideCells(Factors, Launches):
    """The cells of one side, a row per launch and cell."""

    canary_path: Texts = column("path of the round trips that were measured around its blocks; empty without any")
    canary_low: Floats = column("smallest of these round trips", "s")
    canary_high: Floats = column("largest of these round trips", "s")

    def once_per_launch(self, key: Sequence[str]) -> SideCells:
        """Selects the first row of each launch and cell; the factors `key` identify a cell."""
        first: dict[object, int] = {}
        for row, cell_and_launch in enumerate(zip(self.values(*key), self.launch.tolist(), strict=True)):
            first.setdefault(cell_and_launch, row)
        return self[np.array(list(first.values()), dtype=int)]

    def by_cell(self, key: Sequence[str]) -> dict[tuple[object, ...], Launches]:
        """Returns values of the factors `key` -> launches of the cell; skips rows with NaN in a factor."""
        names = [field.name for field in Launches.columns()]
        rows_of: dict[tuple[object, ...], list[int]] = {}
        for row, cell in enumerate(self.values(*key)):
            if all(value == value for value in cell):  # no NaN
                rows_of.setdefault(cell, []).append(row)
        columns = {name: getattr(self, name) for name in names}
        return {
            cell: Launches(**{name: column[rows] for name, column in columns.items()}) for cell, rows in rows_of.items()
        }


@dataclass(frozen=True)
class Sides:
    """The cells that are compared.

    Attributes:
        a: cells of A; if the history is A, of all sessions.
        b: cells of B.
        past: cells of all sessions; None without a history.
        of_a: experiment or frame of A.
        of_b: experiment or frame of B.
        history: name -> experiment of a session.
        history_is_a: True if B is compared with the history only.
        same: True if A and B are of one experiment.
        paired: True if launches are compared in pairs.
        compared: factors in which A and B differ.
        metric: metric of the values.
        names: names of A and B.
    """

    a: SideCells
    b: SideCells
    past: SideCells | None
    of_a: Side
    of_b: Side
    history: Mapping[str, Side]
    history_is_a: bool
    same: bool
    paired: bool
    compared: set[str]
    metric: str
    names: tuple[str, str]

    @property
    def key(self) -> list[str]:
        """The factors on which cells are matched.

        Not `computation`: the name of the operation has it, and with `compute=auto` its time differs by launch.
        """
        return [name for name in FACTORS if name not in self.compared and name != "computation"]

    def values(self, cells: SideCells) -> dict[str, object]:
        """Returns compared factor -> value of a side."""
        return {name: getattr(cells, name).tolist()[0] for name in FACTORS if name in self.compared}

    def mismatch(self) -> str:
        """Returns the first factor whose values differ between A and B, with the values."""
        for name in self.key:
            values = [dict.fromkeys(getattr(side, name).tolist()) for side in (self.a, self.b)]
            if values[0].keys() & values[1].keys():
                continue
            return f"{name} is {' / '.join(', '.join(map(str, side)) for side in values)}"
        return "they share values of each factor, but no combination of values"


def sides_of(
    a: Side,
    b: Side | None,
    history: Sequence[Side] | None,
    conditions: tuple[Conditions, Conditions],
    metric: str,
    statistic: str,
) -> Sides:
    """Selects the cells of both sides and of the history, and names the states of the machine for all together.

    Raises:
        UsageError: the conditions make no comparison, or no cell meets a condition.
    """
    other = a if b is None else b
    history_is_a = history is not None and b is None
    same = not history_is_a and is_same(a, other)
    check_conditions(conditions, same and b is None, same and history is not None)
    cells_b = select(measured_of(other, metric, statistic), conditions[1])
    sessions = names_of_history(history or ())
    past = None
    if history is not None:
        # Older versions of downbeat-bench lack some metrics; sessions without the metric are left out.
        tables = {
            name: measured_of(session, metric, statistic)
            for name, session in sessions.items()
            if not isinstance(session, Experiment) or any(metric in launch.metrics for launch in session.launches)
        }
        past = history_cells(tables, conditions[0]) or cells_b[:0]
    if past is not None and history_is_a:
        cells_a, cells_b = in_common_states(past, cells_b)
        past = cells_a
    else:
        cells_a = select(measured_of(a, metric, statistic), conditions[0])
        if not (same and isinstance(a, Experiment)):  # one experiment has named the states of all its cells already
            cells_a, cells_b, *pasts = in_common_states(cells_a, cells_b, *([] if past is None else [past]))
            past = pasts[0] if pasts else None
    candidates = set(conditions[0]) if same else {*conditions[0], *LABELS}
    compared = {name for name in candidates if differs(getattr(cells_a, name), getattr(cells_b, name))}
    if past is not None and not history_is_a:
        past = alike(past, cells_a, compared)
    if same and not compared:  # A and B are the same cells: the clocks cannot change their ratio
        cells_a, cells_b = (cells.replaced(uncertainty=np.zeros(len(cells))) for cells in (cells_a, cells_b))
    # Pairs need launches of A and B in turn, in rounds of a plan.
    in_turn = compared.isdisjoint(LAUNCH_FACTORS) or (isinstance(a, Experiment) and a.plan is not None)
    return Sides(
        a=cells_a,
        b=cells_b,
        past=past,
        of_a=a,
        of_b=other,
        history=sessions,
        history_is_a=history_is_a,
        same=same,
        paired=same and in_turn,
        compared=compared,
        metric=metric,
        names=("history", names_of_sides(a, other)[1]) if history_is_a else names_of_sides(a, other),
    )


def check_conditions(conditions: tuple[Conditions, Conditions], alone: bool, useless_history: bool) -> None:
    """Checks the conditions on A and B.

    Args:
        conditions: factor -> value, of A and of B.
        alone: True if A and B can differ only by the conditions.
        useless_history: True if A and B are of one experiment and there is a history.

    Raises:
        UsageError: the conditions make no comparison.
    """
    if set(conditions[0]) != set(conditions[1]):
        raise UsageError(
            "conditions of A and B must name the same factors, e.g. synchronizer=linear synchronizer=harmonize"
        )
    if alone and not conditions[0]:
        raise UsageError("comparing within one experiment takes two conditions, e.g. size=8 size=16")
    if useless_history:
        raise UsageError("A and B are of one experiment; a history applies to experiments at different times")


def is_same(a: Side, b: Side) -> bool:
    if isinstance(a, Experiment) and isinstance(b, Experiment):
        return a.path.resolve() == b.path.resolve()
    return a is b


def names_of_sides(a: Side, b: Side) -> tuple[str, str]:
    """Returns the names of A and B; their paths if two experiments have the same name."""
    if isinstance(a, Experiment) and isinstance(b, Experiment) and a.name == b.name and not is_same(a, b):
        return str(a.path), str(b.path)
    return a.name if isinstance(a, Experiment) else "A", b.name if isinstance(b, Experiment) else "B"


def names_of_history(history: Sequence[Side]) -> dict[str, Side]:
    """Returns name -> experiment, the oldest first; the name is the directory's if it is unique, else the path."""
    history = in_order_of_time(history)
    counts = Counter(side.path.name for side in history if isinstance(side, Experiment))
    return {
        (side.path.name if counts[side.path.name] == 1 else str(side.path))
        if isinstance(side, Experiment)
        else str(i): side
        for i, side in enumerate(history, 1)
    }


def in_order_of_time(history: Sequence[Side]) -> Sequence[Side]:
    """Sorts experiments by the start of their first launch; keeps the order if a start is unknown."""
    starts = [
        start_of(launch.context for launch in side.launches) if isinstance(side, Experiment) else math.nan
        for side in history
    ]
    if any(map(math.isnan, starts)):
        return history
    return [side for _, side in sorted(zip(starts, history, strict=True), key=lambda pair: pair[0])]


def measured_of(side: Side, metric: str, statistic: str) -> SideCells:
    """Reads the cells of a side with the number to compare.

    Raises:
        UsageError: a frame lacks columns, or no launch of an experiment has the metric.
    """
    if isinstance(side, Experiment):
        side.lines_on_metric(metric)  # raises if no launch has the metric
        cells = side.cell_table
        if isinstance(side, ToolExperiment):  # skip operations that only have numbers of other kinds
            cells = cells[cells.source[f"{metric}_{statistic}"].notna().to_numpy()]
        return side_cells(cells, metric, statistic)
    needed = [*FACTORS, "launch", "status", "error_bound", f"{metric}_{statistic}"]
    if missing := [name for name in needed if name not in side and name != STATE]:
        raise UsageError(f"the frame lacks {', '.join(missing)}; give a frame like Experiment.cells")
    return side_cells(Cells.of(side), metric, statistic)


def side_cells(cells: Cells, metric: str, statistic: str = "median") -> SideCells:
    """Converts cells to a side; the value is a statistic of a metric."""
    no_readings = np.full(len(cells), np.nan)
    value = cells.source[f"{metric}_{statistic}"].to_numpy(dtype=float)
    low, high = (np.asarray(cells.source.get(name, no_readings), dtype=float) for name in (CANARY_LOW, CANARY_HIGH))
    return SideCells(
        **{name: getattr(cells, name) for name in (*FACTORS, "launch", "status", "canary_path")},
        counts=cells.counts,
        value=1 / value if is_rate(metric) else value,  # for a rate, the time of a byte or message
        uncertainty=cells.uncertainty(metric, statistic),
        session=np.full(len(cells), "", dtype=object),
        canary_low=low,
        canary_high=high,
    )


def differs(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Returns true if each side has a single value of a factor, and the two values differ."""
    values = [set(column.tolist()) for column in (a, b)]
    return len(values[0]) == len(values[1]) == 1 and values[0] != values[1]


def in_common_states(*sides: SideCells) -> list[SideCells]:
    """Names the states of the machine anew over all cells of several experiments."""
    together = SideCells.of_frame(with_states(SideCells.joined(sides).frame()))
    together = together.replaced(counts=together.status == OK)
    ends = np.cumsum([len(side) for side in sides])
    return [together[end - len(side) : end] for side, end in zip(sides, ends, strict=True)]


def history_cells(tables: Mapping[str, SideCells], conditions: Mapping[str, object]) -> SideCells | None:
    """Joins the cells of all sessions that meet the conditions, with the name of their session; None without cells."""
    kept = []
    for name, table in tables.items():
        try:
            cells = select(table, conditions)
        except UsageError:
            continue
        kept.append(cells.replaced(session=np.full(len(cells), name, dtype=object)))
    return SideCells.joined(kept) if kept else None


def alike(cells: SideCells, side: SideCells, compared: Iterable[str]) -> SideCells:
    """Selects the cells of a history with A's values of the compared factors.

    If the history has only one value of a factor, it stands for A's: users choose the names of `library` and
    `environment`.

    Raises:
        UsageError: the history has several values of a factor, but not A's.
    """
    for name in compared:
        value, present = getattr(side, name)[0], getattr(cells, name)
        if (present == value).any():
            cells = cells[present == value]
        elif len(set(present.tolist())) > 1:
            values = ", ".join(map(str, dict.fromkeys(present.tolist())))
            raise UsageError(f"the history has {name} {values}, but not {value}, which A has")
    return cells
