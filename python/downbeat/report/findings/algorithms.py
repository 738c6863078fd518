"""Which algorithms are the fastest, and after which synchronizers others look so."""

from __future__ import annotations

import itertools

import pandas as pd

from downbeat.data.cells import hidden_by_step
from downbeat.experiment.experiment import Experiment
from downbeat.report.numbers_text import listed, microseconds
from downbeat.statistics.pairs import compare_paired
from downbeat.statistics.verdicts import judge_together
from downbeat.summaries.barrier_ratio import METRIC, REFERENCE
from downbeat.summaries.cells import judged_cells
from downbeat.summaries.describe import PANELS, describe, synchronization
from downbeat.summaries.over_launches import summarize
from downbeat.text import counted

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
