"""Compares the cells of two experiments, or of two values of a factor in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from downbeat.comparison.conditions import select
from downbeat.comparison.contexts import context_differences, simulations
from downbeat.comparison.history import alike, history_cells, history_notes, taking_part
from downbeat.comparison.judging import assumption, count_tests, judged, method_of
from downbeat.comparison.matching import key_of, match_cells
from downbeat.data.cells import STATISTICS, hidden_by_step
from downbeat.data.metrics import METRICS
from downbeat.data.states import HIGH, LOW, PATH, STATE, states_line, with_states
from downbeat.errors import UsageError
from downbeat.experiment.experiment import FACTORS, Experiment
from downbeat.experiment.launch_kinds import launch_lines
from downbeat.experiment.plan import LAUNCH_FACTORS
from downbeat.statistics.verdicts import (
    CONFIDENCE,
    MARGIN,
    check_rule,
)
from downbeat.units import shared_units

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
    a: Experiment | pd.DataFrame,
    b: Experiment | pd.DataFrame | None = None,
    *,
    history: Sequence[Experiment | pd.DataFrame] | None = None,
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
    against_history = history is not None and b is None
    other = a if b is None else b
    same = not against_history and is_same(a, other)
    if set(where_a or {}) != set(where_b or {}):
        raise UsageError(
            "conditions of A and B must name the same factors, e.g. synchronizer=linear synchronizer=harmonize"
        )
    if b is None and not where_a and not against_history:
        raise UsageError("comparing within one experiment takes two conditions, e.g. size=8 size=16")
    if history is not None and same:
        raise UsageError("A and B are of one experiment; a history applies to experiments at different times")
    column = f"{metric}_{statistic}"
    cells_b = select(frame_of(other, metric, statistic), where_b or {})
    named = names_of_history(history or ())
    past = None
    if history is not None:
        past = history_cells(
            {name: frame_of(one, metric, statistic) for name, one in named.items()}, where_a or {}, cells_b
        )
    cells_a = select(frame_of(a, metric, statistic), where_a or {}) if past is None or not against_history else past
    if past is None or against_history:
        cells_a, cells_b = in_common_states(cells_a, cells_b)
        past = cells_a if against_history else None
    else:
        cells_a, cells_b, past = in_common_states(cells_a, cells_b, past)
    compared = compared_factors(cells_a, cells_b, set(where_a or {}), same)
    if past is not None and not against_history:
        past = alike(past, cells_a, compared)
    paired = same and (compared.isdisjoint(LAUNCH_FACTORS) or (isinstance(a, Experiment) and a.plan is not None))
    if same and not compared:  # with itself, nothing can differ
        cells_a, cells_b = (cells.assign(uncertainty=0.0) for cells in (cells_a, cells_b))
    matches, notes = match_cells(None if against_history else cells_a, cells_b, key_of(compared), column, paired, past)
    if all(match.obstacle.startswith("only in") for match in matches):
        raise UsageError(f"A and B have no cell in common: {mismatch(cells_a, cells_b, compared)}")
    method = method_of(paired, against_history, margin, confidence)
    rows, comparisons = judged(matches, method, confidence)
    frame = pd.DataFrame(rows)
    expected = {attribute for name in compared for attribute in CONTEXT_OF.get(name, ())}
    if not against_history and isinstance(a, Experiment) and isinstance(other, Experiment):
        differences = context_differences(contexts_of(a, cells_a), contexts_of(other, cells_b), expected)
        notes += [f"A and B differ in {line}" for line in differences]
    for side, cells_of_side in ((a, cells_a), (other, cells_b)):
        if isinstance(side, Experiment):
            lines = simulations(contexts_of(side, cells_of_side))
            notes = [*(line for line in lines if line not in notes), *notes]
    if past is not None:
        reference, cells, of = (other, cells_b, "B") if against_history else (a, cells_a, "A")
        part = taking_part(past, cells, key_of(compared))
        left_out = [name for name in named if name not in part]
        notes += [f"history, without any of the compared cells, left out: {', '.join(left_out)}"] if left_out else []
        experiments = [one for name, one in named.items() if name in part and isinstance(one, Experiment)]
        if isinstance(reference, Experiment):
            notes += history_notes(experiments, contexts_of(reference, cells), of, expected)
    states = states_line(pd.concat([cells_a, cells_b]))
    notes += [f"{states}; compared within each"] if states else []
    sides = {"A: ": cells_a, "B: ": cells_b}
    if same:
        sides = {"": pd.concat([cells_a, cells_b]) if compared else cells_b}
    elif against_history:
        del sides["A: "]
    notes += [f"{side}{line}" for side, cells in sides.items() for line in launch_lines(cells, column, paired)]
    name_a, name_b = names_of(a, other)
    frame.attrs = {
        "metric": metric,
        "statistic": statistic,
        "margin": margin,
        "confidence": confidence,
        "paired": paired,
        "where_a": described(cells_a, compared),
        "where_b": described(cells_b, compared),
        "name_a": "history" if against_history else name_a,
        "name_b": name_b,
        "tests": count_tests(comparisons),
        "assumes": assumption(comparisons, paired, history is not None),
        "history": list(named),
        "history_is_a": against_history,
        "notes": notes,
        "units": shared_units(frame.columns, cells_a, cells_b) | dict.fromkeys(("a", "b", "clock_uncertainty"), "s"),
    }
    return frame


def is_same(a: Experiment | pd.DataFrame, b: Experiment | pd.DataFrame) -> bool:
    """Returns whether two are one experiment."""
    if isinstance(a, Experiment) and isinstance(b, Experiment):
        return a.path.resolve() == b.path.resolve()
    return a is b


def names_of(a: Experiment | pd.DataFrame, b: Experiment | pd.DataFrame) -> tuple[str, str]:
    """Returns what A and B are called: by their paths where two experiments bear the same name."""
    if isinstance(a, Experiment) and isinstance(b, Experiment) and a.name == b.name and not is_same(a, b):
        return str(a.path), str(b.path)
    return a.name if isinstance(a, Experiment) else "A", b.name if isinstance(b, Experiment) else "B"


def names_of_history(history: Sequence[Experiment | pd.DataFrame]) -> dict[str, Experiment | pd.DataFrame]:
    """Returns experiments by what they are called: by the last part of their paths, if that is of one of them alone."""
    last = Counter(one.path.name for one in history if isinstance(one, Experiment))
    return {
        (one.path.name if last[one.path.name] == 1 else str(one.path)) if isinstance(one, Experiment) else str(i): one
        for i, one in enumerate(history, 1)
    }


def frame_of(experiment: Experiment | pd.DataFrame, metric: str, statistic: str) -> pd.DataFrame:
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
