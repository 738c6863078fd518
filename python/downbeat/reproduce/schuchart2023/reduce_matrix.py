"""Figure 2: the matrix of reduce algorithms behind barrier algorithms."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from downbeat.reproduce.agreement import all_above, unanimous
from downbeat.reproduce.building import operation_run
from downbeat.reproduce.drawing.matrix import draw_matrix
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.results import Results, over_launches
from downbeat.reproduce.schuchart2023.comparison import BARRIER, HARMONIZE, LATENCY
from downbeat.reproduce.site import OPEN_MPI, Site
from downbeat.reproduce.wording import between

REDUCE_ROWS = ("linear", "binary", "binomial", "in_order_binary")
BARRIER_COLUMNS = ("default", "linear", "double_ring", "recursive_doubling", "bruck", "tree")
CHANGE = 1.1  # ratio from which on a time is called changed
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
    paper = {str(name): float(row.max() / row.min()) for name, row in MATRIX.iterrows()}
    paper_across = MATRIX.max() / MATRIX.min()
    launches = matrices(cells)
    spreads = pd.DataFrame([one.max(axis="columns") / one.min(axis="columns") for one in launches])
    across = pd.DataFrame([one.max() / one.min() for one in launches])
    # On two ranks most of the algorithms are the same one message, so that nothing can be said of their order.
    matters = unanimous(spreads.max(axis="columns") >= across.median(axis="columns")) if ranks > 2 else None
    changes = order_changes(launches) if ranks > 2 else None
    rows = [barrier_finding(frame, launches, name, paper[name], results) for name in REDUCE_ROWS]
    rows += [
        Finding(
            "the barrier matters as much as the reduction's algorithm",
            f"over algorithms {between(paper_across)}, over barriers {between(paper.values())}",
            f"over algorithms {between(across.median())}, over barriers {between(spreads.median())}",
            results.told_on(ranks, matters),
        ),
        Finding(
            "which algorithm looks fastest depends on the barrier",
            "linear behind double_ring, binomial behind all others",
            ", ".join(f"{fastest} behind {name}" for name, fastest in frame.idxmin().items()),
            results.told_on(ranks, changes),
        ),
    ]
    return Drawn((picture,), tuple(rows))


def matrices(cells: pd.DataFrame) -> list[pd.DataFrame]:
    """Returns the matrix of each launch behind MPI_Barrier, in s: an algorithm per row, a barrier's per column."""
    part = cells[cells["synchronizer"] == BARRIER]
    return [
        one.pivot_table(index="algorithm", columns="barrier_algorithm", values=LATENCY).reindex(
            index=list(REDUCE_ROWS), columns=list(BARRIER_COLUMNS)
        )
        for _, one in part.groupby("launch")
    ]


def barrier_finding(
    frame: pd.DataFrame, launches: Sequence[pd.DataFrame], name: str, paper: float, results: Results
) -> Finding:
    """Holds against the data that an algorithm is slower behind one barrier than behind another.

    The largest of several times is larger than the smallest even where nothing but noise tells them apart; so the two
    barriers are chosen by the medians over launches, and have to differ, in the same direction, in each of them.
    """
    row = frame.loc[name]
    claim = f"the barrier changes what {name.replace('_', ' ')} seems to take"
    reported = f"largest / smallest over barriers {paper:.1f}"
    if row.isna().all():
        return Finding(claim, reported, "not measured here", None)
    slow, fast = str(row.idxmax()), str(row.idxmin())
    ratios = [float(one[slow][name] / one[fast][name]) for one in launches]
    return Finding(
        claim,
        reported,
        f"{row[slow] / row[fast]:.2f}, {slow} / {fast} (launches {between(ratios)})",
        results.told_on(results.runs[0].ranks, all_above(ratios, CHANGE)),
    )


def order_changes(launches: Sequence[pd.DataFrame]) -> bool | None:
    """Whether another algorithm is fastest behind one barrier than behind another, by all launches; None: undecided."""
    fastest = pd.DataFrame([one.idxmin() for one in launches])
    agreed = {names.iloc[0] for _, names in fastest.items() if names.nunique() == 1}
    if len(agreed) > 1:
        return True
    return False if len(agreed) == 1 and (fastest.nunique() == 1).all() else None
