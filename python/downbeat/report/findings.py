"""The findings of a report: facts with numbers, which sentences.toml says."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from downbeat.comparison.compare import comparison_of
from downbeat.comparison.compared import READINGS, Compared
from downbeat.comparison.ending import main_states, of_states
from downbeat.comparison.facts import MORE_LAUNCHES, VERDICT_ORDER, by_row, conclusion, next_step, verdict_ranges
from downbeat.comparison.judging import powers_of
from downbeat.comparison.questions import AgainstStart, numbered, slower_algorithms
from downbeat.comparison.summaries import (
    CONFIGURATION,
    PANELS,
    REFERENCE,
)
from downbeat.data.cells import NO_PATTERN, Cells
from downbeat.data.clock_files import exit_skews
from downbeat.output.blocks import Number
from downbeat.output.facts import ExitSkews
from downbeat.output.facts import Fact as OutputFact
from downbeat.output.fields import span, with_zeros
from downbeat.output.words import long
from downbeat.report.compared import COMMON, STARTS, Contrast, cell_name, plain_cells, sides_by
from downbeat.report.page import Fact
from downbeat.report.rows import (
    Latencies,
    ShownCells,
    described_cells,
    late_cells,
    latencies,
    overlapping,
    shown,
    typical_median,
)
from downbeat.run.experiment import Experiment
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.sentences import Sentence
from downbeat.statistics.slow_launches import unseen_text
from downbeat.statistics.verdicts import FEWEST_LAUNCHES, MARGIN, Comparison, simultaneous_interval
from downbeat.tables import grouped
from downbeat.text import MICROSECONDS, counted

METRIC = "latency_avg"
MOST_NAMED_OPERATIONS = 4  # more are in their pictures only
PLAIN_BARRIER = "mpi_barrier"
MOST_PARAGRAPHS = 2  # more synchronizers than these share a paragraph


def algorithm_facts(experiment: Experiment) -> list[Sentence]:
    """Says which algorithms are the fastest, how sure that is, and after which synchronizers others look so."""
    judged = Cells.of(numbered(experiment))
    groups = {str(name): group for name, group in judged.groups(judged.operation) if len(set(group.algorithm)) > 1}
    facts = [
        algorithm_fact(name, shown(group, group.started_by, described_cells(group, PANELS)))
        for name, group in list(groups.items())[:MOST_NAMED_OPERATIONS]
    ]
    if len(groups) > MOST_NAMED_OPERATIONS:
        facts.append(Sentence("more_algorithms", {"operations": len(groups) - MOST_NAMED_OPERATIONS}))
    return facts


def algorithm_fact(operation: str, cells: ShownCells) -> Sentence:
    """The fastest algorithms of one operation, by panel and line."""
    latency = latencies(cells, METRIC)
    latency = latency[~np.isnan(latency.median_us)]
    latency = latency[np.argsort(latency.median_us, kind="stable")]
    lowest: dict[str, dict[str, str]] = {}  # algorithm by line and panel
    for line, panel, algorithm in zip(latency.line, latency.panel, latency.algorithm, strict=True):
        lowest.setdefault(line, {}).setdefault(panel, algorithm)
    values: dict[str, object] = {
        "operation": operation,
        "lowest": [
            {"algorithm": name, "cases": cases, "line": line}
            for line, of_line in lowest.items()
            if line == REFERENCE or REFERENCE not in lowest
            for name, cases in Counter(of_line.values()).items()
        ],
    }
    if REFERENCE not in lowest:
        return Sentence("algorithms_unknown", values)
    fastest = lowest[REFERENCE]
    slower = slower_algorithms(cells[cells.line == REFERENCE].frame(), fastest)
    reference = latency[latency.line == REFERENCE]
    others = {panel: len(set(group.algorithm)) - 1 for panel, group in reference.groups(reference.panel)}
    wrong = [
        (line, panel, algorithm)
        for line, of_line in lowest.items()
        for panel, algorithm in of_line.items()
        if panel in fastest and algorithm != fastest[panel]
    ]
    values |= {
        "cases": len(fastest),
        "sure": sum(len(slower[panel]) == others[panel] > 0 for panel in fastest),
        "deceived": [{"line": line, "cases": cases} for line, cases in Counter(one[0] for one in wrong).items()],
        "harmed": sum(algorithm in slower[panel] for _, panel, algorithm in wrong),
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
    table = comparison_of(experiment, where=({STARTS: REFERENCE}, {STARTS: PLAIN_BARRIER}))
    main = of_states(table, main_states(starts.cells.frame()))
    plain = table[main].within("pattern", NO_PATTERN).within("computation", 0)
    return range_facts({PLAIN_BARRIER: plain}, "after ")


MOST_RANGES = 12  # rows; the numbers of pictures have all


def large_numbers(contrast: Contrast) -> tuple[Number, ...]:
    """Returns at most three numbers: latencies of both sides and their ratio; of one side, three latencies.

    They are of the smallest size of the first operation, which no number has picked. Where all cells have the same
    verdict, the ratio is over all of them.
    """
    latency = latencies(contrast.cells[contrast.cells.main], METRIC)
    latency = latency[~np.isnan(latency.median_us)]
    if not len(latency):
        return ()
    panels = list(dict.fromkeys(latency.panel))
    first = latency[latency.panel == panels[0]]
    first = first[np.argsort(first.size, kind="stable")]
    if len(contrast.sides) == 1:
        places = sorted({0, len(first) // 2, len(first) - 1})
        each = latency[np.array([int(np.flatnonzero(latency.panel == one)[0]) for one in panels[:MOST_NUMBERS]])]
        shown = first[np.array(places)] if len(panels) == 1 else each
        return tuple(latency_number(contrast, shown, row) for row in range(len(shown)))
    first = first[first.size == first.size[0]]
    order = [side for side in contrast.sides if (first.line == side).any()][:2]
    found = [latency_number(contrast, first, int(row)) for side in order for row in np.flatnonzero(first.line == side)]
    ratios = contrast.ratios
    ratios = ratios[ratios.main & np.isin(ratios.line, order[1:]) & ~np.isnan(ratios.ratio)]
    verdicts = set(ratios.verdict)
    if len(ratios) > 1 and len(verdicts & UNANIMOUS) == len(verdicts) == 1:
        ratio, low, high = (float(np.exp(np.log(each).mean())) for each in (ratios.ratio, ratios.low, ratios.high))
        about = f"{contrast.ratio_label}, over {counted(len(ratios), 'cell')}"
        return (*found, Number(f"{ratio:.2f}", "", span(low, high), about))
    same = ratios[(ratios.panel == first.panel[0]) & (ratios.size == first.size[0])]
    about = f"{contrast.ratio_label}, the same cell"
    points = zip(same.ratio, same.low, same.high, strict=True)
    return (*found, *(Number(f"{ratio:.2f}", "", span(low, high), about) for ratio, low, high in points))


MOST_NUMBERS = 3
UNANIMOUS = {*READINGS, *READINGS.values()}


def latency_number(contrast: Contrast, latency: Latencies, row: int) -> Number:
    """The latency of a cell of one side, a row of a table."""
    line = str(latency.line[row])
    side = line if contrast.factor != STARTS else start_text(line)
    interval = span(latency.low_us[row], latency.high_us[row]) if latency.launches[row] > 1 else ""
    about = f"{cell_name(latency.panel[row], latency.size[row])}, {side}"
    return Number(with_zeros(float(latency.median_us[row])), "us", interval, about)


def start_text(line: str) -> str:
    """Returns what operations were measured from, in words."""
    return f"from {COMMON}" if line == REFERENCE else f"after {line}"


def delay_facts(experiment: Experiment) -> list[Sentence]:
    """Says how much of planned delays is hidden."""
    cells = experiment.cell_table
    late = late_cells(cells[cells.measured])
    found = []
    for operation, group in late.groups(late.operation):
        keys = (group.configuration, group.pattern, group.place)
        means = [float(np.nanmean(each.share)) for _, each in group.groups(*keys) if not np.isnan(each.share).all()]
        if means:
            delays = group.delay_s * MICROSECONDS
            found.append(
                {
                    "operation": operation,
                    "low": min(means),
                    "high": max(means),
                    "delays": span(delays.min(), delays.max()),
                    "cells": len(means),
                }
            )
    return [Sentence("hidden_delays", {"operations": found})] if found else []


def latency_facts(experiment: Experiment) -> list[Sentence]:
    """Says how long operations take: from a common start where that was measured, else after one of the others."""
    cells = plain_cells(experiment)
    lines = cells.started_by
    if not len(lines):  # all cells have an arrival pattern
        return []
    line = next((name for name in (REFERENCE, PLAIN_BARRIER) if (lines == name).any()), lines[0])
    cells = cells[lines == line]
    found = []
    for operation, group in cells.groups(cells.operation):
        keys = [getattr(group, name) for name in (*CONFIGURATION, "size")]
        medians = [typical_median(one) for _, one in group.metric(METRIC).groups(*keys)]
        medians = [one for one in medians if not math.isnan(one.estimate)]
        if not medians:
            continue
        ends = [end(one.estimate for one in medians) * MICROSECONDS for end in (min, max)]
        interval = span(medians[0].low * MICROSECONDS, medians[0].high * MICROSECONDS)
        alone = len(medians) == 1 and medians[0].count > 1
        found.append(
            {
                "operation": operation,
                "latency": span(*ends),
                "cells": len(medians),
                "interval": interval if alone else "",
            }
        )
    start = "from a common start" if line == REFERENCE else f"after {line}"
    return [Sentence("latencies", {"start": start, "operations": found})] if found else []


def overlap_facts(experiment: Experiment) -> list[Sentence]:
    """Says how much of nonblocking operations is hidden behind computation."""
    cells = overlapping(experiment.cell_table)
    found = []
    for operation, group in cells.groups(cells.operation):
        keys = [getattr(group, name) for name in (*CONFIGURATION, "size")]
        shares = [float(np.median(one.overlap_window)) for _, one in group.groups(*keys, group.started_by)]
        found.append({"operation": operation, "low": min(shares), "high": max(shares), "cells": len(shares)})
    return [Sentence("overlaps", {"operations": found})] if found else []


def skew_facts(experiment: Experiment) -> list[ExitSkews]:
    """Says how far apart ranks leave the synchronizers, of the most ranks that there are."""
    cells = plain_cells(experiment)
    if not len(cells) or cells.ranks.max() < 2:
        return []
    several = len(set(cells.ranks)) > 1
    cells = cells[cells.ranks == cells.ranks.max()]
    # Medians of different libraries have no common one.
    keys = [getattr(cells, name) for name in LAUNCH_FACTORS]
    ranges: dict[str, list[float]] = {}
    for (line, *_), rows in grouped(cells.started_by, *keys):
        ranges.setdefault(line, []).append(float(np.nanmedian(cells.metric("exit_skew").median_s[rows])))
    ranks = int(cells.ranks[0]) if several else 0
    ends = {line: (min(each), max(each)) for line, each in sorted(ranges.items())}
    return [exit_skews(ends, float(np.nanmax(cells.error_bound)), ranks)]


@dataclass(frozen=True)
class Answer:
    """What a report says of an experiment, in words: the news, then what else was found."""

    news: tuple[Fact, ...]
    numbers: tuple[Number, ...]
    found: tuple[Fact, ...]


def answer_of(experiment: Experiment, contrast: Contrast, starts: Contrast) -> Answer:
    """Returns what is said of what is compared, of starts, and of all else."""
    if not experiment.cell_table.measured.any():  # of a run that was cut short before the first cell was complete
        return Answer((), (), ())
    judged = list(starts.judged)
    others = [name for name in ("library", "environment") if name != contrast.factor]
    cells = plain_cells(experiment)
    also = [sides_by(experiment, name, cells) for name in others if len(set(getattr(cells, name))) > 1]
    algorithms = algorithm_facts(experiment)
    news = (algorithms if contrast.factor == "algorithm" else comparison_facts(contrast))[:MOST_NEWS]
    news = news or ([headline(judged)] if judged else latency_facts(experiment))
    found: dict[str, Sequence[OutputFact]] = {
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
        *(Fact(about, "\n".join(map(long, lines))) for about, lines in found.items() if lines),
    )
    return Answer(tuple(Fact("", long(one)) for one in news), large_numbers(contrast), facts)


MOST_NEWS = 2
