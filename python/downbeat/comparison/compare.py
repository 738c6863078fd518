"""Compares the cells of two experiments, or of two values of a factor in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from downbeat.base.text import shared_units
from downbeat.comparison.history import (
    alike,
    context_differences,
    history_cells,
    history_notes,
    select,
    simulations,
    taking_part,
)
from downbeat.comparison.judging import assumption, count_tests, judged, key_of, match_cells, method_of
from downbeat.comparison.table import Verdicts
from downbeat.data.cells import HIGH, LOW, PATH, STATE, STATISTICS, hidden_by_step, states_line, with_states
from downbeat.data.metrics import METRICS
from downbeat.errors import UsageError
from downbeat.experiment import counting
from downbeat.experiment.experiment import FACTORS, Experiment
from downbeat.experiment.launch_kinds import launch_lines
from downbeat.experiment.plan import LAUNCH_FACTORS
from downbeat.statistics.verdicts import (
    CONFIDENCE,
    MARGIN,
    check_rule,
)

Side = Experiment | pd.DataFrame
# Names that people give; experiments of one library each are compared although the names differ.
LABELS = ("library", "environment")
# The attributes of the context that a factor changes.
VARIANT = ("mpi_library", "environment", "downbeat_version", "git_revision", "compiler")
CONTEXT_OF = {
    "library": ("mpi_library", "environment"),
    "environment": ("environment",),
    "ranks": ("hosts",),
    "variant": VARIANT,
}


def compare(
    a: Side,
    b: Side | None = None,
    *,
    history: Sequence[Side] | None = None,
    where_a: Mapping[str, object] | None = None,
    where_b: Mapping[str, object] | None = None,
    metric: str = "latency_avg",
    statistic: str = "median",
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Compares B with A, cell by cell: faster, slower, equivalent or undecided.

    Cells are matched on all `FACTORS`, except those with different values in `where_a` and `where_b`, and except the
    names of library and environment if each experiment has only one. A launch counts once, by the statistic of its
    valid samples. Launches of one experiment are compared in pairs (`compare_paired`): each launch with itself if the
    factor varies within launches, else launches of the same number, if the experiment was planned. Two experiments are
    independent (`compare_independent`) and also differ by whatever changed between them; a history of experiments at
    other times measures how much that is (`compare_across_sessions`). p-values are corrected for the number of cells
    by Holm's procedure. A cell that is not `ok` in a launch does not count in it.

        compare(experiment, where_a={"variant": "old"}, where_b={"variant": "new"})
        compare(experiment, where_a={"synchronizer": "harmonize"}, where_b={"synchronizer": "mpi_barrier"})
        compare(tonight, history=[open_experiment(path) for path in nights])

    Args:
        a: an experiment, or its frame `cells`. With a history and without `b` it is B, and the history is A.
        b: another experiment; the same one by default.
        history: experiments like A at other times, without a true change between them; `where_a` applies to them too.
            None: no history; `attrs["assumes"]` then says what the verdicts assume.
        where_a: factor -> value: selects the cells of A.
        where_b: the same for B; must name the same factors as `where_a`.
        metric: one of `METRICS`.
        statistic: over the valid samples of a launch, one of `STATISTICS`.
        margin: a ratio within 1 / (1 + margin) and 1 + margin counts as 1.
        confidence: of the intervals.

    Returns:
        A row per cell: its factors, except the compared ones; `a`, `b` in s: geometric means over `launches_a`,
        `launches_b` launches (only complete pairs if paired); `ratio` (B / A) with `ratio_low` and `ratio_high`;
        `p_value`, `adjusted_p_value`, `rank_p_value`, `rank_sum_p_value`; `clock_uncertainty` in s, the most by which
        the clocks can change b - a, by errors within their bounds or by what their step hides; the interval has it;
        `detectable_ratio`, detected by these launches with a probability of 0.9, and `launches_needed` to detect 5 %,
        both with Holm's correction at its strictest; with a history `sessions`, the number of its sessions that have
        the cell, and `session_deviation`, the standard deviation of logarithms between them; `verdict` ("unmatched" if
        only one side has the cell) and `reason`. NaN if a cell was not judged.
        The attributes `.attrs`: `metric`, `statistic`, `margin`, `confidence`, `paired`, `where_a`, `where_b`,
        `name_a`, `name_b`, `tests` (cells that Holm's correction counts), `assumes` (assumptions of the verdicts: a
        line, or empty), `history` (names of its experiments), `history_is_a`, `notes` (lines: exclusions, differences
        between the contexts of the launches) and `units`.

    Raises:
        UsageError: unknown metric, statistic, factor or value, or no cell in common.
    """
    if metric not in METRICS:
        raise UsageError(f"unknown metric '{metric}'; choose one of {', '.join(METRICS)}")
    if statistic not in STATISTICS:
        raise UsageError(f"unknown statistic '{statistic}'; choose one of {', '.join(STATISTICS)}")
    try:
        check_rule(margin, confidence)
    except ValueError as error:
        raise UsageError(str(error)) from error
    conditions = (where_a or {}, where_b or {})
    check_sides(a, b, history, conditions)
    sides = sides_of(a, b, history, conditions, (metric, statistic))
    column = f"{metric}_{statistic}"
    matches, notes = match_cells(
        None if sides.history_is_a else sides.a, sides.b, key_of(sides.compared), column, sides.paired, sides.past
    )
    if all(match.obstacle.startswith("only in") for match in matches):
        raise UsageError(f"A and B have no cell in common: {mismatch(sides.a, sides.b, sides.compared)}")
    rows, comparisons = judged(matches, method_of(sides.paired, sides.history_is_a, margin, confidence), confidence)
    frame = Verdicts(rows)
    of_a, of_b = a, a if b is None else b
    name_a, name_b = names_of(of_a, of_b)
    frame.attrs = {
        "metric": metric,
        "statistic": statistic,
        "margin": margin,
        "confidence": confidence,
        "paired": sides.paired,
        "where_a": described(sides.a, sides.compared),
        "where_b": described(sides.b, sides.compared),
        "name_a": "history" if sides.history_is_a else name_a,
        "name_b": name_b,
        "tests": count_tests(comparisons),
        "assumes": assumption(comparisons, sides.paired, history is not None),
        "history": list(sides.named),
        "history_is_a": sides.history_is_a,
        "notes": context_notes(sides, of_a, of_b, notes) + state_notes(sides, column),
        "units": shared_units(frame.columns, sides.a, sides.b) | dict.fromkeys(("a", "b", "clock_uncertainty"), "s"),
    }
    return frame


