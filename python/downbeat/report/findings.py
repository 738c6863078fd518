"""The findings, in sentences with numbers."""

from __future__ import annotations

import bisect
import itertools
import math
import shlex
import statistics
from dataclasses import dataclass

import numpy as np
import pandas as pd

from downbeat.base.text import MICROSECONDS, PERCENT, counted
from downbeat.comparison.compare import compare
from downbeat.comparison.judging import UNMATCHED
from downbeat.comparison.table import DECIDED, READINGS, conclusion
from downbeat.data.cells import hidden_by_step
from downbeat.errors import UsageError
from downbeat.experiment.experiment import Experiment
from downbeat.experiment.plan import LAUNCH_FACTORS
from downbeat.report.numbers import digits, listed, microseconds, over_cells, span
from downbeat.report.page import Fact
from downbeat.statistics.distributions import t_quantile
from downbeat.statistics.modes import unseen_text
from downbeat.statistics.pairs import compare_paired
from downbeat.statistics.simultaneous import simultaneous_interval
from downbeat.statistics.verdicts import FEWEST_ALIKE, FEWEST_LAUNCHES, MARGIN, Comparison, judge_together
from downbeat.tables.summaries import (
    CONFIGURATION,
    METRIC,
    PANELS,
    REFERENCE,
    all_overlaps,
    describe,
    describe_each,
    judged_cells,
    late_launches,
    launch_ratios,
    measured_cells,
    plain_cells,
    summarize,
    synchronization,
    value_text,
)

# More operations are in their pictures only.
MOST_OPERATIONS = 4
LOWEST = ("panel", "line", "algorithm")


def algorithm_sentences(experiment: Experiment) -> list[str]:
    """Says which algorithms are the fastest, how sure that is, and after which synchronizers others look so."""
    cells = judged_cells(experiment)
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
    """Says it of one operation, whose cases are in `panel` and whose synchronizers are in `line`."""
    latency = summarize(frame, LOWEST, METRIC).dropna(subset=["estimate"]).sort_values("estimate", kind="stable")
    lowest = latency.drop_duplicates(["panel", "line"]).set_index(["line", "panel"])
    if REFERENCE not in lowest.index.get_level_values("line"):
        texts = [f"{often(group['algorithm'])} after {line}" for line, group in lowest.groupby("line", sort=False)]
        return f"{operation}: lowest latency: {listed(texts)}. Measure from a common start to see which is the fastest."
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
    text = f"{operation}: lowest latency from a common start: {found}. "
    if not deceived:
        return f"{text}The same algorithm is lowest after every other synchronizer."
    texts = [f"{line} ({number} of {counted(len(fastest), 'case')})" for line, number in deceived.items()]
    return (
        f"{text}After {listed(texts)} another algorithm is lowest; in {harmed} of these {sum(deceived.values())} it "
        "is significantly slower from a common start."
    )


def often(algorithms: pd.Series[str]) -> str:
    """Returns names, with the number of cases of each where there are several."""
    numbers = algorithms.value_counts(sort=False)
    if len(algorithms) == 1:
        return str(numbers.index[0])
    return listed(f"{name} in {number} of {len(algorithms)} cases" for name, number in numbers.items())


def slower_algorithms(frame: pd.DataFrame, fastest: pd.Series[str]) -> dict[str, set[str]]:
    """Returns for each `panel` the algorithms that are significantly slower than the fastest, all judged together.

    The same launches have shown which is the fastest, and the luckiest is easily better than its equals. So all pairs
    of algorithms are judged, and those with the fastest looked up: the stated error holds for whichever pairs the data
    pick (Holm 1979).
    """
    keys, comparisons = [], []
    frame = frame.assign(hidden=hidden_by_step(frame, "latency_avg"))
    for panel, group in frame.groupby("panel", sort=False):
        medians = group.pivot_table(index="launch", columns="algorithm", values=METRIC)
        hidden = group.groupby("algorithm")["hidden"].mean()
        for one, other in itertools.combinations(medians.columns, 2):
            first, second = (other, one) if other == fastest[panel] else (one, other)
            pairs = medians[[first, second]].dropna()
            if len(pairs) and (pairs > 0).all(axis=None):
                keys.append((str(panel), str(first), str(second)))
                comparisons.append(compare_paired(pairs[first], pairs[second], hidden=hidden[first] + hidden[second]))
    slower: dict[str, set[str]] = {str(panel): set() for panel in fastest.index}
    for (panel, first, second), judged in zip(keys, judge_together(comparisons), strict=True):
        if first == fastest[panel] and judged.verdict == "slower":
            slower[panel].add(second)
    return slower


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
        half = t_quantile(count - 1, 0.5 + CONFIDENCE / 2) * deviation / math.sqrt(count)
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
    of_all = counted(len(judged), "cell")
    judged = decidable(judged) or judged
    number = of_all if of_all == counted(len(judged), "cell") else f"{len(judged)} of {of_all}"
    text = (
        f"After {listed(lines)}, latencies read {over_cells([one.comparison.ratio.estimate for one in judged])} those "
        f"from a common start ({REFERENCE}), over {number}. This ratio, barrier / common start, "
        "is delta in Schuchart 2023."
    )
    launches = min(min(one.comparison.launches) for one in judged)
    if launches < FEWEST_LAUNCHES:
        return (
            f"{text} This is an observation, not a verdict: {counted(launches, 'launch')} of a cell can be compared, "
            f"{FEWEST_LAUNCHES} are needed."
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
                "verdict": READINGS.get(one.comparison.verdict, one.comparison.verdict),
                "ratio": one.comparison.ratio.estimate,
                "low": one.comparison.ratio.low,
                "high": one.comparison.ratio.high,
                "reason": one.comparison.reason,
            }
            for one in judged
        ]
    )


