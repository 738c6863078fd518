"""Facts on verdicts: the conclusion, verdicts by ranges of sizes, open cells, what launches cannot show.

Numbers alone; `views/words.py` has their wordings. Facts on a comparison are of the cells that answer it,
`Compared.answer`, wherever they are shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from downbeat.comparison.compared import READINGS, UNMATCHED, Compared
from downbeat.comparison.summaries import row_names
from downbeat.data.readers.kinds import MEASURES, is_rate
from downbeat.output.facts import Fact
from downbeat.output.fields import word
from downbeat.statistics.verdicts import (
    FEW_ALIKE,
    FEWEST_LAUNCHES,
    FEWEST_SESSIONS,
    NOT_AMONG_MANY,
    NOT_SIGNIFICANT,
)
from downbeat.tables import Floats
from downbeat.text import printable

VERDICT_ORDER = ("faster", "slower", "equivalent", "undecided", UNMATCHED)
MORE_LAUNCHES = (NOT_SIGNIFICANT, NOT_AMONG_MANY, FEW_ALIKE)  # reasons that they help
AFFORDABLE = 100  # launches; to need more says that the machine is noisy: ten minutes to hours
MOST_RANGES = 3  # with a difference, of one operation; of more, one for each verdict: the screen has 24 lines


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
    ratio: float = np.nan
    low: float = np.nan
    high: float = np.nan
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


def conclusion(compared: Compared) -> list[Conclusion | FirstNights | OneLaunchEach]:
    """The verdicts of the cells that answer; none if no cell is on both sides."""
    if compared.history_is_a and (compared.verdicts.reason == no_sessions(len(compared.history))).all():
        return [FirstNights(len(compared.history) + 1, FEWEST_SESSIONS)]
    rows = compared.answer
    if not len(rows):
        return []
    cells, (a, b) = rows.verdicts, rows.sides
    ratios = cells.ratio[np.isfinite(cells.ratio)]
    if ratios.size and np.nanmax([cells.launches_a, cells.launches_b]) == 1 and not (rows.history or rows.paired):
        mean, low, high = float(np.exp(np.log(ratios).mean())), float(ratios.min()), float(ratios.max())
        return [OneLaunchEach(a, b, rows.metric, ratios.size, mean, low, high)]
    counts = tuple(
        VerdictCount(verdict, len(ratios), float(ratios.min()), float(ratios.max()))
        for verdict in VERDICT_ORDER
        for ratios in [cells.ratio[cells.verdict == verdict]]
        if len(ratios)
    )
    sessions = int(np.nanmax(cells.sessions)) if rows.history_is_a and np.isfinite(cells.sessions).any() else 0
    about = (a, b, rows.metric, rows.readings, MEASURES[rows.metric].is_time, len(rows), counts)
    if len(counts) > 1 or counts[0].verdict not in READINGS:
        return [Conclusion(*about, sessions=sessions, is_rate=is_rate(rows.metric))]
    ratio, low, high = (float(np.exp(np.log(each).mean())) for each in (cells.ratio, cells.ratio_low, cells.ratio_high))
    return [Conclusion(*about, ratio, low, high, sessions, is_rate(rows.metric))]


def no_sessions(sessions: int) -> str:
    """The reason of cells that are not judged for want of sessions."""
    return f"sessions in the history: {sessions}, {FEWEST_SESSIONS} are needed"


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


def other_cells(shown: Compared) -> list[OtherCells]:
    """A fact for each group of the rows that are shown and do not answer, by state and synchronizer."""
    rows = shown[~shown.answers & (shown.verdicts.verdict != UNMATCHED)]
    facts = []
    for (start, state), cells in rows.verdicts.groups(rows.verdicts.started_by, rows.verdicts.state):
        counts = tuple((each, int((cells.verdict == each).sum())) for each in VERDICT_ORDER)
        facts.append(OtherCells(start, state, rows.readings, tuple(each for each in counts if each[1])))
    return facts


@dataclass(frozen=True)
class Unseen(Fact):
    """What the launches of the cell with the fewest cannot show.

    Attributes:
        launches: of that cell.
        span: from the start of the first launch to that of the last, s; NaN: unknown.
    """

    launches: int
    span: float


def unseen(compared: Compared) -> list[Unseen]:
    """The fact; none where nothing has an interval."""
    counts = compared.fewest[np.isfinite(compared.verdicts.ratio_low)]
    counts = counts[counts >= FEWEST_LAUNCHES] if (counts >= FEWEST_LAUNCHES).any() else counts
    return [Unseen(int(counts.min()), compared.span)] if counts.size and counts.min() > 0 else []


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


def slow_launches(compared: Compared) -> list[SlowLaunches]:
    """The fact; none where no launch is slow."""
    cells = compared.verdicts
    some = np.flatnonzero(np.nan_to_num(cells.slow_a) + np.nan_to_num(cells.slow_b) > 0)
    if not some.size:
        return []
    i = min(some, key=lambda row: (cells.slow_p_value[row], -max(cells.slow_a[row], cells.slow_b[row])))
    slow_a, slow_b, of_a, of_b = (
        int(each[i]) for each in (cells.slow_a, cells.slow_b, cells.launches_a, cells.launches_b)
    )
    p_value = min(1.0, some.size * float(cells.slow_p_value[i]))
    return [SlowLaunches(cell_names(compared)[i], *compared.heads, slow_a, slow_b, of_a, of_b, p_value)]


def cell_names(compared: Compared) -> list[str]:
    """The values of the factors that are shown, for each row."""
    # Printable before lines are wrapped, which makes spaces of what control characters are.
    return [printable(" ".join(map(word, values))) for values in compared.verdicts.values(*compared.shown_factors)]


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


def open_cells(compared: Compared) -> list[OpenCells]:
    """A fact for each reason."""
    cells, names = compared.verdicts, np.array(cell_names(compared), dtype=object)
    is_open = np.isin(cells.verdict, ("undecided", UNMATCHED)) & ~np.isin(cells.reason, MORE_LAUNCHES)
    reasons = dict.fromkeys(zip(cells.verdict[is_open], cells.reason[is_open], strict=True))
    return [
        OpenCells(verdict, reason, tuple(which), len(which) == len(cells))
        for verdict, reason in reasons
        for which in [names[(cells.verdict == verdict) & (cells.reason == reason)].tolist()]
    ]


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


def next_step(needed: ArrayLike, alike: ArrayLike, margin: float, launches: int, reasons: ArrayLike = ()) -> NextStep:
    """The fact, of cells that more launches help.

    Args:
        needed: by cell, launches that show 5 %, `launches_needed`.
        alike: by cell, launches that show no difference, `launches_alike`.
        margin: of equivalence.
        launches: that there are.
        reasons: by cell, why it is undecided.
    """
    numbers, equal = np.asarray(needed, dtype=float), np.asarray(alike, dtype=float)
    useful = numbers[(numbers > launches) & (numbers <= AFFORDABLE)]
    target = int(np.ceil(np.median(useful))) if useful.size else launches
    by_holm, few_alike = (int(np.sum(np.asarray(reasons) == why)) for why in (NOT_AMONG_MANY, FEW_ALIKE))
    return NextStep(
        numbers.size,
        launches,
        target,
        int((numbers <= target).sum()),
        int((numbers > AFFORDABLE).sum()),
        float(equal.max(initial=0.0)),
        int((equal > AFFORDABLE).sum()),
        margin,
        by_holm,
        few_alike,
    )


@dataclass(frozen=True)
class TooFewLaunches(Fact):
    """No cell has enough launches for a verdict; `option`: what to give `downbeat run`, `launches`."""

    launches: int
    so_far: bool = False


def step_of(compared: Compared) -> list[NextStep]:
    """What more launches show of the cells that answer: the same number wherever an experiment is shown."""
    rows = compared.answer
    cells = rows.verdicts
    rows = rows[(cells.verdict == "undecided") & np.isin(cells.reason, MORE_LAUNCHES)]
    cells = rows.verdicts
    if not len(rows):
        return []
    known = np.isfinite(cells.launches_needed)
    if not known.all():
        step = next_step([], [], rows.margin, 0, cells.reason)
        return [NextStep(len(rows), 0, 0, 0, 0, 0.0, 0, rows.margin, step.by_holm, step.few_alike, True)]
    return [next_step(cells.launches_needed, cells.launches_alike, rows.margin, int(rows.fewest.min()), cells.reason)]


def by_row(compared: Compared) -> Iterator[tuple[str, Compared]]:
    """The cells that differ in size alone, by their operation and what else varies."""
    names = row_names(compared.verdicts, compared.factors)
    for name in dict.fromkeys(names):
        yield str(name), compared[names == name]


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


def operation_verdicts(compared: Compared, name: str = "") -> OperationVerdicts:
    """The fact, of rows that differ in their size alone; an undecided size ends a range."""
    rows = compared[np.argsort(compared.verdicts.size, kind="stable")]
    cells, indices = rows.verdicts, np.arange(len(rows))
    runs = [(verdict, np.array(list(run))) for verdict, run in itertools.groupby(indices, lambda i: cells.verdict[i])]
    different = [(verdict, run) for verdict, run in runs if verdict in READINGS]
    if len(different) > MOST_RANGES:
        different = [
            (each, indices[cells.verdict == each]) for each in dict.fromkeys(verdict for verdict, _ in different)
        ]
    ranges = [size_range(verdict, run, cells.ratio) for verdict, run in different]
    if (equal := indices[cells.verdict == "equivalent"]).size:
        ranges.append(size_range("equivalent", equal, cells.ratio))
    reasons = {int(i): open_reason(rows, int(i)) for i in indices[np.isin(cells.verdict, ("undecided", UNMATCHED))]}
    for why in dict.fromkeys(reasons.values()):
        run = np.array([i for i in reasons if reasons[i] == why])
        ranges.append(size_range(str(cells.verdict[run[0]]), run, cells.ratio, why))
    return OperationVerdicts(name, rows.readings, rows.margin, tuple(cells.size.tolist()), tuple(ranges))


def size_range(verdict: str, run: np.ndarray, ratios: Floats, reason: str = "") -> SizeRange:
    """The range of some sizes, by their indices."""
    low, high = (float(end(ratios[run])) for end in (np.min, np.max))
    return SizeRange(verdict, tuple(run.tolist()), low, high, reason)


def open_reason(compared: Compared, row: int) -> str:
    """Why a row has no verdict; empty where more launches help."""
    cells, reason = compared.verdicts, str(compared.verdicts.reason[row])
    if cells.verdict[row] == UNMATCHED:
        return reason
    if min(cells.launches_a[row], cells.launches_b[row]) < FEWEST_LAUNCHES:
        return f"no verdict below {FEWEST_LAUNCHES} launches"
    if reason not in MORE_LAUNCHES:
        return reason
    return "launches deviate too much" if cells.launches_needed[row] > AFFORDABLE else ""
