"""Where another measurement would have chosen otherwise, and what its choice costs where the one made holds.

The other measurement is that after MPI_Barrier, or, where the rules are for an arrival pattern, that without it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd

from downbeat.experiment.execute import Watcher
from downbeat.experiment.plan import Plan
from downbeat.statistics.location import Interval, geometric_mean_interval
from downbeat.statistics.pairs import compare_paired
from downbeat.statistics.verdicts import Comparison, judge_together
from downbeat.tune.choosing import Decision, WrongResults, by_launch, cells_of, choose, paired
from downbeat.tune.probing import Usable
from downbeat.tune.rules import DEFAULT, Cell
from downbeat.tune.sweep import HARMONIZE, Effort, decisive, digest_of, sweep, sweep_plan
from downbeat.tune.target import Target


@dataclass(frozen=True)
class OtherChoice:
    """A cell for which the way of measuring decides what is chosen."""

    cell: Cell
    chosen: str  # algorithm
    other: str  # by the same rule, from the samples of the other measurement


@dataclass(frozen=True)
class Prices:
    """The price of the other choices: their time / that of the choice that was made, both measured as that.

    Both were chosen as the luckiest of many from the launches of the sweep, so these cannot say it: between algorithms
    that are equal the choice would look as if it had a price. Launches that had no part in either choice say it.

    Attributes:
        by_cell: judged together; a cell without two launches that have both algorithms is missing.
        mean: over these cells, each launch a number; None if there are none.
    """

    by_cell: dict[Cell, Comparison]
    mean: Interval | None

    def higher(self) -> list[Cell]:
        """Returns the cells in which the other choice is slower beyond doubt."""
        return [cell for cell, comparison in self.by_cell.items() if comparison.verdict == "slower"]


def other_choices(
    frame: pd.DataFrame, decisions: Sequence[Decision], wrong: WrongResults, margin: float, confidence: float
) -> list[OtherChoice]:
    """Returns the cells in which another measurement leads to another choice.

    Args:
        frame: `sweep.COLUMNS`, of the other measurement.
        decisions: what was chosen.
        wrong: as in `choose`.
        margin: as in `choose`.
        confidence: as in `choose`.
    """
    chosen = {decision.cell: decision.algorithm for decision in decisions}
    return [
        OtherChoice(decision.cell, chosen[decision.cell], decision.algorithm)
        for decision in choose(frame, wrong, margin, confidence)
        if decision.algorithm != chosen.get(decision.cell, decision.algorithm)
    ]


def price_plans(target: Target, others: Sequence[OtherChoice], effort: Effort) -> list[Plan]:
    """Returns the experiments that measure both choices as the one that was made, one for each collective and ranks."""
    plans = []
    for (collective, ranks), group in groupby(others, key=lambda one: (one.cell.collective, one.cell.ranks)):
        some = list(group)
        algorithms = sorted({name for one in some for name in (one.chosen, one.other)} - {DEFAULT})
        sizes = ",".join(str(one.cell.size) for one in some)
        plan = sweep_plan(target, Usable(collective, ranks, algorithms), sizes, effort, HARMONIZE)
        name = f"{collective}-n{ranks}-{digest_of([algorithms, sizes])}"
        plans.append(dataclasses.replace(plan, name=name, seed=effort.seed + 2))  # another order than that of the gain
    return plans


def measure_prices(
    plans: Sequence[Plan],
    others: Sequence[OtherChoice],
    directory: Path,
    effort: Effort,
    margin: float,
    confidence: float,
    watcher: Watcher,
) -> Prices:
    """Executes the plans of `price_plans`, each in a directory of its own, and compares the choices.

    Raises:
        DownbeatError: no launch of a plan was complete.
    """
    frames = [sweep(plan, directory / plan.name, effort.metric, watcher) for plan in plans]
    return compare_choices(decisive(pd.concat(frames, ignore_index=True)), others, margin, confidence)


def compare_choices(frame: pd.DataFrame, others: Sequence[OtherChoice], margin: float, confidence: float) -> Prices:
    """Compares both choices in each cell, launch by launch, all cells judged together.

    Args:
        frame: `sweep.COLUMNS`, of launches that had no part in either choice.
        others: the cells, with both choices.
        margin: ratios from 1 / (1 + margin) to 1 + margin are as good as 1.
        confidence: of the intervals; the level of the tests follows from it.
    """
    rows = dict(cells_of(frame))
    found: dict[Cell, Comparison] = {}
    ratios = []
    for other in others:
        if other.cell not in rows:
            continue
        table = by_launch(rows[other.cell]).reindex(columns=[other.chosen, other.other])
        ours, theirs = paired(table, other.chosen, other.other)
        if len(ours) > 1:
            found[other.cell] = compare_paired(ours, theirs, margin, confidence)
            ratios.append(table.apply(np.log).diff(axis=1)[other.other])
    by_cell = dict(zip(found, judge_together(list(found.values())), strict=True))
    if not found:
        return Prices({}, None)
    launches = pd.concat(ratios, axis=1).mean(axis=1).dropna()  # of the cells that count in a launch
    return Prices(by_cell, geometric_mean_interval(np.exp(launches), confidence))