MOST_VALUES = 4  # of a factor, after the first


def configuration_sentences(experiment: Experiment) -> tuple[list[str], list[str]]:
    """Compares libraries, environments and variants, each with the first one, as `downbeat compare` does.

    Returns:
        What it comes to, a sentence each; what was found of how many cells.
    """
    cells = measured_cells(experiment)
    start = {"synchronizer": REFERENCE} if (cells["synchronizer"] == REFERENCE).any() else {}
    news, sentences = [], []
    for factor in ("library", "environment", "variant"):
        first, *others = dict.fromkeys(cells[factor])
        for other in others[:MOST_VALUES]:
            sides = ({factor: first, **start}, {factor: other, **start})
            try:
                table = compare(experiment, where_a=sides[0], where_b=sides[1])
            except UsageError:  # they share no cell
                continue
            news += conclusion(table)
            sentences.append(configuration_sentence(experiment, table, sides))
        if len(others) > MOST_VALUES:
            sentences.append(f"{counted(len(others) - MOST_VALUES, 'more value')} of {factor}: see downbeat compare.")
    return news, sentences


def configuration_sentence(
    experiment: Experiment, table: pd.DataFrame, sides: tuple[dict[str, str], dict[str, str]]
) -> str:
    """Says how B compares with A; `table` is of `compare`."""
    table = table[table["verdict"] != UNMATCHED]
    verdicts = table["verdict"].value_counts()
    counts = [f"{verdicts[name]} {name}" for name in (*DECIDED, "undecided") if name in verdicts]
    fewest = table.loc[table["verdict"].isin(DECIDED), ["launches_a", "launches_b"]].min().min()
    unseen = f"; {unseen_text(int(fewest))}" if fewest > 0 else ""
    first, other = (next(iter(side.values())) for side in sides)
    conditions = (",".join(f"{name}={value}" for name, value in side.items()) for side in sides)
    start = " from a common start" if len(sides[0]) > 1 else ""
    ratios = table["ratio"].dropna()
    latency = f"; its latency is {over_cells(ratios)} as long" if len(ratios) else ""
    return (
        f"{other} against {first}{start}: {listed(counts)} of {counted(len(table), 'cell')}{latency}{unseen}. "
        f"Cell by cell: {shlex.join(['downbeat', 'compare', str(experiment.path), *conditions])}"
    )


def delay_sentences(experiment: Experiment) -> list[str]:
    """Says how much of planned delays is hidden."""
    late = late_launches(measured_cells(experiment))
    late = late.assign(line=synchronization(late))
    texts = []
    for operation, group in late.groupby("operation", sort=False):
        shares = group.groupby([*CONFIGURATION, "size", "line", "pattern", "place"])["share"].mean().dropna()
        if len(shares):
            delays = group["delay"] * MICROSECONDS
            low, high = (f"{round(value, 2) + 0.0:.2f}" for value in (shares.min(), shares.max()))
            texts.append(
                f"{operation} {low if low == high else f'{low} to {high}'} (delays of "
                f"{span(delays.min(), delays.max())} us, {counted(len(shares), 'cell')})"
            )
    if not texts:
        return []
    return [
        f"Hidden share of a late start, mean over launches: {listed(texts)}. At 1 the shorter of operation and delay "
        "is hidden completely; at 0 the whole delay is added."
    ]


def latency_sentence(experiment: Experiment) -> list[str]:
    """Says how long operations take: from a common start where that was measured, else after one of the others."""
    cells = plain_cells(experiment)
    lines = synchronization(cells)
    if lines.empty:  # all cells have an arrival pattern
        return []
    line = next((name for name in (REFERENCE, PLAIN) if (lines == name).any()), lines.iloc[0])
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
    start = "from a common start" if line == REFERENCE else f"after {line}"
    return [f"Latencies {start}: {listed(texts)}."] if texts else []


