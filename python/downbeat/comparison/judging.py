"""Matches the cells of A and B, and judges them together."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.comparison.history import SESSION
from downbeat.data.cells import WRONG, countable, left_out
from downbeat.errors import UsageError
from downbeat.experiment.experiment import FACTORS
from downbeat.statistics.across_sessions import compare_across_sessions
from downbeat.statistics.independent import compare_independent
from downbeat.statistics.modes import unseen_share
from downbeat.statistics.pairs import compare_paired
from downbeat.statistics.power import detectable_ratio, launches_needed
from downbeat.statistics.sessions import false_verdicts
from downbeat.statistics.verdicts import (
    FEW_ALIKE,
    FEWEST_ALIKE,
    FEWEST_SESSIONS,
    Comparison,
    judge_together,
    significance,
)

ONLY_IN = "only in {}"
NO_HISTORY = f"sessions in the history: 0, {FEWEST_SESSIONS} are needed"


@dataclass(frozen=True)
class Match:
    """A cell of A, of B, or of both.

    Attributes:
        factors: its values, by the names of the factors on which A and B are matched.
        a: a number per launch of A that counts, s; where launches are pairs, in the order of `b`.
        b: of B.
        uncertainty: how much the clocks may change b - a, mean over these launches, of A and B together, s.
        obstacle: why there is nothing to compare; empty where there is.
        history: the same of each session of a history that has the cell; None where there is no history.
    """

    factors: dict[str, object]
    a: NDArray[np.float64]
    b: NDArray[np.float64]
    uncertainty: float
    obstacle: str
    history: tuple[NDArray[np.float64], ...] | None = None


@dataclass
class Notes:
    """Notes on what was left out; one line per reason, with the cells that it concerns."""

    cells: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, cell: str) -> None:
        self.cells.setdefault(reason, []).append(cell)

    def lines(self) -> list[str]:
        return [f"{reason}: {', '.join(cells)}" for reason, cells in self.cells.items()]


def match_cells(
    a: pd.DataFrame | None,
    b: pd.DataFrame,
    key: list[str],
    column: str,
    paired: bool,
    history: pd.DataFrame | None = None,
) -> tuple[list[Match], list[str]]:
    """Matches cells, those of A in their order, then those that only B has.

    Args:
        a: cells of launches: `FACTORS`, `launch`, `status`, `uncertainty` and the column; None: the history is A, each
            session one number.
        b: of B.
        key: factors that must be the same.
        column: that holds the numbers, s.
        paired: whether launches of the same number are pairs.
        history: cells of the sessions of a history, with the column `session`; None: there is none.

    Returns:
        The cells, and lines that say what was left out of them.

    Raises:
        UsageError: a cell is twice in a launch, so that there is no telling what is its pair.
    """
    notes = Notes()
    sides = [side for side in (history if a is None else a, b) if side is not None]
    both = pd.concat(sides)
    shown = [name for name in key if name in ("operation", "size") or both[name].nunique() > 1]
    numbers = ["launch", "status", "uncertainty", column]  # copied cell by cell, which the factors need not be
    groups = [dict(list(side[numbers].groupby([side[name] for name in key], sort=False))) for side in sides]
    past: dict[object, pd.DataFrame] = {}
    if history is not None:
        past = dict(list(history[[*numbers, SESSION]].groupby([history[name] for name in key], sort=False)))
    matches = []
    for values in dict.fromkeys([*groups[0], *groups[1]]):
        factors = dict(zip(key, values, strict=True))
        label = " ".join(f"{factors[name]}" for name in shown)
        missing = [side for side, group in zip("BA", reversed(groups), strict=True) if values not in group]
        if a is None and "B" not in missing:
            match = match_history(factors, groups[1][values], past.get(values), column, label, notes)
        elif missing:
            none = np.empty(0)
            match = Match(factors, none, none, np.nan, ONLY_IN.format("A" if missing == ["B"] else "B"))
        else:
            match = match_launches(factors, groups[0][values], groups[1][values], column, paired, label, notes)
            if history is not None and not match.obstacle:
                sessions, _ = sessions_that_count(past.get(values), column, label, notes)
                match = dataclasses.replace(match, history=tuple(sessions))
        matches.append(match)
    return matches, notes.lines()


def match_history(
    factors: dict[str, object],
    b: pd.DataFrame,
    past: pd.DataFrame | None,
    column: str,
    label: str,
    notes: Notes,
) -> Match:
    """Puts the launches of one cell of B beside the sessions of its history, which are A."""
    counted, obstacle = launches_that_count(b, column, "B", label, notes)
    sessions, bound = sessions_that_count(past, column, label, notes)
    return Match(
        factors,
        np.array([np.exp(np.log(session).mean()) for session in sessions]),
        counted[column].to_numpy(dtype=float),
        0.0 if obstacle or not sessions else bound + float(counted["uncertainty"].mean()),
        obstacle or ("" if sessions else NO_HISTORY),
        tuple(sessions),
    )


def sessions_that_count(
    past: pd.DataFrame | None, column: str, label: str, notes: Notes
) -> tuple[list[NDArray[np.float64]], float]:
    """Returns the numbers of each session of a history that has a cell, and the mean uncertainty of its launches."""
    sessions, bounds = [], []
    for name, rows in past.groupby(SESSION, sort=False) if past is not None else ():
        counted, obstacle = launches_that_count(rows, column, f"history {name}", label, notes)
        if not obstacle:
            sessions.append(counted[column].to_numpy(dtype=float))
            bounds.append(float(counted["uncertainty"].mean()))
    return sessions, float(np.mean(bounds)) if bounds else 0.0


def launches_that_count(
    rows: pd.DataFrame, column: str, side: str, label: str, notes: Notes
) -> tuple[pd.DataFrame, str]:
    """Returns the launches of a cell that count, and why it cannot be compared: empty if it can."""
    obstacle = ""
    counts = countable(rows)
    for status, others in () if counts.all() else left_out(rows).items():
        notes.add(f"{side}: {status} in {launches(others)}, left out", label)
        if status == WRONG:
            obstacle = f"wrong results in {side}"
    fine = rows[counts]
    numbers = fine[column].to_numpy(dtype=float)
    without = fine[~np.isfinite(numbers)]
    if len(without):
        notes.add(f"{side}: no number in {launches(without)}, left out", label)
    counted = fine[np.isfinite(numbers)]
    # Left out they would make the side look slower than it is: what counts is never chosen by how fast it was.
    if np.any(numbers <= 0):
        notes.add(f"{side}: not above 0 in {launches(fine[numbers <= 0])}", label)
        obstacle = obstacle or f"not above 0 in {side}, so it has no ratio"
    if not len(counted):
        obstacle = obstacle or f"no launch of {side} counts"
    return counted, obstacle


def match_launches(
    factors: dict[str, object],
    a: pd.DataFrame,
    b: pd.DataFrame,
    column: str,
    paired: bool,
    label: str,
    notes: Notes,
) -> Match:
    """Puts the launches of one cell together."""
    counted = []
    obstacle = ""
    for side, rows in zip("AB", (a, b), strict=True):
        fine, why = launches_that_count(rows, column, side, label, notes)
        counted.append(fine)
        obstacle = why if why.startswith("wrong") else obstacle or why
    if paired:
        for side, rows in zip("AB", counted, strict=True):
            twice = rows[rows["launch"].duplicated()]
            if len(twice):
                raise UsageError(f"{side} has {label} twice in {launches(twice)}; pairs need each cell once per launch")
        in_both = set(counted[0]["launch"]) & set(counted[1]["launch"])
        for side, index in (("A", 0), ("B", 1)):
            alone = counted[index][~counted[index]["launch"].isin(in_both)]
            if len(alone):
                notes.add(f"{side}: {launches(alone)} without a pair, left out", label)
            counted[index] = counted[index][counted[index]["launch"].isin(in_both)].sort_values("launch")
        if not in_both:
            obstacle = obstacle or "no launch counts on both sides"
    return Match(
        factors,
        counted[0][column].to_numpy(dtype=float),
        counted[1][column].to_numpy(dtype=float),
        0.0 if obstacle else float(sum(side["uncertainty"].mean() for side in counted)),
        obstacle,
    )


def launches(rows: pd.DataFrame) -> str:
    """Returns the numbers of the launches in words."""
    numbers = sorted(rows["launch"].unique())
    return f"launch{'es' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def key_of(compared: set[str]) -> list[str]:
    """Returns the factors on which cells are matched.

    How long an operation computes its name says; where that is `compute=auto`, each launch has found another time.
    """
    return [name for name in FACTORS if name not in compared and name != "computation"]


EFFECT = 1.05  # the difference for which `launches_needed` is given
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
    "sessions",
    "session_deviation",
)

SESSION_DEVIATION = 0.02  # for which the assumption of one session is put into a number


def method_of(paired: bool, history_is_a: bool, margin: float, confidence: float) -> Callable[[Match], Comparison]:
    """Returns how cells are compared: launches in pairs, or across sessions where there is a history, or neither."""

    def compare(one: Match) -> Comparison:
        rule = (margin, confidence, one.uncertainty)
        if one.history is not None:
            return compare_across_sessions(None if history_is_a else one.a, one.b, one.history, *rule)
        return (compare_paired if paired else compare_independent)(one.a, one.b, *rule)

    return compare


def judged(
    matches: Sequence[Match], method: Callable[[Match], Comparison], confidence: float
) -> tuple[list[dict[str, object]], list[Comparison]]:
    """Returns a row per cell, and the comparisons of those that have any."""
    found = judge_together([method(one) for one in matches if not one.obstacle])
    level = significance(confidence) / max(count_tests(found), 1)
    rows = []
    following = iter(found)
    for match in matches:
        numbers: dict[str, object] = dict.fromkeys(NUMBERS, math.nan)
        if not match.obstacle:
            numbers |= numbers_of(match, next(following), level)
        else:
            unmatched = match.obstacle.startswith("only in")
            numbers |= {"verdict": UNMATCHED if unmatched else "undecided", "reason": match.obstacle}
        rows.append(match.factors | numbers)
    return rows, found


def numbers_of(match: Match, one: Comparison, level: float) -> dict[str, object]:
    """Returns the numbers and the verdict of a cell."""
    a, b = (float(np.exp(np.mean(np.log(side)))) for side in (match.a, match.b))
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
        "clock_uncertainty": match.uncertainty,
        "detectable_ratio": detectable_ratio(one.error, one.freedom, level),
        # Launches do not help against what differs between sessions.
        "launches_needed": math.nan
        if few or one.sessions is not None
        else max(launches_needed(EFFECT, one.deviation, one.paired, level), FEWEST_ALIKE * (one.reason == FEW_ALIKE)),
        "sessions": math.nan if one.sessions is None else one.sessions,
        "session_deviation": one.session_deviation,
        "verdict": one.verdict,
        "reason": one.reason,
    }


def count_tests(comparisons: Sequence[Comparison]) -> int:
    """Returns how many comparisons Holm's correction counts."""
    return sum(one.tested for one in comparisons)


def assumption(comparisons: Sequence[Comparison], paired: bool, history: bool) -> str:
    """Returns the assumptions of verdicts; empty for pairs, which need none."""
    if paired:
        return ""
    if history:
        sessions = max((one.sessions or 0 for one in comparisons), default=0)
        # With two modes of sessions, 8 to 12 % of equal cells are called different by a history of 5 in one of them.
        missed = f"; {sessions} can miss what {100 * unseen_share(sessions):.0f} % of sessions do" if sessions else ""
        return f"A and B differ in time and circumstances no more than the experiments of the history do{missed}"
    shares = [
        false_verdicts(one.error, one.freedom, SESSION_DEVIATION, significance(one.confidence))
        for one in comparisons
        if one.tested
    ]
    described = (
        f"; if sessions deviated by {100 * SESSION_DEVIATION:g} %, {100 * np.median(shares):.0f} % of"
        " identical cells would be called faster or slower"
        if shares
        else ""
    )
    return f"the machine did not change between A and B{described} (docs/compare.md)"