@dataclass(frozen=True)
class Sides:
    """The cells that are compared.

    Attributes:
        a: those of A.
        b: those of B.
        past: those of the history; None without one.
        named: the experiments of the history by name.
        same: both sides are of one experiment.
        history_is_a: there is no other A.
        compared: the factors in which A and B differ.
        paired: launches are compared in pairs.
    """

    a: pd.DataFrame
    b: pd.DataFrame
    past: pd.DataFrame | None
    named: Mapping[str, Side]
    same: bool
    history_is_a: bool
    compared: set[str]
    paired: bool

    def expected(self) -> set[str]:
        """Returns the attributes of the context that differ because the compared factors do."""
        return {attribute for name in self.compared for attribute in CONTEXT_OF.get(name, ())}


def check_sides(
    a: Side, b: Side | None, history: Sequence[Side] | None, conditions: tuple[Mapping[str, object], ...]
) -> None:
    """Checks that two sides and their conditions make a comparison.

    Raises:
        UsageError: they do not.
    """
    where_a, where_b = conditions
    history_is_a = history is not None and b is None
    if set(where_a) != set(where_b):
        raise UsageError(
            "conditions of A and B must name the same factors, e.g. synchronizer=linear synchronizer=harmonize"
        )
    if b is None and not where_a and not history_is_a:
        raise UsageError("comparing within one experiment takes two conditions, e.g. size=8 size=16")
    if history is not None and not history_is_a and is_same(a, a if b is None else b):
        raise UsageError("A and B are of one experiment; a history applies to experiments at different times")


