"""Where measuring behind MPI_Barrier would have chosen otherwise, and what that choice costs from a common start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from downbeat.statistics.location import Interval
from downbeat.statistics.pairs import compare_paired
from downbeat.tune.choosing import Decision, by_launch, cells_of, choose, paired
from downbeat.tune.rules import Cell
from downbeat.tune.sweep import BARRIER, HARMONIZE


@dataclass(frozen=True)
class OtherChoice:
    """A cell for which the synchronization decides what is chosen."""

    cell: Cell
    harmonized: str  # algorithm that was chosen from a common start
    behind_barrier: str  # by the same rule, from samples behind MPI_Barrier
    cost: Interval | None  # time of the latter / time of the former, both from a common start; None: too few launches


def other_choices(
    frame: pd.DataFrame, decisions: Sequence[Decision], margin: float, confidence: float
) -> list[OtherChoice]:
    """Returns the cells in which the choice behind MPI_Barrier differs from that from a common start.

    Args:
        frame: `sweep.COLUMNS`, of both synchronizers.
        decisions: what was chosen from a common start.
        margin: as in `choose`.
        confidence: as in `choose`.
    """
    behind = frame[frame["synchronizer"] == BARRIER]
    if behind.empty:
        return []
    chosen = {decision.cell: decision.algorithm for decision in decisions}
    started_together = dict(cells_of(frame[frame["synchronizer"] == HARMONIZE]))
    others = []
    for decision in choose(behind, margin, confidence):
        ours = chosen.get(decision.cell)
        if ours is not None and decision.algorithm != ours:
            a, b = paired(by_launch(started_together[decision.cell]), ours, decision.algorithm)
            cost = compare_paired(a, b, margin, confidence).ratio if len(a) > 1 else None
            others.append(OtherChoice(decision.cell, ours, decision.algorithm, cost))
    return others
