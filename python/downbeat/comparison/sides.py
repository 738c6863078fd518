"""The sides of a comparison: the cells of A and of B, and those of a history."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from downbeat.comparison.conditions import select
from downbeat.data.cell_summaries import hidden_by_step
from downbeat.data.cells import HIGH, LOW, PATH, STATE, countable
from downbeat.data.metrics import METRICS
from downbeat.data.states import states_line, with_states
from downbeat.errors import UsageError
from downbeat.run.experiment import FACTORS, Experiment, start_of
from downbeat.run.plan import LAUNCH_FACTORS

Side = Experiment | pd.DataFrame
Conditions = Mapping[str, object]
# Names that people give; experiments of one library each are compared although the names differ.
LABELS = ("library", "environment")
SESSION = "session"  # column of a history: the name of the experiment


@dataclass(frozen=True)
class Sides:
    """The cells that are compared.

    Attributes:
        a: those of A; of the history where there is no other A.
        b: those of B.
        past: those of the history, with `session`; None without one.
        of_a: the experiment or frame of A.
        of_b: likewise of B.
        history: its experiments, by name.
        history_is_a: there is no other A.
        same: both sides are of one experiment.
        paired: launches are compared in pairs.
        compared: the factors in which A and B differ.
        column: that holds the numbers, s.
        names: of A and B.
    """

    a: pd.DataFrame
    b: pd.DataFrame
    past: pd.DataFrame | None
    of_a: Side
    of_b: Side
    history: Mapping[str, Side]
    history_is_a: bool
    same: bool
    paired: bool
    compared: set[str]
    column: str
    names: tuple[str, str]

    @property
    def key(self) -> list[str]:
        """The factors on which cells are matched.

        How long an operation computes its name says; where that is `compute=auto`, each launch has found another time.
        """
        return [name for name in FACTORS if name not in self.compared and name != "computation"]

    def values(self, cells: pd.DataFrame) -> dict[str, object]:
        """The values of a side of the factors that are compared."""
        return {name: cells[name].iloc[0] for name in FACTORS if name in self.compared}

    def mismatch(self) -> str:
        """The first factor whose values differ between A and B, with the values."""
        for name in self.key:
            values = [side[name].unique() for side in (self.a, self.b)]
            if set(values[0]) & set(values[1]):
                continue
            if name == STATE:
                return f"{states_line(pd.concat([self.a, self.b]))}, and both in none of them"
            return f"{name} is {' / '.join(', '.join(map(str, each)) for each in values)}"
        return "they share values of each factor, but no combination of values"


def sides_of(
    a: Side,
    b: Side | None,
    history: Sequence[Side] | None,
    conditions: tuple[Conditions, Conditions],
    metric: str,
    statistic: str,
) -> Sides:
    """Returns the cells of both sides, with the states that they share.

    Raises:
        UsageError: the conditions make no comparison, or no cell meets one of them.
    """
    other = a if b is None else b
    history_is_a = history is not None and b is None
    same = not history_is_a and is_same(a, other)
    check_conditions(conditions, same and b is None, same and history is not None)
    cells_b = select(measured_of(other, metric, statistic), conditions[1])
    named = names_of_history(history or ())
    past = None
    if history is not None:
        frames = {name: measured_of(one, metric, statistic) for name, one in named.items() if has_metric(one, metric)}
        past = history_cells(frames, conditions[0], cells_b)
    if past is not None and history_is_a:
        cells_a, cells_b = in_common_states(past, cells_b)
        past = cells_a
    else:
        cells_a = select(measured_of(a, metric, statistic), conditions[0])
        cells_a, cells_b, *rest = in_common_states(cells_a, cells_b, *([] if past is None else [past]))
        past = rest[0] if rest else None
    candidates = set(conditions[0]) if same else {*conditions[0], *LABELS}
    compared = {name for name in candidates if differs(cells_a[name], cells_b[name])}
    if past is not None and not history_is_a:
        past = alike(past, cells_a, compared)
    if same and not compared:  # with itself, nothing can differ
        cells_a, cells_b = (cells.assign(uncertainty=0.0) for cells in (cells_a, cells_b))
    in_turn = compared.isdisjoint(LAUNCH_FACTORS) or (isinstance(a, Experiment) and a.plan is not None)
    return Sides(
        a=cells_a,
        b=cells_b,
        past=past,
        of_a=a,
        of_b=other,
        history=named,
        history_is_a=history_is_a,
        same=same,
        paired=same and in_turn,
        compared=compared,
        column=f"{metric}_{statistic}",
        names=("history", names_of_sides(a, other)[1]) if history_is_a else names_of_sides(a, other),
    )


def check_conditions(conditions: tuple[Conditions, Conditions], alone: bool, useless_history: bool) -> None:
    """Checks conditions on two sides; `alone`: they are all that A and B differ in.

    Raises:
        UsageError: they make no comparison.
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
    """The names of A and B: paths where two experiments have the same name."""
    if isinstance(a, Experiment) and isinstance(b, Experiment) and a.name == b.name and not is_same(a, b):
        return str(a.path), str(b.path)
    return a.name if isinstance(a, Experiment) else "A", b.name if isinstance(b, Experiment) else "B"


