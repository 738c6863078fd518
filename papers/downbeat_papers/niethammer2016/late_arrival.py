"""Operations that one process enters late, which figures 5 to 16 are about: what is run, and how starts are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd

from downbeat_papers.building import operation_run
from downbeat_papers.drawing.panels import Series
from downbeat_papers.run import Run
from downbeat_papers.site import Site
from downbeat.units import MICROSECONDS

SIZES = (8, 128, 1024)
# us. The paper's delays are as long as its operations, some 10 to 100 us. Where an operation takes less than 1 us, next
# to nothing of them can overlap, so that shorter ones are measured besides.
LATE, SHORTER = (50.0,), (1.0,)
BARRIER_LATE, BARRIER_SHORTER = (10.0, 20.0, 50.0), (1.0, 2.0, 5.0)

# The paper delays rank 0; its outlook asks for others.
FIRST_LATE, LAST_LATE = "one_late", "one_late(rank="
LEAD_MS = 1
# What the verdicts stand on comes first, then the paper's two ways.
JUDGED = "harmonize"
LISTINGS = {"mpi_barrier": "MPI_Barrier (Listing 1)", f"roundtime(lead={LEAD_MS}ms)": "roundtime (Listing 2)"}
SYNCHRONIZERS = {JUDGED: JUDGED} | LISTINGS
HOW_HERE = (
    "Ranks are synchronized by harmonize, which the verdicts are from, and in both of the paper's ways: by MPI_Barrier "
    "with a busy loop for the delay after it (Listing 1), and by an instant that rank 0 broadcasts, "
    f"{LEAD_MS} ms ahead (Listing 2; 10 ms there)."
)


def delay_runs(operation: str, delays: Sequence[float], sizes: Sequence[int]) -> Callable[[Site], tuple[Run, ...]]:
    """Returns what is launched for an operation, its blocking and its nonblocking form, with delays in us."""

    def runs(site: Site) -> tuple[Run, ...]:
        options = {"delay": ",".join(f"{delay:g}us" for delay in delays)}
        if sizes:
            options["sizes"] = ",".join(map(str, sizes))
        cells = (1 + 2 * len(delays)) * max(1, len(sizes))
        return tuple(
            with_lead(
                operation_run(
                    site,
                    f"n{ranks}",
                    site.main(),
                    ranks,
                    [operation, f"i{operation}"],
                    usual=100,
                    sync=",".join(SYNCHRONIZERS),
                    options=options | {"pattern": f"one_late,{LAST_LATE}{ranks - 1})"},
                    factors=cells,
                ),
                2 * cells,
            )
            for ranks in site.counts
        )

    return runs


def of_late_rank(cells: pd.DataFrame, last: bool) -> pd.DataFrame:
    """Returns the cells without a delay, and those in which the last rank is late, or rank 0 as in the paper."""
    with_last = cells["pattern"].astype(str).str.startswith(LAST_LATE)
    first = cells["pattern"] == FIRST_LATE
    return cells[~(first if last else with_last)]


def with_lead(run: Run, cells: int) -> Run:
    """Returns a run that takes as much longer as so many cells wait for their instants."""
    return replace(run, seconds=run.seconds + cells * int(run.options["repetitions"]) * LEAD_MS / 1000)


def name_of(operation: str) -> str:
    """Returns an operation as the paper's legends call it."""
    return operation.capitalize()


def delay_us(cells: pd.DataFrame) -> pd.Series:
    """Returns the delay of cells as it was asked for, in us; 0 without."""
    return (cells["largest_delay"].fillna(0.0) * MICROSECONDS).round(3)


def global_series(
    table: pd.DataFrame, operation: str, size: int, delay: float, label: str, color: int | str, style: str, marker: int
) -> Series | None:
    """Returns the line over processes of an operation, size and delay."""
    part = table[(table["operation"] == operation) & (table["size"] == size) & (table["delay"] == delay)]
    if part.empty:
        return None
    return Series(label, part["ranks"], part["median"], part["low"], part["high"], color, style, marker)
