"""Matches the launches of A and B cell by cell, as pairs or independent launches, and notes excluded launches.

Launches of the same number are a pair if A and B are of one experiment. With a history, A is its sessions, or the
history only adds the deviation between sessions.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from downbeat.comparison.sides import Launches, SideCells
from downbeat.data.cells import WRONG
from downbeat.errors import UsageError
from downbeat.statistics.sessions import compare_across_sessions
from downbeat.statistics.slow_launches import fisher_exact, mcnemar_exact, slow_launches
from downbeat.statistics.two_samples import compare_independent, compare_paired
from downbeat.statistics.verdicts import CONFIDENCE, MARGIN, MIN_LAUNCHES, Comparison, too_few_sessions
from downbeat.tables import Floats, Ints

ONLY_IN = "only in "  # begins the obstacle of a cell that one side lacks
NOTHING = np.empty(0)
MAX_NAMES = 12  # cells that a line names; they fill two lines of 80 columns


@dataclass(frozen=True)
class Match:
    """The numbers of A and B for one cell.

    Attributes:
        factors: factor on which A and B are matched -> value.
        a: a number per valid launch of A, s; pairs are in the order of `b`. If the history is A, a mean per session.
        b: a number per valid launch of B, s.
        uncertainty: possible change of b - a by the clocks, mean over these launches, s.
        obstacle: why the cell cannot be compared; empty if it can.
        paired: True if launches are compared in pairs.
        launches: numbers of the launches of A and of B; the same for pairs.
        history: numbers of the launches of each session that has the cell, s; None without a history.
        history_is_a: True if B is compared with the history only.
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

    def compared(self, margin: float = MARGIN, confidence: float = CONFIDENCE) -> Comparison:
        """Compares B with A: in pairs, across the sessions of a history, or as independent launches."""
        rule = (margin, confidence, self.uncertainty)
        if self.history is not None:
            return compare_across_sessions(None if self.history_is_a else self.a, self.b, self.history, *rule)
        return (compare_paired if self.paired else compare_independent)(self.a, self.b, *rule)

    def slow(self) -> tuple[float, float, float]:
        """Returns the numbers of slow launches of A and of B, and the p-value for equal frequencies.

        All are NaN if the history is A.
        """
        if self.history_is_a:
            return math.nan, math.nan, math.nan
        a, b = (slow_launches(side) for side in (self.a, self.b))
        exact = mcnemar_exact(a, b) if self.paired else fisher_exact(int(a.sum()), a.size, int(b.sum()), b.size)
        return int(a.sum()), int(b.sum()), exact


