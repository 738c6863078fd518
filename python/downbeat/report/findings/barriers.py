"""Effects of barriers on latencies: barrier / common start (delta of Schuchart 2023), judged cell by cell."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from downbeat.comparison.table import READINGS
from downbeat.experiment.experiment import Experiment
from downbeat.report.numbers_text import digits, listed, over_cells
from downbeat.statistics.modes import unseen_text
from downbeat.statistics.pairs import compare_paired
from downbeat.statistics.simultaneous import simultaneous_interval
from downbeat.statistics.verdicts import FEWEST_ALIKE, FEWEST_LAUNCHES, MARGIN, Comparison, judge_together
from downbeat.summaries.barrier_ratio import METRIC, REFERENCE, launch_ratios
from downbeat.summaries.cells import judged_cells
from downbeat.summaries.describe import CONFIGURATION, describe_each, synchronization, value_text
from downbeat.text import counted

CONFIDENCE = 0.95
PLAIN = "mpi_barrier"
# More synchronizers than these share a paragraph.
MOST_PARAGRAPHS = 2
# Nobody will start more of them to decide one cell; nor would many start more than these.
MOST_LAUNCHES = 10_000
MANY_LAUNCHES = 200


@dataclass(frozen=True)
class Judged:
    """A cell after a synchronizer, compared with the same cell after `harmonize`."""

    synchronizer: str
    cell: str
    comparison: Comparison


def judge_barriers(experiment: Experiment) -> list[Judged]:
    """Compares every cell after every synchronizer with that after `harmonize` in the same launches.

    Ratios are latencies after the synchronizer / after `harmonize`. All comparisons of one synchronizer are judged
    together.
    """
    ratios = launch_ratios(judged_cells(experiment))
    if ratios.empty:
        return []
    ratios = ratios[(ratios[METRIC] > 0) & (ratios[f"{METRIC}_reference"] > 0)]
    ratios = ratios.assign(
        line=synchronization(ratios),
        cell=describe_each(ratios, "operation", CONFIGURATION) + sizes(ratios),
    )
    judged = []
    for line, of_line in ratios.groupby("line", sort=False):
        cells = list(of_line.groupby("cell", sort=False))
        comparisons = [
            compare_paired(group[f"{METRIC}_reference"], group[METRIC], hidden=float(group["hidden"].mean()))
            for _, group in cells
        ]
        judged += [
            Judged(str(line), str(cell), one) for (cell, _), one in zip(cells, judge_together(comparisons), strict=True)
        ]
    return judged


def sizes(frame: pd.DataFrame) -> pd.Series[str]:
    """Returns for each row its size as the end of a cell's name, nothing where the operation has none."""
    return pd.Series([f", {value_text('size', size)}" if size else "" for size in frame["size"]], index=frame.index)


def launches_that_decide(deviation: float, margin: float) -> int:
    """Returns how many launches it takes until half the interval of a ratio is as narrow as the margin.

    Args:
        deviation: standard deviation of the log ratio between launches.
        margin: as 0.02.
    """

    def narrow(count: int) -> bool:
        half = special.stdtrit(count - 1, 0.5 + CONFIDENCE / 2) * deviation / math.sqrt(count)
        return bool(half <= math.log1p(margin))

    return FEWEST_ALIKE + bisect.bisect_left(range(FEWEST_ALIKE, MOST_LAUNCHES), True, key=narrow)


def barrier_sentences(judged: list[Judged]) -> list[str]:
    """Says what synchronizers do to latencies: the plain barrier first, the others together where there are many."""
    lines = sorted(dict.fromkeys(one.synchronizer for one in judged), key=lambda line: line != PLAIN)
    plain = lines.count(PLAIN)
    groups = [[line] for line in lines] if len(lines) <= MOST_PARAGRAPHS else [lines[:plain], lines[plain:]]
    groups = [group for group in groups if group]
    return [barrier_sentence([one for one in judged if one.synchronizer in group]) for group in groups]


