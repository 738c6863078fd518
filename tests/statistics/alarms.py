"""False alarms among many equal cells: verdicts of one question, and notes on launches in order.

Cells of three operations, independent of each other, are judged together as `compare` judges them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from downbeat.comparison.judging import Judged, judge_matches
from downbeat.comparison.matching import Match
from downbeat.comparison.notes import notes_on_kinds

from benchmarks.promises import Promise, at_most, by_chance
from tests.statistics import kinds
from tests.statistics.findings import Findings, Table, show_progress, worst_of
from tests.statistics.kinds import Kind

OPERATIONS = ("allreduce", "bcast", "reduce")
SIZES = (8, 20)  # of a question: cells
EACH = 100  # a fraction of --experiments: each judges 28 cells
TRIED: Sequence[tuple[Kind, Sequence[int]]] = (
    (kinds.NORMAL, (5, 10, 29)),
    (kinds.SYMMETRIC[0], (10,)),
    (kinds.SKEWED[1], (10,)),
    (kinds.GRIDS[1], (10, 29)),
)


@dataclass(frozen=True)
class Alarms:
    """Shares: questions with any false verdict, questions with launches in order."""

    false: float
    in_order: float


def question(random: np.random.Generator, kind: Kind, launches: int, paired: bool, cells: int) -> list[Judged]:
    """Returns equal cells, judged."""
    a, b = (np.exp(kind.draw(random, cells, launches).logs) for _ in range(2))
    numbers = tuple(range(1, launches + 1))
    return judge_matches(
        [
            Match(
                {"operation": OPERATIONS[cell % len(OPERATIONS)], "size": cell},
                a[cell],
                a[cell] * b[cell] if paired else b[cell],
                paired=paired,
                launches=(numbers, numbers),
            )
            for cell in range(cells)
        ]
    )


def alarms(
    random: np.random.Generator, kind: Kind, launches: int, paired: bool, cells: int, experiments: int
) -> Alarms:
    """Returns how often there is an alarm although the cells are equal and without order."""
    false = in_order = 0
    for _ in range(experiments):
        judged = question(random, kind, launches, paired, cells)
        text = " ".join(notes_on_kinds(judged, [str(cell) for cell in range(cells)]))
        false += any(one.verdict in ("faster", "slower") for one in judged)
        in_order += "resemble the one before" in text
    return Alarms(false / experiments, in_order / experiments)


def simulate(experiments: int) -> Findings:
    """Returns false alarms by kinds of launches, and the promises on them."""
    random = np.random.default_rng(2026)
    count = max(experiments // EACH, 20)
    rows: list[tuple[str | float, ...]] = []
    promises: list[Promise] = []
    for (kind, counts), paired, cells in itertools.product(TRIED, (True, False), SIZES):
        for launches in counts:
            design = "pairs" if paired else "independent"
            show_progress(f"false alarms, {kind.name}, {launches} launches, {cells} cells")
            found = alarms(random, kind, launches, paired, cells, count)
            rows.append((kind.name, design, launches, cells, found.false, found.in_order))
            what = f"{kind.name}, {design}, {launches} launches, {cells} cells"
            limit = 0.05 + by_chance(0.05, count)
            if not kind.rare:  # else a verdict is on the launches that there are, as is said
                promises.append(at_most(f"{what}: any of equal cells called different", found.false, limit))
            promises.append(at_most(f"{what}: independent launches said to resemble", found.in_order, limit))
    title = "Equal cells of three operations, judged together: any called different; launches in order"
    columns = ("kind", "launches", "n", "cells", "any false", "in order")
    return Findings([Table(title, columns, rows)], worst_of(promises))
