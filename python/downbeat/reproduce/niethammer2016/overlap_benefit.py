"""Figures 6, 8, 10, 12, 14 and 16: how much of a delay is hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from downbeat.reproduce.agreement import all_below, every
from downbeat.reproduce.drawing.panels import Panel, draw_panels
from downbeat.reproduce.figure import Drawn, Finding
from downbeat.reproduce.niethammer2016.late_arrival import delay_us, global_series, name_of
from downbeat.reproduce.results import NoSamplesError, Results, over_launches
from downbeat.reproduce.wording import between

CELL = ("operation", "size", "delay", "ranks")
SMALL = 8  # bytes; the smallest messages measured, of which the text says "zero effect"
MANY = 1024  # processes, from which on the order of delays turns round
NEAR_ZERO = 5.0  # per cent; overlap benefit that is called none
# Percentage points: below, benefits are differences of long times within the error of the clocks.
TELLING = 1.0


def draw_benefits(
    name: str, operation: str, lines: Sequence[tuple[int, float]], claims: Sequence[tuple[str, str]]
) -> Callable[[Results], Drawn]:
    """Returns the drawer of overlap benefits over processes.

    Args:
        name: of the picture.
        operation: the blocking one.
        lines: size and delay in us of each pair of lines.
        claims: names out of `CLAIMS`, each with what the paper reports.
    """

    def draw(results: Results) -> Drawn:
        cells = results.cells.assign(delay=delay_us(results.cells))
        delayed = cells[cells["delay"] > 0]
        table = over_launches(delayed, CELL, "overlap_benefit_min", 100.0).sort_values("ranks")
        if not {operation, f"i{operation}"} <= set(table["operation"]):
            raise NoSamplesError(f"not both of {operation} and i{operation} have valid samples with a delay")
        series = []
        for position, (size, delay) in enumerate(lines):
            for kind, style, marker in ((operation, "-", 0), (f"i{operation}", "--", 1)):
                text = f"{name_of(kind)} {size} B" if size else f"{name_of(kind)} {delay:g} us"
                line = global_series(table, kind, size, delay, text, position, style, marker)
                if line:
                    series.append(line)
        picture = draw_panels(
            name,
            f"Delay overlap benefit of MPI_{name_of(operation)}",
            "(t0 + delay - t) / t (Eq. 5), t0 and t the smallest global times without and with delay, delay as it "
            "was achieved; "
            "median over launches, bars: smallest to largest launch. 0: the delay just adds. Solid: blocking; "
            "dashed: nonblocking.",
            [Panel(series, "number of processes", "delay overlap benefit [%]", log_x=True, line_at=0.0)],
        )
        # Claims are about ranks with a core each.
        judged = delayed[[not results.site.crowded(int(ranks)) for ranks in delayed["ranks"]]]
        return Drawn((picture,), tuple(CLAIMS[claim](judged, paper) for claim, paper in claims))

    return draw


def benefits(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns overlap benefits in per cent, launch by launch: a row per cell, a column per launch."""
    return 100 * cells.pivot_table(index=list(CELL), columns="launch", values="overlap_benefit_min")


def mostly_above(table: pd.DataFrame) -> bool | None:
    """Whether most rows lie above 0, or most below, in all launches and by more than the error of the clocks."""
    positive = int((table.min(axis="columns") > TELLING).sum())
    negative = int((table.max(axis="columns") < -TELLING).sum())
    if 2 * max(positive, negative) <= len(table):
        return None
    return positive > negative


def mostly_positive(cells: pd.DataFrame, paper: str) -> Finding:
    table = benefits(cells)
    values = table.median(axis="columns")
    return Finding(
        "the benefit is positive in most cases: a part of the delay is hidden",
        paper,
        f"{int((values > 0).sum())} of {len(values)} benefits above 0, {between(values, ' %')}",
        mostly_above(table),
    )


def near_zero(cells: pd.DataFrame, paper: str) -> Finding:
    table = benefits(cells[cells["size"] == SMALL])
    return Finding(
        f"there is no benefit for small messages ({SMALL} bytes)",
        paper,
        f"benefits {between(table.median(axis='columns'), ' %')}",
        every(all_below(row, NEAR_ZERO) for _, row in table.abs().iterrows()),
    )


def size_matters_not(cells: pd.DataFrame, paper: str) -> Finding:
    table = benefits(cells).groupby(["operation", "delay", "ranks"]).agg(np.ptp)
    return Finding(
        "the size does not matter for the benefit, from 8 to 1024 bytes",
        paper,
        f"benefits of the three sizes differ by {between(table.median(axis='columns'), ' percentage points')}",
        every(all_below(row, NEAR_ZERO) for _, row in table.iterrows()),
    )


def more_of_nonblocking(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns by how many percentage points the nonblocking form has more benefit, launch by launch."""
    table = benefits(cells).reset_index()
    forms = table["operation"].str.startswith("i")
    wide = [table[forms == form].drop(columns="operation").set_index(list(CELL[1:])) for form in (True, False)]
    return wide[0] - wide[1]


def nonblocking_better(cells: pd.DataFrame, paper: str) -> Finding:
    more = more_of_nonblocking(cells)
    return Finding(
        "the nonblocking form has slightly more benefit",
        paper,
        f"by {between(more.median(axis='columns'), ' percentage points')}",
        mostly_above(more),
    )


def blocking_better(cells: pd.DataFrame, paper: str) -> Finding:
    more = -more_of_nonblocking(cells)
    return Finding(
        "the blocking form has more benefit than the nonblocking one",
        paper,
        f"by {between(more.median(axis='columns'), ' percentage points')}",
        mostly_above(more),
    )


def order_of_delays(cells: pd.DataFrame, paper: str) -> Finding:
    means = benefits(cells[cells["ranks"] < MANY]).groupby("delay").mean()
    told = ", ".join(f"{delay:g} us {value:.2g} %" for delay, value in means.median(axis="columns").items())
    # From the shortest to the longest delay, each step.
    steps = means.diff().iloc[1:] if len(means) else means
    agrees = every(all_below(row, 0.0) for _, row in steps.iterrows())
    return Finding(
        "below 1024 processes short delays have more benefit than long ones",
        paper,
        told,
        agrees if len(means) and (means.agg(np.ptp) > TELLING).all() else None,
    )


CLAIMS: dict[str, Callable[[pd.DataFrame, str], Finding]] = {
    "mostly_positive": mostly_positive,
    "near_zero": near_zero,
    "size_matters_not": size_matters_not,
    "nonblocking_better": nonblocking_better,
    "blocking_better": blocking_better,
    "order_of_delays": order_of_delays,
}
