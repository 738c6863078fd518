"""What was found, in sentences with numbers."""

from __future__ import annotations

import bisect
import math
import shlex
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from downbeat.comparison.compare import UNMATCHED, compare
from downbeat.errors import UsageError
from downbeat.experiment.experiment import Experiment
from downbeat.experiment.plan import LAUNCH_FACTORS
from downbeat.pictures.barrier_ratio import METRIC, REFERENCE, launch_ratios
from downbeat.pictures.cells import measured_cells, plain_cells
from downbeat.pictures.computation_overlap import overlaps
from downbeat.pictures.describe import CONFIGURATION, describe, describe_each, synchronization, value_text
from downbeat.pictures.heat_map import PANELS
from downbeat.pictures.late_arrival import late_launches
from downbeat.pictures.over_launches import summarize
from downbeat.pictures.style import MICROSECONDS, PERCENT
from downbeat.report.numbers_text import counted, digits, listed, microseconds, span
from downbeat.statistics.pairs import compare_paired
from downbeat.statistics.verdicts import FEWEST_LAUNCHES, MARGIN, Comparison, judge_together

CONFIDENCE = 0.95
PLAIN = "mpi_barrier"
# More synchronizers than these share a paragraph.
MOST_PARAGRAPHS = 2
# Nobody will start more of them to decide one cell; nor would many start more than these.
MOST_LAUNCHES = 10_000
MANY_LAUNCHES = 200
# What more operations have to say is in their pictures.
MOST_OPERATIONS = 4
LOWEST = ("panel", "line", "algorithm")


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
    plain = lines.count(PLAIN)
    groups = [[line] for line in lines] if len(lines) <= MOST_PARAGRAPHS else [lines[:plain], lines[plain:]]
    groups = [group for group in groups if group]
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
                f"{len(found)} {'looks' if len(found) == 1 else 'look'} {verdict} than from a common start"
                f"{':' if len(found) == 1 else ', most of all'} {most.cell}{behind} ({interval_text(most.comparison)})"
            )
    if "equivalent" in verdicts:
        parts.append(f"in {verdicts.count('equivalent')} the difference is below {MARGIN:.0%}")
    if "undecided" in verdicts:
        parts.append(undecided_text([one.comparison for one in judged if one.comparison.verdict == "undecided"]))
    return f"{text} Of these, {'; '.join(parts)}."


def undecided_text(comparisons: list[Comparison]) -> str:
    """Says how many cells are undecided, and how many launches make their intervals as narrow as the margin."""
    needed = [launches_that_decide(one.deviation, one.margin) for one in comparisons]
    half, most = round(float(np.median(needed))), max(needed)
    return (
        f"{len(comparisons)} cannot be decided with {comparisons[0].launches[0]} launches; "
        f"to know delta to +-{MARGIN:.0%} it takes "
        + (
            launches_text(most)
            if len(needed) == 1
            else f"{launches_text(half)} in half of them, {launches_text(most)} in all"
        )
        + f" ({remedy(half)})"
    )


def launches_text(needed: int) -> str:
    """Returns a number of launches; what no search found is told as such."""
    return f"{needed:,}" if needed < MOST_LAUNCHES else f"more than {MOST_LAUNCHES:,}"


def remedy(needed: int) -> str:
    """Says how to get there: by more launches, or where nobody would start so many, by less noise."""
    if needed > MANY_LAUNCHES:
        return "rather a quieter machine than so many"
    return "the same downbeat run with more --launches adds them"


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


def latency_sentence(experiment: Experiment) -> list[str]:
    """Says how long operations take: from a common start where that was measured, else behind one of the others."""
    cells = plain_cells(experiment)
    lines = synchronization(cells)
    line = next((name for name in (REFERENCE, PLAIN) if (lines == name).any()), *lines.head(1))
    texts = []
    for operation, frame in cells[lines == line].groupby("operation", sort=False):
        latency = summarize(frame, (*CONFIGURATION, "size"), METRIC).dropna(subset=["estimate"])
        if latency.empty:
            continue
        low, high = (float(latency["estimate"].agg(end)) * MICROSECONDS for end in ("min", "max"))
        text = f"{operation} {span(low, high)} us"
        if len(latency) > 1:
            text += f" over {counted(len(latency), 'cell')}"
        elif latency["launches"].iloc[0] > 1:
            ends = span(*(float(latency[end].iloc[0]) * MICROSECONDS for end in ("low", "high")))
            text += f" (95 % interval {ends})"
        texts.append(text)
    start = "from a common start" if line == REFERENCE else f"behind {line}"
    return [f"Latencies {start}: {listed(texts)}."] if texts else []