def barrier_sentence(judged: list[Judged]) -> str:
    """Says what one synchronizer does, or several."""
    lines = list(dict.fromkeys(one.synchronizer for one in judged))
    text = (
        f"After {listed(lines)}, latencies read {over_cells([one.comparison.ratio.estimate for one in judged])} those "
        f"from a common start ({REFERENCE}), over {counted(len(judged), 'cell')}. This ratio, barrier / common start, "
        "is delta in Schuchart 2023."
    )
    launches = min(min(one.comparison.launches) for one in judged)
    if launches < FEWEST_LAUNCHES:
        return (
            f"{text} This is an observation, not a verdict: there are {counted(launches, 'launch')}, and a verdict "
            f"needs {FEWEST_LAUNCHES}."
        )
    verdicts = [one.comparison.verdict for one in judged]
    parts = []
    for verdict, reads in (("slower", "higher"), ("faster", "lower")):
        found = [one for one in judged if one.comparison.verdict == verdict]
        if found:
            most = max(found, key=lambda one: abs(math.log(one.comparison.ratio.estimate)))
            after = f" after {most.synchronizer}" if len(lines) > 1 else ""
            parts.append(
                f"{len(found)} {'reads' if len(found) == 1 else 'read'} {reads} than from a common start"
                f"{':' if len(found) == 1 else ', most of all'} {most.cell}{after} "
                f"({interval_text(most.comparison, len(judged))})"
            )
    if "equivalent" in verdicts:
        equivalent = [one.comparison for one in judged if one.comparison.verdict == "equivalent"]
        unseen = unseen_text(min(min(one.launches) for one in equivalent))
        parts.append(f"in {len(equivalent)} the difference is below {MARGIN:.0%} ({unseen})")
    if "undecided" in verdicts:
        parts.append(undecided_text([one.comparison for one in judged if one.comparison.verdict == "undecided"]))
    return f"{text} Of these, {'; '.join(parts)}."


def undecided_text(comparisons: list[Comparison]) -> str:
    """Says how many cells are undecided, and how many launches make their intervals as narrow as the margin."""
    needed = [launches_that_decide(one.deviation, one.margin) for one in comparisons]
    half, most = round(float(np.median(needed))), max(needed)
    excluding = sum(one.ratio.low > 1 or one.ratio.high < 1 for one in comparisons)
    although = f" ({excluding} not significant after Holm's correction, although the interval excludes 1)"
    return (
        f"{len(comparisons)} {'is' if len(comparisons) == 1 else 'are'} undecided with {comparisons[0].launches[0]} "
        f"launches{although if excluding else ''}; "
        f"to know the ratio to +-{MARGIN:.0%} takes "
        + (
            f"{launches_text(most)} launches"
            if len(needed) == 1
            else f"{launches_text(half)} launches in half of them, {launches_text(most)} in all"
        )
        + f" ({remedy(half)})"
    )


def launches_text(needed: int) -> str:
    """Returns a number of launches, or the limit of the search where it found none."""
    return f"{needed:,}" if needed < MOST_LAUNCHES else f"more than {MOST_LAUNCHES:,}"


def remedy(needed: int) -> str:
    """Says how to get there: by more launches, or, where nobody would start that many, by less noise."""
    if needed > MANY_LAUNCHES:
        return "use a quieter machine instead"
    return "repeat downbeat run with more --launches; it adds them"


def interval_text(comparison: Comparison, number: int) -> str:
    """Returns a ratio that was picked from this many, with an interval that holds for all of them at once."""
    ratio = simultaneous_interval(comparison, number)
    at_once = f" for all {number} at once" if number > 1 else ""
    return f"ratio {digits(ratio.estimate)}, 95 % interval{at_once} {digits(ratio.low)} to {digits(ratio.high)}"


def judged_frame(judged: list[Judged]) -> pd.DataFrame:
    """Returns all verdicts as a table."""
    return pd.DataFrame(
        [
            {
                "cell": one.cell,
                "synchronizer": one.synchronizer,
                "ratio": one.comparison.ratio.estimate,
                "low": one.comparison.ratio.low,
                "high": one.comparison.ratio.high,
                "verdict": READINGS.get(one.comparison.verdict, one.comparison.verdict),
                "reason": one.comparison.reason,
            }
            for one in judged
        ]
    )
