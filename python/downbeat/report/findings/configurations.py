"""How MPI libraries, environments and variants compare."""

from __future__ import annotations

import shlex

import pandas as pd

from downbeat.comparison.compare import compare
from downbeat.comparison.judging import UNMATCHED
from downbeat.comparison.table import DECIDED
from downbeat.errors import UsageError
from downbeat.experiment.experiment import Experiment
from downbeat.report.numbers_text import listed, over_cells
from downbeat.statistics.modes import unseen_text
from downbeat.summaries.barrier_ratio import REFERENCE
from downbeat.summaries.cells import measured_cells
from downbeat.text import counted

MOST_VALUES = 4  # of a factor, after the first


def configuration_sentences(experiment: Experiment) -> list[str]:
    """Says how libraries, environments and variants compare: each with the first one, as `downbeat compare` does."""
    cells = measured_cells(experiment)
    start = {"synchronizer": REFERENCE} if (cells["synchronizer"] == REFERENCE).any() else {}
    sentences = []
    for factor in ("library", "environment", "variant"):
        first, *others = dict.fromkeys(cells[factor])
        for other in others[:MOST_VALUES]:
            sides = ({factor: first, **start}, {factor: other, **start})
            try:
                table = compare(experiment, where_a=sides[0], where_b=sides[1])
            except UsageError:  # they share no cell
                continue
            sentences.append(configuration_sentence(experiment, table, sides))
        if len(others) > MOST_VALUES:
            sentences.append(f"{counted(len(others) - MOST_VALUES, 'more value')} of {factor}: see downbeat compare.")
    return sentences


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
