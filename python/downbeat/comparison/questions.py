"""Questions on one experiment: barriers are compared with the common start, algorithms with the fastest."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from downbeat.comparison.conditions import COMMON_START
from downbeat.comparison.judging import judge_matches
from downbeat.comparison.matching import Match, Matcher
from downbeat.comparison.summaries import (
    CONFIGURATION,
    MEDIAN_LATENCY,
    describe_each,
    judged_cells,
    synchronization,
    value_text,
)
from downbeat.data.cell_summaries import hidden_by_step
from downbeat.run.experiment import FACTORS, Experiment
from downbeat.statistics.verdicts import Comparison

# The factors of cells that differ in their start alone.
BESIDE_START = [name for name in FACTORS if name not in ("synchronizer", "barrier_algorithm", "computation")]


@dataclass(frozen=True)
class AgainstStart:
    """A cell after a synchronizer, compared with the same cell after `harmonize` in the same launches."""

    synchronizer: str
    cell: str
    comparison: Comparison
    factors: Mapping[str, object] = field(default_factory=dict)  # of the cell


def numbered(experiment: Experiment) -> pd.DataFrame:
    """The cells that are judged, ready to be matched, with `line`, the name of their start."""
    cells = judged_cells(experiment)
    return cells.assign(
        counts=True,
        uncertainty=hidden_by_step(cells, MEDIAN_LATENCY.removesuffix("_median")),
        line=synchronization(cells),
    )


def against_start(experiment: Experiment) -> list[AgainstStart]:
    """Compares every cell after every synchronizer with that after `harmonize`: ratios are synchronizer / harmonize.

    All cells of one synchronizer are judged together. A single rank has nobody to be synchronized with.
    """
    cells = numbered(experiment)
    cells = cells[(cells["ranks"] > 1) & (cells[MEDIAN_LATENCY] > 0)]
    start = cells[cells["synchronizer"] == COMMON_START].drop_duplicates([*BESIDE_START, "launch"])
    others = cells[~cells["synchronizer"].str.startswith((COMMON_START, "none"))]
    rows, comparisons = [], []
    for line, of_line in others.groupby("line", sort=False):
        after = of_line.drop_duplicates([*BESIDE_START, "launch"])
        places = {key: place for place, key in enumerate(after.groupby(BESIDE_START, sort=False).groups)}
        found = Matcher(MEDIAN_LATENCY).cells(start, after, BESIDE_START)
        matches = {places[tuple(one.factors.values())]: one for one in found if not one.obstacle}
        for one in judge_matches([matches[place] for place in sorted(matches)]):
            rows.append({**one.match.factors, "line": line})
            comparisons.append(one.comparison)
    if not rows:
        return []
    frame = pd.DataFrame(rows)
    names = describe_each(frame, "operation", CONFIGURATION) + sizes(frame)
    return [
        AgainstStart(str(line), str(name), one, factors)
        for line, name, one, factors in zip(frame["line"], names, comparisons, rows, strict=True)
        if one
    ]


def sizes(frame: pd.DataFrame) -> pd.Series[str]:
    """The size of each row as the end of a cell's name, nothing where the operation has none."""
    return pd.Series([f", {value_text('size', size)}" if size else "" for size in frame["size"]], index=frame.index)


def slower_algorithms(cells: pd.DataFrame, fastest: Mapping[str, str]) -> dict[str, set[str]]:
    """Returns for each `panel` the algorithms that are significantly slower than the fastest.

    The same launches have shown which is the fastest, and the luckiest is easily better than its equals. So all pairs
    of algorithms in all panels are judged together, and those with the fastest looked up: the stated error holds for
    whichever pairs the data pick (Holm 1979).

    Args:
        cells: those of `numbered`, of one operation from a common start, with `panel`.
        fastest: algorithm by panel.
    """
    asked: list[tuple[str, str, str]] = []
    matches: list[Match] = []
    for panel, group in cells.groupby("panel", sort=False):
        by_name = {str(name): rows.drop_duplicates("launch") for name, rows in group.groupby("algorithm")}
        for one, other in itertools.combinations(by_name, 2):
            first, second = (other, one) if other == fastest[str(panel)] else (one, other)
            match = Matcher(MEDIAN_LATENCY).launches({}, by_name[first], by_name[second], str(panel))
            if not match.obstacle:
                asked.append((str(panel), first, second))
                matches.append(match)
    slower: dict[str, set[str]] = {str(panel): set() for panel in fastest}
    for (panel, first, second), judged in zip(asked, judge_matches(matches), strict=True):
        if first == fastest[panel] and judged.verdict == "slower":
            slower[panel].add(second)
    return slower
