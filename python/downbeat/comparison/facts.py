"""Facts on verdicts, each with one wording: the conclusion, ranges of sizes, open cells, what launches cannot show."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from downbeat.comparison.compared import READINGS, UNMATCHED, Compared
from downbeat.comparison.conditions import COMMON_START
from downbeat.comparison.judging import EFFECT
from downbeat.comparison.summaries import describe_each
from downbeat.data.metrics import METRICS
from downbeat.output.fields import word
from downbeat.run.experiment import FACTORS
from downbeat.sentences import Sentence
from downbeat.statistics.kinds import SLOW_LAUNCHES
from downbeat.statistics.slow_launches import unseen_text
from downbeat.statistics.verdicts import FEW_ALIKE, FEWEST_LAUNCHES, NOT_AMONG_MANY, NOT_SIGNIFICANT
from downbeat.tables import Floats, Ints
from downbeat.text import PERCENT, bytes_text, counted, printable

VERDICT_ORDER = ("faster", "slower", "equivalent", "undecided", UNMATCHED)
MORE_LAUNCHES = (NOT_SIGNIFICANT, NOT_AMONG_MANY, FEW_ALIKE)  # reasons that they help
NOT_DECIDED = "not decided"
AFFORDABLE = 100  # launches; to need more says that the machine is noisy: ten minutes to hours
# Of texts: the screen holds 24 lines of 80 columns.
MOST_NAMED = 3  # cells of one reason; of more their number
MOST_RANGES = 3  # with a difference, of one operation; of more, one for each verdict
MOST_LISTED = 4  # runs in a set of sizes
TIMES = 2.0  # from here on a ratio is said in times, below in percent


def conclusion(compared: Compared) -> list[Sentence]:
    """The verdicts in a sentence; none if no cell is on both sides.

    A ratio over cells is given only where all of them are faster, or all are slower: a geometric mean, as are the ends
    of its interval. That is wide enough however much cells of a launch resemble each other: the deviation of a mean is
    at most the mean of the deviations. Else it is the number of cells with each verdict, and the ratios of these.
    """
    rows = compared[compared.verdicts.verdict != UNMATCHED]
    common = rows.within("synchronizer", COMMON_START)  # where the same was measured after a barrier, too
    rows = common if len(common) else rows
    if not len(rows):
        return []
    (a, b), metric, cells = rows.sides, rows.metric, rows.verdicts
    verdicts = set(cells.verdict)
    if len(verdicts) == 1 and verdicts <= set(READINGS):
        ratio, low, high = (
            float(np.exp(np.log(each).mean())) for each in (cells.ratio, cells.ratio_low, cells.ratio_high)
        )
        values = {"a": a, "b": b, "metric": metric, "cells": len(cells), "ratio": ratio, "low": low, "high": high}
        if rows.readings:
            return [Sentence("reads", values)]
        if not METRICS[metric].is_time:
            return [Sentence("times_that", values)]
        if verdicts == {"faster"}:  # the faster one comes first
            values |= {"a": b, "b": a, "ratio": 1 / ratio, "low": 1 / high, "high": 1 / low}
        return [Sentence("times_as_fast", values)]
    counts = []
    for verdict in (each for each in VERDICT_ORDER if each in verdicts):
        ratios = cells.ratio[cells.verdict == verdict]
        text, ends = rows.word(verdict, len(ratios)), {"low": ratios.min(), "high": ratios.max()}
        counts.append({"verdict": verdict, "word": text, "cells": len(ratios), "ranged": verdict in READINGS, **ends})
    return [Sentence("verdicts", {"a": a, "b": b, "cells": len(cells), "found": counts})]


def states_sentences(compared: Compared) -> list[Sentence]:
    """The ratio over all launches where the machine was in several states, and how these are shared."""
    overall, (a, b) = compared.overall, compared.sides
    if overall is None:
        return []
    states = [
        {"state": state, "a": a, "b": b, "in_a": in_a, "in_b": in_b, "of_a": sum(each["a"]), "of_b": sum(each["b"])}
        for each in compared.shares[:1]
        for state, in_a, in_b in list(zip(each["states"], each["a"], each["b"], strict=True))[1:]
    ]
    counts = {verdict: overall[verdict] for verdict in VERDICT_ORDER if verdict in overall}
    verdicts = [verdict if sum(counts.values()) == 1 else f"{count} {verdict}" for verdict, count in counts.items()]
    ratios = {"ratio": overall["ratio"], "low": overall["ratio_low"], "high": overall["ratio_high"]}
    return [Sentence("within_states", {"a": a, "b": b, "states": states, "verdicts": verdicts, **ratios})]


def verdict_counts(compared: Compared) -> str:
    """The number of cells with each verdict; the verdicts are of B."""
    counts = Counter(compared.verdicts.verdict)
    parts = [
        f"{counts[each]} {compared.word(each, counts[each])}"
        for each in VERDICT_ORDER
        if counts[each] or each != UNMATCHED
    ]
    of = f"after {compared.heads[1]}" if compared.readings else "B against A"
    return f"{counted(len(compared), 'cell')}: {', '.join(parts)} ({of})"


def standing_lines(compared: Compared) -> list[str]:
    """What the launches of the cell with the fewest cannot show."""
    counts = compared.fewest[np.isfinite(compared.verdicts.ratio_low)]
    counts = counts[counts >= FEWEST_LAUNCHES] if (counts >= FEWEST_LAUNCHES).any() else counts
    return [unseen_text(int(counts.min()), compared.span)] if counts.size and counts.min() > 0 else []


def slow_launches_line(compared: Compared) -> list[str]:
    """Counts the slow launches of A and of B in the cell where they differ most; nothing where there are none.

    The p-value is corrected for the cells with slow launches, from which this one is picked (Bonferroni).
    """
    cells, (a, b) = compared.verdicts, compared.heads
    some = np.flatnonzero(np.nan_to_num(cells.slow_a) + np.nan_to_num(cells.slow_b) > 0)
    if not some.size:
        return []
    i = min(some, key=lambda row: (cells.slow_p_value[row], -max(cells.slow_a[row], cells.slow_b[row])))
    of_a, of_b = cells.launches_a[i], cells.launches_b[i]
    counts = (
        f"{b} {cells.slow_b[i]:.0f}{f' of {of_b:.0f}' if of_b != of_a else ''}, {a} {cells.slow_a[i]:.0f} of {of_a:.0f}"
    )
    return [
        f"{SLOW_LAUNCHES}: {cell_names(compared)[i]}, {counts} (p = {min(1.0, some.size * cells.slow_p_value[i]):.2g})"
    ]


def cell_names(compared: Compared) -> list[str]:
    """The values of the factors that are shown, for each row."""
    # Printable before lines are wrapped, which makes spaces of what control characters are.
    columns = [getattr(compared.verdicts, name).tolist() for name in compared.shown_factors]
    return [printable(" ".join(map(word, values))) for values in zip(*columns, strict=True)]


def open_lines(compared: Compared) -> list[str]:
    """Why cells are undecided or unmatched: a line on those that more launches help, one for each other reason."""
    cells, names = compared.verdicts, np.array(cell_names(compared), dtype=object)
    is_open = np.isin(cells.verdict, ("undecided", UNMATCHED))
    helped = is_open & np.isin(cells.reason, MORE_LAUNCHES)
    lines = []
    for verdict, why in dict.fromkeys(
        zip(cells.verdict[is_open & ~helped], cells.reason[is_open & ~helped], strict=True)
    ):
        which = names[(cells.verdict == verdict) & (cells.reason == why)]
        many = len(which) > MOST_NAMED or 1 < len(which) == len(cells)
        lines.append(f"{verdict}, {why}: {f'{len(which)} cells' if many else ', '.join(which)}")
    rows = compared[helped]
    if not len(rows):
        return lines
    among, few = (int((rows.verdicts.reason == why).sum()) for why in (NOT_AMONG_MANY, FEW_ALIKE))
    why = f"{len(rows)} undecided"
    why += f", {among} by Holm's correction" if among else ""
    why += f", {few} {FEW_ALIKE}" if few else ""
    if np.isfinite(rows.verdicts.launches_needed).all():
        step = next_step_of(rows, int(rows.fewest.min()), cells_known=True)
    elif np.isfinite(rows.verdicts.sessions).any():
        step = "more launches do not make up for what differs between sessions: measure A and B in one experiment"
    else:
        step = ""
    return [*lines, f"{why}{': ' if step else ''}{step}"]


def helpful_step(compared: Compared, launches: int) -> str:
    """What decides more of a comparison, with the option of `run`; empty where nothing is known to.

    Args:
        compared: the rows that are shown.
        launches: of each configuration so far, as they are asked for.
    """
    cells = compared.verdicts
    if len(cells) and (compared.fewest < FEWEST_LAUNCHES).all():
        return f"--launches {2 * launches}: too few so far in one state of the machine"
    helped = (cells.verdict == "undecided") & np.isin(cells.reason, MORE_LAUNCHES) & np.isfinite(cells.launches_needed)
    return next_step_of(compared[helped], launches, "--launches")


def next_step_of(rows: Compared, launches: int, option: str = "", cells_known: bool = False) -> str:
    """`next_step` of rows that more launches help."""
    cells = rows.verdicts
    return next_step(cells.launches_needed, cells.launches_alike, rows.margin, launches, option, cells_known)


def next_step(
    needed: ArrayLike, alike: ArrayLike, margin: float, launches: int, option: str = "", cells_known: bool = False
) -> str:
    """Says what more launches would show of cells that are open; empty if there are none.

    The first number is what half of the cells need that can be helped: of those counted, nine of ten differ
    significantly if the true ratio is 1.05. With the second, nine of ten are equivalent if all ratios are 1.

    Args:
        needed: by cell, launches that show 5 %, `launches_needed`.
        alike: by cell, launches that show no difference, `launches_alike`.
        margin: of equivalence.
        launches: that there are.
        option: that takes the number, as `--launches`; empty: it is in words.
        cells_known: the text before it says how many cells are open.
    """
    numbers, equal = np.asarray(needed, dtype=float), np.asarray(alike, dtype=float)
    cells, effect = numbers.size, f"{PERCENT * (EFFECT - 1):.0f} %"
    if not cells:
        return ""

    def within(count: int) -> str:
        if cells == 1:
            return "" if cells_known else " in the open cell"
        if cells_known:
            return f" in {count if count < cells else 'all'}"
        return f" in {f'{count} of the' if count < cells else 'all'} {cells} open cells"

    far = int((numbers > AFFORDABLE).sum())
    if 2 * far > cells:
        return f"a quieter machine (downbeat doctor): more than {AFFORDABLE} launches would show {effect}{within(far)}"
    useful = numbers[(numbers > launches) & (numbers <= AFFORDABLE)]
    wanted = int(np.ceil(np.median(useful))) if useful.size else launches
    shown = int((numbers <= wanted).sum())
    number = f"{option} {wanted}" if option and useful.size else counted(wanted, "launch")
    these = "" if useful.size else "these "
    first = f"{these}{number} would show {effect}{within(shown)}; " if useful.size or shown == cells else ""
    beyond = int((equal > AFFORDABLE).sum())
    most = f"over {AFFORDABLE}" if beyond else f"{int(equal.max())}"
    some = f" in {beyond}" if 0 < beyond < cells else ""
    return f"{first}equality within {PERCENT * margin:g} % takes {most}{'' if first else ' launches'}{some}"


def by_row(compared: Compared) -> Iterator[tuple[str, Compared]]:
    """The cells that differ in size and state alone, by their operation and what else varies."""
    names = row_names(compared.frame())
    for name in dict.fromkeys(names):
        yield str(name), compared[(names == name).to_numpy()]


def row_names(frame: pd.DataFrame) -> pd.Series[str]:
    """The operation of each row, and what else but size and state varies among its rows."""
    beside = ("operation", "size", "state")
    return describe_each(frame, "operation", [name for name in FACTORS if name in frame and name not in beside])


def verdict_ranges(compared: Compared, brief: bool = False) -> list[str]:
    """Verdicts on one operation: differences by ranges of sizes, sizes that are equal, sizes that are open.

    Nothing is said that the verdicts do not say: a size that is not decided ends a range.

    Args:
        compared: rows that differ in their size alone.
        brief: say of open ones no more than that there are some.
    """
    rows = compared[np.argsort(compared.verdicts.size, kind="stable")]
    cells, sizes, indices = rows.verdicts, rows.verdicts.size, np.arange(len(rows))
    runs = [(verdict, np.array(list(run))) for verdict, run in itertools.groupby(indices, lambda i: cells.verdict[i])]
    different = [(verdict, run) for verdict, run in runs if verdict in READINGS]
    if len(different) > MOST_RANGES:
        different = [
            (each, indices[cells.verdict == each]) for each in dict.fromkeys(verdict for verdict, _ in different)
        ]
    parts = [(run, effect_text(rows.readings, verdict, cells.ratio[run])) for verdict, run in different]
    if (equal := indices[cells.verdict == "equivalent"]).size:
        parts.append((equal, f"within {PERCENT * rows.margin:g} %"))
    whys = {int(i): open_kind(rows, int(i)) for i in indices[np.isin(cells.verdict, ("undecided", UNMATCHED))]}
    if brief and len(whys) > 1:
        return [*texts(parts, sizes), NOT_DECIDED if len(whys) == len(rows) else f"{NOT_DECIDED} elsewhere"]
    parts += [(np.array([i for i in whys if whys[i] == why]), why) for why in dict.fromkeys(whys.values())]
    return texts(parts, sizes)


def texts(parts: Sequence[tuple[Ints, str]], sizes: Ints) -> list[str]:
    """Texts, each with its sizes in front."""
    return [f"{sizes_text(indices, sizes)}{': ' if any(sizes) else ''}{text}" for indices, text in parts]


def sizes_text(indices: Sequence[int] | Ints, sizes: Sequence[int] | Ints) -> str:
    """A set of sizes, by their indices among all that were measured: `8 to 256, 4K`; empty without a size."""
    if not any(sizes):
        return ""
    runs = [list(run) for _, run in itertools.groupby(enumerate(indices), lambda pair: pair[1] - pair[0])]
    if len(runs) > MOST_LISTED:
        return f"{len(indices)} sizes from {bytes_text(sizes[indices[0]])} to {bytes_text(sizes[indices[-1]])}"
    return ", ".join(" to ".join(dict.fromkeys(bytes_text(sizes[run[end][1]]) for end in (0, -1))) for run in runs)


def effect_text(readings: bool, verdict: str, ratios: Floats) -> str:
    """A difference in words, from the smallest to the largest of some ratios B / A with one verdict."""
    factors, slower = ratios if verdict == "slower" else 1 / ratios, verdict == "slower"
    times = factors.max() >= TIMES
    amount = f"{span_text(factors)} times" if times else f"{span_text(np.abs(PERCENT * (ratios - 1)))} %"
    if readings:
        return f"{amount} too {'high' if slower else 'low'}"
    return f"{amount} {('as long' if slower else 'as fast') if times else ('longer' if slower else 'shorter')}"


def span_text(values: Floats) -> str:
    """The smallest and the largest of some numbers: `14 to 19`."""
    ends = [f"{value:.1f}" if value < 9.95 else f"{value:.0f}" for value in (values.min(), values.max())]
    return " to ".join(dict.fromkeys(ends))


def open_kind(compared: Compared, row: int) -> str:
    """Why a row has no verdict, in words."""
    cells, reason = compared.verdicts, str(compared.verdicts.reason[row])
    if cells.verdict[row] == UNMATCHED:
        return reason
    if min(cells.launches_a[row], cells.launches_b[row]) < FEWEST_LAUNCHES:
        return f"no verdict below {FEWEST_LAUNCHES} launches"
    if reason not in MORE_LAUNCHES:
        return f"{NOT_DECIDED}: {reason}"
    return f"{NOT_DECIDED}: launches deviate too much" if cells.launches_needed[row] > AFFORDABLE else NOT_DECIDED
