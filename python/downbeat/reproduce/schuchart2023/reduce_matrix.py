"""Figure 2: the matrix of reduce algorithms behind barrier algorithms."""

from __future__ import annotations

import pandas as pd

from downbeat.reproduce.building import operation_run
from downbeat.reproduce.drawing.matrix import draw_matrix
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.results import Results, over_launches
from downbeat.reproduce.schuchart2023.comparison import BARRIER, HARMONIZE, LATENCY
from downbeat.reproduce.site import OPEN_MPI, Site
from downbeat.reproduce.wording import between

REDUCE_ROWS = ("linear", "binary", "binomial", "in_order_binary")
BARRIER_COLUMNS = ("default", "linear", "double_ring", "recursive_doubling", "bruck", "tree")
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
    table = over_launches(cells, ("algorithm", "synchronizer", "barrier_algorithm"), LATENCY)
    barrier = table[table["synchronizer"] == BARRIER].pivot(
        index="algorithm", columns="barrier_algorithm", values="median"
    )
    frame = barrier.reindex(index=list(REDUCE_ROWS), columns=list(BARRIER_COLUMNS))
    harmonized = table[table["synchronizer"] == HARMONIZE].set_index("algorithm")["median"]
    drawn = frame.assign(**{HARMONIZE: harmonized.reindex(list(REDUCE_ROWS))})
    ranks = results.runs[0].ranks
    picture = draw_matrix(
        "schuchart2023-fig2",
        f"Latency of reductions of 4 bytes behind barriers, {ranks} ranks [us]",
        "Median over launches of the launches' medians; latency as OSU reports it, mean over ranks. The column "
        "harmonize is not in the paper: what the algorithms take from a common start.",
        drawn,
        "reduce algorithm",
        "barrier algorithm",
    )
    spread = {str(name): float(row.max() / row.min()) for name, row in frame.iterrows()}
    paper = {str(name): float(row.max() / row.min()) for name, row in MATRIX.iterrows()}
    across = frame.max() / frame.min()
    paper_across = MATRIX.max() / MATRIX.min()
    best = frame.idxmin()
    rows = [
        Finding(
            f"the barrier changes what {name.replace('_', ' ')} seems to take",
            f"largest / smallest over barriers {paper[name]:.1f}",
            f"{spread[name]:.2f}",
            # Below this, launches differ by as much from each other.
            spread[name] > 1.1,
        )
        for name in REDUCE_ROWS
    ]
    rows += [
        Finding(
            "the barrier matters as much as the reduction's algorithm",
            f"over algorithms {between(paper_across)}, over barriers {between(paper.values())}",
            f"over algorithms {between(across)}, over barriers {between(spread.values())}",
            max(spread.values()) >= across.median(),
        ),
        Finding(
            "which algorithm looks fastest depends on the barrier",
            "linear behind double_ring, binomial behind all others",
            ", ".join(f"{best[name]} behind {name}" for name in BARRIER_COLUMNS),
            best.nunique() > 1,
        ),
    ]
    return Drawn((picture,), tuple(rows))
