"""Facts on comparisons: the conclusion, verdicts by ranges of sizes, open cells, what launches cannot show."""

from __future__ import annotations

import math
from dataclasses import dataclass

from downbeat.output.facts import Fact


@dataclass(frozen=True)
class VerdictCount:
    """The cells with a verdict, and their smallest and largest ratio B / A."""

    verdict: str
    cells: int
    low: float
    high: float


@dataclass(frozen=True)
class Conclusion(Fact):
    """What a comparison comes to.

    Attributes:
        a: name of A.
        b: name of B.
        metric: of the numbers.
        readings: whether synchronizers are compared: the same call reads higher or lower.
        is_time: whether less of the metric is faster.
        cells: those that answer.
        counts: by verdict, those that occur.
        ratio: B / A over all cells, where all of them are faster, or all slower: a geometric mean, as are the ends of
            its interval. That is wide enough however much cells of a launch resemble each other: the deviation of a
            mean is at most the mean of the deviations. NaN where verdicts differ.
        low: lower end of its interval.
        high: upper end.
        sessions: of the history that B is compared with; 0 without one.
        is_rate: whether more of the metric is faster.
    """

    a: str
    b: str
    metric: str
    readings: bool
    is_time: bool
    cells: int
    counts: tuple[VerdictCount, ...]
    ratio: float = math.nan
    low: float = math.nan
    high: float = math.nan
    sessions: int = 0
    is_rate: bool = False

    def count(self, verdict: str) -> int:
        """The number of cells with a verdict."""
        return sum(each.cells for each in self.counts if each.verdict == verdict)


@dataclass(frozen=True)
class FirstNights(Fact):
    """Nothing is judged yet, for the history is too short.

    Attributes:
        night: number of this one, from 1.
        needed: sessions that a verdict needs before it.
    """

    night: int
    needed: int


@dataclass(frozen=True)
class OneLaunchEach(Fact):
    """The ratios of a launch of A and a launch of B, which no verdict can rest on.

    Attributes:
        a: name of A.
        b: name of B.
        metric: of the numbers.
        cells: those that have a ratio.
        ratio: B / A, geometric mean over them.
        low: smallest.
        high: largest.
    """

    a: str
    b: str
    metric: str
    cells: int
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class StateShare:
    """Launches of A and of B in a state of the machine."""

    state: str
    in_a: int
    of_a: int
    in_b: int
    of_b: int


@dataclass(frozen=True)
class WithinStates(Fact):
    """Verdicts are within one of several states of the machine; the ratio over all launches, NaN against a history."""

    a: str
    b: str
    states: tuple[str, ...]
    shares: tuple[StateShare, ...]
    verdicts: tuple[tuple[str, int], ...]
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class OtherCells(Fact):
    """Verdicts of cells beside those that answer: in other states, after other synchronizers.

    Attributes:
        start: that they are from; empty where starts are compared.
        state: of the machine; empty where there is one.
        readings: as in `Conclusion`.
        counts: verdict and cells.
    """

    start: str
    state: str
    readings: bool
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Unseen(Fact):
    """What the launches of the cell with the fewest cannot show.

    Attributes:
        launches: of that cell.
        span: from the start of the first launch to that of the last, s; NaN: unknown.
    """

    launches: int
    span: float


@dataclass(frozen=True)
class SlowLaunches(Fact):
    """Slow launches of A and of B in the cell where they differ most.

    Attributes:
        cell: its name.
        a: name of A.
        b: name of B.
        slow_a: slow launches of A.
        slow_b: of B.
        of_a: all launches of A.
        of_b: of B.
        p_value: corrected for the cells with slow launches, from which this one is picked (Bonferroni).
    """

    cell: str
    a: str
    b: str
    slow_a: int
    slow_b: int
    of_a: int
    of_b: int
    p_value: float


@dataclass(frozen=True)
class OpenCells(Fact):
    """Cells that are undecided or unmatched for a reason that more launches do not help.

    Attributes:
        verdict: of them.
        reason: of it.
        cells: their names.
        every: whether no other cell is shown.
    """

    verdict: str
    reason: str
    cells: tuple[str, ...]
    every: bool


@dataclass(frozen=True)
class NextStep(Fact):
    """What more launches would show of cells that are undecided.

    Of the cells counted, nine of ten differ significantly if the true ratio is 1.05; nine of ten are equivalent if all
    ratios are 1.

    Attributes:
        cells: that more launches help.
        launches: there are; of the cell with the fewest.
        needed: what half of the cells need that can be helped, at least `launches`.
        shown: cells that these launches are enough for.
        far: cells that need more than `AFFORDABLE`.
        equal: launches that show equality; of the cell with the most.
        beyond: cells that need more than `AFFORDABLE` for it.
        margin: of equivalence.
        by_holm: cells that are undecided by Holm's correction alone.
        few_alike: cells with too few launches to be equivalent.
        between_sessions: whether launches do not help against what differs between sessions.
    """

    cells: int
    launches: int
    needed: int
    shown: int
    far: int
    equal: float
    beyond: int
    margin: float
    by_holm: int = 0
    few_alike: int = 0
    between_sessions: bool = False


@dataclass(frozen=True)
class TooFewLaunches(Fact):
    """No cell has enough launches for a verdict; `option`: what to give `downbeat run`, `launches`."""

    launches: int
    so_far: bool = False


@dataclass(frozen=True)
class SizeRange:
    """Sizes with one verdict.

    Attributes:
        verdict: of these sizes.
        indices: among all sizes of the operation.
        low: smallest ratio B / A; NaN without a ratio.
        high: largest.
        reason: of a verdict that is open.
    """

    verdict: str
    indices: tuple[int, ...]
    low: float
    high: float
    reason: str = ""


@dataclass(frozen=True)
class OperationVerdicts(Fact):
    """Verdicts on one operation: differences by ranges of sizes, sizes that are equal, sizes that are open.

    Attributes:
        operation: its name, and what else varies.
        readings: as in `Conclusion`.
        margin: of equivalence.
        sizes: all that were measured, in order.
        ranges: neighbors that differ alike, then what is equal, then what is open.
    """

    operation: str
    readings: bool
    margin: float
    sizes: tuple[int, ...]
    ranges: tuple[SizeRange, ...]