def names_of_history(history: Sequence[Side]) -> dict[str, Side]:
    """Experiments by the last part of their paths where it is unique, else by their paths; the oldest first."""
    history = in_order_of_time(history)
    last = Counter(one.path.name for one in history if isinstance(one, Experiment))
    return {
        (one.path.name if last[one.path.name] == 1 else str(one.path)) if isinstance(one, Experiment) else str(i): one
        for i, one in enumerate(history, 1)
    }


def in_order_of_time(history: Sequence[Side]) -> Sequence[Side]:
    """Experiments by the start of their first launch; as they are where one of them does not say it."""
    starts = [
        start_of(launch.context for launch in one.launches) if isinstance(one, Experiment) else math.nan
        for one in history
    ]
    if any(map(math.isnan, starts)):
        return history
    return [one for _, one in sorted(zip(starts, history, strict=True), key=lambda pair: pair[0])]


def measured_of(side: Side, metric: str, statistic: str) -> pd.DataFrame:
    """The cells of a side, with `uncertainty`: error bounds of the global clock, or the step of local clocks, s.

    Raises:
        UsageError: a frame lacks columns, or no launch of an experiment has the metric.
    """
    needed = [*FACTORS, "launch", "status", "error_bound", f"{metric}_{statistic}"]
    if isinstance(side, Experiment):
        side.lines_on_metric(metric)
    cells = side.cells if isinstance(side, Experiment) else side
    cells = cells if STATE in cells else cells.assign(**{STATE: ""})
    missing = [name for name in needed if name not in cells]
    if missing:
        raise UsageError(f"the frame lacks {', '.join(missing)}; give a frame like Experiment.cells")
    trips = [name for name in (LOW, HIGH, PATH) if name in cells]
    return cells[[*needed, *trips]].assign(uncertainty=uncertainty_of(cells, metric, statistic))


def has_metric(side: Side, metric: str) -> bool:
    """Whether a session of a history has a metric in some launch; an older downbeat-bench knew fewer."""
    return not isinstance(side, Experiment) or any(metric in launch.metrics for launch in side.launches)


def uncertainty_of(cells: pd.DataFrame, metric: str, statistic: str) -> pd.Series[float]:
    """The effect of clocks on a value of each cell, as `measured_of` has it, s."""
    bounds = METRICS[metric].clock_bounds
    return bounds * cells["error_bound"] if bounds else hidden_by_step(cells, metric, statistic)


def differs(a: pd.Series, b: pd.Series) -> bool:
    """Whether a factor has one value on either side, and another one."""
    return bool(a.nunique() == b.nunique() == 1 and a.iloc[0] != b.iloc[0])


def in_common_states(*sides: pd.DataFrame) -> list[pd.DataFrame]:
    """Cells of several experiments with the states that these had together, and whether each cell `counts`."""
    together = with_states(pd.concat(sides))
    together = together.assign(counts=countable(together))
    ends = np.cumsum([len(side) for side in sides])
    return [together.iloc[end - len(side) : end] for side, end in zip(sides, ends, strict=True)]


def history_cells(
    frames: Mapping[str, pd.DataFrame], conditions: Mapping[str, object], like: pd.DataFrame
) -> pd.DataFrame:
    """The cells of all sessions, frames by name, that meet conditions, with `session`; `like`: with these columns.

    An experiment without such cells is left out.
    """
    parts = []
    for name, frame in frames.items():
        try:
            parts.append(select(frame, conditions).assign(**{SESSION: name}))
        except UsageError:
            continue
    return pd.concat(parts, ignore_index=True) if parts else like.iloc[:0].assign(**{SESSION: ""})


def alike(cells: pd.DataFrame, side: pd.DataFrame, compared: Iterable[str]) -> pd.DataFrame:
    """The cells of a history with A's values of the factors that are compared.

    A name that the history has but once is that of A, whatever it is: `library` and `environment` are names that people
    give.

    Raises:
        UsageError: the history has several values of such a factor, and none is that of A.
    """
    for name in compared:
        value = side[name].iloc[0]
        if (cells[name] == value).any():
            cells = cells[cells[name] == value]
        elif cells[name].nunique() > 1:
            values = ", ".join(str(one) for one in cells[name].unique())
            raise UsageError(f"the history has {name} {values}, but not {value}, which A has")
    return cells