def sides_of(
    a: Side,
    b: Side | None,
    history: Sequence[Side] | None,
    conditions: tuple[Mapping[str, object], ...],
    number: tuple[str, str],
) -> Sides:
    """Returns the cells of both sides, with the states that they share; `number` is metric and statistic."""
    history_is_a = history is not None and b is None
    same = not history_is_a and is_same(a, a if b is None else b)
    named = names_of_history(history or ())
    cells_b = select(frame_of(a if b is None else b, *number), conditions[1])
    past = None
    if history is not None:
        past = history_cells({name: frame_of(one, *number) for name, one in named.items()}, conditions[0], cells_b)
    cells_a = past if history_is_a and past is not None else select(frame_of(a, *number), conditions[0])
    if past is None or history_is_a:
        cells_a, cells_b = in_common_states(cells_a, cells_b)
        past = cells_a if history_is_a else None
    else:
        cells_a, cells_b, past = in_common_states(cells_a, cells_b, past)
    compared = compared_factors(cells_a, cells_b, set(conditions[0]), same)
    if past is not None and not history_is_a:
        past = alike(past, cells_a, compared)
    paired = same and (compared.isdisjoint(LAUNCH_FACTORS) or (isinstance(a, Experiment) and a.plan is not None))
    if same and not compared:  # with itself, nothing can differ
        cells_a, cells_b = (cells.assign(uncertainty=0.0) for cells in (cells_a, cells_b))
    return Sides(cells_a, cells_b, past, named, same, history_is_a, compared, paired)


def context_notes(sides: Sides, a: Side, b: Side, notes: list[str]) -> list[str]:
    """Returns notes, and what the contexts of the launches say: simulations first, differences, the history."""
    if not sides.history_is_a and isinstance(a, Experiment) and isinstance(b, Experiment):
        differences = context_differences(contexts_of(a, sides.a), contexts_of(b, sides.b), sides.expected())
        notes = [*notes, *(f"A and B differ in {line}" for line in differences)]
    for side, cells in ((a, sides.a), (b, sides.b)):
        if isinstance(side, Experiment):
            lines = simulations(contexts_of(side, cells))
            if "algorithm" in sides.compared:
                lines += [finding.seen for finding in side.machine if finding.check == counting.CHECK]
            notes = [*(line for line in lines if line not in notes), *notes]
    if sides.past is None:
        return notes
    reference, cells, of = (b, sides.b, "B") if sides.history_is_a else (a, sides.a, "A")
    part = taking_part(sides.past, cells, key_of(sides.compared))
    left_out = [name for name in sides.named if name not in part]
    if left_out:
        notes = [*notes, f"history, without any of the compared cells, left out: {', '.join(left_out)}"]
    experiments = [one for name, one in sides.named.items() if name in part and isinstance(one, Experiment)]
    if isinstance(reference, Experiment):
        notes = notes + history_notes(experiments, contexts_of(reference, cells), of, sides.expected())
    return notes


def state_notes(sides: Sides, column: str) -> list[str]:
    """Returns notes on the states of the machine, and on kinds of launches."""
    both = pd.concat([sides.a, sides.b])
    states = states_line(both)
    if sides.same:
        cells_of = {"": both if sides.compared else sides.b}
    else:
        cells_of = {"B: ": sides.b} if sides.history_is_a else {"A: ": sides.a, "B: ": sides.b}
    notes = [f"{states}; compared within each"] if states else []
    return notes + [
        f"{of}{line}" for of, cells in cells_of.items() for line in launch_lines(cells, column, sides.paired)
    ]


