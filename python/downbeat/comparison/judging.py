"""The matcher of launches and the engine of verdicts, of `compare`, `run`, `report` and `tune`.

Cells are matched, then all matches of one question are judged together: that is the family over which Holm's procedure
corrects. docs/statistics.md lists the families:

    compare, the end of run, report    all cells of one pair of values that have enough launches
    report: algorithms                 all pairs of algorithms, in all cases of one operation, from a common start
    tune: choice                   all algorithms in all cells, each against the default
    tune: gain, gain of rules      all cells; all rules
    tune: price                    all cells in which another measurement chooses otherwise
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.comparison.sides import SESSION
from downbeat.data.cells import STATE, WRONG
from downbeat.errors import UsageError
from downbeat.statistics.location import typical_interval
from downbeat.statistics.power import VerdictRule, detectable_ratio, launches_needed, launches_that_decide
from downbeat.statistics.sessions import compare_across_sessions
from downbeat.statistics.slow_launches import fisher_exact, mcnemar_exact, slow_launches, unseen_share
from downbeat.statistics.two_samples import compare_beyond, compare_independent, compare_paired
from downbeat.statistics.verdicts import (
    CONFIDENCE,
    FEW_ALIKE,
    FEWEST_ALIKE,
    FEWEST_LAUNCHES,
    FEWEST_SESSIONS,
    MARGIN,
    Comparison,
    judge_together,
)

Floats = NDArray[np.float64]
ONLY_IN = "only in {}"
UNMATCHED = "unmatched"
NO_HISTORY = f"sessions in the history: 0, {FEWEST_SESSIONS} are needed"
NOTHING = np.empty(0)
MOST_NAMES = 12  # of cells, in one line
# Columns of the cells to match: whether the launch counts; how much clocks may change its number, s.
NEEDED_COLUMNS = ("launch", "status", "counts", "uncertainty")


@dataclass(frozen=True)
class Match:
    """A cell of A, of B, or of both.

    Attributes:
        factors: its values of the factors on which A and B are matched.
        a: a number per launch of A that counts, s; of pairs, in the order of `b`. If the history is A, one per session.
        b: of B.
        uncertainty: how much the clocks may change b - a, mean over these launches, of A and B together, s.
        obstacle: why there is nothing to compare; empty where there is.
        paired: whether launches are compared in pairs.
        launches: their numbers, of A and of B; of pairs they are the same.
        history: the numbers of each session of a history that has the cell; None where there is no history.
        history_is_a: there is no other A.
        beyond: the factor that states of the machine may make between A and B, which share none; 1: they share one.
    """

    factors: Mapping[str, object]
    a: Floats
    b: Floats
    uncertainty: float = 0.0
    obstacle: str = ""
    paired: bool = True
    launches: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    history: tuple[Floats, ...] | None = None
    history_is_a: bool = False
    beyond: float = 1.0

    def compared(self, margin: float = MARGIN, confidence: float = CONFIDENCE) -> Comparison:
        """Returns B compared with A: in pairs, across the sessions of a history, or as independent launches."""
        rule = (margin, confidence, self.uncertainty)
        if self.history is not None:
            return compare_across_sessions(None if self.history_is_a else self.a, self.b, self.history, *rule)
        if self.beyond > 1:
            return compare_beyond(self.a, self.b, self.beyond, *rule)
        return (compare_paired if self.paired else compare_independent)(self.a, self.b, *rule)

    def slow(self) -> tuple[int, int, float]:
        """Returns how many launches of A and of B are slow, and the p-value that it is as frequent on either side."""
        a, b = (slow_launches(side) for side in (self.a, self.b))
        exact = mcnemar_exact(a, b) if self.paired else fisher_exact(int(a.sum()), a.size, int(b.sum()), b.size)
        return int(a.sum()), int(b.sum()), exact


@dataclass(frozen=True)
class Judged:
    """A cell with its verdict; `comparison` is None where there is nothing to compare."""

    match: Match
    comparison: Comparison | None

    @property
    def verdict(self) -> str:
        """The verdict on B: faster, slower, equivalent, undecided, or unmatched."""
        if self.comparison:
            return self.comparison.verdict
        return UNMATCHED if self.match.obstacle.startswith("only in") else "undecided"

    @property
    def reason(self) -> str:
        """The reason of the verdict, in words."""
        return self.comparison.reason if self.comparison else self.match.obstacle


def judge_matches(matches: Sequence[Match], margin: float = MARGIN, confidence: float = CONFIDENCE) -> list[Judged]:
    """Judges matches as one question; an obstacle is not a test."""
    found = iter(judge_together([one.compared(margin, confidence) for one in matches if not one.obstacle]))
    return [Judged(one, None if one.obstacle else next(found)) for one in matches]


@dataclass
class Matcher:
    """Puts launches of A and B together, and notes what it leaves out.

    Attributes:
        column: that holds the numbers, s.
        paired: whether launches of the same number are pairs.
        left_out: side and reason -> the launches, and the cells.
    """

    column: str
    paired: bool = True
    left_out: dict[tuple[str, str], tuple[set[int], list[str]]] = field(default_factory=dict)

    def cells(
        self, a: pd.DataFrame | None, b: pd.DataFrame, key: Sequence[str], history: pd.DataFrame | None = None
    ) -> list[Match]:
        """Matches cells, those of A in their order, then those that only B has.

        Args:
            a: cells of launches: `key`, `NEEDED_COLUMNS` and the column; None: the history is A.
            b: of B.
            key: factors that must be the same.
            history: cells of the sessions of a history, with `session`; None: there is none.

        Raises:
            UsageError: a cell is twice in a launch, so that it has no one pair.
        """
        sides = [side for side in (history if a is None else a, b) if side is not None]
        both = pd.concat(sides)
        shown = [name for name in key if name in ("operation", "size") or both[name].nunique() > 1]
        of_a, of_b = (self._grouped(side, key) for side in sides)
        past = {} if history is None else self._grouped(history, key)
        matches = []
        for values in dict.fromkeys([*of_a, *of_b]):
            factors = dict(zip(key, values, strict=True))
            label = " ".join(f"{factors[name]}" for name in shown)
            if values not in of_b or (a is not None and values not in of_a):
                alone = ONLY_IN.format("B" if values in of_b else "A")
                matches.append(Match(factors, NOTHING, NOTHING, math.nan, alone, self.paired))
                continue
            if a is None:
                matches.append(self._against_history(factors, of_b[values], past.get(values), label))
                continue
            match = self.launches(factors, of_a[values], of_b[values], label)
            if history is not None and not match.obstacle:
                match = dataclasses.replace(match, history=self._sessions(past.get(values), label)[0])
            matches.append(match)
        return matches

    def notes(self) -> list[str]:
        """Returns a line for each reason to leave launches out, with the launches and the cells, or how many."""
        return [
            f"{side}: {reason.format(launches_text(numbers))}: "
            f"{', '.join(cells) if len(cells) <= MOST_NAMES else f'{len(cells)} cells'}"
            for (side, reason), (numbers, cells) in self.left_out.items()
        ]

    def _grouped(self, cells: pd.DataFrame, key: Sequence[str]) -> dict[Any, pd.DataFrame]:
        # Numbers are copied cell by cell; factors need not be.
        numbers = [*NEEDED_COLUMNS, self.column, *([SESSION] if SESSION in cells else [])]
        return dict(list(cells[numbers].groupby([cells[name] for name in key], sort=False)))

    def _note(self, side: str, reason: str, rows: pd.DataFrame, cell: str) -> None:
        numbers, cells = self.left_out.setdefault((side, reason), (set(), []))
        numbers.update(rows["launch"])
        cells.append(cell)

    def _counted(self, rows: pd.DataFrame, side: str, label: str) -> tuple[pd.DataFrame, str]:
        """Returns the launches of a cell that count, and why it cannot be compared: empty if it can."""
        obstacle = ""
        counts = rows["counts"]
        for status, others in () if counts.all() else rows[~counts].groupby("status"):
            self._note(side, f"{status} in {{}}, left out", others, label)
            if status == WRONG:
                obstacle = f"wrong results in {side}"
        fine = rows[counts]
        numbers = fine[self.column].to_numpy(dtype=float)
        without = fine[~np.isfinite(numbers)]
        if len(without):
            self._note(side, "no number in {}, left out", without, label)
        # Left out they would make the side look slower than it is: what counts is never chosen by how fast it was.
        if np.any(numbers <= 0):
            self._note(side, "not above 0 in {}", fine[numbers <= 0], label)
            obstacle = obstacle or f"not above 0 in {side}, so it has no ratio"
        if len(without) == len(fine):
            obstacle = obstacle or f"no launch of {side} counts"
        return fine[np.isfinite(numbers)], obstacle

    def _sessions(self, past: pd.DataFrame | None, label: str) -> tuple[tuple[Floats, ...], float]:
        """Returns the numbers of each session of a history that has a cell, and their mean uncertainty."""
        found = []
        for name, rows in past.groupby(SESSION, sort=False) if past is not None else ():
            counted, obstacle = self._counted(rows, f"history {name}", label)
            if not obstacle:
                found.append((self._numbers(counted), float(counted["uncertainty"].mean())))
        return tuple(one for one, _ in found), float(np.mean([bound for _, bound in found])) if found else 0.0

    def _against_history(
        self, factors: Mapping[str, object], b: pd.DataFrame, past: pd.DataFrame | None, label: str
    ) -> Match:
        """Puts the launches of one cell of B beside the sessions of its history, which are A."""
        counted, obstacle = self._counted(b, "B", label)
        sessions, bound = self._sessions(past, label)
        return Match(
            factors,
            np.array([np.exp(np.log(session).mean()) for session in sessions]),
            self._numbers(counted),
            0.0 if obstacle or not sessions else bound + float(counted["uncertainty"].mean()),
            obstacle or ("" if sessions else NO_HISTORY),
            paired=False,
            launches=((), tuple(counted["launch"])),
            history=sessions,
            history_is_a=True,
        )

    def launches(self, factors: Mapping[str, object], a: pd.DataFrame, b: pd.DataFrame, label: str) -> Match:
        """Puts the launches of one cell together; `label` names it in notes."""
        whole = self._complete_pairs(factors, a, b) if self.paired else None
        if whole:
            return whole
        (a, why_a), (b, why_b) = (self._counted(rows, side, label) for side, rows in (("A", a), ("B", b)))
        obstacle = why_b if why_b.startswith("wrong") else why_a or why_b
        if self.paired:
            for side, rows in (("A", a), ("B", b)):
                twice = rows[rows["launch"].duplicated()]
                if len(twice):
                    raise UsageError(
                        f"{side} has {label} twice in {launches(twice)}; pairs need each cell once per launch"
                    )
            both = set(a["launch"]) & set(b["launch"])
            # In a state of the machine pairs may run out: launches of the same number need not share one.
            paired = len(both) >= FEWEST_LAUNCHES or not factors.get(STATE) or min(len(a), len(b)) < FEWEST_LAUNCHES
        else:
            paired = False
        if paired:
            a, b = (self._in_pairs(rows, both, side, label) for side, rows in (("A", a), ("B", b)))
            obstacle = obstacle or ("" if both else "no launch counts on both sides")
        uncertainty = 0.0 if obstacle else float(sum(side["uncertainty"].mean() for side in (a, b)))
        numbers = (tuple(a["launch"]), tuple(b["launch"]))
        return Match(factors, self._numbers(a), self._numbers(b), uncertainty, obstacle, paired, numbers)

    def _complete_pairs(self, factors: Mapping[str, object], a: pd.DataFrame, b: pd.DataFrame) -> Match | None:
        """Returns the match of a cell that counts in every launch of both sides, as nearly all of thousands do."""
        launches = [side["launch"].to_numpy() for side in (a, b)]
        if launches[0].size < FEWEST_LAUNCHES or not np.array_equal(*launches) or np.any(np.diff(launches[0]) <= 0):
            return None
        if not (a["counts"].to_numpy().all() and b["counts"].to_numpy().all()):
            return None
        values = [self._numbers(side) for side in (a, b)]
        if not all(np.all(np.isfinite(side) & (side > 0)) for side in values):
            return None
        uncertainty = float(sum(side["uncertainty"].to_numpy().mean() for side in (a, b)))
        numbers = tuple(launches[0].tolist())
        return Match(factors, *values, uncertainty, "", True, (numbers, numbers))

    def _in_pairs(self, rows: pd.DataFrame, both: set[object], side: str, label: str) -> pd.DataFrame:
        """Returns the launches that both sides have, by their numbers."""
        alone = rows[~rows["launch"].isin(both)]
        if len(alone):
            self._note(side, "{} without a pair, left out", alone, label)
        return rows[rows["launch"].isin(both)].sort_values("launch")

    def _numbers(self, rows: pd.DataFrame) -> Floats:
        return rows[self.column].to_numpy(dtype=float)


def launches(rows: pd.DataFrame) -> str:
    """Returns the numbers of the launches in words."""
    return launches_text(rows["launch"])


def launches_text(numbers: Iterable[int]) -> str:
    """Returns numbers of launches in words."""
    ordered = sorted(set(numbers))
    return f"launch{'es' if len(ordered) > 1 else ''} {', '.join(map(str, ordered))}"


EFFECT = 1.05  # the difference for which `launches_needed` is given
VERDICT_NUMBERS = (
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
    "clock_uncertainty",
    "detectable_ratio",
    "launches_needed",
    "sessions",
    "session_deviation",
    "slow_a",
    "slow_b",
    "slow_p_value",
    "unseen",
)


def count_tests(judged: Sequence[Judged]) -> int:
    """Returns how many comparisons Holm's correction counts."""
    return sum(one.comparison.tested for one in judged if one.comparison)


