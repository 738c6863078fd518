"""Figures 5, 7, 9, 11, 13 and 15: global times over processes, with and without a delay."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from downbeat.pictures.style import MICROSECONDS
from downbeat.reproduce.drawing.panels import Panel, draw_panels
from downbeat.reproduce.figure import Drawn, Finding
from downbeat.reproduce.niethammer2016.late_arrival import delay_us, global_series, name_of
from downbeat.reproduce.results import Results, over_launches
from downbeat.reproduce.wording import between, microseconds

POINT = "Median over launches of the smallest global time in each; bars: smallest to largest launch. "


def times_table(results: Results) -> pd.DataFrame:
    """Returns smallest global times in us by operation, size, delay and ranks."""
    cells = results.cells.assign(delay=delay_us(results.cells))
    return over_launches(cells, ("operation", "size", "delay", "ranks"), "global_time_min").sort_values("ranks")


def draw_barrier_times(results: Results) -> Drawn:
    table = times_table(results)
    panels = []
    for operation in ("barrier", "ibarrier"):
        lines = [
            global_series(table, operation, 0, delay, f"{delay:g} us", position, "-", position)
            for position, delay in enumerate((0.0, 10.0, 20.0, 50.0))
        ]
        panels.append(
            Panel(
                [line for line in lines if line],
                "number of processes",
                "global time [us]",
                f"{name_of(operation)}",
                log_x=True,
            )
        )
    picture = draw_panels(
        "niethammer2016-fig5",
        "Global time of barriers with one late process",
        POINT + "Rank 0 enters so much later than all others.",
        panels,
    )
    plain = table[(table["delay"] == 0) & (table["operation"] == "barrier")].set_index("ranks")["median"]
    counts = len(plain)
    findings = [
        Finding(
            "without delay the time grows with the logarithm of the number of processes, up to 2048",
            "nearly logarithmic to about 2048 processes, then linear",
            ", ".join(f"{ranks} ranks {microseconds(value)}" for ranks, value in plain.items()),
            None if counts < 3 or results.site.crowded(results.site.most) else bool(plain.is_monotonic_increasing),
        ),
        delay_finding(table, results),
    ]
    return Drawn((picture,), tuple(findings))


def delay_finding(table: pd.DataFrame, results: Results) -> Finding:
    """Holds against the data that a delay that is longer than the operation just adds to it, on ranks with cores."""
    part = table[(table["ranks"] == results.site.node) & (table["delay"] == table["delay"].max())]
    plain = table[(table["ranks"] == results.site.node) & (table["delay"] == 0)]
    joined = part.merge(plain, on=["operation", "size"], suffixes=("", "_plain"))
    extra = joined["median"] - joined["delay"] - joined["median_plain"]
    return Finding(
        "with a delay the global time is that without plus the delay, less what overlaps",
        "the curves with a delay lie above those without by somewhat less than the delay",
        f"time - delay - time without: {between(extra, ' us')} on {results.site.node} ranks, delay "
        f"{joined['delay'].max():g} us",
        bool((extra.abs() < 0.1 * joined["delay"]).all()) if len(joined) else None,
    )


def draw_times(name: str, operation: str, in_seconds: bool) -> Callable[[Results], Drawn]:
    """Returns the drawer of global times over processes, 8 bytes, with and without 50 us; seconds are logarithmic."""

    def draw(results: Results) -> Drawn:
        table = times_table(results)
        values = ["median", "low", "high"]
        drawn = table.assign(**(table[values] / MICROSECONDS)) if in_seconds else table
        lines = [
            global_series(
                drawn,
                kind,
                8,
                delay,
                f"{name_of(kind)} 8 B, {delay:g} us",
                "#0072B2" if delay else "#000000",
                style,
                marker,
            )
            for delay in (50.0, 0.0)
            for kind, style, marker in ((operation, "-", 0), (f"i{operation}", "--", 1))
        ]
        panel = Panel(
            [line for line in lines if line],
            "number of processes",
            f"global time [{'s' if in_seconds else 'us'}]",
            log_x=True,
            log_y=in_seconds,
        )
        picture = draw_panels(
            name,
            f"Global time of MPI_{name_of(operation)} with one late process",
            POINT
            + "Blue: rank 0 enters 50 us later; black: all together. Circles: blocking; squares: nonblocking, with its "
            "MPI_Wait.",
            [panel],
        )
        plain = table[(table["delay"] == 0) & (table["size"] == 8)]
        told = "; ".join(
            f"{kind} "
            + ", ".join(
                f"{ranks} ranks {microseconds(value)}"
                for ranks, value in zip(part["ranks"], part["median"], strict=True)
            )
            for kind, part in plain.groupby("operation")
        )
        scaling = Finding(
            "times without delay, for scaling",
            SCALING[name],
            told,
            None,
            is_claim=False,
        )
        return Drawn((picture,), (scaling, delay_finding(table[table["size"] == 8], results)))

    return draw


SCALING = {
    "niethammer2016-fig7": "logarithmic to 1024 processes, less than 5 us per doubling; then up to 100 us per doubling",
    "niethammer2016-fig9": "good scaling to over 1000 processes",
    "niethammer2016-fig11": "nearly linear to 16384 processes",
    "niethammer2016-fig13": "linear as on Hornet; blocking faster than nonblocking",
    "niethammer2016-fig15": "scales well",
}
