"""The findings of a report: facts with numbers, which sentences.toml says."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from downbeat.comparison.compare import comparison_of
from downbeat.comparison.compared import READINGS, Compared
from downbeat.comparison.ending import main_states, of_states
from downbeat.comparison.facts import MORE_LAUNCHES, VERDICT_ORDER, by_row, conclusion, next_step, verdict_ranges
from downbeat.comparison.judging import powers_of
from downbeat.comparison.questions import AgainstStart, numbered, slower_algorithms
from downbeat.comparison.summaries import (
    CONFIGURATION,
    MEDIAN_LATENCY,
    PANELS,
    REFERENCE,
    all_overlaps,
    describe,
    late_launches,
    measured_cells,
    plain_cells,
    summarize_groups,
    synchronization,
)
from downbeat.data.cells import NO_PATTERN
from downbeat.report.compared import COMMON, STARTS, Contrast, cell_name, sides_by
from downbeat.report.page import Fact, Number, span, with_zeros
from downbeat.run.experiment import Experiment
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.sentences import Sentence
from downbeat.statistics.slow_launches import unseen_text
from downbeat.statistics.verdicts import FEWEST_LAUNCHES, MARGIN, Comparison, simultaneous_interval
from downbeat.text import MICROSECONDS, counted

MOST_NAMED_OPERATIONS = 4  # more are in their pictures only
PLAIN_BARRIER = "mpi_barrier"
MOST_PARAGRAPHS = 2  # more synchronizers than these share a paragraph


def algorithm_facts(experiment: Experiment) -> list[Sentence]:
    """Says which algorithms are the fastest, how sure that is, and after which synchronizers others look so."""
    cells = numbered(experiment)
    several = [
        (str(operation), frame.assign(panel=describe(frame, PANELS)))
        for operation, frame in cells.groupby("operation", sort=False)
        if frame["algorithm"].nunique() > 1
    ]
    facts = [algorithm_fact(operation, frame) for operation, frame in several[:MOST_NAMED_OPERATIONS]]
    if len(several) > MOST_NAMED_OPERATIONS:
        facts.append(Sentence("more_algorithms", {"operations": len(several) - MOST_NAMED_OPERATIONS}))
    return facts


def algorithm_fact(operation: str, frame: pd.DataFrame) -> Sentence:
    """Says it of one operation, whose cases are in `panel` and whose starts are in `line`."""
    latency = summarize_groups(frame, ("panel", "line", "algorithm"), MEDIAN_LATENCY)
    latency = latency.dropna(subset=["estimate"]).sort_values("estimate", kind="stable")
    lowest = latency.drop_duplicates(["panel", "line"]).set_index(["line", "panel"])["algorithm"]
    of_lines = {str(line): group.value_counts(sort=False) for line, group in lowest.groupby(level="line", sort=False)}
    values: dict[str, object] = {
        "operation": operation,
        "lowest": [
            {"algorithm": str(name), "cases": int(cases), "line": line}
            for line, counts in of_lines.items()
            if line == REFERENCE or REFERENCE not in of_lines
            for name, cases in counts.items()
        ],
    }
    if REFERENCE not in of_lines:
        return Sentence("algorithms_unknown", values)
    fastest = lowest.loc[REFERENCE]
    slower = slower_algorithms(frame[frame["line"] == REFERENCE], fastest)
    others = latency[latency["line"] == REFERENCE].groupby("panel")["algorithm"].nunique() - 1
    deceived: dict[str, int] = {}
    harmed = 0
    for line, panel, algorithm in lowest.reset_index().itertuples(index=False, name=None):
        if panel in fastest.index and algorithm != fastest[panel]:
            deceived[line] = deceived.get(line, 0) + 1
            harmed += algorithm in slower[panel]
    values |= {
        "cases": len(fastest),
        "sure": sum(len(slower[panel]) == others[panel] > 0 for panel in fastest.index),
        "deceived": [{"line": line, "cases": cases} for line, cases in deceived.items()],
        "harmed": harmed,
    }
    return Sentence("algorithms", values)


def barrier_facts(judged: list[AgainstStart]) -> list[Sentence]:
    """Says what synchronizers do to latencies: the plain barrier first, the others together where there are many."""
    lines = sorted(dict.fromkeys(one.synchronizer for one in judged), key=lambda line: line != PLAIN_BARRIER)
    plain = lines.count(PLAIN_BARRIER)
    groups = [[line] for line in lines] if len(lines) <= MOST_PARAGRAPHS else [lines[:plain], lines[plain:]]
    return [barrier_fact([one for one in judged if one.synchronizer in group]) for group in groups if group]


def barrier_fact(judged: list[AgainstStart]) -> Sentence:
    """Says what the verdicts on one synchronizer are, or on several."""
    firm = [one for one in judged if min(one.comparison.launches) >= FEWEST_LAUNCHES]
    ratios = [one.comparison.ratio.estimate for one in firm or judged]
    values: dict[str, object] = {
        "lines": list(dict.fromkeys(one.synchronizer for one in judged)),
        "cells": len(judged),
        "firm": len(firm),
        "fewest": FEWEST_LAUNCHES,
        "median": statistics.median(ratios),
        "low": min(ratios),
        "high": max(ratios),
        "margin": MARGIN,
    }
    of = {verdict: [one for one in firm if one.comparison.verdict == verdict] for verdict in VERDICT_ORDER}
    values |= {verdict: len(cells) for verdict, cells in of.items()}
    values["extremes"] = [extreme(of[verdict], len(firm)) for verdict in READINGS if of[verdict]]
    if of["equivalent"]:
        values["unseen"] = unseen_text(min(min(one.comparison.launches) for one in of["equivalent"]))
    if of["undecided"]:
        values["next"] = next_step_of([one.comparison for one in of["undecided"]], len(firm))
    return Sentence("barrier", values)


def next_step_of(undecided: Sequence[Comparison], tests: int) -> str:
    """Returns what more launches would show of undecided cells among so many, as `compare` says it."""
    helped = [one for one in undecided if one.reason in MORE_LAUNCHES]
    powers = powers_of(helped, tests)
    needed, alike = ([each[name] for each in powers] for name in ("launches_needed", "launches_alike"))
    fewest = min((min(one.launches) for one in helped), default=0)
    return next_step(needed, alike, MARGIN, fewest)


def extreme(judged: list[AgainstStart], family: int) -> dict[str, object]:
    """Returns the cell with the largest effect; its interval holds for all of a family at once."""
    most = max(judged, key=lambda one: abs(math.log(one.comparison.ratio.estimate)))
    ratio = simultaneous_interval(most.comparison, family)
    found = {"cell": most.cell, "line": most.synchronizer, "verdict": most.comparison.verdict}
    return {**found, "ratio": ratio.estimate, "low": ratio.low, "high": ratio.high}


def headline(judged: list[AgainstStart]) -> Sentence:
    """Says in one sentence how many cells read higher or lower after the plain barrier, else after the first one."""
    lines = [one.synchronizer for one in judged]
    fact = barrier_fact(
        [one for one in judged if one.synchronizer == (PLAIN_BARRIER if PLAIN_BARRIER in lines else lines[0])]
    )
    return Sentence("headline", fact.values)


def comparison_facts(contrast: Contrast) -> list[Sentence]:
    """Says how each side compares with the first."""
    return [sentence for table in contrast.tables.values() for sentence in conclusion(table)]


def range_facts(tables: Mapping[str, Compared], prefix: str) -> list[Fact]:
    """Returns what verdicts of `compare` say of each operation, by ranges of sizes, as the end of a run does."""
    facts = [
        Fact(f"{name}, {prefix}{side}", "; ".join(verdict_ranges(rows)))
        for side, table in tables.items()
        for name, rows in by_row(table)
    ]
    return facts[:MOST_RANGES]


def barrier_ranges(experiment: Experiment, starts: Contrast) -> list[Fact]:
    """Returns what the plain barrier does to each operation, in the main state."""
    if not any(one.synchronizer == PLAIN_BARRIER for one in starts.judged):
        return []
    table = comparison_of(experiment, where_a={STARTS: REFERENCE}, where_b={STARTS: PLAIN_BARRIER})
    plain = table[of_states(table, main_states(starts.cells))].within("pattern", NO_PATTERN).within("computation", 0)
    return range_facts({PLAIN_BARRIER: plain}, "after ")


MOST_RANGES = 12  # rows; the numbers of pictures have all


def large_numbers(contrast: Contrast) -> tuple[Number, ...]:
    """Returns at most three numbers: latencies of both sides and their ratio; of one side, three latencies.

    They are of the smallest size of the first operation, which no number has picked. Where all cells have the same
    verdict, the ratio is over all of them.
    """
    cells = contrast.cells[contrast.cells["main"]]
    latency = summarize_groups(cells, ("panel", "line", "size"), MEDIAN_LATENCY).dropna(subset=["estimate"])
    if latency.empty:
        return ()
    several = latency.drop_duplicates("panel")
    first = latency[latency["panel"] == several["panel"].iloc[0]].sort_values("size", kind="stable")
    first = first[first["size"] == first["size"].iloc[0]]
    if len(contrast.sides) == 1:
        own = latency[latency["panel"] == several["panel"].iloc[0]].sort_values("size", kind="stable")
        places = sorted({0, len(own) // 2, len(own) - 1})
        shown = own.iloc[places] if len(several) == 1 else several.iloc[:MOST_NUMBERS]
        return tuple(latency_number(contrast, row) for row in shown.to_dict("records"))
    order = [side for side in contrast.sides if (first["line"] == side).any()][:2]
    found = [latency_number(contrast, row) for side in order for row in first[first["line"] == side].to_dict("records")]
    mine = contrast.ratios[contrast.ratios["main"] & (contrast.ratios["line"].isin(order[1:]))]
    mine = mine.dropna(subset=["ratio"])
    if len(mine) > 1 and len(set(mine["verdict"]) & UNANIMOUS) == len(set(mine["verdict"])) == 1:
        ratio, low, high = np.exp(np.log(mine[["ratio", "low", "high"]].to_numpy(dtype=float)).mean(axis=0))
        about = f"{contrast.ratio_label}, over {counted(len(mine), 'cell')}"
        return (*found, Number(f"{ratio:.2f}", "", span(low, high), about))
    mine = mine[(mine["panel"] == first["panel"].iloc[0]) & (mine["size"] == first["size"].iloc[0])]
    return (
        *found,
        *(
            Number(f"{row['ratio']:.2f}", "", span(row["low"], row["high"]), f"{contrast.ratio_label}, the same cell")
            for row in mine.to_dict("records")
        ),
    )


MOST_NUMBERS = 3
UNANIMOUS = {*READINGS, *READINGS.values()}


def latency_number(contrast: Contrast, row: Mapping[Any, Any]) -> Number:
    """Returns the latency of a cell of one side."""
    side = row["line"] if contrast.factor != STARTS else start_text(row["line"])
    interval = span(row["low"] * MICROSECONDS, row["high"] * MICROSECONDS) if row["launches"] > 1 else ""
    about = f"{cell_name(row['panel'], row['size'])}, {side}"
    return Number(with_zeros(row["estimate"] * MICROSECONDS), "us", interval, about)


def start_text(line: str) -> str:
    """Returns what operations were measured from, in words."""
    return f"from {COMMON}" if line == REFERENCE else f"after {line}"


def delay_facts(experiment: Experiment) -> list[Sentence]:
    """Says how much of planned delays is hidden."""
    late = late_launches(measured_cells(experiment))
    late = late.assign(line=synchronization(late))
    found = []
    for operation, group in late.groupby("operation", sort=False):
        shares = group.groupby([*CONFIGURATION, "size", "line", "pattern", "place"])["share"].mean().dropna()
        if len(shares):
            delays = group["delay"] * MICROSECONDS
            found.append(
                {
                    "operation": operation,
                    "low": shares.min(),
                    "high": shares.max(),
                    "delays": span(delays.min(), delays.max()),
                    "cells": len(shares),
                }
            )
    return [Sentence("hidden_delays", {"operations": found})] if found else []


def latency_facts(experiment: Experiment) -> list[Sentence]:
    """Says how long operations take: from a common start where that was measured, else after one of the others."""
    cells = plain_cells(experiment)
    lines = synchronization(cells)
    if lines.empty:  # all cells have an arrival pattern
        return []
    line = next((name for name in (REFERENCE, PLAIN_BARRIER) if (lines == name).any()), lines.iloc[0])
    found = []
    for operation, frame in cells[lines == line].groupby("operation", sort=False):
        latency = summarize_groups(frame, (*CONFIGURATION, "size"), MEDIAN_LATENCY).dropna(subset=["estimate"])
        if latency.empty:
            continue
        ends = [float(latency["estimate"].agg(end)) * MICROSECONDS for end in ("min", "max")]
        one = latency.iloc[0]
        interval = span(one["low"] * MICROSECONDS, one["high"] * MICROSECONDS)
        alone = len(latency) == 1 and one["launches"] > 1
        found.append(
            {
                "operation": operation,
                "latency": span(*ends),
                "cells": len(latency),
                "interval": interval if alone else "",
            }
        )
    start = "from a common start" if line == REFERENCE else f"after {line}"
    return [Sentence("latencies", {"start": start, "operations": found})] if found else []


def overlap_facts(experiment: Experiment) -> list[Sentence]:
    """Says how much of nonblocking operations is hidden behind computation."""
    frame = all_overlaps(experiment)
    if frame.empty:
        return []
    frame = frame.assign(line=synchronization(frame))
    found = []
    for operation, group in frame.groupby("operation", sort=False):
        shares = group.groupby([*CONFIGURATION, "size", "line"])["overlap_window"].median()
        found.append({"operation": operation, "low": shares.min(), "high": shares.max(), "cells": len(shares)})
    return [Sentence("overlaps", {"operations": found})]


def skew_facts(experiment: Experiment) -> list[Sentence]:
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
    ranks = int(cells["ranks"].iloc[0]) if several else 0
    return [skew_fact(ranges, float(cells["error_bound"].max()), ranks)]


def skew_fact(ranges: pd.DataFrame, bound: float, ranks: int = 0) -> Sentence:
    """Says how far apart ranks leave synchronizers.

    Args:
        ranges: median exit skews in s, `low` to `high`, by the name of the synchronizer.
        bound: of the error of the clock, s; either end of a skew may be wrong by it.
        ranks: their number, where there are several; else 0.
    """
    limit = 2 * bound
    far = ranges[ranges["high"] >= limit].sort_values("high", kind="stable")
    values = {
        "ranks": ranks,
        "limit": limit,
        "close": list(ranges.index[ranges["high"] < limit]),
        "far": [
            {"line": line, "skew": span(low * MICROSECONDS, high * MICROSECONDS)}
            for line, low, high in far[["low", "high"]].itertuples(name=None)
        ],
    }
    return Sentence("exit_skew", values)


@dataclass(frozen=True)
class Answer:
    """What a report says of an experiment, in words: the news, then what else was found."""

    news: tuple[Fact, ...]
    numbers: tuple[Number, ...]
    found: tuple[Fact, ...]


def answer_of(experiment: Experiment, contrast: Contrast, starts: Contrast) -> Answer:
    """Returns what is said of what is compared, of starts, and of all else."""
    if measured_cells(experiment).empty:  # of a run that was cut short before the first cell was complete
        return Answer((), (), ())
    judged = list(starts.judged)
    others = [name for name in ("library", "environment") if name != contrast.factor]
    cells = plain_cells(experiment)
    also = [sides_by(experiment, name, cells) for name in others if cells[name].nunique() > 1]
    algorithms = algorithm_facts(experiment)
    news = (algorithms if contrast.factor == "algorithm" else comparison_facts(contrast))[:MOST_NEWS]
    news = news or ([headline(judged)] if judged else latency_facts(experiment))
    found = {
        "also compared": [sentence for one in also for sentence in comparison_facts(one)],
        "effect of the barrier": barrier_facts(judged),
        "algorithms": algorithms[MOST_NEWS if contrast.factor == "algorithm" else 0 :],
        "late ranks": delay_facts(experiment),
        "overlap": overlap_facts(experiment),
        "exit skew": skew_facts(experiment),
    }
    facts = (
        *range_facts(contrast.tables, ""),
        *barrier_ranges(experiment, starts),
        *(Fact(about, "\n".join(map(str, lines))) for about, lines in found.items() if lines),
    )
    return Answer(tuple(Fact("", str(one)) for one in news), large_numbers(contrast), facts)


MOST_NEWS = 2