def rows_of_verdicts(judged: Sequence[Judged]) -> list[dict[str, object]]:
    """Returns a row per cell: factors, `VERDICT_NUMBERS`, `verdict` and `reason`."""
    blank = dict.fromkeys(VERDICT_NUMBERS, math.nan)
    powers = iter(powers_of([one.comparison for one in judged if one.comparison], count_tests(judged)))
    return [
        {
            **one.match.factors,
            **blank,
            **({**verdict_numbers(one.match, one.comparison), **next(powers)} if one.comparison else {}),
            "verdict": one.verdict,
            "reason": one.reason,
        }
        for one in judged
    ]


def rule_of(one: Comparison, tests: int) -> VerdictRule:
    """Returns what a difference must meet in one of so many tests, with Holm's correction at its strictest."""
    return VerdictRule(one.level / max(tests, 1), one.margin, one.confidence, one.hidden)


def powers_of(comparisons: Sequence[Comparison], tests: int) -> list[dict[str, float]]:
    """Returns the power of comparisons that are judged by one rule: what they detect, and how many launches 5 % takes.

    It is that with Holm's correction at its strictest. Launches do not help against what differs between sessions.
    """
    if not comparisons:
        return []
    columns = ("error", "deviation", "freedom", "paired", "hidden")
    error, deviation, freedom, paired, hidden = (
        np.array([getattr(one, name) for one in comparisons]) for name in columns
    )
    rule = dataclasses.replace(rule_of(comparisons[0], tests), hidden=hidden)
    found = [
        {"detectable_ratio": float(ratio), "launches_needed": math.nan}
        for ratio in detectable_ratio(error, freedom, rule)
    ]
    asked = [i for i, one in enumerate(comparisons) if min(one.launches) >= 2 and one.sessions is None]
    some = dataclasses.replace(rule, hidden=hidden[asked])
    needed = launches_needed(EFFECT, deviation[asked], freedom[asked], paired[asked], some) if asked else ()
    for i, launches in zip(asked, needed, strict=True):
        one = comparisons[i]
        deciding = launches_that_decide(one.deviation, one.margin, one.confidence) if one.reason == FEW_ALIKE else 0
        found[i]["launches_needed"] = max(FEWEST_ALIKE, deciding) if deciding else float(launches)
    return found


def verdict_numbers(match: Match, one: Comparison) -> dict[str, object]:
    """Returns the numbers of a cell, without its power."""
    # Between sessions it is means that are compared.
    a, b = (
        typical_interval(side).estimate if match.history is None else float(np.exp(np.log(side).mean()))
        for side in (match.a, match.b)
    )
    slow_a, slow_b, slow_p_value = (math.nan,) * 3 if match.history_is_a else match.slow()
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
        "clock_uncertainty": match.uncertainty,
        "sessions": math.nan if one.sessions is None else one.sessions,
        "session_deviation": one.session_deviation,
        "slow_a": slow_a,
        "slow_b": slow_b,
        "slow_p_value": slow_p_value,
        "unseen": unseen_share(min(one.launches[match.history_is_a :])),
    }
