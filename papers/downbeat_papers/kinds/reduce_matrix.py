"""The matrix of reduce algorithms after barrier algorithms (Schuchart 2023, Fig. 2)."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pandas as pd
from downbeat.pictures.panel import Heat, Panel, make_picture
from downbeat.pictures.style import Picture

from downbeat_papers.claims import Facts, Found, Measure, Measured, missing, undecided
from downbeat_papers.evidence import Evidence, Floats, Undecidable, every, factor_of, half, halves, some
from downbeat_papers.kinds.cells import Cells
from downbeat_papers.results import (
    BARRIER,
    HARMONIZE,
    LATENCY,
    MEDIAN,
    SAME_MESSAGE,
    Results,
    mean_and_deviation,
    median_and_range,
)

REDUCE_ROWS = ("linear", "binary", "binomial", "in_order_binary")
BARRIER_COLUMNS = ("default", "linear", "double_ring", "recursive_doubling", "bruck", "tree")
CELL = ("algorithm", "synchronizer", "barrier_algorithm")
# The paper's figure, us.
MATRIX = pd.DataFrame(
    [
        [7.68, 16.35, 0.24, 8.10, 7.59, 8.29],
        [1.58, 9.53, 22.39, 1.55, 1.59, 1.41],
        [1.03, 1.41, 1.89, 0.95, 1.04, 0.74],
        [1.07, 1.79, 3.18, 1.07, 1.07, 0.75],
    ],
    index=list(REDUCE_ROWS),
    columns=list(BARRIER_COLUMNS),
)


class ReduceMatrix(Cells):
    """Latencies of four reduce algorithms after six barriers of Open MPI."""

    def facts(self, results: Results) -> Facts:
        launches = matrices(results.cells)
        ranks = results.runs[0].ranks
        crowding = results.crowding(ranks)
        measures: dict[str, Measured] = {
            **dict.fromkeys(("most_over_barriers", "median_over_algorithms"), missing("too few launches measured all")),
            "order": order(launches),
        }
        if len(launches) > 1 and np.isfinite(launches).all():
            measures |= as_much(launches)
        if crowding or ranks == 2:
            measures = {name: undecided(one, crowding or SAME_MESSAGE) for name, one in measures.items()}
        rows = {name: barrier_effect(launches, name, crowding) for name in REDUCE_ROWS}
        words = {name: {"row": name.replace("_", " "), "factor": f"{paper_factor(name):.1f}"} for name in REDUCE_ROWS}
        return Facts({"changed_by_barriers": rows, **measures}, words)

    def pictures(self, name: str, results: Results) -> tuple[Picture, ...]:
        means = mean_and_deviation(results.cells, CELL, LATENCY)
        medians = median_and_range(results.cells, CELL, MEDIAN)
        title = f"Latency of reductions of 4 bytes after barriers, {results.runs[0].ranks} ranks [us]"
        more = "The column harmonize is not in the paper: what the algorithms take from a common start."
        if results.site.simulated:
            more += " Simulated: the simulator's copies of Open MPI's algorithms."
        axes = ("barrier algorithm", "reduce algorithm")
        of_means = (
            "As in the paper what OSU's benchmarks report, the mean over ranks of means over calls; mean and standard "
            f"deviation over launches. {more}"
        )
        of_medians = f"Median over launches of the launches' medians of the mean over ranks. {more}"
        mean = Heat(matrix_of(means, "mean"), matrix_of(means, "deviation"), ".2f")
        return (
            make_picture(name, title, of_means, [Panel([mean], *axes)]),
            make_picture(
                f"{name}-medians", f"{title}: medians", of_medians, [Panel([Heat(matrix_of(medians, "median"))], *axes)]
            ),
        )


def paper_factor(name: str) -> float:
    """Returns the factor between barriers that the paper reports for an algorithm."""
    times = MATRIX.loc[name].to_numpy(dtype=float)
    return float(times.max() / times.min())


def matrix_of(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Returns a column by reduce algorithm and by barrier, the common start last."""
    names = table["barrier_algorithm"].where(table["synchronizer"] == BARRIER, HARMONIZE)
    wide = table.assign(barrier=names).pivot(index="algorithm", columns="barrier", values=column)
    return wide.reindex(index=list(REDUCE_ROWS), columns=[*BARRIER_COLUMNS, HARMONIZE])


