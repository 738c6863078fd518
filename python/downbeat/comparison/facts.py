"""Derives facts from verdicts: the conclusion, verdicts by ranges of sizes, undecided cells, possible slow launches.

A fact has numbers only; `output/words` has its wording. Most facts concern the cells that answer a comparison
(`Compared.answer`), so that all outputs agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from downbeat.comparison.compared import READINGS, UNMATCHED, Compared
from downbeat.comparison.summaries import row_names
from downbeat.data.readers.kinds import MEASURES, is_rate
from downbeat.output.facts.comparison import (
    NO_VERDICT,
    Conclusion,
    FirstNights,
    NextStep,
    OneLaunchEach,
    OpenCells,
    OperationVerdicts,
    OtherCells,
    SizeRange,
    SlowLaunches,
    Unseen,
    VerdictCount,
)
from downbeat.output.fields import format_factor
from downbeat.statistics.power import AFFORDABLE
from downbeat.statistics.verdicts import (
    FEW_ALIKE,
    MIN_LAUNCHES,
    MIN_SESSIONS,
    NOT_AMONG_MANY,
    NOT_SIGNIFICANT,
    too_few_sessions,
)
from downbeat.tables import Floats
from downbeat.text import printable

VERDICT_ORDER = ("faster", "slower", "equivalent", "undecided", UNMATCHED)
MORE_LAUNCHES = (NOT_SIGNIFICANT, NOT_AMONG_MANY, FEW_ALIKE)  # undecided for a reason that more launches remove
MAX_RANGES = 3  # of sizes with a difference, per operation; if there are more, one set of sizes per verdict


def conclusion(compared: Compared) -> list[Conclusion | FirstNights | OneLaunchEach]:
    """Counts the verdicts of the cells that answer; empty if no cell is on both sides."""
    if compared.history_is_a and (compared.verdicts.reason == too_few_sessions(len(compared.history))).all():
        return [FirstNights(len(compared.history) + 1, MIN_SESSIONS)]
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
    ratio, low, high = (
        float(np.exp(np.log(column).mean())) for column in (cells.ratio, cells.ratio_low, cells.ratio_high)
    )
    return [Conclusion(*about, ratio, low, high, sessions, is_rate(rows.metric))]


def other_cells(shown: Compared) -> list[OtherCells]:
    """Counts the verdicts of the shown rows that do not answer, by synchronizer and state."""
    rows = shown[~shown.answers & (shown.verdicts.verdict != UNMATCHED)]
    facts = []
    for (start, state), cells in rows.verdicts.groups(rows.verdicts.started_by, rows.verdicts.state):
        counts = [(verdict, int((cells.verdict == verdict).sum())) for verdict in VERDICT_ORDER]
        facts.append(OtherCells(start, state, rows.readings, tuple(pair for pair in counts if pair[1])))
    return facts


def unseen(compared: Compared) -> list[Unseen]:
    """Returns the share of launches that may be slow unseen; empty if no cell has an interval."""
    counts = compared.fewest[np.isfinite(compared.verdicts.ratio_low)]
    counts = counts[counts >= MIN_LAUNCHES] if (counts >= MIN_LAUNCHES).any() else counts
    return [Unseen(int(counts.min()), compared.span)] if counts.size and counts.min() > 0 else []


def slow_launches(compared: Compared) -> list[SlowLaunches]:
    """Returns the cell with the most significant difference in slow launches; empty if no launch is slow."""
    cells = compared.verdicts
    with_slow = np.flatnonzero(np.nan_to_num(cells.slow_a) + np.nan_to_num(cells.slow_b) > 0)
    if not with_slow.size:
        return []
    i = min(with_slow, key=lambda row: (cells.slow_p_value[row], -max(cells.slow_a[row], cells.slow_b[row])))
    slow_a, slow_b, of_a, of_b = (
        int(column[i]) for column in (cells.slow_a, cells.slow_b, cells.launches_a, cells.launches_b)
    )
    p_value = min(1.0, with_slow.size * float(cells.slow_p_value[i]))
    return [SlowLaunches(cell_names(compared)[i], *compared.heads, slow_a, slow_b, of_a, of_b, p_value)]


def cell_names(compared: Compared) -> list[str]:
    """Returns the name of each row: the values of the factors that are shown."""
    # Before lines are wrapped: wrapping would turn control characters into spaces.
    return [
        printable(" ".join(map(format_factor, values))) for values in compared.verdicts.values(*compared.shown_factors)
    ]


def open_cells(compared: Compared) -> list[OpenCells]:
    """Groups the undecided and unmatched cells that more launches do not decide, by reason."""
    cells, names = compared.verdicts, np.array(cell_names(compared), dtype=object)
    is_open = np.isin(cells.verdict, ("undecided", UNMATCHED)) & ~np.isin(cells.reason, MORE_LAUNCHES)
    reasons = dict.fromkeys(zip(cells.verdict[is_open], cells.reason[is_open], strict=True))
    return [
        OpenCells(verdict, reason, tuple(members), len(members) == len(cells))
        for verdict, reason in reasons
        for members in [names[(cells.verdict == verdict) & (cells.reason == reason)].tolist()]
    ]


def next_step(needed: ArrayLike, alike: ArrayLike, margin: float, launches: int, reasons: ArrayLike = ()) -> NextStep:
    """Recommends a number of launches for undecided cells.

    Args:
        needed: `launches_needed` of each cell: launches that find a difference of 5 %.
        alike: `launches_alike` of each cell: launches that find equal sides equivalent.
        margin: margin of equivalence.
        launches: present number of launches.
        reasons: reason of each cell.
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


def step_of(compared: Compared) -> list[NextStep]:
    """Returns the next step for the undecided cells that answer; empty if more launches decide none of them."""
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
    """Yields the cells that differ only in size, after their name: operation and other factors that vary."""
    names = row_names(compared.verdicts, compared.factors)
    for name in dict.fromkeys(names):
        yield str(name), compared[names == name]


def operation_verdicts(compared: Compared, name: str = "") -> OperationVerdicts:
    """Summarizes rows that differ only in size by ranges of sizes; an undecided size ends a range."""
    rows = compared[np.argsort(compared.verdicts.size, kind="stable")]
    cells, indices = rows.verdicts, np.arange(len(rows))
    runs = [(verdict, np.array(list(run))) for verdict, run in itertools.groupby(indices, lambda i: cells.verdict[i])]
    different = [(verdict, run) for verdict, run in runs if verdict in READINGS]
    if len(different) > MAX_RANGES:
        different = [
            (verdict, indices[cells.verdict == verdict]) for verdict in dict.fromkeys(pair[0] for pair in different)
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
    """Returns a range of sizes, by their indices, with the smallest and largest ratio."""
    low, high = (float(end(ratios[run])) for end in (np.min, np.max))
    return SizeRange(verdict, tuple(run.tolist()), low, high, reason)


def open_reason(compared: Compared, row: int) -> str:
    """Returns the reason why a row has no verdict; empty if more launches would decide it."""
    cells, reason = compared.verdicts, str(compared.verdicts.reason[row])
    if cells.verdict[row] == UNMATCHED:
        return reason
    if min(cells.launches_a[row], cells.launches_b[row]) < MIN_LAUNCHES:
        return f"{NO_VERDICT} below {MIN_LAUNCHES} launches"
    if reason not in MORE_LAUNCHES:
        return reason
    return "launches deviate too much" if cells.launches_needed[row] > AFFORDABLE else ""