def skew_sentence(experiment: Experiment) -> list[str]:
    """Says how far apart ranks leave the synchronizers, of the most ranks that there are."""
    cells = plain_cells(experiment)
    if cells.empty or cells["ranks"].max() < 2:
        return []
    several = cells["ranks"].nunique() > 1
    cells = cells[cells["ranks"] == cells["ranks"].max()]
    cells = cells.assign(line=synchronization(cells))
    # Medians of different libraries have no common one.
    medians = cells.groupby(["line", *LAUNCH_FACTORS], sort=False)["exit_skew_median"].median().groupby("line")
    ranges = pd.DataFrame({"low": medians.min(), "high": medians.max()})
    whose = f"{cells['ranks'].iloc[0]} ranks: from" if several else "From"
    return [f"{whose} {skew_text(ranges, float(cells['error_bound'].max()))}"]


def skew_text(ranges: pd.DataFrame, bound: float) -> str:
    """Says how far apart ranks leave synchronizers, after "From".

    Args:
        ranges: median exit skews in s, `low` to `high`, by the name of the synchronizer.
        bound: of the error of the clock, s.
    """
    # Either end of a skew may be wrong by the bound.
    told_apart = 2 * bound
    close = ranges[ranges["high"] < told_apart]
    far = ranges[ranges["high"] >= told_apart].sort_values("high", kind="stable")
    texts = []
    if len(close):
        texts.append(
            f"less than {digits(told_apart * MICROSECONDS)} (the clock tells no more) behind {listed(close.index)}"
        )
    texts += [
        f"{span(low * MICROSECONDS, high * MICROSECONDS)} behind {name}"
        for name, low, high in far[["low", "high"]].itertuples(name=None)
    ]
    return f"the first rank's leaving a synchronizer to the last one's there pass, in the median [us]: {listed(texts)}."


def algorithm_sentences(experiment: Experiment) -> list[str]:
    """Says which algorithms are the fastest, how sure that is, and behind which synchronizers others look so."""
    cells = plain_cells(experiment)
    cells = cells.assign(line=synchronization(cells))
    several = [
        (str(operation), frame.assign(panel=describe(frame, PANELS)))
        for operation, frame in cells.groupby("operation", sort=False)
        if frame["algorithm"].nunique() > 1
    ]
    sentences = [algorithm_sentence(operation, frame) for operation, frame in several[:MOST_OPERATIONS]]
    if len(several) > MOST_OPERATIONS:
        sentences.append(f"The algorithms of {len(several) - MOST_OPERATIONS} more operations are in their pictures.")
    return sentences


def algorithm_sentence(operation: str, frame: pd.DataFrame) -> str:
    """Says it of one operation; `panel` and `line` tell cases and synchronizers apart."""
    latency = summarize(frame, LOWEST, METRIC).dropna(subset=["estimate"]).sort_values("estimate", kind="stable")
    lowest = latency.drop_duplicates(["panel", "line"]).set_index(["line", "panel"])
    if REFERENCE not in lowest.index.get_level_values("line"):
        texts = [f"{often(part['algorithm'])} behind {line}" for line, part in lowest.groupby("line", sort=False)]
        return f"{operation}: the lowest latency has {listed(texts)}; which is the fastest a common start would tell."
    fastest = lowest.loc[REFERENCE]
    slower = slower_algorithms(frame[frame["line"] == REFERENCE], fastest["algorithm"])
    others = latency[latency["line"] == REFERENCE].groupby("panel")["algorithm"].nunique() - 1
    sure = sum(len(slower[panel]) == others[panel] > 0 for panel in fastest.index)
    deceived: dict[str, int] = {}
    harmed = 0
    for line, panel, algorithm in lowest["algorithm"].reset_index().itertuples(index=False, name=None):
        if panel in fastest.index and algorithm != fastest["algorithm"][panel]:
            deceived[line] = deceived.get(line, 0) + 1
            harmed += algorithm in slower[panel]
    if len(fastest) == 1:
        found = f"{fastest['algorithm'].iloc[0]}, {microseconds(float(fastest['estimate'].iloc[0]))}, "
        found += "significantly below every other" if sure else "not significantly below every other"
    else:
        found = f"{often(fastest['algorithm'])}; in {sure} of {len(fastest)} it is significantly below every other"
    text = f"{operation}: the lowest latency from a common start has algorithm {found}. "
    if not deceived:
        return f"{text}Behind every other synchronizer the same has it."
    texts = [f"{line} ({number} of {counted(len(fastest), 'case')})" for line, number in deceived.items()]
    return (
        f"{text}Behind {listed(texts)} another one has it; in {harmed} of these {sum(deceived.values())} it is "
        "significantly slower from a common start."
    )


def often(algorithms: pd.Series[str]) -> str:
    """Returns names, with the number of cases of each where there are several."""
    numbers = algorithms.value_counts(sort=False)
    if len(algorithms) == 1:
        return str(numbers.index[0])
    return listed(f"{name} in {number} of {len(algorithms)} cases" for name, number in numbers.items())


