"""Times of single cells, launch by launch, and what of them is the operation's own."""

from __future__ import annotations

import pandas as pd

from downbeat_papers.results import Results
from downbeat_papers.site import OPEN_MPI, Site

# From a common start no rank waits for another but in the operation itself.
COMMON_START = "harmonize"
# An operation that does nothing: what the stamps around it tell is what it costs to read the clock.
NOTHING = "nothing"
MESSAGE = "8"  # bytes


def linear_broadcast(site: Site) -> dict[str, str]:
    """Returns the options that make a broadcast the linear one of the paper's models, where the library is known."""
    name = "linear" if site.simulated else "basic_linear"
    return {"algorithm": f"bcast={name}"} if site.main() in OPEN_MPI else {}


def launch_values(cells: pd.DataFrame, column: str, **where: object) -> pd.Series:
    """Returns a column of the one cell that each launch has of a kind, by number of the launch.

    Args:
        cells: those of `Results.cells`.
        column: as "latency_max_median".
        where: what the cell is, e.g. `operation="bcast"`.
    """
    for name, value in where.items():
        cells = cells[cells[name] == value]
    return cells.set_index("launch")[column].astype(float)


def own_times(results: Results, column: str, operation: str, **where: object) -> pd.Series:
    """Returns what an operation takes in s, launch by launch, less the time of doing nothing by the same stamps."""
    whole = launch_values(results.cells, column, operation=operation, **where)
    where.pop("size", None)
    return whole - launch_values(results.cells, column, operation=NOTHING, **where)
