"""The findings of a report: facts on what is compared, and on all else that an experiment has."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from downbeat.comparison.compared import Compared
from downbeat.comparison.facts import by_row, conclusion, operation_verdicts, step_of
from downbeat.comparison.questions import judged_cells, slower_algorithms
from downbeat.comparison.sides import side_cells
from downbeat.comparison.summaries import (
    CONFIGURATION,
    METRIC,
    PANELS,
    described_cells,
    median_of,
    plain_cells,
)
from downbeat.data.clock_files import exit_skews
from downbeat.data.states import in_main_state
from downbeat.output.blocks import Number
from downbeat.output.facts import Fact
from downbeat.output.facts.clocks import ExitSkews
from downbeat.output.facts.comparison import Conclusion, OperationVerdicts
from downbeat.output.facts.experiment import (
    Algorithms,
    HiddenDelays,
    Latencies,
    Lowest,
    MoreAlgorithms,
    Overlaps,
    Spread,
)
from downbeat.output.fields import BARRIER, COMMON_START, span, start_text, synchronizer_name, with_zeros
from downbeat.report.compared import STARTS, Contrast, cell_name, sides_by
from downbeat.report.rows import Latencies as LatencyTable
from downbeat.report.rows import ShownCells, late_cells, latencies, overlapping, shown, typical_median
from downbeat.run.experiment import Experiment
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.tables import grouped
from downbeat.text import MICROSECONDS, counted

MAX_NAMED_OPERATIONS = 4  # more are in their pictures only
MAX_NEWS = 2


def algorithm_facts(experiment: Experiment) -> list[Algorithms | MoreAlgorithms]:
    """Which algorithms are the fastest, how sure that is, and after which synchronizers others look so."""
    judged = judged_cells(experiment)
    groups = {str(name): group for name, group in judged.groups(judged.operation) if len(set(group.algorithm)) > 1}
    facts: list[Algorithms | MoreAlgorithms] = [
        algorithm_fact(name, shown(group, group.started_by, described_cells(group, PANELS)))
        for name, group in list(groups.items())[:MAX_NAMED_OPERATIONS]
    ]
    if len(groups) > MAX_NAMED_OPERATIONS:
        facts.append(MoreAlgorithms(len(groups) - MAX_NAMED_OPERATIONS))
    return facts


def algorithm_fact(operation: str, cells: ShownCells) -> Algorithms:
    """The fastest algorithms of one operation, by panel and line."""
    latency = latencies(cells, METRIC)
    latency = latency[~np.isnan(latency.median_us)]
    latency = latency[np.argsort(latency.median_us, kind="stable")]
    lowest: dict[str, dict[str, str]] = {}  # algorithm by line and panel
    for line, panel, algorithm in zip(latency.line, latency.panel, latency.algorithm, strict=True):
        lowest.setdefault(line, {}).setdefault(panel, algorithm)
    named = tuple(
        Lowest(name, line, cases)
        for line, of_line in lowest.items()
        if line == COMMON_START or COMMON_START not in lowest
        for name, cases in Counter(of_line.values()).items()
    )
    if COMMON_START not in lowest:
        return Algorithms(operation, named)
    fastest = lowest[COMMON_START]
    started = cells[cells.line == COMMON_START]
    slower = slower_algorithms(side_cells(started, METRIC), started.panel, fastest)
    reference = latency[latency.line == COMMON_START]
    other_counts = {panel: len(set(group.algorithm)) - 1 for panel, group in reference.groups(reference.panel)}
    wrong = [
        (line, panel, algorithm)
        for line, of_line in lowest.items()
        for panel, algorithm in of_line.items()
        if panel in fastest and algorithm != fastest[panel]
    ]
    return Algorithms(
        operation,
        named,
        from_common_start=True,
        cases=len(fastest),
        sure=sum(len(slower[panel]) == other_counts[panel] > 0 for panel in fastest),
        deceived=tuple(Counter(line for line, _, _ in wrong).items()),
        harmed=sum(algorithm in slower[panel] for _, panel, algorithm in wrong),
    )


def start_facts(starts: Contrast) -> list[Fact]:
    """What synchronizers do to latencies: the plain barrier first."""
    order = sorted(starts.tables, key=lambda start: start != BARRIER)
    return [fact for start in order for fact in facts_on(starts.tables[start])]


def facts_on(table: Compared) -> list[Fact]:
    """The verdicts of a comparison, and what more launches would show."""
    return [*conclusion(table), *step_of(table)]


def comparison_facts(contrast: Contrast) -> list[Fact]:
    """How each side compares with the first."""
    return [fact for table in contrast.tables.values() for fact in conclusion(table)]


def range_facts(contrast: Contrast) -> list[tuple[str, OperationVerdicts]]:
    """The verdicts on each operation by ranges of sizes, as the end of a run has them, with their names and sides."""
    facts = [
        (side, operation_verdicts(rows, name))
        for side, table in contrast.tables.items()
        for name, rows in by_row(table.answer)
    ]
    return facts[:MAX_RANGES]


MAX_RANGES = 12  # rows; the numbers of pictures have all


def large_numbers(contrast: Contrast) -> tuple[Number, ...]:
    """Returns at most three numbers: latencies of both sides and their ratio; of one side, three latencies.

    They are of the smallest size of the first operation that has sizes, which no number has picked. Where all cells
    have the same verdict, the ratio is over all of them.
    """
    latency = latencies(contrast.cells[in_main_state(contrast.cells)], METRIC)
    latency = latency[~np.isnan(latency.median_us)]
    if not len(latency):
        return ()
    if (latency.size > 0).any():  # an operation without sizes, as barrier, is rarely the subject
        latency = latency[latency.size > 0]
    panels = list(dict.fromkeys(latency.panel))
    first = latency[latency.panel == panels[0]]
    first = first[np.argsort(first.size, kind="stable")]
    if len(contrast.sides) == 1:
        rows = sorted({0, len(first) // 2, len(first) - 1})
        each = latency[np.array([int(np.flatnonzero(latency.panel == panel)[0]) for panel in panels[:MAX_NUMBERS]])]
        shown = first[np.array(rows)] if len(panels) == 1 else each
        return tuple(latency_number(contrast, shown, row) for row in range(len(shown)))
    first = first[first.size == first.size[0]]
    order = [side for side in contrast.sides if (first.line == side).any()][:2]
    numbers = [
        latency_number(contrast, first, int(row)) for side in order for row in np.flatnonzero(first.line == side)
    ]
    facts = [fact for side in order[1:] if side in contrast.tables for fact in conclusion(contrast.tables[side])]
    for fact in facts:
        if isinstance(fact, Conclusion) and fact.cells > 1 and not math.isnan(fact.ratio):
            about = f"{contrast.ratio_label}, over {counted(fact.cells, 'cell')}"
            return (*numbers, Number(f"{fact.ratio:.2f}", "", span(fact.low, fact.high), about))
    ratios = contrast.ratios
    ratios = ratios[np.isin(ratios.line, order[1:]) & ~np.isnan(ratios.ratio)]
    same = ratios[(ratios.panel == first.panel[0]) & (ratios.size == first.size[0])]
    label = contrast.ratio_label if len(contrast.sides) == 2 else " / ".join(map(synchronizer_name, reversed(order)))
    about = f"{label}, the same cell"
    points = zip(same.ratio, same.low, same.high, strict=True)
    return (*numbers, *(Number(f"{ratio:.2f}", "", span(low, high), about) for ratio, low, high in points))


MAX_NUMBERS = 3


def latency_number(contrast: Contrast, latency: LatencyTable, row: int) -> Number:
    """The latency of a cell of one side, a row of a table."""
    line = str(latency.line[row])
    side = line if contrast.factor != STARTS else start_text(line)
    interval = span(latency.low_us[row], latency.high_us[row]) if latency.launches[row] > 1 else ""
    about = f"{cell_name(latency.panel[row], latency.size[row])}, {side}"
    return Number(with_zeros(float(latency.median_us[row])), "us", interval, about)


def delay_facts(experiment: Experiment) -> list[HiddenDelays]:
    """How much of planned delays is hidden."""
    cells = experiment.cell_table
    late = late_cells(cells[cells.measured])
    spreads = []
    for operation, group in late.groups(late.operation):
        keys = (group.configuration, group.pattern, group.delay_number)
        means = [float(np.nanmean(each.share)) for _, each in group.groups(*keys) if not np.isnan(each.share).all()]
        if means:
            delays = group.delay_s * MICROSECONDS
            ends = (float(delays.min()), float(delays.max()))
            spreads.append((Spread(operation, min(means), max(means), len(means)), ends))
    return [HiddenDelays(tuple(spreads))] if spreads else []


def latency_facts(experiment: Experiment) -> list[Latencies]:
    """How long operations take: from a common start where that was measured, else after one of the others."""
    cells = plain_cells(experiment)
    lines = cells.started_by
    if not len(lines):  # all cells have an arrival pattern
        return []
    line = next((name for name in (COMMON_START, BARRIER) if (lines == name).any()), lines[0])
    cells = cells[lines == line]
    spreads = []
    for operation, group in cells.groups(cells.operation):
        keys = [getattr(group, name) for name in (*CONFIGURATION, "size")]
        medians = [typical_median(each) for _, each in group.metric(METRIC).groups(*keys)]
        medians = [each for each in medians if not math.isnan(each.estimate)]
        if not medians:
            continue
        low, high = (float(end(each.estimate for each in medians) * MICROSECONDS) for end in (min, max))
        alone = len(medians) == 1 and medians[0].count > 1
        ends = [float(each * MICROSECONDS) if alone else math.nan for each in (medians[0].low, medians[0].high)]
        spreads.append(Spread(operation, low, high, len(medians), *ends))
    return [Latencies(str(line), tuple(spreads))] if spreads else []


def overlap_facts(experiment: Experiment) -> list[Overlaps]:
    """How much of nonblocking operations is hidden behind computation."""
    cells = overlapping(experiment.cell_table)
    spreads = []
    for operation, group in cells.groups(cells.operation):
        keys = [getattr(group, name) for name in (*CONFIGURATION, "size")]
        shares = [float(np.median(each.overlap_window)) for _, each in group.groups(*keys, group.started_by)]
        spreads.append(Spread(operation, min(shares), max(shares), len(shares)))
    return [Overlaps(tuple(spreads))] if spreads else []


def skew_facts(experiment: Experiment) -> list[ExitSkews]:
    """How far apart ranks leave the synchronizers, of the most ranks that there are."""
    cells = plain_cells(experiment)
    if not len(cells) or cells.ranks.max() < 2:
        return []
    several = len(set(cells.ranks)) > 1
    cells = cells[cells.ranks == cells.ranks.max()]
    # Medians of different libraries have no common one.
    keys = [getattr(cells, name) for name in LAUNCH_FACTORS]
    ranges: dict[str, list[float]] = {}
    for (line, *_), rows in grouped(cells.started_by, *keys):
        ranges.setdefault(line, []).append(median_of(cells.metric("exit_skew").median_s[rows]))
    ranks = int(cells.ranks[0]) if several else 0
    ends = {line: (min(each), max(each)) for line, each in sorted(ranges.items())}
    return [exit_skews(ends, float(np.nanmax(cells.error_bound)), ranks)]


@dataclass(frozen=True)
class Answer:
    """The facts of a report: the answer to the comparison, then further findings, each with its subject."""

    news: tuple[Fact, ...]
    numbers: tuple[Number, ...]
    findings: tuple[tuple[str, Fact], ...]


def answer_of(experiment: Experiment, contrast: Contrast, starts: Contrast) -> Answer:
    """The answer of a report: facts on the comparison, on starts, and on everything else measured."""
    if not experiment.cell_table.measured.any():  # of a run that was cut short before the first cell was complete
        return Answer((), (), ())
    other_factors = [name for name in ("library", "environment") if name != contrast.factor]
    cells = plain_cells(experiment)
    also = [sides_by(experiment, name, cells) for name in other_factors if len(set(getattr(cells, name))) > 1]
    algorithms, of_starts = algorithm_facts(experiment), start_facts(starts)
    news: list[Fact] = [*(algorithms if contrast.factor == "algorithm" else comparison_facts(contrast))][:MAX_NEWS]
    news = news or [*latency_facts(experiment)]
    ranges = [(f"{fact.operation}, {side}", fact) for side, fact in range_facts(contrast) if contrast.factor != STARTS]
    ranges += [(f"{fact.operation}, {start_text(side)}", fact) for side, fact in range_facts(starts) if side == BARRIER]
    by_subject: dict[str, list[Fact]] = {
        "also compared": [fact for each in also for fact in comparison_facts(each)],
        "effect of the start": [fact for fact in of_starts if fact not in news],
        "more launches": [
            fact for table in contrast.tables.values() for fact in step_of(table) if contrast.factor != STARTS
        ],
        "algorithms": [fact for fact in algorithms if fact not in news],
        "late ranks": [*delay_facts(experiment)],
        "overlap": [*overlap_facts(experiment)],
        "exit skew": [*skew_facts(experiment)],
    }
    facts = (*ranges, *((about, fact) for about, facts in by_subject.items() for fact in facts))
    return Answer(tuple(news), large_numbers(contrast), facts)
