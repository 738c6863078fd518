"""Chooses algorithms: the default stays unless another is faster beyond doubt, and by more than a rule is worth."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from downbeat.data.countable import WRONG
from downbeat.statistics.pairs import compare_paired
from downbeat.statistics.verdicts import Comparison, judge_together
from downbeat.tune.rules import DEFAULT, Cell

Floats = NDArray[np.float64]
KEY = ["collective", "ranks", "size"]
# What computed wrong results: collective, ranks and algorithm -> the sizes, bytes.
WrongResults = Mapping[tuple[str, int, str], Sequence[int]]


@dataclass(frozen=True)
class Candidate:
    """An algorithm in a cell, held against the default."""

    algorithm: str
    # The algorithm against the default, corrected over all algorithms in all cells; None if it was not measured.
    comparison: Comparison | None
    rejected: str  # why it was not chosen; empty if it was


@dataclass(frozen=True)
class Decision:
    """The choice for a cell."""

    cell: Cell
    algorithm: str
    candidates: tuple[Candidate, ...]  # fastest first


def by_launch(frame: pd.DataFrame, factor: str = "algorithm") -> pd.DataFrame:
    """Returns the values of a cell: a row per launch, a column per level of a factor."""
    return frame.pivot_table(index="launch", columns=factor, values="value", aggfunc="first")


def paired(table: pd.DataFrame, first: str, second: str) -> tuple[Floats, Floats]:
    """Returns the values of two columns of `by_launch` in the launches that have both."""
    both = table.reindex(columns=[first, second]).to_numpy(dtype=float)
    both = both[~np.isnan(both).any(axis=1)]
    return both[:, 0], both[:, 1]


def cells_of(frame: pd.DataFrame) -> list[tuple[Cell, pd.DataFrame]]:
    """Returns the cells of a frame of `sweep.COLUMNS`, each with its rows."""
    found = []
    for _, some in frame.groupby(KEY, sort=True):
        first = some.iloc[0]
        found.append((Cell(str(first["collective"]), int(first["ranks"]), int(first["size"])), some))
    return found


def wrong_results(frame: pd.DataFrame) -> dict[tuple[str, int, str], list[int]]:
    """Returns what computed wrong results in any launch; the frame is of `sweep.COLUMNS`, of all synchronizers."""
    found: dict[tuple[str, int, str], list[int]] = {}
    for cell, rows in cells_of(frame[frame["status"] == WRONG]):
        for algorithm in sorted(set(rows["algorithm"])):
            found.setdefault((cell.collective, cell.ranks, algorithm), []).append(cell.size)
    return found


def choose(frame: pd.DataFrame, wrong: WrongResults, margin: float, confidence: float) -> list[Decision]:
    """Chooses an algorithm for each cell.

    Each algorithm is compared with the default launch by launch, and all comparisons are judged together, so that many
    algorithms in many cells do not make one of them look faster by chance (Holm 1979). It is chosen if it is faster by
    that verdict and its estimate better than the margin; of several the one with the best estimate. The far end of the
    interval need not lie beyond the margin as well: small gains would then cost thousands of launches, and how much is
    gained is measured by launches that had no part in the choice (`gain`): these favor the luckiest.

    An algorithm that computed wrong results once is never chosen for the collective on so many ranks, at any size.

    Args:
        frame: `sweep.COLUMNS`, of one synchronizer.
        wrong: what computed wrong results.
        margin: ratios from 1 / (1 + margin) to 1 + margin are as good as 1.
        confidence: of intervals; the level of the tests follows from it.
    """
    found: list[tuple[Cell, str, Comparison | None]] = []
    cells = cells_of(frame)
    for cell, some in cells:
        table = by_launch(some)
        for algorithm in sorted(set(some["algorithm"]) - {DEFAULT}):
            default, values = paired(table, DEFAULT, algorithm)
            comparison = compare_paired(default, values, margin, confidence) if len(values) > 1 else None
            found.append((cell, algorithm, comparison))
    judged = iter(judge_together([comparison for *_, comparison in found if comparison]))
    candidates = [
        (
            cell,
            candidate(
                algorithm,
                wrong.get((cell.collective, cell.ranks, algorithm), ()),
                next(judged) if comparison else None,
            ),
        )
        for cell, algorithm, comparison in found
    ]
    return [decide(cell, [one for where, one in candidates if where == cell]) for cell, _ in cells]


def candidate(algorithm: str, wrong: Sequence[int], comparison: Comparison | None) -> Candidate:
    """Returns an algorithm with what forbids to choose it, if anything; `wrong` are sizes with wrong results."""
    if wrong:
        rejected = f"wrong results at {', '.join(map(str, wrong))} bytes"
    elif comparison is None:
        rejected = "fewer than two launches have it beside the default"
    elif comparison.verdict != "faster":
        rejected = f"{comparison.verdict}: {comparison.reason}"
    elif comparison.ratio.estimate > 1 / (1 + comparison.margin):
        rejected = f"faster, but by less than the margin of {comparison.margin:.3g}"
    else:
        rejected = ""
    return Candidate(algorithm, comparison, rejected)


def decide(cell: Cell, candidates: Sequence[Candidate]) -> Decision:
    """Returns the choice among an algorithm's candidates in a cell."""

    def ratio(one: Candidate) -> float:
        return one.comparison.ratio.estimate if one.comparison else math.inf

    ordered = sorted(candidates, key=ratio)
    chosen = next((one.algorithm for one in ordered if not one.rejected), DEFAULT)
    return Decision(
        cell,
        chosen,
        tuple(
            one
            if one.rejected or one.algorithm == chosen
            else dataclasses.replace(one, rejected=f"faster, but {chosen} is faster still")
            for one in ordered
        ),
    )