def overlap_sentences(experiment: Experiment) -> list[str]:
    """Says how much of nonblocking operations is hidden behind computation."""
    frame = all_overlaps(experiment)
    if frame.empty:
        return []
    frame = frame.assign(line=synchronization(frame))
    texts = []
    for operation, group in frame.groupby("operation", sort=False):
        shares = group.groupby([*CONFIGURATION, "size", "line"])["overlap_window"].median()
        low, high = (f"{round(PERCENT * value)}" for value in (shares.min(), shares.max()))
        texts.append(f"{operation} {low if low == high else f'{low} to {high}'} % ({counted(len(shares), 'cell')})")
    return [
        f"Hidden share of the operation or the computation, whichever is shorter, median over launches: "
        f"{listed(texts)}. Below 0 they slow each other down."
    ]


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
    of_ranks = f" of {cells['ranks'].iloc[0]} ranks" if several else ""
    return [f"Median exit skew{of_ranks}: {skew_text(ranges, float(cells['error_bound'].max()))}"]


def skew_text(ranges: pd.DataFrame, bound: float) -> str:
    """Says how far apart ranks leave synchronizers, after "Median exit skew: ".

    Args:
        ranges: median exit skews in s, `low` to `high`, by the name of the synchronizer.
        bound: of the error of the clock, s.
    """
    # Either end of a skew may be wrong by the bound.
    limit = 2 * bound
    close = ranges[ranges["high"] < limit]
    far = ranges[ranges["high"] >= limit].sort_values("high", kind="stable")
    texts = []
    if len(close):
        texts.append(f"below {digits(limit * MICROSECONDS)} us (the clock's limit) after {listed(close.index)}")
    texts += [
        f"{span(low * MICROSECONDS, high * MICROSECONDS)} us after {name}"
        for name, low, high in far[["low", "high"]].itertuples(name=None)
    ]
    return f"{listed(texts)}."


def headline(judged: list[Judged]) -> str:
    """Says in one sentence what the plain barrier, else the first one, does: to a typical cell, and at worst."""
    lines = [one.synchronizer for one in judged]
    judged = [one for one in judged if one.synchronizer == (PLAIN if PLAIN in lines else lines[0])]
    firm = decidable(judged)
    ratios = {one.cell: one.comparison.ratio.estimate for one in firm or judged}
    typical = percent_off(statistics.median(ratios.values()))
    start = f"After {judged[0].synchronizer} a typical latency reads {typical}"
    if not firm:
        return f"{start}; no verdict, which needs {FEWEST_LAUNCHES} launches that can be compared."
    found = [one.cell for one in firm if one.comparison.verdict in READINGS]
    sides = [[cell for cell in found if high == (ratios[cell] > 1)] for high in (True, False)]
    ends = [max(side, key=lambda cell: abs(math.log(ratios[cell]))) for side in sides if side]
    worst = [f"{cell.replace(',', '')} {PERCENT * (ratios[cell] - 1):+.0f} %" for cell in ends]
    return f"{start}; worst: {', '.join(worst)}." if found else f"{start}; no cell differs significantly."


def decidable(judged: list[Judged]) -> list[Judged]:
    """Returns the cells with launches enough for a verdict."""
    return [one for one in judged if min(one.comparison.launches) >= FEWEST_LAUNCHES]


def percent_off(ratio: float) -> str:
    """Returns how much too high or too low something reads."""
    off = PERCENT * (ratio - 1)
    return f"{abs(off):.1f} % too {'high' if off > 0 else 'low'}"


def experiment_verdict(experiment: Experiment) -> tuple[tuple[Fact, ...], tuple[Fact, ...], pd.DataFrame]:
    """Returns the news, what was found in sentences, and the verdicts on single cells that they rest on."""
    if measured_cells(experiment).empty:  # of a run that was cut short before the first cell was complete
        return (), (), judged_frame([])
    judged = judge_barriers(experiment)
    compared, sentences = configuration_sentences(experiment)
    found = {
        "latency": latency_sentence(experiment),
        "comparison": sentences,
        "effect of the barrier": barrier_sentences(judged),
        "algorithms": algorithm_sentences(experiment),
        "late ranks": delay_sentences(experiment),
        "overlap": overlap_sentences(experiment),
        "exit skew": skew_sentence(experiment),
    }
    facts = tuple(Fact(about, "\n".join(sentences)) for about, sentences in found.items() if sentences)
    news = compared[:1] or ([headline(judged)] if judged else found["latency"])
    return tuple(Fact("", sentence) for sentence in news), facts, judged_frame(judged)
