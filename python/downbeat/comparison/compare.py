"""Compares the cells of two experiments, or of two values of a factor in one."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
from scipy import stats

from downbeat.comparison.conditions import select
from downbeat.comparison.contexts import context_differences
from downbeat.comparison.matching import Match, key_of, match_cells
from downbeat.data.cells import STATISTICS
from downbeat.data.metrics import METRICS
from downbeat.data.units import units_of
from downbeat.errors import UsageError
from downbeat.experiment.experiment import FACTORS, Experiment
from downbeat.experiment.plan import LAUNCH_FACTORS
from downbeat.statistics.independent import compare_independent
from downbeat.statistics.pairs import compare_paired
from downbeat.statistics.power import detectable_ratio, launches_needed
from downbeat.statistics.verdicts import (
    CONFIDENCE,
    FEWEST_LAUNCHES,
    MARGIN,
    Comparison,
    check_rule,
    judge_together,
    significance,
)

EFFECT = 1.05  # the difference for which `launches_needed` is told
UNMATCHED = "unmatched"
NUMBERS = (
    "a",
    "b",
    "launches_a",
    "launches_b",
    "ratio",
    "ratio_low",
    "ratio_high",
    "p_value",
    "adjusted_p_value",
    "rank_p_value",
    "rank_sum_p_value",
    "clock_uncertainty",
    "detectable_ratio",
    "launches_needed",
)
# Names that people give; experiments of one library each are compared although the names differ.
LABELS = ("library", "environment")
# The attributes of the context that a factor changes.
CONTEXT_OF = {"library": ("mpi_library", "environment"), "environment": ("environment",), "ranks": ("hosts",)}


def compare(
    a: Experiment | pd.DataFrame,
    b: Experiment | pd.DataFrame | None = None,
    *,
    where_a: Mapping[str, object] | None = None,
    where_b: Mapping[str, object] | None = None,
    metric: str = "latency_avg",
    statistic: str = "median",
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Compares B with A, cell by cell: faster, slower, equivalent or undecided.

    Cells are matched on all `FACTORS` but those that `where_a` and `where_b` give different values, and but for names
    of library and environment where each experiment has one of its own. A launch counts once, by the statistic of its
    valid samples. Within one experiment launches are compared in pairs: the launch itself where the factor is one of
    cells (`compare_paired`), launches of the same number where it is one of launches, if the experiment was planned.
    Two experiments are independent (`compare_independent`). p-values are corrected for the number of cells by Holm's
    procedure. Cells that are not `ok` in a launch do not count in it.

        compare(open_experiment("yesterday"), open_experiment("today"))
        compare(experiment, where_a={"synchronizer": "mpi_barrier"}, where_b={"synchronizer": "harmonize"})

    Args:
        a: an experiment, or its frame `cells`.
        b: another; by default the same one.
        where_a: factor -> value: what of A is compared.
        where_b: what of B; the same factors as in `where_a`.
        metric: one of `METRICS`.
        statistic: of the metric over the valid samples of a launch, one of `STATISTICS`.
        margin: within which a ratio is as good as 1.
        confidence: of the intervals.

    Returns:
        A row per cell. Its factors, those that are compared left out; `a`, `b` in s: geometric means over
        `launches_a`, `launches_b` launches, of pairs only those that have both; `ratio` (B / A) with `ratio_low` and
        `ratio_high`; `p_value`, `adjusted_p_value`, `rank_p_value`, `rank_sum_p_value`; `clock_uncertainty` in s, by
        which errors of the clocks within their bounds can change b - a; `detectable_ratio`, found with a probability of
        0.9 with these launches, and `launches_needed` for 5 %, both alone and with Holm's correction at its strictest;
        `verdict` ("unmatched" for a cell of one side only) and `reason`. What was not judged has NaN.
        The attributes `.attrs`: `metric`, `statistic`, `margin`, `confidence`, `paired`, `where_a`, `where_b`,
        `name_a`, `name_b`, `tests` (cells that Holm's correction counts), `notes` (lines: what was left out, and where
        the contexts of the launches differ) and `units`.

    Raises:
        UsageError: an unknown metric, statistic, factor or value, or nothing that could be matched.
    """
    if metric not in METRICS:
        raise UsageError(f"'{metric}' is no metric; valid are {', '.join(METRICS)}")
    if statistic not in STATISTICS:
        raise UsageError(f"'{statistic}' is no statistic; valid are {', '.join(STATISTICS)}")
    try:
        check_rule(margin, confidence)
    except ValueError as error:
        raise UsageError(str(error)) from error
    other = a if b is None else b
    same = is_same(a, other)
    if set(where_a or {}) != set(where_b or {}):
        raise UsageError(
            "A and B must give the same factors a value, as synchronizer=linear and synchronizer=harmonize"
        )
    if b is None and not where_a:
        raise UsageError("one experiment is compared by two conditions, as size=8 and size=16")
    column = f"{metric}_{statistic}"
    cells_a, cells_b = (
        select(frame_of(one, column), conditions or {}) for one, conditions in ((a, where_a), (other, where_b))
    )
    compared = compared_factors(cells_a, cells_b, set(where_a or {}), same)
    paired = same and (compared.isdisjoint(LAUNCH_FACTORS) or (isinstance(a, Experiment) and a.plan is not None))
    matches, notes = match_cells(cells_a, cells_b, key_of(compared), column, paired)
    if all(match.obstacle.startswith("only in") for match in matches):
        raise UsageError(f"no cell of A is in B: {mismatch(cells_a, cells_b, compared)}")
    # Compared with itself, nothing can differ.
    bounds = 0 if same and not compared else METRICS[metric].clock_bounds
    rows, tests = judged(matches, paired, bounds, margin, confidence)
    frame = pd.DataFrame(rows)
    if isinstance(a, Experiment) and isinstance(other, Experiment):
        expected = {attribute for name in compared for attribute in CONTEXT_OF.get(name, ())}
        differences = context_differences(contexts_of(a, cells_a), contexts_of(other, cells_b), expected)
        notes += [f"A and B differ in {line}" for line in differences]
    frame.attrs = {
        "metric": metric,
        "statistic": statistic,
        "margin": margin,
        "confidence": confidence,
        "paired": paired,
        "where_a": described(cells_a, compared),
        "where_b": described(cells_b, compared),
        **dict(zip(("name_a", "name_b"), names_of(a, other), strict=True)),
        "tests": tests,
        "notes": notes,
        "units": units_of(frame) | dict.fromkeys(("a", "b", "clock_uncertainty"), "s"),
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


def frame_of(experiment: Experiment | pd.DataFrame, column: str) -> pd.DataFrame:
    """Returns the cells of an experiment, what is needed of them.

    Raises:
        UsageError: a frame lacks columns.
    """
    needed = [*FACTORS, "launch", "status", "error_bound", column]
    cells = experiment.cells if isinstance(experiment, Experiment) else experiment
    missing = [name for name in needed if name not in cells]
    if missing:
        raise UsageError(f"the frame lacks {', '.join(missing)}; wanted is one as Experiment.cells")
    return cells[needed]


def compared_factors(a: pd.DataFrame, b: pd.DataFrame, conditions: set[str], same: bool) -> set[str]:
    """Returns the factors whose values are compared, and which cells need not share."""
    candidates = conditions if same else conditions.union(LABELS)
    return {name for name in candidates if a[name].nunique() == b[name].nunique() == 1 and set(a[name]) != set(b[name])}


def mismatch(a: pd.DataFrame, b: pd.DataFrame, compared: set[str]) -> str:
    """Returns the first factor of which A and B share no value, with the values."""
    for name in key_of(compared):
        if not set(a[name]) & set(b[name]):
            values = [", ".join(str(value) for value in side[name].unique()) for side in (a, b)]
            return f"{name} is {values[0]} / {values[1]}"
    return "they share values of each factor, but no combination"


def contexts_of(experiment: Experiment, cells: pd.DataFrame) -> list[Mapping[str, object]]:
    """Returns the contexts of the launches that the cells are from."""
    columns = [*LAUNCH_FACTORS, "launch"]
    concerned = set(cells[columns].itertuples(index=False, name=None))
    return [
        one.context for one in experiment.launches if (one.library, one.ranks, one.environment, one.number) in concerned
    ]


def described(cells: pd.DataFrame, compared: set[str]) -> dict[str, object]:
    """Returns the values of the factors that are compared."""
    return {name: cells[name].iloc[0] for name in FACTORS if name in compared}


def judged(
    matches: list[Match], paired: bool, clock_bounds: int, margin: float, confidence: float
) -> tuple[list[dict[str, object]], int]:
    """Returns a row per cell, and the number of tests among them."""
    method = compare_paired if paired else compare_independent
    found = iter(judge_together([method(one.a, one.b, margin, confidence) for one in matches if not one.obstacle]))
    comparisons = [None if one.obstacle else next(found) for one in matches]
    tests = sum(one is not None and min(one.launches) >= FEWEST_LAUNCHES for one in comparisons)
    level = significance(confidence) / max(tests, 1)
    rows = []
    for match, comparison in zip(matches, comparisons, strict=True):
        numbers: dict[str, object] = dict.fromkeys(NUMBERS, math.nan)
        if comparison:
            uncertainty = clock_bounds * match.error_bound if clock_bounds else 0.0
            numbers |= numbers_of(match, comparison, uncertainty, level)
        else:
            unmatched = match.obstacle.startswith("only in")
            numbers |= {"verdict": UNMATCHED if unmatched else "undecided", "reason": match.obstacle}
        rows.append(match.factors | numbers)
    return rows, tests


def numbers_of(match: Match, one: Comparison, uncertainty: float, level: float) -> dict[str, object]:
    """Returns what is told of a cell."""
    a, b = float(stats.gmean(match.a)), float(stats.gmean(match.b))
    verdict: str = one.verdict
    reason = one.reason
    if uncertainty != 0:
        # Errors of clocks need not average out over launches: they may shift the whole interval of b.
        low, high = a * one.ratio.low - uncertainty, a * one.ratio.high + uncertainty
        if verdict in ("faster", "slower") and not (low > a or high < a):
            verdict, reason = "undecided", "a difference within the error bounds of the clocks"
        elif verdict == "equivalent" and not (a / (1 + one.margin) <= low and high <= a * (1 + one.margin)):
            verdict, reason = "undecided", "the error bounds of the clocks reach beyond the margin"
    few = min(one.launches) < 2
    return {
        "a": a,
        "b": b,
        "launches_a": one.launches[0],
        "launches_b": one.launches[1],
        "ratio": one.ratio.estimate,
        "ratio_low": one.ratio.low,
        "ratio_high": one.ratio.high,
        "p_value": one.p_value,
        "adjusted_p_value": one.adjusted_p_value,
        "rank_p_value": one.rank_p_value,
        "rank_sum_p_value": one.rank_sum_p_value,
        "clock_uncertainty": uncertainty,
        "detectable_ratio": detectable_ratio(one.deviation, min(one.launches), one.paired, level),
        "launches_needed": math.nan if few else launches_needed(EFFECT, one.deviation, one.paired, level),
        "verdict": verdict,
        "reason": reason,
    }