@dataclass
class Matcher:
    """Matches launches of A and B, and records excluded launches for notes.

    Attributes:
        paired: True if launches of the same number are pairs.
        left_out: side and reason -> numbers of launches, and names of cells.
    """

    paired: bool = True
    left_out: dict[tuple[str, str], tuple[set[int], list[str]]] = field(default_factory=dict)

    def cells(
        self, a: SideCells | None, b: SideCells, key: Sequence[str], history: SideCells | None = None
    ) -> list[Match]:
        """Matches cells: the cells of A in their order, then cells that only B has.

        Args:
            a: cells of A; None: the history is A.
            b: cells of B.
            key: factors with equal values in A and B.
            history: cells of all sessions; None without a history.

        Raises:
            UsageError: a launch has a cell twice, so that its pair is ambiguous.
        """
        sides = [side for side in (history if a is None else a, b) if side is not None]
        varying = [name for name in key if len({value for side in sides for value in getattr(side, name).tolist()}) > 1]
        shown = [name for name in key if name in {"operation", "size", *varying}]
        of_a, of_b = (side.by_cell(key) for side in sides)
        past = {} if history is None else history.by_cell(key)
        matches = []
        for values in dict.fromkeys([*of_a, *of_b]):
            factors = dict(zip(map(str, key), values, strict=True))
            label = " ".join(f"{factors[name]}" for name in shown)
            if values not in of_b or (a is not None and values not in of_a):
                obstacle = f"{ONLY_IN}{'B' if values in of_b else 'A'}"
                matches.append(Match(factors, NOTHING, NOTHING, math.nan, obstacle, self.paired))
            elif a is None:
                matches.append(self._against_history(factors, of_b[values], past.get(values), label))
            else:
                match = self.match(factors, of_a[values], of_b[values], label)
                if history is not None and not match.obstacle:
                    match = dataclasses.replace(match, history=self._sessions(past.get(values), label)[0])
                matches.append(match)
        return matches

    def notes(self) -> list[str]:
        """Returns a line for each reason of excluded launches, with the launches, and the cells or their number."""
        return [
            f"{side}: {reason.format(launches_text(numbers))}: "
            f"{', '.join(cells) if len(cells) <= MAX_NAMES else f'{len(cells)} cells'}"
            for (side, reason), (numbers, cells) in self.left_out.items()
        ]

    def _note(self, side: str, reason: str, rows: Launches, cell: str) -> None:
        if len(rows):
            numbers, cells = self.left_out.setdefault((side, reason), (set(), []))
            numbers.update(rows.launch.tolist())
            cells.append(cell)

    def _counted(self, rows: Launches, side: str, label: str) -> tuple[Launches, str]:
        """Selects the launches of a cell that count; also returns the obstacle to its comparison, else ""."""
        obstacle = ""
        if not rows.counts.all():
            for status in sorted(set(rows.status[~rows.counts])):
                self._note(side, f"{status} in {{}}, left out", rows[~rows.counts & (rows.status == status)], label)
                if status == WRONG:
                    obstacle = f"wrong results in {side}"
            rows = rows[rows.counts]
        finite = np.isfinite(rows.value)
        if not finite.all():
            self._note(side, "no number in {}, left out", rows[~finite], label)
            rows = rows[finite]
        # Not excluded: without its fastest launches the side would look slower than it is.
        if np.any(rows.value <= 0):
            self._note(side, "not above 0 in {}", rows[rows.value <= 0], label)
            obstacle = obstacle or f"not above 0 in {side}, so it has no ratio"
        return rows, obstacle or ("" if len(rows) else f"no launch of {side} counts")

    def _sessions(self, past: Launches | None, label: str) -> tuple[tuple[Floats, ...], float]:
        """Returns the numbers of each session that has the cell, s, and their mean uncertainty, s."""
        sessions = []
        for name in dict.fromkeys(past.session) if past is not None else ():
            assert past is not None  # for mypy: without a history, the loop is empty
            counted, obstacle = self._counted(past[past.session == name], f"history {name}", label)
            if not obstacle:
                sessions.append(counted)
        bound = float(np.mean([session.hidden for session in sessions])) if sessions else 0.0
        return tuple(session.value for session in sessions), bound

    def _against_history(self, factors: Mapping[str, object], b: Launches, past: Launches | None, label: str) -> Match:
        """Matches the launches of one cell of B with the sessions of the history, which are A."""
        counted, obstacle = self._counted(b, "B", label)
        sessions, bound = self._sessions(past, label)
        return Match(
            factors,
            np.array([np.exp(np.log(session).mean()) for session in sessions]),
            counted.value,
            0.0 if obstacle or not sessions else bound + counted.hidden,
            obstacle or ("" if sessions else too_few_sessions(0)),
            paired=False,
            launches=((), tuple(counted.launch.tolist())),
            history=sessions,
            history_is_a=True,
        )

    def match(self, factors: Mapping[str, object], a: Launches, b: Launches, label: str) -> Match:
        """Matches the launches of one cell; `label` names it in notes."""
        (a, why_a), (b, why_b) = (self._counted(rows, side, label) for side, rows in (("A", a), ("B", b)))
        obstacle = why_b if why_b.startswith("wrong") else why_a or why_b
        paired = self.paired
        if paired:
            for side, rows in (("A", a), ("B", b)):
                numbers, counts = np.unique(rows.launch, return_counts=True)
                if twice := numbers[counts > 1].tolist():
                    raise UsageError(
                        f"{side} has {label} twice in {launches_text(twice)}; pairs need each cell once per launch"
                    )
            common = np.intersect1d(a.launch, b.launch)
            # With too few pairs but enough launches, compare independently: a pair may be in two states.
            paired = common.size >= MIN_LAUNCHES or min(len(a), len(b)) < MIN_LAUNCHES
        if paired:
            a, b = (self._in_pairs(rows, common, side, label) for side, rows in (("A", a), ("B", b)))
            obstacle = obstacle or ("" if common.size else "no launch counts on both sides")
        uncertainty = 0.0 if obstacle else a.hidden + b.hidden
        numbers_of = (tuple(a.launch.tolist()), tuple(b.launch.tolist()))
        return Match(factors, a.value, b.value, uncertainty, obstacle, paired, numbers_of)

    def _in_pairs(self, rows: Launches, common: Ints, side: str, label: str) -> Launches:
        """Selects the launches that both sides have, ordered by number."""
        shared = np.isin(rows.launch, common)
        self._note(side, "{} without a pair, left out", rows[~shared], label)
        rows = rows[shared]
        return rows[np.argsort(rows.launch, kind="stable")]


def launches_text(numbers: Iterable[int]) -> str:
    """Lists numbers of launches for a text."""
    ordered = sorted(set(numbers))
    return f"launch{'es' if len(ordered) > 1 else ''} {', '.join(map(str, ordered))}"
