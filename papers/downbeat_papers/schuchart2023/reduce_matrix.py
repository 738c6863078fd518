"""Figure 2: the matrix of reduce algorithms after barrier algorithms."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pandas as pd

from downbeat_papers.building import operation_run
from downbeat_papers.drawing.matrix import draw_matrix
from downbeat_papers.evidence import Floats, Undecidable, every, factor_of, half, halves, some
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.results import Results, mean_and_deviation, median_and_range
from downbeat_papers.run import Run
from downbeat_papers.schuchart2023.comparison import BARRIER, HARMONIZE, LATENCY, MEDIAN
from downbeat_papers.site import OPEN_MPI, Site
from downbeat_papers.wording import between

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


def matrix_runs(site: Site) -> tuple[Run, ...]:
    library = site.first_of(OPEN_MPI)
    if not library:
        return ()
    options = {
        "sizes": "4",
        "algorithm": "reduce=" + ",".join(REDUCE_ROWS),
        "barrier-algorithm": ",".join(BARRIER_COLUMNS),
    }
    cells = len(REDUCE_ROWS) * len(BARRIER_COLUMNS)
    return (operation_run(site, "matrix", library, site.node, ["reduce"], usual=500, options=options, factors=cells),)


def draw_reduce_matrix(results: Results) -> Drawn:
    cells = results.cells
    means, medians = mean_and_deviation(cells, CELL, LATENCY), median_and_range(cells, CELL, MEDIAN)
    ranks = results.runs[0].ranks
    title = f"Latency of reductions of 4 bytes after barriers, {ranks} ranks [us]"
    more = "The column harmonize is not in the paper: what the algorithms take from a common start."
    if results.site.simulated:
        more += " Simulated: the simulator's copies of Open MPI's algorithms."
    axes = ("reduce algorithm", "barrier algorithm")
    pictures = (
        draw_matrix(
            "schuchart2023-fig2",
            title,
            "As in the paper what OSU's benchmarks report, the mean over ranks of means over calls; mean and standard "
            f"deviation over launches. {more}",
            matrix_of(means, "mean"),
            *axes,
            matrix_of(means, "deviation"),
        ),
        draw_matrix(
            "schuchart2023-fig2-medians",
            f"{title}: medians",
            f"Median over launches of the launches' medians of the mean over ranks. {more}",
            matrix_of(medians, "median"),
            *axes,
        ),
    )
    launches = matrices(cells)
    findings = [barrier_finding(launches, name) for name in REDUCE_ROWS]
    # On two ranks most of the algorithms are the same one message, so that nothing can be said of their order.
    alike = Undecidable("on 2 ranks the algorithms are one and the same message")
    for one in (as_much_finding(launches), order_finding(launches)):
        findings.append(replace(one, evidence=alike) if ranks == 2 else one)
    return Drawn(pictures, tuple(replace(one, evidence=results.decided_on(ranks, one.evidence)) for one in findings))


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


def barrier_finding(launches: Floats, name: str) -> Finding:
    """Holds against the data that the barrier changes what an algorithm seems to take.

    The largest of several times is larger than the smallest even where they differ by noise alone. So all pairs
    of barriers are tested, and the claim pays for their number.
    """
    times = MATRIX.loc[name].to_numpy(dtype=float)
    paper = float(times.max() / times.min())
    claim = f"the barrier changes what {name.replace('_', ' ')} seems to take, by a factor of {paper:.1f}"
    reported = f"largest / smallest over barriers {paper:.1f}"
    row = launches[:, REDUCE_ROWS.index(name)]
    measured = ~np.isnan(row).all(axis=0) if len(row) else np.zeros(len(BARRIER_COLUMNS), bool)
    if measured.sum() < 2:
        return Finding(claim, reported, "not measured here", Undecidable("not measured here"))
    means = dict(
        zip(np.array(BARRIER_COLUMNS)[measured], np.exp(np.nanmean(np.log(row[:, measured]), axis=0)), strict=True)
    )
    slow, fast = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    pairs = permutations(np.flatnonzero(measured), 2)
    return Finding(
        claim,
        reported,
        f"{means[slow] / means[fast]:.2f}, {slow} / {fast}",
        some(factor_of(row[:, one] / row[:, other]).above(half(paper)) for one, other in pairs),
    )


def as_much_finding(launches: Floats) -> Finding:
    """Holds against the data that the barrier matters as much as the algorithm of the reduction.

    Half of the launches choose: the algorithm that the barrier changes most, with its slowest and its fastest barrier,
    and the slowest and the fastest algorithm after each barrier. The other half judge.
    """
    over_barriers, over_algorithms = (
        MATRIX.max(axis="columns") / MATRIX.min(axis="columns"),
        MATRIX.max() / MATRIX.min(),
    )
    claim = "the barrier matters as much as the reduction's algorithm"
    paper = f"over barriers {between(over_barriers)}, over algorithms {between(over_algorithms)}"
    choosing, judging = halves(np.log(launches))
    if not len(choosing) or not np.isfinite(launches).all():
        return Finding(claim, paper, "too few launches that measured all", Undecidable("too few launches measured all"))
    means = choosing.mean(axis=0)
    changed = int(np.ptp(means, axis=1).argmax())
    most = judging[:, changed, means[changed].argmax()] - judging[:, changed, means[changed].argmin()]
    columns = range(len(BARRIER_COLUMNS))
    each = judging[:, means.argmax(axis=0), columns] - judging[:, means.argmin(axis=0), columns]
    return Finding(
        claim,
        paper,
        f"over barriers {np.exp(most.mean()):.2f}, of {REDUCE_ROWS[changed]}, over algorithms "
        f"{between(np.exp(each.mean(axis=0)))}, whose median is set against it",
        factor_of(np.exp(most - np.median(each, axis=1))).above(1.0),
    )


def order_finding(launches: Floats) -> Finding:
    """Holds against the data that two algorithms are in one order after some barrier, in the other after another."""
    claim = "which of two reduce algorithms looks faster depends on the barrier"
    paper = "linear looks fastest of all after double_ring, slower than binomial after all others"
    logs = np.log(launches)
    places = []
    for one, other in combinations(range(len(REDUCE_ROWS)), 2):
        ratios = [factor_of(np.exp(logs[:, one, j] - logs[:, other, j])) for j in range(len(BARRIER_COLUMNS))]
        above, below = [ratio.above(1.0) for ratio in ratios], [ratio.below(1.0) for ratio in ratios]
        places += [every((above[i], below[j])) for i, j in permutations(range(len(ratios)), 2)]
    means = pd.DataFrame(np.nanmean(logs, axis=0), index=list(REDUCE_ROWS), columns=list(BARRIER_COLUMNS))
    fastest = ", ".join(f"{fastest} after {name}" for name, fastest in means.idxmin().items())
    return Finding(claim, paper, f"fastest is {fastest}", some(places))
