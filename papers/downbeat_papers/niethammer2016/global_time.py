"""Figures 5, 7, 9, 11, 13 and 15: global times over processes, with and without a delay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from downbeat_papers.drawing.panels import Panel, draw_panels
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.niethammer2016.late_arrival import (
    BARRIER_LATE,
    HOW_HERE,
    JUDGED,
    LATE,
    SYNCHRONIZERS,
    delay_us,
    global_series,
    name_of,
    of_late_rank,
)
from downbeat_papers.niethammer2016.scaling_claims import Claim
from downbeat_papers.results import Results, median_and_range
from downbeat_papers.wording import between, microseconds
from downbeat.units import MICROSECONDS

SMALLEST = 8  # bytes; the size that is drawn
POINT = "Median over launches of the smallest global time in each; bars: smallest to largest launch. "
CELL = ("operation", "size", "delay", "ranks", "synchronizer")


def times_table(results: Results) -> pd.DataFrame:
    """Returns smallest global times in us by operation, size, delay, ranks and synchronizer."""
    cells = of_late_rank(results.cells, last=False)
    cells = cells.assign(delay=delay_us(cells))
    return median_and_range(cells, CELL, "global_time_min").sort_values("ranks")


def of_synchronizers(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Returns what was measured after each synchronizer, with its name for a panel."""
    return [(words, table[table["synchronizer"] == name]) for name, words in SYNCHRONIZERS.items()]


@dataclass(frozen=True)
class BarrierTimes:
    """The drawer of figure 5."""

    claims: tuple[Claim, ...]

    def findings(self, results: Results) -> list[Finding]:
        return judged(self.claims, "barrier", results)

    def __call__(self, results: Results) -> Drawn:
        table = times_table(results)
        panels = []
        for words, part in of_synchronizers(table):
            for operation in ("barrier", "ibarrier"):
                lines = [
                    global_series(part, operation, 0, delay, f"{delay:g} us", position, "-", position)
                    for position, delay in enumerate((0.0, *BARRIER_LATE))
                ]
                panels.append(
                    Panel(
                        [line for line in lines if line],
                        "number of processes",
                        "global time [us]",
                        f"{name_of(operation)}, {words}",
                        log_x=True,
                    )
                )
        picture = draw_panels(
            "niethammer2016-fig5",
            "Global time of barriers with one late process",
            f"{POINT}Rank 0 enters so much later than all others. {HOW_HERE}",
            panels,
        )
        return Drawn((picture,), (*self.findings(results), delay_finding(table, 0, results)))


def delay_finding(table: pd.DataFrame, size: int, results: Results) -> Finding:
    """Says by how much longer than delay and operation together a delayed operation takes, on ranks with cores.

    The text claims nothing of it: the overlap benefit, a figure of its own, is computed from the same times.
    """
    kept = table[(table["ranks"] == results.site.full) & (table["size"] == size) & (table["synchronizer"] == JUDGED)]
    late = kept[kept["delay"] == kept["delay"].max()]
    joined = late.merge(kept[kept["delay"] == 0], on=["operation"], suffixes=("", "_plain"))
    extra = joined["median"] - joined["delay"] - joined["median_plain"]
    return Finding(
        "what a delay adds beyond itself",
        "see the next figure, the overlap benefit",
        f"time - delay - time without: {between(extra, ' us')} on {results.site.full} ranks, delay "
        f"{joined['delay'].max():g} us",
        None,
    )


def judged(claims: Sequence[Claim], operation: str, results: Results) -> list[Finding]:
    """Holds claims on times without delay against the data, on ranks with cores."""
    cells = results.cells.assign(delay=delay_us(results.cells), us=results.cells["global_time_min"] * MICROSECONDS)
    plain = cells[(cells["delay"] == 0) & (cells["synchronizer"] == JUDGED) & cells["size"].isin((0, SMALLEST))]
    launches = sorted(set(cells["launch"]))
    forms = {
        kind: {
            ranks: part[part["ranks"] == ranks].set_index("launch")["us"].reindex(launches).tolist()
            for ranks in sorted(set(part["ranks"]))
        }
        for kind in (operation, f"i{operation}")
        for part in [plain[plain["operation"] == kind]]
    }
    described = "; ".join(
        f"{kind} "
        + ", ".join(f"{ranks} ranks {microseconds(float(pd.Series(us).median()))}" for ranks, us in times.items())
        for kind, times in forms.items()
    )
    blocking, nonblocking = (
        {ranks: us for ranks, us in times.items() if not results.site.crowded(ranks)} for times in forms.values()
    )
    return [claim(blocking, nonblocking, described) for claim in claims]


@dataclass(frozen=True)
class Times:
    """The drawer of global times over processes, 8 bytes, with and without 50 us; seconds are logarithmic."""

    name: str
    operation: str
    in_seconds: bool
    claims: tuple[Claim, ...]

    def findings(self, results: Results) -> list[Finding]:
        return judged(self.claims, self.operation, results)

    def __call__(self, results: Results) -> Drawn:
        operation, in_seconds = self.operation, self.in_seconds
        table = times_table(results)
        values = ["median", "low", "high"]
        drawn = table.assign(**(table[values] / MICROSECONDS)) if in_seconds else table
        panels = []
        for words, part in of_synchronizers(drawn):
            lines = [
                global_series(
                    part,
                    kind,
                    SMALLEST,
                    delay,
                    f"{name_of(kind)} {SMALLEST} B, {delay:g} us",
                    "#0072B2" if delay else "#000000",
                    style,
                    marker,
                )
                for delay in (*LATE, 0.0)
                for kind, style, marker in ((operation, "-", 0), (f"i{operation}", "--", 1))
            ]
            panels.append(
                Panel(
                    [line for line in lines if line],
                    "number of processes",
                    f"global time [{'s' if in_seconds else 'us'}]",
                    words,
                    log_x=True,
                    log_y=in_seconds,
                )
            )
        picture = draw_panels(
            self.name,
            f"Global time of MPI_{name_of(operation)} with one late process",
            f"{POINT}Blue: rank 0 enters 50 us later; black: all together. Circles: blocking; squares: nonblocking, "
            f"with its MPI_Wait. {HOW_HERE}",
            panels,
        )
        return Drawn((picture,), (*self.findings(results), delay_finding(table, SMALLEST, results)))
