"""Figures 6, 8, 10, 12, 14 and 16: how much of a delay is hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from downbeat.reproduce.drawing.panels import Panel, draw_panels
from downbeat.reproduce.figure import Drawn, Finding
from downbeat.reproduce.niethammer2016.late_arrival import delay_us, global_series, name_of
from downbeat.reproduce.results import NoSamplesError, Results, over_launches
from downbeat.reproduce.wording import between

NEAR_ZERO = 0.05  # overlap benefit that is called none
# Percentage points: below, benefits are differences of long times within the error of the clocks.
TELLING = 1.0


def draw_benefits(
    name: str, operation: str, lines: Sequence[tuple[int, float]], claims: Sequence[str]
) -> Callable[[Results], Drawn]:
    """Returns the drawer of overlap benefits over processes.

    Args:
        name: of the picture.
        operation: the blocking one.
        lines: size and delay in us of each pair of lines.
        claims: names out of `CLAIMS`.
    """

    def draw(results: Results) -> Drawn:
        cells = results.cells.assign(delay=delay_us(results.cells))
        delayed = cells[cells["delay"] > 0]
        table = over_launches(delayed, ("operation", "size", "delay", "ranks"), "overlap_benefit_min", 100.0)
        table = table.sort_values("ranks")
        if not {operation, f"i{operation}"} <= set(on_cores(table, results)["operation"]):
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
        return Drawn((picture,), tuple(CLAIMS[claim](on_cores(table, results)) for claim in claims))

    return draw


def on_cores(table: pd.DataFrame, results: Results) -> pd.DataFrame:
    """Keeps numbers of processes that have a core each, where there are such."""
    kept = table[table["ranks"] <= results.site.node]
    return kept if len(kept) else table


def told(values: pd.Series) -> bool | None:
    """Whether values are above 0 in most cases; None where all are too near to it to tell."""
    return bool((values > 0).mean() > 0.5) if (values.abs() > TELLING).any() else None


def mostly_positive(table: pd.DataFrame) -> Finding:
    values = table["median"]
    return Finding(
        "the benefit is positive in most cases: a part of the delay is hidden",
        "mostly (barrier), slight at small numbers of processes (allreduce on Hornet), nearly always (Hazel Hen)",
        f"{int((values > 0).sum())} of {len(values)} benefits above 0, {between(values, ' %')}",
        told(values),
    )


def near_zero(table: pd.DataFrame) -> Finding:
    values = table.loc[table["size"] == 8, "median"] / 100
    return Finding(
        "there is no benefit for small messages (8 bytes)",
        "zero effect",
        f"benefits {between(100 * values, ' %')}",
        bool((values.abs() < NEAR_ZERO).all()) if len(values) else None,
    )


def size_matters_not(table: pd.DataFrame) -> Finding:
    spread = table.groupby(["operation", "ranks"])["median"].agg(lambda values: float(np.ptp(values)))
    return Finding(
        "the size does not matter for the benefit, from 8 to 1024 bytes",
        "no influence",
        f"benefits of the three sizes differ by {between(spread, ' percentage points')}",
        bool((spread < 100 * NEAR_ZERO).all()),
    )


def more_by(table: pd.DataFrame, nonblocking: bool) -> pd.Series:
    """Returns by how many percentage points one form has more benefit than the other."""
    forms = table.assign(form=table["operation"].str.startswith("i"))
    wide = forms.pivot_table(index=["size", "delay", "ranks"], columns="form", values="median")
    return wide[nonblocking] - wide[not nonblocking]


def nonblocking_better(table: pd.DataFrame) -> Finding:
    more = more_by(table, nonblocking=True)
    return Finding(
        "the nonblocking form has slightly more benefit",
        "slightly",
        f"by {between(more, ' percentage points')}",
        told(more),
    )


def blocking_better(table: pd.DataFrame) -> Finding:
    more = more_by(table, nonblocking=False)
    return Finding(
        "the blocking form has more benefit than the nonblocking one",
        "so on Hazel Hen",
        f"by {between(more, ' percentage points')}",
        told(more),
    )


def order_of_delays(table: pd.DataFrame) -> Finding:
    means = table.groupby("delay")["median"].mean()
    return Finding(
        "below 1024 processes short delays have more benefit than long ones",
        "so up to 1024 processes, then the other way round",
        ", ".join(f"{delay:g} us {value:.2g} %" for delay, value in means.items()),
        bool(means.is_monotonic_decreasing) if np.ptp(means) > TELLING else None,
    )


CLAIMS: dict[str, Callable[[pd.DataFrame], Finding]] = {
    "mostly_positive": mostly_positive,
    "near_zero": near_zero,
    "size_matters_not": size_matters_not,
    "nonblocking_better": nonblocking_better,
    "blocking_better": blocking_better,
    "order_of_delays": order_of_delays,
}
