"""Facts on comparisons of A and B: the conclusion, verdicts by ranges of sizes, open cells, limits of the evidence.

A verdict on a cell is "faster", "slower", "equivalent", "undecided" or "unmatched" (B against A). A cell is open if it
is undecided or unmatched. Ratios are B / A. A history is earlier experiments of the same kind; a session (night) is one
of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from downbeat.output.facts import Fact

NO_VERDICT = "no verdict"  # begins the reason of cells with too few launches for any verdict


@dataclass(frozen=True)
class VerdictCount:
    """The cells with a verdict."""

    verdict: str
    cells: int  # number of the cells
    low: float  # smallest ratio B / A
    high: float  # largest ratio B / A


@dataclass(frozen=True)
class Conclusion(Fact):
    """The conclusion of a comparison.

    Attributes:
        a: name of A.
        b: name of B.
        metric: name of the metric.
        readings: whether synchronizers are compared: then neither is faster, but the same call reads higher or lower.
        is_time: whether a smaller value of the metric is faster.
        cells: number of cells that the conclusion is about.
        counts: the cells of each verdict that occurs.
        ratio: geometric mean of the ratios B / A if all cells are faster, or all are slower; else NaN. The ends of its
            interval are geometric means, too. The interval is wide enough even if cells of a launch are correlated: the
            deviation of a mean is at most the mean of the deviations.
        low: lower end of the interval of the ratio.
        high: upper end of the interval.
        sessions: number of sessions in the history that B is compared with; 0 without a history.
        is_rate: whether a larger value of the metric is faster. Neither: the metric is a pure number, e.g. a share.
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
    """There are no verdicts yet, because the history is too short.

    Attributes:
        night: number of this session, from 1.
        needed: number of earlier sessions that a verdict needs.
    """

    night: int
    needed: int


@dataclass(frozen=True)
class OneLaunchEach(Fact):
    """The ratios of one launch of A and one launch of B, which are too few for verdicts.

    Attributes:
        a: name of A.
        b: name of B.
        metric: name of the metric.
        cells: number of cells that have a ratio.
        ratio: geometric mean of their ratios B / A.
        low: smallest ratio.
        high: largest ratio.
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

    state: str  # its name
    in_a: int  # launches of A in this state
    of_a: int  # all launches of A
    in_b: int  # launches of B in this state
    of_b: int  # all launches of B


@dataclass(frozen=True)
class WithinStates(Fact):
    """The machine had several states, and verdicts compare launches within a state.

    Attributes:
        a: name of A.
        b: name of B.
        states: names of the states.
        shares: the launches in each state; empty against a history.
        verdicts: verdict over all launches, ignoring states, and number of cells with it; empty against a history.
        ratio: ratio B / A over all launches, ignoring states; NaN against a history.
        low: lower end of its interval.
        high: upper end of its interval.
    """

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
    """Verdicts of cells that the conclusion is not about: in other states, or after other synchronizers.

    Attributes:
        start: synchronizer before their samples; empty if synchronizers are compared.
        state: state of the machine; empty if there is only one state.
        readings: as in `Conclusion`.
        counts: each verdict, and the number of cells with it.
    """

    start: str
    state: str
    readings: bool
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Unseen(Fact):
    """The limits of the evidence of a number of launches: how many launches may be slow without being seen.

    Attributes:
        launches: number of launches of the cell with the fewest launches.
        span: time from the start of the first launch to the start of the last, s; NaN: unknown.
    """

    launches: int
    span: float


@dataclass(frozen=True)
class SlowLaunches(Fact):
    """The numbers of slow launches of A and of B, in the cell in which they differ most.

    Attributes:
        cell: name of the cell.
        a: name of A.
        b: name of B.
        slow_a: number of slow launches of A.
        slow_b: number of slow launches of B.
        of_a: number of all launches of A.
        of_b: number of all launches of B.
        p_value: p-value of the difference, corrected for the choice among all cells with slow launches (Bonferroni).
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
    """Cells that are undecided or unmatched, and that more launches would not decide.

    Attributes:
        verdict: the verdict of all these cells.
        reason: the reason of the verdict.
        cells: names of the cells.
        every: whether these are all cells of the comparison.
    """

    verdict: str
    reason: str
    cells: tuple[str, ...]
    every: bool


@dataclass(frozen=True)
class NextStep(Fact):
    """The number of launches that would decide undecided cells (downbeat/statistics/power.py).

    Launches "show" a difference of 5 % in a cell if they find it significant with a probability of 90 %, and equality
    if they find a cell with ratio 1 equivalent with a probability of 90 %.

    Attributes:
        cells: number of undecided cells that more launches may decide.
        launches: present number of launches, of the cell with the fewest.
        needed: number of launches that shows a difference in half of the cells that need at most `AFFORDABLE`; at least
            `launches`.
        shown: number of cells in which `needed` launches show a difference.
        far: number of cells that need more than `AFFORDABLE` launches to show a difference.
        equal: number of launches that shows equality, in the cell that needs the most.
        beyond: number of cells that need more than `AFFORDABLE` launches to show equality.
        margin: largest deviation of a ratio from 1 that counts as equivalent.
        by_holm: number of cells that only Holm's correction makes undecided.
        few_alike: number of cells with too few launches in the same state to be equivalent.
        between_sessions: whether sessions differ, so that more launches in each of them do not help.
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
    """No cell has enough launches for a verdict.

    Attributes:
        launches: number of launches to request with `downbeat run --launches`.
        so_far: whether enough launches were requested before, but too few of them can be compared.
    """

    launches: int
    so_far: bool = False


@dataclass(frozen=True)
class SizeRange:
    """Message sizes with the same verdict.

    Attributes:
        verdict: the verdict.
        indices: indices of the sizes in `OperationVerdicts.sizes`.
        low: smallest ratio B / A; NaN without ratios.
        high: largest ratio.
        reason: reason of an open verdict; empty: none. If it begins with NO_VERDICT, it is worded without the verdict.
    """

    verdict: str
    indices: tuple[int, ...]
    low: float
    high: float
    reason: str = ""


@dataclass(frozen=True)
class OperationVerdicts(Fact):
    """The verdicts on one operation, by message sizes.

    Attributes:
        operation: name of the operation, and values of other factors that vary.
        readings: as in `Conclusion`.
        margin: largest deviation of a ratio from 1 that counts as equivalent.
        sizes: all measured sizes in ascending order, bytes.
        ranges: neighboring sizes that are faster or slower; then all equivalent sizes; then the open sizes.
    """

    operation: str
    readings: bool
    margin: float
    sizes: tuple[int, ...]
    ranges: tuple[SizeRange, ...]
