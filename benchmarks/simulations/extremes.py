"""The interval of a cell that was picked from many as the most extreme, which `downbeat report` names.

Ratios of launch medians of equal cells, 10 pairs of launches, each ratio deviating by 3 %.
"""

from __future__ import annotations

import numpy as np
from downbeat.statistics.two_samples import compare_paired
from downbeat.statistics.verdicts import simultaneous_interval

from benchmarks.promises import at_least
from benchmarks.simulations.findings import Findings, Table, show_progress

LAUNCHES = 10
DEVIATION = 0.03
FAMILIES = (1, 5, 20, 100)  # cells


def simulate(experiments: int) -> Findings:
    """Returns how often intervals of the most extreme cell hold the truth, alone and for all cells at once."""
    random = np.random.default_rng(2026)
    count = max(experiments // 5, 20)
    rows = []
    for cells in FAMILIES:
        show_progress(f"extremes of {cells}")
        alone = at_once = 0
        for _ in range(count):
            logs = random.normal(0, DEVIATION, (cells, LAUNCHES))
            picked = compare_paired(np.ones(LAUNCHES), np.exp(logs[np.abs(logs.mean(axis=1)).argmax()]))
            wide = simultaneous_interval(picked, cells)
            alone += picked.ratio.low <= 1 <= picked.ratio.high
            at_once += wide.low <= 1 <= wide.high
        rows.append((cells, alone / count, at_once / count))
    table = Table(
        f"Intervals of the most extreme of equal cells, {LAUNCHES} launches: share that holds 1",
        ("cells", "of one alone", "for all at once"),
        rows,
    )
    return Findings(
        [table], [at_least(f"interval of the most extreme of {cells} cells", held, 0.92) for cells, _, held in rows]
    )
