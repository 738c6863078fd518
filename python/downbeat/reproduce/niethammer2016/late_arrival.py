"""Operations that one process enters late, which figures 5 to 16 are about."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.building import operation_run
from downbeat.reproduce.drawing.panels import Series
from downbeat.reproduce.figure import Run
from downbeat.reproduce.site import Site

SIZES = (8, 128, 1024)


def delay_runs(operation: str, delays: str, sizes: bool) -> Callable[[Site], tuple[Run, ...]]:
    def runs(site: Site) -> tuple[Run, ...]:
        options = {"pattern": "one_late", "delay": delays}
        if sizes:
            options["sizes"] = ",".join(map(str, SIZES))
        factors = (2 + delays.count(",")) * (len(SIZES) if sizes else 1)
        return tuple(
            operation_run(
                site,
                f"n{ranks}",
                site.main(),
                ranks,
                [operation, f"i{operation}"],
                usual=100,
                sync="harmonize",
                options=options,
                factors=2 * factors,
            )
            for ranks in site.counts
        )

    return runs


def name_of(operation: str) -> str:
    """Returns an operation as the paper's legends call it."""
    return operation.capitalize()


def delay_us(cells: pd.DataFrame) -> pd.Series:
    """Returns the delay of cells as it was asked for, in us; 0 without."""
    return (cells["largest_delay"].fillna(0.0) * MICROSECONDS).round(3)


def global_series(
    table: pd.DataFrame, operation: str, size: int, delay: float, label: str, colour: int | str, style: str, marker: int
) -> Series | None:
    """Returns the line of global times over processes of an operation, size and delay."""
    part = table[(table["operation"] == operation) & (table["size"] == size) & (table["delay"] == delay)]
    if part.empty:
        return None
    return Series(label, part["ranks"], part["median"], part["low"], part["high"], colour, style, marker)