def is_same(a: Side, b: Side) -> bool:
    """Returns whether two are one experiment."""
    if isinstance(a, Experiment) and isinstance(b, Experiment):
        return a.path.resolve() == b.path.resolve()
    return a is b


def names_of(a: Side, b: Side) -> tuple[str, str]:
    """Returns what A and B are called: by their paths where two experiments bear the same name."""
    if isinstance(a, Experiment) and isinstance(b, Experiment) and a.name == b.name and not is_same(a, b):
        return str(a.path), str(b.path)
    return a.name if isinstance(a, Experiment) else "A", b.name if isinstance(b, Experiment) else "B"


def names_of_history(history: Sequence[Side]) -> dict[str, Side]:
    """Returns experiments by what they are called: by the last part of their paths, if that is of one of them alone."""
    last = Counter(one.path.name for one in history if isinstance(one, Experiment))
    return {
        (one.path.name if last[one.path.name] == 1 else str(one.path)) if isinstance(one, Experiment) else str(i): one
        for i, one in enumerate(history, 1)
    }


def frame_of(experiment: Side, metric: str, statistic: str) -> pd.DataFrame:
    """Returns the cells of an experiment, what is needed of them, with `uncertainty`: what clocks do to a value.

    That is so many error bounds of the global clock as can be in it, or what the step of the ranks' clocks hides, s.

    Raises:
        UsageError: a frame lacks columns.
    """
    needed = [*FACTORS, "launch", "status", "error_bound", f"{metric}_{statistic}"]
    cells = experiment.cells if isinstance(experiment, Experiment) else experiment
    cells = cells if STATE in cells else cells.assign(**{STATE: ""})
    missing = [name for name in needed if name not in cells]
    if missing:
        raise UsageError(f"the frame lacks {', '.join(missing)}; give a frame like Experiment.cells")
    bounds = METRICS[metric].clock_bounds
    uncertainty = bounds * cells["error_bound"] if bounds else hidden_by_step(cells, metric, statistic)
    trips = [name for name in (LOW, HIGH, PATH) if name in cells]
    return cells[[*needed, *trips]].assign(uncertainty=uncertainty)


def in_common_states(*sides: pd.DataFrame) -> list[pd.DataFrame]:
    """Returns cells of several experiments with the states of the machine that these had together."""
    together = with_states(pd.concat(sides))
    ends = np.cumsum([len(side) for side in sides])
    return [together.iloc[end - len(side) : end] for side, end in zip(sides, ends, strict=True)]


def compared_factors(a: pd.DataFrame, b: pd.DataFrame, conditions: set[str], same: bool) -> set[str]:
    """Returns the factors whose values are compared, and which cells need not share."""
    candidates = conditions if same else conditions.union(LABELS)
    return {name for name in candidates if a[name].nunique() == b[name].nunique() == 1 and set(a[name]) != set(b[name])}


def mismatch(a: pd.DataFrame, b: pd.DataFrame, compared: set[str]) -> str:
    """Returns the first factor of which A and B share no value, with the values."""
    for name in key_of(compared):
        if name == STATE and not set(a[STATE]) & set(b[STATE]):
            return f"{states_line(pd.concat([a, b]))}, and both in none of them"
        if not set(a[name]) & set(b[name]):
            values = [", ".join(str(value) for value in side[name].unique()) for side in (a, b)]
            return f"{name} is {values[0]} / {values[1]}"
    return "they share values of each factor, but no combination of values"


def contexts_of(experiment: Experiment, cells: pd.DataFrame) -> list[Mapping[str, object]]:
    """Returns the contexts of the launches that the cells are from."""
    columns = [*LAUNCH_FACTORS, "launch"]
    concerned = set(cells[columns].itertuples(index=False, name=None))
    return [one.context for one in experiment.launches if (*one.configuration, one.number) in concerned]


def described(cells: pd.DataFrame, compared: set[str]) -> dict[str, object]:
    """Returns the values of the factors that are compared."""
    return {name: cells[name].iloc[0] for name in FACTORS if name in compared}
