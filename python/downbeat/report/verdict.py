"""What was found, in sentences with numbers."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from downbeat.experiment.experiment import Experiment
from downbeat.pictures.barrier_ratio import METRIC, REFERENCE, launch_ratios
from downbeat.pictures.cells import measured_cells, plain_cells
from downbeat.pictures.describe import CONFIGURATION, describe_each, synchronization, value_text
from downbeat.pictures.heat_map import PANELS
from downbeat.pictures.late_arrival import late_launches
from downbeat.pictures.over_launches import summarize
from downbeat.pictures.style import MICROSECONDS
from downbeat.report.numbers_text import counted, digits, listed, microseconds, span
from downbeat.statistics.pairs import compare_paired
from downbeat.statistics.verdicts import FEWEST_LAUNCHES, MARGIN, Comparison, judge_together

CONFIDENCE = 0.95
PLAIN = "mpi_barrier"
# More synchronizers than these share a paragraph.
MOST_PARAGRAPHS = 2
# Nobody will start more of them to decide one cell.
MOST_LAUNCHES = 10_000


@dataclass(frozen=True)
class Judged:
    """A cell behind a synchronizer, compared with the same behind `harmonize`."""

    synchronizer: str
    cell: str
    comparison: Comparison


def judge_barriers(experiment: Experiment) -> list[Judged]:
    """Compares every cell behind every synchronizer with that behind `harmonize` in the same launches.

    Ratios are latencies behind the synchronizer / behind `harmonize`: delta of Schuchart 2023. All comparisons of one
    synchronizer are judged together.
    """
    ratios = launch_ratios(plain_cells(experiment))
    if ratios.empty:
        return []
    ratios = ratios[(ratios[METRIC] > 0) & (ratios[f"{METRIC}_reference"] > 0)]
    ratios = ratios.assign(
        line=synchronization(ratios),
        cell=describe_each(ratios, "operation", CONFIGURATION) + sizes(ratios),
    )
    judged = []
    for line, part in ratios.groupby("line", sort=False):
        cells = list(part.groupby("cell", sort=False))
        comparisons = [compare_paired(group[f"{METRIC}_reference"], group[METRIC]) for _, group in cells]
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
        half = stats.t.ppf(0.5 + CONFIDENCE / 2, count - 1) * deviation / math.sqrt(count)
        return bool(half <= math.log1p(margin))

    return FEWEST_LAUNCHES + bisect.bisect_left(range(FEWEST_LAUNCHES, MOST_LAUNCHES), True, key=narrow)


def barrier_sentences(judged: list[Judged]) -> list[str]:
    """Says what synchronizers do to latencies: the plain barrier first, the others together where there are many."""
    lines = sorted(dict.fromkeys(one.synchronizer for one in judged), key=lambda line: line != PLAIN)
    groups = [[line] for line in lines] if len(lines) <= MOST_PARAGRAPHS else [lines[:1], lines[1:]]
    return [barrier_sentence([one for one in judged if one.synchronizer in group]) for group in groups]


def barrier_sentence(judged: list[Judged]) -> str:
    """Says what one synchronizer does, or several."""
    lines = list(dict.fromkeys(one.synchronizer for one in judged))
    ratios = [one.comparison.ratio.estimate for one in judged]
    text = (
        f"Behind {listed(lines)}, latencies are {span(min(ratios), max(ratios))} times those from a common start "
        f"({REFERENCE}): this is delta, over {counted(len(judged), 'cell')}."
    )
    launches = min(min(one.comparison.launches) for one in judged)
    if launches < FEWEST_LAUNCHES:
        return (
            f"{text} With {counted(launches, 'launch')} this is what was seen, and no verdict: it takes "
            f"{FEWEST_LAUNCHES} launches at least."
        )
    verdicts = [one.comparison.verdict for one in judged]
    parts = []
    for verdict in ("slower", "faster"):
        found = [one for one in judged if one.comparison.verdict == verdict]
        if found:
            most = max(found, key=lambda one: abs(math.log(one.comparison.ratio.estimate)))
            behind = f" behind {most.synchronizer}" if len(lines) > 1 else ""
            parts.append(
                f"{len(found)} {'looks' if len(found) == 1 else 'look'} {verdict} than from a common start, most of "
                f"all {most.cell}{behind} ({interval_text(most.comparison)})"
            )
    if "equivalent" in verdicts:
        parts.append(f"in {verdicts.count('equivalent')} the difference is below {MARGIN:.0%}")
    if "undecided" in verdicts:
        parts.append(undecided_text([one.comparison for one in judged if one.comparison.verdict == "undecided"]))
    return f"{text} Of these, {'; '.join(parts)}."


def undecided_text(comparisons: list[Comparison]) -> str:
    """Says how many cells are undecided, and how many launches make their intervals as narrow as the margin."""
    needed = [launches_that_decide(one.deviation, one.margin) for one in comparisons]
    half = round(float(np.median(needed)))
    return (
        f"{len(comparisons)} cannot be decided with {comparisons[0].launches[0]} launches; "
        f"to know delta to +-{MARGIN:.0%} "
        + (f"it takes {half}" if len(needed) == 1 else f"it takes {half} in half of them, {max(needed)} in all")
    )


def interval_text(comparison: Comparison) -> str:
    """Returns a ratio with its interval."""
    ratio = comparison.ratio
    return f"delta {digits(ratio.estimate)}, 95 % interval {digits(ratio.low)} to {digits(ratio.high)}"


def judged_frame(judged: list[Judged]) -> pd.DataFrame:
    """Returns all verdicts as a table."""
    return pd.DataFrame(
        [
            {
                "cell": one.cell,
                "synchronizer": one.synchronizer,
                "delta": one.comparison.ratio.estimate,
                "low": one.comparison.ratio.low,
                "high": one.comparison.ratio.high,
                "behind it": one.comparison.verdict,
                "reason": one.comparison.reason,
            }
            for one in judged
        ]
    )


def skew_sentence(experiment: Experiment) -> list[str]:
    """Says how far apart ranks leave the synchronizers."""
    cells = plain_cells(experiment)
    if cells.empty or cells["ranks"].max() < 2:
        return []
    medians = cells.groupby(synchronization(cells), sort=False)["exit_skew_median"].median().sort_values()
    texts = [f"{name} {digits(skew * MICROSECONDS)}" for name, skew in medians.items()]
    return [
        "Between the first rank's leaving a synchronizer and the last one's there pass, in the median [us]: "
        f"{listed(texts)}. The clock's error bound is {microseconds(float(cells['error_bound'].max()))} at most."
    ]


def algorithm_sentences(experiment: Experiment) -> list[str]:
    """Says which algorithm is the fastest, and behind which synchronizers another one looks so."""
    cells = plain_cells(experiment)
    cells = cells.assign(line=synchronization(cells), operation_and=describe_each(cells, "operation", PANELS))
    sentences = []
    for name, frame in cells.groupby("operation_and", sort=False):
        if frame["algorithm"].nunique() < 2:
            continue
        latency = summarize(frame, ("line", "algorithm"), METRIC)
        ordered = latency.dropna(subset=["estimate"]).sort_values("estimate", kind="stable")
        best = {row["line"]: row for row in ordered.drop_duplicates("line").to_dict("records")}
        truth = best.get(REFERENCE)
        if truth is None:
            texts = [f"{row['algorithm']} behind {line}" for line, row in best.items()]
            sentences.append(f"{name}: the lowest latency has {listed(texts)}.")
            continue
        fastest = truth["algorithm"]
        others = [f"{line} ({row['algorithm']})" for line, row in best.items() if row["algorithm"] != fastest]
        behind = f"behind {listed(others)} another one has" if others else "so it has behind every other synchronizer"
        sentences.append(
            f"{name}: the lowest latency from a common start has algorithm {fastest}, "
            f"{microseconds(float(truth['estimate']))}; {behind}. Whether it is significant says downbeat compare."
        )
    return sentences


def delay_sentences(experiment: Experiment) -> list[str]:
    """Says how much of planned delays is hidden."""
    late = late_launches(measured_cells(experiment))
    sentences = []
    for (operation, pattern), part in late.groupby(["operation", "pattern"], sort=False):
        shares = part.groupby([*CONFIGURATION, "size", synchronization(part), "place"])["share"].mean().dropna()
        if len(shares):
            delays = part["delay"] * MICROSECONDS
            sentences.append(
                f"{operation} with pattern {pattern} and delays of {span(delays.min(), delays.max())} us: the "
                f"hidden share is {span(float(shares.min()), float(shares.max()))} (1: the shorter of operation and "
                "delay is hidden completely, 0: the delay just adds)."
            )
    return sentences


def experiment_verdict(experiment: Experiment) -> tuple[tuple[str, ...], pd.DataFrame]:
    """Returns what was found in sentences, and the verdicts on single cells that stand behind them."""
    judged = judge_barriers(experiment)
    sentences = [
        *barrier_sentences(judged),
        *algorithm_sentences(experiment),
        *delay_sentences(experiment),
        *skew_sentence(experiment),
    ]
    return tuple(sentences), judged_frame(judged)
