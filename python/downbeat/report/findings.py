"""Selects the facts and the large numbers of a report's first screen (`views/report.py` prints them).

A fact is a dataclass of numbers (`output/facts`); `output/words` has its wording. An experiment has cells: an operation
and size with one algorithm, synchronizer and arrival pattern. Two columns of `ShownCells` name a cell in reports: its
`line` is the side of the comparison or the synchronizer (a line of a picture), its `panel` is the operation and other
factors that vary, such as library or ranks (a panel of a picture). A contrast compares the lines of all panels with its
first side. A start is a synchronizer; the common start is MPIX_Harmonize.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

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
from downbeat.output.fields import BARRIER, COMMON_START, digits_with_zeros, span, start_text, synchronizer_name
from downbeat.report.compared import STARTS, Contrast, cell_name, sides_by
from downbeat.report.rows import Latencies as LatencyTable
from downbeat.report.rows import ShownCells, late_cells, latencies, overlapping, shown, typical_median
from downbeat.run.experiment import Experiment
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.tables import grouped
from downbeat.text import MICROSECONDS, counted

MAX_ALGORITHM_FACTS = 4  # one per operation; pictures have the remaining operations
MAX_HEADLINES = 2  # facts that answer the comparison
MAX_RANGE_FACTS = 12  # one per operation and side; the numbers of the pictures have all verdicts
MAX_NUMBERS = 3


def algorithm_facts(experiment: Experiment) -> list[Algorithms | MoreAlgorithms]:
    """Finds the fastest algorithms of each operation that was measured with several.

    Counts the cases with a significant difference, and the cases in which another algorithm looks fastest after another
    synchronizer.
    """
    cells = judged_cells(experiment)
    by_operation = {str(name): group for name, group in cells.groups(cells.operation) if len(set(group.algorithm)) > 1}
    facts: list[Algorithms | MoreAlgorithms] = [
        algorithm_fact(name, shown(group, group.started_by, described_cells(group, PANELS)))
        for name, group in list(by_operation.items())[:MAX_ALGORITHM_FACTS]
    ]
    if len(by_operation) > MAX_ALGORITHM_FACTS:
        facts.append(MoreAlgorithms(len(by_operation) - MAX_ALGORITHM_FACTS))
    return facts


def algorithm_fact(operation: str, cells: ShownCells) -> Algorithms:
    """Finds the fastest algorithms of one operation; lines are synchronizers, a case is a panel.

    The fastest from a common start is the reference; without it, the fact has the fastest after each synchronizer only.
    """
    latency = latencies(cells, METRIC)
    latency = latency[~np.isnan(latency.median_us)]
    latency = latency[np.argsort(latency.median_us, kind="stable")]
    fastest_after: dict[str, dict[str, str]] = {}  # [synchronizer][panel] -> algorithm
    for start, panel, algorithm in zip(latency.line, latency.panel, latency.algorithm, strict=True):
        fastest_after.setdefault(start, {}).setdefault(panel, algorithm)  # sorted: the first is the fastest
    lowest = tuple(
        Lowest(name, start, cases)
        for start, by_panel in fastest_after.items()
        if start == COMMON_START or COMMON_START not in fastest_after
        for name, cases in Counter(by_panel.values()).items()
    )
    if COMMON_START not in fastest_after:
        return Algorithms(operation, lowest)
    fastest = fastest_after[COMMON_START]
    from_common_start = cells[cells.line == COMMON_START]
    slower = slower_algorithms(side_cells(from_common_start, METRIC), from_common_start.panel, fastest)
    reference = latency[latency.line == COMMON_START]
    other_counts = {panel: len(set(group.algorithm)) - 1 for panel, group in reference.groups(reference.panel)}
    misranked = [
        (start, panel, algorithm)
        for start, by_panel in fastest_after.items()
        for panel, algorithm in by_panel.items()
        if panel in fastest and algorithm != fastest[panel]
    ]
    return Algorithms(
        operation,
        lowest,
        from_common_start=True,
        cases=len(fastest),
        sure=sum(len(slower[panel]) == other_counts[panel] > 0 for panel in fastest),
        deceived=tuple(Counter(start for start, _, _ in misranked).items()),
        harmed=sum(algorithm in slower[panel] for _, panel, algorithm in misranked),
    )


def start_facts(starts: Contrast) -> list[Fact]:
    """Compares latencies after each synchronizer with the common start, MPI_Barrier first; adds the next steps."""
    tables = [starts.tables[start] for start in sorted(starts.tables, key=lambda start: start != BARRIER)]
    return [fact for table in tables for fact in (*conclusion(table), *step_of(table))]


def comparison_facts(contrast: Contrast) -> list[Fact]:
    """Compares each side with the first."""
    return [fact for table in contrast.tables.values() for fact in conclusion(table)]


def range_facts(contrast: Contrast) -> list[tuple[str, OperationVerdicts]]:
    """Pairs each side with its verdicts on an operation by ranges of sizes, as at the end of `downbeat run`."""
    facts = [
        (side, operation_verdicts(rows, name))
        for side, table in contrast.tables.items()
        for name, rows in by_row(table.answer)
    ]
    return facts[:MAX_RANGE_FACTS]


def large_numbers(contrast: Contrast) -> tuple[Number, ...]:
    """Chooses up to three numbers: the medians of the first two sides and their ratio, or three medians of one side.

    The medians are of the first operation that has sizes, at its smallest size, so that the choice does not depend on
    the results. If all cells have the same verdict, the ratio is the mean over all cells; else it is of the same cell.
    """
    latency = latencies(contrast.cells[in_main_state(contrast.cells)], METRIC)
    latency = latency[~np.isnan(latency.median_us)]
    if not len(latency):
        return ()
    if (latency.size > 0).any():  # an operation without sizes, such as barrier, is rarely the subject
        latency = latency[latency.size > 0]
    if len(contrast.sides) == 1:
        return numbers_of_one_side(contrast, latency)
    cell = latency[latency.panel == latency.panel[0]]
    cell = cell[cell.size == cell.size.min()]
    sides = [side for side in contrast.sides if (cell.line == side).any()][:2]
    medians = [latency_number(contrast, cell, int(row)) for side in sides for row in np.flatnonzero(cell.line == side)]
    compared = [contrast.tables[side] for side in sides[1:] if side in contrast.tables]
    for fact in (fact for table in compared for fact in conclusion(table)):
        if isinstance(fact, Conclusion) and fact.cells > 1 and not math.isnan(fact.ratio):
            about = f"{contrast.ratio_label}, over {counted(fact.cells, 'cell')}"
            return (*medians, Number(f"{fact.ratio:.2f}", "", span(fact.low, fact.high), about))
    ratios = contrast.ratios
    ratios = ratios[np.isin(ratios.line, sides[1:]) & ~np.isnan(ratios.ratio)]
    ratios = ratios[(ratios.panel == cell.panel[0]) & (ratios.size == cell.size[0])]
    label = contrast.ratio_label if len(contrast.sides) == 2 else " / ".join(map(synchronizer_name, reversed(sides)))
    intervals = zip(ratios.ratio, ratios.low, ratios.high, strict=True)
    of_cell = [Number(f"{ratio:.2f}", "", span(low, high), f"{label}, the same cell") for ratio, low, high in intervals]
    return (*medians, *of_cell)


def numbers_of_one_side(contrast: Contrast, latency: LatencyTable) -> tuple[Number, ...]:
    """Chooses the medians of the first cell of up to three panels; of a single panel, its extreme and middle sizes."""
    panels = list(dict.fromkeys(latency.panel))
    if len(panels) == 1:
        latency = latency[np.argsort(latency.size, kind="stable")]
        rows = sorted({0, len(latency) // 2, len(latency) - 1})
    else:
        rows = [int(np.flatnonzero(latency.panel == panel)[0]) for panel in panels[:MAX_NUMBERS]]
    return tuple(latency_number(contrast, latency, row) for row in rows)


def latency_number(contrast: Contrast, latency: LatencyTable, row: int) -> Number:
    """Writes the median of a row with its interval; a single launch has none."""
    line = str(latency.line[row])
    side = line if contrast.factor != STARTS else start_text(line)
    interval = span(latency.low_us[row], latency.high_us[row]) if latency.launches[row] > 1 else ""
    about = f"{cell_name(latency.panel[row], latency.size[row])}, {side}"
    return Number(digits_with_zeros(float(latency.median_us[row])), "us", interval, about)


def delay_facts(experiment: Experiment) -> list[HiddenDelays]:
    """Returns the hidden share of planned delays: the range of its mean over launches, by operation."""
    cells = experiment.cell_table
    late = late_cells(cells[cells.measured])
    spreads = []
    for operation, group in late.groups(late.operation):
        keys = (group.configuration, group.pattern, group.delay_number)
        means = [float(np.nanmean(cell.share)) for _, cell in group.groups(*keys) if not np.isnan(cell.share).all()]
        if means:
            delays = group.delay_s * MICROSECONDS
            ends = (float(delays.min()), float(delays.max()))
            spreads.append((Spread(operation, min(means), max(means), len(means)), ends))
    return [HiddenDelays(tuple(spreads))] if spreads else []


def latency_facts(experiment: Experiment) -> list[Latencies]:
    """Returns the range of medians of each operation, from one start.

    The start is the common start if it was measured, else MPI_Barrier, else the first synchronizer.
    """
    cells = plain_cells(experiment)
    starts = cells.started_by
    if not len(starts):  # all cells have an arrival pattern
        return []
    start = next((name for name in (COMMON_START, BARRIER) if (starts == name).any()), starts[0])
    cells = cells[starts == start]
    spreads = []
    for operation, group in cells.groups(cells.operation):
        keys = [getattr(group, name) for name in (*CONFIGURATION, "size")]
        medians = [typical_median(summaries) for _, summaries in group.metric(METRIC).groups(*keys)]
        medians = [median for median in medians if not math.isnan(median.estimate)]
        if not medians:
            continue
        low, high = (float(end(median.estimate for median in medians) * MICROSECONDS) for end in (min, max))
        spread = Spread(operation, low, high, len(medians))
        if len(medians) == 1 and medians[0].count > 1:
            interval = (medians[0].low * MICROSECONDS, medians[0].high * MICROSECONDS)
            spread = replace(spread, interval_low=float(interval[0]), interval_high=float(interval[1]))
        spreads.append(spread)
    return [Latencies(str(start), tuple(spreads))] if spreads else []


def overlap_facts(experiment: Experiment) -> list[Overlaps]:
    """Returns the share of nonblocking operations that is hidden behind computation: its range by operation."""
    cells = overlapping(experiment.cell_table)
    spreads = []
    for operation, group in cells.groups(cells.operation):
        keys = [getattr(group, name) for name in (*CONFIGURATION, "size")]
        shares = [float(np.median(cell.overlap_window)) for _, cell in group.groups(*keys, group.started_by)]
        spreads.append(Spread(operation, min(shares), max(shares), len(shares)))
    return [Overlaps(tuple(spreads))] if spreads else []


def skew_facts(experiment: Experiment) -> list[ExitSkews]:
    """Returns the range of median exit skews after each synchronizer, for the largest number of ranks only."""
    cells = plain_cells(experiment)
    if not len(cells) or cells.ranks.max() < 2:
        return []
    has_several_counts = len(set(cells.ranks)) > 1
    cells = cells[cells.ranks == cells.ranks.max()]
    # One median per configuration: do not pool launches of different libraries.
    keys = [getattr(cells, name) for name in LAUNCH_FACTORS]
    medians: dict[str, list[float]] = {}
    for (start, *_), rows in grouped(cells.started_by, *keys):
        medians.setdefault(start, []).append(median_of(cells.metric("exit_skew").median_s[rows]))
    ranks = int(cells.ranks[0]) if has_several_counts else 0
    ends = {start: (min(values), max(values)) for start, values in sorted(medians.items())}
    return [exit_skews(ends, float(np.nanmax(cells.error_bound)), ranks)]


@dataclass(frozen=True)
class Answer:
    """The facts of a report.

    Attributes:
        headlines: the answer to the comparison; latencies if nothing is compared.
        numbers: large numbers below the headlines.
        findings: further facts, each after its subject.
    """

    headlines: tuple[Fact, ...]
    numbers: tuple[Number, ...]
    findings: tuple[tuple[str, Fact], ...]


def answer_of(experiment: Experiment, contrast: Contrast, starts: Contrast) -> Answer:
    """Selects the facts and numbers of a report.

    Args:
        experiment: the experiment that is reported.
        contrast: the comparison that the report is about.
        starts: the comparison of synchronizers; the same object if the report is about these.
    """
    if not experiment.cell_table.measured.any():  # the run was cut short: no cell is complete
        return Answer((), (), ())
    cells = plain_cells(experiment)
    other_factors = [
        name for name in ("library", "environment") if name != contrast.factor and len(set(getattr(cells, name))) > 1
    ]
    algorithms = algorithm_facts(experiment)
    answers: list[Fact] = [*(algorithms if contrast.factor == "algorithm" else comparison_facts(contrast))]
    headlines = answers[:MAX_HEADLINES] or [*latency_facts(experiment)]
    ranges: list[tuple[str, Fact]] = []
    next_steps: list[Fact] = []
    if contrast.factor != STARTS:  # else start_facts has the steps
        ranges += [(f"{fact.operation}, {side}", fact) for side, fact in range_facts(contrast)]
        next_steps += [fact for table in contrast.tables.values() for fact in step_of(table)]
    ranges += [(f"{fact.operation}, {start_text(side)}", fact) for side, fact in range_facts(starts) if side == BARRIER]
    by_subject: dict[str, list[Fact]] = {
        "also compared": [
            fact for name in other_factors for fact in comparison_facts(sides_by(experiment, name, cells))
        ],
        "effect of the start": [fact for fact in start_facts(starts) if fact not in headlines],
        "more launches": next_steps,
        "algorithms": [fact for fact in algorithms if fact not in headlines],
        "late ranks": [*delay_facts(experiment)],
        "overlap": [*overlap_facts(experiment)],
        "exit skew": [*skew_facts(experiment)],
    }
    findings = (*ranges, *((subject, fact) for subject, facts in by_subject.items() for fact in facts))
    return Answer(tuple(headlines), large_numbers(contrast), findings)