def slower_algorithms(frame: pd.DataFrame, fastest: pd.Series[str]) -> dict[str, set[str]]:
    """Returns for each `panel` the algorithms that are significantly slower than the fastest, all judged together."""
    keys, comparisons = [], []
    for panel, part in frame.groupby("panel", sort=False):
        medians = part.pivot_table(index="launch", columns="algorithm", values=METRIC)
        for algorithm in medians.columns.drop(fastest[panel]):
            pairs = medians[[fastest[panel], algorithm]].dropna()
            if len(pairs) and (pairs > 0).all(axis=None):
                keys.append((str(panel), str(algorithm)))
                comparisons.append(compare_paired(*pairs.to_numpy().T))
    slower: dict[str, set[str]] = {str(panel): set() for panel in fastest.index}
    for (panel, algorithm), one in zip(keys, judge_together(comparisons), strict=True):
        if one.verdict == "slower":
            slower[panel].add(algorithm)
    return slower


def delay_sentences(experiment: Experiment) -> list[str]:
    """Says how much of planned delays is hidden."""
    late = late_launches(measured_cells(experiment))
    late = late.assign(line=synchronization(late))
    texts = []
    for operation, part in late.groupby("operation", sort=False):
        shares = part.groupby([*CONFIGURATION, "size", "line", "pattern", "place"])["share"].mean().dropna()
        if len(shares):
            delays = part["delay"] * MICROSECONDS
            low, high = (f"{round(value, 2) + 0.0:.2f}" for value in (shares.min(), shares.max()))
            texts.append(
                f"{operation} {low if low == high else f'{low} to {high}'} (delays of "
                f"{span(delays.min(), delays.max())} us, {counted(len(shares), 'cell')})"
            )
    if not texts:
        return []
    return [
        f"Of a late start is hidden, in the mean over launches: {listed(texts)}. At 1 the shorter of operation and "
        "delay is hidden completely, at 0 the delay just adds."
    ]


def overlap_sentences(experiment: Experiment) -> list[str]:
    """Says how much of nonblocking operations is hidden behind computation."""
    if not (experiment.cells["computation"] > 0).any():
        return []
    frame = pd.concat([overlaps(launch) for launch in experiment.launches], ignore_index=True)
    if frame.empty:
        return []
    frame = frame.assign(line=synchronization(frame))
    texts = []
    for operation, part in frame.groupby("operation", sort=False):
        shares = part.groupby([*CONFIGURATION, "size", "line"])["overlap_window"].median()
        low, high = (f"{round(PERCENT * value)}" for value in (shares.min(), shares.max()))
        texts.append(f"{operation} {low if low == high else f'{low} to {high}'} % ({counted(len(shares), 'cell')})")
    return [
        f"Of operation or computation, whichever is shorter, is hidden behind the other, in the median over launches: "
        f"{listed(texts)}. Below 0 they are in each other's way."
    ]


def configuration_sentences(experiment: Experiment) -> list[str]:
    """Says how libraries, and environments, compare: each with the first one, as `downbeat compare` does."""
    cells = measured_cells(experiment)
    start = {"synchronizer": REFERENCE} if (cells["synchronizer"] == REFERENCE).any() else {}
    sentences = []
    for factor in ("library", "environment"):
        first, *others = dict.fromkeys(cells[factor])
        for other in others[:MOST_OPERATIONS]:
            sides = ({factor: first, **start}, {factor: other, **start})
            try:
                table = compare(experiment, where_a=sides[0], where_b=sides[1])
            except UsageError:  # they share no cell
                continue
            sentences.append(configuration_sentence(experiment, table, sides))
        if len(others) > MOST_OPERATIONS:
            sentences.append(
                f"Of {factor} there are {len(others) - MOST_OPERATIONS} more values; see downbeat compare."
            )
    return sentences


def configuration_sentence(
    experiment: Experiment, table: pd.DataFrame, sides: tuple[dict[str, str], dict[str, str]]
) -> str:
    """Says how B compares with A; `table` is of `compare`."""
    table = table[table["verdict"] != UNMATCHED]
    verdicts = table["verdict"].value_counts()
    counts = [
        f"{verdicts[name]} {name}" for name in ("faster", "slower", "equivalent", "undecided") if name in verdicts
    ]
    first, other = (next(iter(side.values())) for side in sides)
    conditions = (",".join(f"{name}={value}" for name, value in side.items()) for side in sides)
    start = " from a common start" if len(sides[0]) > 1 else ""
    return (
        f"{other} against {first}{start}: {listed(counts)} of {counted(len(table), 'cell')}; its latency is "
        f"{span(float(table['ratio'].min()), float(table['ratio'].max()))} times as long. Cell by cell: "
        f"{shlex.join(['downbeat', 'compare', str(experiment.path), *conditions])}"
    )


def experiment_verdict(experiment: Experiment) -> tuple[tuple[str, ...], pd.DataFrame]:
    """Returns what was found in sentences, and the verdicts on single cells that stand behind them."""
    judged = judge_barriers(experiment)
    sentences = [
        *latency_sentence(experiment),
        *configuration_sentences(experiment),
        *barrier_sentences(judged),
        *algorithm_sentences(experiment),
        *delay_sentences(experiment),
        *overlap_sentences(experiment),
        *skew_sentence(experiment),
    ]
    return tuple(sentences), judged_frame(judged)