def matrices(cells: pd.DataFrame) -> Floats:
    """Returns the latencies of each launch after MPI_Barrier, shape (launches, reduce algorithms, barrier algorithms).

    In s; NaN where a launch has no valid sample of a cell.
    """
    part = cells[cells["synchronizer"] == BARRIER]
    whole = pd.MultiIndex.from_product((REDUCE_ROWS, BARRIER_COLUMNS), names=("algorithm", "barrier_algorithm"))
    wide = part.pivot_table(index="launch", columns=["algorithm", "barrier_algorithm"], values=LATENCY)
    table: Floats = wide.reindex(columns=whole).to_numpy(dtype=float)
    return table.reshape(-1, len(REDUCE_ROWS), len(BARRIER_COLUMNS))


def barrier_effect(launches: Floats, name: str, crowding: str) -> Found:
    """Judges whether the barrier changes an algorithm's apparent time by half of the paper's factor.

    The largest of several times is larger than the smallest even where they differ by noise alone. So all pairs
    of barriers are tested, and the claim pays for their number.
    """
    row = launches[:, REDUCE_ROWS.index(name)]
    measured = np.flatnonzero(~np.isnan(row).all(axis=0)) if len(row) else np.array([], int)
    if len(measured) < 2:
        return Found(Undecidable("not measured here"), "not measured here")
    means = {BARRIER_COLUMNS[one]: float(np.exp(np.nanmean(np.log(row[:, one])))) for one in measured}
    slow, fast = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    border, pairs = half(paper_factor(name)), permutations(measured, 2)
    evidence = some(factor_of(row[:, one] / row[:, other]).above(border) for one, other in pairs)
    here = f"{means[slow] / means[fast]:.2f}, {slow} / {fast}"
    return Found(Undecidable(crowding) if crowding else evidence, here)


def as_much(launches: Floats) -> dict[str, Measured]:
    """Returns the factors between barriers and between algorithms.

    Half of the launches choose: the algorithm that the barrier changes most, with its slowest and its fastest barrier,
    and the slowest and the fastest algorithm after each barrier. The other half judge.
    """
    choosing, judging = halves(np.log(launches))
    means = choosing.mean(axis=0)
    changed = int(np.ptp(means, axis=1).argmax())
    most = judging[:, changed, means[changed].argmax()] - judging[:, changed, means[changed].argmin()]
    columns = range(len(BARRIER_COLUMNS))
    each = judging[:, means.argmax(axis=0), columns] - judging[:, means.argmin(axis=0), columns]
    return {
        "most_over_barriers": Measure(np.exp(most), note=f"the barrier changes {REDUCE_ROWS[changed]} most"),
        "median_over_algorithms": Measure(np.exp(np.median(each, axis=1))),
    }


def order(launches: Floats) -> Found:
    """Judges whether the order of two algorithms depends on the barrier."""
    logs = np.log(launches)
    places: list[Evidence] = []
    for one, other in combinations(range(len(REDUCE_ROWS)), 2):
        ratios = [factor_of(np.exp(logs[:, one, j] - logs[:, other, j])) for j in range(len(BARRIER_COLUMNS))]
        above, below = [ratio.above(1.0) for ratio in ratios], [ratio.below(1.0) for ratio in ratios]
        places += [every((above[i], below[j])) for i, j in permutations(range(len(ratios)), 2)]
    means = pd.DataFrame(np.nanmean(logs, axis=0), index=list(REDUCE_ROWS), columns=list(BARRIER_COLUMNS))
    fastest = ", ".join(f"{fastest} after {name}" for name, fastest in means.idxmin().items())
    return Found(some(places), f"fastest is {fastest}")
